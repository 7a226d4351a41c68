"""IRUS and COCOA: what their machines see, and what they make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from archive_samples import change_model
from model_samples import make_blocks
from scipy import sparse
from tolerances import assert_close

import rmls
from rmls import COCOA, IRUS
from rmls.core.errors import ArchiveError, InputError
from rmls.models.ensembles.linear_machines import MachineTrainer, TrainingRows, best_f_threshold

X, Y = make_blocks(90)
RARE = Y * (np.random.default_rng(0).random(Y.shape) < 0.3)


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[list[np.ndarray]]]:
    """The classes of all machines that are trained, by label."""
    seen: dict[int, list[list[np.ndarray]]] = {}
    train = MachineTrainer.train

    def record(self: MachineTrainer, label: int, classes: Any, *rest: Any) -> Any:
        seen[label] = classes
        counted = [[self.rows.weights[part].sum() for part in parts] for parts in classes]
        seen_weights.append((self.rows, label, counted))
        return train(self, label, classes, *rest)

    seen_weights.clear()
    monkeypatch.setattr(MachineTrainer, "train", record)
    return seen


seen_weights: list[tuple[TrainingRows, int, list[list[float]]]] = []


# -- IRUS -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, np.arange(1, 91) % 4 + 1.0], ids=["even", "uneven"])
def test_every_machine_sees_all_positives_and_fewer_negatives(problems: Any, weights: Any) -> None:
    IRUS(7, negatives_per_positive=0.6).fit(X, RARE, sample_weight=weights)
    assert len(problems) == 6
    for rows, label, counted in seen_weights:
        assert len(counted) == 7
        relevant = set(rows.relevant(label).tolist())
        for (others, own), (weight, total) in zip(problems[label], counted, strict=True):
            assert set(own.tolist()) == relevant
            assert not relevant & set(others.tolist())
            assert 0 < weight < total
            assert len(set(others.tolist())) == len(others)


def test_machines_of_a_label_see_different_negatives(problems: Any) -> None:
    IRUS(5).fit(X, RARE)
    for classes in problems.values():
        assert len({tuple(sorted(others)) for others, _ in classes}) > 1


def test_one_machine_by_hand() -> None:
    # Rows 1 (relevant) and -1: the machine is w = 0.8, so that rows score ±0.8 and have the
    # confidence 1 / (1 + exp(∓1.6)); the threshold lies half-way, at one half.
    model = IRUS(3, normalize="none", tol=1e-9, max_iter=1000).fit([[1.0], [-1.0]], [[1], [0]])
    assert model.thresholds_ == pytest.approx([0.5])
    wanted = 1 / (1 + np.exp(-2 * 0.8 * np.array([[1.0], [-1.0], [0.5]]))) - 0.5
    np.testing.assert_allclose(model.decision_function([[1.0], [-1.0], [0.5]]), wanted, atol=1e-5)


# -- COCOA ----------------------------------------------------------------------------------------


def test_without_coupled_labels_it_is_its_binary_part(problems: Any) -> None:
    alone = COCOA(0).fit(X, RARE)
    binary = dict(problems)
    coupled = COCOA(3).fit(X, RARE)
    for label, classes in problems.items():
        assert len(classes) == 4
        assert len(binary[label]) == 1
        # The same draw, and so the same machine.
        for one, other in zip(binary[label][0], classes[0], strict=True):
            np.testing.assert_array_equal(one, other)
    weights, sizes = coupled._ensemble.weights, coupled._ensemble.sizes
    firsts = np.concatenate([[0], np.cumsum(sizes)])[:-1][::4]
    np.testing.assert_array_equal(weights[:, firsts].toarray(), alone._ensemble.weights.toarray())


def test_the_score_is_the_mean_confidence_of_all_machines() -> None:
    model = COCOA(2, normalize="none").fit(X, RARE)
    weights, intercepts, sizes, owners = model._ensemble
    margins = X @ weights.toarray() + intercepts
    wanted = np.zeros((len(X), 6))
    start = 0
    for size, owner in zip(sizes, owners, strict=True):
        wanted[:, owner] += 1 / (1 + np.exp(-margins[:, start : start + size]).sum(axis=1)) / 3
        start += size
    np.testing.assert_allclose(model.decision_function(X), wanted - model.thresholds_, atol=1e-5)


def test_classes_are_neither_the_coupled_label_alone_and_the_label(problems: Any) -> None:
    COCOA(5).fit(X, RARE)
    for rows, label, _ in seen_weights:
        own, limit = set(rows.relevant(label).tolist()), rows.weigh(rows.relevant(label))
        coupled = []
        for neither, other, relevant in problems[label][1:]:
            assert set(relevant.tolist()) == own
            assert max(rows.weigh(neither), rows.weigh(other)) <= limit
            matches = [
                k
                for k in range(6)
                if k != label
                and set(other.tolist()) <= set(rows.relevant(k).tolist()) - own
                and not set(neither.tolist()) & (set(rows.relevant(k).tolist()) | own)
            ]
            assert matches
            coupled.append(matches)
        assert len(coupled) == 5


def test_a_frequent_label_is_cut_down_too(problems: Any) -> None:
    often = np.ones((60, 1), int)
    often[:5] = 0
    COCOA().fit(np.random.default_rng(0).random((60, 3)), often)
    ((others, own),) = problems[0]
    assert len(others) == len(own) == 5


# -- both -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [IRUS, COCOA])
def test_learns_blocks_and_threads_change_nothing(method: type) -> None:
    one, two = (method(n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    assert_close(one.decision_function(X), two.decision_function(X))
    assert one.score(X, Y) > 0.95


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_has_the_best_f(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random(30).round(1 + seed % 2).astype(np.float32)
    relevant, weights = np.flatnonzero(rng.random(30) < 0.3), rng.integers(1, 4, 30) * 1.0
    own = np.isin(np.arange(30), relevant)

    def f(cut: float) -> float:
        taken = scores >= cut
        return 2 * weights[taken & own].sum() / (weights[taken].sum() + weights[own].sum())

    assert f(best_f_threshold(scores, relevant, weights)) == max(f(cut) for cut in scores)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (IRUS(0), "n_estimators"),
        (IRUS(negatives_per_positive=1.0), "negatives_per_positive"),
        (IRUS(C=0), "C must be"),
        (COCOA(-1), "n_coupled"),
        (COCOA(1.5), "n_coupled"),  # type: ignore[arg-type]
        (COCOA(max_iter=0), "max_iter"),
        (COCOA(tol=-1), "tol"),
        (COCOA(prune=-1), "prune"),
        (COCOA(normalize="l1"), "normalize"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_by_name(model: Any, named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        model.fit(X, Y)
    assert "\n" not in str(caught.value)


def test_a_damaged_ensemble_is_refused(tmp_path: Any) -> None:
    model = COCOA(1).fit(X, Y)
    model.save(tmp_path / "model")
    model._ensemble.owners[0] = 99
    change_model(tmp_path / "model", arrays={"machine_owners": model._ensemble.owners})
    with pytest.raises(ArchiveError, match="machines do not fit"):
        rmls.load(tmp_path / "model")
    with pytest.raises(ArchiveError, match="machines do not fit"):
        model.save(tmp_path / "again")


def test_wide_data_stay_sparse() -> None:
    rng = np.random.default_rng(0)
    wide = sparse.random(60, 300_000, 1e-4, "csr", np.float32, random_state=0)
    model = COCOA(2).fit(wide, (rng.random((60, 3)) < 0.3).astype(int))
    assert model._ensemble.weights.nnz <= 15 * wide.nnz
