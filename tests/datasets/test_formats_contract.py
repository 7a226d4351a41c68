"""What every format promises; a new format is tested because it exists."""

from __future__ import annotations

import gzip
from importlib import import_module

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets import Dataset, formats, load, save
from rmls.datasets.formats import format_by_extension, format_named, format_of

ALL = pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)
COMPRESSIBLE = pytest.mark.parametrize(
    "format",
    [format for format in formats() if format.compressible],
    ids=lambda format: format.name,
)
pytestmark = pytest.mark.filterwarnings("ignore::rmls.core.errors.RmlsWarning")


def assert_same(found, wanted):
    assert found.X.shape == wanted.X.shape
    assert found.Y.shape == wanted.Y.shape
    assert np.array_equal(found.X.toarray(), wanted.X.toarray())
    assert np.array_equal(found.Y.toarray(), wanted.Y.toarray())


def round_trip(format, dataset, folder, packed=""):
    path = folder / f"data{format.extensions[0]}{packed}"
    save(dataset, path)
    return load(path)


CASES = {
    "rows without labels or features": ([[0, 0], [1.5, 0], [0, 0]], [[0, 1], [0, 0], [0, 0]]),
    "labels and features without rows": ([[0, 1, 0]], [[0, 1, 0, 0]]),
    "one row, one feature, one label": ([[-2]], [[1]]),
    "nothing but zeros": ([[0, 0], [0, 0]], [[0], [0]]),
    "float32 extremes": (
        [[3.4028235e38, 1e-45, 1.1754944e-38, -0.1, 16777217, 1 / 3]],
        [[1, 0]],
    ),
}


@ALL
@pytest.mark.parametrize("case", CASES)
def test_data_come_back_as_they_were(format, case, tmp_path):
    dataset = Dataset(*(np.array(part) for part in CASES[case]))
    assert_same(round_trip(format, dataset, tmp_path), dataset)


@ALL
def test_names_come_back(format, tmp_path):
    dataset = Dataset(
        [[1, 0, 2]],
        [[1, 0]],
        label_names=["tax law", "l'été {x}"],
        feature_names=['a "b"', "%", "back\\slash, comma"],
    )
    found = round_trip(format, dataset, tmp_path)
    assert found.label_names == dataset.label_names
    assert found.feature_names == dataset.feature_names


@ALL
def test_the_split_comes_back_or_is_declared_lost(format, tmp_path):
    dataset = Dataset([[1], [2], [3]], [[1], [0], [1]], n_train=2)
    assert round_trip(format, dataset, tmp_path).n_train == (2 if format.keeps_split else None)


@COMPRESSIBLE
@pytest.mark.parametrize("packed", [".gz", ".bz2"])
def test_compressed_text_is_read_and_written(format, packed, tmp_path):
    dataset = Dataset([[1, 0], [0, 2.5]], [[1], [0]])
    assert_same(round_trip(format, dataset, tmp_path, packed), dataset)
    raw = (tmp_path / f"data{format.extensions[0]}{packed}").read_bytes()
    assert raw.startswith(b"\x1f\x8b" if packed == ".gz" else b"BZh")


@ALL
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(sizes=st.tuples(*[st.integers(1, 6)] * 3), seed=st.integers(0, 2**32 - 1))
def test_any_float32_and_any_pattern_come_back(format, sizes, seed, tmp_path_factory):
    n, d, m = sizes
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, size=(n, d), dtype=np.uint32)
    X = bits.view(np.float32)
    X[~np.isfinite(X) | (rng.random((n, d)) < 0.4)] = 0
    dataset = Dataset(X, rng.random((n, m)) < 0.4)
    assert_same(round_trip(format, dataset, tmp_path_factory.mktemp("any")), dataset)


@ALL
def test_content_alone_tells_the_format(format, tmp_path):
    dataset = Dataset([[1, 0], [0, 2.5]], [[1], [1]])
    path = tmp_path / f"data{format.extensions[0]}"
    save(dataset, path)
    nameless = path.rename(tmp_path / "data.unknown")
    assert format_of(nameless) is format


@ALL
def test_a_failed_write_leaves_the_old_file_alone(format, tmp_path, monkeypatch):
    path = tmp_path / f"data{format.extensions[0]}"
    save(Dataset([[1]], [[1]]), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(InputError, match="no space left"):
        save(Dataset([[2]], [[0]]), path)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.tmp"))
    assert not list(tmp_path.glob(".*.tmp"))


@ALL
@pytest.mark.parametrize(
    "content",
    [b"", b" \n\n", b"\xff\xfe1\x00 \x002\x00", b"\x00\x01\x02\n", b"\x1f\x8b\x08broken"],
    ids=["empty", "blank", "utf-16", "binary", "stray gzip"],
)
def test_a_file_of_another_kind_gives_one_sentence(format, content, tmp_path):
    path = tmp_path / f"bad{format.extensions[0]}"
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@ALL
def test_a_file_cut_anywhere_never_breaks_the_reader(format, tmp_path):
    dataset = Dataset([[1, 0.25], [0, 2.5], [3, 0]], [[1, 1], [0, 0], [0, 1]], n_train=1)
    path = tmp_path / f"data{format.extensions[0]}"
    save(dataset, path)
    whole = path.read_bytes()
    messages = []
    for end in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:end])
        try:
            load(path)
        except FileFormatError as error:
            messages.append(str(error))
    assert messages
    assert not [message for message in messages if "\n" in message]


@ALL
def test_missing_files_and_folders_are_named(format, tmp_path):
    with pytest.raises(FileFormatError, match="there is no such file"):
        load(tmp_path / f"none{format.extensions[0]}")
    folder = tmp_path / f"folder{format.extensions[0]}"
    folder.mkdir()
    with pytest.raises(FileFormatError, match="this is a folder"):
        load(folder)
    with pytest.raises(InputError):
        save(Dataset([[1]], [[1]]), folder)


@COMPRESSIBLE
def test_a_damaged_gzip_gives_one_sentence(format, tmp_path):
    path = tmp_path / f"data{format.extensions[0]}.gz"
    save(Dataset(np.eye(50), np.eye(50)), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileFormatError, match="damaged"):
        load(path)


def test_a_decompression_bomb_is_refused(tmp_path, monkeypatch):
    # The package exports a function of the same name.
    formats_module = import_module("rmls.datasets.formats")
    monkeypatch.setattr(formats_module, "SMALL_ENOUGH", 1 << 12)
    monkeypatch.setattr(formats_module, "CHUNK", 1 << 12)
    path = tmp_path / "bomb.svm.gz"
    path.write_bytes(gzip.compress(b" " * (1 << 22)))
    with pytest.raises(FileFormatError, match="grows more than"):
        load(path)


def test_formats_have_distinct_names_and_extensions():
    names = [format.name for format in formats()]
    extensions = [ending for format in formats() for ending in format.extensions]
    assert len(set(names)) == len(names) >= 5
    assert len(set(extensions)) == len(extensions)
    assert all(format_named(format.name) is format for format in formats())


def test_unknown_formats_are_refused_with_the_known_ones():
    with pytest.raises(InputError, match="unknown format 'excel'; choose one of: arff, npz"):
        format_named("excel")
    assert format_by_extension("a.xlsx") is None
