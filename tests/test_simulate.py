"""A small run of the simulator in every configuration: 5,000 operations. Each merge in it is checked for P1 to P8, P10 and P11.

The large run is by command: `python scripts/simulate/__main__.py --operations 100000`.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gitmem.core.merge.base import Bases
from gitmem.core.model import MODE_FILE, File
from simulate import command, validity
from simulate.store import Version
from simulate.world import Figures, Settings, Topology, World

P2P, REMOTE = Topology.P2P, Topology.REMOTE


def outcome(settings: Settings, runs: int) -> Figures:
    total = Figures()
    for seed in range(settings.seed, settings.seed + runs):
        total.add(World(replace(settings, seed=seed)).run())
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "runs"),
    [
        (Settings(250, 2, 1), 2),
        (Settings(250, 3, 11), 2),
        (Settings(250, 5, 21), 3),
        (Settings(250, 8, 31), 2),
        (Settings(250, 3, 41, REMOTE), 2),
        (Settings(250, 6, 51, REMOTE), 2),
        (Settings(250, 3, 61, unrelated=True), 1),
        (Settings(250, 3, 71, REMOTE, unrelated=True), 1),
        (Settings(250, 4, 81, mix="sessions"), 1),
        (Settings(250, 4, 91, mix="dreams"), 1),
        (Settings(250, 4, 101, mix="documents"), 1),
        (Settings(250, 4, 111, mix="files"), 1),
        (Settings(250, 4, 121, mix="reverts"), 1),
    ],
    ids=lambda value: (
        f"{value.topology}-{value.replicas}-seed{value.seed}" if isinstance(value, Settings) else ""
    ),
)
def test_nothing_is_lost_comes_back_or_comes_twice_and_all_agree(settings: Settings, runs: int) -> None:
    """P1 to P8, P10, P11."""
    found = outcome(settings, runs)
    assert found.violations == []
    assert found.merges >= 5 * runs


@pytest.mark.slow
def test_criss_cross_histories_and_lost_races_are_among_what_is_tried() -> None:
    p2p, remote = outcome(Settings(250, 5, 21), 1), outcome(Settings(250, 6, 51, REMOTE), 1)
    assert p2p.criss_cross > 0
    assert remote.lost_races > 0


def test_a_run_can_be_repeated_by_its_seed() -> None:
    """P2 for a whole run: chance comes from the seed alone."""
    settings = Settings(120, 3, 5)
    assert outcome(settings, 1) == outcome(settings, 1)
    assert outcome(settings, 1) != outcome(replace(settings, seed=6), 1)


def nothing(_: Bases[Version], ours: str, theirs: str) -> Version:
    return Version({}, ())


def one_of_several(bases: Bases[Version], ours: str, theirs: str) -> Version:
    return bases.tree(bases.graph.common_ancestors(ours, theirs)[0])


@pytest.mark.slow
@pytest.mark.parametrize("base", [nothing, one_of_several])
def test_the_oracle_sees_what_a_wrong_base_does(
    base: Callable[[Bases[Version], str, str], Version], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a base, or with one ancestor picked out of several, what was removed comes back (merge.md, section 2.0)."""
    monkeypatch.setattr(Bases, "base", base)
    found = outcome(Settings(250, 5, 21), 2).violations
    assert any("resurrected" in violation for violation in found)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [(lambda _base, ours, theirs: ours and theirs, "no longer"), (lambda *_: True, "though nobody did")],
)
def test_the_oracle_sees_wrong_flags(
    rule: Callable[[bool, bool, bool], bool], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P7."""
    monkeypatch.setattr("gitmem.core.merge.history.pick_flag", rule)
    monkeypatch.setattr("gitmem.core.merge.session.pick_flag", rule)
    found = outcome(Settings(250, 3, 11), 1).violations
    for flag in ("processed", "archived"):
        assert any(complaint in violation and flag in violation for violation in found)


def test_the_oracle_sees_what_a_merge_leaves_out_or_has_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """P4 and P6."""
    monkeypatch.setattr(
        "gitmem.core.merge.session.survivors", lambda _base, ours, theirs: set(ours) & set(theirs)
    )
    monkeypatch.setattr(
        "gitmem.core.merge.files.merge_markdown", lambda _path, _base, ours, theirs: (ours + theirs, ())
    )
    found = outcome(Settings(250, 3, 11), 1).violations
    assert any("lost" in violation for violation in found)
    assert any("twice" in violation for violation in found)


SESSION = b'{"_type": "metadata", "last_consolidated": %d}\n{"role": "user"}\n%b'
CALL = b'{"role": "assistant", "tool_calls": [{"id": "c"}]}\n'
RESULT = b'{"role": "tool", "tool_call_id": "c"}\n'


@pytest.mark.parametrize(
    ("path", "data", "complaint"),
    [
        ("SOUL.md", b"<<<<<<< ours\n", "markers"),
        ("memory/log.jsonl", b"{}\n{", "within a line"),
        ("memory/log.jsonl", b"x\n", "no JSON"),
        ("sessions/a.jsonl", SESSION % (2, b""), "more messages archived"),
        ("sessions/a.jsonl", SESSION % (0, RESULT), "answers nothing"),
        ("sessions/a.jsonl", SESSION % (0, CALL + b'{"role": "user"}\n'), "without a result"),
        ("sessions/a.jsonl", SESSION % (0, CALL + RESULT * 2), "answers nothing"),
        ("sessions/a.jsonl", SESSION % (0, b'{"role": "user", "x": "provider_state"}\n'), "one machine"),
        ("sessions/a.jsonl", b'{"role": "user"}\n', "does not begin"),
        ("sessions/a.jsonl", SESSION % (0, b'{"_type": "metadata"}\n'), "metadata twice"),
        ("memory/history.jsonl", b'{"cursor": 2}\n{"cursor": 2}\n', "do not rise"),
        ("memory/history.jsonl", b'{"cursor": 2}\n', "given twice"),
        ("memory/.dream_cursor", b"3", "count as processed"),
        ("memory", b"x", "a file and a folder"),
        ("x.py", b"x", "not of a class"),
    ],
)
def test_files_that_a_reader_cannot_use_are_seen(path: str, data: bytes, complaint: str) -> None:
    """P8."""
    tree = {"memory/.cursor": File(b"1", MODE_FILE), path: File(data, MODE_FILE)}
    assert any(complaint in problem for problem in validity.problems(tree))


def test_the_command_prints_one_line_of_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--operations", "100", "--run", "50", "--replicas", "2"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "100 operations, 2 runs" in line
    assert "0 violations" in line


def test_the_command_tells_how_to_repeat_what_went_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bases, "base", nothing)
    assert command.main(["--operations", "100", "--run", "100", "--seed", "11", "--replicas", "3"]) == 1
    assert "--seed 11 --topology p2p" in capsys.readouterr().out.splitlines()[-1]
