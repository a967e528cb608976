"""What the memory engine did last and what it cost: a small file for `status` and for the daemon's schedule."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from gitmem.edges import durable
from gitmem.edges.gitdir import GitDir
from gitmem.edges.lock import FileLock

_PATIENCE = 5.0


@dataclass(frozen=True)
class Run:
    """One run of the engine.

    Attributes:
        at: When it ended, Unix seconds.
        outcome: `completed`, `degraded` or `failed`.
        reason: Why it was not completed, in a word; None when it was.
        text: The same as a sentence.
        seconds: How long it took.
        prompt_tokens: Tokens asked.
        completion_tokens: Tokens answered.
        failures: Runs of this sort in a row that failed, this one included.
    """

    at: float
    outcome: str
    reason: str | None = None
    text: str | None = None
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Ledger:
    """The last run of each sort (`consolidate`, `dream`), and what all runs together cost."""

    last: Mapping[str, Run] = field(default_factory=dict)
    runs: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def with_run(self, sort: str, run: Run) -> Self:
        """The ledger with one more run."""
        before = self.last.get(sort)
        failures = (0 if before is None else before.failures) + 1 if run.outcome == "failed" else 0
        return replace(
            self,
            last={**self.last, sort: replace(run, failures=failures)},
            runs=self.runs + 1,
            prompt_tokens=self.prompt_tokens + run.prompt_tokens,
            completion_tokens=self.completion_tokens + run.completion_tokens,
            seconds=self.seconds + run.seconds,
        )


def read(git: GitDir) -> Ledger:
    """The ledger; an empty one where there is none, or none that can be read: it is a convenience, never the truth."""
    try:
        values: dict[str, Any] = json.loads((git.state / "engine.json").read_text("utf-8"))
        last = {sort: Run(**run) for sort, run in values.pop("last").items()}
        return Ledger(last, **values)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Ledger()


def note(git: GitDir, sort: str, run: Run) -> Ledger:
    """Write a run down."""
    with FileLock(git.state / "engine.json.lock").hold(_PATIENCE):
        ledger = read(git).with_run(sort, run)
        durable.replace(
            git.state / "engine.json", json.dumps(asdict(ledger), indent=1).encode() + b"\n", 0o600
        )
    return ledger


def engine_lock(git: GitDir) -> FileLock:
    """One engine at a time for a workspace: a model is never asked two things at once (memory-engine, section 4)."""
    return FileLock(git.state / "engine.lock")
