"""A Python process of our own that may be ended at any moment, with everything it started.

It gets a process group without a terminal, so nothing in it can ask a person, and signals reach all of it
(B34).
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

_GRACE = 1.0
"""Seconds between asking the group to end and ending it."""
_TICK = 0.02
_ERRORS = 4096
"""Bytes of the error stream that are kept, from its end."""


class End(Enum):
    """Why a child is no more."""

    ITSELF = "it ended by itself"
    DEADLINE = "its time was up"
    CANCELLED = "somebody cancelled it"


@dataclass(frozen=True, slots=True)
class Ended:
    """What a child left behind.

    Attributes:
        why: Who ended it.
        status: Its exit status, negative for a signal.
        output: Everything on its standard output.
        errors: The end of its standard error.
    """

    why: End
    status: int
    output: bytes
    errors: str


class Child:
    """A process `python -m MODULE` under way. Only `close` waits, and it must be called.

    Args:
        module: What to run. Neither the current folder nor a script's folder is on its path, so that no
            module of a workspace is ever imported.
        request: Goes to its standard input, which is closed after that. It must fit into a pipe (64 KB).
        deadline: Seconds after which the group is ended.
        environ: Its whole environment.
    """

    def __init__(self, module: str, request: bytes, *, deadline: float, environ: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed in _reap)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module],
                cwd="/",
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError:
            self._errors.close()
            raise
        self._until = time.monotonic() + deadline
        self._why = End.ITSELF
        self._asked: float | None = None
        self._output = bytearray()
        self._ended: Ended | None = None
        os.set_blocking(self.fileno(), False)
        self._hand_over(request)

    @property
    def pid(self) -> int:
        """Number of the process and of its group."""
        return self._process.pid

    def fileno(self) -> int:
        """A descriptor that becomes readable when there is news; valid until the end was polled."""
        assert self._process.stdout is not None  # noqa: S101  (asked for with PIPE)
        return self._process.stdout.fileno()

    def _hand_over(self, request: bytes) -> None:
        with suppress(BrokenPipeError):  # it died already: its status tells
            if self._process.stdin is not None:
                with self._process.stdin as stream:
                    stream.write(request)

    def poll(self) -> Ended | None:
        """See how it goes: what it left once it has ended, None before. Ends it when its time is up."""
        if self._ended is None:
            self._drain()
            now = time.monotonic()
            if self._process.poll() is not None:
                self._ended = self._reap(self._process.returncode)
            elif self._asked is not None:
                if now >= self._asked + _GRACE:
                    self._signal(signal.SIGKILL)
            elif now >= self._until:
                self._end(End.DEADLINE)
        return self._ended

    def cancel(self) -> None:
        """Ask the group to end; it is made to a second later, by a `poll` or `close`."""
        if self._ended is None and self._asked is None:
            self._end(End.CANCELLED)

    def close(self) -> None:
        """End the group if it runs, and wait for that: about a second at most."""
        self.cancel()
        while self.poll() is None:
            time.sleep(_TICK)

    def _end(self, why: End) -> None:
        self._why = why
        self._asked = time.monotonic()
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):  # gone already; macOS says EPERM for a zombie
            os.killpg(self._process.pid, number)

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            while data := os.read(self.fileno(), 65536):
                self._output += data

    def _reap(self, status: int) -> Ended:
        self._signal(signal.SIGKILL)  # whatever it started and left behind
        self._drain()
        if self._process.stdout is not None:
            self._process.stdout.close()
        with self._errors as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _ERRORS))
            errors = stream.read().decode("utf-8", "replace")
        return Ended(self._why, status, bytes(self._output), errors)
