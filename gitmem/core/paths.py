"""What a path means: an allow-list, so that nothing is kept by accident (gitstore, section 2; B91).

Secrets and machine-local files are recognised first and wherever they lie: no rule or pattern of a person takes them in.
"""

import re
from dataclasses import dataclass

from gitmem.core.model import PathClass, TreePath


@dataclass(frozen=True)
class Rules:
    """What an agent's layout adds to the common rules.

    Attributes:
        sessions: Folders whose direct `*.jsonl` children are sessions.
        histories: Files that are history queues.
        cursors: Files that hold one number.
        local: Top folders that belong to the machine.
    """

    sessions: frozenset[str] = frozenset({"sessions"})
    histories: frozenset[str] = frozenset({"memory/history.jsonl"})
    cursors: frozenset[str] = frozenset({"memory/.cursor", "memory/.dream_cursor"})
    local: frozenset[str] = frozenset({".nanobot"})


NATIVE_RULES = Rules()

_SECRET = re.compile(
    r"""(?xi) ^(?: \.env(?:\..*)? | .*\.env | \.envrc | .*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|age|token|secret)
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:\.pub)? | \.?credentials?(?:[._-].*)? | .*[._-]credentials?(?:\.json)?
    | cookies?(?:\..*)?
    | secrets?(?:\..*)? | \.secrets? | \.?netrc | \.pgpass | \.npmrc | \.pypirc | \.htpasswd | auth\.json | .*tokens?\.json
    | service[-_]account.*\.json | client_secret.*\.json )$"""
)
_SECRET_FOLDERS = frozenset(
    {
        ".secrets",
        ".secret",
        "secrets",
        ".ssh",
        ".aws",
        ".gnupg",
        ".gcloud",
        ".azure",
        ".kube",
        ".docker",
        "credentials",
    }
)
_LOCAL = re.compile(
    r"""(?xi) ^(?: .*\.(?:tmp|temp|swp|swx|swo|lock|lck|bak|orig|rej|part|crdownload|pid|sock|pyc|log)
    | .*~ | \#.*\# | \.\#.* | 4913 | \.goutputstream-.* | ~\$.* | \.ds_store | thumbs\.db | desktop\.ini | \.nfs[0-9a-f]+
    | \.fuse_hidden.*
    | .*\.(?:sqlite3?|db)(?:-wal|-shm|-journal)? | \.mem_.* | \.gitmem\.tmp )$"""
)
_LOCAL_FOLDERS = frozenset(
    {".git", "__pycache__", "node_modules", ".venv", "venv", ".cache", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache",
     ".obsidian", ".trash", ".stversions", ".stfolder", ".idea", ".vscode", "lost+found"}
)  # fmt: skip
_CONFLICT_COPY = re.compile(r"(?i).*(?:\.sync-conflict-|conflicted copy|\(case conflict).*")
_OWN = frozenset({".gitmem.toml", ".gitmemignore", ".gitignore"})
_ATTACHMENT_FOLDERS = frozenset(
    {"skills", "prompts", "memory", "attachments", "media", "uploads", "files", "images", "docs"}
)
_DOCUMENTS = re.compile(
    r"(?i).*\.(?:txt|rst|org|csv|tsv|pdf|docx?|xlsx?|pptx?|odt|ods|odp|rtf|epub|html?|png|jpe?g|gif|webp|svg|bmp|heic|mp3|m4a|ogg|opus|wav|mp4|webm)$"
)
"""Documents, pictures and recordings: kept wherever they lie in visible folders."""


def classify_path(path: TreePath, rules: Rules = NATIVE_RULES) -> PathClass:
    """What a tree path means.

    Args:
        path: The path; it need not exist.
        rules: The agent's layout.
    """
    *folders, name = path.split("/")
    if _is_secret(folders, name):
        return PathClass.SECRET
    if path in rules.cursors:
        return PathClass.CURSOR
    if _is_local(folders, name, rules):
        return PathClass.LOCAL
    if _CONFLICT_COPY.match(name):
        return PathClass.CONFLICT_COPY
    if path in rules.histories:
        return PathClass.HISTORY
    if "/".join(folders) in rules.sessions:
        return _in_sessions(name)
    return _by_place(folders, name)


def _is_secret(folders: list[str], name: str) -> bool:
    return _SECRET.match(name) is not None or any(folder.lower() in _SECRET_FOLDERS for folder in folders)


def _is_local(folders: list[str], name: str, rules: Rules) -> bool:
    if name == "HISTORY.md.bak":
        return False
    if folders[:1] == [".gitmem"] or (not folders and name in _OWN):
        return False
    if folders and folders[0] in rules.local:
        return True
    return (
        name.startswith(".")
        or _LOCAL.match(name) is not None
        or any(not _visible(folder) for folder in folders)
    )


def _visible(folder: str) -> bool:
    return not folder.startswith(".") and folder.lower() not in _LOCAL_FOLDERS


def _in_sessions(name: str) -> PathClass:
    if name.endswith(".jsonl"):
        return PathClass.SESSION
    return PathClass.SIDECAR if name.endswith(".checkpoint.json") else PathClass.OTHER


def _by_place(folders: list[str], name: str) -> PathClass:
    if (
        name.lower().endswith((".md", ".md.bak"))
        or (not folders and name in _OWN)
        or folders[:1] == [".gitmem"]
    ):
        return PathClass.MEMORY
    if folders[:1] == ["sessions"]:
        return PathClass.OTHER
    if folders and folders[0] in _ATTACHMENT_FOLDERS:
        return PathClass.ATTACHMENT
    return PathClass.ATTACHMENT if _DOCUMENTS.match(name) else PathClass.OTHER


def descend(folder: TreePath, rules: Rules = NATIVE_RULES) -> bool:
    """Whether a folder may hold files worth keeping."""
    *above, name = folder.split("/")
    if name.lower() in _SECRET_FOLDERS or (not above and name in rules.local):
        return False
    return (
        _visible(name) or (not above and name == ".gitmem") or (above[:1] == [".gitmem"] and name != ".git")
    )


EXCLUDE_LINES = (
    "# Written by gitmem, so that a person's own git shows and takes nothing private.",
    ".env", ".env.*", "*.env", "*.pem", "*.key", "id_rsa*", "id_ed25519*", "credentials*", "cookies*", ".secrets/",
    ".ssh/",
    ".nanobot/", "*.lock", "*.tmp", "*.swp", "*~", ".DS_Store", "__pycache__/", "node_modules/", "*.sqlite*", "*.db",
    "*.checkpoint.json",
)  # fmt: skip
"""For `info/exclude`: the common part of what is never versioned."""
