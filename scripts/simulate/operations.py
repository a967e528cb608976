"""What happens on a machine, and how often."""

from collections.abc import Mapping

from simulate import conversations, documents, others, queue
from simulate.machine import Machine, Operation

_WEIGHTS: Mapping[str, tuple[Operation, float]] = {
    "turn": (conversations.turn, 30),
    "consolidate": (conversations.consolidate, 8),
    "clear": (conversations.clear, 1.5),
    "trim": (conversations.trim, 1.5),
    "forget": (conversations.forget, 1),
    "append": (queue.append, 14),
    "dream": (queue.dream, 10),
    "compact": (queue.compact, 2),
    "again": (queue.again, 0.7),
    "edit": (documents.edit, 18),
    "remove-document": (documents.remove, 0.8),
    "rename-skill": (documents.rename, 1.2),
    "write": (others.write, 5),
    "chmod": (others.chmod, 1.5),
    "remove-file": (others.remove, 0.8),
    "link": (others.link, 0.7),
    "revert": (others.revert, 1.5),
    "resolve": (others.resolve, 0.5),
}

MIXES: Mapping[str, Mapping[str, float]] = {
    "usual": {},
    "sessions": {"turn": 2, "consolidate": 3, "clear": 4, "trim": 4, "forget": 4},
    "dreams": {"append": 2, "dream": 4, "compact": 4, "again": 5},
    "documents": {"edit": 5, "remove-document": 4, "rename-skill": 3},
    "files": {"write": 6, "chmod": 6, "remove-file": 6, "link": 6},
    "reverts": {"revert": 12},
}
"""How many times more often than usual some things happen."""

_COMMITTED = 0.6
"""How likely each is committed on its own, and not together with what follows."""


class Operations:
    """Random operations by one of the mixes."""

    def __init__(self, mix: str) -> None:
        more = MIXES[mix]
        self._operations = [operation for operation, _ in _WEIGHTS.values()]
        self._weights = [weight * more.get(name, 1) for name, (_, weight) in _WEIGHTS.items()]

    def step(self, machine: Machine) -> None:
        """Let one thing happen."""
        machine.random.choices(self._operations, self._weights)[0](machine)
        if machine.random.random() < _COMMITTED:
            machine.commit()
