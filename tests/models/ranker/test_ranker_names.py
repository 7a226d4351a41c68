"""RMLSRanker with label_text: names of labels are evidence, whatever they are given as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from archive_samples import MISSING, assert_refused, change_model
from named_samples import CODES, N_LABELS, Named, make_named
from scipy import sparse

import rmls
from rmls import RMLSRanker
from rmls.archive import read_archive
from rmls.core.errors import InputError
from rmls.core.label_text import LabelText
from rmls.features import TextFeatures
from rmls.features.text.names import name_rows
from rmls.models.ranker import ranker as ranker_module
from rmls.models.ranker.label_words import LabelWords
from rmls.models.ranker.names import NameIndex, NameTrainer
from rmls.models.ranker.trainer import ClassifierTrainer, StageTrainer
from rmls.models.rmls.sgd import Training
from rmls.models.shared.progress import TrainingInterrupted

HIDDEN = [3, 17]
DATA, NEW = make_named(), make_named(120, seed=5)
# Names are known words, so that those of labels without rows can be found.
FEATURES = TextFeatures(stem="none")
X = FEATURES.fit_transform(DATA.texts, names=list(DATA.names.values()))
X_NEW = FEATURES.transform(NEW.texts)
NAMES = name_rows(FEATURES, list(DATA.names.values()))
WORDS = FEATURES.get_feature_names_out()


def as_matrix(data: Named) -> np.ndarray:
    return np.array([[label in row for label in CODES] for row in data.labels], dtype=int)


Y, Y_NEW = as_matrix(DATA), as_matrix(NEW)
Y_HIDDEN = Y.copy()
Y_HIDDEN[:, HIDDEN] = 0
WAYS = {"folds": 3, "held out": 0}


def small(**options: Any) -> RMLSRanker:
    settings: dict[str, Any] = {"max_iter": 4, "shortlist_size": 10, "n_jobs": 1}
    return RMLSRanker(16, **{**settings, **options})


@pytest.fixture(scope="module")
def model() -> RMLSRanker:
    return small().fit(X, Y_HIDDEN, label_text=NAMES)


def frame(rows: sparse.csr_matrix) -> pd.DataFrame:
    return pd.DataFrame(rows.toarray(), columns=WORDS)


def listed_with_names(rows: np.ndarray) -> np.ndarray:
    """Tell which new rows have a hidden label and its name."""
    whole = (X_NEW @ (NAMES > 0).T.astype(np.float32)).toarray() > 0
    return np.asarray(rows[:, HIDDEN].astype(bool) & whole[:, HIDDEN])


# -- what names do ---------------------------------------------------------------------------------


def test_labels_without_rows_are_found_by_their_names(model: RMLSRanker) -> None:
    best = model.rank(X_NEW, 5).to_sets().toarray()[:, HIDDEN].astype(bool)
    wanted = listed_with_names(Y_NEW)
    assert wanted.sum() >= 6
    assert best[wanted].mean() > 0.9
    without = small().fit(X, Y_HIDDEN).rank(X_NEW, 5).to_sets().toarray()[:, HIDDEN]
    assert without.sum() < 0.2 * best.sum()


def test_labels_whose_names_are_absent_are_never_before_those_with_rows(model: RMLSRanker) -> None:
    scores = model.decision_function(X_NEW)
    named = (X_NEW @ (NAMES > 0).T.astype(np.float32)).toarray() > 0
    listed = np.sort(scores, axis=1)[:, -5:]
    for label in HIDDEN:
        assert (scores[~named[:, label], label] < listed[~named[:, label], 0]).all()


def test_names_fill_a_fifth_of_a_list_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    find = NameIndex.find

    def record(self: NameIndex, seen: Any, most: int) -> Any:
        found = find(self, seen, most)
        asked.append(found.shape[1])
        return found

    monkeypatch.setattr(NameIndex, "find", record)
    for size, most in ((1, 1), (10, 2), (29, 5)):
        asked.clear()
        small(shortlist_size=size, max_iter=1).fit(X, Y, label_text=NAMES)
        assert set(asked) == {most}


def test_labels_with_rows_keep_their_places_beside_one_without() -> None:
    trained = [label for label in range(N_LABELS) if label not in HIDDEN]

    def best(labels: list[int]) -> np.ndarray:
        model = small(shortlist_size=40)
        model.fit(X, sparse.csr_matrix(Y_HIDDEN[:, labels]), label_text=NAMES[labels])
        # Whatever comes before and after the label that was added.
        return model.decision_function(X_NEW)[:, : len(trained)].argmax(axis=1)

    alone, beside = best(trained), best([*trained, HIDDEN[0]])
    known = Y_NEW[:, trained]
    rows = np.arange(len(known))
    assert known[rows, beside].mean() > known[rows, alone].mean() - 0.03
    # The vectors draw other random numbers where there is one more label: alike, not equal.
    named = known.any(axis=1)
    assert (alone == beside)[named].mean() > 0.8


def test_probabilities_of_labels_without_rows_are_within_reason() -> None:
    # A third of the labels lose their rows; every name is said as often as the others.
    hidden = list(range(0, N_LABELS, 3))
    train, new = make_named(600, seed=1, says=0.6), make_named(600, seed=2, says=0.6)
    features = TextFeatures(stem="none")
    rows = features.fit_transform(train.texts, names=list(train.names.values()))
    names = name_rows(features, list(train.names.values()))
    labels = as_matrix(train)
    labels[:, hidden] = 0
    model = small(shortlist_size=20).fit(rows, labels, label_text=names)
    found = features.transform(new.texts)
    chances = model.predict_proba(found)[:, hidden]
    matched = ((found @ (names > 0).T.astype(np.float32)).toarray() > 0)[:, hidden]
    true = as_matrix(new)[:, hidden].astype(bool)
    assert true[matched].mean() == 1
    assert chances[matched].mean() > 0.5
    assert chances[~matched].max() < 0.01


# -- forms of label_text ---------------------------------------------------------------------------


def test_every_form_says_the_same() -> None:
    names = list(DATA.names.values())
    binary = (NAMES > 0).astype(np.float32)
    forms: dict[str, tuple[Any, Any]] = {
        "matrix": (X, NAMES),
        "array": (X, NAMES.toarray()),
        "lists": (X, NAMES.toarray().tolist()),
        "frame": (X, pd.DataFrame(NAMES.toarray())),
        "coo": (X, sparse.coo_matrix(binary)),
        "words": (X, LabelWords(NAMES, np.arange(N_LABELS, dtype=np.int32))),
        "mapping": (frame(X), dict(DATA.names)),
        "LabelText": (frame(X), LabelText(tuple(CODES), tuple(names))),
    }
    expected = None
    for form, (rows, text) in forms.items():
        made = small(calibration_folds=0).fit(rows, Y_HIDDEN, None, CODES, text)
        new = frame(X_NEW) if isinstance(rows, pd.DataFrame) else X_NEW
        found = made.predict_proba(new)
        expected = found if expected is None else expected
        np.testing.assert_allclose(found, expected, atol=1e-4, err_msg=form)


def test_alternative_names_are_names_too() -> None:
    names = {label: [f"nowhere{at}", name] for at, (label, name) in enumerate(DATA.names.items())}
    made = small().fit(frame(X), Y_HIDDEN, label_names=CODES, label_text=names)
    best = made.rank(frame(X_NEW), 5).to_sets().toarray()[:, HIDDEN].astype(bool)
    assert best[listed_with_names(Y_NEW)].mean() > 0.9


def test_names_are_taken_by_label_not_by_order() -> None:
    turned = dict(reversed(DATA.names.items()))
    models = [
        small(calibration_folds=0).fit(frame(X), Y_HIDDEN, label_names=CODES, label_text=text)
        for text in (DATA.names, turned)
    ]
    chances = [model.predict_proba(frame(X_NEW)) for model in models]
    np.testing.assert_allclose(chances[0], chances[1], atol=1e-5)


@pytest.mark.parametrize("text", [np.zeros((N_LABELS, X.shape[1])), dict.fromkeys(CODES, "zzz")])
def test_names_without_a_word_of_the_features_change_nothing(text: Any) -> None:
    named = small(calibration_folds=0).fit(frame(X), Y, label_names=CODES, label_text=text)
    plain = small(calibration_folds=0).fit(frame(X), Y, label_names=CODES)
    found, expected = named.predict_proba(frame(X_NEW)), plain.predict_proba(frame(X_NEW))
    np.testing.assert_allclose(found, expected, atol=1e-3)


REFUSED: dict[str, tuple[Any, str]] = {
    "columns": (NAMES[:, :-1], "features but X has"),
    "too many": (sparse.vstack([NAMES, NAMES], format="csr"), "one row for every label"),
    "too few": (NAMES[:-1], "one row for every label"),
    "mapping": (DATA.names, "the features have none"),
    "no numbers": ([["a"] * X.shape[1]] * N_LABELS, "every label: .*a"),
    "owners": (LabelWords(NAMES, np.arange(3, dtype=np.int32)), "one row for every label"),
    "negative owner": (
        LabelWords(NAMES, np.arange(N_LABELS, dtype=np.int32) - 1),
        "one row for every label",
    ),
    "a word": ("bread", "every label: "),
    "a path": (Path("names.csv"), "every label: "),
    "None in rows": ([None] * N_LABELS, "every label: "),
    "no rows": (NAMES[:0], "every label"),
    "one dimension": (np.ones(N_LABELS), "every label: "),
    "not finite": (np.full(NAMES.shape, np.nan), "every label: .*NaN"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_label_text_is_one_sentence(name: str) -> None:
    text, match = REFUSED[name]
    with pytest.raises(InputError, match=match) as told:
        small().fit(X, Y, label_text=text)
    assert "\n" not in str(told.value)


def test_a_refused_label_text_leaves_nothing_behind() -> None:
    model = small()
    with pytest.raises(InputError):
        model.fit(X, Y, label_text=NAMES[:-1])
    model.fit(X, Y)
    assert model._scorer.proposer.sources == ()


@pytest.mark.parametrize("n_rows", [1, 8, 29])
def test_few_rows_are_enough(n_rows: int) -> None:
    # Too few to hold any out: nothing is known of what names are worth.
    model = small().fit(X[:n_rows], Y[:n_rows], label_text=NAMES)
    assert np.isfinite(model.decision_function(X_NEW)).all()


def test_a_label_of_every_row_and_one_label() -> None:
    everywhere = np.ones((len(Y), 1), int)
    model = small().fit(X, everywhere, label_text=NAMES[:1])
    assert (model.predict(X_NEW) == 1).all()
    model = small().fit(X, everywhere * 0, label_text=NAMES[:1])
    assert (model.predict(X_NEW) == 0).all()


def test_threads_rank_alike() -> None:
    models = [
        small(n_jobs=jobs, calibration_folds=0).fit(X, Y_HIDDEN, label_text=NAMES)
        for jobs in (1, 2)
    ]
    answers = [model.rank(X_NEW, 1).to_sets().toarray() for model in models]
    assert np.mean((answers[0] == answers[1]).all(axis=1)) > 0.9
    one = models[0]
    chances = one.predict_proba(X_NEW)
    one.n_jobs = 2
    np.testing.assert_allclose(one.predict_proba(X_NEW), chances, atol=1e-5)


# -- archive ---------------------------------------------------------------------------------------


@pytest.fixture(name="folder")
def _folder(model: RMLSRanker, tmp_path: Path) -> Path:
    model.save(tmp_path / "m")
    return tmp_path / "m"


def test_a_loaded_model_knows_the_names(model: RMLSRanker, folder: Path) -> None:
    again = rmls.load(folder)
    np.testing.assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))
    np.testing.assert_array_equal(again.rank(X_NEW, 20).labels, model.rank(X_NEW, 20).labels)
    again.save(folder.with_name("again"))
    third = rmls.load(folder.with_name("again"))
    np.testing.assert_array_equal(third.predict_proba(X_NEW), model.predict_proba(X_NEW))


@pytest.mark.parametrize("precision", ["int16", "int8"])
def test_fewer_bytes_know_the_names(precision: str, tmp_path: Path) -> None:
    model = small(precision=precision).fit(X, Y_HIDDEN, label_text=NAMES)
    model.save(tmp_path / "m")
    again = rmls.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))


DAMAGE: dict[str, Any] = {
    "label": lambda a: {"name_owners": a["name_owners"] + 1},
    "negative label": lambda a: {"name_owners": a["name_owners"] - 1},
    "fewer labels": lambda a: {"name_owners": a["name_owners"][:-1]},
    "name": lambda a: {"name_names": a["name_names"] + 1},
    "negative name": lambda a: {"name_names": a["name_names"] - 1},
    "words": lambda a: {"name_indptr": a["name_indptr"][:-1]},
    "order": lambda a: {"name_indptr": a["name_indptr"][::-1].copy()},
    "no shares": lambda a: {"name_shares": MISSING},
    "fewer shares": lambda a: {"name_shares": a["name_shares"][:-1]},
    "shares of nothing": lambda a: {"name_shares": a["name_shares"] * 0},
    "shares that are no numbers": lambda a: {"name_shares": a["name_shares"] * np.nan},
    "fewer cosines": lambda a: {"name_cosines": a["name_cosines"][:-1]},
    "cosines that are no numbers": lambda a: {"name_cosines": a["name_cosines"] * np.nan},
    "infinite cosines": lambda a: {"name_cosines": a["name_cosines"] + np.inf},
    "type": lambda a: {"name_cosines": a["name_cosines"].astype(np.float64)},
    "slopes": lambda a: {"slopes": a["slopes"][:1]},
    "slopes that are no numbers": lambda a: {"slopes": a["slopes"] * np.nan},
    "no slopes": lambda a: {"slopes": MISSING},
    "labels without rows": lambda a: {"unseen": a["unseen"][:-1]},
    "no numbers for them": lambda a: {"unseen": a["unseen"] * np.nan},
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_names_are_refused(name: str, folder: Path) -> None:
    arrays = {key: np.array(array) for key, array in read_archive(folder).arrays.items()}
    change_model(folder, arrays=DAMAGE[name](arrays))
    assert_refused(folder)


# -- Ctrl-C ----------------------------------------------------------------------------------------

STAGES: dict[str, tuple[Any, str, str]] = {
    "names": (NameTrainer, "learn", "before the classifiers were trained"),
    "classifiers": (ClassifierTrainer, "solve", "before the classifiers were trained"),
    "combination": (ranker_module, "combine", "before the combination was learned"),
    "calibration": (RMLSRanker, "_calibrate", "before probabilities were calibrated"),
}


def interrupt(patch: pytest.MonkeyPatch, owner: Any, name: str, call: int = 1) -> None:
    """Press Ctrl-C when something is called for the n-th time, and never again."""
    real, calls = getattr(owner, name), []

    def pressed(*arguments: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == call:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    patch.setattr(owner, name, pressed)


def check_kept(model: RMLSRanker, folder: Path) -> None:
    hits = np.take_along_axis(Y_NEW, model.rank(X_NEW, 1).labels.reshape(-1, 1), axis=1)
    assert hits.mean() > 0.3
    assert np.isfinite(model.decision_function(X_NEW)).all()
    model.save(folder)
    again = rmls.load(folder)
    np.testing.assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_keeps_a_model_that_can_be_used(
    way: str, stage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    owner, name, match = STAGES[stage]
    interrupt(monkeypatch, owner, name)
    model = small(calibration_folds=WAYS[way], max_iter=6)
    with pytest.warns(TrainingInterrupted, match=match):
        model.fit(X, Y_HIDDEN, label_text=NAMES)
    check_kept(model, tmp_path / "m")


def test_ctrl_c_while_parts_of_the_rows_are_trained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt(monkeypatch, StageTrainer, "_train", call=3)
    model = small(calibration_folds=3)
    with pytest.warns(TrainingInterrupted, match="after 1 of 3 models for the combination"):
        model.fit(X, Y_HIDDEN, label_text=NAMES)
    check_kept(model, tmp_path / "m")


def test_ctrl_c_in_a_pass_keeps_the_vectors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt(monkeypatch, Training, "run_pass", call=5)
    model = small(max_iter=6)
    with pytest.warns(TrainingInterrupted, match="after 4 of 6 passes"):
        model.fit(X, Y_HIDDEN, label_text=NAMES)
    check_kept(model, tmp_path / "m")
