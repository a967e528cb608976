"""history, sessions and memory as a person types them, on real workspaces."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.cli import main
from gitmem.core import history, session
from gitmem.core.model import Kind
from gitmem.core.provenance import source_trailer
from gitmem.edges import workspace as workspaces
from gitmem.edges.repo import Repository
from tests.engines import make_workspace, said, talk, write_history, write_session
from tests.histories import History

Run = Callable[..., tuple[int, str, str]]
MEMORY = "memory/MEMORY.md"
QUEUE = "memory/history.jsonl"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    root = make_workspace(tmp_path / "ws")
    write_session(root, "cli:direct", talk(3), archived=2)
    write_session(root, "telegram:42", talk(1))
    write_history(root, "the first\nmore of it", "Tea in Lyon", "[RAW] 2 messages\nboil tea", dreamed=1)
    return root


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], place: Path) -> Run:
    def run_one(*words: str) -> tuple[int, str, str]:
        try:
            code = main(["-C", str(place), *words])
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    return run_one


def commit(place: Path, kind: Kind, *paths: str, trailers: tuple[tuple[str, str], ...] = ()) -> str:
    """Commit files as they are on disk."""
    files = {path: (place / path).read_bytes() for path in paths}
    with Repository(workspaces.find(place).git) as repo:
        return History(repo).add(kind, files, trailers=trailers)


# history


@pytest.mark.parametrize("words", [("history",), ("history", "list"), ("history", "tail")])
def test_history_has_a_line_for_each_entry(run: Run, words: tuple[str, ...]) -> None:
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert [line.split(maxsplit=4) for line in out.splitlines()] == [
        ["1", "2026-01-05", "09:00", "dreamed", "cli:direct  the first"],
        ["2", "2026-01-05", "09:00", "new", "cli:direct  Tea in Lyon"],
        ["3", "2026-01-05", "09:00", "new", "cli:direct  [RAW] 2 messages"],
    ]


@pytest.mark.parametrize(
    ("words", "cursors"),
    [
        (("-n", "2"), [2, 3]),
        (("-n", "0"), []),
        (("tail", "-n", "1"), [3]),
        (("--after", "2"), [3]),
        (("list", "--session", "cli:direct"), [1, 2, 3]),
        (("--session", "telegram:42"), []),
        (("search", "TEA"), [2, 3]),
        (("search", "tea", "-n", "1"), [3]),
        (("search", "-n", "9", "tea", "in"), [2]),
        (("search", "--", "--no-such-words"), []),
    ],
)
def test_history_filters(run: Run, words: tuple[str, ...], cursors: list[int]) -> None:
    code, out, _ = run("history", "--json", *words)
    assert code == 0
    assert [entry["cursor"] for entry in json.loads(out)["entries"]] == cursors


def test_a_search_shows_the_line_that_holds_the_text(run: Run) -> None:
    assert run("history", "search", "boil")[1].endswith("  boil tea\n")


def test_full_texts_are_indented_below_their_entry(run: Run) -> None:
    assert run("history", "-n", "3", "--full")[1].splitlines()[1:4] == ["    the first", "    more of it", ""]


@pytest.mark.parametrize("words", [("search",), ("list", "tea"), ("tail", "tea"), ("tea",)])
def test_words_that_make_no_sense_are_a_usage_error(run: Run, words: tuple[str, ...]) -> None:
    assert run("history", *words)[0] == 2


def test_damaged_lines_are_named_once_and_hide_nothing(run: Run, place: Path) -> None:
    path = place / QUEUE
    path.write_bytes(b"broken\n" + path.read_bytes() + b'{"cursor": "4"}\n')
    code, out, err = run("history")
    assert (code, len(out.splitlines())) == (0, 3)
    assert err.splitlines() == [
        "memory/history.jsonl: 2 damaged lines, kept as they are and passed over",
        "  line 1: not valid JSON",
        "  line 5: not a valid history entry",
    ]
    assert json.loads(run("history", "--json")[1])["problems"] == [
        line.strip() for line in err.splitlines()[1:]
    ]


def test_what_was_compacted_away_is_found_in_the_past(run: Run, place: Path) -> None:
    commit(place, Kind.CONSOLIDATE, QUEUE)
    path = place / QUEUE
    path.write_bytes(history.compact(path.read_bytes(), 1, 2))
    sha = commit(place, Kind.COMPACT, QUEUE)
    assert run("history", "search", "first")[2] == "No entry matches.\n"
    code, out, err = run("history", "search", "first", "--past")
    assert (code, err) == (0, "")
    assert f"[compacted away in {sha[:8]}]" in out
    (entry,) = json.loads(run("history", "search", "first", "--past", "--json")[1])["entries"]
    assert (entry["present"], entry["dropped_by"], entry["processed"]) == (False, sha, True)
    everything = json.loads(run("history", "--past", "--json")[1])["entries"]
    assert [entry["cursor"] for entry in everything] == [1, 2, 3]


def test_no_history_is_no_failure(run: Run, place: Path) -> None:
    (place / QUEUE).unlink()
    code, out, err = run("history", "--past")
    assert (code, out) == (0, "")
    assert "gitmem consolidate" in err


def test_texts_cannot_drive_a_terminal_whatever_they_hold(run: Run, place: Path) -> None:
    write_history(place, "\x1b[2Jgone \ud83d \u202e")
    assert run("history", "--full")[1].splitlines()[1] == "    \\x1b[2Jgone \\ud83d \\u202e"
    assert json.loads(run("history", "--json")[1])["entries"][0]["content"] == "\x1b[2Jgone \ud83d \u202e"


# sessions


def test_sessions_are_listed_with_what_is_archived(run: Run) -> None:
    code, out, err = run("sessions")
    assert (code, err) == (0, "")
    assert [line.split("  ")[0].strip() for line in out.splitlines()] == ["cli:direct", "telegram:42"]
    assert "6 messages, 2 archived" in out
    rows = json.loads(run("sessions", "list", "--json")[1])
    assert [(row["key"], row["messages"], row["archived"], row["turn"]) for row in rows] == [
        ("cli:direct", 6, 2, None),
        ("telegram:42", 2, 0, None),
    ]


def test_a_session_is_shown_with_its_turns_numbered(run: Run) -> None:
    code, out, _ = run("sessions", "show", "cli:direct")
    assert code == 0
    head, _, messages = out.partition("\n\n")
    assert head.splitlines()[0] == "session cli:direct"
    assert "6, 2 of them archived" in head
    assert messages.splitlines()[:4] == [
        'turn 1   user       "m00"',
        '         assistant  "m01"',
        "--- up to here archived (2) ---",
        'turn 2   user       "m02"',
    ]


def test_the_last_messages_are_shown_and_told_whole_in_json(run: Run) -> None:
    assert run("sessions", "show", "cli:direct", "-n", "1")[1].splitlines()[-1] == '         assistant  "m05"'
    document = json.loads(run("sessions", "show", "cli:direct", "-n", "2", "--json")[1])
    assert document["first"] == 4
    assert document["conversation"] == [said(4), said(5, "assistant")]


def test_damaged_lines_of_a_session_are_shown_where_they_are(run: Run, place: Path) -> None:
    path = place / "sessions" / "cli_direct.jsonl"
    path.write_bytes(path.read_bytes() + b'bro\x1b[2Jken"\n')
    out = run("sessions", "show", "cli:direct")[1]
    assert "Problem:" in out
    assert out.splitlines()[-1] == '         unreadable bro\\x1b[2Jken"'


def test_a_turn_under_way_is_told(run: Run, place: Path) -> None:
    path = write_session(place, "cli:busy", talk(1))
    path.write_bytes(
        path.read_bytes().replace(b'"metadata": {}', b'"metadata": {"pending_user_turn": true}', 1)
    )
    assert "[mid-turn: pending_user_turn]" in run("sessions")[1]


def test_a_fork_is_committed_and_names_the_way_back(run: Run, place: Path) -> None:
    words = ("sessions", "fork", "cli:direct", "cli:other", "--before", "2")
    code, out, _ = run(*words, "--dry-run")
    assert (code, (place / "sessions" / "cli_other.jsonl").exists()) == (0, False)
    assert "Nothing was changed." in out
    code, out, _ = run(*words)
    path = place / "sessions" / "cli_other.jsonl"
    assert (code, len(session.parse(path.read_bytes()).messages)) == (0, 2)
    back = out.splitlines()[-1]
    assert back.startswith("Take it back with: gitmem revert ")
    assert run(*back.partition("gitmem ")[2].split())[0] == 0
    assert not path.exists()


def test_a_session_is_deleted_and_comes_back_as_it_was(run: Run, place: Path) -> None:
    path = place / "sessions" / "cli_direct.jsonl"
    before = path.read_bytes()
    assert run("sessions", "delete", "cli:direct", "--dry-run", "--stat")[0] == 0
    assert path.read_bytes() == before
    code, out, _ = run("sessions", "delete", "cli:direct", "--json")
    document = json.loads(out)
    assert (code, path.exists(), document["files"]) == (0, False, {"sessions/cli_direct.jsonl": None})
    assert run("revert", document["commit"])[0] == 0
    assert path.read_bytes() == before


def test_a_session_in_use_is_deleted_only_by_force(run: Run, place: Path) -> None:
    path = place / "sessions" / "cli_direct.jsonl"
    os.utime(path)
    code, _, err = run("sessions", "delete", "cli:direct")
    assert (code, path.exists()) == (4, True)
    assert "--force" in err
    assert run("sessions", "delete", "cli:direct", "--force")[0] == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "cli:gone"), 1),
        (("delete", "cli:gone"), 1),
        (("fork", "cli:gone", "cli:x", "--before", "2"), 1),
        (("fork", "cli:direct", "telegram:42", "--before", "2"), 2),
        (("fork", "cli:direct", "cli:x", "--before", "9"), 2),
        (("fork", "cli:direct", "cli:x"), 2),
    ],
)
def test_what_cannot_be_done_with_a_session_is_refused(run: Run, words: tuple[str, ...], code: int) -> None:
    found, out, err = run("sessions", *words)
    assert (found, out) == (code, "")
    assert err


def test_a_key_cannot_pass_for_a_line(run: Run, place: Path) -> None:
    write_session(place, "cli:a\nb", talk(1))
    assert "cli:a\nb" in [row["key"] for row in json.loads(run("sessions", "--json")[1])]
    lines = run("sessions")[1].splitlines()
    assert len(lines) == 3
    assert any(line.startswith("cli:a\\nb ") for line in lines)


def test_no_sessions_is_no_failure(run: Run, place: Path) -> None:
    for path in (place / "sessions").glob("*.jsonl"):
        path.unlink()
    assert run("sessions")[:2] == (0, "")


# memory


def test_facts_have_their_origin_beside_them(run: Run, place: Path) -> None:
    init = commit(place, Kind.INIT, "SOUL.md", "USER.md", MEMORY, QUEUE)
    path = place / MEMORY
    path.write_text(path.read_text() + "- drinks tea\n")
    dream = commit(place, Kind.DREAM, MEMORY, trailers=(source_trailer(MEMORY, "drinks tea", [2, 3]),))
    path.write_text(path.read_text() + "- not yet\n")
    code, out, err = run("memory", MEMORY)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "memory/MEMORY.md",
        "                    | # Memory",
        "                    |",
        "                    | ## Server",
        "                    |",
        f"{init[:8]} init       | - backups go to /mnt/a",
        f"{init[:8]} init       | - runs at 03:10",
        f"{dream[:8]} dream 2..3 | - drinks tea",
        "not committed yet   | - not yet",
    ]
    rows = json.loads(run("memory", "--json")[1])
    assert {row["path"] for row in rows} == {"SOUL.md", "USER.md", MEMORY}
    row = next(row for row in rows if row["fact"] == "drinks tea")
    assert (row["line"], row["commit"], row["kind"]) == (7, dream, "dream")
    assert (row["cursors"], row["sessions"]) == ([2, 3], ["cli:direct"])


def test_memory_works_before_the_first_commit(run: Run) -> None:
    code, out, _ = run("memory", "SOUL.md")
    assert (code, out.splitlines()[-1]) == (0, "not committed yet | - be brief")


def test_skills_are_shown_on_request(run: Run, place: Path) -> None:
    skill = place / "skills" / "brew" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: brew\ndescription: tea\n---\n\nBoil water.\n")
    assert "Boil water." not in run("memory")[1]
    assert "Boil water." in run("memory", "--skills")[1]


def test_files_that_are_not_there_are_told(run: Run, place: Path) -> None:
    code, out, err = run("memory", "NOTES.md")
    assert (code, out) == (1, "")
    assert "gitmem log -- NOTES.md" in err
    for path in ("SOUL.md", "USER.md", MEMORY):
        (place / path).unlink()
    assert run("memory")[:2] == (0, "")
    assert run("memory", "--json")[1] == "[]\n"


def test_a_memory_file_goes_into_a_pipe_with_its_own_bytes(run: Run, place: Path) -> None:
    (place / "SOUL.md").write_bytes("- caf\u00e9 \x1b[1m\r\n".encode())
    assert run("memory", "SOUL.md")[1].splitlines()[1].endswith("| - caf\u00e9 \x1b[1m")


@pytest.mark.parametrize("verb", ["history", "sessions", "memory"])
def test_help_has_examples(run: Run, verb: str) -> None:
    code, out, _ = run(verb, "--help")
    assert code == 0
    assert f"  gitmem {verb}" in out.partition("examples:")[2]


@pytest.mark.parametrize("verb", ["history", "sessions", "memory"])
def test_outside_a_workspace_the_exit_code_says_so(run: Run, verb: str, tmp_path: Path) -> None:
    assert run("-C", str(tmp_path), verb)[0] == 10
