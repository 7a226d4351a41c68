"""No method forms a dense matrix of rows × labels, rows × rows or labels × labels."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from model_samples import ESTIMATORS, make, make_blocks
from patience import patience
from scipy import sparse

import rmls.models
from rmls.core import resources
from rmls.core.errors import InputError

UNTHREADED = ("AllIrrelevant", "MostFrequent")

LARGE = """
import os, resource, sys
import numpy as np
from rmls import models
from rmls.datasets import make_longtail
data = make_longtail(1000, 500, 200_000, labels_per_row=3.0, features_per_row=20.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def run(name):
    method = getattr(models, name)
    size = {"n_components": 4, "max_iter": 1}
    small = {**size, "estimator": models.RMLS(**size)}
    known = method().get_params(deep=False)
    model = method(**{key: value for key, value in small.items() if key in known})
    model.fit(data.train.X, data.train.Y)
    assert np.isfinite(model.rank(data.test.X[:20], 5).scores).all()
    print(name, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, flush=True)

for name in sys.argv[1:]:
    # A process each, so that no method pays for what another one left behind.
    child = os.fork()
    if child == 0:
        run(name)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and the peak of its memory")
def test_two_hundred_thousand_labels_need_no_dense_matrix():
    """The labels of 800 rows alone would take 640 MB as a dense matrix of float32.

    Every method, and the one that it wraps, learns 4 components, so that the tables of vectors do
    not hide what else is held. The limit, above what a method takes that learns nothing, leaves
    room for the tall blocks of the leading vectors (200,000 × 192 numbers, 400 MB).
    """
    names = sorted(set(rmls.models.__all__) - set(rmls.models.READS_TEXT))
    done = subprocess.run(
        [sys.executable, "-c", LARGE, *names],
        capture_output=True,
        text=True,
        timeout=patience(130),
    )
    assert done.returncode == 0, done.stderr
    peaks = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}
    assert sorted(peaks) == names
    assert max(peaks.values()) - peaks["AllIrrelevant"] < 420, done.stdout


def huge_problem(n: int, d: int, m: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return a few sparse rows of many features or labels."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(n), 5)
    X = sparse.csr_matrix((np.ones(5 * n), (rows, rng.integers(0, d, 5 * n))), (n, d))
    Y = sparse.csr_matrix((np.ones(5 * n), (rows, rng.integers(0, m, 5 * n))), (n, m))
    Y.data[:] = 1
    return X, Y


@pytest.mark.parametrize(
    "shape",
    [(40, 2_000_000, 8), pytest.param((40, 50, 300_000), marks=pytest.mark.slow)],
    ids=str,
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_does_not_fit_is_refused_before_it_is_asked_for(
    name: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    available = 100 << 20
    monkeypatch.setattr(resources, "available_memory", lambda: available)
    X, Y = huge_problem(*shape)
    refused = ""
    tracemalloc.start()
    try:
        ESTIMATORS[name]().fit(X, Y)
    except InputError as error:
        refused = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert not refused or "of memory but 104.9 MB is available; " in refused
    assert peak < available


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in UNTHREADED])
def test_a_million_threads_are_refused(name: str) -> None:
    X, Y = make_blocks()
    with pytest.raises(InputError, match="n_jobs must be at most 1024; use -1 for all cores"):
        make(name, n_jobs=10**6).fit(X, Y)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in UNTHREADED])
def test_a_thousand_threads_start_no_more_than_there_is_work(name: str) -> None:
    X, Y = make_blocks()
    before = threading.active_count()
    model = make(name, n_jobs=1000).fit(X, Y)
    assert model.predict_sets(X).shape == Y.shape
    assert threading.active_count() == before
