"""What cannot be done to the labels of a ranker is said in one sentence, and nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from live_samples import Live, answers, assert_same, fitted
from named_samples import CODES
from sklearn.exceptions import NotFittedError

from rmls import RMLSRanker
from rmls.core.errors import InputError

Change = Callable[[Live], Any]
REFUSED: dict[str, tuple[Change, str]] = {
    "unknown label": (
        lambda live: live.model.retire_labels(["c_0000"]),
        "the model has no label 'c_0000'; did you mean 'c_000' or 'c_020' or 'c_010'?",
    ),
    "nothing near": (
        lambda live: live.model.retire_labels(["zebra"]),
        "the model has no label 'zebra'.",
    ),
    "a label that cannot be a name": (
        lambda live: live.model.retire_labels([["c_000"]]),
        "a label name must be a string or a number; got ['c_000'].",
    ),
    "one text": (
        lambda live: live.model.retire_labels("c_000"),
        "labels must be a list of names; got the text 'c_000'.",
    ),
    "one number": (
        lambda live: live.model.retire_labels(3),
        "labels must be a list of names; got 3.",
    ),
    "one text to add": (
        lambda live: live.model.add_labels("new"),
        "labels must be a list of names; got the text 'new'.",
    ),
    "nothing to add": (
        lambda live: live.model.add_labels(None),
        "labels must be a list of names; got None.",
    ),
    "named twice": (
        lambda live: live.model.retire_labels(["c_000", "c_000"]),
        "the label 'c_000' is named twice.",
    ),
    "added twice": (
        lambda live: live.model.add_labels(["new", "new"]),
        "the labels 'new' and 'new' (columns 0 and 1) have the same name; give every label a name "
        "of its own.",
    ),
    "a label that is there": (
        lambda live: live.model.add_labels(["new", "c_001"]),
        "the model has the label 'c_001' already.",
    ),
    "a retired label in new rows": (
        lambda live: live.model.retire_labels(["c_001"]).partial_fit(live.X[:1], [["c_001"]]),
        "the label 'c_001' was retired.",
    ),
    "a merged label in new rows": (
        lambda live: live.model.merge_labels({"c_001": "c_002"}).partial_fit(
            live.X[:1], [["c_001"]]
        ),
        "the label 'c_001' was merged into 'c_002'.",
    ),
    "a retired label in examples": (
        lambda live: live.model.retire_labels(["c_001"]).add_labels(
            ["new"], X=live.X[:1], y=[["c_001"]]
        ),
        "the label 'c_001' was retired.",
    ),
    "rows too few": (
        lambda live: live.model.partial_fit(live.X[:3], [["c_001"]]),
        "Y has 1 rows but X has 3; both need one row per sample.",
    ),
    "no labels": (
        lambda live: live.model.partial_fit(live.X[:3]),
        "this estimator requires y to be passed, but the target y is None.",
    ),
    "examples without labels": (
        lambda live: live.model.add_labels(["new"], X=live.X[:3]),
        "this estimator requires y to be passed, but the target y is None.",
    ),
    "labels without examples": (
        lambda live: live.model.add_labels(["new"], y=[["new"]]),
        "y was given without X; both are needed to show labels.",
    ),
    "examples of nothing": (
        lambda live: live.model.add_labels(["new"], X=live.X[:1], y=[["c_001"]]),
        "y has none of the labels that are being added.",
    ),
    "examples of another label": (
        lambda live: live.model.add_labels(["new"], X=live.X[:1], y=[["new", "other"]]),
        "y has the label 'other', which is not being added.",
    ),
    "accepted and rejected": (
        lambda live: live.model.partial_fit(live.X[:1], [["c_001"]], rejected=[["c_001"]]),
        "the label 'c_001' of row 0 is in y and rejected.",
    ),
    "rejected unknown label": (
        lambda live: live.model.partial_fit(live.X[:1], [["c_001"]], rejected=[["zebra"]]),
        "rejected has the label 'zebra', which the model does not have.",
    ),
    "rejected rows": (
        lambda live: live.model.partial_fit(live.X[:2], [["c_001"], []], rejected=[["c_002"]]),
        "rejected has 1 rows but X has 2.",
    ),
    "wrong names": (
        lambda live: live.model.add_labels(["new"], live.words),
        "label_text has 2 rows but there are 1 labels; it needs one row for every label.",
    ),
    "another width": (
        lambda live: live.model.partial_fit(live.X[:2, :5], [["c_001"], []]),
        "X has 5 features, but RMLSRanker is expecting 124 features as input.",
    ),
    "renamed to one that is there": (
        lambda live: live.model.rename_labels({"c_000": "c_001"}),
        "the labels 'c_001' and 'c_001' (columns 0 and 1) have the same name; give every label a "
        "name of its own.",
    ),
    "renamed as a list": (
        lambda live: live.model.rename_labels(["c_000"]),
        "names must be a mapping of labels to new names; got list.",
    ),
    "merged as a list": (
        lambda live: live.model.merge_labels([("c_000", "c_001")]),
        "into must be a mapping of labels to the labels that take them up; got list.",
    ),
    "merged into itself": (
        lambda live: live.model.merge_labels({"c_000": "c_000"}),
        "the label 'c_000' cannot be merged and take up another one at once.",
    ),
    "merged in a chain": (
        lambda live: live.model.merge_labels({"c_000": "c_001", "c_001": "c_002"}),
        "the label 'c_001' cannot be merged and take up another one at once.",
    ),
    "merged into nothing": (
        lambda live: live.model.merge_labels({"c_000": "zebra"}),
        "the model has no label 'zebra'.",
    ),
    "split into one": (
        lambda live: live.model.split_label("c_000", ["new"]),
        "the label 'c_000' must be split into at least two labels.",
    ),
    "split into a text": (
        lambda live: live.model.split_label("c_000", "new"),
        "the label 'c_000' must be split into at least two labels.",
    ),
    "split into the same twice": (
        lambda live: live.model.split_label("c_000", ["new", "new"]),
        "have the same name",
    ),
    "split into one that is there": (
        lambda live: live.model.split_label("c_000", ["new", "c_001"]),
        "the model has the label 'c_001' already.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_one_sentence_and_the_model_is_as_before(case: str) -> None:
    live = fitted()
    change, sentence = REFUSED[case]
    before = answers(live.model, live.X)
    with pytest.raises(ValueError, match=re.escape(sentence)) as told:
        change(live)
    assert "\n" not in str(told.value)
    if not live.model.former_labels_:
        assert_same(answers(live.model, live.X), before)
        assert live.model.classes_.tolist() == CODES


CHANGES: dict[str, Callable[[Any], Any]] = {
    "add_labels": lambda model: model.add_labels(["new"]),
    "retire_labels": lambda model: model.retire_labels(["a"]),
    "rename_labels": lambda model: model.rename_labels({"a": "new"}),
    "merge_labels": lambda model: model.merge_labels({"a": "b"}),
    "split_label": lambda model: model.split_label("a", ["new", "newer"]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_model_that_is_not_fitted_has_no_labels_to_change(name: str) -> None:
    with pytest.raises(NotFittedError):
        CHANGES[name](RMLSRanker())


@pytest.mark.parametrize("name", CHANGES)
def test_classes_of_a_1d_y_do_not_change(name: str) -> None:
    X = np.eye(4)[np.arange(40) % 4]
    model = RMLSRanker(4).fit(X, np.array(list("abcd") * 10))
    with pytest.raises(InputError, match="one class for every row"):
        CHANGES[name](model)
    with pytest.raises(InputError, match="one class for every row"):
        model.partial_fit(X[:2], ["a", "new"])
    assert model.classes_.tolist() == list("abcd")
    assert model.partial_fit(X[:4], list("abcd")).predict(X[:4]).tolist() == list("abcd")
