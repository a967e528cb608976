"""gitmem config: show settings and where they come from, or change one in the user's file or the workspace's."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

HELP = "show or change settings"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("name", nargs="?", help="a setting; all of them by default")
    parser.add_argument("value", nargs="?", help="its new value (as in TOML or a bare word)")
    parser.add_argument("--show-origin", action="store_true", help="say where each value comes from")
    parser.add_argument(
        "--workspace", action="store_true", help="change the workspace's .gitmem.toml, not the user's file"
    )
    parser.add_argument("--unset", action="store_true", help="remove the setting from the file")
    parser.epilog = """examples:
  gitmem config --show-origin
  gitmem config max_delay 10
  gitmem config --workspace exclude '["notes/*"]'"""


def run(args: argparse.Namespace) -> int:
    """Show or change."""
    from gitmem.cli.output import print_json
    from gitmem.edges import config, workspace
    from gitmem.errors import NoWorkspace, UsageError

    try:
        directory: Path | None = workspace.find(Path(args.directory)).directory
    except NoWorkspace:
        directory = None
    if args.name is not None and args.name not in config.Settings.model_fields:
        known = ", ".join(config.Settings.model_fields)
        raise UsageError(f"there is no setting called {args.name}", f"Known: {known}")
    if args.value is not None or args.unset:
        if args.name is None or (args.workspace and directory is None):
            raise UsageError(
                "name a setting, and use --workspace inside a workspace", "See: gitmem config --help"
            )
        file = directory / config.WORKSPACE_FILE if args.workspace and directory else config.user_file()
        value = None if args.unset else _value(args.value)
        _change(file, args.name, value, directory)
        if args.json:
            print_json({"file": str(file), "name": args.name, "value": value})
        else:
            print(
                f"{file}: {args.name} {'removed' if value is None else f'= {json.dumps(value, ensure_ascii=False)}'}"
            )
            print("A running daemon takes it up at: gitmem restart")
        return 0
    settings = config.load(directory)
    sources = config.sources(directory)
    names = [args.name] if args.name else list(config.Settings.model_fields)
    rows = [_row(name, getattr(settings, name), sources) for name in names]
    if args.json:
        print_json({row["name"]: {"value": row["value"], "origin": row["origin"]} for row in rows})
        return 0
    for row in rows:
        text = json.dumps(row["value"], ensure_ascii=False)
        print(f"{row['name']:<18} {text:<14} {row['origin'] if args.show_origin else row['meaning']}")
    return 0


def _row(name: str, value: Any, sources: Any) -> dict[str, Any]:
    from gitmem.edges import config

    origin = next((source.name for source in sources if name in source.values), "default")
    return {
        "name": name,
        "value": value,
        "origin": origin,
        "meaning": config.Settings.model_fields[name].description,
    }


def _value(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _change(file: Path, name: str, value: Any, directory: Path | None) -> None:
    """Rewrite one line of a settings file; everything else in it stays as it is. A wrong value changes nothing."""
    import tomllib

    from gitmem.edges import config, durable
    from gitmem.errors import ConfigError

    if value is not None:
        config.load(directory, {name: value})
    old = file.read_text("utf-8") if file.is_file() else ""
    lines = [line for line in old.splitlines() if not re.match(rf"\s*{name}\s*=", line)]
    if value is not None:
        lines.insert(0, f"{name} = {json.dumps(value, ensure_ascii=False)}")
    text = "\n".join(lines) + "\n"
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{file} would not be readable any more: {error}", "Change it with an editor."
        ) from error
    durable.make_folders(file.parent)
    durable.replace(file, text.encode(), 0o600)
