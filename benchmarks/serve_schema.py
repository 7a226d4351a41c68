"""Thousands of requests made from the OpenAPI document of ``rmls serve --demo``, all checks on.

    pip install 'schemathesis>=4'
    python benchmarks/serve_schema.py --examples 260

Prints what schemathesis counted, and the memory of the service before and after. Fails where an
answer is a 5xx or is not what the document says.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "samples"))

from schema_runs import find_program, run_schema
from serve_samples import resident_bytes, running


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    # Of every address; in all there are some forty times as many.
    parser.add_argument("--examples", type=int, default=260)
    options = parser.parse_args()
    program = find_program()
    if program is None:
        sys.exit("schemathesis is not installed: pip install 'schemathesis>=4'.")
    # The first start may have to train the model; its memory is not that of a service.
    with running("--demo", "-q"):
        pass
    with tempfile.TemporaryDirectory() as name, running("--demo", "-q") as (process, port):
        before = resident_bytes(process.pid)
        found = run_schema(program, port, Path(name), options.examples)
        after = resident_bytes(process.pid)
        print(found.stdout)
        print(f"resident memory: {before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after")
    sys.exit(found.returncode)


if __name__ == "__main__":
    main()
