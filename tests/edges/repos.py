"""Small repositories for the tests of remotes, made with the object store alone: no git program is needed."""

import time
from collections.abc import Mapping
from pathlib import Path

from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, Tree

MAIN = "refs/heads/main"
INFLIGHT = "refs/gitmem/inflight/host"
_ZONE = 0


def new_repo(path: Path, config: str = "") -> Path:
    """An empty repository whose HEAD is on main; `config` is added to its configuration."""
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "gitmem"):
        (path / folder).mkdir(parents=True)
    (path / "HEAD").write_text(f"ref: {MAIN}\n")
    (path / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n{config}")
    return path


def commit(  # a commit of these files alone; `ref` is set to it
    git_dir: Path,
    files: Mapping[str, bytes],
    *,
    parents: tuple[str, ...] | None = None,
    ref: str | None = MAIN,
    when: int = 1_767_600_000,
) -> str:
    """Write a commit and return its name.

    Args:
        git_dir: The repository.
        files: Content by path; one directory deep at most.
        parents: By default what `ref` is at.
        ref: Is set to the new commit; None for no ref.
        when: Time of the commit, Unix seconds.
    """
    if parents is None:
        old = read_ref(git_dir, ref) if ref else None
        parents = (old,) if old else ()
    store = DiskObjectStore(str(git_dir / "objects"))
    made = Commit()
    made.tree = _tree(store, files)
    made.parents = [ObjectID(parent.encode()) for parent in parents]
    made.author = made.committer = b"tester <tester@example.invalid>"
    made.author_time = made.commit_time = when
    made.author_timezone = made.commit_timezone = _ZONE
    made.message = b"edit: test\n"
    store.add_object(made)
    store.close()
    sha = made.id.decode()
    if ref is not None:
        set_ref(git_dir, ref, sha)
    return sha


def _tree(store: DiskObjectStore, files: Mapping[str, bytes]) -> ObjectID:
    root, folders = Tree(), dict[str, dict[str, bytes]]()
    for path, data in files.items():
        folder, slash, name = path.partition("/")
        if slash:
            folders.setdefault(folder, {})[name] = data
        else:
            blob = Blob.from_string(data)
            store.add_object(blob)
            root[path.encode()] = (0o100644, blob.id)
    for folder, inner in folders.items():
        root[folder.encode()] = (0o040000, _tree(store, inner))
    store.add_object(root)
    return root.id


def read_ref(git_dir: Path, ref: str) -> str | None:
    """The commit a loose ref holds; None where there is none."""
    path = git_dir / ref
    return path.read_text().strip() if path.is_file() else None


def set_ref(git_dir: Path, ref: str, sha: str) -> None:
    """Set a loose ref."""
    path = git_dir / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sha + "\n")


def holds(git_dir: Path, sha: str) -> bool:
    """Whether a repository has an object."""
    store = DiskObjectStore(str(git_dir / "objects"))
    found = ObjectID(sha.encode()) in store
    store.close()
    return found


def group_members(group: int) -> list[str]:
    """Command lines of living processes of a process group, from /proc; empty where there is none."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_text().replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(stat[2]) == group and stat[0] != "Z":
            found.append(command)
    return found


def all_gone(group: int) -> bool:
    """Whether a process group has no living member, or loses its last in a moment (a kill takes a little)."""
    limit = time.monotonic() + 5
    while group_members(group):
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True
