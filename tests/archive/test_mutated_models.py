"""A model that somebody changed, with good checksums, is refused, or can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_mutations import mutate
from archive_samples import one_sentence
from model_samples import ESTIMATORS, NAMES, make, make_blocks

import rmls
from rmls.archive import Archive, read_archive
from rmls.core.errors import ArchiveError, RmlsError
from rmls.models.shared import model_archive

X, Y = make_blocks()
LABELS = {"sets": Y, "classes": np.array(NAMES)[Y.argmax(axis=1)]}
FEW, MANY = 8, 250
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ESTIMATORS},
    "clusters of int8": ("RMLSRanker", {"precision": "int8", "index": "clusters"}),
    "leading": ("RMLSRanker", {"index": "leading", "n_components": 40}),
    "pairs": ("GFM", {"joint": "pairs"}),
    "log q": ("RMLS", {"sampler": "mixture", "log_q": True}),
    "later labels": ("RMLSRanker", {}),
    "later labels of int8": ("RMLSRanker", {"precision": "int8"}),
}


def uses(model: Any, labels: Any) -> Iterator[Callable[[], Any]]:
    """Yield everything that a loaded model is for."""
    yield from (lambda rule=rule: model.predict(X, rule) for rule in (None, "top_2", "macro_f1"))
    yield from (lambda: model.rank(X, 3), lambda: model.decision_function(X))
    if hasattr(model, "predict_proba"):
        yield lambda: model.predict_proba(X)
    if hasattr(model, "partial_fit"):
        yield lambda: model.partial_fit(X[:5], labels[:5])
        yield lambda: model.predict(X)
    if hasattr(model, "add_labels"):
        yield lambda: model.add_labels(["z"], np.eye(1, X.shape[1]), X[:2], [["z"]] * 2)
        yield lambda: model.merge_labels({model.classes_[0]: model.classes_[1]})
        yield lambda: model.rank(X, 3)


def ask(archive: Archive, labels: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Load an archive and use the model; any error but one sentence of ours fails the test."""
    monkeypatch.setattr(model_archive, "read_archive", lambda path, **_: archive)
    try:
        model = rmls.load(archive.path)
    except ArchiveError as error:
        one_sentence(error, archive.path)
        return "refused"
    # For rows of other features there is scikit-learn's own sentence.
    if model.n_features_in_ != X.shape[1]:
        return "loaded"
    for use in uses(model, labels):
        with suppress(RmlsError):
            use()
    return "loaded"


def go_on(model: Any, labels: Any) -> Any:
    """Add labels to a model and take one away; returns labels in its columns."""
    words = np.eye(2, X.shape[1])
    model.retire_labels([0]).add_labels(["a", "b"], words, X[:3], [["a"], ["a", "b"], ["a"]])
    return np.column_stack([labels[:, 1:], labels[:, :2]])


def campaign(variant: str, seeds: range, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, options = VARIANTS[variant]
    outcomes = set()
    for labels in LABELS.values():
        model = make(name, **options).fit(X, labels)
        if variant.startswith("later") and labels.ndim == 2:
            labels = go_on(model, labels)
        model.save(folder / "model")
        archive = read_archive(folder / "model")
        for seed in seeds:
            changed, what = mutate(archive, seed)
            with np.errstate(all="ignore"), monkeypatch.context() as patch:
                try:
                    outcomes.add(ask(changed, labels, patch))
                except Exception as error:
                    pytest.fail(f"seed {seed} ({what}) gave {type(error).__name__}: {error}")
    assert "refused" in outcomes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_changed_model_is_refused_or_can_be_used(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign(variant, range(FEW), tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("variant", VARIANTS)
def test_many_changed_models_are_refused_or_can_be_used(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign(variant, range(FEW, MANY), tmp_path, monkeypatch)


# -- what fuzzing found ----------------------------------------------------------------------------


def wrap(indptr: np.ndarray) -> np.ndarray:
    """Return a row pointer whose differences wrap around to something harmless."""
    changed = indptr.copy()
    changed[1:-1] = np.iinfo(np.int64).max
    changed[2] = np.iinfo(np.int64).min
    return changed


@pytest.mark.parametrize(
    ("name", "array", "change"),
    [
        ("KNN", "index_indptr", wrap),
        ("KNN", "labels_indices", lambda a: a + 1000),
        ("KNN", "weights", lambda a: a[:0]),
        ("BMLPL", "topic_indptr", wrap),
        ("IRUS", "weights_indptr", wrap),
        ("IRUS", "machine_sizes", lambda a: np.full_like(a, 2**62)),
        ("IRUS", "machine_owners", lambda a: a[::-1]),
        ("RMLSRanker", "weights_indptr", wrap),
        ("BinaryRelevance", "selected", lambda a: a + 1000),
        ("BinaryRelevance", "selected", lambda a: a - 1000),
        ("CSSP", "selected", lambda a: a + 1000),
        ("RMLS", "W", lambda a: a * np.nan),
        ("RMLS", "accumulator_L", lambda a: a - 1e9),
        ("PLST", "coef", lambda a: a / 0),
        ("MostFrequent", "label_counts", lambda a: a + 1000),
    ],
)
def test_arrays_that_lead_outside_are_refused(
    name: str, array: str, change: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(name).fit(X, Y).save(tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    with np.errstate(all="ignore"):
        arrays = {**archive.arrays, array: change(archive.arrays[array])}
    changed = Archive(archive.path, archive.manifest, arrays)
    assert ask(changed, Y, monkeypatch) == "refused"


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("KNN", "params.n_neighbors", 10**30),
        ("KNN", "params.n_neighbors", "3"),
        ("RMLS", "fitted.seed", 10**30),
        ("RMLS", "fitted.loss_curve", ["a"]),
        ("LEML", "fitted.n_iter", -1),
        ("MostFrequent", "fitted.k", -1),
        ("IRUS", "fitted.n_iter", "x"),
        ("AllIrrelevant", "labels.dtype", "U500000000"),
        ("AllIrrelevant", "labels.dtype", "i4,i4"),
        ("AllIrrelevant", "labels.dtype", {"names": []}),
        ("AllIrrelevant", "labels.names", []),
        ("AllIrrelevant", "n_features", True),
        ("AllIrrelevant", "n_samples", -1),
        ("AllIrrelevant", "training", [1]),
        ("AllIrrelevant", "rules", [{"name": "cardinality", "value": None}]),
        ("RMLSRanker", "fitted.n_components", 8.0),
        ("RMLSRanker", "fitted.seconds", {"train": "long"}),
    ],
)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_values_of_another_kind_are_refused(
    name: str,
    path: str,
    value: Any,
    labels: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make(name).fit(X, labels).save(tmp_path / "model")
    archive = read_archive(tmp_path / "model")
    place: Any = archive.manifest
    *parents, last = path.split(".")
    for key in parents:
        place = place[key]
    place[last] = value
    assert ask(archive, labels, monkeypatch) == "refused"
