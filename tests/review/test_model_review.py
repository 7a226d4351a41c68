"""A review of a model: what was planted in held-out rows is found, and the page stands alone."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from review_samples import N_TOPICS, topic_table

from rmls import PLST, AllIrrelevant, MostFrequent, RMLSRanker, TextRanker, review_model
from rmls.core.errors import InputError
from rmls.datasets import Dataset, make_longtail
from rmls.datasets.tables import TextTable
from rmls.review import Review
from rmls.review.learnability import CountBin, needed_rows

TRAIN = topic_table(900, seed=1)


@pytest.fixture(scope="module")
def model() -> TextRanker:
    return TextRanker(RMLSRanker(16, max_iter=5)).fit(TRAIN.texts, TRAIN.labels)


def held_out(n_rows: int = 400) -> TextTable:
    return topic_table(n_rows, seed=2)


@pytest.fixture(scope="module")
def clean(model: TextRanker) -> Review:
    return review_model(model, held_out(), TRAIN)


def test_a_good_model_on_clean_rows_is_said_to_be_good(clean: Review) -> None:
    assert clean.quality.values["TextRanker", "P@1", "all"].value > 0.95
    assert clean.quality.methods == ("TextRanker", "one-vs-rest SVM")
    assert (clean.n_train, clean.n_held_out, clean.n_labels) == (900, 400, N_TOPICS)
    assert clean["leaked_text"] is None
    assert clean["unknown_label"] is None
    assert clean.reliability is not None
    assert 3 <= len(clean.advice) + 1 <= 7


def test_planted_missing_labels_are_found(model: TextRanker) -> None:
    table = held_out()
    assert table.labels is not None
    planted = [row for row in range(400) if len(table.labels[row]) == 2][:30]
    for row in planted:
        table.labels[row] = table.labels[row][:1]
    found = review_model(model, table)["missing_label"]
    assert found is not None
    hits = len(set(found.rows) & set(planted))
    assert hits / len(planted) > 0.8  # recall
    assert hits / len(found.rows) > 0.8  # precision


def test_planted_wrong_labels_are_found(model: TextRanker) -> None:
    table = held_out()
    assert table.labels is not None
    generator = np.random.default_rng(0)
    planted = generator.choice(400, 30, replace=False).tolist()
    for row in planted:
        others = [f"label {t}" for t in range(N_TOPICS) if f"label {t}" not in table.labels[row]]
        table.labels[row] = [*table.labels[row][:-1], str(generator.choice(others))]
    found = review_model(model, table)["mistaken_label"]
    assert found is not None
    hits = len(set(found.rows) & set(planted))
    assert hits / len(planted) > 0.8
    assert hits / len(found.rows) > 0.8


def test_labels_that_only_chance_tells_apart_are_confused() -> None:
    generator = np.random.default_rng(0)

    def torn(table: TextTable) -> TextTable:
        assert table.labels is not None
        table.labels = [
            [
                str(generator.choice(["label 0", "twin"])) if name == "label 0" else name
                for name in row
            ]
            for row in table.labels
        ]
        return table

    train, test = torn(topic_table(900, seed=1)), torn(held_out())
    fitted = TextRanker(RMLSRanker(16, max_iter=5)).fit(train.texts, train.labels)
    found = review_model(fitted, test)["confused"]
    assert found is not None
    assert {found.examples[0][0], found.examples[0][1]} == {"label 0", "twin"}


def test_texts_on_both_sides_are_found(model: TextRanker) -> None:
    table = held_out(200)
    for row in range(20):
        table.texts[row] = (TRAIN.texts[row][0].upper(),)
    review = review_model(model, table, TRAIN, baseline=None)
    found = review["leaked_text"]
    assert found is not None
    assert found.rows == tuple(range(20))
    assert review.without_leaks is not None
    assert review.without_leaks.n_rows == 180


def test_labels_that_training_does_not_have_are_named(model: TextRanker) -> None:
    table = held_out(100)
    assert table.labels is not None
    table.labels[0].append("novel")
    found = review_model(model, table, TRAIN, baseline="knn")["unknown_label"]
    assert found is not None
    assert found.labels == ("novel",)


def test_labels_that_the_text_does_not_tell_are_found() -> None:
    generator = np.random.default_rng(5)

    def tossed(table: TextTable) -> TextTable:
        labels = [
            [*row, *(["chance"] if generator.random() < 0.06 else [])] for row in table.labels or []
        ]
        return TextTable(table.fields, table.texts, labels)

    # A frequent label comes among the best five of many rows, whatever they say.
    train, test = tossed(topic_table(1500, 1, 60)), tossed(topic_table(400, 2, 60))
    fitted = TextRanker(RMLSRanker(16, max_iter=5)).fit(train.texts, train.labels)
    found = review_model(fitted, test)["not_in_text"]
    assert found is not None
    assert found.labels == ("chance",)


def test_the_page_is_valid_and_fetches_nothing(clean: Review) -> None:
    page = clean.html("<my> model")
    root = ElementTree.fromstring(page)
    anchors = {section.get("id") for section in root.iter("section")}
    assert {link.attrib["href"].removeprefix("#") for link in root.iter("a")} == anchors
    assert {"quality", "learning", "reliability", "next"} <= anchors
    outside = re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]*|url\(|@import", page)
    assert outside == []
    # The one address is the name of SVG, which nothing is fetched from.
    assert set(re.findall(r"https?://[\w.]+", page)) <= {"http://www.w3.org"}


def test_the_terminal_shows_all_groups_side_by_side(clean: Review, capsys: Any) -> None:
    from rich.console import Console

    clean.print(Console(width=80, highlight=False, markup=False))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    header = next(line for line in shown.splitlines() if line.startswith("metric"))
    assert header.split() == ["metric", "of", "all", "head", "torso", "tail"]
    assert "What to do next" in shown


def test_texts_with_labels_are_rows_too(model: TextRanker) -> None:
    table = held_out(50)
    texts = [text for (text,) in table.texts]
    assert (
        review_model(model, (texts, table.labels)).as_dict()["quality"]
        == (review_model(model, table).as_dict()["quality"])
    )


def test_rows_of_numbers_are_reviewed_without_texts() -> None:
    data = make_longtail(400, 80, 15, random_state=0)
    split = Dataset(data.X, data.Y, n_train=300)
    fitted = RMLSRanker(8, max_iter=3).fit(split.train.X, split.train.Y)
    review = review_model(fitted, split.test, split.train)
    assert review.n_held_out == 100
    json.dumps(review.as_dict(), allow_nan=False)
    assert "Quality" in review.html()


@pytest.mark.parametrize("estimator", [PLST(4), MostFrequent(), AllIrrelevant()], ids=str)
def test_models_that_are_never_sure_are_reviewed_by_their_ranking(estimator: Any) -> None:
    fitted = TextRanker(estimator).fit(TRAIN.texts, TRAIN.labels)
    review = review_model(fitted, held_out(50))
    assert review["missing_label"] is None
    assert "Quality" in review.html()
    json.dumps(review.as_dict(), allow_nan=False)


def test_the_same_review_comes_again(model: TextRanker, clean: Review) -> None:
    assert review_model(model, held_out(), TRAIN, n_jobs=2).html() == clean.html()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (TextTable(("text",), [("a",)]), "has no labels"),
        (TextTable(("text",), [], []), "no held-out rows"),
        ((["a", "b"], [["x"]]), "2 texts but 1 lists"),
        (["a"], "rows are a TextTable"),
        (make_longtail(5, 4, 3), "reviewed on a table of texts"),
    ],
)
def test_what_cannot_be_reviewed_is_refused(model: TextRanker, rows: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        review_model(model, rows)  # type: ignore[arg-type]


def test_an_unknown_baseline_is_refused(model: TextRanker) -> None:
    with pytest.raises(InputError, match="baseline must be one of"):
        review_model(model, held_out(20), TRAIN, baseline="tree")


def bins(*shares: float) -> list[CountBin]:
    return [CountBin(low, low, 5, 5, share, share) for low, share in enumerate(shares)]


@pytest.mark.parametrize(
    ("found", "needed"),
    [
        (bins(0.0, 0.02, 0.05, 0.3, 0.5), 3),
        (bins(0.0, 0.3, 0.5), None),
        (bins(0.0, 0.02), None),
        (bins(0.0, 0.3, 0.02), None),
        ([], None),
    ],
)
def test_how_many_rows_a_label_needs(found: list[CountBin], needed: int | None) -> None:
    assert needed_rows(found) == needed
