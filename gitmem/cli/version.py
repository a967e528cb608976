"""gitmem version: what runs here, for a bug report."""

import argparse

HELP = "show versions, for a bug report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options of its own."""
    del parser


def run(args: argparse.Namespace) -> int:
    """Print versions."""
    import platform
    from importlib import metadata

    from gitmem import __version__
    from gitmem.cli.output import print_json

    libraries = {name: metadata.version(name) for name in ("dulwich", "watchdog", "pydantic-settings")}
    facts = {
        "gitmem": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        **libraries,
    }
    if args.json:
        print_json(facts)
    else:
        for name, value in facts.items():
            print(f"{name:<18} {value}")
    return 0
