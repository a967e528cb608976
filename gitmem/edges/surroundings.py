"""What the processes we start for a transfer may see and use of the user's environment."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from gitmem.errors import ConfigError

_SSH_OPTIONS = (
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    "ControlMaster=no",  # a master process would outlive the transfer
)
_NOT_OPENSSH = frozenset({"plink", "tortoiseplink", "putty", "simple"})
"""As git names them in GIT_SSH_VARIANT: they do not take OpenSSH's options."""

_KEPT = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
"""The user's own git settings, where `git credential` finds its helpers."""

_SECRET = frozenset({"GITMEM_USERNAME", "GITMEM_PASSWORD", "GITMEM_TOKEN"})

_NEVER_ASK = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    # Error texts are told apart by their English words, also those of a server that takes our language over.
    "LC_MESSAGES": "C",
    "LANGUAGE": "C",
}


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """The environment for a child: nothing in it asks a person, names a repository or holds a password."""
    theirs = {
        name: value
        for name, value in ours.items()
        if name not in _SECRET and (not name.startswith("GIT_") or name in _KEPT)
    }
    if overriding := theirs.pop("LC_ALL", None):
        theirs["LANG"] = overriding
    return theirs | _NEVER_ASK


def ssh_command(ours: Mapping[str, str], setting: str | None = None) -> str:
    """The ssh program and its options, never from a repository's `core.sshCommand`.

    Args:
        ours: Our environment: `GIT_SSH_COMMAND`, else `GIT_SSH` (a program) is used as git does.
        setting: What the user's own settings say; it wins.

    Raises:
        ConfigError: The command cannot be read as words.
    """
    program = ours.get("GIT_SSH")
    command = setting or ours.get("GIT_SSH_COMMAND") or (shlex.quote(program) if program else "ssh")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigError(f"the ssh command {command!r} cannot be read: {error}") from error
    if not words:
        raise ConfigError("the ssh command is empty")
    variant = ours.get("GIT_SSH_VARIANT") or Path(words[0]).stem.lower()
    if variant in _NOT_OPENSSH:
        return command
    return " ".join([command, *(f"-o {option}" for option in _SSH_OPTIONS)])


def ca_file(ours: Mapping[str, str], setting: str | None = None) -> str | None:
    """The file of certificates to trust for https; None for those of the system.

    Args:
        ours: Our environment: `GIT_SSL_CAINFO`, else `SSL_CERT_FILE`.
        setting: What the user's own settings say; it wins.

    Raises:
        ConfigError: There is no such file.
    """
    found = setting or ours.get("GIT_SSL_CAINFO") or ours.get("SSL_CERT_FILE")
    if not found:
        return None
    path = Path(found).expanduser().absolute()
    if not path.is_file():
        raise ConfigError(
            f"the file of certificates {path} does not exist", "See GIT_SSL_CAINFO and SSL_CERT_FILE."
        )
    return str(path)
