import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.cli import main
from gitmem.core.model import File, Kind
from gitmem.edges import workspace as workspaces
from gitmem.edges.repo import Repository
from tests.histories import History, new_workspace

SESSION = "sessions/telegram_42.jsonl"
KEY = (("Gitmem-Session", "telegram:42"),)
FIRST = b'{"_type": "metadata", "key": "telegram:42", "last_consolidated": 0}\n'
HELLO = b'{"role": "user", "content": "hello"}\n'
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with three commits of February 2026 and its files on disk."""
    workspace = new_workspace(tmp_path / "ws")
    with Repository(workspace.git) as repo:
        history = History(repo)
        history.add(Kind.INIT, {"SOUL.md": b"kind\n", "memory/MEMORY.md": b"- tea\n"}, at="2026-02-01T09:00")
        history.add(Kind.SESSION, {SESSION: FIRST + HELLO}, at="2026-02-02T10:00", trailers=KEY)
        history.add(Kind.DREAM, {"memory/MEMORY.md": b"- coffee\n"}, at="2026-02-03T11:00")
    for path, data in {
        "SOUL.md": b"kind\n",
        "memory/MEMORY.md": b"- coffee\n",
        SESSION: FIRST + HELLO,
    }.items():
        target = workspace.directory / path
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)
    return workspace.directory


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], place: Path) -> Run:
    def run_one(*words: str) -> tuple[int, str, str]:
        code = main([words[0], "-C", str(place), *words[1:]])
        out, err = capfd.readouterr()
        return code, out, err

    return run_one


def add(place: Path, kind: Kind | str, files: dict[str, bytes | File | None]) -> str:
    with Repository(workspaces.find(place).git) as repo:
        return History(repo).add(kind, files)


def shas(place: Path) -> list[str]:
    with Repository(workspaces.find(place).git) as repo:
        return [commit.sha for commit in repo.history(repo.head())]


def test_log_has_a_line_for_each_commit_newest_first(run: Run, place: Path) -> None:
    code, out, err = run("log")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[0] for line in lines] == [sha[:8] for sha in shas(place)]
    assert lines[0].endswith("dream: memory/MEMORY.md")
    assert "2026-02-0" in lines[0]
    assert " ago " in lines[0]


def test_log_oneline_is_id_and_subject(run: Run, place: Path) -> None:
    assert run("log", "--oneline", "-n", "1")[1] == f"{shas(place)[0][:8]} dream: memory/MEMORY.md\n"


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (("--kind", "dream", "--kind", "init"), ["dream", "init"]),
        (("--session", "telegram:42"), ["session"]),
        (("memory",), ["dream", "init"]),
        (("--", "SOUL.md"), ["init"]),
        (("./memory/../SOUL.md",), ["init"]),
        ((".",), ["dream", "session", "init"]),
        (("--since", "2026-02-02", "--until", "2026-02-02"), ["session"]),
        (("--since", "last session"), ["dream", "session"]),
        (("--max-count", "0"), []),
    ],
)
def test_log_filters(run: Run, words: tuple[str, ...], kinds: list[str]) -> None:
    code, out, _ = run("log", "--json", *words)
    assert code == 0
    assert [json.loads(line)["kind"] for line in out.splitlines()] == kinds


def test_log_json_has_all_facts_of_a_commit(run: Run, place: Path) -> None:
    row = json.loads(run("log", "--json", "--stat", "-n", "1", "--kind", "session")[1])
    sha, parent = shas(place)[1:3]
    assert row["sha"] == sha
    assert row["parents"] == [parent]
    assert (row["kind"], row["subject"], row["session"]) == ("session", f"session: {SESSION}", "telegram:42")
    assert row["body"] == f"About {SESSION}."
    assert row["trailers"]["Gitmem-Session"] == ["telegram:42"]
    assert row["time"][:8] == "2026-02-"
    assert row["time"][-6] in "+-"
    assert row["files"] == [
        {
            "path": SESSION,
            "status": "added",
            "added": 2,
            "removed": 0,
            "binary": False,
            "old_size": None,
            "new_size": len(FIRST + HELLO),
            "old_mode": None,
            "new_mode": "100644",
        }
    ]


def test_log_with_patch_and_stat_shows_them_below_each_commit(run: Run) -> None:
    out = run("log", "-p", "memory")[1]
    assert "\n-- tea\n+- coffee\n" in out
    assert "a/SOUL.md" not in out
    out = run("log", "--stat", "-n", "1")[1]
    assert out.endswith(" memory/MEMORY.md | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n")


def test_log_that_matches_nothing_says_so_and_succeeds(run: Run) -> None:
    assert run("log", "--kind", "merge") == (0, "", "No commit matches.\n")


def test_foreign_commits_are_marked(run: Run, place: Path) -> None:
    add(place, "typo fixed\n", {"SOUL.md": b"kinder\n"})
    assert run("log", "--oneline", "-n", "1")[1].endswith("foreign: typo fixed\n")


@pytest.mark.parametrize("verb", ["log", "show", "diff"])
def test_before_the_first_commit_there_is_nothing_to_see_and_no_error(
    verb: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    empty = new_workspace(tmp_path / "new").directory
    assert main([verb, "-C", str(empty)]) == 0
    assert "No history yet" in capfd.readouterr().err


def test_show_prints_the_newest_commit_and_its_diff(run: Run, place: Path) -> None:
    _, out, _ = run("show")
    assert out.startswith(f"commit {shas(place)[0]}\nAuthor: agent <agent@host>\nDate:   2026-02-0")
    assert "    dream: memory/MEMORY.md\n" in out
    assert "    Gitmem-Kind: dream\n" in out
    assert out.endswith("@@ -1 +1 @@\n-- tea\n+- coffee\n")


def test_show_takes_words_without_quotes(run: Run, place: Path) -> None:
    assert json.loads(run("show", "--json", "before", "last", "dream")[1])["sha"] == shas(place)[1]


def test_sessions_are_shown_as_messages_or_raw(run: Run) -> None:
    assert '+ user       "hello"\n' in run("show", "last session")[1]
    assert f"+{HELLO.decode()}" in run("show", "--raw", "last session")[1]


def test_show_json_carries_the_exact_patch(run: Run) -> None:
    document = json.loads(run("show", "--json", "last session")[1])
    assert document["files"][0]["patch"].endswith(f"+{HELLO.decode()}")
    assert "patch" not in json.loads(run("show", "--json", "--stat", "last session")[1])["files"][0]


def test_diff_without_words_is_the_disk_against_the_newest_commit(run: Run, place: Path) -> None:
    assert run("diff") == (0, "", "")
    (place / "memory/MEMORY.md").write_text("- coffee\n- trains\n")
    assert run("diff")[1].endswith(" - coffee\n+- trains\n")
    (place / "SOUL.md").unlink()
    assert "deleted file mode" in run("diff", "SOUL.md")[1]
    assert run("diff", "--exit-code", "--stat")[0] == 1
    assert run("diff", "--exit-code", "skills")[0] == 2


def test_diff_leaves_out_the_state_of_a_running_turn(run: Run, place: Path) -> None:
    add(place, Kind.EDIT, {SESSION: FIRST.replace(b"}", b', "metadata": {}}') + HELLO})
    checkpoint = b', "metadata": {"runtime_checkpoint": {"phase": "final_response"}}}'
    state = FIRST.replace(b"}", checkpoint)
    (place / SESSION).write_bytes(state + HELLO)
    assert run("diff", "--exit-code")[0] == 0
    (place / SESSION).write_bytes(state + HELLO + b'{"role": "assistant", "content": "hi"}\n')
    out = run("diff", "--raw")[1]
    assert "runtime_checkpoint" not in out
    assert '+{"role": "assistant", "content": "hi"}\n' in out


@pytest.mark.parametrize(
    "words",
    [
        ("HEAD~2", "HEAD", "--stat"),
        ("HEAD~2..HEAD", "--stat"),
        ("2026-02-01", "now", "--stat"),
        ("HEAD~2", "last", "dream", "--stat"),
        ("HEAD~2", "--stat"),
    ],
)
def test_diff_between_moments(run: Run, words: tuple[str, ...]) -> None:
    _, out, _ = run("diff", *words)
    assert out == (
        " memory/MEMORY.md           | 2 +-\n"
        " sessions/telegram_42.jsonl | 2 ++\n"
        " 2 files changed, 3 insertions(+), 1 deletion(-)\n"
    )


def test_words_behind_dashes_are_paths_wherever_options_stand(run: Run, place: Path) -> None:
    add(place, Kind.EDIT, {"monday": b"x\n", "HEAD": b"y\n"})
    assert run("diff", "HEAD~1", "HEAD", "--stat", "--", "monday")[1].startswith(" monday | 1 +\n 1 file")
    assert run("diff", "HEAD~1", "--stat", "HEAD", "--", "HEAD")[1].startswith(" HEAD | 1 +\n 1 file")
    assert run("show", "--stat", "--", "HEAD")[1].endswith(" HEAD | 1 +\n 1 file changed, 1 insertion(+)\n")
    assert run("log", "HEAD", "--oneline", "-n", "5", "--", "monday", "SOUL.md")[1].count("\n") == 2
    assert run("cat", "--", "HEAD")[1] == "y\n"
    assert run("diff", "--stat", "--", "--odd") == (0, "", "")


def test_diff_json_names_both_ends(run: Run, place: Path) -> None:
    newest, _, first = shas(place)
    document = json.loads(run("diff", "--json", "HEAD~2", "HEAD", "memory")[1])
    assert (document["from"], document["to"]) == (first, newest)
    assert [row["path"] for row in document["files"]] == ["memory/MEMORY.md"]
    assert json.loads(run("diff", "--json", "HEAD~2")[1])["to"] is None


@pytest.mark.parametrize(
    "words", [("nonsense",), ("HEAD", "HEAD", "HEAD"), ("HEAD", "no/such/file"), ("/elsewhere",)]
)
def test_diff_refuses_words_that_are_neither(run: Run, words: tuple[str, ...]) -> None:
    code, out, err = run("diff", *words)
    assert (code, out) == (2, "")
    assert words[-1] in err


def test_diff_of_an_unmounted_workspace_is_an_error_not_a_mass_deletion(
    run: Run, place: Path, tmp_path: Path
) -> None:
    sessions = tmp_path / "outside"
    workspace = workspaces.find(place)
    record = workspace.git.state / "workspace.json"
    record.write_text(record.read_text().replace('"sessions": null', f'"sessions": "{sessions}"'))
    code, out, err = run("diff")
    assert (code, out) == (1, "")
    assert "is missing" in err


def test_paths_are_relative_to_where_one_stands(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["cat", "-C", str(place / "memory"), "MEMORY.md"]) == 0
    assert capfd.readouterr().out == "- coffee\n"
    assert main(["cat", "-C", str(place / "memory"), "../SOUL.md", str(place / "SOUL.md")]) == 0
    assert capfd.readouterr().out == "kind\nkind\n"


@pytest.mark.parametrize(
    "words",
    [
        ("memory/MEMORY.md@before last dream",),
        ("memory/MEMORY.md@HEAD~1",),
        ("memory/MEMORY.md", "--at", "2026-02-02"),
        ("--at", "HEAD~2", "memory/MEMORY.md"),
    ],
)
def test_cat_prints_a_file_as_it_was(run: Run, words: tuple[str, ...]) -> None:
    assert run("cat", *words) == (0, "- tea\n", "")


def test_cat_writes_exact_bytes(place: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    data = b"\x1b[31m\xff\x00 no newline\r"
    add(place, Kind.EDIT, {"odd@file.bin": data})
    assert main(["cat", "-C", str(place), "odd@file.bin"]) == 0
    assert capfdbinary.readouterr().out == data


def test_cat_json_is_text_or_base64(run: Run, place: Path) -> None:
    sha = add(place, Kind.EDIT, {"a.bin": b"\xff", "b.md": b"b\n"})
    one, two = json.loads(run("cat", "--json", "a.bin", "b.md")[1])
    assert one == {"path": "a.bin", "commit": sha, "mode": "100644", "size": 1, "base64": "/w=="}
    assert two["text"] == "b\n"


def test_cat_of_a_folder_lists_it_and_of_nothing_fails(run: Run) -> None:
    code, out, err = run("cat", "memory")
    assert (code, out) == (1, "")
    assert "memory/MEMORY.md" in err
    code, out, err = run("cat", "SOUL.md", "none.md")
    assert (code, out) == (1, "")
    assert "none.md" in err


@pytest.mark.skipif(shutil.which("git") is None, reason="plain git is not installed")
def test_a_raw_diff_into_a_pipe_is_a_patch_that_git_takes(run: Run, place: Path, tmp_path: Path) -> None:
    old, new = b"caf\xe9\r\nsame\n\x1b[0m", b"caf\xe8\r\nsame\n\x1b[1m\n"
    add(place, Kind.EDIT, {"a b.md": old, "gone.md": b"x", SESSION: FIRST})
    add(
        place,
        Kind.EDIT,
        {"a b.md": new, "gone.md": None, "s/run.sh": File(b"#!\n", 0o100755), SESSION: FIRST + HELLO},
    )
    target = tmp_path / "copy"
    (target / "sessions").mkdir(parents=True)
    (target / "a b.md").write_bytes(old)
    (target / "gone.md").write_bytes(b"x")
    (target / SESSION).write_bytes(FIRST)
    patch = subprocess.run(
        [sys.executable, "-m", "gitmem", "-C", str(place), "diff", "HEAD~1", "HEAD", "--raw"],
        capture_output=True,
        check=True,
    ).stdout
    subprocess.run(["git", "apply", "-"], input=patch, cwd=target, check=True)
    assert (target / "a b.md").read_bytes() == new
    assert not (target / "gone.md").exists()
    assert (target / "s/run.sh").stat().st_mode & 0o100
    assert (target / SESSION).read_bytes() == FIRST + HELLO


def test_wrong_words_are_usage_errors_with_what_is_understood(run: Run) -> None:
    code, out, err = run("show", "the", "day", "before")
    assert (code, out) == (2, "")
    assert "last dream" in err
    code, _, err = run("log", "--json", "--since", "gibber ish")
    assert code == 2
    assert json.loads(err)["exit_code"] == 2


@pytest.mark.parametrize("words", [("log", "--kind", "nonsense"), ("log", "-n", "-1"), ("diff", "-U", "x")])
def test_options_that_make_no_sense_end_with_2(run: Run, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2


def test_colour_comes_only_when_asked_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("log")[1]
    assert "\x1b[35mdream\x1b[m" in run("log", "--color", "always")[1]
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert "\x1b[32m+- coffee\x1b[m" in run("show")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("log")[1]
