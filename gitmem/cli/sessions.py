"""gitmem sessions: the conversations of the agent."""

import argparse

from gitmem.cli.options import add_change_options, common_options, count

HELP = "list, show, delete or fork conversations"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    what = parser.add_subparsers(dest="what", metavar="WHAT")
    below = [common_options(below=True)]
    what.add_parser("list", parents=below, help="list the sessions, the one saved last first (the default)")
    show = what.add_parser("show", parents=below, help="show the messages of one")
    show.add_argument("key", metavar="KEY", help="its key, as in telegram:42, or its file")
    show.add_argument("-n", "--max-count", type=count, metavar="N", help="only the last N messages")
    delete = what.add_parser("delete", parents=below, help="remove one; history keeps all it held")
    delete.add_argument("key", metavar="KEY", help="its key or file")
    _change_options(delete)
    fork = what.add_parser("fork", parents=below, help="start another one from a turn of it")
    fork.add_argument("key", metavar="KEY", help="key or file of the session to fork; it stays as it is")
    fork.add_argument("new_key", metavar="NEWKEY", help="key of the new session")
    fork.add_argument(
        "--before",
        type=count,
        required=True,
        metavar="N",
        help="leave out the user's turn N and all after it (turns are counted from 1, as show does)",
    )
    _change_options(fork)
    parser.epilog = """examples:
  gitmem sessions
  gitmem sessions show telegram:42 -n 20
  gitmem sessions fork telegram:42 cli:other-way --before 3   # turns 1 and 2, to go on from there
  gitmem sessions delete cli:old --dry-run
Deleting and forking are commits: gitmem revert takes them back. Their options: gitmem sessions delete --help"""


def _change_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show the diff and do nothing")
    parser.add_argument(
        "--force", action="store_true", help="also change a session that an agent may hold in memory"
    )
    add_change_options(parser)


def run(args: argparse.Namespace) -> int:
    """List, show, or plan and apply."""
    from gitmem.actions import sessions
    from gitmem.cli.look import sessions as look
    from gitmem.cli.opening import opened_workspace
    from gitmem.cli.undoing import carry_out

    with opened_workspace(args) as opened:
        match args.what:
            case "show":
                return look.show(args, sessions.find(opened, args.key))
            case "delete":
                return carry_out(opened, args, lambda: sessions.plan_delete(opened, args.key))
            case "fork":
                return carry_out(
                    opened,
                    args,
                    lambda: sessions.plan_fork(opened, args.key, args.new_key, args.before),
                )
        return look.list_all(args, sessions.known(opened))
