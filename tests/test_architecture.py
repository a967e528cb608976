"""The shape of the package: imports point down, the core is pure, the module that wraps a library is its only importer."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gitmem"
RANKS = {"core": 0, "agents": 1, "edges": 1, "actions": 2}
SHELL = 3
IMPURE = {
    "os",
    "io",
    "time",
    "threading",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "logging",
    "shutil",
    "tempfile",
    "queue",
}
ONLY_IMPORTERS = {
    "watchdog": {"edges/watch.py"},
    "pydantic_settings": {"edges/config.py"},
    "openai": {"edges/llm.py"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def rank_of_module(name: str) -> int | None:
    parts = name.split(".")
    if parts[0] != "gitmem":
        return None
    if len(parts) == 1 or parts[1] in ("errors", "__version__"):
        return -1
    return RANKS.get(parts[1], SHELL)


@pytest.mark.parametrize("path", modules(), ids=room)
def test_imports_point_down_and_actions_never_import_actions(path: Path) -> None:
    folder = path.relative_to(PACKAGE).parts[0]
    rank = RANKS.get(folder, SHELL) if path.parent != PACKAGE else SHELL
    if path == PACKAGE / "errors.py":
        rank = -1
    for name in imports(path):
        other = rank_of_module(name)
        if other is None:
            continue
        assert other <= rank, f"{room(path)} imports {name} from above"
        if folder == "actions":
            assert not name.startswith("gitmem.actions."), f"{room(path)} imports the action {name}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").rglob("*.py")), ids=room)
def test_the_core_is_pure(path: Path) -> None:
    for name in imports(path):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names or top == "gitmem", f"{room(path)} imports {name}"
        assert top not in IMPURE, f"{room(path)} imports {name}: the core does no I/O and knows no clock"


@pytest.mark.parametrize("library", ONLY_IMPORTERS)
def test_a_wrapped_library_has_one_importer(library: str) -> None:
    importers = {room(path) for path in modules() if any(n.split(".")[0] == library for n in imports(path))}
    assert importers <= ONLY_IMPORTERS[library] | ({"cli/version.py"} & importers)


def test_dulwich_stays_in_the_edges() -> None:
    users = {room(path) for path in modules() if any(n.split(".")[0] == "dulwich" for n in imports(path))}
    assert all(user.startswith("edges/") for user in users)
