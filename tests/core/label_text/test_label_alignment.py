"""Texts of labels come in the order of a model; what is unclear is left out, not guessed."""

from __future__ import annotations

import pytest

from rmls.core.errors import InputError
from rmls.core.label_text import LabelText, is_words

BREADS = LabelText(
    ids=("http://x.org/c/1", "http://x.org/c/2", "http://x.org/c/3"),
    names=("bread", "rye bread", "flour"),
    alternatives=(("loaf",), (), ()),
    parents=((), ("http://x.org/c/1",), ()),
    codes=(("A10",), ("A11",), ("B20",)),
)


@pytest.mark.parametrize(
    "name",
    [
        "Bread", "gluten-free", "tax law", "EU law", "NATO", "vitamin B12", "World War 2",
        "21st century", "1990s art", "covid-19", "accessibility::ocr", "Хлеб", "食品", "税", "パン",
        "한국어", "ภาษาไทย", "कर", "ضريبة", "מס", "2型糖尿病", "goats’ milk cheese", "c_bread",
    ],
)  # fmt: skip
def test_words(name: str) -> None:
    assert is_words(name)


@pytest.mark.parametrize(
    "name",
    [
        "B12.3", "http://x.org/4711", "https://x.org/bread", "urn:nbn:de:4711", "c_2843", "12", "",
        "  ", "A.A1", "Class1", "Q42", "D000328", "E11.9", "2.0", "-", "x", "GO:0008150",
        "eurovoc:4711", "550e8400-e29b-41d4-a716-446655440000", "EN 1090", "٤٢", "第3",
    ],
)  # fmt: skip
def test_codes(name: str) -> None:
    assert not is_words(name)


@pytest.mark.parametrize(
    ("labels", "way", "others"),
    [
        (["http://x.org/c/2", "http://x.org/c/1"], "id", ["http://x.org/c/3"]),
        (["2", "1"], "last part", ["3"]),
        ([2, 1], "last part", ["3"]),
        (["a11", "A10 "], "code", ["B20"]),
        (["rye bread", "bread"], "name", ["flour"]),
        (["Rye-Bread", "BREAD"], "folded name", ["flour"]),
        (["http://other.org/2", "http://other.org/1/"], "last part", ["3"]),
    ],
)
def test_a_label_is_found_in_every_way_and_others_are_written_alike(labels, way, others) -> None:
    aligned = BREADS.align(labels)
    assert aligned.labels == (*labels, *others)
    assert aligned.names == ("rye bread", "bread", "flour")
    assert aligned.alternatives == ((), ("loaf",), ())
    assert aligned.parents == ((1,), (), ())
    assert (aligned.n_known, aligned.n_others, len(aligned)) == (2, 1, 3)
    assert aligned.matched[way] == 2
    assert aligned.notes == ()


def test_the_order_of_the_table_does_not_matter() -> None:
    turned = LabelText(BREADS.ids[::-1], BREADS.names[::-1], parents=BREADS.parents[::-1])
    labels = ["3", "1", "2"]
    assert (
        turned.align(labels).names == BREADS.align(labels).names == ("flour", "bread", "rye bread")
    )
    assert turned.align(labels).parents == BREADS.align(labels).parents


def test_a_label_that_is_not_there_is_called_by_itself_if_it_is_words() -> None:
    aligned = BREADS.align(["1", "yeast", "Z99"])
    assert aligned.names[:3] == ("bread", "yeast", "")
    assert aligned.notes == ("2 labels not in the label text (yeast, Z99)",)


def test_a_label_without_a_name_is_called_by_itself_or_its_address() -> None:
    text = LabelText(("http://x.org/Tax_law", "7", "sugar"), ("", "", ""))
    assert text.align(["7", "Tax_law", "sugar"]).names == ("", "Tax_law", "sugar")
    assert text.align(["7"]).names == ("", "Tax_law", "sugar")


