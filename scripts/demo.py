"""The main job on the sample workspace: watch an agent, see its memory become history, and take a Dream back.

`python scripts/demo.py [--keep DIR]`. Works on a copy; needs nothing but the installed package.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "sample_workspace"
PATIENCE = 30.0


class Demo:
    """One run on one copy."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self._environment = {
            **os.environ,
            "GITMEM_STATE_DIR": str(folder / "state"),
            "GITMEM_CONFIG_DIR": str(folder / "config"),
        }

    def gitmem(self, *words: str, quiet: bool = False) -> str:
        """Run a gitmem command, showing it and what it prints."""
        if not quiet:
            shown = " ".join(f"'{word}'" if " " in word else word for word in words)
            print(f"\n$ gitmem {shown}")
        done = subprocess.run(
            [sys.executable, "-m", "gitmem", "-C", str(self.workspace), *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if not quiet or done.returncode:
            print(done.stdout + done.stderr, end="")
        if done.returncode:
            raise SystemExit(f"gitmem {words[0]} failed with {done.returncode}")
        return done.stdout

    def agent(self, act: str) -> None:
        """Let the agent, a process of its own, do something."""
        words = [sys.executable, str(HERE / "agent.py"), str(self.workspace), act]
        subprocess.run(words, check=True)

    def wait_for(self, kind: str, count: int = 1) -> None:
        """Wait until the daemon has made a commit of this kind."""
        deadline = time.monotonic() + PATIENCE
        while len(self.gitmem("log", "--oneline", "--kind", kind, quiet=True).splitlines()) < count:
            if time.monotonic() > deadline:
                raise SystemExit(f"no commit of kind {kind} within {PATIENCE:g} s")
            time.sleep(0.1)

    def run(self) -> None:
        """The whole story."""
        say(
            "A workspace: five sessions, a history queue, long-term memory, a skill. One turn was cut off by a crash."
        )
        shutil.copytree(SAMPLE, self.workspace)
        for path in self.workspace.rglob("*.jsonl"):
            os.utime(path, (1, 1))
        self.gitmem("init")
        say(
            "The daemon starts. The first thing it does is to turn the interrupted turn into messages; no tool runs again."
        )
        self.gitmem("start")
        try:
            self.story()
        finally:
            self.gitmem("stop")

    def story(self) -> None:
        """What happens while the daemon watches."""
        self.wait_for("replay")
        self.gitmem("show", "last replay")
        say(
            "The agent talks, archives old messages, and dreams. Each becomes one commit that says what happened."
        )
        self.agent("talk")
        self.wait_for("session")
        self.agent("consolidate")
        self.wait_for("consolidate")
        self.agent("dream")
        self.wait_for("dream")
        self.gitmem("log")
        self.gitmem("show", "last dream")
        say("Somebody adds a fact by hand. Then the Dream is taken back, and only the Dream.")
        soul = self.workspace / "SOUL.md"
        soul.write_text(soul.read_text("utf-8") + "- Answer in the language of the question.\n", "utf-8")
        self.wait_for("edit")
        self.gitmem("revert", "last dream")
        say("A backup on another disk, here a folder.")
        self.gitmem("remote", "add", "backup", str(self.workspace.parent / "backup.git"), "--create")
        self.gitmem("push")
        self.gitmem("status")
        if shutil.which("git"):
            say("It is an ordinary git repository.")
            print("\n$ git log --oneline; git fsck --full --strict")
            subprocess.run(["git", "-C", self.workspace, "--no-pager", "log", "--oneline"], check=True)
            subprocess.run(
                ["git", "-C", self.workspace, "fsck", "--full", "--strict", "--no-progress"], check=True
            )


def say(text: str) -> None:
    """A heading."""
    print(f"\n== {text}", flush=True)


def main() -> None:
    """Run the demo in a temporary folder, or in one that stays."""
    parser = argparse.ArgumentParser(
        description="Watch gitmem do its main job on a copy of sample_workspace/."
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in DIR and leave everything there")
    args = parser.parse_args()
    if args.keep is not None:
        args.keep.mkdir(parents=True)
        Demo(args.keep.resolve()).run()
        print(f"\nLook around: {args.keep}/workspace")
        return
    with tempfile.TemporaryDirectory(prefix="gitmem-demo-") as folder:
        Demo(Path(folder).resolve()).run()


if __name__ == "__main__":
    main()
