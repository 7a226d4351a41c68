"""Every broken text file is refused with one sentence: file, line, and what is wrong."""

from __future__ import annotations

import pytest

from rmls.core.errors import FileFormatError
from rmls.datasets import load

BAD = {
    "index too large": (".xmc", "2 3 2\n0 0:1\n1 3:1\n", 3, "feature index 3 is out of range"),
    "label too large": (
        ".xmc",
        "1 3 2\n0,2 0:1\n",
        2,
        "label 2 is out of range; it must be below 2",
    ),
    "negative index": (".xmc", "1 3 2\n0 -1:1\n", 2, "index is negative: '-1:1'"),
    "negative label": (".xmc", "1 3 2\n-1 1:1\n", 2, "index is negative: '-1'"),
    "duplicate index": (".xmc", "2 3 2\n0 0:1\n0 1:1 0:2 1:3\n", 3, "appears twice"),
    "value not a number": (".xmc", "1 3 2\n0 1:x\n", 2, "value is not a number: 'x' (column 5)"),
    "number with a tail": (".xmc", "1 3 2\n0 1:1.5kg\n", 2, "value is not a number: '1.5kg'"),
    "two points": (".xmc", "1 3 2\n0 1:1.5.2\n", 2, "value is not a number"),
    "bare exponent": (".xmc", "1 3 2\n0 1:1e 2:1\n", 2, "value is not a number: '1e'"),
    "value missing": (".xmc", "1 3 2\n0 1:", 2, "value is not a number"),
    "nan": (".svm", "0 1:nan\n", 1, "value is not finite: 'nan'"),
    "infinity": (".svm", "0 1:-Inf\n", 1, "value is not finite: '-Inf'"),
    "overflow": (".svm", "0 1:1\n0 1:1e39\n", 2, "too large for float32: '1e39'"),
    "far overflow": (".svm", "0 1:1\n0 1:1e999\n", 2, "too large for float32: '1e999'"),
    "label not a number": (".svm", "spam 1:1\n", 1, "label is not a whole number: 'spam'"),
    "fractional label": (".svm", "1.5 1:1\n", 1, "label is not a whole number: '1.5'"),
    "trailing comma": (".svm", "1, 1:1\n", 1, "label is not a whole number"),
    "no colon": (".svm", "1 1:1 7\n", 1, "expected index:value, found '7'"),
    "index not a number": (".svm", "1 a:1\n", 1, "feature index is not a whole number: 'a:1'"),
    "index beyond int32": (".svm", "1 99999999999:1\n", 1, "is larger than 2147483646"),
    "label beyond int32": (".svm", "99999999999 1:1\n", 1, "is larger than 2147483646"),
    "latin-1 bytes": (".svm", b"1 1:1\n\xe9t\xe9 1:1\n", 2, "label is not a whole number"),
    "comment in xmc": (
        ".xmc",
        "1 3 2\n0 1:1 # hm\n",
        2,
        "feature index is not a whole number: '#'",
    ),
    "qid without a colon": (".svm", "1 qid 1:1\n", 1, "feature index is not a whole number: 'qid'"),
    "a word like qid": (".svm", "1 qids:3 1:1\n", 1, "not a whole number: 'qids:3'"),
    "too few rows": (".xmc", "3 3 2\n0 1:1\n", 1, "the header announces 3 rows, the file has 1"),
    "too many rows": (".xmc", "1 3 2\n0 1:1\n0 1:1\n", 1, "announces 1 rows, the file has 2"),
    "huge row count": (".xmc", "999999999999 5 5\n0 1:1\n", 1, "announces 999999999999 rows"),
    "huge columns": (".xmc", "1 999999999999 5\n0 1:1\n", 1, "announces 999999999999 features"),
    "no header": (".xmc", "0 1:1\n", 1, "the first line must be: rows features labels"),
    "no authors header": (".rmls", "0 1:1\n", 1, "the first line must be: #num_feature=D"),
    "half a header": (".rmls", "#num_feature=3\n0 1:1\n", 1, "must give num_label"),
    "no rows": (".svm", "# only a comment\n", None, "the file has no rows"),
    "huge size in our comment": (
        ".svm",
        "# rmls n_features=99999999999\n0 1:1\n",
        1,
        "the comment gives n_features as a number that is larger than 2147483647",
    ),
    "split too long": (
        ".svm",
        "# rmls n_features=2 n_labels=1 n_train=9\n0 1:1\n",
        1,
        "announces 9 training rows",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_broken_file_is_refused_with_file_line_and_reason(case, tmp_path):
    ending, content, line, sentence = BAD[case]
    path = tmp_path / f"bad{ending}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FileFormatError) as caught:
        load(path)
    message = str(caught.value)
    assert sentence in message
    assert message.startswith(f"{path}, line {line}: " if line else f"{path}: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 160


def test_an_index_beyond_the_given_size_names_its_line(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("# note\n0 0:1\n0 4:1\n")
    with pytest.raises(FileFormatError, match="line 3: feature index 4 is out of range for 2"):
        load(path, n_features=2)


def test_text_that_fits_no_format_is_refused(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("Dear all, please find attached\n")
    with pytest.raises(FileFormatError, match="line 1: the first line fits none of the formats"):
        load(path)


def test_names_that_do_not_fit_are_refused(tmp_path):
    (tmp_path / "a.xmc").write_text("1 3 2\n0 1:1\n")
    (tmp_path / "a.labels.txt").write_text("one\ntwo\nthree\n")
    with pytest.raises(FileFormatError, match=r"a\.labels\.txt.*3 names, but a\.xmc has 2 labels"):
        load(tmp_path / "a.xmc")
    (tmp_path / "a.labels.txt").write_bytes(b"\xe9\xe9\n\xff\n")
    with pytest.raises(FileFormatError, match="not UTF-8"):
        load(tmp_path / "a.xmc")


def test_a_row_behind_a_carriage_return_is_not_lost(tmp_path):
    path = tmp_path / "toy.rmls"
    path.write_bytes(b"#num_feature=9 num_label=2\n1 0:1\n\r 7:2\n\r\n\n\r0 3:1 \n")
    with pytest.raises(FileFormatError, match="line 6: expected index:value, found '0'"):
        load(path)
    path.write_bytes(b"#num_feature=9 num_label=2\n1 0:1\n\r 7:2\n\r\n\n")
    assert load(path).X.toarray().argmax(axis=1).tolist() == [0, 7]


@pytest.mark.parametrize("tail", ["", "\n", " ", "\r", "\n \n", " \n\t", "\n\n"])
def test_blank_lines_behind_the_announced_rows_are_ignored(tail, tmp_path):
    path = tmp_path / "toy.xmc"
    path.write_text("2 3 2\n0 0:1\n 1:1\n" + tail)
    assert load(path).X.nnz == 2


@pytest.mark.parametrize("end", ["", "\r", "\n"])
def test_a_header_alone_has_no_rows(end, tmp_path):
    path = tmp_path / "toy.xmc"
    path.write_text(f"0 3 2{end}", newline="")
    assert load(path).X.shape == (0, 3)


def test_other_keys_in_our_comment_are_ignored_whatever_they_say(tmp_path):
    path = tmp_path / "toy.svm"
    path.write_text(f"# rmls n_features=4 {'A' * 5000}={'9' * 5000}\n0 1:1\n")
    assert load(path).X.shape == (1, 4)


def test_a_name_with_a_carriage_return_is_refused_with_its_file_and_line(tmp_path):
    path = tmp_path / "toy.xmc"
    path.write_text("1 1 2\n0 0:1\n")
    (tmp_path / "toy.labels.txt").write_bytes(b"tax\r\nl\rw\r\n")
    with pytest.raises(FileFormatError, match=r"labels\.txt, line 2: .* carriage return"):
        load(path)


def test_characters_that_break_lines_elsewhere_stay_in_names(tmp_path):
    path = tmp_path / "toy.xmc"
    path.write_text("1 1 2\n0 0:1\n")
    names = ["a\x1cb\x85", "c\u2028d\x0b"]
    (tmp_path / "toy.labels.txt").write_text("\n".join(names), encoding="utf-8")
    assert load(path).label_names == names


def test_a_name_with_a_nul_is_refused_with_its_file_and_line(tmp_path):
    path = tmp_path / "toy.xmc"
    path.write_text("1 1 2\n0 0:1\n")
    (tmp_path / "toy.labels.txt").write_text("tax\nl\0w\n")
    with pytest.raises(FileFormatError, match=r"toy\.labels\.txt, line 2: a name holds .* NUL"):
        load(path)
