"""A model endpoint that follows a script, over real HTTP: to try consolidation and Dream without a key, and to test them.

It speaks OpenAI's chat completions. Without a script it plays a small, honest model: it keeps each sentence of a user as a
fact, and files each fact of the history under memory/MEMORY.md. With a script (a JSON list, one item a request, the last one
for ever) it answers what the script says, in every way in which real servers misbehave.

    python scripts/endpoint.py --port 8080
    GITMEM_BASE_URL=http://127.0.0.1:8080/v1 GITMEM_MODEL=scripted gitmem dream

Items of a script, whose members may be combined:

    {"text": "..."}                      an answer
    {"edits": [...]}                     a call of propose_edits
    {"calls": [{"name": ..., "arguments": ...}]}    calls; arguments that are a string are sent as they are
    {"status": 429, "headers": {"Retry-After": "2"}, "body": {...}}
    {"body": ...}                        a raw body with status 200; a string as it is
    {"finish": "length"}                 another finish reason
    {"close": true}                      cut the connection
    {"hang": SECONDS}                    wait first
    {"drip": SECONDS}                    send a few bytes now and then for so long, and no answer
    {"no_tools": true}                   refuse requests that offer tools, as some servers do
    {"no_json": true}                    refuse requests for JSON mode
    {"auto": true}                       what the small model would say
"""

import argparse
import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

Item = Mapping[str, Any]
_MOST = 60
_SPOKEN = re.compile(r"^\[[^\]]*\] USER: (.+)$", re.MULTILINE)
_FACT = re.compile(r"^\s*- \[(permanent|durable|correction)\] (.+)$", re.MULTILINE)


class Endpoint:
    """A server on a port of this machine; what it was asked is kept in `requests`, in order."""

    def __init__(self, script: Sequence[Item] = (), port: int = 0) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.most_at_once = 0
        self.closing = threading.Event()
        self._busy = 0
        self._guard = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL to configure."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, request: dict[str, Any]) -> Item:
        """Note a request; gives the item that answers it."""
        with self._guard:
            self._busy += 1
            self.most_at_once = max(self.most_at_once, self._busy)
            self.requests.append(request)
            if not self.script:
                return {"auto": True}
            for member, flag in (("tools", "no_tools"), ("response_format", "no_json")):
                if member in request and self.script[0].get(flag):
                    return {"status": 400, "body": {"error": {"message": f"{member} is not supported"}}}
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def done(self) -> None:
        """A request has its answer."""
        with self._guard:
            self._busy -= 1


class _Handler(BaseHTTPRequestHandler):
    """Answers each request as the endpoint's script says."""

    protocol_version = "HTTP/1.1"

    def __init__(self, endpoint: Endpoint, *args: Any) -> None:
        self._endpoint = endpoint
        super().__init__(*args)

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        item = self._endpoint.take(request)
        try:
            self._play(item, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self._endpoint.done()

    def _play(self, item: Item, request: Mapping[str, Any]) -> None:
        self._endpoint.closing.wait(float(item.get("hang", 0)))
        if item.get("close"):
            self.close_connection = True
        elif "drip" in item:
            self._drip(float(item["drip"]))
        else:
            self._send(int(item.get("status", 200)), item.get("headers", {}), body_of(item, request))

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | dict(headers)).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _drip(self, seconds: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._endpoint.closing.wait(0.02):
            self.wfile.write(b": ping\n\n")
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the library's name)
        """Say nothing."""


def body_of(item: Item, request: Mapping[str, Any]) -> bytes:
    """The body that an item of a script stands for."""
    if "body" in item:
        body = item["body"]
        return body.encode() if isinstance(body, str) else json.dumps(body).encode()
    if item.get("auto"):
        item = small_model(request)
    calls = [dict(call) for call in item.get("calls", ())]
    if "edits" in item:
        calls.append({"name": "propose_edits", "arguments": {"edits": item["edits"]}})
    message: dict[str, Any] = {"role": "assistant", "content": item.get("text")}
    if calls and "tools" in request:
        message["tool_calls"] = [_call(number, call) for number, call in enumerate(calls)]
    elif calls:
        message["content"] = json.dumps(calls[0]["arguments"], ensure_ascii=False)
    finish = item.get("finish", "tool_calls" if "tool_calls" in message else "stop")
    length = len(json.dumps(request.get("messages")))
    usage = {"prompt_tokens": length // 4, "completion_tokens": len(json.dumps(message)) // 4}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode()


def _call(number: int, call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = call["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": f"call_{number}", "type": "function", "function": {"name": call["name"], "arguments": text}}


def small_model(request: Mapping[str, Any]) -> Item:
    """What a small, honest model answers: facts of what users said, or edits that file the facts of the history."""
    asked = "\n".join(str(message.get("content") or "") for message in request["messages"])
    if "propose_edits" not in asked:
        facts = dict.fromkeys(line.strip() for line in _SPOKEN.findall(asked.rpartition("<messages>")[2]))
        return {"text": "\n".join(f"- [durable] {fact}" for fact in facts) or "(nothing)"}
    if any(message.get("role") == "tool" for message in request["messages"]):
        return {"edits": []}
    return {"edits": _filed(asked)[:_MOST]}


def _filed(asked: str) -> list[dict[str, Any]]:
    memory, _, batch = asked.rpartition("<history>")
    edits: dict[str, dict[str, Any]] = {}
    for line in batch.split("\n"):
        entry = json.loads(line) if line.startswith("{") else {}
        for _, fact in _FACT.findall(str(entry.get("content", ""))):
            if fact not in memory:
                edit = {
                    "file": "memory/MEMORY.md",
                    "op": "add",
                    "text": f"- {fact}",
                    "reason": "said by the user",
                }
                edits.setdefault(fact, edit | {"sources": []})["sources"].append(entry["cursor"])
    return list(edits.values())


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, help="a JSON file with a list of items")
    args = parser.parse_args()
    script = json.loads(args.script.read_text("utf-8")) if args.script else []
    with Endpoint(script, args.port) as endpoint:
        print(endpoint.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
