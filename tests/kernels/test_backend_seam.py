"""The seam between models and devices is complete: another backend is enough to run them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_samples import make_blocks
from numpy_backend import NumpyBackend
from scipy import sparse

from rmls import RMLS, BinaryRelevance, RMLSRanker
from rmls.core.errors import InputError
from rmls.kernels.arrays import Csr, Params
from rmls.kernels.backend import DEVICES, Backend, csr_arrays, get_backend
from rmls.models.rmls.sgd import label_rows
from rmls.models.shared.training_set import TrainingSet

WITHOUT_CPU = """
import sys
from importlib.abc import MetaPathFinder

class Closed(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("rmls.kernels.cpu.backend", "rmls.kernels.cpu.sgd",
                            "rmls.kernels.cpu.ranker", "rmls.kernels.cpu.linalg.products",
                            "rmls.kernels.cpu.linalg.select")):
            raise AssertionError(f"{name} was imported")

sys.meta_path.insert(0, Closed())
sys.path[:0] = sys.argv[1:2]
from rmls.kernels.backend import DEVICES
DEVICES["numpy"] = "numpy_backend:NumpyBackend"
import numpy as np
import rmls

# A word for every label, with noise: what every model here can learn.
rng = np.random.default_rng(0)
Y = (rng.random((90, 6)) < 0.3).astype(int) | np.eye(6, dtype=int)[np.arange(90) % 6]
X = Y + rng.normal(0, 0.1, Y.shape)
for model in (
    rmls.RMLS(8, max_iter=30, device="numpy"),
    rmls.RMLS(8, max_iter=30, device="numpy", early_stopping=True, loss="focal"),
    rmls.RMLSRanker(8, device="numpy", shortlist_size=4, offset=0.1, index="exact"),
    rmls.RMLSRanker(8, device="numpy", shortlist_size=4, offset=0.1, index="clusters"),
    rmls.RMLSRanker(40, device="numpy", shortlist_size=4, index="leading"),
    rmls.RMLSRanker(8, device="numpy", calibration_folds=0, n_models=2, loss="logistic"),
):
    assert model.fit(X, Y).score(X, Y) > 0.9, model
    model.predict_proba(X), model.rank(X, 3), model.predict_sets(X, "cardinality")
    model.save(sys.argv[2])
    again = rmls.load(sys.argv[2])
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X))
    if isinstance(model, rmls.RMLSRanker):
        before = again.decision_function(X)
        again.add_labels(["later"], X=X[:3], y=[["later"]] * 3)
        np.testing.assert_array_equal(again.decision_function(X)[:, :-1], before)
        again.partial_fit(X[:9], np.column_stack([Y[:9], np.zeros(9, int)]))
"""


def operations(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}


def test_another_backend_is_all_that_a_model_needs(tmp_path: Path) -> None:
    samples = str(Path(inspect.getfile(make_blocks)).parent)
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT_CPU, samples, str(tmp_path / "model")],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr


def test_both_backends_have_the_operations_of_the_seam_and_no_others() -> None:
    wanted = operations(Backend)
    assert len(wanted) > 10
    for backend in (get_backend("cpu"), NumpyBackend()):
        assert operations(type(backend)) == wanted
        for name in wanted:
            given = inspect.signature(getattr(type(backend), name)).parameters
            asked = inspect.signature(getattr(Backend, name)).parameters
            named = [parameter for parameter in asked if parameter in given]
            assert named == list(asked) or "limits" in given, name


@pytest.mark.parametrize("estimator", [RMLS, RMLSRanker, BinaryRelevance])
@pytest.mark.parametrize("device", ["gpu", "CPU", None, 0])
def test_a_device_that_is_not_known_is_refused_in_a_sentence(estimator: Any, device: Any) -> None:
    X, Y = make_blocks()
    with pytest.raises(InputError, match=r"^device must be 'cpu' or 'cuda' or 'auto'; got "):
        estimator(device=device).fit(X, Y)


# -- the kernels compute what the plain backend computes -----------------------------------------

RNG = np.random.default_rng(0)
N, D, M, K = 40, 12, 30, 5
ROWS = sparse.random(N, D, 0.4, "csr", np.float32, random_state=RNG)
LABELS = sparse.csr_matrix((RNG.random((N, M)) < 0.1).astype(np.int32))
VECTORS = Params(*(RNG.normal(size=shape).astype(np.float32) for shape in ((D, K), K, (M, K), M)))
HIDDEN = RNG.normal(size=(N, K)).astype(np.float32)
LISTED = np.sort([RNG.permutation(M)[:7] for _ in range(N)], axis=1).astype(np.int32)
TABLE = RNG.normal(size=(N, 7)).astype(np.float32)
CALLS: dict[str, tuple[Any, ...]] = {
    "hidden": (csr_arrays(ROWS), VECTORS, "tanh"),
    "scores": (HIDDEN, VECTORS.L, VECTORS.c),
    "best_labels": (HIDDEN, VECTORS.L, VECTORS.c, 6),
    "best_of_rows": (TABLE, 3, 2),
    "pair_rows": (csr_arrays(LABELS), LISTED, M),
    "mark_relevant": (csr_arrays(LABELS), LISTED, M),
    "rank_lists": (LISTED, TABLE, 4),
}


@pytest.mark.parametrize("name", CALLS)
def test_kernels_agree_with_plain_numpy(name: str) -> None:
    found, wanted = (
        getattr(backend, name)(*CALLS[name]) for backend in (get_backend("cpu"), NumpyBackend())
    )
    if not isinstance(found, tuple):
        found, wanted = (found,), (wanted,)
    for left, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


def test_products_at_pairs_agree_with_plain_numpy() -> None:
    pairs = NumpyBackend().pair_rows(csr_arrays(LABELS), LISTED, M)
    found, wanted = (
        backend.products_at(pairs, VECTORS.L, HIDDEN, 2)
        for backend in (get_backend("cpu"), NumpyBackend())
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_rows_are_handed_over_without_a_copy() -> None:
    data = TrainingSet(ROWS, LABELS, np.arange(N), np.ones(N))
    assert np.shares_memory(label_rows(data).x_data, ROWS.data)
    assert isinstance(csr_arrays(ROWS), Csr)
    assert set(DEVICES) == {"cpu", "cuda", "auto"}