def test_names_of_two_labels_match_none_and_are_counted() -> None:
    text = LabelText(("u1", "u2", "u3"), ("Mercury", "mercury", "Venus"))
    assert text.align(["mercury", "venus"]).names[:2] == ("mercury", "Venus")
    aligned = text.align(["MERCURY", "venus"])
    assert aligned.names == ("MERCURY", "Venus")
    assert aligned.labels == ("MERCURY", "venus")
    assert aligned.notes == ("1 label with more than one match, left without (MERCURY)",)


def test_two_labels_of_the_model_that_mean_one_get_it_never_both() -> None:
    text = LabelText(("u1", "u2"), ("tax law", "sugar"))
    aligned = text.align(["Tax-Law", "Tax_law", "sugar"])
    assert aligned.names == ("Tax-Law", "Tax_law", "sugar")
    assert aligned.notes == ("2 labels with more than one match, left without (Tax-Law, Tax_law)",)
    exact = text.align(["tax law", "Tax_law", "sugar"])
    assert exact.labels == ("tax law", "Tax_law", "sugar")
    assert exact.matched["name"] == 2
    coded = LabelText(("u1",), ("sugar",), codes=(("a", "b"),)).align(["a", "b"])
    assert coded.names == ("sugar", "")


def test_an_id_goes_before_the_name_of_another_label() -> None:
    text = LabelText(("tax", "law"), ("law", "tax"))
    assert text.align(["law", "tax"]).names == ("tax", "law")


def test_others_can_be_left_out_and_parents_are_then_those_above() -> None:
    text = LabelText(
        ("1", "2", "3", "4"), ("food", "bread", "rye bread", "rye"),
        parents=((), ("1",), ("2", "4"), ()),
    )  # fmt: skip
    aligned = text.align(["3", "1"], add_others=False)
    assert aligned.labels == ("3", "1")
    assert aligned.parents == ((1,), ())


def test_others_that_are_deprecated_or_say_nothing_are_left_out() -> None:
    text = LabelText(("1", "2", "3"), ("bread", "", "horse butter"), deprecated=frozenset({"3"}))
    aligned = text.align(["1"])
    assert aligned.labels == ("1",)
    assert aligned.notes == ("2 labels of the label text left out: deprecated, or no words",)
    assert text.align(["1", "3"]).names == ("bread", "horse butter")


def test_others_keep_their_ids_where_their_names_are_no_good() -> None:
    text = LabelText(("1", "2", "3", "4"), ("bread", "cake", "cake", "1"))
    assert text.align(["bread"]).labels == ("bread", "2", "3", "1")
    named = LabelText(("1", "2", "3"), ("bread", "cake", "2"))
    assert named.align(["bread"]).labels == ("bread", "cake", "3")


def test_a_table_of_other_labels_is_refused() -> None:
    with pytest.raises(InputError, match="has none of the 2 labels: they are called x, y, those"):
        BREADS.align(["x", "y"])


def test_no_labels_at_all() -> None:
    assert BREADS.align([]).labels == BREADS.ids
    assert BREADS.align([], add_others=False).labels == ()
    assert LabelText((), ()).align(["tax"]).names == ("tax",)


def test_columns_of_unequal_length_and_ids_twice_are_refused() -> None:
    with pytest.raises(InputError, match="there are 2 labels but 1 names"):
        LabelText(("a", "b"), ("x",))
    with pytest.raises(InputError, match="the label 'a' is there twice"):
        LabelText(("a", "b", "a"), ("x", "y", "z"))


def test_many_labels_in_a_long_chain() -> None:
    n = 20_000
    ids = tuple(f"http://x.org/{number}" for number in range(n))
    text = LabelText(ids, tuple(f"label {number}" for number in range(n)),
                     parents=((), *((id,) for id in ids[:-1])))  # fmt: skip
    aligned = text.align([str(number) for number in range(n)])
    assert aligned.matched["last part"] == n
    # A chain whose middle is not there: every label climbs once, to the label above.
    assert text.align(["0", str(n - 1)], add_others=False).parents == ((), (0,))
