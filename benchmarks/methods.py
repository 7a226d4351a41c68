"""Time and peak memory of every method on data that the paper's implementations could not take.

Each method runs in a process of its own: fit on the training rows, rank the best 5 labels of the
test rows, k = 250, two threads. `debdeps` has 41,029 training rows, 27,706 features and 30,880
labels; `wiki` is generated data of the size of the paper's Wiki (28,596 × 23,495, 50,341 labels).

    RMLS_DATA=folder python benchmarks/methods.py [--methods PLST FaIE] [--data debdeps wiki]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

K, LIMIT_SECONDS, LIMIT_GB = 250, 900, 8.0


def read(name):
    from rmls.datasets import load, make_longtail

    if name == "wiki":
        return make_longtail(35745, 23495, 50341, test_size=0.2)
    return load(name)


def run(method, name):
    from rmls import models
    from rmls.metrics import precision_at_k

    data = read(name)
    estimator = getattr(models, method)
    options = {"n_components": K, "n_jobs": 2}
    known = estimator().get_params()
    model = estimator(**{key: value for key, value in options.items() if key in known})
    train, test = data.train, data.test
    started = time.perf_counter()
    model.fit(train.X, train.Y)
    fitted = time.perf_counter()
    ranking = model.rank(test.X, 5)
    ranked = time.perf_counter()
    return {
        "fit": fitted - started,
        "rank": ranked - fitted,
        "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20),
        "p1": precision_at_k(test.Y, ranking, 1),
        "p5": precision_at_k(test.Y, ranking, 5),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--data", nargs="*", default=["debdeps", "wiki"])
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(run(*options.child)))
        return
    from rmls import models

    print("| data | method | fit s | rank s | peak GB | P@1 | P@5 | limits |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.data:
        for method in options.methods or sorted(set(models.__all__) - set(models.READS_TEXT)):
            command = [sys.executable, __file__, "--child", method, name]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                reason = done.stderr.strip().splitlines()[-1]
                print(f"| {name} | {method} | failed: {reason} |", flush=True)
                continue
            r = json.loads(done.stdout)
            good = r["fit"] + r["rank"] <= LIMIT_SECONDS and r["gb"] <= LIMIT_GB
            times = f"{r['fit']:.1f} | {r['rank']:.1f} | {r['gb']:.2f}"
            cells = f"{times} | {r['p1']:.3f} | {r['p5']:.3f}"
            print(f"| {name} | {method} | {cells} | {'met' if good else 'MISSED'} |", flush=True)


if __name__ == "__main__":
    main()
