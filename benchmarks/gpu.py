"""What a GPU does, first whether it is right, then how fast: the figures of docs/reference/gpu.md.

Every part compares with float64 before it measures. Times are medians after a warm-up; device times
come from CUDA events, rates are set against a copy of the same device, and the same work is done on
all cores of the CPU of the same machine where that takes less than a minute.

    RMLS_DATA=folder python benchmarks/gpu.py [PART ...] [--seeds 3]

Parts: step dense streams large one-vs-rest ranker quality rule.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

WIKI = (35745, 23495, 50341)
LARGE = (1_700_000, 330_000, 2_800_000, 256)
SETS = ["enron", "delicious", "debtags", "eurlex57k_4k", "tate"]
METRICS = ["precision@1", "precision@3", "precision@5", "psp@1", "psp@3", "psp@5"]


def seconds(work, repeats=5):
    """Return the median time of some work on the device, after one for warming up."""
    import torch

    work()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def device_seconds(work, repeats=5):
    """The same by the clock of the device."""
    import torch

    times = []
    for _ in range(repeats + 1):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        work()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last) / 1e3)
    return statistics.median(times[1:])


def copy_rate():
    """Return the bytes a second that a copy on the device reads and writes."""
    import torch

    source = torch.rand(1 << 30, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.nbytes / device_seconds(lambda: target.copy_(source))


def start(options, X, Y, device="cuda", threads=1):
    """Return a training that has begun, and its visits by the number of the pass."""
    from rmls import RMLS
    from rmls.kernels.backend import get_backend
    from rmls.models.rmls.sampling import Totals, plan_visits
    from rmls.models.rmls.sgd import Settled, Sgd, label_rows
    from rmls.models.shared.training_set import read_training_set

    model = RMLS(normalize="none", **options)
    model._check_options()
    data = read_training_set(model, X, Y)
    settled = Settled.of(model, model._space, Totals.of(data))
    state = Sgd.of(model, (data.n_features, data.n_labels, model.n_components))
    given = (label_rows(data), state.params, state.accumulators, settled.objective)
    limits = {"batch_size": 1, "n_threads": threads, "max_feature_norm": None}
    if device == "float64":
        from rmls.kernels.gpu.passes import TorchPasses

        passes = TorchPasses(*given, 1, None, "cpu")
        doubles = [type(part)(*(array.double() for array in part)) for part in passes.model[:2]]
        passes.model = passes.model._replace(params=doubles[0], sums=doubles[1])
    else:
        passes = get_backend(device).start_passes(*given, **limits)
    return passes, lambda number: plan_visits(data, 0, number, (0.1, 0.05), 1)


def check_step():
    from scipy import sparse

    rng = np.random.default_rng()
    X = sparse.random(3000, 700, 0.04, "csr", np.float32, random_state=rng)
    Y = sparse.csr_matrix((rng.random((3000, 900)) < 0.006).astype(int))
    # Products of all labels are made of ten bits of every factor.
    for options, most in (({}, 1e-3), ({"negatives": "all"}, 1e-2)):
        found = []
        for device in ("cuda", "float64"):
            given = {"n_components": 100, "gradient_floor": 0.0, **options}
            passes, visits = start(given, X, Y, device)
            for number in range(3):
                passes.run(visits(number))
            found.append([array.cpu().numpy() for array in passes.model.params])
        errors = [np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(*found, strict=True)]
        shown = " ".join(f"{error:.1e}" for error in errors)
        print(f"three passes {options} against float64, relative error of W, b, L, c: {shown}")
        assert max(errors) < most


def step():
    """Ten passes at the size of the paper's Wiki."""
    from rmls.datasets import make_longtail

    check_step()
    data = make_longtail(*WIKI, test_size=0.2).train
    options = {"n_components": 500, "negatives_per_positive": 5}
    passes, visits = start(options, data.X, data.Y)
    plans = [visits(number) for number in range(10)]
    passes.run(plans[0])
    passes.run(plans[1])
    ten = seconds(lambda: [passes.run(plan) for plan in plans])
    recorded, width = passes.fused.recorded[0], 4 * 500
    kernels = device_seconds(recorded.graph.replay)
    given, batches = recorded.given, recorded.n_batches
    moved = sum(int(jobs.batches[batches]) for jobs in (given.labels, given.features))
    looked = int(given.e_indptr[recorded.n_visits]) + len(data.X.indices)
    # Every visit reads its rows of W and L; every touched row is read, written, and collects.
    counted = width * (looked + 2 * moved)
    limit = copy_rate()
    print(
        f"Wiki size, batches of {passes.batch_size}: ten passes {ten:.3f} s; kernels of a pass "
        f"{1e3 * kernels:.1f} ms for {counted / 1e9:.1f} GB, {counted / kernels / 1e12:.2f} of "
        f"{limit / 1e12:.2f} TB/s ({counted / kernels / limit:.0%}); "
        "with gradients read from the cache "
        f"{(counted + width * looked) / kernels / limit:.0%}"
    )
    passes, visits = start(options, data.X, data.Y, "cpu", os.cpu_count())
    passes.run(visits(0))
    started = time.perf_counter()
    passes.run(visits(1))
    print(f"one pass on {os.cpu_count()} cores: {time.perf_counter() - started:.2f} s", flush=True)


