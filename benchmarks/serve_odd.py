"""Ten thousand odd requests against ``rmls serve --demo``: their answers, and the memory.

    python benchmarks/serve_odd.py --requests 10000

Empty bodies, 10 MB, emoji, right-to-left text, NUL, invalid UTF-8, deep JSON, connections that are
half closed, slow clients. Every answer must be a 4xx or a sane one, and the memory flat.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "samples"))

from odd_requests import send_odd
from serve_samples import resident_bytes, running


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=10_000)
    options = parser.parse_args()
    # The first start may have to train the model; its memory is not that of a service.
    with running("--demo", "-q"):
        pass
    parts: list[Counter[str]] = []
    with running("--demo", "-q") as (process, port):
        sizes = [resident_bytes(process.pid)]
        for part in send_odd(port, "demo", options.requests):
            parts.append(part)
            sizes.append(resident_bytes(process.pid))
    found = parts[-1]
    by_kind: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for name, count in sorted(found.items()):
        kind, _, status = name.rpartition(": ")
        by_kind[kind]["no answer" if status == "0" else status] = count
    for kind, statuses in by_kind.items():
        print(f"{kind:18} {statuses}")
    shown = " ".join(f"{size / 1e6:.0f}" for size in sizes)
    print(f"{sum(found.values()):,} requests; resident MB before and after each tenth: {shown}")
    failed = [name for name in found if int(name.rpartition(": ")[2]) >= 500]
    sys.exit(f"failed: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
