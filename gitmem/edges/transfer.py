"""The process that talks to a remote: `python -m gitmem.edges.transfer`, a request in, a reply out.

Network code runs in a process of its own because dulwich has no time limits on most ways: whoever waits for
it can end it at any moment (B34). It reads objects and nothing else of the repository: no configuration, no
hooks (B98).
"""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from types import FrameType

from dulwich.client import HTTPUnauthorized
from dulwich.object_store import DiskObjectStore

from gitmem.core import remote_url
from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.edges import bare, clients, credentials, trouble
from gitmem.edges.fetching import Fetch, limit_memory
from gitmem.edges.outgoing import Outgoing
from gitmem.edges.pushing import Push
from gitmem.edges.wire import Login, Reply, Request, Trouble

_GRACE = 2.0
"""Seconds past the deadline after which this process ends itself, should nobody else be left to do it."""


def transfer(request: Request) -> Reply:
    """Do what is asked; whatever goes wrong is in the reply."""
    url = remote_url.parse(request.url)
    store = DiskObjectStore(str(Path(request.git) / "objects"), fsync_object_files=True)
    work: Push | Fetch = Push(Outgoing(store), request.offers)
    if request.fetch is not None:
        work = Fetch(store, request.fetch, request.haves)
    problem: Trouble | None = None
    secret = request.login
    started = time.time()
    try:
        try:
            work.run(partial(clients.connect, request, url, request.login))
        except HTTPUnauthorized:
            secret = _asked(request, url)
            if secret is None:
                raise
            work.run(partial(clients.connect, request, url, secret))
        if url.scheme is Scheme.PATH:
            _finish(work, Path(url.path), started)
    except Exception as error:  # noqa: BLE001  (the border of the process: the parent raises it again)
        found = trouble.explain(error, url)
        problem = Trouble(found.state, _hide(str(found), secret), found.hint)
    finally:
        store.close()
    said = _hide(remote_url.printable(work.said), secret)
    if isinstance(work, Fetch):
        return Reply((), work.objects, said, problem, work.sha)
    return Reply(tuple(work.results.values()), work.objects, said, problem)


def _finish(work: Push | Fetch, path: Path, started: float) -> None:
    """What a server would have done where there is none."""
    if isinstance(work, Push):
        bare.flush(path, started)
    elif work.sha is None:
        bare.check_absent(path, work.ref)


def _asked(request: Request, url: RemoteUrl) -> Login | None:
    """A login from the user's git helpers, where none was given and they may be asked."""
    if request.login is not None or not request.ask_helper:
        return None
    return credentials.ask_helper(url, os.environ)


def _hide(text: str, login: Login | None) -> str:
    """A server may repeat what it was sent."""
    return text.replace(login.password, "***") if login and login.password else text


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """Leave in an orderly way: half-written packs and lock files at a path are taken away."""
    sys.exit(128 + signal.SIGTERM)


def _kill(_signal: int, _frame: FrameType | None) -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> int:
    """Read a request from standard input, write the reply to standard output."""
    request = Request.load(sys.stdin.buffer.read())
    sys.stdin.close()
    signal.signal(signal.SIGTERM, _stop)
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGALRM, _kill)
        signal.setitimer(signal.ITIMER_REAL, request.deadline + _GRACE)
    if request.fetch is not None:
        limit_memory()
    sys.stdout.buffer.write(transfer(request).dump())
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
