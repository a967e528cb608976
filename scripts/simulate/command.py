"""The command line: many short runs, one figure line."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from simulate.operations import MIXES
from simulate.world import Figures, Settings, Topology, World

_RUN = 300
"""Operations of one run: long enough for several criss-crosses, short enough to be understood when it goes wrong."""
_SHOWN = 20
_WIDTH = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 where something was found wrong."""
    given = _parser().parse_args(arguments)
    runs = list(_plan(given))
    total = Figures()
    began = time.monotonic()
    for figures in _figures(runs, given.jobs):
        total.add(figures)
        _progress(total, given.operations)
    seconds = time.monotonic() - began
    print(f"{given.topology}, {given.replicas} replicas, mix {given.mix}: {total} ({seconds:.0f} s)")
    for violation in total.violations[:_SHOWN]:
        print(f"  {violation}")
    if total.violations:
        seed = total.violations[0].split(":")[0].removeprefix("seed ")
        print(f"to repeat: {_again(given, seed)}")
    return 1 if total.violations else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    add = parser.add_argument
    add("--operations", type=int, default=5000, help="how many in all (default 5000)")
    add("--replicas", type=int, default=4, help="machines in each run (default 4)")
    add("--seed", type=int, default=0, help="of the first run; each further run has the next one")
    add("--topology", type=Topology, choices=list(Topology), default=Topology.P2P)
    add("--mix", choices=sorted(MIXES), default="usual", help="what happens more often than usual")
    add("--unrelated", action="store_true", help="each machine begins with a history of its own")
    add("--run", type=int, default=_RUN, metavar="N", help=f"operations of one run (default {_RUN})")
    add("--jobs", type=int, default=1, help="processes")
    return parser


def _plan(given: argparse.Namespace) -> Iterator[Settings]:
    settings = Settings(
        given.run, given.replicas, given.seed, given.topology, given.mix, unrelated=given.unrelated
    )
    for number, done in enumerate(range(0, given.operations, given.run)):
        left = min(given.run, given.operations - done)
        yield replace(settings, seed=given.seed + number, operations=left)


def _figures(runs: Sequence[Settings], jobs: int) -> Iterator[Figures]:
    if jobs <= 1:
        yield from map(run, runs)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run, runs)


def run(settings: Settings) -> Figures:
    """One run."""
    return World(settings).run()


def _progress(total: Figures, operations: int) -> None:
    """A bar, where somebody is looking."""
    if not sys.stderr.isatty():
        return
    done = min(1.0, total.operations / max(1, operations))
    bar = "#" * int(done * _WIDTH)
    end = "\n" if done == 1.0 else ""
    sys.stderr.write(f"\r[{bar:<{_WIDTH}}] {done:4.0%}  {len(total.violations)} violations{end}")
    sys.stderr.flush()


def _again(given: argparse.Namespace, seed: str) -> str:
    unrelated = " --unrelated" if given.unrelated else ""
    return (
        f"python scripts/simulate/__main__.py --operations {given.run} --run {given.run} --replicas {given.replicas} "
        f"--seed {seed} --topology {given.topology} --mix {given.mix}{unrelated}"
    )
