"""npz archives are checked array by array before anything is built from them."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from rmls.core.errors import FileFormatError
from rmls.datasets import Dataset, load, save


def good():
    return {
        "X_data": np.array([1, 2], dtype=np.float32),
        "X_indices": np.array([0, 2]),
        "X_indptr": np.array([0, 1, 2]),
        "X_shape": np.array([2, 3]),
        "Y_indices": np.array([1]),
        "Y_indptr": np.array([0, 0, 1]),
        "Y_shape": np.array([2, 2]),
        "split": np.array([1]),
    }


def written(tmp_path, **changes):
    arrays = good() | changes
    path = tmp_path / "a.npz"
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def test_the_documented_layout_is_read(tmp_path):
    data = load(written(tmp_path, extra=np.arange(9)))
    assert data.X.toarray().tolist() == [[1, 0, 0], [0, 0, 2]]
    assert data.Y.toarray().tolist() == [[0, 0], [0, 1]]
    assert data.n_train == 1


def test_what_is_written_follows_the_documented_layout(tmp_path):
    save(Dataset([[1, 0, 2]], [[0, 1]], n_train=1, label_names=["a", "b"]), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == set(good())
        assert arrays["X_data"].dtype == np.float32
        assert arrays["split"].tolist() == [1]
    assert (tmp_path / "a.labels.txt").read_text() == "a\nb\n"


BAD = {
    "missing array": ({"Y_shape": None}, "lacks the array 'Y_shape'"),
    "indptr goes down": ({"X_indptr": np.array([0, 2, 1])}, "X_indptr does not fit 2 rows"),
    "indptr that wraps": (
        {"X_indptr": np.array([0, 10_000_000, 2], np.uint64)},
        "X_indptr does not fit 2 rows",
    ),
    "indptr too short": ({"X_indptr": np.array([0, 2])}, "X_indptr does not fit 2 rows"),
    "indptr too far": ({"X_indptr": np.array([0, 1, 9])}, "X has 2 indices for 9 entries"),
    "index too large": ({"X_indices": np.array([0, 3])}, "X has an index outside its 3 columns"),
    "index negative": ({"Y_indices": np.array([-1])}, "Y has an index outside its 2 columns"),
    "index twice": (
        {"X_indptr": np.array([0, 2, 2]), "X_indices": np.array([1, 1])},
        "X has the same index twice in a row",
    ),
    "float indices": ({"X_indices": np.array([0.0, 1.0])}, "indices that are not whole numbers"),
    "nan": ({"X_data": np.array([1, np.nan])}, "X has a value that is not a finite number"),
    "texts": ({"X_data": np.array(["a", "b"])}, "X has a value that is not a finite number"),
    "data too short": ({"X_data": np.array([1.0])}, "X has 2 indices for 2 entries"),
    "other rows": (
        {"Y_shape": np.array([1, 2]), "Y_indptr": np.array([0, 1])},
        "X has 2 rows but Y has 1",
    ),
    "negative shape": ({"X_shape": np.array([-1, 3])}, "X_shape must hold two sizes"),
    "huge shape": ({"X_shape": np.array([10**15, 3])}, "X_indptr does not fit"),
    "split too far": ({"split": np.array([3])}, "split must be one number between 0 and 2"),
    "two-dimensional": ({"X_data": np.ones((1, 2))}, "'X_data' is not a plain list of numbers"),
    "objects": ({"X_data": np.array([1, None])}, "'X_data' is not a plain list of numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_broken_archive_is_refused_with_one_sentence(case, tmp_path):
    changes, sentence = BAD[case]
    path = written(tmp_path, **changes)
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_header_that_announces_more_than_there_is_allocates_nothing(tmp_path):
    path = written(tmp_path, split=None)
    member = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": (10**13,)}
    np.lib.format.write_array_header_1_0(member, header)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("split.npy", member.getvalue() + b"1234")
    with pytest.raises(FileFormatError, match="'split' is not a plain list of numbers"):
        load(path)


def test_a_flipped_byte_is_noticed(tmp_path):
    path = written(tmp_path)
    content = bytearray(path.read_bytes())
    at = content.index(b"X_indices.npy") + 150
    content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="damaged"):
        load(path)
