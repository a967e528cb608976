"""gitmem doctor: check everything that can silently rot, and mend what is safe to mend."""

import argparse
from typing import Any

HELP = "check that the memory is safe, and mend what can be"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "--fix", action="store_true", help="carry out the safe cures: left-behind locks, modes, index"
    )
    parser.epilog = "Exit code: 0 all is well, 1 something needs a look."


def run(args: argparse.Namespace) -> int:
    """Check, perhaps mend, and print."""
    from gitmem.actions import doctor
    from gitmem.cli.opening import opened_workspace
    from gitmem.cli.output import print_json

    rows: list[dict[str, Any]] = []
    with opened_workspace(args) as opened:
        for check in doctor.examine(opened):
            mended = args.fix and check.mend is not None
            if mended and check.mend is not None:
                check.mend()
            rows.append(
                {
                    "name": check.name,
                    "ok": check.ok or mended,
                    "text": check.text,
                    "cure": check.cure,
                    "mended": mended,
                }
            )
            if not args.json:
                print(_sentence(rows[-1]))
    if args.json:
        print_json({"checks": rows})
    return 0 if all(row["ok"] for row in rows) else 1


def _sentence(row: dict[str, Any]) -> str:
    sign = "mended" if row["mended"] else "ok" if row["ok"] else "LOOK"
    cure = f"  ->  {row['cure']}" if row["cure"] and not row["ok"] else ""
    return f"{sign:<7} {row['name']:<11} {row['text']}{cure}"
