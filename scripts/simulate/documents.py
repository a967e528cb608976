"""What agents and people do to Markdown files."""

from collections.abc import Sequence

from gitmem.core.model import TreePath
from simulate.machine import Machine

MEMORY = ("memory/MEMORY.md", "SOUL.md")
_SKILLS = tuple(f"skills/{name}/SKILL.md" for name in "abc")
_ALL = (*MEMORY, _SKILLS[0], "notes/plan.md")

Lines = list[str]


def edit(machine: Machine, paths: Sequence[TreePath] = _ALL) -> None:
    """One change of one file; a new file where there is none."""
    path = machine.random.choice(paths)
    data = machine.read(path)
    if data is None:
        machine.write(path, _fresh(machine, path))
        return
    lines = data.decode().split("\n")
    change = machine.random.choices([change for change, _ in _CHANGES], [weight for _, weight in _CHANGES])[0]
    change(machine, lines)
    machine.write(path, "\n".join(lines).encode())


def _fresh(machine: Machine, path: TreePath) -> bytes:
    front = f"---\nname: {path}\n---\n\n" if path.startswith("skills/") else ""
    first, second = machine.token(), machine.token()
    return f"{front}# {path}\n\n## One\n\n- {first}\n\n## Two\n\n- {second}\n".encode()


def _facts(lines: Lines) -> list[int]:
    return [place for place, line in enumerate(lines) if line.startswith("- ")]


def _headings(lines: Lines) -> list[int]:
    return [place for place, line in enumerate(lines) if line.startswith("## ")]


def _add(machine: Machine, lines: Lines) -> None:
    """A fact at the end of a section, sometimes one of two lines."""
    headings = _headings(lines)
    if not headings:
        lines[-1:-1] = ["", f"- {machine.token()}"]
        return
    heading = machine.random.choice(headings)
    end = next((place for place in headings if place > heading), len(lines))
    while end > heading + 1 and not lines[end - 1]:
        end -= 1
    new = [f"- {machine.token()}"] + ["  and more"] * (machine.random.random() < 0.2)
    lines[end:end] = new if end > heading + 1 else ["", *new]


def _change(machine: Machine, lines: Lines) -> None:
    if facts := _facts(lines):
        lines[machine.random.choice(facts)] = f"- {machine.token()}"


def _extent(lines: Lines, place: int) -> slice:
    end = place + 1
    while end < len(lines) and lines[end].startswith("  "):
        end += 1
    return slice(place, end)


def _remove(machine: Machine, lines: Lines) -> None:
    if facts := _facts(lines):
        del lines[_extent(lines, machine.random.choice(facts))]


def _move(machine: Machine, lines: Lines) -> None:
    facts = _facts(lines)
    if len(facts) > 2:
        extent = _extent(lines, machine.random.choice(facts))
        moved = lines[extent]
        del lines[extent]
        place = machine.random.choice(_facts(lines))
        lines[place:place] = moved


def _section(machine: Machine, lines: Lines) -> None:
    lines[-1:-1] = ["", f"## Section {machine.common.seconds}", "", f"- {machine.token()}"]


def _rename_heading(machine: Machine, lines: Lines) -> None:
    if headings := _headings(lines):
        lines[machine.random.choice(headings)] = f"## Renamed {machine.common.seconds}"


def _paragraph(machine: Machine, lines: Lines) -> None:
    lines[-1:-1] = ["", f"Words {machine.token()}"]


_CHANGES = (
    (_add, 40),
    (_change, 20),
    (_remove, 15),
    (_move, 8),
    (_section, 7),
    (_rename_heading, 5),
    (_paragraph, 5),
)


def remove(machine: Machine) -> None:
    """Remove a file as a whole."""
    machine.work.pop(machine.random.choice((_SKILLS[0], _SKILLS[0], "SOUL.md")), None)


def rename(machine: Machine) -> None:
    """Rename a skill, with commits of its own before and after."""
    old, new = machine.random.sample(_SKILLS, 2)
    if old in machine.work and new not in machine.work:
        machine.commit()
        machine.work[new] = machine.work.pop(old)
        machine.commit()
