"""TextRanker: what labels are called is evidence, and a label needs no row to be suggested."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from named_samples import CODES, WORDS, Named, code, make_named
from sklearn.base import clone

import rmls
from rmls import KNN, Calibrated, RMLSRanker, TextRanker
from rmls.archive import Archive, amend_archive, read_archive
from rmls.core.errors import ArchiveError, InputError
from rmls.core.label_text import LabelText
from rmls.datasets import read_label_text
from rmls.models.text.archive import build_text_ranker

DATA, NEW = make_named(), make_named(120, seed=5)
HIDDEN = {code(3), code(17)}
TRAIN = DATA.without(HIDDEN)
ASK = """
import json, sys, rmls
model = rmls.load(sys.argv[1])
answers = model.suggest(json.load(sys.stdin), 3)
print(json.dumps([[list(each) for each in row] for row in answers]))
"""


def small(use_names: bool = True, **options: Any) -> TextRanker:
    settings: dict[str, Any] = {"max_iter": 4, "shortlist_size": 20, **options}
    return TextRanker(RMLSRanker(16, **settings), use_names=use_names, n_jobs=1)


def as_matrix(data: Named) -> np.ndarray:
    return np.array([[label in row for label in CODES] for row in data.labels], dtype=int)


def best_of(model: TextRanker, text: str, k: int = 1) -> list[str]:
    return [each.name for each in model.suggest([text], k)[0]]


def precision(model: TextRanker, data: Named) -> float:
    rows = zip(model.rank(data.texts, 2), data.labels, strict=True)
    return float(np.mean([entry.label in labels for row, labels in rows for entry in row]))


@pytest.fixture(scope="module")
def model() -> TextRanker:
    return small().fit(TRAIN.texts, TRAIN.labels, label_text=DATA.names)


# -- what names do ---------------------------------------------------------------------------------


def test_a_label_without_rows_is_suggested_by_its_name(model: TextRanker) -> None:
    assert model.classes_.tolist()[-2:] == sorted(HIDDEN)
    assert model.label_counts_[-2:].tolist() == [0, 0]
    for label in HIDDEN:
        assert best_of(model, f"{DATA.names[label]} {WORDS[-1]}") == [label]
        assert best_of(model, DATA.names[label].upper()) == [label]


def test_words_of_a_name_may_stand_in_any_order_and_apart(model: TextRanker) -> None:
    for label in HIDDEN:
        first, last = DATA.names[label].split()
        expected = model.rank([f"{first} {last} honlup"], 3)
        for text in (f"{last} {first} honlup", f"{last} honlup {first}"):
            found = model.rank([text], 3)
            assert found.labels.tolist() == expected.labels.tolist()
            np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-4)


def test_more_of_a_name_is_more_evidence(model: TextRanker) -> None:
    label = code(3)
    place = model.classes_.tolist().index(label)
    first, last = DATA.names[label].split()
    none, half, whole = model.decision_function(
        ["honlup marfil japbok", f"{first} marfil japbok", f"{first} {last} japbok"]
    )[:, place]
    assert none < half < whole


def test_labels_are_found_in_new_texts_where_their_names_stand(model: TextRanker) -> None:
    named = [
        (row, label)
        for row, labels in enumerate(NEW.labels)
        for label in labels
        if label in HIDDEN and DATA.names[label] in NEW.texts[row]
    ]
    assert len(named) >= 6
    listed = [{each.name for each in row} for row in model.suggest(NEW.texts, 5)]
    assert np.mean([label in listed[row] for row, label in named]) > 0.9
    plain = small(use_names=False).fit(TRAIN.texts, TRAIN.labels)
    assert not HIDDEN & set(plain.classes_)


def test_names_help_labels_with_few_rows() -> None:
    few = {code(label) for label in range(0, 30, 2)}
    seen: dict[str, int] = {}

    def keep(labels: list[str]) -> bool:
        rare = few & set(labels)
        if any(seen.get(label, 0) == 2 for label in rare):
            return False
        seen.update({label: seen.get(label, 0) + 1 for label in rare})
        return True

    # Whole rows are left out: a text that names a label and does not have it says not to trust it.
    rows = [row for row, labels in enumerate(DATA.labels) if keep(labels)]
    texts, labels = [DATA.texts[row] for row in rows], [DATA.labels[row] for row in rows]
    recalls = []
    for use_names in (True, False):
        model = small(use_names).fit(texts, labels, label_text=DATA.names)
        hits = [
            label in {entry.label for entry in row}
            for row, truth in zip(model.rank(NEW.texts, 5), NEW.labels, strict=True)
            for label in truth
            if label in few
        ]
        recalls.append(np.mean(hits))
    assert recalls[0] > recalls[1] + 0.1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_names_that_say_nothing_cost_nothing(seed: int) -> None:
    train, new = (make_named(seed=place, sense=False) for place in (seed, 50 + seed))
    named = small().fit(train.texts, train.labels, label_text=train.names)
    plain = small(use_names=False).fit(train.texts, train.labels)
    assert precision(plain, new) > 0.5
    assert precision(named, new) > precision(plain, new) - 0.03


def test_codes_say_nothing() -> None:
    named, plain = (small(use).fit(DATA.texts, DATA.labels) for use in (True, False))
    assert named.estimator_._scorer.proposer.sources == ()
    np.testing.assert_array_equal(
        named.decision_function(NEW.texts), plain.decision_function(NEW.texts)
    )


def test_labels_that_are_words_are_their_own_names() -> None:
    labels = [[DATA.names[label] for label in row] for row in DATA.labels]
    given = small().fit(DATA.texts, labels)
    assert [source.kind for source in given.estimator_._scorer.proposer.sources] == ["names"]
    spelled = {name: name for name in DATA.names.values()}
    same = small().fit(DATA.texts, labels, label_text=spelled)
    np.testing.assert_allclose(
        given.decision_function(NEW.texts), same.decision_function(NEW.texts), rtol=1e-5
    )


def test_without_use_names_they_are_not_looked_at() -> None:
    models = [
        small(use_names=False).fit(DATA.texts, DATA.labels, label_text=text)
        for text in (None, DATA.names)
    ]
    rows = models[0].features_.transform(DATA.texts)
    inner = RMLSRanker(16, max_iter=4, shortlist_size=20, normalize="none", n_jobs=1)
    inner.fit(rows, DATA.labels)
    new = models[0].features_.transform(NEW.texts)
    for model in models:
        assert model.classes_.tolist() == CODES
        np.testing.assert_array_equal(
            model.decision_function(NEW.texts), inner.decision_function(new)
        )


def test_inflected_names_are_found() -> None:
    texts = [f"{word} {filler}" for word in ("taxes", "boats") for filler in "abcdefghijklmnop"]
    labels = [["levy"]] * 16 + [["sea"]] * 16
    text = {"levy": "tax", "sea": "boat", "farm": "cows"}
    model = TextRanker(RMLSRanker(8, max_iter=4), stem="english").fit(
        texts, labels, label_text=text
    )
    scores = model.decision_function(["a cow b", "nothing"])[:, 2]
    assert model.classes_.tolist() == ["levy", "sea", "farm"]
    assert scores[0] > scores[1]


# -- forms of label_text and of y ------------------------------------------------------------------


def test_every_form_says_the_same(model: TextRanker, tmp_path: Path) -> None:
    lines = [f"{label},{name}" for label, name in DATA.names.items()]
    path = tmp_path / "names.csv"
    path.write_text("\n".join(["id,name", *lines]) + "\n", "utf-8")
    (tmp_path / "names.json").write_text(json.dumps(DATA.names), "utf-8")
    forms: list[Any] = [
        path,
        str(path),
        tmp_path / "names.json",
        read_label_text(path),
        LabelText(tuple(DATA.names), tuple(DATA.names.values())),
        {label: [name] for label, name in DATA.names.items()},
    ]
    expected = model.predict_proba(NEW.texts)
    for text in forms:
        found = small().fit(TRAIN.texts, TRAIN.labels, label_text=text)
        np.testing.assert_array_equal(found.predict_proba(NEW.texts), expected)


def test_alternative_names_are_names_too() -> None:
    names = {label: [f"nowhere{at}", name] for at, (label, name) in enumerate(DATA.names.items())}
    model = small().fit(TRAIN.texts, TRAIN.labels, label_text=names)
    for label in HIDDEN:
        assert best_of(model, DATA.names[label]) == [label]


def test_a_matrix_comes_back_as_wide_as_there_are_names() -> None:
    kept = [label for label in CODES if label not in HIDDEN]
    Y = as_matrix(DATA)[:, [CODES.index(label) for label in kept]]
    model = small().fit(DATA.texts, Y, label_names=kept, label_text=DATA.names)
    expected = small().fit(TRAIN.texts, TRAIN.labels, label_text=DATA.names)
    assert model.classes_.tolist() == expected.classes_.tolist() == [*kept, *sorted(HIDDEN)]
    np.testing.assert_array_equal(model.predict_proba(NEW.texts), expected.predict_proba(NEW.texts))
    found = model.predict(NEW.texts)
    assert type(found) is np.ndarray
    assert found.shape == (len(NEW.texts), len(CODES))


def test_the_columns_of_a_frame_are_names() -> None:
    frame = pd.DataFrame(as_matrix(DATA), columns=list(DATA.names.values()))
    model = small().fit(DATA.texts, frame)
    assert [source.kind for source in model.estimator_._scorer.proposer.sources] == ["names"]
    found = model.predict(NEW.texts)
    assert type(found) is pd.DataFrame
    assert found.columns.tolist() == frame.columns.tolist()


def test_classes_get_names_and_no_others() -> None:
    first = np.array([row[0] for row in DATA.labels])
    model = small().fit(DATA.texts, first, label_text={**DATA.names, "c_999": "honlup"})
    assert model.classes_.tolist() == sorted(set(first))
    assert model.predict(NEW.texts).shape == (len(NEW.texts),)
    truth = np.array([row[0] for row in NEW.labels])
    plain = small(use_names=False).fit(DATA.texts, first)
    right, before = (np.mean(each.predict(NEW.texts) == truth) for each in (model, plain))
    assert right > before - 0.03


def test_rows_may_have_fields_and_weights() -> None:
    fields = [tuple(text.split(" ", 1)) for text in TRAIN.texts]
    model = small().fit(fields, TRAIN.labels, np.ones(len(fields)), label_text=DATA.names)
    for label in HIDDEN:
        assert best_of(model, DATA.names[label]) == [label]


REFUSED: dict[str, tuple[Any, str]] = {
    "a list": (list(DATA.names.values()), "LabelText or a mapping"),
    "numbers": (dict.fromkeys(CODES, 3), "names of 'c_000' must be strings"),
    "lists of numbers": ({label: [3] for label in CODES}, "names of 'c_000' must be strings"),
    "none of the labels": ({"x": "bread", "y": "milk"}, "has none of the 28 labels"),
    "no file": ("no-such-file.csv", "no-such-file.csv"),
    "None": (dict.fromkeys(CODES), "names of 'c_000' must be strings"),
    "matrix": (np.ones((30, 4)), "LabelText or a mapping"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_label_text_is_one_sentence(name: str) -> None:
    text, match = REFUSED[name]
    with pytest.raises((InputError, FileNotFoundError), match=match) as told:
        small().fit(TRAIN.texts, TRAIN.labels, label_text=text)
    assert "\n" not in str(told.value)


def test_another_estimator_says_that_it_learns_nothing_from_names() -> None:
    with pytest.raises(InputError, match="KNN learns nothing from label_text; RMLSRanker does"):
        TextRanker(KNN()).fit(DATA.texts, DATA.labels, label_text=DATA.names)
    with pytest.raises(InputError, match="Calibrated learns nothing"):
        TextRanker(Calibrated(KNN())).fit(DATA.texts, DATA.labels, label_text=DATA.names)
    # Labels that are words by chance are no reason to refuse.
    words = [[DATA.names[label] for label in row] for row in DATA.labels]
    assert TextRanker(KNN()).fit(DATA.texts, words).classes_.shape == (30,)
    TextRanker(KNN(), use_names=False).fit(DATA.texts, DATA.labels, label_text=DATA.names)


# -- archive ---------------------------------------------------------------------------------------


@pytest.fixture(name="folder", scope="module")
def _folder(model: TextRanker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names") / "m"
    model.save(path)
    return path


def test_another_process_knows_the_names(model: TextRanker, folder: Path) -> None:
    again = rmls.load(folder)
    assert again.use_names is True
    np.testing.assert_array_equal(again.predict_proba(NEW.texts), model.predict_proba(NEW.texts))
    texts = [*DATA.names.values(), *NEW.texts[:5]]
    command = [sys.executable, "-c", ASK, str(folder)]
    done = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    expected = [[list(each) for each in row] for row in model.suggest(texts, 3)]
    assert json.loads(done.stdout) == expected
    assert {row[0][0] for row in expected} >= HIDDEN


def test_a_copy_knows_the_names(model: TextRanker) -> None:
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(NEW.texts), model.predict_proba(NEW.texts))
    assert clone(TextRanker(use_names=False)).use_names is False


DAMAGE: dict[str, Any] = {
    "label": lambda arrays: arrays.update(inner_name_owners=arrays["inner_name_owners"] + 1),
    "name": lambda arrays: arrays.update(inner_name_names=arrays["inner_name_names"] - 1),
    "words": lambda arrays: arrays.update(inner_name_indptr=arrays["inner_name_indptr"][1:]),
    "no shares": lambda arrays: arrays.pop("inner_name_shares"),
    "no cosines": lambda arrays: arrays.pop("inner_name_cosines"),
    "slopes": lambda arrays: arrays.update(inner_slopes=arrays["inner_slopes"][:, 1:]),
    "labels without rows": lambda arrays: arrays.update(inner_unseen=arrays["inner_unseen"][1:]),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_names_are_refused(name: str, folder: Path) -> None:
    archive = read_archive(folder, mmap=False)
    arrays = dict(archive.arrays)
    build_text_ranker(Archive(folder, archive.manifest, arrays))
    DAMAGE[name](arrays)
    with pytest.raises((ArchiveError, InputError)):
        build_text_ranker(Archive(folder, archive.manifest, arrays))


# -- threads ---------------------------------------------------------------------------------------


def test_threads_give_the_same_labels() -> None:
    models = [
        TextRanker(RMLSRanker(16, max_iter=4), n_jobs=jobs).fit(
            TRAIN.texts, TRAIN.labels, label_text=DATA.names
        )
        for jobs in (1, 2)
    ]
    first, second = (model.rank(NEW.texts, 1).labels for model in models)
    assert np.mean(first == second) > 0.9
    for label in HIDDEN:
        assert [best_of(model, DATA.names[label]) for model in models] == [[label], [label]]


def test_a_label_without_rows_is_suggested_even_where_texts_name_no_other() -> None:
    rng = np.random.default_rng(0)
    topics = rng.integers(6, size=300)
    texts = [
        " ".join([*(f"t{topic}{word}" for word in rng.integers(5, size=3)), f"w{rng.integers(9)}"])
        for topic in topics
    ]
    names = ["apple", "bread", "coal", "dairy", "eggs", "fruit"]
    called = {f"c{topic}": name for topic, name in enumerate(names)} | {"c9": "yacht"}
    model = TextRanker().fit(texts, [[f"c{topic}"] for topic in topics], label_text=called)
    found = [row[0].name for row in model.suggest(["a yacht", "t01 t02 w3", texts[0]], 1)]
    assert found == ["c9", "c0", f"c{topics[0]}"]


OTHERS = {"c1": ["tax", "duty"], "c2": ["sea"], "c3": "space"}


def coded() -> TextRanker:
    texts = ["tax on sugar", "fish in the sea", "tax on salt", "sea fishing"] * 8
    labels = [["c1"], ["c2"], ["c1"], ["c2"]] * 8
    return TextRanker(RMLSRanker(8, max_iter=2)).fit(texts, labels, label_text=OTHERS)


def test_other_names_are_kept_with_the_model(tmp_path):
    model = coded()
    kept = {"c1": ["tax", "duty"], "c2": ["sea"], "c3": ["space"]}
    assert model.other_names_ == kept
    model.save(tmp_path / "m")
    assert rmls.load(tmp_path / "m").other_names_ == kept
    # Called what they are: nothing is written, as in folders of older versions.
    model.fit(["tax on sugar", "fish in the sea"] * 20, [["tax"], ["sea"]] * 20)
    assert model.other_names_ == {}
    model.save(tmp_path / "m")
    assert "label_names" not in read_archive(tmp_path / "m").manifest
    assert rmls.load(tmp_path / "m").other_names_ == {}


def test_other_names_follow_their_labels(tmp_path):
    model = coded()
    model.rename_labels({"c1": "d1"}).add_labels(["c4"], {"c4": ["moon", "lunar"]})
    model.retire_labels(["c2"])
    model.save(tmp_path / "m")
    assert rmls.load(tmp_path / "m").other_names_ == {
        "d1": ["tax", "duty"],
        "c3": ["space"],
        "c4": ["moon", "lunar"],
    }


@pytest.mark.parametrize("names", [[], {"c1": "tax"}, {"c1": [1]}])
def test_names_that_are_none_are_refused(names, tmp_path):
    coded().save(tmp_path / "m")
    amend_archive(tmp_path / "m", lambda manifest: {**manifest, "label_names": names})
    with pytest.raises(ArchiveError, match="does not make sense"):
        rmls.load(tmp_path / "m")