def make_large():
    from rmls.kernels.arrays import LabelledRows

    n, d, m, _ = LARGE
    rng = np.random.default_rng(0)

    def skewed(count, size):
        return (size ** rng.random((n, count), dtype=np.float32)).astype(np.int32) - 1

    features = np.minimum(np.sort(skewed(40, d), axis=1), d - 1)
    labels = np.minimum(np.sort(skewed(5, m), axis=1), m - 6)
    # A row has a label once.
    labels = np.maximum.accumulate(labels - np.arange(5), axis=1) + np.arange(5)
    labels = np.clip(labels, 0, m - 1).astype(np.int32)
    indptr = [np.arange(n + 1, dtype=np.int64) * count for count in (40, 5)]
    values = rng.random(40 * n, dtype=np.float32) / 6
    return LabelledRows(indptr[0], features.ravel(), values, indptr[1], labels.ravel())


def large():
    """An epoch and a ranking with millions of rows and labels."""
    from types import SimpleNamespace

    from rmls import RMLS
    from rmls.kernels.arrays import Params, Visits
    from rmls.kernels.backend import get_backend
    from rmls.models.rmls.objective import make_objective
    from rmls.models.rmls.sampling import Totals
    from rmls.models.rmls.sgd import initial_params

    (n, d, m, k), rows, gpu = LARGE, make_large(), get_backend("cuda")
    counts = np.bincount(rows.y_indices, minlength=m).astype(float)
    model = RMLS(k, sampler="mixture", negatives_per_positive=20)
    space = SimpleNamespace(is_single=False, n_labels=m, names=())
    objective = make_objective(model, space, Totals(float(n), 5.0, counts, counts / n), gpu)
    params, sums = initial_params((d, m, k), "projection", 0, 0.1, False)
    limits = {"batch_size": 1, "n_threads": 1, "max_feature_norm": None}
    passes = gpu.start_passes(rows, params, sums, objective, **limits)
    rng = np.random.default_rng(1)
    for number in range(3):
        keys = rng.integers(0, 2**64, n, dtype=np.uint64)
        visits = Visits(rng.permutation(n), np.ones(n, np.float32), keys, 0.1, 0.05, 1, 1000)
        started = time.perf_counter()
        loss, weight = passes.run(visits)
        print(f"epoch {number}: {time.perf_counter() - started:.2f} s, loss {loss / weight:.3f}")
    passes.pull()
    hidden = np.tanh(rng.normal(size=(100_000, k))).astype(np.float32)
    assert isinstance(params, Params)
    exact = hidden[:20].astype(np.float64) @ params.L.T.astype(np.float64) + params.c
    found = gpu.best_labels(hidden[:4096], params.L, params.c, 10)[0][:20]
    best = np.sort(np.argpartition(-exact, 10, axis=1)[:, :10], axis=1)
    print(f"best ten labels as in float64: {(found == best).mean():.3f}")
    from rmls.kernels.gpu import lists

    for work, name in ((np.inf, "float32"), (lists.HALF_WORK, "candidates of float16")):
        lists.HALF_WORK = work
        taken = seconds(lambda: gpu.best_labels(hidden, params.L, params.c, 150), 1)
        best = gpu.best_labels(hidden[:20_000], params.L, params.c, 150)[0]
        exact = best if work == np.inf else exact
        print(
            f"best 150 of {m:,} labels for 100,000 rows, {name}: {taken:.1f} s, "
            f"{(best == exact).mean():.5f} of them as in float32"
        )
    rows, vectors = hidden[:64], (params.L, params.c)
    started = time.perf_counter()
    get_backend("cpu").best_labels(rows, *vectors, 150)
    taken = (time.perf_counter() - started) * len(hidden) / len(rows)
    print(f"the same on {os.cpu_count()} cores, from {len(rows)} rows: {taken:.0f} s")


