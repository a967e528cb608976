"""The allow-list: cases B32, B42, B52 and B91, and what each rule says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import ignore, paths
from gitmem.core.model import PathClass
from gitmem.core.paths import EXCLUDE_LINES, Rules, classify_path, descend

MEMORY = """
    SOUL.md USER.md AGENTS.md HEARTBEAT.md notes.md projects/lisbon/plan.md memory/MEMORY.md memory/HISTORY.md
    memory/HISTORY.md.bak memory/2026-01-01.md memory/topics/food.md skills/mail/SKILL.md prompts/dream.md
    sessions/README.md #keep.md data1.md .gitmem.toml .gitmemignore .gitmem/rules.toml .gitmem/a/b.json MEMORY.MD
    skills/cookies.md docs/reset-password.md the.golden.age.md
"""
ATTACHMENTS = """
    skills/big.bin skills/a/run.sh memory/graph.json memory/archive.jsonl prompts/dream.txt attachments/voice.amr
    media/in/a.bin uploads/server.log files/x images/cat docs/plan.key-points paper.pdf table.CSV pic/cat.png talk.m4a
"""
OTHER = """
    config.json data.jsonl run.sh Makefile main.py sessions/notes.txt sessions/2025/old.jsonl .gitignore
    .gitattributes memory/debug.log skills/a/SKILL.md.orig
"""
SECRET = """
    .env .env.local prod.env prod.env.old memory/tokens.env skills/a/key.pem skills/a/key.pem.txt id_rsa id_ed25519
    id_ed25519.pub id_rsa.old deep/down/server.key cert.p12 cert.pfx credentials credentials.json credentials.md
    skills/mail/credentials.json gcp-credentials.json my_credential.json sessions/cookies.txt cookies cookies-chrome.sqlite
    .secrets/telegram.json skills/.secrets/a.md secrets/a.md .ssh/config .aws/config .netrc _netrc .git-credentials
    .npmrc .pypirc .pgpass htpasswd auth.json bot.token token tokens.json gmail_token.json telegram-token.txt
    secrets.toml secrets.md secret.json client_secret_12.json service-account-prod.json api_key.txt openai-api-keys.json
    passwords.txt vault.kdbx private.asc backup.gpg .gitmem/a.pem .ENV Credentials.JSON attachments/.env
"""
LOCAL = """
    memory/.MEMORY.md.swp memory/.MEMORY.md.swx memory/MEMORY.md~ memory/4913 memory/#MEMORY.md#
    memory/.goutputstream-AB12 memory/MEMORY.md.tmp memory/MEMORY.md.bak memory/~$MEMORY.md memory/.DS_Store
    memory/Thumbs.db memory/.nfs000000000001 memory/.#MEMORY.md sessions/.s.jsonl.0123456789abcdef.tmp
    sessions/s.jsonl.tmp sessions/.session-files.lock sessions/.workspace .nanobot/workspace-id .git/config
    skills/a/__pycache__/b.pyc node_modules/x/README.md venv/a.md .venv/a.md .cache/a.md .obsidian/app.md
    memory/index.sqlite memory/index.sqlite3 memory/index.sqlite-wal memory/index.db memory/index.db-shm
    desktop.ini agent.sock daemon.pid uploads/half.part .gitmem/x.tmp .gitmem/.git/config .hidden.md memory/.hidden/a.md
"""
COPIES = """
    memory/MEMORY.sync-conflict-20260105-090000-ABC.md sessions/a.sync-conflict-20260105-090000-ABC.jsonl
    SOUL_conflict-20240101-101010.md
