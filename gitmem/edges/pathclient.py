"""Fetching from a bare repository at a path, where dulwich's own way walks both histories whole (3 s at 10,000 commits)."""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from dulwich.client import FetchPackResult, LocalGitClient
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID
from dulwich.pack import write_pack_from_container
from dulwich.refs import Ref

from gitmem.edges.gitdir import GitDir
from gitmem.edges.outgoing import Outgoing
from gitmem.edges.refs import Refs
from gitmem.errors import RemoteError, RepositoryRefused

_FEW = 200
"""Up to so many objects are sent whole: to find the deltas that are stored already, every pack is read from end to end."""


class PathClient(LocalGitClient):
    """Sends what is new and nothing else; a first fetch, and pushes, go dulwich's way."""

    def fetch_pack(
        self,
        path: str | bytes,
        determine_wants: Any,
        graph_walker: Any,
        pack_data: Any,
        progress: Any = None,
        *_: Any,
        **__: Any,
    ) -> FetchPackResult:
        """See `LocalGitClient.fetch_pack`; depths and filters are not for us.

        Raises:
            RemoteError: The repository is damaged.
        """
        place = Path(os.fsdecode(path))
        refs = {
            Ref(ref.encode("utf-8", "replace")): ObjectID(sha.encode("ascii"))
            for ref, sha in Refs(GitDir(place, place)).below("refs/").items()
        }
        wants = determine_wants(refs, None)
        try:
            if wants and not _send(place / "objects", wants, graph_walker, pack_data):
                super().fetch_pack(path, lambda *_: wants, graph_walker, pack_data, progress)
        except RepositoryRefused as error:
            raise _damaged(place, str(error)) from error
        except KeyError as error:
            raise _damaged(place, f"object {error} is missing") from error
        return FetchPackResult(dict(refs), {}, None)


def _damaged(place: Path, reason: str) -> RemoteError:
    return RemoteError(
        "protocol",
        f"the repository at {place} is damaged: {reason}",
        "Repair it (git fsck), or make another one: gitmem remote add NAME PATH --create",
    )


def _send(objects: Path, wants: list[ObjectID], walker: Any, pack_data: Any) -> bool:
    """Send what builds on commits that both have; False, and nothing is sent, where there are none."""
    with closing(DiskObjectStore(str(objects))) as store:
        for sha in wants:
            if sha not in store:
                raise RepositoryRefused(f"{sha.decode('ascii')} is not there")
        haves = [sha.decode("ascii") for sha in store.find_common_revisions(walker)]
        load: dict[ObjectID, None] = {}
        outgoing = Outgoing(store)
        for sha in wants if haves else ():
            outgoing.plan(sha.decode("ascii"), None, haves, sys.maxsize, load)
        if load:
            names = [(sha, None) for sha in load]
            write_pack_from_container(
                pack_data,
                store,
                names,
                object_format=store.object_format,
                deltify=False,
                reuse_deltas=len(names) > _FEW,
            )
        return bool(haves)