def dense():
    """All labels in every visit, and how many sampled ones cost as much."""
    from rmls.datasets import make_longtail

    for n_labels in (1_000, 4_000, 16_000, 50_341):
        data = make_longtail(*WIKI[:2], n_labels, test_size=0.2).train
        taken = {}
        for name in ("all", 5, 20, 80):
            given = {"negatives": "all"} if name == "all" else {"negatives_per_positive": name}
            passes, visits = start({"n_components": 256, **given}, data.X, data.Y)
            passes.run(visits(0))
            taken[name] = 1e3 * seconds(lambda p=passes, v=visits: p.run(v(1)), 3)
        shown = ", ".join(f"{name} {each:.0f} ms" for name, each in taken.items())
        print(f"{n_labels:,} labels, a pass by negatives of a positive: {shown}")


def streams():
    """Rows and labels that stay with the host, on a device with little memory."""
    from rmls.datasets import make_longtail
    from rmls.kernels.backend import get_backend
    from rmls.kernels.gpu import memory
    from rmls.kernels.gpu.rows import StreamedRows

    data = make_longtail(*WIKI, test_size=0.2).train
    options, found = {"n_components": 500, "negatives_per_positive": 5}, []
    for limit in (None, 1.5e8):
        passes, visits = start(options, data.X, data.Y)
        if limit:
            memory.LIMIT = limit
            passes.rows = StreamedRows(passes_rows(data), data.Y.shape[1], "cuda")
        passes.run(visits(0))
        found.append(seconds(lambda p=passes, v=visits: p.run(v(1)), 3))
        memory.LIMIT = None
    print(f"a pass: {1e3 * found[0]:.0f} ms, rows streamed in pieces {1e3 * found[1]:.0f} ms")
    rng = np.random.default_rng(0)
    h, L = (rng.normal(size=(n, 256)).astype(np.float32) for n in (20_000, 700_000))
    found = []
    for memory.LIMIT in (None, 1e9):
        found.append(
            seconds(lambda: get_backend("cuda").best_labels(h, L, np.zeros(len(L), "f4"), 150), 1)
        )
    memory.LIMIT = None
    print(f"700,000 labels, 20,000 rows: {found[0]:.2f} s, labels streamed {found[1]:.2f} s")


def passes_rows(data):
    """Return the rows of a training set as the kernels take them."""
    from rmls.kernels.arrays import LabelledRows

    X, Y = data.X.tocsr(), data.Y.tocsr()
    arrays = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32))
    return LabelledRows(*arrays, Y.indptr.astype(np.int64), Y.indices.astype(np.int32))


