"""What `gitmem status` tells: the repository, what is on disk and not committed, the remotes, and what the daemon says."""

from dataclasses import asdict
from typing import Any

from gitmem.core import checkpoint, history, session
from gitmem.core.model import PathClass
from gitmem.edges import account, control, ledger, localtime, remotes, views
from gitmem.edges.batch import read_batch
from gitmem.edges.opened import Opened, missing_root, open_workspace
from gitmem.edges.tip import current
from gitmem.edges.workspace import Workspace

_HISTORY = "memory/history.jsonl"
_DREAM_CURSOR = "memory/.dream_cursor"


def gather(workspace: Workspace) -> dict[str, Any]:
    """Everything a person wants to know about a workspace, as one JSON object. Nothing is written.

    Returns:
        Keys `workspace`, `agent`, `git_dir`, `daemon`, `head`, `remotes`, `in_flight`, `changed`, `held`, `findings`,
        `operation`, `engine` and `attention` (sentences; empty when all is well).
    """
    live = control.ask(workspace.git.state, {"do": "status"})
    facts: dict[str, Any] = {
        "workspace": str(workspace.directory),
        "agent": workspace.layout.agent,
        "git_dir": str(workspace.git.control),
        "daemon": None if live is None else dict(live),
        "head": None,
        "remotes": {},
        "in_flight": [],
        "changed": [],
        "held": [] if live is None else list(live.get("held", ())),
        "findings": [],
        "operation": None,
        "engine": {} if live is None else dict(live.get("engine") or {}),
        "attention": [],
    }
    missing = missing_root(workspace)
    if missing is not None:
        facts["attention"].append(f"{missing} is missing: nothing is committed until it is back")
        return facts
    with open_workspace(workspace) as opened:
        _repository(opened, facts)
        _disk(opened, facts)
        _engine(opened, facts)
    _attention(facts, live)
    return facts


def _repository(opened: Opened, facts: dict[str, Any]) -> None:
    repo = opened.repo
    target = current(opened)
    facts["operation"] = target.operation
    head = repo.head() or target.base
    if head is not None:
        commit = repo.info(head)
        facts["head"] = {"sha": commit.sha, "subject": commit.subject, "time": commit.time}
    branch = repo.branch()
    for remote in remotes.load(repo.git.control):
        tracking = remote.tracking(branch) if branch else None
        ahead = tracking is None or repo.refs.read(tracking) != head
        facts["remotes"][remote.name] = {"url": remote.url.text, "ahead": ahead}


def _disk(opened: Opened, facts: dict[str, Any]) -> None:
    """Compare the disk with the branch."""
    tracked = views.overlay(opened.repo.files(current(opened).base), account.load(opened))
    present = [path for path, _ in opened.walk()]
    batch = read_batch(opened, tracked, {*present, *tracked}, overdue={*present, *tracked})
    facts["changed"] = sorted(batch.changes)
    facts["findings"] = [{"rule": f.rule, "path": f.path, "text": f.text} for f in batch.findings]
    for path, file in sorted(batch.run_state.items()):
        if opened.classify(path) is PathClass.SESSION and checkpoint.is_mid_turn(file.data):
            parsed = session.parse(file.data)
            state = checkpoint.run_state(parsed)
            facts["in_flight"].append(
                {"session": parsed.key or path, "phase": state.phase if state else "pending"}
            )


def _engine(opened: Opened, facts: dict[str, Any]) -> None:
    """How archiving and Dreams went, what they cost, and what waits."""
    known = ledger.read(opened.repo.git)
    queue, dreamed = (opened.read(path).file for path in (_HISTORY, _DREAM_CURSOR))
    entries = history.parse(b"" if queue is None else queue.data)
    seen = history.parse_cursor(None if dreamed is None else dreamed.data) or 0
    facts["engine"] |= {
        "last": {sort: asdict(run) for sort, run in known.last.items()},
        "runs": known.runs,
        "prompt_tokens": known.prompt_tokens,
        "completion_tokens": known.completion_tokens,
        "seconds": known.seconds,
        "unread": len(history.after(entries, seen)),
        "history_problems": list(entries.problems),
    }


def _engine_attention(engine: dict[str, Any]) -> list[str]:
    failed = [
        f"the last {sort} failed: {run['text']}"
        for sort, run in engine.get("last", {}).items()
        if run["failures"]
    ]
    problems = engine.get("history_problems")
    odd = (
        [f"memory/history.jsonl: {len(problems)} lines cannot be read ({problems[0]}); they are kept"]
        if problems
        else []
    )
    other = engine.get("failure")
    return [
        *failed,
        *odd,
        *([f"the memory engine: {other}"] if other and not any(other in text for text in failed) else []),
    ]


def _attention(facts: dict[str, Any], live: control.Answer | None) -> None:
    attention = facts["attention"]
    if facts["operation"] is not None:
        attention.append(f"{facts['operation']} in progress: commits wait on a side ref until it is finished")
    if live is None:
        attention.append("no daemon is running: changes are committed only by commands")
    elif live.get("problem"):
        problem = live["problem"]
        attention.append(
            f"cannot commit since {localtime.at(problem['since']):%Y-%m-%d %H:%M:%S}: {problem['text']}"
        )
    elif live.get("watcher", {}).get("mode") == "polling":
        attention.append("file events are not available; the folder is polled")
    attention += _engine_attention(facts["engine"])
    if facts["held"]:
        attention.append(f"{len(facts['held'])} files vanished at once; their deletion is held back")
    for finding in (*facts["findings"], *((live or {}).get("findings") or ())):
        text = f"{finding['path']}: {finding['text']}"
        if text not in attention:
            attention.append(text)
    for name, row in ((live or {}).get("remotes") or {}).items():
        facts["remotes"].setdefault(name, {"url": row["url"], "ahead": True}).update(row)
        if row.get("error"):
            attention.append(f"{name}: {row['state']}: {row['error']}")
