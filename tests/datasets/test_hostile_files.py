"""A few bytes that ask for much, memory, time or long sentences, are refused in one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import time
import zipfile
from importlib import import_module

import numpy as np
import pytest

from rmls.core import resources
from rmls.core.errors import FileFormatError, InputError
from rmls.datasets import Dataset, load, save
from rmls.datasets.formats import MAX_EXPANSION, SMALL_ENOUGH

LONG = "9" * 5000
HEAD = "@relation {}\n@attribute a numeric\n@attribute y {{0,1}}\n@data\n1,1\n"


@pytest.fixture
def small_machine(monkeypatch):
    """Let the machine have little memory, whatever it has."""
    monkeypatch.setattr(resources, "available_memory", lambda: 8 * 10**9)


ANNOUNCED = {
    "labels of xmc": (".xmc", "1 3 2147483647\n0 1:1\n"),
    "features of xmc": (".xmc", "1 2147483647 3\n0 1:1\n"),
    "labels of the authors": (".rmls", "#num_feature=3 num_label=2147483647\n0 1:1\n"),
    "a feature of svmlight": (".svm", "0 2147483646:1\n"),
    "a label of svmlight": (".svm", "2147483646 1:1\n"),
    "the comment of svmlight": (".svm", "# rmls n_features=2 n_labels=2147483647\n0 1:1\n"),
}


@pytest.mark.parametrize("case", ANNOUNCED)
def test_columns_that_nothing_could_be_done_with_are_refused(case, tmp_path, small_machine):
    ending, text = ANNOUNCED[case]
    path = tmp_path / f"a{ending}"
    path.write_text(text)
    with pytest.raises(InputError, match=r"needs \d+\.\d GB of memory but 8.0 GB is available"):
        load(path)


def test_columns_of_npz_and_arff_are_counted_too(tmp_path, small_machine):
    save(Dataset([[1]], [[1]]), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        changed = {**arrays, "Y_shape": np.array([1, 2**31 - 1])}
    np.savez(tmp_path / "a.npz", **changed)
    with pytest.raises(InputError, match="2,147,483,647 labels needs"):
        load(tmp_path / "a.npz")
    # Every sparse row means the first value of every attribute that it leaves out.
    many = "".join(f"@attribute a{at} {{1,0}}\n" for at in range(20_000))
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation 'r: -C 1'\n@attribute y {0,1}\n" + many + "@data\n" + "{}\n" * 20_000
    )
    with pytest.raises(InputError, match="20,000 attributes whose first value is not 0 needs"):
        load(path)


def test_text_beyond_the_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a.svm"
    path.write_text("0 1:1\n" * 1000)
    monkeypatch.setattr(resources, "available_memory", lambda: 10_000)
    with pytest.raises(InputError, match=r"needs 12\.0 kB of memory but 10\.0 kB is available"):
        load(path)


NUMBERS = {
    "rows of xmc": (".xmc", f"{LONG} 3 3\n0 1:1\n"),
    "labels of xmc": (".xmc", f"1 3 {LONG}\n0 1:1\n"),
    "features of the authors": (".rmls", f"#num_feature={LONG} num_label=2\n0 1:1\n"),
    "comment of svmlight": (".svm", f"# rmls n_features={LONG} n_labels=2\n0 1:1\n"),
    "comment over 64 bits": (".svm", f"# rmls n_features={2**70} n_labels=2\n0 1:1\n"),
    "split of svmlight": (".svm", f"# rmls n_features=2 n_labels=2 n_train={LONG}\n0 1:1\n"),
    "index over 64 bits": (".svm", f"0 {2**60}:1\n0 {2**70}:1\n"),
    "label over 64 bits": (".svm", f"{2**70} 1:1\n"),
    "labels of meka": (".arff", HEAD.format(f"'r: -C {LONG}'")),
    "split of meka": (".arff", HEAD.format(f"'r: -C -1 -split-number {LONG}'")),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_of_any_length_are_refused_in_a_short_sentence(case, tmp_path):
    ending, text = NUMBERS[case]
    path = tmp_path / f"a{ending}"
    path.write_text(text)
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert len(str(caught.value)) < len(str(path)) + 200


WORD = "x" * 10_000
TOKENS = {
    "label": (".svm", f"{WORD} 1:1\n"),
    "value": (".svm", f"1 1:{WORD}\n"),
    "xmc": (".xmc", f"1 3 3\n0 {WORD}\n"),
    "attribute": (".arff", HEAD.format("r").replace("@attribute a numeric", f"@attribute {WORD}")),
    "type": (".arff", HEAD.format("r").replace("a numeric", f"{WORD} {WORD}")),
    "line": (".arff", WORD),
    "nominal": (".arff", HEAD.format("r").replace("{0,1}", "{" + WORD + " '}")),
    "cell": (".arff", HEAD.format("'r: -C -1'") + f"{WORD},1\n"),
    "word": (".arff", HEAD.format("'r: -C -1'") + f"1,{WORD}\n"),
    "name": (
        ".arff",
        HEAD.format("'r: -C -1'").replace("attribute y", f"attribute {WORD}") + "1,2",
    ),
}


@pytest.mark.parametrize("case", TOKENS)
def test_a_sentence_repeats_no_word_of_ten_thousand_letters(case, tmp_path):
    ending, text = TOKENS[case]
    path = tmp_path / f"a{ending}"
    path.write_text(text)
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert len(str(caught.value)) < len(str(path)) + 200
    assert "\n" not in str(caught.value)


def test_names_in_sentences_are_short_too(tmp_path, folders):
    for failing in (
        lambda: load(WORD),
        lambda: load(tmp_path / "a.npz", format=WORD),
        lambda: Dataset([[1]], [[1]], label_names=[f"{WORD}\n"]),
        lambda: save(Dataset([[1]], [[1]], label_names=[f"{WORD}\x01"]), tmp_path / "a.arff"),
    ):
        with pytest.raises(InputError) as caught:
            failing()
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize("encoding", ["klingon", "utf-16", "big5", "shift_jis", "utf-7", "hex"])
def test_an_odd_encoding_of_the_xml_file_gives_one_sentence(encoding, tmp_path):
    (tmp_path / "a.arff").write_text(HEAD.format("r"))
    text = f'<?xml version="1.0" encoding="{encoding}"?><labels><label name="y"/></labels>'
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        load(tmp_path / "a.arff")
    assert str(caught.value).startswith(f"{tmp_path / 'a.xml'}, line 1: ")


@pytest.mark.parametrize("encoding", ["hex", "idna", "undefined", "utf-16", "a\0", "", 7])
def test_what_is_no_encoding_of_arff_is_refused(encoding, tmp_path):
    (tmp_path / "a.arff").write_text(HEAD.format("'r: -C -1'"))
    with pytest.raises(InputError, match="unknown encoding"):
        load(tmp_path / "a.arff", encoding=encoding)


def test_half_a_letter_is_no_name(tmp_path):
    with pytest.raises(InputError, match="half of a surrogate pair"):
        Dataset([[1]], [[1]], label_names=["a\ud800"])
    text = HEAD.format("'r: -C -1'").replace("attribute y", "attribute y\\ud800")
    (tmp_path / "a.arff").write_text(text)
    with pytest.raises(InputError, match="half of a surrogate pair"):
        load(tmp_path / "a.arff", encoding="unicode_escape")


def test_a_header_without_its_line_end_announces_rows_that_are_not_there(tmp_path):
    path = tmp_path / "a.xmc"
    for header in ("1 3 3", "1 3 3\n"):
        path.write_text(header)
        with pytest.raises(FileFormatError, match="announces 1 rows, the file has 0"):
            load(path)
    path.write_text("1 3 3\n\n")
    assert load(path).n_samples == 1


def seconds_to_load(path):
    # Time of this process, whatever else the machine does.
    start = time.process_time()
    load(path)
    return time.process_time() - start


@pytest.mark.parametrize("values", ["text", "numbers", "quoted", "attributes"])
def test_the_values_of_arff_are_read_in_linear_time(values, tmp_path):
    def write(n):
        path = tmp_path / f"{n}.arff"
        word = "'{}'" if values == "quoted" else "w{}" if values == "text" else "{}"
        head = "@relation 'r: -C 1'\n@attribute y {0,1}\n"
        if values == "attributes":
            lists = "".join(f"@attribute a{at} {{{at},{at + 1}}}\n" for at in range(n))
            rows = f"1,{','.join(map(str, range(n)))}\n" * 5
            path.write_text(f"{head}{lists}@data\n{rows}")
        else:
            listed = ",".join(word.format(at) for at in range(n))
            rows = "".join(f"1,{word.format(at)}\n" for at in range(n))
            path.write_text(f"{head}@attribute a {{{listed}}}\n@data\n{rows}")
        return path

    load(write(100))
    # In quadratic time 10,000 quoted numbers took 40 seconds.
    assert seconds_to_load(write(10_000)) < 5


@pytest.mark.parametrize("packer", [gzip, bz2], ids=["gzip", "bzip2"])
def test_a_bomb_of_text_is_refused_under_any_name(packer, tmp_path, monkeypatch):
    # The package exports a function of the same name.
    module = import_module("rmls.datasets.formats")
    monkeypatch.setattr(module, "SMALL_ENOUGH", 1 << 12)
    monkeypatch.setattr(module, "CHUNK", 1 << 12)
    path = tmp_path / "bomb.svm"
    path.write_bytes(packer.compress(b"1 1:1\n" * (1 << 18)))
    with pytest.raises(FileFormatError, match="grows more than 200-fold"):
        load(path)


@pytest.mark.parametrize("packer", [gzip, bz2], ids=["gzip", "bzip2"])
def test_compressed_text_that_is_damaged_anywhere_gives_one_sentence(packer, tmp_path):
    path = tmp_path / "a.svm"
    whole = packer.compress(b"".join(b"%d %d:0.5\n" % (row % 3, row % 9) for row in range(300)))
    sentences = []
    for at in range(0, len(whole), max(1, len(whole) // 80)):
        for broken in (whole[:at], whole[:at] + b"\xa5" + whole[at + 1 :]):
            path.write_bytes(broken)
            try:
                load(path)
            except FileFormatError as error:
                sentences.append(str(error))
    assert len(sentences) > 80
    assert not [sentence for sentence in sentences if "\n" in sentence]


@pytest.mark.parametrize("ending", ["gz", "bz2"])
def test_plain_text_with_the_ending_of_compressed_text_is_read(ending, tmp_path):
    path = tmp_path / f"a.svm.{ending}"
    path.write_text("0,1 0:0.5 2:1\n")
    assert load(path).X.toarray().tolist() == [[0.5, 0, 1]]


@pytest.mark.parametrize(("magic", "kind"), [(b"\xfd7zXZ\0\0", "xz"), (b"PK\x03\x04\x14\0", "zip")])
def test_other_packed_files_are_named(magic, kind, tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(magic + b"1234")
    with pytest.raises(FileFormatError, match=f"packed with {kind}; unpack it first"):
        load(path)


def npz_bomb(path, names, n_bytes):
    """Write members of many zeros, which deflate to a thousandth."""
    member = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": (n_bytes // 4,)}
    np.lib.format.write_array_header_1_0(member, header)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(f"{name}.npy", member.getvalue() + bytes(n_bytes))


def test_an_npz_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.npz"
    npz_bomb(path, ["X_data", "X_indices"], SMALL_ENOUGH // 2 + 100)
    assert path.stat().st_size < SMALL_ENOUGH // MAX_EXPANSION
    with pytest.raises(
        FileFormatError, match=r"grow more than 200-fold when unpacked, to 67\.1 MB"
    ):
        load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_npz_with_an_array_twice_is_refused(tmp_path):
    path = tmp_path / "twice.npz"
    npz_bomb(path, ["X_data"] * 400, 400)
    with pytest.raises(FileFormatError, match="holds the array 'X_data' twice"):
        load(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_npz_that_numpy_would_not_write_is_refused(method, tmp_path):
    path = tmp_path / "odd.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("X_data.npy", b"1234")
    with pytest.raises(FileFormatError, match="'X_data' is compressed in an unusual way"):
        load(path)


def test_what_shrinks_like_a_bomb_is_written_so_that_it_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr("rmls.datasets.npz.SMALL_ENOUGH", 1 << 16)
    ones = Dataset(np.ones((2000, 200), np.float32), np.ones((2000, 1)))
    save(ones, tmp_path / "ones.npz")
    assert load(tmp_path / "ones.npz").X.nnz == 400_000
