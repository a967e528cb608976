"""The command line: a parser, one file a verb, and the way from an error to an exit code.

A verb's module has `HELP`, `add_arguments(parser)` and `run(args) -> exit code`. It prints; it decides nothing. Heavy imports
wait until `run`, so that `gitmem --help` and hooks stay quick.
"""

import argparse
import importlib
import json
import os
import sys
import traceback
from collections.abc import Sequence

from gitmem import __version__
from gitmem.cli.options import common_options
from gitmem.errors import Conflict, GitmemError

GROUPS: dict[str, tuple[str, ...]] = {
    "set up": ("init", "clone", "config", "remote"),
    "keep": ("start", "stop", "restart", "watch", "status", "notify", "confirm"),
    "remember": ("consolidate", "compact", "dream"),
    "look back": ("log", "show", "diff", "cat", "history", "sessions", "memory"),
    "go back": ("revert", "restore", "replay"),
    "sync and back up": ("sync", "conflicts", "push"),
    "check": ("doctor", "git", "version"),
    "for other programs": ("hooks", "merge-file"),
}
_INTERRUPTED = 130
_BUG = 70
"""Exit code of an error that gitmem did not foresee (sysexits.h: EX_SOFTWARE)."""


def build_parser() -> argparse.ArgumentParser:
    """The whole parser; also the source of help texts and completions."""
    parser = argparse.ArgumentParser(
        prog="gitmem",
        usage="gitmem [-C DIR] COMMAND ...",
        description="Keeps an AI agent's memory as git history: committed as it changes, explained, reverted, backed up.",
        epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gitmem {__version__}")
    parser.add_argument("-C", dest="directory", metavar="DIR", default=".", help="run as if started in DIR")
    verbs = parser.add_subparsers(
        prog="gitmem", dest="verb", metavar="COMMAND", required=True, help=argparse.SUPPRESS
    )
    common = common_options()
    for names in GROUPS.values():
        for name in names:
            module = importlib.import_module(f"gitmem.cli.{_module(name)}")
            child = verbs.add_parser(
                name,
                parents=[common],
                description=module.HELP[:1].upper() + module.HELP[1:] + ".",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            module.add_arguments(child)
            child.set_defaults(run=module.run)
    return parser


def _module(verb: str) -> str:
    return "git_verb" if verb == "git" else verb.replace("-", "_")


def _overview() -> str:
    lines = ["commands:"]
    for title, names in GROUPS.items():
        lines.append(f"  {title}")
        for name in names:
            module = importlib.import_module(f"gitmem.cli.{_module(name)}")
            lines.append(f"    {name:<10} {module.HELP}")
    lines += ["", "Help on one of them: gitmem COMMAND --help. A first time: gitmem init, then gitmem start."]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    os.umask(0o077)  # whatever we create is private, before its exact mode is set (B93)
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = build_parser().parse_args(arguments)
    try:
        return int(args.run(args))
    except GitmemError as error:
        _report(error, as_json=args.json)
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _report(GitmemError(_sentence(error), "See what is wrong with: gitmem doctor"), as_json=args.json)
        return 1
    except Exception:  # noqa: BLE001  the outermost boundary: a bug must be reported whole, nothing is hidden
        traceback.print_exc()
        sys.stderr.write(
            f"gitmem {__version__} met a fault of its own; nothing was lost. Please report the lines above.\n"
        )
        return _BUG


def _sentence(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)


def _report(error: GitmemError, *, as_json: bool) -> None:
    if as_json:
        details = list(error.details) if isinstance(error, Conflict) else []
        document = {"error": str(error), "hint": error.hint, "details": details, "exit_code": error.exit_code}
        sys.stderr.write(json.dumps(document, ensure_ascii=False) + "\n")
        return
    sys.stderr.write(f"gitmem: {error}\n")
    if isinstance(error, Conflict):
        for detail in error.details:
            sys.stderr.write(f"{detail}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
