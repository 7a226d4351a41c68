"""The campaign: workers that are watched, replaced when they die or hang, and summed up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .board import IDLE, Board
from .cases import empty, run_case
from .findings import Finding
from .kinds import GROUPS, HIDDEN, KINDS, kind_named
from .summary import Summary, read_findings
from .worker import Plan, dump_traces, keep_findings, keep_input, limit_memory, write_plan

REPOSITORY = Path(__file__).resolve().parents[2]
# A case that waits hangs when load alone cannot be the reason.
WALL_LIMIT = 600.0
# Cases of one seed are numbered from here, so that two seeds share none.
NUMBERS_PER_SEED = 10**9
TIME_SHARES = {"readers": 1.0, "archives": 1.0, "fits": 1.0, "kills": 0.5}
MEMORY_FOLDER = Path("/dev/shm")


def choose_kinds(only: str | None) -> list[str]:
    """Return the kinds that names of kinds and groups stand for."""
    if not only:
        return list(KINDS)
    wanted = only.replace(",", " ").split()
    for name in wanted:
        if name not in (*KINDS, *HIDDEN, *GROUPS):
            raise SystemExit(f"no kind or group {name!r}; there are {', '.join([*GROUPS, *KINDS])}")
    known = {**KINDS, **HIDDEN}
    return [name for name, kind in known.items() if name in wanted or kind.group in wanted]


def limits_of(kinds: list[str], cases: str | None) -> list[int | None]:
    """Return how many cases of each kind are run: '500', or 'readers=10000 kills=20'."""
    if cases is None:
        return [None] * len(kinds)
    if cases.isdigit():
        return [int(cases)] * len(kinds)
    limits = dict.fromkeys(kinds, 0)
    for item in cases.replace(",", " ").split():
        name, _, number = item.partition("=")
        chosen = [kind for kind in kinds if name in (kind, kind_named(kind).group)]
        total = sum(kind_named(kind).weight for kind in chosen)
        for kind in chosen:
            limits[kind] = round(int(number) * kind_named(kind).weight / total)
    return [limits[kind] for kind in kinds]


def time_shares(kinds: list[str]) -> list[float]:
    """Return how long a turn of each kind is: groups share the time, kinds that of a group."""
    groups = [kind_named(kind).group for kind in kinds]
    weights = dict.fromkeys(groups, 0.0)
    for kind in kinds:
        weights[kind_named(kind).group] += kind_named(kind).weight
    return [
        len(kinds)
        * TIME_SHARES.get(kind_named(kind).group, 1.0)
        * kind_named(kind).weight
        / weights[kind_named(kind).group]
        for kind in kinds
    ]


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for the campaign, in memory where that is possible."""
    parent = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="rmls-fuzz-", dir=parent) as name:
        yield Path(name)


