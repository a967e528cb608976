"""What a path means: an allow-list, so that nothing is kept by accident (gitstore, section 2; B91).

Secrets and machine-local files are recognised first and wherever they lie: no adapter and no pattern of a person takes them in.
A full scan asks about every file, so names are looked up in sets, and the answer for a folder is remembered.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

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

_SECRET_SUFFIXES = frozenset(
    {"key", "jks", "keystore", "kdb", "kdbx", "ppk", "asc", "gpg", "age", "token", "secret"}
)
_SECRET_ANYWHERE = frozenset({"env", "pem", "p12", "pfx"})
"""Suffixes that tell a secret also in front of another one: `.env.local`, `prod.env.old`, `server.pem.txt`."""
_SECRET_NAME = re.compile(
    r"""(?x)
      \.?envrc | id_(?:rsa|dsa|ecdsa|ed25519).*
    | \.?credentials.* | \.?credential(?:[._-].*)? | .*[._-]credentials?(?:\.(?:json|txt|ya?ml|ini|toml|csv))?
    | secrets?(?:\..*)? | \.secrets? | client_secret.*\.json | service[-_]account.*\.json | auth\.json
    | (?: cookies?(?:[._-].*)? | (?:.*[._-])? (?:passwords?|api[._-]?keys?) (?:\.\w+)? ) (?<!\.md)
    | (?:.*[._-])? tokens? (?:\.(?:json|txt|ya?ml|ini|toml|dat|pickle))?
    | [._]?netrc | \.pgpass | \.npmrc | \.pypirc | \.?htpasswd | \.dockercfg
    """
)
_SECRET_FOLDERS = frozenset(
    {".secrets", ".secret", "secrets", "credentials", ".ssh", ".aws", ".gnupg", ".gcloud", ".azure", ".kube", ".docker"}
)  # fmt: skip
_LOCAL_SUFFIXES = frozenset(
    {"tmp", "temp", "swp", "swx", "swo", "lock", "lck", "bak", "part", "crdownload", "pid", "sock", "pyc"}
)
_LOCAL_NAME = re.compile(r"\#.*\#|4913|thumbs\.db|desktop\.ini|icon\r|.*\.(?:sqlite|db)[0-9]?(?:-\w+)?")
_LOCAL_FOLDERS = frozenset({"__pycache__", "node_modules", "venv", "lost+found"})
_CONFLICT_COPY = re.compile(
    r".*(?:\.sync-conflict-|conflicted copy|\(case conflict|\(sfconflict|_conflict-[0-9]{8}).*"
)
"""How Syncthing, Dropbox, Nextcloud and Seafile name the loser of a conflict."""

_TELLING_SUFFIXES = _SECRET_SUFFIXES | _SECRET_ANYWHERE | _LOCAL_SUFFIXES
_TELLING = re.compile(
    r"^[.~#]|[~\r]$|^(?:4913|thumbs|desktop)|sqlite|\.db|credential|secret|cookie|token|passw|netrc|api[._-]?key|id_|auth|account|netrc|envrc|conflict"
)
"""Found in every name that a rule about names speaks of, and in few others: spares the rest a close look."""

_OWN_FOLDER = ".gitmem"
_OWN_FILES = frozenset({".gitmem.toml", ".gitmemignore"})
_NOT_OURS = frozenset({".gitignore", ".gitattributes"})
"""Files of a person's or an agent's own git: taken in by an `include` pattern only."""
_OLD_HISTORY = "HISTORY.md.bak"
_WORKING_FOLDERS = frozenset({"memory", "skills", "prompts"})
_ATTACHMENT_FOLDERS = frozenset({"attachments", "media", "uploads", "files", "images", "docs"})
_NOISE = frozenset({"log", "out", "orig", "rej"})
"""Left lying in working folders by programs; an attachment folder holds only what somebody put there."""
_DOCUMENTS = frozenset(
    {
        "txt", "rst", "org", "adoc", "tex", "markdown", "mdx", "csv", "tsv", "pdf", "doc", "docx", "xls",
        "xlsx", "ppt", "pptx", "odt", "ods", "odp", "rtf", "epub", "htm", "html", "eml", "ics", "vcf",
        "png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "tif", "tiff", "heic", "avif", "mp3", "m4a",
        "ogg", "oga", "opus", "wav", "flac", "mp4", "m4v", "mov", "webm",
    }
)  # fmt: skip
"""Suffixes of documents, pictures and recordings: kept wherever they lie in visible folders."""


class _Place(Enum):
    """What a folder means for the files in it."""

    SECRET = auto()
    LOCAL = auto()
    OWN = auto()
    SESSIONS = auto()
    BELOW_SESSIONS = auto()
    WORKING = auto()
    ATTACHMENTS = auto()
    ELSEWHERE = auto()


def classify_path(path: TreePath, rules: Rules = NATIVE_RULES) -> PathClass:
    """What a tree path means.

    Args:
        path: The path; it need not exist.
        rules: The agent's layout.
    """
    folder, _, name = path.rpartition("/")
    place = _place(folder, rules)
    if place is _Place.SECRET:
        return PathClass.SECRET
    lower = name.lower()
    named = _by_name(lower) if _is_telling(lower) else None
    if named is PathClass.SECRET:
        return named
    if path in rules.cursors:
        return PathClass.CURSOR
    if not folder and name in _NOT_OURS:
        return PathClass.OTHER
    own = (not folder and name in _OWN_FILES) or name == _OLD_HISTORY
    if place is _Place.LOCAL:
        return PathClass.LOCAL
    if named is not None and not own:
        return named
    if path in rules.histories:
        return PathClass.HISTORY
    if own or place is _Place.OWN or lower.endswith(".md"):
        return PathClass.MEMORY
    return _by_place(place, lower)


def _is_telling(lower: str) -> bool:
    stem, _, suffix = lower.rpartition(".")
    return suffix in _TELLING_SUFFIXES or "." in stem or _TELLING.search(lower) is not None


def _by_name(lower: str) -> PathClass | None:
    """The class that a name alone decides, wherever the file lies."""
    if _is_secret(lower):
        return PathClass.SECRET
    if _is_local(lower):
        return PathClass.LOCAL
    return PathClass.CONFLICT_COPY if _CONFLICT_COPY.fullmatch(lower) else None


def _is_secret(lower: str) -> bool:
    suffixes = lower.split(".")[1:]
    return (
        (bool(suffixes) and suffixes[-1] in _SECRET_SUFFIXES)
        or not _SECRET_ANYWHERE.isdisjoint(suffixes)
        or _SECRET_NAME.fullmatch(lower) is not None
    )


def _is_local(lower: str) -> bool:
    return (
        lower.startswith((".", "~$"))
        or lower.endswith("~")
        or _suffix(lower) in _LOCAL_SUFFIXES
        or _LOCAL_NAME.fullmatch(lower) is not None
    )


def _suffix(lower: str) -> str:
    return lower.rpartition(".")[2] if "." in lower else ""


def _by_place(place: _Place, lower: str) -> PathClass:
    """The class of a file that no rule about names decided."""
    match place:
        case _Place.SESSIONS if lower.endswith(".jsonl"):
            return PathClass.SESSION
        case _Place.SESSIONS if lower.endswith(".checkpoint.json"):
            return PathClass.SIDECAR
        case _Place.SESSIONS | _Place.BELOW_SESSIONS:
            return PathClass.OTHER
        case _Place.ATTACHMENTS:
            return PathClass.ATTACHMENT
        case _Place.WORKING:
            return PathClass.OTHER if _suffix(lower) in _NOISE else PathClass.ATTACHMENT
        case _:
            return PathClass.ATTACHMENT if _suffix(lower) in _DOCUMENTS else PathClass.OTHER


@lru_cache(maxsize=4096)
def _place(folder: TreePath, rules: Rules) -> _Place:
    parts = folder.lower().split("/") if folder else []
    own = parts[:1] == [_OWN_FOLDER]
    top = parts[0] if parts else ""
    if not _SECRET_FOLDERS.isdisjoint(parts):
        return _Place.SECRET
    if top in rules.local or any(part.startswith(".") or part in _LOCAL_FOLDERS for part in parts[own:]):
        return _Place.LOCAL
    if own:
        return _Place.OWN
    if folder in rules.sessions:
        return _Place.SESSIONS
    if any(folder.startswith(f"{sessions}/") for sessions in rules.sessions):
        return _Place.BELOW_SESSIONS
    if top in _WORKING_FOLDERS:
        return _Place.WORKING
    return _Place.ATTACHMENTS if top in _ATTACHMENT_FOLDERS else _Place.ELSEWHERE


def descend(folder: TreePath, rules: Rules = NATIVE_RULES) -> bool:
    """Whether a folder may hold files worth keeping."""
    return _place(folder, rules) not in (_Place.SECRET, _Place.LOCAL)


EXCLUDE_LINES = (
    "# Written by gitmem, so that a person's own git shows and takes nothing private.",
    ".env", ".env.*", "*.env", "*.pem", "*.key", "*.token", "id_rsa*", "id_ed25519*", "credentials*", "cookies*",
    ".secrets/", ".ssh/",
    ".nanobot/", "*.lock", "*.tmp", "*.swp", "*~", ".DS_Store", "__pycache__/", "node_modules/", "*.sqlite*", "*.db",
    "*.checkpoint.json",
)  # fmt: skip
"""For `info/exclude`: the common part of what is never versioned."""
