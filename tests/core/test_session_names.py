"""Session keys and file names: one key, one file, inside the folder, on every file system."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core.session_names import (
    file_stem,
    key_from_nanobot_stem,
    key_from_stem,
    legacy_stem,
    nanobot_stem,
    session_of,
    sidecar_of,
)

DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{digit}" for name in ("com", "lpt") for digit in range(10))}
ANY_TEXT = st.text(st.characters()) | st.text(alphabet="aA:_-%2f.~= \u0301e\ud800", max_size=8)

HOSTILE = [
    "../../etc/cron.d/x",
    "..",
    ".",
    "/etc/passwd",
    "C:\\Windows\\x",
    "a/../../b",
    "channel:../x",
    "x\0y",
    ".git/config",
    "..%2f..%2fx",
    "\\\\server\\share",
    "a\nb",
    "~/.ssh/authorized_keys",
    "-rf",
    "sessions/../../SOUL.md",
    "\u2025/\u2025/x",
    "",
    "CON",
    "nul",
    "\ud800",
]
LOOK_ALIKES = [
    "telegram:a_b",
    "telegram:a:b",
    "telegram_a:b",
    "telegram/a:b",
    "Telegram:a_b",
    "telegram:A_b",
    "telegram:a_b ",
    "telegram:a_b.",
    "telegram:a-b",
    "telegram%3aa-b",
    "cli:con",
    "cli:NUL",
    "cli:\u00e9",
    "cli:e\u0301",
    "cli:\U0001f600",
    "x:" + "k" * 300,
    "x:" + "k" * 301,
    "x:" + "K" * 300,
    "a:%3A",
    "a:%253A",
    "a",
    "a_",
    "a:",
]


def folded(stem: str) -> str:
    return unicodedata.normalize("NFC", stem.casefold())


def assert_safe(stem: str) -> None:
    assert re.fullmatch(r"[a-z0-9%_=-]+", stem), stem
    assert not stem.startswith("-")
    assert stem not in DEVICES
    assert len(f".{stem}.checkpoint.json.0123456789abcdef.tmp") <= 255


@given(ANY_TEXT)
@example("con")
@example("con_x")
def test_every_key_has_a_safe_name_that_leads_back_to_it(key: str) -> None:
    stem = file_stem(key)
    assert_safe(stem)
    assert key_from_stem(stem) == (None if "=" in stem else key)


@given(ANY_TEXT, ANY_TEXT)
def test_two_keys_never_share_a_name(one: str, other: str) -> None:
    assert (folded(file_stem(one)) == folded(file_stem(other))) == (one == other)


@given(ANY_TEXT)
def test_a_name_leads_back_to_a_key_only_where_we_would_have_written_it(stem: str) -> None:
    key = key_from_stem(stem)
    assert key is None or file_stem(key) == stem


def test_b06_keys_that_look_alike_keep_their_own_files() -> None:
    stems = [file_stem(key) for key in LOOK_ALIKES]
    for stem in stems:
        assert_safe(stem)
    assert len({folded(stem) for stem in stems}) == len(LOOK_ALIKES)


@pytest.mark.parametrize("key", HOSTILE)
def test_b94_a_hostile_key_stays_in_its_folder(key: str) -> None:
    assert_safe(file_stem(key))
    assert key_from_stem(file_stem(key)) == key


@pytest.mark.parametrize(
    ("key", "stem"),
    [
        ("telegram:42", "telegram_42"),
        ("cli:direct", "cli_direct"),
        ("web-chat:a-1", "web-chat_a-1"),
        ("telegram:-100", "telegram_-100"),
        ("telegram:a_b", "telegram%3aa%5fb"),
        ("Cli:x", "%43li%3ax"),
        ("con", "%63on"),
        ("-rf", "%2drf"),
        ("", "%"),
    ],
)
def test_names_look_like_this(key: str, stem: str) -> None:
    assert file_stem(key) == stem


def test_a_long_key_keeps_the_start_of_its_name() -> None:
    stem = file_stem("telegram:" + "9" * 300)
    assert stem.startswith("telegram_999")
    assert key_from_stem(stem) is None


@given(st.text(st.characters(), min_size=1))
def test_nanobot_names_lead_back_to_their_keys(key: str) -> None:
    assert key_from_nanobot_stem(nanobot_stem(key)) == key


@pytest.mark.parametrize("stem", ["", "cli_direct!", "a", "Y2xpOmRpcmVjdB", "é"])
def test_other_names_are_no_nanobot_names(stem: str) -> None:
    assert key_from_nanobot_stem(stem) is None


def test_nanobot_names_are_those_of_the_real_agent() -> None:
    assert nanobot_stem("cli:direct") == "Y2xpOmRpcmVjdA"
    assert legacy_stem("telegram:42") == "telegram_42"
    assert legacy_stem('a<b>c:d"e/f\\g|h?i*j') == "a_b_c_d_e_f_g_h_i_j"


def test_a_sidecar_lies_beside_its_session() -> None:
    assert sidecar_of("sessions/Y2xp.jsonl") == "sessions/Y2xp.checkpoint.json"
    assert session_of("sessions/Y2xp.checkpoint.json") == "sessions/Y2xp.jsonl"
