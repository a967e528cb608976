"""gitmem merge-file: merge one file as a sync would; a merge driver for plain git (see gitmem hooks install git)."""

import argparse
from pathlib import Path

HELP = "merge one file as a sync would (a merge driver for plain git)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("base", help="the version both sides started from (%%O)")
    parser.add_argument("ours", help="our version (%%A); the result is written there")
    parser.add_argument("theirs", help="the other version (%%B)")
    parser.add_argument("path", help="the file's path in the tree (%%P): it tells how to merge")
    parser.epilog = """examples:
  gitmem hooks install git      # have plain git pull and git merge use it in this workspace
Exit code 1 when the file is of a kind that cannot be merged; it is left as it is."""


def run(args: argparse.Namespace) -> int:
    """Merge, and write the result over ours."""
    import sys

    from gitmem.core.merge.files import merge_file
    from gitmem.core.paths import NATIVE_RULES, classify_path

    ours = Path(args.ours)
    base, mine, other = (Path(name).read_bytes() for name in (args.base, args.ours, args.theirs))
    merged = merge_file(classify_path(args.path, NATIVE_RULES), args.path, base or None, mine, other)
    if merged.loser is not None:
        sys.stderr.write(f"gitmem: {args.path} cannot be merged; choose one version\n")
        return 1
    ours.write_bytes(merged.data or b"")
    for conflict in merged.conflicts:
        sys.stderr.write(
            f"gitmem: {conflict.path}: both changed it ({conflict.kind}); both texts are in the file\n"
        )
    return 0
