"""Settings: flags > environment > workspace file > user file > defaults. The only importer of pydantic-settings.

The workspace file (`.gitmem.toml`) travels with the memory: it holds no secrets and names no programs to run.
"""

import os
import socket
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from gitmem.errors import ConfigError

WORKSPACE_FILE = ".gitmem.toml"
Seconds = Annotated[float, Field(ge=0, le=31_536_000)]
HOURS = r"^$|^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$"
_MACHINE_ONLY = frozenset({"base_url", "api_key_file"})
"""Settings that a synced file must not make: they decide who gets to read the memory, and the key."""


class Settings(BaseSettings):
    """Everything a person can set. Each field's description is its documentation."""

    model_config = SettingsConfigDict(env_prefix="GITMEM_", extra="forbid", frozen=True)

    settle: Seconds = Field(0.3, description="Seconds without a write after which changes are committed.")
    max_delay: Seconds = Field(
        5.0, description="Seconds after which a change is committed however busy the writer is."
    )
    scan_interval: Seconds = Field(600.0, description="Seconds between full scans.")
    checkpoint_grace: Seconds = Field(
        600.0,
        description="Seconds a session must be still before its interrupted turn is replayed, when it cannot be told "
        "whether the agent runs.",
    )
    session_hot: Seconds = Field(
        120.0,
        description="Seconds after its last save during which an agent is taken to hold a session in memory.",
    )
    attachment_limit: int = Field(
        5 * 1024 * 1024,
        ge=0,
        description="Size in bytes above which an attachment is reported instead of committed.",
    )
    push_delay: Seconds = Field(
        5.0, description="Seconds after a commit before it is pushed to the backup remotes."
    )
    push_deadline: Seconds = Field(
        60.0, description="Seconds a push may take, besides the time its bytes need."
    )
    include: list[str] = Field(
        [], description="Patterns (as in .gitignore) of files to keep besides the agent's own."
    )
    exclude: list[str] = Field([], description="Patterns (as in .gitignore) of files to leave out.")
    agent_process: list[str] = Field(
        [], description="Program names that tell that the agent runs, besides those its adapter knows."
    )
    engine: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Whether the daemon archives and dreams by itself: `auto` for agents that have no engine of their own.",
    )
    model: str | None = Field(
        None, description="Name of the model that summarises and dreams; none by default."
    )
    base_url: str | None = Field(
        None,
        description="API that speaks OpenAI's chat completions; OpenAI's own by default. Not in a workspace file.",
    )
    api_key_file: str | None = Field(
        None,
        description="File that holds the API key, where GITMEM_API_KEY is not set. Not in a workspace file.",
    )
    model_timeout: Seconds = Field(120.0, description="Seconds for one answer of the model, with all tries.")
    context_window: int = Field(
        65_536, ge=4096, description="Tokens that the agent's model takes; sessions near it are archived."
    )
    max_completion: int = Field(8192, ge=256, description="Tokens of the context window kept for the answer.")
    consolidation_ratio: float = Field(
        0.5, gt=0, le=0.95, description="Share of the budget to which a session is brought down by archiving."
    )
    session_ttl: float = Field(
        0.0,
        ge=0,
        le=525_600,
        description="Minutes without a save after which a session is compacted; 0 for never.",
    )
    max_history_entries: int = Field(
        1000, ge=1, description="History entries kept after a Dream; only dreamed ones are dropped."
    )
    dream_every: Seconds = Field(7200.0, description="Seconds between Dreams of the daemon; 0 for never.")
    dream_runs: int = Field(10, ge=1, le=1000, description="Most batches of 20 entries that one Dream takes.")
    dream_tokens: int = Field(400_000, ge=1000, description="Tokens after which no further batch is begun.")
    dream_seconds: Seconds = Field(900.0, description="Seconds after which no further batch is begun.")
    quiet_hours: str = Field(
        "", description="Local hours in which the daemon asks no model, as in 22:00-07:00.", pattern=HOURS
    )
    host: str = Field(
        default_factory=socket.gethostname, description="Name of this machine in commits and refs."
    )
    author: str | None = Field(None, description="Author of commits, as `Name <mail>`; by default the agent.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load` hands over: it merges the sources itself, so that each value's origin can be shown."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)


@dataclass(frozen=True)
class Source:
    """One place settings came from: its name as shown to a person, and what it sets."""

    name: str
    values: Mapping[str, Any]


def user_file() -> Path:
    """The user's settings file: `$XDG_CONFIG_HOME/gitmem/config.toml` or the platform's equivalent."""
    return config_home() / "config.toml"


def config_home() -> Path:
    """The user's configuration folder for gitmem."""
    return Path(os.environ.get("GITMEM_CONFIG_DIR") or platformdirs.user_config_path("gitmem"))


def sources(workspace: Path | None) -> tuple[Source, ...]:
    """Everything that sets something, strongest first.

    Raises:
        ConfigError: A file or variable cannot be read; it is named.
    """
    try:
        environment = EnvSettingsSource(Settings)()
    except SettingsError as error:
        raise ConfigError(f"the environment: {error}") from error
    files = [user_file()] if workspace is None else [workspace / WORKSPACE_FILE, user_file()]
    found = tuple(Source(str(file), _read(file)) for file in files)
    for name in _MACHINE_ONLY & found[0].values.keys() if workspace is not None else ():
        raise ConfigError(
            f"{name} in {files[0]}: a file that travels with the memory may not set it",
            f"Set it for this machine: gitmem config {name} VALUE",
        )
    return (Source("environment", environment), *found)


def _read(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: {error}", "Mend the file, or move it away.") from error


def load(workspace: Path | None, flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings in force.

    Args:
        workspace: The workspace whose `.gitmem.toml` counts; None for none.
        flags: Values from the command line; they win.

    Raises:
        ConfigError: A value is wrong; the message says which and where it came from.
    """
    layers = (Source("the command line", flags or {}), *sources(workspace))
    merged: dict[str, Any] = {}
    for layer in reversed(layers):
        merged.update(layer.values)
    try:
        return Settings(**merged)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        origin = next((layer.name for layer in layers if name.split(".")[0] in layer.values), "?")
        raise ConfigError(
            f"{name} in {origin}: {first['msg']}", "See what can be set with: gitmem config"
        ) from error


def fault(data: bytes) -> str | None:
    """Why the bytes of a workspace file cannot be used on this machine; None when they can."""
    try:
        values = tomllib.loads(data.decode("utf-8"))
        Settings(**values)
    except ValidationError as error:
        return str(error.errors()[0]["msg"])
    except (ValueError, TypeError) as error:
        return str(error)
    barred = _MACHINE_ONLY & values.keys()
    return f"it may not set {min(barred)}" if barred else None