def one_vs_rest():
    """Exact one-vs-rest, to LIBLINEAR's tolerance."""
    from rmls import BinaryRelevance
    from rmls.datasets import load
    from rmls.metrics import precision_at_k

    for name in ("eurlex57k_4k", "tate", "eurlex57k"):
        data = load(name)
        train, test = data.train, data.test
        given = {"loss": "squared_hinge", "ridge": 0.5, "normalize": "auto", "n_jobs": -1}
        model = BinaryRelevance(**given, device="cuda")
        kept = {}
        backend = model._backend
        real = type(backend).solve_all

        def solve_all(self, problem, relevant, *sizes, kept=kept, real=real):
            solved = real(self, problem, relevant, *sizes)
            kept.update(problem=problem, relevant=relevant, solved=solved)
            kept["seconds"] = seconds(
                lambda: device_solve(self.device, problem, relevant, sizes), 3
            )
            return solved

        type(backend).solve_all = solve_all
        model.fit(train.X, train.Y)
        type(backend).solve_all = real
        ranking = model.rank(test.X, 5)
        quality = [f"{precision_at_k(test.Y, ranking, k):.3f}" for k in (1, 3, 5)]
        worst = relative_gradient(**kept)
        print(f"{name}: {kept['seconds']:.2f} s, relative gradient {worst:.4f}, P@1/3/5 {quality}")
        if name == "eurlex57k_4k":
            started = time.perf_counter()
            BinaryRelevance(**given).fit(train.X, train.Y)
            print(f"{name} on {os.cpu_count()} cores: {time.perf_counter() - started:.1f} s")


