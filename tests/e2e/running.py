"""Real daemons for tests: started as a user starts them, asked over their socket, killed when a test says so."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gitmem.edges import control, workspace

PATIENCE = 30.0
QUICK = {"GITMEM_SETTLE": "0.05", "GITMEM_MAX_DELAY": "0.5", "GITMEM_PUSH_DELAY": "0.1"}


def gitmem(
    *words: object, check: bool = True, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "gitmem", *(str(word) for word in words)],
        capture_output=True,
        text=True,
        check=check,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
    )


def eventually(what: str, condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until a condition of another process holds; there is no event to wait for across processes."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience:g} s: {what}")
        time.sleep(0.02)


class Daemon:
    """A daemon in the foreground of a process of its own."""

    def __init__(self, *directories: Path, env: Mapping[str, str] | None = None) -> None:
        self.directories = directories
        self.state = workspace.find(directories[0]).git.state
        self._env = {**os.environ, **QUICK, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = [sys.executable, "-m", "gitmem", "watch", "--quiet", *map(str, self.directories)]
        self._process = subprocess.Popen(words, env=self._env, stdin=subprocess.DEVNULL)
        eventually(
            "the daemon answers", lambda: self._process is not None and (self._ended() or self.ask("ping"))
        )
        if self._ended():
            raise AssertionError(f"the daemon ended with {self._process.returncode}")

    def _ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def ask(self, word: str, **more: object) -> dict[str, Any] | None:
        answer = control.ask(self.state, {"do": word, **more}, timeout=PATIENCE)
        return None if answer is None else dict(answer)

    def status(self) -> dict[str, Any]:
        answer = self.ask("status")
        assert answer is not None
        return answer

    def flush(self) -> dict[str, Any]:
        answer = self.ask("flush")
        assert answer is not None
        assert answer["ok"], answer
        return answer

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it and wait for its end; its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE)


@contextmanager
def watching(*directories: Path, env: Mapping[str, str] | None = None) -> Iterator[Daemon]:
    """A daemon for the length of a `with` block."""
    daemon = Daemon(*directories, env=env)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.close()
