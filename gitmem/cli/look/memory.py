"""Long-term files on the screen, a gutter beside them that tells where each fact came from; or the facts as JSON."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from gitmem.actions.origin import Origin, origins_of_all
from gitmem.cli.look import commits
from gitmem.cli.opening import opened_workspace
from gitmem.cli.output import Screen, print_json, screen
from gitmem.core.describe.words import spans
from gitmem.core.dreaming import skills
from gitmem.core.dreaming.draft import LONG_TERM
from gitmem.core.message import shortened
from gitmem.core.model import MODE_SYMLINK, TreePath
from gitmem.core.printable import inline
from gitmem.edges.opened import Opened
from gitmem.errors import NotFound

_NEW = "not committed yet"
_CURSORS = 16
"""Columns of the cursors in the gutter."""


def run(args: argparse.Namespace) -> int:
    """Print the files; that none of the usual ones is there is no failure."""
    with opened_workspace(args) as opened:
        texts = _texts(opened, args)
        found = origins_of_all(opened, list(texts))
    if args.json:
        print_json([_as_json(path, origin) for path, told in found.items() for origin in told])
        return 0
    if not texts:
        sys.stderr.write(f"Nothing is remembered yet: there is none of {', '.join(LONG_TERM)}.\n")
        return 0
    with screen(args) as out:
        for number, (path, data) in enumerate(texts.items()):
            if number:
                out.line()
            _print(out, path, data, found[path])
    return 0


def _texts(opened: Opened, args: argparse.Namespace) -> dict[TreePath, bytes]:
    """The files to show, as they are on disk.

    Raises:
        NotFound: A file that was named is not there.
    """
    words = [*args.files, *args.after]
    named = commits.tree_paths(opened.workspace, args.directory, words)
    paths = list(named or LONG_TERM)
    if args.skills:
        paths += sorted(path for path, _ in opened.walk() if skills.PATH.fullmatch(path))
    texts: dict[TreePath, bytes] = {}
    for path in dict.fromkeys(paths):
        file = opened.read(path).file
        if file is not None and file.mode != MODE_SYMLINK:
            texts[path] = file.data
        elif path in named:
            raise NotFound(f"there is no file {path or '.'}", f"See when there was: gitmem log -- {path}")
    return texts


def _print(out: Screen, path: TreePath, data: bytes, told: Sequence[Origin]) -> None:
    gutters = {origin.line: _gutter(origin) for origin in told}
    width = max((len(gutter) for gutter in gutters.values()), default=0)
    out.line((inline(path), "bold"))
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").removesuffix("\n")
    for number, line in enumerate(text.split("\n"), 1):
        gutter = gutters.get(number, "")
        out.line((f"{gutter:<{width}}", "green" if gutter == _NEW else "dim"), f" | {line.rstrip()}".rstrip())


def _gutter(origin: Origin) -> str:
    if origin.commit is None:
        return _NEW
    cursors = shortened(spans(origin.cursors), _CURSORS)
    return f"{origin.commit.sha[:8]} {origin.commit.kind} {cursors}".rstrip()


def _as_json(path: TreePath, origin: Origin) -> dict[str, Any]:
    commit = origin.commit
    return {
        "path": path,
        "line": origin.line,
        "fact": origin.fact,
        "commit": None if commit is None else commit.sha,
        "kind": None if commit is None else str(commit.kind),
        "time": None if commit is None else commits.local(commit).isoformat(),
        "subject": None if commit is None else commit.subject,
        "cursors": list(origin.cursors),
        "sessions": list(origin.sessions),
    }
