"""An agent to watch: it writes its memory the way real agents do, so that a daemon beside it has something true to see.

`python scripts/agent.py WORKSPACE talk consolidate dream --turns 3 --seed 7`. Sessions are saved as a temporary file and a
rename, once for each phase of a turn; history is appended to and its cursor truncated and rewritten; Markdown is written in
place. There is no model behind it: what it says is chosen by the seed. Standard library only.
"""

import argparse
import itertools
import json
import os
import random
import re
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

Message = dict[str, Any]

RUN_STATE = ("runtime_checkpoint", "pending_user_turn")
"""What a session's metadata holds only while a turn is under way."""


@dataclass(frozen=True)
class Turn:
    """What is said in one turn: a question, the tools asked for with what they answer, and the reply."""

    session: str
    question: str
    tools: tuple[tuple[str, dict[str, str], str], ...]
    reply: str


TURNS = (
    Turn(
        "cli:reading",
        "And have I lent anything to Odile?",
        (("read_file", {"path": "books.md"}, "Lin: The Mezzanine, Austerlitz\nOdile: Stoner"),),
        'One: Odile has "Stoner".',
    ),
    Turn(
        "telegram:42",
        "What time does the train from Lyon leave?",
        (
            ("web_search", {"query": "train Lyon Hendaye 11 May"}, "dep. 08:04, arr. 16:40, one change"),
            ("read_file", {"path": "travel/2026-porto.md"}, "seat: window, no early trains before 8"),
        ),
        "At 08:04 from Part-Dieu, one change. It is after eight, as you like it.",
    ),
    Turn(
        "wechat:lin",
        "下次读书会读什么?",
        (("read_file", {"path": "reading-circle.md"}, "四月《边城》\n五月《呼兰河传》"),),
        "五月读《呼兰河传》。",
    ),
    Turn(
        "cli:direct",
        "Did the backup run last night?",
        (("exec", {"command": "tail -n 1 /var/log/backup.log"}, "03:10 snapshot done, 4.1 GB"),),
        "Yes: a snapshot of 4.1 GB at 03:10.",
    ),
)

SUMMARIES = {
    "telegram:42": "- [durable] Guest house Bidasoa in Irun booked for 11 May 2026, 58 EUR.\n"
    "- [durable] The receipt of Irun is in travel/2026-porto.",
    "cli:direct": "- [durable] Snapshots older than two years were removed on 2026-03-03; 212 GB are free.",
    "wechat:lin": "- [permanent] 中文对话一律用简体字。",
}
"""What a model would have made of the sessions of the sample workspace."""

LATELY = "\n## Lately\n\n"
"""Heading for what Dream puts into long-term memory."""

FACT = re.compile(r"^[-\s]*\[(permanent|durable|correction)\]\s*(.+)$", re.MULTILINE)
"""A marked line of a summary that is worth keeping; ephemeral, skipped and raw ones are not."""


def now() -> str:
    """The naive local time that session files hold."""
    return datetime.now().isoformat()  # noqa: DTZ005  as agents write it


def session_path(workspace: Path, key: str) -> Path:
    """Where the session of a key is saved."""
    return workspace / "sessions" / f"{key.replace(':', '_')}.jsonl"


def load_session(path: Path, key: str) -> tuple[Message, list[Message]]:
    """A session's metadata record and messages; a fresh session where there is no file."""
    if not path.exists():
        head: Message = {"_type": "metadata", "key": key, "created_at": now(), "updated_at": now()}
        return head | {"metadata": {}, "last_consolidated": 0}, []
    head, *messages = (json.loads(line) for line in path.read_text("utf-8").split("\n") if line)
    return head, messages


def save_session(path: Path, head: Message, messages: list[Message]) -> None:
    """Rewrite a session: temporary file beside it, then a rename."""
    head["updated_at"] = now()
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    lines = (json.dumps(record, ensure_ascii=False) for record in (head, *messages))
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")
    temporary.replace(path)


def say(role: str, content: str, **more: object) -> Message:
    """One message."""
    return {"role": role, "content": content, "timestamp": now(), **more}


def phases(turn: Turn) -> tuple[list[Message], list[Message]]:
    """The checkpoints of a turn, and the messages that stay when it is over."""
    calls: list[Message] = []
    results: list[Message] = []
    for name, arguments, answer in turn.tools:
        function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        calls.append({"id": f"call_{os.urandom(6).hex()}", "type": "function", "function": function})
        results.append(say("tool", answer, tool_call_id=calls[-1]["id"], name=name))
    asking = say("assistant", "", tool_calls=calls)
    reply = say("assistant", turn.reply)
    steps: tuple[tuple[str, int, Message, list[Message], list[Message]], ...] = (
        ("awaiting_tools", 0, asking, [], calls),
        ("tools_completed", 0, asking, results, []),
        ("final_response", 1, reply, [], []),
    )
    checkpoints = [
        {
            "phase": phase,
            "iteration": iteration,
            "model": "none",
            "assistant_message": message,
            "completed_tool_results": completed,
            "pending_tool_calls": pending,
        }
        for phase, iteration, message, completed, pending in steps
    ]
    return checkpoints, [asking, *results, reply]


