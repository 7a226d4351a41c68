"""TextRanker: texts in, labels out, by the conventions of scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from text_samples import make_texts

from rmls import KNN, PLST, RMLS, Calibrated, RMLSRanker, TextRanker
from rmls.core.errors import InputError
from rmls.datasets import load_artworks, read_texts

TEXTS, LABELS = make_texts()
NEW, TRUE = make_texts(20, seed=5)
NAMES = ["farm", "law", "sea", "tax"]
Y = np.array([[name in row for name in NAMES] for row in LABELS]).astype(int)
SMALL = RMLS(n_components=8, max_iter=20)


@pytest.fixture(scope="module")
def model() -> TextRanker:
    return TextRanker().fit(TEXTS, LABELS)


def test_suggestions_are_names_with_probabilities_most_likely_first(model: TextRanker) -> None:
    for row, truth in zip(model.suggest(NEW, k=4), TRUE, strict=True):
        assert {each.name for each in row} == {"tax", "sea", "farm", "law"}
        chances = [each.probability for each in row]
        assert chances == sorted(chances, reverse=True)
        assert all(0 <= chance <= 1 for chance in chances)
        assert {each.name for each in row[: len(truth)]} == set(truth)


@pytest.mark.parametrize("k", [1, 3, 4, 5])
def test_at_most_k_labels_are_suggested(model: TextRanker, k: int) -> None:
    assert [len(row) for row in model.suggest(NEW, k)] == [min(k, 4)] * len(NEW)


def test_unlikely_labels_are_left_out(model: TextRanker) -> None:
    likely = model.suggest(NEW, k=4, min_probability=0.5)
    expected = [[each for each in row if each.probability >= 0.5] for row in model.suggest(NEW, 4)]
    assert likely == expected
    assert 0 < sum(map(len, likely)) < 4 * len(NEW)


def test_predict_returns_the_lists_that_fit_was_given(model: TextRanker) -> None:
    assert [sorted(row) for row in model.predict(NEW)] == TRUE
    assert model.score(NEW, TRUE) == 1.0
    assert [sorted(row) for row in model.predict(NEW, "top_1")] != TRUE
    names = np.asarray(model.classes_)
    sets = model.predict_sets(NEW)
    assert [sorted(names[row.indices]) for row in sets] == TRUE


def test_probabilities_ranking_and_scores_agree(model: TextRanker) -> None:
    dense, ranking = model.predict_proba(NEW), model.rank(NEW, 2)
    assert dense.shape == model.decision_function(NEW).shape == (20, 4)
    names = model.classes_.tolist()
    for row, listed in enumerate(ranking):
        for entry in listed:
            assert dense[row, names.index(entry.label)] == pytest.approx(entry.probability)
    sets = [[entry.label for entry in row] for row in model.rank_sets(NEW)]
    assert [sorted(row) for row in sets] == TRUE


def test_several_fields_in_any_container_are_the_same_texts() -> None:
    pairs = [tuple(text.split(" ", 1)) for text in TEXTS]
    new = [tuple(text.split(" ", 1)) for text in NEW]
    frame = pd.DataFrame(pairs, columns=["title", "body"])
    models = [
        TextRanker(field_weights=[2, 1]).fit(X, LABELS)
        for X in (pairs, frame, {"title": frame["title"], "body": frame["body"]})
    ]
    asked: list[Any] = [new, pd.DataFrame(new, columns=["title", "body"])]
    # Columns are found by name: order and company do not matter.
    asked.append(asked[1].assign(other=1)[["other", "body", "title"]])
    answers = [
        model.predict_proba(X) for model, X in zip([*models[:2], models[2]], asked, strict=True)
    ]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])
    with pytest.raises(InputError, match=r"no column \['body'\]"):
        models[1].suggest(asked[1][["title"]])


def test_a_table_that_was_read_is_taken_by_its_columns(tmp_path: Any) -> None:
    table = read_texts({"title": TEXTS, "tags": [";".join(row) for row in LABELS]})
    model = TextRanker().fit(table.columns, table.labels)
    assert model.features_.fields_ == ("title",)
    assert model.suggest(NEW, 2) == TextRanker().fit(TEXTS, LABELS).suggest(NEW, 2)


@pytest.mark.parametrize("form", ["matrix", "classes", "frame"])
def test_labels_come_in_every_form_the_estimators_take(form: str) -> None:
    first = np.array([row[0] for row in LABELS])
    y = {"matrix": Y, "classes": first, "frame": pd.DataFrame(Y, columns=NAMES)}[form]
    model = TextRanker(SMALL).fit(TEXTS, y)
    assert type(model.predict(NEW)) is type(y)
    assert model.score(TEXTS, y) > 0.9
    names = TextRanker(SMALL).fit(TEXTS, Y, label_names=NAMES)
    assert names.classes_.tolist() == NAMES


def test_parameters_are_those_of_the_words_and_of_the_estimator() -> None:
    model = TextRanker(RMLSRanker(), stem="english", min_rows=2)
    assert model.get_params()["estimator__tail"] == RMLSRanker().tail
    model.set_params(estimator__tail=0.3, pairs=True)
    copy = clone(model)
    assert copy.estimator.tail == 0.3
    assert (copy.stem, copy.min_rows, copy.pairs) == ("english", 2, True)
    copy.fit(TEXTS, LABELS)
    assert copy.estimator_.tail == 0.3
    assert not hasattr(clone(copy), "estimator_")
    # What was given is left as it is.
    assert copy.estimator.normalize == RMLSRanker().normalize
    with pytest.raises(ValueError, match="no_such"):
        model.set_params(no_such=1)


def test_threads_reach_words_and_estimator_and_change_nothing() -> None:
    one, two = (TextRanker(n_jobs=n).fit(TEXTS, LABELS) for n in (None, 2))
    assert (one.estimator_.n_jobs, two.estimator_.n_jobs) == (None, 2)
    assert two.features_.n_jobs == 2
    found = [[[each.name for each in row] for row in m.suggest(NEW, 2)] for m in (one, two)]
    assert found[0] == found[1]


def test_cross_validation_and_grid_search_take_texts() -> None:
    scores = cross_val_score(TextRanker(SMALL), TEXTS, Y, cv=KFold(3))
    assert scores.min() > 0.8
    # With whole numbers of folds scikit-learn itself refuses lists.
    np.testing.assert_array_equal(
        scores, cross_val_score(TextRanker(SMALL), TEXTS, LABELS, cv=KFold(3))
    )
    grid = {"estimator__max_iter": [1, 20], "stem": ["none", "english"]}
    search = GridSearchCV(TextRanker(SMALL), grid, cv=2).fit(TEXTS, Y)
    assert search.best_params_["estimator__max_iter"] == 20
    np.testing.assert_array_equal(search.predict(NEW), search.best_estimator_.predict(NEW))


@pytest.mark.parametrize(
    "estimator",
    [SMALL, Calibrated(KNN(n_neighbors=5)), RMLSRanker(tail=0.1)],
    ids=lambda each: type(each).__name__,
)
def test_any_estimator_may_learn(estimator: Any) -> None:
    model = TextRanker(estimator).fit(TEXTS, LABELS)
    right = [row[0].name in truth for row, truth in zip(model.suggest(NEW, 1), TRUE, strict=True)]
    assert np.mean(right) > 0.9
    assert type(model.estimator_) is type(estimator)


def test_an_estimator_without_probabilities_ranks_and_says_what_to_do() -> None:
    model = TextRanker(PLST(n_components=2)).fit(TEXTS, LABELS)
    assert len(model.rank(NEW, 2)) == 20
    for ask in (model.suggest, model.predict_proba):
        with pytest.raises(InputError, match=r"TextRanker\(Calibrated\(PLST\(\)\)\)"):
            ask(NEW)


def test_a_pickled_model_gives_the_same_answers(model: TextRanker) -> None:
    copy = pickle.loads(pickle.dumps(model))
    assert copy.suggest(NEW) == model.suggest(NEW)


def test_asking_changes_nothing_and_blocks_do_not_show(
    model: TextRanker, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = model.suggest(NEW, 3)
    monkeypatch.setattr("rmls.models.text.text_ranker.BLOCK_ROWS", 3)
    assert model.suggest(NEW, 3) == expected
    assert [[e.label for e in row] for row in model.rank(NEW, 3)] == [
        [e.label for e in row] for row in model.rank(NEW[:20], 3)
    ]
    assert model.suggest([]) == []
    assert len(model.suggest(["", "unheard-of"], 2)) == 2


@pytest.mark.parametrize(
    ("params", "texts", "message"),
    [
        ({"stem": "klingon"}, TEXTS, "words cannot be stemmed in 'klingon'; choose from: "),
        ({"characters": (5, 3)}, TEXTS, "characters must be the shortest and the longest"),
        ({"min_rows": 0}, TEXTS, "min_rows must be a whole number of at least 1"),
        ({"field_weights": [1, 2]}, TEXTS, "field_weights must be 1 positive numbers"),
        ({"estimator": LogisticRegression()}, TEXTS, "an estimator of rmls or None; got Logistic"),
        ({"estimator": TextRanker()}, TEXTS, "an estimator of rmls or None; got TextRanker"),
        ({}, TEXTS[:-1], "59"),
        ({}, ["", "?!"] * 30, "the texts hold no words to learn from"),
        ({}, [*TEXTS[:-1], 5], "row 59: texts must be strings; got 5"),
        ({}, "one text", "got one string: put it in a list"),
        ({}, np.zeros((60, 3)), "other fields|must be strings"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_learned_is_one_sentence(params: Any, texts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as told:
        TextRanker(**params).fit(texts, LABELS)
    assert "\n" not in str(told.value)


def test_wrong_questions_are_one_sentence(model: TextRanker) -> None:
    with pytest.raises(NotFittedError):
        TextRanker().suggest(NEW)
    with pytest.raises(InputError, match="min_probability"):
        model.suggest(NEW, min_probability=-1)
    with pytest.raises(InputError, match="k must be"):
        model.suggest(NEW, k=0)
    with pytest.raises(InputError, match="TextRanker takes texts"):
        RMLS().fit(TEXTS, LABELS)


def test_a_failed_fit_leaves_the_model_as_it_was(model: TextRanker) -> None:
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError):
        copy.fit([("a", "b")] * 3, LABELS)
    assert copy.suggest(NEW) == model.suggest(NEW)


@pytest.mark.slow
def test_works_of_art_get_what_they_show() -> None:
    """Better than the most frequent subjects by far, and above what was measured by a margin."""
    works = load_artworks()
    model = TextRanker(n_jobs=-1).fit(works.train.columns, works.train.labels)
    found = model.suggest(works.test.columns, 1)
    right = [row[0].name in truth for row, truth in zip(found, works.test.labels, strict=True)]
    assert np.mean(right) > 0.6


@pytest.mark.parametrize(
    "options",
    [{}, {"pairs": True, "characters": (3, 4)}, {"hashing": 64}, {"categories": ["kind"]}],
    ids=str,
)
def test_rows_of_texts_need_no_further_look(options):
    """What is checked of rows from elsewhere holds for those that texts become."""
    texts = ["tax on sugar and salt", "", "fish in the sea, fish", "tax", "sea sea sea"] * 8
    labels = [["tax"], [], ["sea"], ["tax"], ["sea"]] * 8
    X = texts
    if "categories" in options:
        X = {"text": texts, "kind": ["a", "b", "a", "c", "b"] * 8}
    model = TextRanker(RMLSRanker(4, max_iter=2), **options).fit(X, labels)
    model.partial_fit(X, labels)
    model.add_labels(["moon landing"])
    rows = model.features_.transform(X)
    assert rows.format == "csr"
    assert rows.dtype == np.float32
    assert rows.shape[1] == model.estimator_.n_features_in_
    assert np.isfinite(rows.data).all()
    fresh = sparse.csr_matrix((rows.data, rows.indices, rows.indptr), rows.shape)
    assert fresh.has_canonical_format
    checked, own = model.estimator_.rank(rows, 2), model.rank(X, 2)
    for name in ("indptr", "labels", "scores", "probabilities"):
        np.testing.assert_array_equal(getattr(checked, name), getattr(own, name))
