"""A worker process: runs case after case and says on the board which one is in flight."""

from __future__ import annotations

import faulthandler
import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from rmls.core import resources

from .board import Board
from .cases import Kind, run_case
from .findings import Finding
from .kinds import kind_named

# Seconds of one kind before the next has its turn.
SLICE = 0.5
# Inputs kept of findings that look the same.
KEPT = 3
# Memory that a case may ask for besides what the libraries take.
MEMORY = 6 << 30


class Plan(NamedTuple):
    """What the workers of a campaign do; written to a file that they read."""

    folder: str
    kinds: list[str]
    limits: list[int | None]
    shares: list[float]
    first: int
    n_workers: int
    deadline: float | None = None
    # A case hangs when it has used this much processor time.
    cpu_limit: float = 10.0


def write_plan(plan: Plan) -> Path:
    """Write the plan where workers find it."""
    path = Path(plan.folder) / "plan.json"
    path.write_text(json.dumps(plan._asdict()))
    return path


class Worker:
    """Takes every n-th number of each kind, so that a campaign is the same on every machine."""

    def __init__(self, plan: Plan, place: int) -> None:
        self.plan, self.place = plan, place
        self.kinds: list[Kind] = [kind_named(name) for name in plan.kinds]
        root = Path(plan.folder)
        self.board = Board(root / "board", plan.n_workers, len(self.kinds))
        self.scratch = root / f"scratch-{place}"
        self.scratch.mkdir(exist_ok=True)
        self.kept = root / "kept"
        self.seen: Counter[str] = Counter()
        self.prepared: dict[str, Any] = {}

    def run(self) -> None:
        """Go round the kinds until the time is over or all cases are done."""
        busy = True
        while busy:
            busy = False
            for number, kind in enumerate(self.kinds):
                until = time.monotonic() + SLICE * self.plan.shares[number]
                while self._wants(number) and not self._is_over():
                    self._run_next(number, kind)
                    busy = True
                    if time.monotonic() > until:
                        break
        self.board.entries[self.place]["over"] = 1

    def _is_over(self) -> bool:
        # One clock for all processes, and none that is set.
        return self.plan.deadline is not None and time.monotonic() > self.plan.deadline

    def _wants(self, number: int) -> bool:
        limit = self.plan.limits[number]
        return limit is None or self._next(number) < limit

    def _next(self, number: int) -> int:
        done = int(self.board.entries[self.place]["done"][number])
        return done * self.plan.n_workers + self.place

    def _run_next(self, number: int, kind: Kind) -> None:
        if kind.name not in self.prepared:
            self.prepared[kind.name] = kind.prepare(Path(self.plan.folder) / "prepared")
        case = self.plan.first + self._next(number)
        self.board.begin(self.place, number, case)
        found = run_case(kind, case, self.scratch, self.prepared[kind.name])
        if found:
            self._keep(found)
        self.board.end(self.place)

    def _keep(self, found: list[Finding]) -> None:
        keep_findings(found, Path(self.plan.folder) / f"found-{self.place}.jsonl")
        fresh = [each for each in found if self.seen[each.signature] < KEPT]
        self.seen.update({each.signature for each in found})
        if fresh:
            keep_input(self.scratch, self.kept, fresh[0])


def keep_findings(found: list[Finding], path: Path) -> None:
    """Append findings to a file, whole lines in one write."""
    lines = "".join(json.dumps(asdict(each)) + "\n" for each in found)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(lines)


def keep_input(scratch: Path, kept: Path, finding: Finding) -> None:
    """Copy what a case worked on, with a line that says what happened."""
    target = kept / f"{finding.kind}-{finding.case}"
    shutil.copytree(scratch, target, dirs_exist_ok=True, symlinks=True, ignore=_no_pipes)
    text = f"{finding.signature}: {finding.message}\n\n{finding.detail}\n"
    (target / "finding.txt").write_text(text, errors="replace")


def _no_pipes(folder: str, names: list[str]) -> list[str]:
    paths = [Path(folder, name) for name in names]
    return [path.name for path in paths if not (path.is_file() or path.is_dir())]


def limit_memory() -> None:
    """Let a case that asks for absurd memory fail at once, and not the machine."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    # Half of it, on every machine: what is refused must not depend on who else runs there.
    resources.available_memory = lambda: MEMORY // 2
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def dump_traces(path: Path) -> None:
    """Write tracebacks to a file on a fatal signal, and when the watcher asks for them."""
    stream = open(path, "w", encoding="utf-8")  # noqa: SIM115
    faulthandler.enable(stream)
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, stream, all_threads=True)


def main() -> None:
    """Run the worker that the arguments name: a plan, and a place in it."""
    plan = Plan(**json.loads(Path(sys.argv[1]).read_text()))
    place = int(sys.argv[2])
    dump_traces(Path(plan.folder) / f"trace-{place}.txt")
    limit_memory()
    Worker(plan, place).run()


if __name__ == "__main__":
    main()