"""
SPACED_COPIES = [
    "memory/MEMORY (conflicted copy).md",
    "memory/MEMORY (Ada's conflicted copy 2026-01-05).md",
    "SOUL (Case Conflict).md",
    "SOUL (SFConflict ada@example.org 2026-01-05).md",
]
BY_CLASS = {
    PathClass.MEMORY: MEMORY,
    PathClass.ATTACHMENT: ATTACHMENTS,
    PathClass.OTHER: OTHER,
    PathClass.SECRET: SECRET,
    PathClass.LOCAL: LOCAL,
    PathClass.CONFLICT_COPY: COPIES,
    PathClass.SESSION: "sessions/telegram_42.jsonl sessions/Y2xpOmRpcmVjdA.jsonl",
    PathClass.SIDECAR: "sessions/Y2xpOmRpcmVjdA.checkpoint.json",
    PathClass.HISTORY: "memory/history.jsonl",
    PathClass.CURSOR: "memory/.cursor memory/.dream_cursor",
}
EXAMPLES = [(path, kind) for kind, text in BY_CLASS.items() for path in text.split()]
EXAMPLES += [(path, PathClass.CONFLICT_COPY) for path in SPACED_COPIES]


@pytest.mark.parametrize(("path", "kind"), EXAMPLES)
def test_what_a_path_means(path: str, kind: PathClass) -> None:
    assert classify_path(path) is kind


def test_b91_only_memory_is_kept_of_a_folder_full_of_secrets() -> None:
    workspace = [
        "SOUL.md",
        "memory/MEMORY.md",
        "skills/mail/SKILL.md",
        ".env",
        "memory/.env.local",
        "config.json",
        "id_ed25519",
        ".secrets/telegram.json",
        "sessions/cookies.txt",
        "skills/mail/credentials.json",
        ".gitignore",
    ]
    assert [path for path in workspace if classify_path(path).versioned] == workspace[:3]


ALLOW_LIST = r"""
/*
!/memory/
!/SOUL.md
!/skills/
memory/*
!memory/MEMORY.md
!memory/history.jsonl
skills/**
!skills/**/
!skills/**/SKILL.md
\#keep.md
[^a]bc.md
data[0-9].md
"""
FILES = """
.env .gitignore #keep.md SOUL.md abc.md data1.md memory/MEMORY.md memory/history.jsonl memory/sub/MEMORY.md
memory/tokens.env prod.env skills/a/SKILL.md skills/a/b/SKILL.md skills/a/key.pem skills/top.md xbc.md
"""
KEPT = "SOUL.md memory/MEMORY.md memory/history.jsonl skills/a/SKILL.md skills/a/b/SKILL.md"


def test_b32_a_persons_patterns_take_away_from_what_is_kept_and_secrets_stay_out() -> None:
    patterns = ignore.parse(ALLOW_LIST.splitlines())
    kept = [path for path in FILES.split() if classify_path(path).versioned and not patterns.match(path)]
    assert kept == KEPT.split()


def test_a_rule_of_an_adapter_cannot_take_a_secret_in() -> None:
    rules = Rules(sessions=frozenset({".ssh"}), histories=frozenset({".env"}), cursors=frozenset({"id_rsa"}))
    for path in (".ssh/a.jsonl", ".env", "id_rsa"):
        assert classify_path(path, rules) is PathClass.SECRET


def test_an_adapter_says_where_sessions_the_queue_and_cursors_are() -> None:
    rules = Rules(
        sessions=frozenset({"chats"}),
        histories=frozenset({"log/queue.jsonl"}),
        cursors=frozenset({"log/.seen"}),
        local=frozenset({"state"}),
    )
    assert classify_path("chats/a.jsonl", rules) is PathClass.SESSION
    assert classify_path("chats/deep/a.jsonl", rules) is PathClass.OTHER
    assert classify_path("log/queue.jsonl", rules) is PathClass.HISTORY
    assert classify_path("log/.seen", rules) is PathClass.CURSOR
    assert classify_path("state/a.md", rules) is PathClass.LOCAL
    assert classify_path("sessions/a.jsonl", rules) is PathClass.OTHER


@pytest.mark.parametrize("folder", ["memory", "skills/a", ".gitmem", ".gitmem/a", "sessions", "projects/x"])
def test_folders_that_are_entered(folder: str) -> None:
    assert descend(folder)


@pytest.mark.parametrize(
    "folder",
    [".git", "a/.git", ".nanobot", "node_modules", "a/__pycache__", ".ssh", "secrets", ".gitmem/.git", ".x"],
)
def test_folders_that_are_not_entered(folder: str) -> None:
    assert not descend(folder)
    assert not classify_path(f"{folder}/MEMORY.md").versioned


parts = st.sampled_from(
    ["memory", "skills", "sessions", ".ssh", ".git", ".gitmem", "docs", "a", ".hidden", "secrets", "venv"]
)
names = st.one_of(
    st.sampled_from([path.rpartition("/")[2] for path, _ in EXAMPLES]), st.text(min_size=1, max_size=12)
)


@given(st.lists(parts, max_size=3), names)
def test_any_path_has_a_class_and_nothing_is_kept_below_a_folder_that_is_not_entered(
    folders: list[str], name: str
) -> None:
    path = "/".join([*folders, name.replace("/", "_")])
    kept = classify_path(path).versioned
    entered = all(descend("/".join(folders[: depth + 1])) for depth in range(len(folders)))
    assert entered or not kept


@given(names)
def test_the_quick_look_passes_over_no_name_that_a_rule_speaks_of(name: str) -> None:
    lower = name.lower()
    assert paths._is_telling(lower) or paths._by_name(lower) is None


@given(names, st.sampled_from(["", "memory/", "skills/deep/down/", "attachments/"]))
def test_a_secret_is_one_wherever_it_lies(name: str, folder: str) -> None:
    if classify_path(name) is PathClass.SECRET:
        assert classify_path(folder + name) is PathClass.SECRET


def test_what_git_is_told_to_leave_alone_is_never_kept() -> None:
    for line in EXCLUDE_LINES[1:]:
        path = f"{line}x" if line.endswith("/") else line.replace("*", "x")
        assert not classify_path(path).versioned, line
