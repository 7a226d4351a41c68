"""No method forms a dense matrix of rows × labels, rows × rows or labels × labels."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from patience import patience

import rmls.models

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
    names = sorted(rmls.models.__all__)
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
