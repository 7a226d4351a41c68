"""The byte kernel reads numbers as Python does, and rows as scikit-learn does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from rmls.core.errors import FileFormatError
from rmls.datasets import load


def read_values(tokens, folder):
    path = folder / "numbers.svm"
    rows = "".join(f"0 0:1 1:{token}\n" for token in tokens)
    path.write_text(rows)
    return load(path).X.toarray()[:, 1]


def expected(tokens):
    with np.errstate(over="ignore"):
        return np.array([float(token) for token in tokens]).astype(np.float32)


HARD_NUMBERS = [
    "0", "-0", "+1", "1.", ".5", "-.25", "1e3", "1E-3", "1e+2", "00012.50", "123456789012345678",
    "0.1234567890123456789012345", "3.4028234663852886e38", "1.17549435e-38", "1e-45", "1e-60",
    "1e-400", "16777217", "16777216.999999999999", "33554434.0000000000001", "33554433.99999999999",
    "9007199254740993", "1.00000005960464477539", "1.000000059604644775390625000001", "0e999999",
    "100000000000000000000000000000000000000", "0." + "0" * 60 + "1",
    "1" + "0" * 37 + "." + "0" * 40,
]  # fmt: skip


def test_numbers_near_rounding_boundaries_are_read_exactly(tmp_path):
    assert read_values(HARD_NUMBERS, tmp_path).tolist() == expected(HARD_NUMBERS).tolist()


@settings(max_examples=30, deadline=None)
@given(numbers=st.lists(st.floats(-3e38, 3e38), min_size=1, max_size=40), digits=st.integers(1, 25))
def test_every_decimal_is_rounded_as_python_rounds_it(numbers, digits, tmp_path_factory):
    tokens = [f"{number:.{digits}{kind}}" for number in numbers for kind in "eg"]
    folder = tmp_path_factory.mktemp("numbers")
    assert read_values(tokens, folder).tolist() == expected(tokens).tolist()


def test_midpoints_between_float32_neighbours_are_read_exactly(tmp_path):
    rng = np.random.default_rng(0)
    low = rng.integers(1, 2**30, size=300, dtype=np.uint32).view(np.float32).astype(np.float64)
    high = np.nextafter(low.astype(np.float32), np.float32(np.inf)).astype(np.float64)
    tokens = [f"{middle:.40e}" for middle in (low + high) / 2]
    assert read_values(tokens, tmp_path).tolist() == expected(tokens).tolist()


@pytest.mark.parametrize("zero_based", [True, False])
def test_files_of_scikit_learn_are_read_as_it_reads_them(zero_based, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.random((30, 7)) * (rng.random((30, 7)) < 0.5)
    X[0, 0] = 1
    Y = (rng.random((30, 5)) < 0.4).astype(int)
    Y[0] = 1
    path = tmp_path / "theirs.svm"
    dump_svmlight_file(X, Y, str(path), zero_based=zero_based, multilabel=True, comment="hello")
    ours = load(path, n_features=7, n_labels=5)
    theirs, labels = load_svmlight_file(
        str(path), n_features=7, multilabel=True, dtype=np.float32, zero_based=zero_based
    )
    assert np.array_equal(ours.X.toarray(), theirs.toarray())
    assert [tuple(row.indices) for row in ours.Y] == [tuple(map(int, row)) for row in labels]


@pytest.mark.filterwarnings("ignore::rmls.core.errors.RmlsWarning")
def test_scikit_learn_reads_our_svmlight_files(tmp_path):
    from rmls.datasets import make_longtail, save

    data = make_longtail(40, 30, 12)
    save(data, tmp_path / "ours.svm")
    X, labels = load_svmlight_file(
        str(tmp_path / "ours.svm"), n_features=30, multilabel=True, zero_based=True
    )
    assert np.array_equal(X.toarray(), data.X.toarray())
    assert [tuple(map(int, row)) for row in labels] == [tuple(row.indices) for row in data.Y]


def test_svmlight_comments_queries_and_blank_lines_are_ignored(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"# head\r\n\r\n0,2 qid:7 0:1 3:2.5 # tail 9:9\r\n   \n 1:1\n1 # no features")
    data = load(path)
    assert data.X.toarray().tolist() == [[1, 0, 0, 2.5], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


def test_zero_based_is_guessed_for_features_and_labels_separately(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("0 1:1\n1 2:1\n")
    assert load(path).X.shape == (2, 2)
    assert load(path).Y.shape == (2, 2)
    assert load(path, zero_based=True).X.shape == (2, 3)
    with pytest.raises(FileFormatError, match="line 1: label 0 in a one-based file"):
        load(path, zero_based=False)


def test_rows_out_of_order_are_sorted_and_repeated_labels_merged(tmp_path):
    path = tmp_path / "a.xmc"
    path.write_text("2 4 3\n2,0,2 3:3 0:1 1:2\n1:5\n")
    data = load(path)
    assert data.X.toarray().tolist() == [[1, 2, 0, 3], [0, 5, 0, 0]]
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    "header", ["#num_feature=3 num_label=2", "# num_label = 2, num_feature: 3"]
)
def test_the_authors_header_is_read_in_any_order_and_spacing(header, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(f"{header}\n0,1 0:1 2:3\n\n 1:1\n \n")
    data = load(path)
    assert data.X.toarray().tolist() == [[1, 0, 3], [0, 1, 0], [0, 0, 0]]
    assert data.Y.toarray().tolist() == [[1, 1], [0, 0], [0, 0]]


def test_xmc_blank_lines_count_as_rows_only_up_to_the_header(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("2 1 1\n0 0:1\n\n\n\n")
    assert load(path).X.toarray().tolist() == [[1], [0]]


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf1 2 1\n0 1:4\n")
    assert load(path).X.toarray().tolist() == [[0, 4]]
