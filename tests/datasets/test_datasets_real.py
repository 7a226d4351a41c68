"""The readers on original files, compared with independent copies of the same data."""

from __future__ import annotations

import hashlib
import time

import numpy as np
import pytest

from rmls.datasets import _catalogue, load, save

pytestmark = pytest.mark.data


def existing(data_dir, name):
    path = data_dir / name
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    return path


def rows_as_set(dataset):
    return sorted(
        (tuple(x.indices), tuple(x.data), tuple(y.indices))
        for x, y in zip(dataset.X, dataset.Y, strict=True)
    )


def test_enron_arff_holds_the_same_rows_as_enron_npz(data_dir):
    arff = load(existing(data_dir, "enron.arff"))
    npz = load(existing(data_dir, "enron.npz"))
    assert arff.label_names == npz.label_names
    assert arff.X.shape == npz.X.shape == (1702, 1001)
    assert rows_as_set(arff) == rows_as_set(npz)


def test_enron_arff_is_read_well_under_a_second(data_dir):
    path = existing(data_dir, "enron.arff")
    load(path)
    # Time of this process, whatever else the machine does.
    start = time.process_time()
    load(path)
    assert time.process_time() - start < 1.0


def test_emotions_is_dense_with_six_labels(data_dir):
    data = load(existing(data_dir, "emotions.arff"))
    assert data.X.shape == (593, 72)
    assert data.label_names[0] == "amazed-suprised"
    assert data.X[0, 3] == np.float32("-73.302422")
    assert data.Y.nnz / 593 == pytest.approx(1.868, abs=0.001)


def test_medical_has_its_published_size_and_label_count(data_dir):
    data = load(existing(data_dir, "medical.arff"))
    assert (data.X.shape, data.n_labels) == ((978, 1449), 45)
    assert data.Y.nnz / 978 == pytest.approx(1.245, abs=0.001)


@pytest.mark.parametrize(
    ("name", "shape", "n_labels", "n_train"),
    [("yeast", (2417, 103), 14, 1500), ("delicious", (16105, 500), 983, 12920)],
)
def test_npz_copies_have_their_documented_sizes(name, shape, n_labels, n_train, data_dir):
    data = load(existing(data_dir, f"{name}.npz"))
    assert (data.X.shape, data.n_labels, data.n_train) == (shape, n_labels, n_train)


@pytest.mark.parametrize("ending", [".svm", ".arff"])
def test_rcv1_survives_a_text_round_trip(ending, data_dir, tmp_path):
    data = load(existing(data_dir, "rcv1sub1.npz")).take(np.arange(500))
    save(data, tmp_path / f"a{ending}")
    found = load(tmp_path / f"a{ending}")
    assert (found.X != data.X).nnz == 0
    assert (found.Y != data.Y).nnz == 0
    assert found.label_names == data.label_names


def test_catalogue_checksums_are_those_of_the_originals(data_dir):
    compared = 0
    for entry in _catalogue.ENTRIES:
        for file in entry.files:
            path = data_dir / file.name
            if file.sha256 is not None and path.is_file():
                assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
                compared += 1
    assert compared > 0
