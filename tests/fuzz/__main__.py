"""The command line of the campaign: ``python -m tests.fuzz --minutes 20 --only readers``."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path

from .campaign import (
    NUMBERS_PER_SEED,
    Campaign,
    choose_kinds,
    limits_of,
    replay_in_child,
    scratch_folder,
    time_shares,
)
from .worker import Plan

# What the project promises to survive.
FULL = "readers=700000 archives=300000 fits=100000 kills=200"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, help="how long to run; 10 by default")
    parser.add_argument(
        "--cases", help="how many cases: '500' of each kind, or 'readers=9000 kills=9'"
    )
    parser.add_argument("--full", action="store_true", help=f"the whole campaign: {FULL}")
    parser.add_argument(
        "--seed", type=int, default=1, help="which cases; those of two seeds differ"
    )
    parser.add_argument("--hang-after", type=float, default=10.0, help="seconds of processor time")
    parser.add_argument("--only", help="kinds or groups, such as 'readers' or 'npz,arff'")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="for failing inputs")
    parser.add_argument("--kind", help="with --case: run one case again")
    parser.add_argument("--case", type=int)
    return parser.parse_args()


def main() -> int:
    options = read_arguments()
    if options.case is not None:
        return replay_in_child(choose_kinds(options.kind)[0], options.case, options.out)
    kinds = choose_kinds(options.only)
    cases = FULL if options.full else options.cases
    minutes = 10.0 if cases is None and options.minutes is None else options.minutes
    with scratch_folder() as root:
        plan = Plan(
            folder=str(root),
            kinds=kinds,
            limits=limits_of(kinds, cases),
            shares=time_shares(kinds),
            first=options.seed * NUMBERS_PER_SEED,
            n_workers=options.workers,
            cpu_limit=options.hang_after,
            deadline=None if minutes is None else time.monotonic() + 60 * minutes,
        )
        summary = Campaign(plan).run()
        print(summary.text())
        if summary.findings:
            target = options.out / f"seed-{options.seed}"
            shutil.copytree(root / "kept", target, dirs_exist_ok=True, symlinks=True)
            lines = "".join(json.dumps(asdict(each)) + "\n" for each in summary.findings)
            (target / "findings.jsonl").write_text(lines)
            print(f"the inputs are in {target}")
    return int(bool(summary.findings))


if __name__ == "__main__":
    sys.exit(main())
