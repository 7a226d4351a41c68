from __future__ import annotations

import numpy as np
import pytest
from places import real_data_folder
from scipy import sparse

from rmls import imbalance

pytestmark = pytest.mark.data


def load_labels(name: str) -> sparse.csr_matrix:
    path = real_data_folder() / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{name}.npz is not in the folder named by RMLS_DATA")
    with np.load(path) as arrays:
        indices, indptr, shape = (arrays[f"Y_{part}"] for part in ("indices", "indptr", "shape"))
    return sparse.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=shape)


def test_mean_imbalance_ratio_of_enron_follows_the_definition() -> None:
    assert imbalance.mean_imbalance_ratio(load_labels("enron")) == pytest.approx(136.86, abs=0.005)


def test_dividing_by_the_number_of_labels_gives_the_figure_of_the_authors_script() -> None:
    counts = np.asarray(load_labels("enron").sum(axis=0, dtype=int)).ravel()
    assert ((len(counts) - counts) / counts).mean() == pytest.approx(3.29, abs=0.005)


@pytest.mark.parametrize(
    ("name", "mean_ratio", "cardinality"),
    [
        ("enron", 136.9, 3.378),
        ("delicious", 175.4, 19.02),
        ("eurlex57k_4k", 7260, 5.058),
        ("debdeps", 33474, 5.068),
        ("tate", 36776, 11.25),
        ("debtags", 2952, 3.700),
        ("rcv1sub1", 235.6, 2.880),
        ("yeast", 8.6, 4.237),
    ],
)
def test_real_sets_have_their_tabulated_figures(
    name: str, mean_ratio: float, cardinality: float
) -> None:
    Y = load_labels(name)
    digits = 0 if mean_ratio == int(mean_ratio) else 1
    assert round(imbalance.mean_imbalance_ratio(Y), digits) == mean_ratio
    assert float(f"{imbalance.cardinality(Y):.4g}") == cardinality


@pytest.mark.parametrize(
    ("name", "mean_ir", "cvir", "scumble"),
    [("enron", 73.953, 1.960, 0.303), ("yeast", 7.197, 1.884, 0.104)],
)
def test_charte_measures_keep_their_golden_figures(
    name: str, mean_ir: float, cvir: float, scumble: float
) -> None:
    Y = load_labels(name)
    assert imbalance.mean_ir(Y) == pytest.approx(mean_ir, abs=5e-4)
    assert imbalance.cvir(Y) == pytest.approx(cvir, abs=5e-4)
    assert imbalance.scumble(Y) == pytest.approx(scumble, abs=5e-4)


def test_delicious_has_14_rows_without_a_label() -> None:
    assert imbalance.describe(load_labels("delicious")).n_empty_rows == 14
