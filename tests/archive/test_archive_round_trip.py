from __future__ import annotations

import json
import subprocess
import sys
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_samples import DTYPES, MANIFEST, sample_arrays, write_sample
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from rmls.archive import check_arrays, read_archive, write_archive
from rmls.archive._manifest import check_json, dump_json, parse_json
from rmls.archive._tensors import map_file, read_layout, view_tensors
from rmls.core.errors import ArchiveError

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=12,
)


def test_everything_comes_back(tmp_path: Path) -> None:
    arrays = sample_arrays()
    archive = read_archive(write_sample(tmp_path / "model"))
    assert archive.manifest == MANIFEST
    assert list(archive.manifest) == list(MANIFEST)
    assert list(archive.arrays) == list(arrays)
    for name, array in arrays.items():
        assert archive.arrays[name].dtype == array.dtype
        assert archive.arrays[name].shape == array.shape
        assert np.array_equal(archive.arrays[name], array)


def test_a_model_without_arrays_comes_back(tmp_path: Path) -> None:
    write_archive(tmp_path / "model", {}, {})
    archive = read_archive(tmp_path / "model")
    assert archive.manifest == {}
    assert dict(archive.arrays) == {}


def test_the_folder_holds_two_files_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_sample(tmp_path / "model")
    write_sample(tmp_path / "model")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
    names = {entry.name for entry in (tmp_path / "model").iterdir()}
    assert names == {"model.json", "arrays.safetensors"}


def test_the_manifest_is_plain_json_with_the_type_and_shape_of_every_array(tmp_path: Path) -> None:
    text = json.loads((write_sample(tmp_path / "model") / "model.json").read_text("utf-8"))
    assert (text["format"], text["format_version"]) == ("rmls-model", 1)
    assert text["arrays"]["float32"] == {"dtype": "float32", "shape": [3, 5]}
    assert text["params"] == MANIFEST["params"]


@pytest.mark.parametrize("verify", [True, False])
def test_arrays_are_mapped_read_only_and_aligned(tmp_path: Path, verify: bool) -> None:
    archive = read_archive(write_sample(tmp_path / "model"), verify=verify)
    for array in archive.arrays.values():
        assert type(array) is np.ndarray
        assert is_mapped(array) or array.size == 0
        assert array.flags.aligned
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    with pytest.raises(TypeError):
        archive.arrays["float32"] = np.zeros(1)


def is_mapped(array: np.ndarray) -> bool:
    """Whether the memory behind an array is a file."""
    base: Any = array
    while not isinstance(base, mmap) and base is not None:
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base is not None


@pytest.mark.parametrize("verify", [True, False])
def test_copied_arrays_are_the_same_and_on_no_disk(tmp_path: Path, verify: bool) -> None:
    mapped = read_archive(write_sample(tmp_path / "model")).arrays
    copied = read_archive(tmp_path / "model", verify=verify, mmap=False).arrays
    for name, array in copied.items():
        assert not is_mapped(array)
        assert not array.flags.writeable
        np.testing.assert_array_equal(array, mapped[name])
        assert array.dtype == mapped[name].dtype


def test_arrays_outlive_the_folder(tmp_path: Path) -> None:
    archive = read_archive(write_sample(tmp_path / "model"))
    before = archive.arrays["float64"].copy()
    write_archive(tmp_path / "model", {}, {})
    assert np.array_equal(archive.arrays["float64"], before)


def test_loading_does_not_bring_the_arrays_into_memory(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    size = 96 << 20
    write_archive(tmp_path / "model", {}, {"large": np.zeros(size, dtype=np.uint8)})
    program = (
        "import resource, sys, numpy\n"
        "from rmls.archive import read_archive\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); archive = read_archive(sys.argv[1]); print(peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "model"], capture_output=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < size / 2
    assert resource is not None


def test_any_memory_layout_and_byte_order_is_stored_as_its_values(tmp_path: Path) -> None:
    table = np.arange(24.0).reshape(4, 6)
    odd = {
        "transposed": table.T,
        "strided": table[::2, ::-3],
        "fortran": np.asfortranarray(table),
        "big_endian": table.astype(">f4"),
        "scalar": np.array(7, dtype=">i8"),
    }
    write_archive(tmp_path / "model", {}, odd)
    loaded = read_archive(tmp_path / "model").arrays
    for name, array in odd.items():
        assert loaded[name].flags.c_contiguous
        assert loaded[name].dtype.isnative
        assert np.array_equal(loaded[name], array)


def test_the_safetensors_library_reads_our_arrays(tmp_path: Path) -> None:
    theirs = load_file(write_sample(tmp_path / "model") / "arrays.safetensors")
    for name, array in sample_arrays().items():
        assert theirs[name].dtype == array.dtype
        assert np.array_equal(theirs[name], array)


def test_we_read_the_arrays_of_the_safetensors_library(tmp_path: Path) -> None:
    arrays = sample_arrays()
    save_file(arrays, tmp_path / "theirs", metadata={"by": "the library"})
    with open(tmp_path / "theirs", "rb") as stream:
        layout = read_layout(stream, (tmp_path / "theirs").stat().st_size)
        ours = view_tensors(map_file(stream), layout)
    assert ours.keys() == arrays.keys()
    assert all(np.array_equal(ours[name], array) for name, array in arrays.items())


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(texts, json_values))
def test_any_json_comes_back(value: dict[str, object]) -> None:
    assert parse_json(dump_json(check_json(value)).encode()) == value


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DTYPES), st.lists(st.integers(0, 4), max_size=5))
def test_any_shape_of_any_type_comes_back(
    tmp_path_factory: pytest.TempPathFactory, dtype: str, shape: list[int]
) -> None:
    array = np.random.default_rng(0).integers(0, 2, size=shape).astype(dtype)
    folder = tmp_path_factory.mktemp("any")
    write_archive(folder, {}, {"odd": np.ones(3, dtype=np.uint8), "it": array})
    loaded = read_archive(folder).arrays["it"]
    assert (loaded.dtype, loaded.shape) == (array.dtype, array.shape)
    assert np.array_equal(loaded, array)


def test_importing_the_archive_is_light() -> None:
    program = (
        "import sys, rmls.archive\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'torch'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"


EXPECTED = {
    "float32": (np.float32, (3, 5)),
    "int16": (np.integer, (None, 5)),
    "scalar": (float, ()),
}


def test_check_arrays_accepts_what_is_there(tmp_path: Path) -> None:
    check_arrays(read_archive(write_sample(tmp_path / "model")), EXPECTED)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"absent": (np.float32, (3,))}, "array 'absent' is missing"),
        ({"float32": (np.float64, (3, 5))}, "is of type float32; float64 is needed"),
        ({"float32": (np.integer, (3, 5))}, "is of type float32; integer is needed"),
        ({"float32": (np.float32, (3, 6))}, r"has shape \(3, 5\); \(3, 6\) is needed"),
        ({"float32": (np.float32, (None,))}, r"has shape \(3, 5\); \(any\) is needed"),
        ({"scalar": (np.float64, (None,))}, r"has shape \(\); \(any\) is needed"),
    ],
)
def test_check_arrays_names_what_is_wrong(
    tmp_path: Path, wrong: dict[str, object], message: str
) -> None:
    archive = read_archive(write_sample(tmp_path / "model"))
    with pytest.raises(ArchiveError, match=message) as caught:
        check_arrays(archive, {**EXPECTED, **wrong})
    assert str(archive.path) in str(caught.value)