def device_solve(device, problem, relevant, sizes):
    """One-vs-rest with everything already on the device, or nearly."""
    import torch

    from rmls.kernels.gpu.one_vs_rest import train_block
    from rmls.kernels.gpu.pairs import Rows

    def put(array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    indices = put(problem.x_indices.astype(np.int32))
    X = Rows.of(put(problem.x_indptr), indices, put(problem.x_data), sizes[0])
    costs = (put(problem.label_costs), put(problem.costs))
    return train_block(X, (put(relevant.indptr), put(relevant.rows)), costs, 0.01)


def relative_gradient(problem, relevant, solved, **_):
    """Return the largest relative gradient of 200 labels in float64, as LIBLINEAR defines it."""
    from scipy import sparse

    n, m = len(problem.costs), len(relevant.n_relevant)
    shape = (n, len(solved[0]))
    X = sparse.csr_matrix((problem.x_data, problem.x_indices, problem.x_indptr), shape)
    X = sparse.hstack([X, np.ones((n, 1))]).tocsr().astype(np.float64)
    labels = np.random.default_rng(0).choice(m, min(m, 200), replace=False)
    Y = sparse.csr_matrix((np.ones(len(relevant.rows)), relevant.rows, relevant.indptr), (m, n))
    targets = 2 * Y[labels].T.toarray() - 1
    w = np.vstack([solved[0][:, labels], solved[1][labels]]).astype(np.float64)
    costs, scores = 2 * problem.costs[:, None], X @ w
    gradient = w + X.T @ (costs * np.where(targets * scores < 1, scores - targets, 0))
    at_zero = np.linalg.norm(X.T @ (costs * targets), axis=0)
    counts = np.maximum((targets > 0).sum(axis=0), 1)
    scale = np.minimum(counts, n - counts) / n * at_zero
    return float((np.linalg.norm(gradient, axis=0) / scale).max())


def ranker():
    """Everything that `RMLSRanker.fit` does, by stage."""
    from rmls import RMLSRanker
    from rmls.datasets import load

    for name in ("eurlex57k_4k", "tate", "debdeps"):
        data = load(name)
        for _ in range(4):
            started = time.perf_counter()
            model = RMLSRanker(device="cuda", n_jobs=-1).fit(data.train.X, data.train.Y)
            taken = time.perf_counter() - started
        stages = ", ".join(f"{stage} {used:.2f}" for stage, used in model.seconds_.items())
        print(f"{name}: {taken:.2f} s ({stages})")
        for _ in range(2):
            started = time.perf_counter()
            RMLSRanker(n_jobs=-1).fit(data.train.X, data.train.Y)
            taken = time.perf_counter() - started
        print(f"{name} on {os.cpu_count()} cores: {taken:.2f} s")


def measure(task):
    """Return the metrics of one fit."""
    method, name, seed, device = task
    from rmls import RMLS, RMLSRanker, evaluate
    from rmls.datasets import load

    data = load(name)
    model = {"RMLS": RMLS, "RMLSRanker": RMLSRanker}[method](random_state=seed, device=device)
    model.fit(data.train.X, data.train.Y)
    given = (data.test.Y, model.predict_sets(data.test.X, "f1"), model.rank(data.test.X, 5))
    names = [*METRICS, "example_f1", "macro_f1"]
    counts = np.asarray(data.train.Y.sum(axis=0)).ravel()
    found = evaluate(*given, names=names, train_counts=counts, n_train=data.train.n_samples)
    return [found[each] for each in names]


def quality(seeds):
    """The models of both devices on test rows, mean of some seeds."""
    tasks = [
        (method, name, seed, "cpu")
        for method in ("RMLS", "RMLSRanker")
        for name in reversed(SETS)
        for seed in range(seeds)
    ]
    # Compiles the kernels once for all processes.
    for method in ("RMLS", "RMLSRanker"):
        measure((method, "enron", 0, "cpu"))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        wanted = pool.map(measure, tasks)
        found = [measure((*task[:3], "cuda")) for task in tasks]
        pairs = list(zip(found, wanted, strict=True))
    for start_at in range(0, len(tasks), seeds):
        gpu, cpu = np.mean(pairs[start_at : start_at + seeds], axis=0)
        method, name, *_ = tasks[start_at]
        print(f"{method} {name}: GPU", *(f"{value:.3f}" for value in gpu))
        print(f"{method} {name}: CPU", *(f"{value:.3f}" for value in cpu))
        print(f"{method} {name}: largest loss {max(cpu - gpu):.4f}")


def rule():
    """The smallest batch of small sets, on held-out training rows."""
    from rmls import RMLS, evaluate
    from rmls.datasets import load
    from rmls.kernels.gpu import passes

    names = ["precision@1", "precision@3", "precision@5", "example_f1", "macro_f1"]
    for name in ("enron", "yeast", "medical", "emotions", "rcv1sub1"):
        data = load(name)
        data = data.train if name in ("enron", "yeast") else data
        X, Y = data.X[:3000], data.Y[:3000]
        for device, steps in (("cpu", 64), ("cuda", 1), ("cuda", 32), ("cuda", 64), ("cuda", 128)):
            passes.FEWEST_STEPS, found = steps, []
            for seed in range(3):
                order = np.random.default_rng(seed).permutation(X.shape[0])
                held, rows = np.split(order, [len(order) // 4])
                model = RMLS(random_state=seed, device=device).fit(X[rows], Y[rows])
                given = (Y[held], model.predict_sets(X[held], "f1"), model.rank(X[held], 5))
                metrics = evaluate(*given, names=names)
                found.append([metrics[each] for each in names])
            size = 1 if device == "cpu" else min(passes.MIN_BATCH, len(rows) // steps)
            print(f"{name} {device}, batches of {size}:", *np.mean(found, axis=0).round(3))


PARTS = {
    "step": step,
    "dense": dense,
    "streams": streams,
    "large": large,
    "one-vs-rest": one_vs_rest,
    "ranker": ranker,
    "rule": rule,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[*PARTS, "quality"])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for part in options.parts:
        print(f"== {part}", flush=True)
        quality(options.seeds) if part == "quality" else PARTS[part]()


if __name__ == "__main__":
    main()
