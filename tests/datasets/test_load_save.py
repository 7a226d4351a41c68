"""`load`, `save` and `convert`: names, paths, options, warnings."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from rmls.core.errors import InputError, RmlsWarning
from rmls.datasets import Dataset, convert, formats, load, save


def toy(**options):
    return Dataset([[1, 0], [0, 2]], [[1], [0]], **options)


def test_importing_the_package_stays_light():
    program = (
        "import sys, rmls.datasets; "
        "print([name for name in ('numba', 'sklearn', 'http.client') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("source", [format.name for format in formats()])
@pytest.mark.parametrize("target", [format.name for format in formats()])
@pytest.mark.filterwarnings("ignore::rmls.core.errors.RmlsWarning")
def test_every_format_converts_into_every_other(source, target, tmp_path):
    save(toy(label_names=["y"], feature_names=["a", "b"]), tmp_path / "in.dat", format=source)
    (tmp_path / "in.dat").rename(tmp_path / "in")
    convert(tmp_path / "in", tmp_path / "out.dat", format=target)
    found = load(tmp_path / "out.dat")
    assert np.array_equal(found.X.toarray(), toy().X.toarray())
    assert found.label_names == ["y"]


def test_saving_a_split_that_the_format_cannot_hold_warns(tmp_path):
    with pytest.warns(RmlsWarning, match="cannot hold the split; note that the first 1 rows"):
        save(toy(n_train=1), tmp_path / "a.xmc")
    assert load(tmp_path / "a.xmc").n_train is None


def test_an_ending_that_names_no_format_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"the ending of a\.what names no format; name one"):
        save(toy(), tmp_path / "a.what")


def test_a_txt_file_is_written_as_extreme_classification_text(tmp_path):
    save(toy(), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text().splitlines()[0].split() == [
        str(size) for size in (len(toy()), toy().n_features, toy().n_labels)
    ]


def test_npz_is_not_compressed_twice(tmp_path):
    with pytest.raises(InputError, match=r"compressed already; drop '\.gz'"):
        save(toy(), tmp_path / "a.npz.gz")


def test_an_unknown_option_is_refused_with_the_known_ones(tmp_path):
    save(toy(), tmp_path / "a.svm")
    with pytest.raises(InputError, match="no option 'zerobased'; it knows zero_based, n_features"):
        load(tmp_path / "a.svm", zerobased=True)
    save(toy(), tmp_path / "a.npz")
    with pytest.raises(InputError, match="npz reader has no option 'x'; it takes none"):
        load(tmp_path / "a.npz", x=1)


def test_names_left_by_other_data_are_not_adopted(tmp_path):
    save(toy(label_names=["other"]), tmp_path / "a.npz")
    with pytest.raises(InputError, match=r"would give names to a\.svm"):
        save(toy(), tmp_path / "a.svm")
    assert not (tmp_path / "a.svm").exists()


def test_writing_into_a_folder_that_is_not_there_gives_one_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        save(toy(), tmp_path / "none" / "a.npz")


def test_a_name_is_found_in_the_users_folder(folders):
    save(toy(), folders[0] / "mine.npz")
    assert load("mine").name == "mine"
    save(toy(), folders[0] / "packed.svm.gz")
    assert load("packed").n_samples == 2


def test_an_unknown_name_lists_near_matches_and_where_it_looked(folders):
    with pytest.raises(InputError) as caught:
        load("enronn")
    assert "did you mean enron?" in str(caught.value)
    assert all(str(folder) in str(caught.value) for folder in folders)


def test_a_registered_name_that_is_not_at_hand_says_how_to_get_it(folders):
    with pytest.raises(InputError, match="fetch it with: rmls datasets download enron"):
        load("enron")
    with pytest.raises(InputError, match="to do it by hand, see https://mulan"):
        load("medical")


def test_labels_of_few_rows_are_left_out_where_asked_for(tmp_path):
    Y = [[1, 0, 1], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    data = Dataset([[1.0]] * 4, Y, label_names=["a", "b", "c"], n_train=3)
    save(data, tmp_path / "few.npz")
    kept = load(tmp_path / "few.npz", min_label_rows=2)
    assert kept.label_names == ["a", "b"]
    assert (kept.n_samples, kept.n_train) == (4, 3)
    assert load(tmp_path / "few.npz", min_label_rows=0).label_names == ["a", "b", "c"]
    with pytest.raises(InputError, match="no label of 'few' has 4 rows; lower min_label_rows"):
        load(tmp_path / "few.npz", min_label_rows=4)
    with pytest.raises(InputError, match="min_label_rows must be a whole number"):
        load(tmp_path / "few.npz", min_label_rows=1.5)
