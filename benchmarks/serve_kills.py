"""Workers and whole services that are killed (``kill -9``) while people give feedback.

    python benchmarks/serve_kills.py --kills 100
    python benchmarks/serve_kills.py --kills 100 --program

So many kills of a worker, and as many of all processes of a service. Every line that was
acknowledged must be in the file, once; a request that found nobody is sent again with its id.
Workers are forked, so that they are there at once; with --program they are those that `rmls serve`
starts, which takes some seconds each.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "samples"))

from feedback_kills import Kills, kill_forked, kill_services, kill_workers
from serve_samples import save, train


def show(title: str, kills: Kills, seconds: float) -> bool:
    """Print what became of the lines; return whether all is well."""
    print(
        f"{title}: {kills.n_kills} kills in {seconds:.0f} s, {len(kills.acknowledged):,} lines "
        f"acknowledged, {len(kills.found):,} in the file, {kills.n_failures:,} requests sent "
        f"again; lost {len(kills.lost)}, doubled {kills.n_doubled}, "
        f"refused {len(kills.refused)}",
        flush=True,
    )
    return not kills.lost and not kills.n_doubled and not kills.refused


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100, help="of each of the two kinds")
    parser.add_argument("--program", action="store_true", help="kill what `rmls serve` starts")
    options = parser.parse_args()
    ways = {
        "workers": partial(kill_forked, whom="one"),
        "services": partial(kill_forked, whom="all"),
    }
    if options.program:
        ways = {"workers": kill_workers, "services": kill_services}
    is_well = True
    with tempfile.TemporaryDirectory() as name:
        model = save(Path(name) / "model", train())
        for title, kill in ways.items():
            began = time.monotonic()
            kills = kill(model, Path(name) / f"{title}.jsonl", options.kills)
            is_well &= show(title, kills, time.monotonic() - began)
    sys.exit(not is_well)


if __name__ == "__main__":
    main()
