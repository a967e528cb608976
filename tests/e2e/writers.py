"""Writers as real agents are (temporary file and rename, appends, truncate and write), each a process of its own.

`python writers.py KIND WORKSPACE SEED COUNT LOG`: writes COUNT states and notes each in LOG as `path sha1-of-blob from to`, the
times being those between which the file was left alone.
"""

import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path


def note(log: Path, path: str, data: bytes, since: float, until: float) -> None:
    sha = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    with log.open("a") as stream:
        stream.write(f"{path} {sha} {since} {until}\n")


def replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def append(path: Path, line: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(line)


def session(number: int, seed: int) -> bytes:
    head = {"_type": "metadata", "key": f"cli:w{seed}", "metadata": {}, "last_consolidated": 0}
    lines = [head]
    for index in range(number + 1):
        role = "user" if index % 2 == 0 else "assistant"
        lines.append(
            {
                "role": role,
                "content": f"{seed}-{index} " + "x" * (index % 50),
                "timestamp": "2026-01-01T00:00:00",
            }
        )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def main() -> None:
    kind, root, seed, count, log = (
        sys.argv[1],
        Path(sys.argv[2]),
        int(sys.argv[3]),
        int(sys.argv[4]),
        Path(sys.argv[5]),
    )
    chance = random.Random(seed)
    name = {"session": f"sessions/cli_w{seed}.jsonl", "history": "memory/history.jsonl"}.get(
        kind, f"memory/notes{seed}.md"
    )
    path = root / name
    text = b""
    for number in range(count):
        if kind == "session":
            text = session(number, seed)
            replace(path, text)
        elif kind == "history":
            line = (
                json.dumps(
                    {"cursor": number + 1, "timestamp": "2026-01-01 00:00", "content": f"entry {number}"}
                ).encode()
                + b"\n"
            )
            append(path, line)
            text += line
            in_place(root / "memory" / ".cursor", str(number + 1).encode())
        else:
            lines = [f"- fact {seed} {index}" for index in range(number % 200 + 1)]
            text = ("# Notes\n" + "\n".join(lines) + "\n").encode()
            in_place(path, text)
        since = time.time()
        time.sleep(chance.choice([0.0, 0.001, 0.004, 0.02]) if number % 61 else 2.2)
        note(log, name, text, since, time.time())


if __name__ == "__main__":
    main()
