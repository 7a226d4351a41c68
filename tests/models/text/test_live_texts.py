"""A fitted TextRanker goes on: labels come by their names, texts bring their words."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from live_samples import answers, assert_consistent, assert_same
from named_samples import CODES, make_named
from sklearn.exceptions import NotFittedError

from rmls import KNN, RMLSRanker, TextRanker
from rmls.core.errors import InputError
from rmls.core.label_text import LabelText
from rmls.features import TextFeatures

DATA, NEW = make_named(), make_named(40, seed=5)
# Of words that no training text has.
OWN = ["the quasar nebula", "quasar nebula telescope", "a nebula with a quasar in it"]
ASKED = [*NEW.texts, *OWN, "", "glacier fjord", "fjord and nothing else"]
KINDS: dict[str, dict[str, Any]] = {
    "names": {},
    "no names": {"use_names": False},
    "pairs": {"pairs": True, "characters": (3, 4)},
    "hashed": {"hashing": 2048},
    "stems": {"stem": "english"},
    "vectors": {"encoder": lambda texts: [[float(len(text)), 1.0, 2.0] for text in texts]},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def _fitted(kind: str) -> TextRanker:
    options: dict[str, Any] = {"stem": "none", **KINDS[kind]}
    ranker = RMLSRanker(16, max_iter=4, shortlist_size=12, precision="int16")
    model = TextRanker(ranker, **options)
    return model.fit(DATA.texts, DATA.labels, label_text=DATA.names)


def fitted(kind: str = "names") -> TextRanker:
    return copy.deepcopy(_fitted(kind))


def best(model: TextRanker, texts: list[str]) -> list[str]:
    return [row[0].name for row in model.suggest(texts, 1)]


def assert_fits(model: TextRanker) -> None:
    assert model.estimator_.n_features_in_ == len(model.features_.get_feature_names_out())
    assert_consistent(model.estimator_, model.features_.transform(ASKED))


@every_kind
@pytest.mark.parametrize("shown", [False, True])
def test_an_added_label_changes_no_other_score(kind: str, shown: bool) -> None:
    model = fitted(kind)
    before = answers(model, ASKED)
    given = (OWN, [["quasar"]] * 3) if shown else ()
    model.add_labels(["quasar", "fjord"], {"quasar": "quasar nebula", "fjord": "fjord"}, *given)
    # Texts with the new words, too: what they weigh does not change what the others weigh.
    assert_same(answers(model, ASKED, len(CODES)), before)
    assert model.classes_.tolist() == [*CODES, "quasar", "fjord"]
    assert_fits(model)


@pytest.mark.parametrize("kind", ["names", "pairs", "stems", "vectors"])
def test_an_added_label_is_suggested_by_words_that_no_text_had(kind: str) -> None:
    model = fitted(kind)
    assert "quasar" not in model.features_.get_feature_names_out()
    model.add_labels(["quasar nebula", "glacier fjord"])
    assert best(model, [*OWN, "a fjord below a glacier"]) == ["quasar nebula"] * 3 + [
        "glacier fjord"
    ]
    assert all(name in CODES for name in best(model, NEW.texts))


@every_kind
def test_three_texts_show_a_label(kind: str) -> None:
    model = fitted(kind).add_labels(["q"], None, OWN, [["q"]] * 3)
    assert best(model, ["quasar nebula again", *OWN]) == ["q"] * 4


def test_labels_of_a_table_that_the_model_has_not_are_added() -> None:
    model = fitted()
    table = LabelText((*CODES[:3], "new 1", "new 2"), ("a", "b", "c", "quasar", "fjord"))
    model.add_labels(label_text=table)
    assert model.classes_.tolist() == [*CODES, "new 1", "new 2"]
    assert best(model, ["a quasar", "the fjord"]) == ["new 1", "new 2"]
    before = answers(model, ASKED)
    assert_same(answers(model.add_labels(label_text=table), ASKED), before)


@every_kind
def test_texts_are_learned_with_their_words_and_labels(kind: str) -> None:
    model = fitted(kind)
    model.partial_fit([*OWN, *NEW.texts[:5]], [["q"]] * 3 + NEW.labels[:5])
    assert best(model, OWN) == ["q"] * 3
    assert model.estimator_.label_counts_[-1] == 3
    assert_fits(model)


def test_a_model_that_is_not_fitted_is_fitted() -> None:
    one, other = (TextRanker(RMLSRanker(8, max_iter=2)) for _ in range(2))
    one.partial_fit(DATA.texts, DATA.labels)
    assert_same(answers(one, ASKED), answers(other.fit(DATA.texts, DATA.labels), ASKED))


def test_what_a_label_is_renamed_to_is_evidence() -> None:
    model = fitted()
    place = CODES.index("c_004")
    before = model.decision_function(OWN)[:, place]
    model.rename_labels({"c_004": "quasar nebula"})
    assert model.classes_[place] == "quasar nebula"
    assert (model.decision_function(OWN)[:, place] > before).all()
    assert_fits(model)


def test_names_and_texts_tell_the_parts_of_a_label_apart() -> None:
    model = fitted()
    texts = [
        text for text, labels in zip(DATA.texts, DATA.labels, strict=True) if CODES[0] in labels
    ]
    left = [f"{text} quasar" for text in texts[:3]]
    model.split_label(CODES[0], ["left", "right"], {"left": "quasar"}, left, [["left"]] * 3)
    scores = model.decision_function(left)
    assert (scores[:, -2] > scores[:, -1]).all()
    assert_fits(model)


@pytest.mark.parametrize("kind", ["names", "pairs", "hashed", "vectors"])
def test_everything_fits_together_after_many_changes(kind: str) -> None:
    model, rng = fitted(kind), np.random.default_rng(0)
    for step in range(12):
        labels = model.classes_.tolist()
        one, other = (labels[place] for place in rng.choice(len(labels), 2, replace=False))
        match step % 6:
            case 0:
                model.add_labels([f"label{step} word{step}"])
            case 1:
                model.partial_fit([f"term{step} {NEW.texts[step]}"], [[one, f"n{step}"]])
            case 2:
                model.rename_labels({one: f"other{step}"})
            case 3:
                model.merge_labels({one: other})
            case 4:
                model.split_label(one, [f"left{step}", f"right{step}"])
            case _:
                model.retire_labels([one])
        assert_fits(model)
    assert len(model.former_labels_) >= 6


def stop(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["widen_features", "name_rows"])
def test_ctrl_c_on_the_way_leaves_words_and_labels_as_they_were(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fitted()
    before, terms = answers(model, ASKED), model.features_.get_feature_names_out().tolist()
    monkeypatch.setattr(f"rmls.models.text.live_changes.{place}", stop)
    with pytest.raises(KeyboardInterrupt):
        model.add_labels(["quasar nebula"])
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(OWN, [["quasar nebula"]] * 3)
    monkeypatch.undo()
    assert_same(answers(model, ASKED), before)
    assert model.features_.get_feature_names_out().tolist() == terms
    assert_fits(model)


REFUSED: dict[str, tuple[Callable[[TextRanker], Any], str]] = {
    "unknown": (
        lambda model: model.retire_labels(["c_00"]),
        "the model has no label 'c_00'; did you mean ",
    ),
    "one text": (
        lambda model: model.add_labels("quasar"),
        "labels must be a list of names; got the text 'quasar'.",
    ),
    "a label that is there": (
        lambda model: model.add_labels(["c_003"]),
        "the model has the label 'c_003' already.",
    ),
    "twice": (lambda model: model.add_labels(["q", "q"]), "have the same name"),
    "a number": (
        lambda model: model.add_labels(3),
        "labels must be a list of names; got 3.",
    ),
    "nothing to add": (
        lambda model: model.add_labels(),
        "add_labels needs labels, or a label_text that has some.",
    ),
    "empty name": (lambda model: model.add_labels([""]), "needs a name of at least one character."),
    "one text as rows": (
        lambda model: model.partial_fit("a text", [["q"]]),
        "list",
    ),
    "an empty text alone": (
        lambda model: model.partial_fit([""], [["q"]]),
        "no text has a word",
    ),
    "an empty example": (
        lambda model: model.add_labels(["q"], None, [" "], [["q"]]),
        "no text has a word",
    ),
    "numbers as texts": (lambda model: model.partial_fit([1, 2], [["q"], []]), "text"),
    "rows": (
        lambda model: model.partial_fit(OWN, [["q"]]),
        "Y has 1 rows but X has 3; both need one row per sample.",
    ),
    "labels as a text": (lambda model: model.partial_fit(OWN, "q"), ""),
    "one text for every row": (lambda model: model.partial_fit(OWN, ["q", "r", "s"]), ""),
    "retired": (
        lambda model: model.retire_labels(["c_003"]).partial_fit(OWN[:1], [["c_003"]]),
        "the label 'c_003' was retired.",
    ),
    "renamed as a list": (
        lambda model: model.rename_labels(["c_003"]),
        "names must be a mapping of labels to new names; got list.",
    ),
    "split into a text": (
        lambda model: model.split_label("c_003", "q"),
        "into must be a list of names; got the text 'q'.",
    ),
    "split into one": (
        lambda model: model.split_label("c_003", ["q"]),
        "must be split into at least two labels.",
    ),
    "rejected and accepted": (
        lambda model: model.partial_fit(OWN[:1], [["c_003"]], rejected=[["c_003"]]),
        "the label 'c_003' of row 0 is in y and rejected.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_one_sentence_and_the_model_is_as_before(case: str) -> None:
    model = fitted()
    change, sentence = REFUSED[case]
    before = answers(model, ASKED)
    with pytest.raises(InputError) as told:
        change(model)
    assert sentence in str(told.value)
    assert "\n" not in str(told.value)
    if not model.former_labels_:
        assert_same(answers(model, ASKED), before)
        assert_fits(model)


def test_an_empty_text_among_others_teaches_nothing() -> None:
    model = fitted().partial_fit(["", *OWN], [[], ["q"], ["q"], ["q"]])
    assert best(model, OWN) == ["q"] * 3


CHANGES: dict[str, Callable[[Any], Any]] = {
    "partial_fit": lambda model: model.partial_fit(OWN, [["q"]] * 3),
    "add_labels": lambda model: model.add_labels(["q"]),
    "retire_labels": lambda model: model.retire_labels(["c_000"]),
    "rename_labels": lambda model: model.rename_labels({"c_000": "q"}),
    "merge_labels": lambda model: model.merge_labels({"c_000": "c_001"}),
    "split_label": lambda model: model.split_label("c_000", ["q", "r"]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_estimators_say_that_they_do_not_change(name: str) -> None:
    model = TextRanker(KNN()).fit(DATA.texts, DATA.labels)
    with pytest.raises(InputError, match=r"^KNN does not change once it is fitted; RMLSRanker"):
        CHANGES[name](model)


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "partial_fit"])
def test_a_model_that_is_not_fitted_has_no_labels(name: str) -> None:
    with pytest.raises(NotFittedError):
        CHANGES[name](TextRanker())


def test_features_are_not_shared_with_a_copy() -> None:
    model = fitted()
    features: TextFeatures = model.features_
    width = len(features.get_feature_names_out())
    other = copy.copy(model).add_labels(["quasar nebula"])
    assert len(features.get_feature_names_out()) == width
    assert best(other, OWN) == ["quasar nebula"] * 3
    assert_fits(model)
