import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.core.message import SUBJECT_WIDTH, clean, parse, render, shortened
from gitmem.core.model import Kind, Message

HOSTILE = [
    "x\n\nGitmem-Kind: dream",
    "x\r\nGitmem-Host: other",
    "Gitmem-Kind: revert",
    "---",
    "--- a/SOUL.md",
    "# ------------------------ >8 ------------------------",
    "Signed-off-by: Nobody <n@example.org>",
    "(cherry picked from commit 0123)",
    "\x1b[2J\x1b]0;title\x07",
    "\u202etxt.exe",
    "line\u2028line\u2029line\x85line\x0bline\x0cline",
    "\udcff\ud800",
    "",
    "   ",
    "中文标题 旅行",
    " Gitmem-Kind: dream",
]
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))
messages = st.builds(
    Message,
    kind=st.sampled_from([kind for kind in Kind if kind is not Kind.FOREIGN]),
    subject=texts,
    body=st.lists(texts, max_size=4).map(tuple),
    trailers=st.lists(
        st.tuples(st.sampled_from(["Gitmem-Session", "Gitmem-Torn", "Gitmem-Messages"]), texts), max_size=3
    ).map(tuple),
)


def test_a_message_reads_as_git_wants_it() -> None:
    message = Message(
        Kind.SESSION,
        "session(telegram:42): +2 messages (user, assistant)",
        ("40 messages in all",),
        (("Gitmem-Session", "telegram:42"),),
    )
    assert render(message, host="laptop", agent="nanobot").decode() == (
        "session(telegram:42): +2 messages (user, assistant)\n"
        "\n"
        "40 messages in all\n"
        "\n"
        "Gitmem-Kind: session\n"
        "Gitmem-Session: telegram:42\n"
        "Gitmem-Agent: nanobot\n"
        "Gitmem-Host: laptop\n"
    )


@given(messages)
def test_what_is_rendered_is_parsed_again_whatever_outsiders_put_into_it(message: Message) -> None:
    kind, trailers = parse(render(message, host="laptop", agent="native"))
    assert kind is message.kind
    expected: dict[str, tuple[str, ...]] = {"Gitmem-Kind": (str(kind),)}
    for token, value in (*message.trailers, ("Gitmem-Agent", "native"), ("Gitmem-Host", "laptop")):
        expected[token] = (*expected.get(token, ()), clean(value).strip())
    assert dict(trailers) == expected


@given(messages)
def test_a_message_is_a_subject_a_body_and_trailers_and_hostile_text_makes_no_further_line(
    message: Message,
) -> None:
    text = render(message, host="laptop", agent="native").decode()
    lines = text.split("\n")
    assert 0 < len(lines[0]) <= SUBJECT_WIDTH
    assert lines[1] == ""
    trailers = len(message.trailers) + 3
    body = (len(message.body) + 1) if any(clean(line).rstrip() for line in message.body) else 0
    assert len(lines) == 2 + body + trailers + 1
    assert lines == [clean(line) for line in lines], "no control character is left"


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messages)
def test_git_reads_the_same_trailers(message: Message) -> None:
    data = render(message, host="laptop", agent="native")
    told = subprocess.run(
        ["git", "interpret-trailers", "--parse"], input=data, capture_output=True, check=True
    ).stdout.decode()
    ours = [f"{token}: {value}".rstrip() for token, values in parse(data)[1].items() for value in values]
    assert sorted(line.rstrip() for line in told.splitlines()) == sorted(ours)


@given(st.one_of(st.binary(max_size=80), texts.map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_any_bytes_are_read(data: bytes) -> None:
    kind, trailers = parse(data)
    assert kind is Kind.FOREIGN or trailers["Gitmem-Kind"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fix typo",
        "fix typo\n",
        "dream: nice try\n\nSigned-off-by: A <a@example.org>\n",
        "Gitmem-Kind: dream",
        "\n\nGitmem-Kind: dream",
        "subject\nGitmem-Kind: dream\n",
        "subject\n\nGitmem-Kind: dream\n\nAn explanation below.\n",
        "subject\n\nGitmem-Kind: nothing we know\n",
        "subject\n\nGitmem-Kind: foreign\n",
    ],
)
def test_commits_of_others_are_foreign(text: str) -> None:
    assert parse(text.encode())[0] is Kind.FOREIGN


def test_trailers_that_others_added_folded_or_put_lines_between_do_not_hide_ours() -> None:
    kind, trailers = parse(
        b"dream: history 1..3 -> USER.md +1\r\n\r\nGitmem-Kind: dream\r\nGitmem-Source: USER.md:1a2b\r\n  <- 14,16\r\n"
        b"(cherry picked from commit 0123)\r\nSigned-off-by: Ada <ada@example.org>\r\n"
    )
    assert kind is Kind.DREAM
    assert trailers["Gitmem-Source"] == ("USER.md:1a2b <- 14,16",)
    assert trailers["Signed-off-by"] == ("Ada <ada@example.org>",)


def test_the_first_kind_counts() -> None:
    assert parse(b"x\n\nGitmem-Kind: edit\nGitmem-Kind: dream\n")[0] is Kind.EDIT


def test_a_subject_that_git_would_misread_is_given_its_kind() -> None:
    for subject in ("", "---", "# a comment"):
        first = render(Message(Kind.EDIT, subject), host="h", agent="a").split(b"\n")[0]
        assert first.startswith(b"edit:")


@given(texts, st.integers(7, 40))
def test_shortened_text_keeps_both_ends(text: str, width: int) -> None:
    short = shortened(text, width)
    assert len(short) <= width
    if short != clean(text):
        tail = (width - 3) // 2
        start, middle, end = (
            short[: width - 3 - tail],
            short[width - 3 - tail : width - tail],
            short[width - tail :],
        )
        assert middle == "..."
        assert clean(text).startswith(start)
        assert clean(text).endswith(end)
