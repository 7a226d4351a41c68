"""Cost and quality of the methods against imbalance, beside RMLS with two decision rules.

Every fit runs in a process of its own with two threads, on the given split of the data or on a
fixed fifth as test rows, with the defaults of the learner. `tail recall` is the share of all true
pairs of a row and a tail label that are predicted. A long table is followed by one for every
figure, methods against data sets. `--largest` names the largest data set that each learner takes
within the limit, largest by rows × labels.

    RMLS_DATA=folder python benchmarks/imbalance_learners.py [--data enron] [--methods COCOA \
        "COCOA n_coupled=0" "GFM joint=pairs" "Calibrated COCOA" "RMLS max_iter=30"]
    RMLS_DATA=folder python benchmarks/imbalance_learners.py --largest [--limit 600]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

RESAMPLERS = ["MLROS", "MLRUS", "LPROS", "LPRUS", "MLSMOTE", "REMEDIAL"]
RESAMPLED = [f"Resampled resampler={name}" for name in RESAMPLERS]
LEARNERS = ["IRUS", "COCOA", "MultiWindowKNN", "GFM", "ReverseMultiLabel"]
CALIBRATED = ["Calibrated IRUS", "Calibrated COCOA"]
PLAIN = ["RMLS", "RMLSRanker"]
SMALL = ["emotions", "yeast", "medical", "enron", "rcv1sub1", "cooking", "debtags", "delicious"]
# By rows × labels, the largest first.
LARGE = ["debdeps", "tate", "eurlex57k", "eurlex57k_4k", "debtags", "delicious"]
RULES = {name: ["f1", "macro_f1"] for name in ["Resampled", *PLAIN]}
METRICS = ["macro_f1", "example_f1", "micro_recall"]
QUALITY = ["Macro-F1", "Example-F1", "Tail recall"]
SECONDS = "Seconds of processor time to fit"


def read(name):
    from rmls.datasets import load

    data = load(name)
    return data.split(test_size=0.2) if data.n_train is None else data


def run(spec, name):
    import numpy as np
    from rmls.cli.train.settings import parse_settings, read_params

    from rmls import models
    from rmls.metrics import evaluate

    data = read(name)
    train, test = data.train, data.test
    method, *settings = spec.split()
    inside = settings.pop(0) if method == "Calibrated" else None
    make = getattr(models, method)
    options = {"n_jobs": 2, **read_params(make, parse_settings(settings))}
    if method == "GFM":
        options["estimator"] = models.RMLS(n_jobs=2)
    if method == "Calibrated":
        options["estimator"] = getattr(models, inside)(n_jobs=2)
        options["decision"] = "macro_f1"
    # Load the compiled kernels first.
    make(**options).fit(train.X[:60], train.Y[:60]).predict_sets(test.X[:5])
    model = make(**options)
    started, used = time.perf_counter(), time.process_time()
    model.fit(train.X, train.Y)
    result = {"fit": time.perf_counter() - started, "cpu": time.process_time() - used}
    result |= {"n": train.n_samples, "m": data.n_labels, "rules": {}}
    for rule in RULES.get(method, [None]):
        started = time.perf_counter()
        sets = model.predict_sets(test.X, rule)
        result["predict"] = time.perf_counter() - started
        counts = np.bincount(train.Y.indices, minlength=data.n_labels)
        report = evaluate(test.Y, sets, names=METRICS, train_counts=counts)
        tail = report.groups.get("tail", {}).get("micro_recall")
        result["rules"][rule or ""] = [report["macro_f1"], report["example_f1"], tail]
    result["gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    return result


def measure(method, name, limit):
    """Run one fit in a process of its own; returns the figures, or why there are none."""
    command = [sys.executable, __file__, "--child", method, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"over {limit} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def show(value):
    return "-" if value is None else f"{value:.3f}"


def print_quality(methods, names, limit):
    costs = "fit s | its CPU s | predict s | peak GB"
    tables = {title: {} for title in [*QUALITY, SECONDS]}
    print(f"| data | method | macro-F1 | example-F1 | tail recall | {costs} |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        for method in methods:
            found = measure(method, name, limit)
            if isinstance(found, str):
                print(f"| {name} | {method} | {found} | | | | | | |", flush=True)
                continue
            for rule, figures in found["rules"].items():
                cells = [name, f"{method} {rule}".strip(), *map(show, figures)]
                cells += [f"{found[key]:.1f}" for key in ("fit", "cpu", "predict", "gb")]
                print("| " + " | ".join(cells) + " |", flush=True)
                for title, figure in zip(QUALITY, figures, strict=True):
                    tables[title].setdefault(title_of(method, rule), {})[name] = figure
            tables[SECONDS].setdefault(title_of(method), {})[name] = found["cpu"]
    for title, rows in tables.items():
        print_table(title, rows, names)


def title_of(method, rule=""):
    plain = method.replace("Resampled resampler=", "RMLS on ")
    if method.startswith("Calibrated "):
        return f"{method.removeprefix('Calibrated ')}, calibrated, `macro_f1`"
    return f"{plain}, `{rule}`" if rule else plain


def print_table(title, rows, names):
    """Print one figure of all methods, a column for every data set, its best in bold."""
    print(f"\n### {title}\n\n| method | {' | '.join(names)} |\n{'|---' * (len(names) + 1)}|")
    best = {name: max(show(row.get(name)) for row in rows.values()) for name in names}
    for method, row in rows.items():
        cells = []
        for name in names:
            text = show(row.get(name))
            if title == SECONDS:
                cells.append(f"{row[name]:.1f}" if name in row else "-")
            elif text == best[name]:
                cells.append(f"**{text.removeprefix('0')}**")
            else:
                cells.append(text.removeprefix("0"))
        print(f"| {method} | {' | '.join(cells)} |", flush=True)


def print_largest(methods, names, limit):
    print(
        f"| method | largest within {limit} s | rows × labels | fit s | its CPU s | peak GB | no |"
    )
    print("|---|---|---|---|---|---|---|")
    for method in methods:
        failed = []
        for name in names:
            found = measure(method, name, limit)
            if not isinstance(found, str):
                cells = [method, name, f"{found['n']:,} × {found['m']:,}", f"{found['fit']:.0f}"]
                cells += [f"{found['cpu']:.0f}", f"{found['gb']:.1f}", ", ".join(failed) or "-"]
                print("| " + " | ".join(cells) + " |", flush=True)
                break
            failed.append(f"{name} ({found})")
        else:
            print(f"| {method} | none | | | | | {', '.join(failed)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--data", nargs="*")
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--largest", action="store_true")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(run(*options.child)))
    elif options.largest:
        print_largest(options.methods or LEARNERS, options.data or LARGE, options.limit)
    else:
        methods = options.methods or [*PLAIN, *LEARNERS, *CALIBRATED, *RESAMPLED]
        print_quality(methods, options.data or SMALL, options.limit)


if __name__ == "__main__":
    main()
