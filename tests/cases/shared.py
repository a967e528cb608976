"""The handed-out inputs of the cases, where they lie beside the project; tests that want them skip without."""

from pathlib import Path

import pytest

INPUTS = Path(__file__).parents[3] / "shared" / "cases" / "inputs"
FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures"


def handed_out(path: str) -> bytes:
    """The bytes of one input, such as `B10/expected.json`."""
    return _existing(INPUTS / path).read_bytes()


def handed_out_files(folder: str, pattern: str) -> dict[str, bytes]:
    """All inputs in a folder: name -> bytes."""
    return {path.name: path.read_bytes() for path in sorted(_existing(INPUTS / folder).glob(pattern))}


def workspaces() -> Path:
    """The archive of workspaces that real releases of an agent wrote."""
    return _existing(FIXTURES / "nanobot-workspaces.tar.gz")


def _existing(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the project")
    return path
