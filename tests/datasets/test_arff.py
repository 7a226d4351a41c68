"""Mulan and MEKA files: quoting, nominal values, label order, and everything that can be wrong."""

from __future__ import annotations

import numpy as np
import pytest

from rmls.core.errors import FileFormatError, InputError
from rmls.datasets import Dataset, load, save

HEAD = "@relation toy\n@attribute a numeric\n@attribute b {0,1}\n@attribute c {0,1}\n@data\n"
XML = '<labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'


def write(folder, text, *labels, name="toy"):
    path = folder / f"{name}.arff"
    path.write_text(text, encoding="utf-8", newline="")
    if labels:
        items = "".join(f'<label name="{label}"></label>' for label in labels)
        (folder / f"{name}.xml").write_text(XML.format(items), encoding="utf-8")
    return path


def test_sparse_and_dense_rows_mean_the_same(tmp_path):
    dense = load(write(tmp_path, HEAD + "2.5,0,1\n0,1,0\n0,0,0\n", "b", "c", name="dense"))
    sparse = load(write(tmp_path, HEAD + "{0 2.5, 2 1}\n{1 1}\n{ }\n", "b", "c", name="sparse"))
    assert np.array_equal(dense.X.toarray(), sparse.X.toarray())
    assert np.array_equal(dense.Y.toarray(), sparse.Y.toarray())
    assert dense.Y.toarray().tolist() == [[0, 1], [1, 0], [0, 0]]


def test_the_xml_file_orders_the_labels_wherever_they_stand(tmp_path):
    text = "@relation r\n@attribute y {0,1}\n@attribute a real\n@attribute x {0,1}\n@data\n1,5,0\n"
    data = load(write(tmp_path, text, "x", "y"))
    assert data.label_names == ["x", "y"]
    assert data.Y.toarray().tolist() == [[0, 1]]
    assert data.feature_names == ["a"]


def test_nested_labels_are_found_in_document_order(tmp_path):
    path = write(tmp_path, HEAD + "1,1,0\n")
    nested = '<label name="c"><label name="b"/></label>'
    (tmp_path / "toy.xml").write_text(XML.format(nested))
    assert load(path).label_names == ["c", "b"]


def test_keywords_in_any_case_comments_and_quotes_are_read(tmp_path):
    text = """% a comment
@RELATION 'a "b"'

@Attribute 'it\\'s, {ok}' NUMERIC
@attribute "say \\"hi\\"" Real
@attribute\tplain{0,1}
% another
@attribute 'two words' { '0' , "1" }
@DATA
% inside
1, -2e1 ,0,1

 {1 3,3 '1'}
"""
    data = load(write(tmp_path, text, "plain", "two words"))
    assert data.feature_names == ["it's, {ok}", 'say "hi"']
    assert data.X.toarray().tolist() == [[1, -20], [0, 3]]
    assert data.Y.toarray().tolist() == [[0, 1], [0, 1]]


def test_nominal_features_are_encoded_as_documented(tmp_path):
    text = """@relation r
@attribute sex {male,female}
@attribute day {mon,tue,'wed nes'}
@attribute size {1,2,4}
@attribute y {0,1}
@data
female,'wed nes',4,1
male,mon,1,0
{}
?,?,?,0
"""
    data = load(write(tmp_path, text, "y"))
    assert data.feature_names == ["sex", "day=mon", "day=tue", "day=wed nes", "size"]
    assert data.X.toarray().tolist() == [
        [1, 0, 0, 1, 4],
        [0, 1, 0, 0, 1],
        [0, 1, 0, 0, 1],
        [0, 0, 0, 0, 0],
    ]


def test_an_omitted_nominal_value_is_the_first_of_its_list(tmp_path):
    head = "@relation r\n@attribute a {5,0}\n@attribute y {1,0}\n@attribute z {no,yes}\n@data\n"
    text = head + "{}\n{0 0,1 0,2 yes}\n"
    data = load(write(tmp_path, text, "y", "z"))
    assert data.X.toarray().tolist() == [[5], [0]]
    assert data.Y.toarray().tolist() == [[1, 0], [0, 1]]


