"""npz archives are checked array by array before anything is built from them."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from rmls.core.errors import FileFormatError, InputError
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


@pytest.mark.parametrize("kind", [">f4", "<f2", "<f8", "<i8", ">u2", "|b1"])
def test_numbers_of_any_plain_kind_are_read(kind, tmp_path):
    numbers = {key: np.asfortranarray(array.astype(">i8")) for key, array in good().items()}
    numbers["X_data"] = np.array([1, 1]).astype(kind)
    data = load(written(tmp_path, **numbers))
    assert data.X.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert data.X.data.dtype == np.float32
    assert data.X.indices.dtype == np.int32


ODD = {
    "complex": np.array([1j, 2]),
    "dates": np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    "fields": np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]),
    "nothing": np.zeros(2, dtype="V0"),
    "bytes": np.array([b"a", b"b"]),
    "scalar": np.array(7.0),
    "beyond float32": np.array([1e300, 1.0]),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("key", ["X_data", "X_indptr", "Y_shape", "split"])
def test_arrays_of_odd_kinds_are_refused(case, key, tmp_path):
    with pytest.raises(FileFormatError) as caught:
        load(written(tmp_path, **{key: ODD[case]}))
    assert "\n" not in str(caught.value)


HEADERS = {
    "nested": b"(" * 9000,
    "signs": b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"-" * 9000 + b"1,)}",
    "negative": b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
    "product": b"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
    "code": b"{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (1,)}",
    "not text": b"\xff\xfe\x00",
    "a word in front": b"x{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
    "a word behind": b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x",
    "no brace": b"'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
    "wide text": b"{'descr': '<U500000000', 'fortran_order': False, 'shape': (1,)}",
}


@pytest.mark.parametrize("case", HEADERS)
@pytest.mark.parametrize("version", [b"\1\0", b"\2\0", b"\3\0", b"\xff\xff"])
def test_an_odd_header_is_refused(case, version, tmp_path):
    path = written(tmp_path, X_data=None)
    width = 2 if version == b"\1\0" else 4
    header = HEADERS[case]
    content = b"\x93NUMPY" + version + len(header).to_bytes(width, "little") + header + b"12345678"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("X_data.npy", content)
    with pytest.raises(FileFormatError, match="'X_data'"):
        load(path)


def mutated(rng):
    """Return the arrays of a good file with one to three of them spoilt."""
    arrays = good()
    for key in rng.choice(list(arrays), size=rng.integers(1, 4)):
        kind = rng.choice(["i1", "u1", "i4", "u4", "i8", "u8", ">i8", "f8"])
        array = arrays[key].astype(kind)
        extreme = rng.choice(np.array([0, 1, 3, 127, 2**31 - 1, 2**32, 2**62, 2**63 - 1], "u8"))
        spoil = rng.integers(5)
        if spoil == 0 and len(array):
            array[rng.integers(len(array))] = np.array([extreme]).astype(kind)[0]
        elif spoil == 1 and len(array):
            array[rng.integers(len(array))] = np.array([-1]).astype(kind)[0]
        elif spoil == 2:
            array = array[: rng.integers(len(array) + 1)]
        elif spoil == 3:
            array = np.concatenate([array, array])
        else:
            array = array[::-1]
        arrays[key] = array
    return arrays


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_spoilt_arrays_are_refused_or_give_a_sound_matrix(tmp_path):
    rng, refused = np.random.default_rng(0), 0
    for _ in range(400):
        path = written(tmp_path, **mutated(rng))
        try:
            data = load(path)
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)  # noqa: PT017
            continue
        for matrix in (data.X, data.Y):
            assert (np.diff(matrix.indptr) >= 0).all()
            assert matrix.indptr[-1] == len(matrix.indices)
            assert matrix.nnz == 0 or 0 <= matrix.indices.min() <= matrix.indices.max() < 2**31
    assert 200 < refused < 400


def test_a_flipped_byte_is_noticed(tmp_path):
    path = written(tmp_path)
    content = bytearray(path.read_bytes())
    at = content.index(b"X_indices.npy") + 150
    content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="damaged"):
        load(path)


@pytest.mark.parametrize("version", [b"\0\0", b"\4\0", b"\1\1"])
def test_an_array_of_an_unknown_version_is_refused(version, tmp_path):
    path = written(tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = members["X_data.npy"]
    members["X_data.npy"] = content[:6] + version + content[8:]
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    with pytest.raises(FileFormatError, match="damaged header"):
        load(path)
