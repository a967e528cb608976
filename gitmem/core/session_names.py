"""Session key <-> file name (memory-format, section 1).

A key is any text an agent chose, so a file name made of it must stay inside its folder, fit any file system,
and belong to one key only, also where names are compared without case or normalised (cases B06, B94).
"""

import base64
import binascii
import hashlib
import re

SUFFIX = ".jsonl"
SIDECAR_SUFFIX = ".checkpoint.json"

_PLAIN_KEY = re.compile(r"([a-z][a-z0-9-]*):([a-z0-9-]+)")
_PLAIN_STEM = re.compile(r"([a-z][a-z0-9-]*)_([a-z0-9-]+)")
_UNSAFE = re.compile(rb"[^a-z0-9-]")
_LEGACY_UNSAFE = re.compile(r'[<>:"/\\|?*]')
_DEVICE = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
"""Names that open a device on Windows, whatever their suffix."""
_LONGEST = 200
"""Bytes of a stem; leaves room for suffixes and temporary names in the 255 of most file systems."""
_PREFIX = 120
"""Bytes of a longer stem kept in front of its hash, for the reader."""
_EMPTY = "%"


def file_stem(key: str) -> str:
    """Our file name for a session, without the suffix.

    Args:
        key: The session's key; any text.

    Returns:
        `telegram_42` for `telegram:42`; a key that this form could not give back, as percent-encoded bytes:
        lower-case ASCII letters, digits, `-` and `%` only. Past 200 bytes a prefix and a hash.
    """
    plain = _PLAIN_KEY.fullmatch(key)
    stem = f"{plain[1]}_{plain[2]}" if plain else _encoded(key)
    if len(stem) <= _LONGEST:
        return stem
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem[:_PREFIX]}={digest}"


def key_from_stem(stem: str) -> str | None:
    """The key that `file_stem` gave this name to; None for other names, and for those that end in a hash."""
    plain = _PLAIN_STEM.fullmatch(stem)
    key = f"{plain[1]}:{plain[2]}" if plain else _decoded(stem)
    return key if key is not None and file_stem(key) == stem else None


def nanobot_stem(key: str) -> str:
    """The file name of nanobot 0.3 and later: URL-safe base64 of the key without padding."""
    return base64.urlsafe_b64encode(key.encode("utf-8", "surrogatepass")).decode("ascii").rstrip("=")


def key_from_nanobot_stem(stem: str) -> str | None:
    """The key that `nanobot_stem` gave this name to; None for other names."""
    try:
        raw = base64.b64decode(stem + "=" * (-len(stem) % 4), altchars=b"-_", validate=True)
        key = raw.decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return None
    return key if key and nanobot_stem(key) == stem else None


def legacy_stem(key: str) -> str:
    """The file name of nanobot up to 0.2. Several keys share one: the `key` field inside the file decides."""
    return _LEGACY_UNSAFE.sub("_", key)


def sidecar_of(path: str) -> str:
    """Where newer nanobot keeps the checkpoint of the session at `path` (memory-format, section 2)."""
    return path.removesuffix(SUFFIX) + SIDECAR_SUFFIX


def session_of(sidecar: str) -> str:
    """The session file that a sidecar belongs to."""
    return sidecar.removesuffix(SIDECAR_SUFFIX) + SUFFIX


def _encoded(key: str) -> str:
    stem = _UNSAFE.sub(_percent, key.encode("utf-8", "surrogatepass")).decode("ascii")
    if stem.startswith("-") or _DEVICE.fullmatch(stem):
        return f"%{ord(stem[0]):02x}{stem[1:]}"
    return stem or _EMPTY


def _percent(unsafe: re.Match[bytes]) -> bytes:
    return b"%%%02x" % ord(unsafe[0])


def _decoded(stem: str) -> str | None:
    if stem == _EMPTY:
        return ""
    head, *escaped = stem.encode("utf-8", "surrogatepass").split(b"%")
    try:
        raw = head + b"".join(bytes.fromhex(part[:2].decode("ascii")) + part[2:] for part in escaped)
        return raw.decode("utf-8", "surrogatepass")
    except ValueError:
        return None