def test_truth_words_are_read_by_meaning_not_by_position(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute y {TRUE,FALSE}\n@data\n1,TRUE\n2,FALSE\n"
    assert load(write(tmp_path, text, "y")).Y.toarray().tolist() == [[1], [0]]


def test_numbers_count_up_to_what_float32_rounds_to_infinity(tmp_path):
    # The shortest text of the largest float32 is a little more than it is.
    largest, beyond = "3.4028235e38", "3.4028236e38"
    head = "@relation r\n@attribute a {{{0},5,8}}\n@attribute b real\n@attribute y {{{0},1}}\n"
    rows = "@data\n{0},'{0}',1\n5,-{0},1\n"
    data = load(write(tmp_path, (head + rows).format(largest), "y"))
    most = float(np.finfo(np.float32).max)
    assert data.X.toarray().tolist() == [[most, most], [5, -most]]
    assert data.Y.toarray().tolist() == [[1], [1]]
    with pytest.raises(FileFormatError, match="line 6: value of 'b' is not a finite number"):
        load(write(tmp_path, (head + rows).format(beyond), "y"))


@pytest.mark.parametrize("values", ["mon,no", "3,1"])
def test_a_left_out_label_that_is_neither_0_nor_1_is_refused_with_its_line(values, tmp_path):
    path = write(tmp_path, HEAD.replace("c {0,1}", f"c {{{values}}}") + "{0 2}\n", "b", "c")
    with pytest.raises(FileFormatError, match="line 6: label 'c' must be 0 or 1; left out it is"):
        load(path)


def test_a_left_out_label_is_what_float32_makes_of_its_first_value(tmp_path):
    text = HEAD.replace("b {0,1}", "b {1e-46,1}").replace("c {0,1}", "c {1.000000001,0}")
    assert load(write(tmp_path, text + "{0 2}\n", "b", "c")).Y.toarray().tolist() == [[0, 1]]


def test_separators_of_unicode_stay_in_names(tmp_path):
    name = "a\x1c\x85\u2028b"
    path = write(tmp_path, HEAD.replace("attribute a", f"attribute '{name}'") + "1,0,1\n", "b", "c")
    assert load(path).feature_names == [name]


@pytest.mark.parametrize(("count", "names"), [(2, ["a", "b"]), (-2, ["b", "c"])])
def test_meka_counts_labels_from_the_front_or_the_back(count, names, tmp_path):
    text = HEAD.replace("toy", f"'toy: -C {count} -split-number 1'") + "1,0,1\n0,1,1\n"
    data = load(write(tmp_path, text))
    assert data.label_names == names
    assert data.n_train == 1


def test_the_caller_may_name_the_labels(tmp_path):
    path = write(tmp_path, HEAD + "1,0,1\n", "b", "c")
    assert load(path, labels=["c"]).label_names == ["c"]
    assert load(path, labels=-1).label_names == ["c"]


def test_mulan_train_and_test_files_share_one_xml(tmp_path):
    write(tmp_path, HEAD + "1,0,1\n", "b", "c")
    assert load(write(tmp_path, HEAD + "1,0,1\n", name="toy-train")).label_names == ["b", "c"]


def test_latin_1_names_need_the_option(tmp_path):
    path = write(tmp_path, HEAD + "1,0,1\n", "b", "c")
    path.write_bytes(path.read_bytes().replace(b"attribute a", b"attribute \xe9t\xe9"))
    with pytest.raises(FileFormatError, match="line 2: the text is not utf-8; pass encoding="):
        load(path)
    assert load(path, encoding="latin-1").feature_names == ["été"]
    with pytest.raises(InputError, match="unknown encoding"):
        load(path, encoding="klingon")


BAD_ROWS = {
    "too few values": ("1,0\n", "does not have the 3 values"),
    "too many values": ("1,0,1,1\n", "does not have the 3 values"),
    "not a number": ("x,0,1\n", "value of 'a' is not a finite number: 'x'"),
    "nan": ("nan,0,1\n", "value of 'a' is not a finite number: 'nan'"),
    "too large": ("1e39,0,1\n", "value of 'a' is not a finite number: '1e39'"),
    "a separator": ("\x1f1,0,1\n", "value of 'a' is not a finite number: '?1'"),
    "not in the list": ("1,7,1\n", "'7' is not among the values of 'b'"),
    "missing label": ("1,?,1\n", "label 'b' must be 0 or 1; it is missing"),
    "missing sparse label": ("{1 ?}\n", "label 'b' must be 0 or 1; it is missing"),
    "unclosed": ("{0 1, 1 1\n", "expected ',' or '}', found 'the line end'"),
    "unclosed after comma": ("{0 1,\n", "expected ',' or '}'"),
    "attribute out of range": ("{3 1}\n", "there is no attribute 3; the header declares 3"),
    "negative attribute": ("{-1 1}\n", "expected an attribute number and a value, found '-1 1}'"),
    "no value": ("{0}\n", "expected an attribute number and a value"),
    "attribute twice": ("{0 1, 1 1, 0 2}\n", "an attribute number appears twice"),
    "text behind": ("{0 1} huh\n", "does not have the 3 values"),
    "unclosed quote": ("1,0,'1\n", "''1' is not among the values of 'c'"),
    "two words": ("1 2,0,1\n", "expected ',', found '2,0,1'"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_broken_row_is_refused_with_its_line(case, tmp_path):
    row, sentence = BAD_ROWS[case]
    path = write(tmp_path, HEAD + "1,0,1\n" + row, "b", "c")
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{path}, line 7: ")
    assert "\n" not in str(caught.value)


BAD_HEADS = {
    "no data": (HEAD.replace("@data\n", ""), 4, "the file ends before @data"),
    "no rows": (HEAD, 5, "there are no rows behind @data"),
    "data first": ("@relation r\n@data\n1\n", 2, "@data comes before any @attribute"),
    "string": (HEAD.replace("numeric", "string") + "1,1,1\n", 2, "'a' is a string"),
    "no type": (HEAD.replace("a numeric", "a") + "1,1,1\n", 2, "cannot understand"),
    "odd line": ("hello\n" + HEAD, 1, "expected @attribute or @data, found 'hello'"),
    "two lines": (
        HEAD.replace("a num", "'a\r' num") + "1,1,1\n",
        2,
        "'a?' holds a carriage return",
    ),
    "two lines in a value": (HEAD.replace("b {0", "b {'\r'") + "1,1,1\n", 3, "carriage return"),
    "value twice": (HEAD.replace("{0,1}", "{0,0}") + "1,1,1\n", 3, "must be distinct"),
}


@pytest.mark.parametrize("case", BAD_HEADS)
def test_a_broken_head_is_refused_with_its_line(case, tmp_path):
    text, line, sentence = BAD_HEADS[case]
    path = write(tmp_path, text, "b", "c")
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


def test_without_xml_and_count_the_error_says_what_to_do(tmp_path):
    with pytest.raises(FileFormatError, match=r"Put toy\.xml beside the file or pass labels="):
        load(write(tmp_path, HEAD + "1,0,1\n"))


BAD_XML = {
    "unknown label": ('<labels><label name="zz"/></labels>', "label 'zz' is not among"),
    "no label": ("<labels></labels>", "the file names no label"),
    "no name": ("<labels>\n<label/></labels>", "toy.xml, line 2: a label without a name"),
    "cut": ('<labels><label name="b">', "not well-formed XML"),
    "all are labels": (XML.format('<label name="a"/><label name="b"/><label name="c"/>'), "3 of 3"),
    "entities": (
        '<!DOCTYPE labels [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><labels>&b;</labels>',
        "document type declarations are not allowed",
    ),
    "external": (
        '<!DOCTYPE labels SYSTEM "file:///etc/passwd"><labels/>',
        "document type declarations are not allowed",
    ),
}


@pytest.mark.parametrize("case", BAD_XML)
def test_a_broken_or_hostile_xml_file_is_refused(case, tmp_path):
    content, sentence = BAD_XML[case]
    path = write(tmp_path, HEAD + "1,0,1\n")
    (tmp_path / "toy.xml").write_text(content)
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("names", [["x", "x"], ["", "y"], ["a\x01", "y"], ["f0", "y"]])
def test_names_that_arff_cannot_hold_are_refused_before_writing(names, tmp_path):
    with pytest.raises(InputError, match="ARFF needs distinct, printable column names"):
        save(Dataset([[1]], [[1, 0]], label_names=names), tmp_path / "a.arff")
    assert not list(tmp_path.iterdir())
