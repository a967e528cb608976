"""An agent to watch: it writes its memory the way real agents do, so that a daemon beside it has something true to see.

`python scripts/agent.py WORKSPACE talk consolidate dream`. Sessions are saved as a temporary file and a rename, once for
each phase of a turn; history is appended to and its cursor truncated and rewritten; Markdown is written in place. Standard
library only.
"""

import argparse
import json
import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

Message = dict[str, Any]


def now() -> str:
    """The naive local time that session files hold."""
    return datetime.now().isoformat()  # noqa: DTZ005  as agents write it


def load(path: Path) -> tuple[Message, list[Message]]:
    """A session's metadata record and messages."""
    head, *messages = (json.loads(line) for line in path.read_text("utf-8").split("\n") if line)
    return head, messages


def save(path: Path, head: Message, messages: list[Message]) -> None:
    """Rewrite a session: temporary file beside it, then a rename."""
    head["updated_at"] = now()
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    lines = (json.dumps(record, ensure_ascii=False) for record in (head, *messages))
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")
    temporary.replace(path)


def call(name: str, **arguments: object) -> Message:
    """A tool call as a model asks for it."""
    return {
        "id": f"call_{os.urandom(6).hex()}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def talk(workspace: Path, pause: float) -> None:
    """One turn with a tool, saved phase by phase."""
    path = workspace / "sessions" / "cli_reading.jsonl"
    head, messages = load(path)
    asked = call("read_file", path="books.md")
    assistant = {
        "role": "assistant",
        "content": "I will look at the list.",
        "tool_calls": [asked],
        "timestamp": now(),
    }
    result = {"role": "tool", "tool_call_id": asked["id"], "name": "read_file", "timestamp": now()}
    result["content"] = "Lin: The Mezzanine, Austerlitz\nOdile: Stoner"
    answer = {"role": "assistant", "content": 'Three: Odile has "Stoner".', "timestamp": now()}
    state = head["metadata"]
    messages.append({"role": "user", "content": "And to anybody else?", "timestamp": now()})
    state["pending_user_turn"] = True
    save(path, head, messages)
    steps: list[tuple[str, Message, list[Message], list[Message]]] = [
        ("awaiting_tools", assistant, [], [asked]),
        ("tools_completed", assistant, [result], []),
        ("final_response", answer, [], []),
    ]
    for phase, message, completed, pending in steps:
        time.sleep(pause)
        state["runtime_checkpoint"] = {
            "phase": phase,
            "iteration": int(phase == "final_response"),
            "model": "small-model",
            "assistant_message": message,
            "completed_tool_results": completed,
            "pending_tool_calls": pending,
        }
        save(path, head, messages)
    time.sleep(pause)
    head["metadata"] = {
        k: v for k, v in state.items() if k not in ("runtime_checkpoint", "pending_user_turn")
    }
    save(path, head, [*messages, assistant, result, answer])


def consolidate(workspace: Path, pause: float) -> None:
    """Archive the old messages of a session: history, then its cursor, then the session's mark."""
    path = workspace / "sessions" / "telegram_42.jsonl"
    head, messages = load(path)
    memory = workspace / "memory"
    cursor = int((memory / ".cursor").read_text()) + 1
    entry = {
        "cursor": cursor,
        "timestamp": now()[:16].replace("T", " "),
        "content": "- [durable] Guest house in Irun booked for 11 May; receipt in travel/2026-porto.",
        "session_key": head["key"],
    }
    with (memory / "history.jsonl").open("ab") as stream:
        stream.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
    (memory / ".cursor").write_text(str(cursor))
    time.sleep(pause / 10)
    head["last_consolidated"] = len(messages)
    save(path, head, messages)


def dream(workspace: Path, pause: float) -> None:
    """Turn history into long-term memory: files in place, then the Dream cursor."""
    memory = workspace / "memory"
    text = (memory / "MEMORY.md").read_text("utf-8")
    text += (
        "\n## Porto, May 2026\n\n- Week of 11 May, by train.\n- Guest house in Irun booked for the 11th.\n"
    )
    (memory / "MEMORY.md").write_text(text, "utf-8")
    time.sleep(pause / 10)
    user = workspace / "USER.md"
    user.write_text(
        user.read_text("utf-8") + "- Never flies; travels by train.\n- 中文对话用简体字。\n", "utf-8"
    )
    time.sleep(pause / 10)
    (memory / ".dream_cursor").write_text((memory / ".cursor").read_text())


ACTS = {"talk": talk, "consolidate": consolidate, "dream": dream}


def main() -> None:
    """Do the acts named on the command line, in order."""
    parser = argparse.ArgumentParser(description="Play an agent that writes its memory.")
    parser.add_argument("workspace", type=Path)
    parser.add_argument("acts", nargs="+", choices=sorted(ACTS))
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between the phases of a turn")
    args = parser.parse_args()
    for act in args.acts:
        ACTS[act](args.workspace, args.pause)


if __name__ == "__main__":
    main()
