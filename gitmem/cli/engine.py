"""What consolidate, compact and dream share: telling what was done, as it is done, and the exit code at the end."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gitmem.cli.output import print_json
from gitmem.core.model import CommitInfo
from gitmem.errors import ModelError, PartlyDone, SessionInUse

_UNCONFIGURED = "none"


@dataclass
class Telling:
    """Collects what happened: lines for a person as they come, one document for a program at the end.

    Attributes:
        args: `json` is read.
        rows: What was done.
        failures: Why something was not done well, each once.
        skipped: Sessions that were left alone, and why.
        partly: Whether a model was asked and failed.
    """

    args: argparse.Namespace
    rows: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    partly: bool = False

    def commits(self, learn: Callable[[CommitInfo], None]) -> Callable[[CommitInfo], None]:
        """A function to hand to the engine: tells of each commit, and has the index learn of it."""

        def committed(commit: CommitInfo) -> None:
            learn(commit)
            self.rows.append(_row(commit))
            if not self.args.json:
                print(f"{commit.sha[:8]} {commit.subject}", flush=True)

        return committed

    def summary(self, failure: ModelError | None) -> None:
        """A chunk was archived, with a summary, or raw because of a failure."""
        if failure is None:
            return
        text = f"kept raw, no summary: {failure}"
        if text not in self.failures:
            self._aside(text, failure.hint)
            self.failures.append(text)
        self.partly = self.partly or failure.reason != _UNCONFIGURED

    def left(self, path: str, why: str, *, named: bool) -> None:
        """A session was left alone.

        Raises:
            SessionInUse: A person asked for it by name.
        """
        if named:
            raise SessionInUse(why, "Stop the agent first, or say --force.")
        self.skipped[path] = why
        self._aside(f"left alone: {why}", None)

    def end(self, nothing: str) -> int:
        """The last words; gives the exit code.

        Raises:
            PartlyDone: A model failed, and messages were kept raw.
        """
        if self.args.json:
            print_json({"done": self.rows, "skipped": self.skipped, "failures": self.failures})
        elif not self.rows:
            print(nothing)
        else:
            print(f"Take one back with: gitmem revert {self.rows[-1]['commit'][:8]}")
        if self.partly:
            raise PartlyDone(
                "the model gave no summary", "The messages are in the history, whole; a Dream reads them."
            )
        return 0

    def _aside(self, text: str, hint: str | None) -> None:
        if not self.args.json:
            sys.stderr.write(f"{text}\n" + (f"  {hint}\n" if hint else ""))


def _row(commit: CommitInfo) -> dict[str, Any]:
    return {
        "commit": commit.sha,
        "kind": str(commit.kind),
        "subject": commit.subject,
        "trailers": {token: list(values) for token, values in commit.trailers.items()},
    }