class Campaign:
    """Starts workers and watches them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.root = Path(plan.folder)
        for name in ("prepared", "kept"):
            (self.root / name).mkdir()
        self.board = Board(self.root / "board", plan.n_workers, len(plan.kinds), new=True)
        self.path = write_plan(plan)
        self.processes: list[subprocess.Popen[bytes]] = []

    def run(self) -> Summary:
        """Run to the end of the plan, or to Ctrl-C, and return what was found."""
        began = time.monotonic()
        self.processes = [self._start(place) for place in range(self.plan.n_workers)]
        try:
            while any(self._watch(place) for place in range(self.plan.n_workers)):
                time.sleep(0.2)
        except KeyboardInterrupt:
            print("stopped; this is what was found until now:")
        finally:
            for process in self.processes:
                process.kill()
                process.wait()
        entries = self.board.entries
        done, seconds = entries["done"].sum(axis=0), entries["seconds"].sum(axis=0)
        return Summary(
            self.plan.kinds,
            [int(count) for count in done],
            [float(time) for time in seconds],
            read_findings(self.root),
            time.monotonic() - began,
        )

    def _start(self, place: int) -> subprocess.Popen[bytes]:
        # Several workers must not each use all cores.
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
        package = __package__ or "tests.fuzz"
        output = open(self.root / f"output-{place}.txt", "ab")  # noqa: SIM115
        with output:
            return subprocess.Popen(
                [sys.executable, "-m", f"{package}.worker", str(self.path), str(place)],
                cwd=REPOSITORY if package == "tests.fuzz" else REPOSITORY / "tests",
                env={**os.environ, **threads},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _watch(self, place: int) -> bool:
        """Look after one worker; tell whether it has still something to do."""
        process, entry = self.processes[place], self.board.entries[place]
        code = process.poll()
        if code is None:
            reason = self._hangs(process.pid, entry)
            if reason:
                self._ask_for_trace(process)
                process.kill()
                process.wait()
                self._record(place, reason)
                self.processes[place] = self._start(place)
            return True
        if entry["over"]:
            return False
        if entry["kind"] == IDLE:
            text = (self.root / f"output-{place}.txt").read_text(errors="replace")
            raise SystemExit(f"worker {place} ended between two cases:\n{text[-3000:]}")
        self._record(place, f"crash ({_name_of(code)})")
        self.processes[place] = self._start(place)
        return True

    def _hangs(self, pid: int, entry: object) -> str:
        kind, case = int(entry["kind"]), int(entry["case"])  # type: ignore[index]
        if kind == IDLE:
            return ""
        used = _cpu_seconds(pid) - float(entry["cpu"])  # type: ignore[index]
        waited = time.monotonic() - float(entry["wall"])  # type: ignore[index]
        # Another case may have begun since the first look.
        if (int(entry["kind"]), int(entry["case"])) != (kind, case):  # type: ignore[index]
            return ""
        if used > self.plan.cpu_limit:
            return f"hang (over {self.plan.cpu_limit:.0f} s of processor time)"
        return f"hang (over {WALL_LIMIT:.0f} s)" if waited > WALL_LIMIT else ""

    def _ask_for_trace(self, process: subprocess.Popen[bytes]) -> None:
        if hasattr(signal, "SIGUSR1"):
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)

    def _record(self, place: int, what: str) -> None:
        """Note the case that took its worker down, and go on behind it."""
        entry = self.board.entries[place]
        kind = self.plan.kinds[int(entry["kind"])]
        trace = (self.root / f"trace-{place}.txt").read_text(errors="replace")
        finding = Finding(kind, int(entry["case"]), f"{what} {_first_of_ours(trace)}", what, trace)
        keep_findings([finding], self.root / f"found-{place}.jsonl")
        keep_input(self.root / f"scratch-{place}", self.root / "kept", finding)
        self.board.end(place)


def _first_of_ours(trace: str) -> str:
    """Return the innermost place of the package in a traceback of `faulthandler`."""
    for line in trace.splitlines():
        path, _, rest = line.partition('", line ')
        if "/rmls/" in path and " in " in rest:
            return f"{path.rpartition('/rmls/')[2]}:{rest.rpartition(' in ')[2]}"
    return "nowhere"


def _name_of(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _cpu_seconds(pid: int) -> float:
    """Return the processor time of a process; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def replay(kind: str, case: int, folder: Path) -> list[Finding]:
    """Run one case in this process and return what it found."""
    prepared, scratch = folder / "prepared", folder / "scratch"
    for each in (prepared, scratch):
        each.mkdir(exist_ok=True)
    empty(scratch)
    return run_case(kind_named(kind), case, scratch, kind_named(kind).prepare(prepared))


def replay_in_child(kind: str, case: int, out: Path) -> int:
    """Run one case in a child, which may die; print what happened and keep the input."""
    with scratch_folder() as root:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                dump_traces(root / "trace.txt")
                limit_memory()
                found = replay(kind, case, root)
                keep_findings(found, root / "found-0.jsonl")
                code = 0
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found = read_findings(root)
        for each in found:
            print(f"{each.signature}\n  {each.message}\n{each.detail}")
        if code:
            print(f"the process ended with {_name_of(code)}\n{(root / 'trace.txt').read_text()}")
        target = out / f"{kind}-{case}"
        shutil.copytree(root / "scratch", target, dirs_exist_ok=True, symlinks=True)
        print(f"{len(found)} findings; the input is in {target}")
    return int(bool(found) or code != 0)
