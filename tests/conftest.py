"""Fixtures that every part of the tests shares: nothing of this machine's user leaks in or out."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, so that no setting, credential or git configuration of the user is read or written."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GITMEM_STATE_DIR", str(home / "state"))
    monkeypatch.setenv("GITMEM_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in (
        "XDG_RUNTIME_DIR",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_SSH_COMMAND",
        "GITMEM_TOKEN",
        "NO_COLOR",
    ):
        monkeypatch.delenv(name, raising=False)
    return home
