"""What comes through a pipe comes once: telling its format takes no rows away."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import sys
import threading
from importlib import import_module

import numpy as np
import pytest

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets import Dataset, formats, load, make_longtail, save
from rmls.datasets.formats import HEAD_SIZE, Source, format_of

ALL = pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
pytestmark = pytest.mark.filterwarnings("ignore::rmls.core.errors.RmlsWarning")


@pytest.fixture
def fifo(tmp_path):
    """A named pipe without an ending, and a way to send bytes into it."""
    path = tmp_path / "rows"
    os.mkfifo(path)
    threads = []

    def send(content):
        def write():
            with open(path, "wb") as stream:
                stream.write(content)

        threads.append(threading.Thread(target=write, daemon=True))
        threads[-1].start()
        return path

    yield send
    for thread in threads:
        thread.join(timeout=30)


def written(format, tmp_path, dataset):
    path = tmp_path / f"data{format.extensions[0]}"
    save(dataset, path)
    return path.read_bytes()


@needs_pipes
@ALL
def test_every_row_of_a_pipe_arrives(format, fifo, tmp_path):
    made = make_longtail(3000, 60, 20, labels_per_row=2)
    content = written(format, tmp_path, made)
    assert len(content) > (HEAD_SIZE if format.compressible else 0)
    found = load(fifo(content))
    assert found.n_samples == 3000
    assert (found.X != made.X).nnz == 0
    assert (found.Y != made.Y).nnz == 0


@needs_pipes
@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress], ids=["gzip", "bzip2"])
def test_compressed_text_from_a_pipe_is_told_by_its_first_bytes(packed, fifo):
    rows = b"".join(b"%d %d:1.5\n" % (row % 7, row % 100) for row in range(20_000))
    assert load(fifo(packed(rows))).n_samples == 20_000


def test_a_minus_is_standard_input(monkeypatch, tmp_path):
    rows = b"1,2 1:0.5\n2 2:1\n" * 9000
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rows)))
    data = load("-")
    assert (data.n_samples, data.name) == (18_000, "stdin")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FileFormatError, match="there is no standard input"):
        load("-")


@needs_pipes
def test_a_source_of_a_stream_can_be_read_again(fifo):
    source = Source(fifo(b"1 1:1\n2 2:1\n"))
    assert format_of(source).name == "svmlight"
    assert [load(source).n_samples for _ in range(2)] == [2, 2]


@needs_pipes
def test_a_stream_without_an_end_is_refused_when_memory_does_not_suffice(fifo, monkeypatch):
    # The package exports a function of the same name.
    module = import_module("rmls.datasets.formats")
    monkeypatch.setattr(module, "CHUNK", 1 << 12)
    monkeypatch.setattr(module, "available_memory", lambda: 1 << 14)
    with pytest.raises(FileFormatError, match=r"takes more than the 16\.4 kB of memory"):
        load(fifo(b"1 1:1\n" * 10_000))


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="the system has no /dev/zero")
def test_a_device_without_an_end_is_no_text():
    for options in ({}, {"format": "svmlight"}):
        with pytest.raises(FileFormatError, match="binary, not text"):
            load("/dev/zero", **options)


@needs_pipes
def test_arff_from_a_pipe_says_where_its_labels_may_stand(fifo):
    text = b"@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n1,1\n"
    with pytest.raises(FileFormatError, match="write '-C n' into the relation"):
        load(fifo(text))
    assert load(fifo(text), labels=["y"]).label_names == ["y"]
    assert load(fifo(text.replace(b"@relation r", b"@relation 'r: -C -1'"))).label_names == ["y"]


@pytest.mark.parametrize("name", ["a\0b.svm", "a" * 300 + ".svm", "a" * 300, "a\ud800.svm", "a\0b"])
def test_names_that_no_file_can_have_give_one_sentence(name, tmp_path, folders):
    for given in (name, tmp_path / name):
        with pytest.raises(InputError) as caught:
            load(given)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError):
        save(Dataset([[1]], [[1]]), tmp_path / f"{name}.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]


def test_the_longest_name_is_written_and_read(tmp_path):
    path = tmp_path / ("a" * 251 + ".svm")
    save(Dataset([[1, 2]], [[1]]), path)
    assert np.array_equal(load(path).X.toarray(), [[1, 2]])


def test_a_name_of_undecodable_bytes_is_shown_with_question_marks(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.svm")
    try:
        path.write_bytes(b"1 1:1\n")
    except OSError:
        pytest.skip("the file system takes only UTF-8")
    assert load(path).name.encode("utf-8") == b"caf?"