def talk(workspace: Path, turn: Turn, pause: float) -> None:
    """One turn with tools, saved five times: the question, three phases, and the whole.

    Args:
        workspace: Where the agent lives.
        turn: What is said.
        pause: Seconds between two saves.
    """
    path = session_path(workspace, turn.session)
    head, messages = load_session(path, turn.session)
    messages.append(say("user", turn.question))
    head["metadata"]["pending_user_turn"] = True
    save_session(path, head, messages)
    checkpoints, made = phases(turn)
    for checkpoint in checkpoints:
        time.sleep(pause)
        head["metadata"]["runtime_checkpoint"] = checkpoint
        save_session(path, head, messages)
    time.sleep(pause)
    for name in RUN_STATE:
        head["metadata"].pop(name, None)
    save_session(path, head, [*messages, *made])


def archivable(head: Message, messages: list[Message]) -> range:
    """Numbers of the messages that may be archived: all after the mark, and none while a turn is under way."""
    under_way = any(name in head["metadata"] for name in RUN_STATE)
    return range(head["last_consolidated"], head["last_consolidated"] if under_way else len(messages))


def longest_session(workspace: Path) -> str:
    """The key of the session with the most messages that are not archived yet."""

    def left(path: Path) -> int:
        return len(archivable(*load_session(path, "")))

    longest = max(sorted((workspace / "sessions").glob("*.jsonl")), key=left)
    return str(load_session(longest, "")[0]["key"])


def consolidate(workspace: Path, key: str, pause: float) -> None:
    """Archive the old messages of a session: history, then its cursor, then the session's mark."""
    path = session_path(workspace, key)
    head, messages = load_session(path, key)
    chunk = archivable(head, messages)
    if not chunk:
        return
    asked = dict.fromkeys(messages[n]["content"] for n in chunk if messages[n]["role"] == "user")
    memory = workspace / "memory"
    cursor = read_cursor(memory / ".cursor") + 1
    entry = {
        "cursor": cursor,
        "timestamp": now()[:16].replace("T", " "),
        "content": SUMMARIES.get(key) or "\n".join(f"- [durable] Asked: {text}" for text in asked),
        "session_key": key,
    }
    with (memory / "history.jsonl").open("ab") as stream:
        stream.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
    (memory / ".cursor").write_text(str(cursor), "ascii")
    time.sleep(pause)
    head["last_consolidated"] = chunk.stop
    save_session(path, head, messages)


def read_cursor(path: Path) -> int:
    """The number in a cursor file; 0 where there is none."""
    return int(path.read_text("ascii")) if path.exists() else 0


def dream(workspace: Path, pause: float, *, careless: bool = False) -> None:
    """Turn new history into long-term memory: files in place, then the Dream cursor.

    Args:
        workspace: Where the agent lives.
        pause: Seconds between two writes.
        careless: Write `MEMORY.md` anew from the new facts alone, as a model does that was shown nothing else.
    """
    memory = workspace / "memory"
    since = read_cursor(memory / ".dream_cursor")
    lines = (memory / "history.jsonl").read_text("utf-8").split("\n")
    entries = [entry for line in lines if line and (entry := json.loads(line))["cursor"] > since]
    if not entries:
        return
    facts = dict.fromkeys(fact for entry in entries for fact in FACT.findall(entry["content"]))
    about_user = [text for mark, text in facts if mark == "permanent"]
    about_world = [text for mark, text in facts if mark != "permanent"]
    long_term = memory / "MEMORY.md"
    note_down(long_term, "# Memory\n" if careless else long_term.read_text("utf-8"), LATELY, about_world)
    time.sleep(pause)
    user = workspace / "USER.md"
    note_down(user, user.read_text("utf-8"), "", about_user)
    time.sleep(pause)
    (memory / ".dream_cursor").write_text(str(entries[-1]["cursor"]), "ascii")


def note_down(path: Path, text: str, heading: str, facts: list[str]) -> None:
    """Write a Markdown file in place, with facts added at its end.

    Args:
        path: The file.
        text: What it says already.
        heading: Goes before the first fact, where the text does not have it.
        facts: One line each; those that the text has are left out.
    """
    new = [f"- {fact}\n" for fact in facts if fact not in text]
    if new and heading not in text:
        new.insert(0, heading)
    if new:
        path.write_text(text + "".join(new), "utf-8")


def main() -> None:
    """Do the acts named on the command line, in order."""
    parser = argparse.ArgumentParser(description="Play an agent that writes its memory.")
    parser.add_argument("workspace", type=Path)
    parser.add_argument("acts", nargs="*", metavar="ACT", help="talk (the default), consolidate, dream")
    parser.add_argument("--turns", type=int, default=1, metavar="N", help="turns of each talk")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="chooses what is talked about")
    parser.add_argument("--session", metavar="KEY", help="talk in, or archive, this session")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between two saves")
    parser.add_argument("--careless", action="store_true", help="let a Dream forget what it was not shown")
    args = parser.parse_args()
    turns = [turn for turn in TURNS if args.session in (None, turn.session)]
    random.Random(args.seed).shuffle(turns)
    following = itertools.cycle(turns)
    for act in args.acts or ["talk"]:
        if act == "talk" and turns:
            for turn in itertools.islice(following, args.turns):
                talk(args.workspace, turn, args.pause)
        elif act == "consolidate":
            consolidate(args.workspace, args.session or longest_session(args.workspace), args.pause)
        elif act == "dream":
            dream(args.workspace, args.pause, careless=args.careless)
        else:
            parser.error(f"cannot {act}" + (f" in {args.session}" if args.session else ""))


if __name__ == "__main__":
    main()
