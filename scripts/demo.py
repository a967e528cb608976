"""The main job on the sample workspace: watch an agent, see its memory become history, and take a bad Dream back.

`python scripts/demo.py [--keep DIR]`. Works on a copy, with settings and state of its own; needs nothing but the installed
package. Exits with 1 and the failed command's output when a step fails; its daemon is ended in any case.
"""

import argparse
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "sample_workspace"
PATIENCE = 30.0
"""Seconds for the daemon to commit something."""
SETTLE = "0.6"
"""Seconds of quiet before a commit, twice the default: a busy machine may stop the agent for that long between two writes."""
QUICKLY = ("--pause", "0.002")
"""How fast agents write the files of one consolidation or Dream."""
HOURS_AGO = 3 * 3600.0
"""How old the files of the copy are made: an interrupted turn that is fresh might still be running."""


class StepError(Exception):
    """A step did not do what it should."""


class Demo:
    """One run on one copy."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self._backup = folder / "backup.git"
        self._watching = False
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GITMEM_")}
        self._environment = inherited | {
            "GITMEM_STATE_DIR": str(folder / "state"),
            "GITMEM_CONFIG_DIR": str(folder / "config"),
            "GITMEM_SETTLE": SETTLE,
            "PYTHONUTF8": "1",
        }

    def gitmem(self, *words: str, quiet: bool = False) -> str:
        """Run a gitmem command, showing it and what it prints.

        Raises:
            StepError: It exited with another code than 0.
        """
        if not quiet:
            print(f"\n$ gitmem {shlex.join(words)}")
        return self._run([sys.executable, "-m", "gitmem", *words], quiet=quiet)

    def agent(self, *words: str) -> None:
        """Let the agent, a process of its own, do something."""
        self._run([sys.executable, str(HERE / "agent.py"), str(self.workspace), *words], quiet=True)

    def _run(self, words: list[str], *, quiet: bool) -> str:
        done = subprocess.run(
            words,
            cwd=self.workspace,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if not quiet or done.returncode:
            print(done.stdout + done.stderr, end="", flush=True)
        if done.returncode:
            raise StepError(f"{shlex.join(words)} ended with {done.returncode}")
        return done.stdout

    def wait_for(self, kind: str, count: int = 1) -> None:
        """Wait until the daemon has made that many commits of a kind.

        Raises:
            StepError: It has not, for long enough.
        """
        deadline = time.monotonic() + PATIENCE
        while len(self.gitmem("log", "--oneline", "--kind", kind, quiet=True).splitlines()) < count:
            if time.monotonic() > deadline:
                raise StepError(f"no commit of kind {kind} within {PATIENCE:g} s")
            time.sleep(0.1)

    def run(self) -> None:
        """The whole story, and the end of the daemon whatever happens."""
        say(
            "A workspace",
            "Five sessions, a history queue, long-term memory and a skill. A crash cut off one turn.",
        )
        shutil.copytree(SAMPLE, self.workspace)
        past = time.time() - HOURS_AGO
        for path in self.workspace.rglob("*"):
            os.utime(path, (past, past))
        self.gitmem("init")
        try:
            self._start()
            self._watch()
            self._undo()
            self._backup_and_check()
        finally:
            self._stop()

    def _stop(self) -> None:
        """End the daemon; one that was still starting, when the story was interrupted, is waited for."""
        for _ in range(1 if self._watching else 20):
            if "no daemon" not in self.gitmem("stop"):
                return
            time.sleep(0.25)

    def _start(self) -> None:
        say(
            "The daemon starts",
            "First of all the interrupted turn becomes ordinary messages. The tool that had an answer keeps it;\n"
            "the one that had none is marked as interrupted. No tool runs again.",
        )
        self.gitmem("start")
        self._watching = True
        self.wait_for("replay")
        self.gitmem("show", "last replay")

    def _watch(self) -> None:
        say(
            "An agent works",
            "It talks (a turn is saved five times), archives old messages, and dreams: history entries become\n"
            "long-term memory. Then a second Dream writes MEMORY.md from the newest entry alone.",
        )
        self.agent("talk", "--session", "cli:reading")
        self.wait_for("session")
        self.agent("consolidate", "--session", "telegram:42", *QUICKLY)
        self.wait_for("consolidate")
        self.agent("dream", *QUICKLY)
        self.wait_for("dream")
        self.agent("consolidate", "--session", "cli:direct", *QUICKLY)
        self.wait_for("consolidate", 2)
        self.agent("dream", "--careless", *QUICKLY)
        self.wait_for("dream", 2)
        self.gitmem("log")
        self.gitmem("show", "last dream")

    def _undo(self) -> None:
        say(
            "The bad Dream is taken back, and nothing else",
            "Somebody adds a line to MEMORY.md meanwhile. The revert keeps that line and the first Dream's facts.",
        )
        memory = self.workspace / "memory" / "MEMORY.md"
        memory.write_text(
            memory.read_text("utf-8") + "- The backup disk is to be replaced in June.\n", "utf-8"
        )
        self.wait_for("edit")
        self.gitmem("revert", "last dream")
        self.gitmem("diff", "before last dream", "HEAD", "--", "memory/MEMORY.md")
        kept = memory.read_text("utf-8")
        if "guillotine" not in kept or "in June" not in kept:
            raise StepError("the revert did not bring the lost facts back, or lost the later line")

    def _backup_and_check(self) -> None:
        say(
            "A backup",
            "Here into a folder. The daemon pushes by itself some seconds after each commit. `gitmem status` goes on\n"
            "naming what the Dream had removed, until the daemon starts again.",
        )
        self.gitmem("remote", "add", "backup", str(self._backup), "--create")
        self.gitmem("push")
        self.gitmem("status")
        if shutil.which("git"):
            say("It is an ordinary git repository")
            self.gitmem("git", "log", "--oneline", "--all")
            self.gitmem("git", "fsck", "--full", "--strict", "--no-progress")
            self._run(["git", "--git-dir", str(self._backup), "fsck", "--full", "--strict"], quiet=True)


def say(title: str, text: str = "") -> None:
    """A heading, and what it is about."""
    print(f"\n\n== {title}")
    if text:
        print(text)
    sys.stdout.flush()


def end(number: int, _frame: object) -> None:
    """End in the ordinary way when told to: through `finally`, so that the daemon ends too."""
    raise SystemExit(128 + number)


def tell(folder: Path) -> int:
    """Run the demo in a folder; its exit code."""
    try:
        Demo(folder.resolve()).run()
    except StepError as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    return 0


def main() -> int:
    """Run the demo in a temporary folder, or in one that stays."""
    parser = argparse.ArgumentParser(
        description="Watch gitmem do its main job on a copy of sample_workspace/."
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in DIR and leave everything there")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, end)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show Chinese
    if args.keep is None:
        with tempfile.TemporaryDirectory(prefix="gitmem-demo-") as folder:
            return tell(Path(folder))
    if args.keep.exists():
        parser.error(f"{args.keep} exists already")
    args.keep.mkdir(parents=True)
    code = tell(args.keep)
    print(f"\nLook around: {args.keep / 'workspace'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
