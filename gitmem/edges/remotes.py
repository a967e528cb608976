"""The record of remotes: where backups go, by name.

It is gitmem's own file beside the repository. The repository's configuration is never asked: an agent, or a
copied workspace, may have written that (B98).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from gitmem.core import remote_url
from gitmem.core.remote_url import RemoteUrl, Scheme
from gitmem.edges import durable, gitdir
from gitmem.edges.refs import Refs
from gitmem.errors import ConfigError, NotFound, UsageError

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,63}")
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Remote:
    """A place that commits are pushed to.

    Attributes:
        name: Its short name, also in `refs/remotes/<name>/`.
        url: Its checked address.
        created: When it was added, ISO 8601 in UTC.
        sync: Whether what other machines push there is taken in, too; else it is a backup.
    """

    name: str
    url: RemoteUrl
    created: str = ""
    sync: bool = False

    def tracking(self, ref: str) -> str | None:
        """The ref that remembers where the remote's branch was; None for what is not a branch."""
        branch = ref.removeprefix("refs/heads/")
        return None if branch == ref else f"refs/remotes/{self.name}/{branch}"


def record(git_dir: Path) -> Path:
    """The file that remotes are kept in."""
    return gitdir.resolve(git_dir).state / "remotes.json"


def load(git_dir: Path) -> list[Remote]:
    """All remotes, by name.

    Raises:
        ConfigError: The record is damaged, or holds an address that would not be accepted today.
    """
    path = record(git_dir)
    try:
        content = json.loads(path.read_bytes())
        remotes = [
            Remote(
                _checked(name),
                remote_url.parse(item["url"]),
                str(item.get("created", "")),
                sync=item.get("sync") is True,
            )
            for name, item in sorted(content["remotes"].items())
        ]
    except FileNotFoundError:
        return []
    except UsageError as error:
        raise ConfigError(f"{path}: {error}", error.hint) from error
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise ConfigError(
            f"{path} cannot be read ({type(error).__name__}: {error})",
            "Move it away and add the remotes again.",
        ) from error
    return remotes


def get(git_dir: Path, name: str) -> Remote:
    """The remote of this name.

    Raises:
        NotFound: There is none; the hint lists those there are.
    """
    remotes = load(git_dir)
    for remote in remotes:
        if remote.name == name:
            return remote
    names = ", ".join(remote.name for remote in remotes)
    raise NotFound(
        f"there is no remote {name!r}",
        f"There is: {names}" if names else "Add one with: gitmem remote add NAME URL",
    )


def add(git_dir: Path, name: str, url: str, *, sync: bool = False, now: datetime | None = None) -> Remote:
    """Add a remote.

    A local path is made absolute first. Whether it lies inside the workspace is the caller's to refuse
    (`bare.is_inside`).

    Args:
        git_dir: The repository.
        name: Letters, digits, `.`, `_`, `-`.
        url: The address; see `remote_url.parse` for what is accepted.
        sync: Whether it is synced with, and not only pushed to.
        now: When; the present by default.

    Raises:
        UsageError: The name or address is not acceptable, or the name is taken.
    """
    _checked(name)
    remotes = {remote.name: remote for remote in load(git_dir)}
    if name in remotes:
        raise UsageError(
            f"there is a remote {name!r} already: {remotes[name].url}",
            f"Drop it with: gitmem remote remove {name}",
        )
    created = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    remotes[name] = Remote(name, _absolute(remote_url.parse(url)), created, sync)
    _save(git_dir, remotes)
    return remotes[name]


def set_sync(git_dir: Path, name: str, *, sync: bool) -> Remote:
    """Decide whether a remote is synced with.

    Raises:
        NotFound: There is no such remote.
    """
    changed = replace(get(git_dir, name), sync=sync)
    _save(git_dir, {remote.name: remote for remote in load(git_dir)} | {name: changed})
    return changed


def remove(git_dir: Path, name: str) -> Remote:
    """Forget a remote and what was last seen there. The repository at its address is left as it is.

    Raises:
        NotFound: There is no such remote.
    """
    removed = get(git_dir, name)
    _save(git_dir, {remote.name: remote for remote in load(git_dir) if remote.name != name})
    refs = Refs(gitdir.resolve(git_dir))
    for ref, sha in refs.below(f"refs/remotes/{name}/").items():
        refs.delete(ref, sha)
    return removed


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a remote",
            "Use up to 64 letters, digits, dots, dashes or underscores.",
        )
    return name


def _absolute(url: RemoteUrl) -> RemoteUrl:
    if url.scheme is not Scheme.PATH:
        return url
    path = str(Path(url.path).expanduser().absolute())
    return RemoteUrl(path, Scheme.PATH, path)


def _save(git_dir: Path, remotes: Mapping[str, Remote]) -> None:
    content = {
        name: {"url": remote.url.text, "created": remote.created, "sync": remote.sync}
        for name, remote in remotes.items()
    }
    path = record(git_dir)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    durable.replace(
        path, (json.dumps({"format": _FORMAT, "remotes": content}, indent=1) + "\n").encode(), 0o600
    )


def set_aside(git_dir: Path) -> None:
    """Forget remotes that somebody else recorded (the folder is a copy), but keep the record for a person to read."""
    path = record(git_dir)
    if path.exists():
        path.replace(path.with_suffix(".json.foreign"))
