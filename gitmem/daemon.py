"""The loop: one thread, one queue. Watchers and the control socket only put things into the queue.

`gitmem watch` runs it in the foreground, `gitmem start` in the background. One process may keep several workspaces.
"""

import json
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from gitmem import __version__, logs
from gitmem.core.model import Notice
from gitmem.edges import control, durable
from gitmem.edges.watch import Event
from gitmem.edges.workspace import Workspace
from gitmem.errors import GitmemError
from gitmem.keeper import Keeper

_Task = Callable[[], None]
_MOST_EVENTS = 1000
_ANSWER_PATIENCE = 30.0


class Daemon:
    """Keeps workspaces until told to stop."""

    def __init__(self, workspaces: Sequence[Workspace]) -> None:
        self._queue: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._started = time.time()
        self._stopping = threading.Event()
        self._servers: dict[str, control.Server] = {}
        self._keepers = [self._keeper(workspace) for workspace in workspaces]

    def _keeper(self, workspace: Workspace) -> Keeper:
        def sink(event: Event) -> None:
            self._queue.put(partial(keeper.event, event))

        keeper = Keeper(workspace, sink, self._listen)
        return keeper

    def run(self, ready: Callable[[], None] | None = None) -> None:
        """Keep the workspaces until SIGTERM or SIGINT; what is pending then is committed.

        Raises:
            GitmemError: A workspace cannot be kept (locked by another daemon, repository refused).
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop())
        try:
            for keeper in self._keepers:
                keeper.open()
            if ready is not None:
                ready()
            while not self._stopping.is_set():
                self._turn()
        finally:
            self._close()

    def stop(self) -> None:
        """Ask the loop to end. Safe from any thread and from a signal handler."""
        self._stopping.set()
        self._queue.put(None)

    def _turn(self) -> None:
        due = min(keeper.due() for keeper in self._keepers)
        with suppress(queue.Empty):
            task = self._queue.get(timeout=max(0.0, due - time.monotonic()))
            for _ in range(_MOST_EVENTS):  # then whatever is due, however busy the writers are
                if task is not None:
                    task()
                task = self._queue.get_nowait()
            self._queue.put(task)
        now = time.monotonic()
        for keeper in self._keepers:
            keeper.tick(now)

    def _close(self) -> None:
        for keeper in self._keepers:
            try:
                keeper.close()
            except (GitmemError, OSError) as error:
                logs.warn("could not commit at the end; the next start will", error=str(error))
        for server in self._servers.values():
            server.close()
        logs.say("stopped")

    def _listen(self, workspace: Workspace) -> None:
        """Open the workspace's socket, once, and write where it is."""
        server = self._servers.get(workspace.identity)
        if server is None:
            path = control.socket_path(workspace.identity, workspace.git.state)
            server = control.Server(path, partial(self._handle, workspace.identity))
            self._servers[workspace.identity] = server
            server.start()
        record = {
            "pid": os.getpid(),
            "socket": str(server.path),
            "started": self._started,
            "version": __version__,
        }
        durable.replace(control.record_path(workspace.git.state), json.dumps(record).encode() + b"\n", 0o600)

    def _handle(self, identity: str, request: control.Answer) -> control.Answer:
        """Answer a request: on the loop's thread, so that nothing else runs meanwhile."""
        keeper = next((k for k in self._keepers if k.workspace.identity == identity), None)
        if keeper is None:
            return {"ok": False, "error": "this workspace is no longer kept"}
        answer: Future[dict[str, Any]] = Future()
        self._queue.put(partial(_resolve, answer, partial(self._do, keeper, request)))
        try:
            return {"ok": True, **answer.result(timeout=_ANSWER_PATIENCE)}
        except (GitmemError, OSError, TimeoutError) as error:
            return {"ok": False, "error": str(error) or type(error).__name__}

    def _do(self, keeper: Keeper, request: control.Answer) -> dict[str, Any]:
        match request.get("do"):
            case "ping":
                return self._about()
            case "status":
                return {**self._about(), **keeper.status()}
            case "notify":
                keeper.notify(_notice(request))
                return {}
            case "flush":
                if keeper.rounds is not None:
                    keeper.rounds.flush()
                return keeper.status()
            case other:
                raise GitmemError(f"unknown request {other!r}")

    def _about(self) -> dict[str, Any]:
        kept = [str(keeper.workspace.directory) for keeper in self._keepers]
        return {"pid": os.getpid(), "started": self._started, "version": __version__, "workspaces": kept}


def _resolve(answer: Future[dict[str, Any]], work: Callable[[], dict[str, Any]]) -> None:
    try:
        answer.set_result(work())
    except (GitmemError, OSError) as error:
        answer.set_exception(error)


def _notice(request: control.Answer) -> Notice:
    def text(name: str) -> str | None:
        value = request.get(name)
        return value if isinstance(value, str) else None

    return Notice(text("event") or "changed", text("path"), text("session"))
