"""Tuning: never worse than the defaults, on rows that nothing was chosen on, within its time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import rmls
from rmls import KNN, MostFrequent, RMLSRanker, TextRanker, tune
from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.datasets import make_longtail
from rmls.review.quality import Estimate, Prediction
from rmls.tuning.choices import (
    AS_IT_IS,
    DEFAULTS,
    Arm,
    Option,
    combined,
    list_arms,
    list_options,
    read_figure,
)
from rmls.tuning.division import FEW, MOST, divide
from rmls.tuning.problem import Problem, with_tail
from rmls.tuning.search import Candidate, Search
from rmls.tuning.trials import Trial, TrialStore

N_LABELS = 6


class Planned:
    """A problem whose trainings take a known time and whose figures are known by construction.

    ``quality`` says how often the best label of a row is right, by the value of ``q``.
    """

    def __init__(self, n_rows: int, quality: dict[str, float], costs: dict[str, float]) -> None:
        generator = np.random.default_rng(0)
        self.truth = generator.integers(N_LABELS, size=n_rows)
        self.luck = generator.random(n_rows)
        self.Y = sparse.csr_matrix(
            (np.ones(n_rows, np.int32), self.truth, np.arange(n_rows + 1)), (n_rows, N_LABELS + 1)
        )
        self.quality, self.costs = quality, costs
        self.n_rows, self.now, self.fits = n_rows, 0.0, list[tuple[str, int]]()

    def fit(self, params, rows=None):
        name = params.get("q", "default")
        n_rows = self.n_rows if rows is None else len(rows)
        self.fits.append((name, n_rows))
        self.now += self.costs.get(name, 1.0) * n_rows / 1000
        return name

    def counts(self, rows):
        return np.full(N_LABELS + 1, len(rows) // N_LABELS)

    def predict(self, model, rows, options, *, depth=5, sets=True):
        right = self.luck[rows] < self.quality[model]
        labels = np.where(right, self.truth[rows], (self.truth[rows] + 1) % N_LABELS)
        matrix = sparse.csr_matrix(
            (np.ones(len(rows)), labels, np.arange(len(rows) + 1)), (len(rows), N_LABELS + 1)
        )
        return {o.name: Prediction(o.name, Ranking.from_csr(matrix), matrix) for o in options}


def search(problem: Planned, names: list[str], seconds: float, store=None) -> Search:
    arms = [Arm({"q": name}, problem.costs.get(name, 1.0)) for name in names]
    made = TrialStore(None, {}) if store is None else store
    return Search(problem, divide(problem.Y, 0), arms, [AS_IT_IS], "P@1", seconds, made,
                  clock=lambda: problem.now)  # fmt: skip


def test_the_best_change_wins_and_most_are_tried_on_few_rows_only() -> None:
    quality = {"default": 0.5, **{f"{at}": 0.3 + 0.02 * at for at in range(9)}, "good": 0.7}
    problem = Planned(24_000, quality, {})
    best, estimate = search(problem, [*"012345678", "good"], 1e9).run()
    assert best.arm.params == {"q": "good"}
    assert estimate is not None
    assert estimate.low > 0.15
    sizes = [n_rows for _, n_rows in problem.fits]
    assert sizes.count(min(sizes)) == 11
    assert sizes.count(max(sizes)) <= 4
    # The defaults are there on every rung.
    assert {n_rows for name, n_rows in problem.fits if name == "default"} == set(sizes)


def test_defaults_stay_where_nothing_is_better() -> None:
    problem = Planned(2000, {"default": 0.6, "a": 0.5, "b": 0.6}, {})
    best, estimate = search(problem, ["a", "b"], 1e9).run()
    assert best.arm is DEFAULTS
    assert estimate is None


@pytest.mark.parametrize("seconds", [5.0, 60.0, 120.0, 300.0])
def test_the_time_is_kept(seconds: float) -> None:
    names = [f"{at}" for at in range(12)]
    quality = {"default": 0.5, **dict.fromkeys(names, 0.6)}
    problem = Planned(20_000, quality, {name: 1.0 + int(name) / 4 for name in names})
    found = search(problem, names, seconds)
    best, estimate = found.run()
    if estimate is not None and found.has_time_to_confirm(best):
        found.confirm(best, ["P@1"])
    smallest = found.division.sizes[0] / 1000
    final = max(problem.costs.get(best.arm.params.get("q", ""), 1.0), 1.0) * problem.n_rows / 1000
    # Whatever there is, one look at the defaults is taken.
    assert problem.now <= max(seconds - final, smallest)
    assert found.skipped or seconds >= 300


def test_a_search_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    quality = {"default": 0.5, "a": 0.6, "b": 0.7, "c": 0.4}
    whole = Planned(12_000, quality, {})
    expected = search(whole, ["a", "b", "c"], 1e9).run()

    class Killed(Planned):
        def fit(self, params, rows=None):
            if len(self.fits) == 3:
                raise KeyboardInterrupt
            return super().fit(params, rows)

    first = Killed(12_000, quality, {})
    with pytest.raises(KeyboardInterrupt):
        search(first, ["a", "b", "c"], 1e9, TrialStore(tmp_path, {"a": 1})).run()
    second = Planned(12_000, quality, {})
    store = TrialStore(tmp_path, {"a": 1})
    resumed = search(second, ["a", "b", "c"], 1e9, store)
    assert resumed.run() == expected
    assert store.n_found == 3
    assert len(second.fits) == len(whole.fits) - 3
    # What was used before the kill counts.
    assert resumed.used == pytest.approx(whole.now)


def test_trials_of_other_rows_are_refused_and_damaged_ones_made_again(tmp_path: Path) -> None:
    store = TrialStore(tmp_path, {"rows": "x"})
    ranking = Ranking.from_dense([[0.2, 0.9, 0.1]], 2)
    sets = sparse.csr_matrix([[0, 1, 2]])
    store.put("one", Trial(1.5, 7, {"": Prediction("", ranking, sets)}))
    again = TrialStore(tmp_path, {"rows": "x"}).get("one")
    assert again is not None
    assert (again.seconds, again.n_fitted) == (1.5, 7)
    assert again.predictions[""].ranking.labels.tolist() == [1, 0]
    assert (again.predictions[""].sets != sets).nnz == 0
    with pytest.raises(InputError, match="another metric"):
        TrialStore(tmp_path, {"rows": "y"})
    (file,) = tmp_path.glob("trial-*.npz")
    file.write_bytes(file.read_bytes()[:50])
    assert TrialStore(tmp_path, {"rows": "x"}).get("one") is None


# -- the rule ------------------------------------------------------------------------------------


class Decided(Search):
    """A search whose outcome is given."""

    def run(self):
        return self.outcome

    def confirm(self, best, figures):
        return dict.fromkeys(figures, self.confirmed)


@pytest.mark.parametrize(
    ("chosen", "confirmed", "replaces"),
    [
        (Estimate(0.02, 0.01, 0.03), Estimate(0.01, -0.01, 0.03), True),
        (Estimate(0.02, 0.01, 0.03), Estimate(0.0, -0.01, 0.01), True),
        (Estimate(0.02, 0.01, 0.03), Estimate(-0.001, -0.01, 0.01), False),
        (Estimate(0.02, -0.01, 0.03), Estimate(0.01, 0.005, 0.03), False),
    ],
)
def test_defaults_are_replaced_only_by_what_is_better_on_both_kinds_of_rows(
    chosen: Estimate, confirmed: Estimate, replaces: bool
) -> None:
    from rmls.tuning.tuner import _decide

    problem = Planned(2000, {"default": 0.5, "a": 0.6}, {})
    problem.model = RMLSRanker()
    made = Decided(problem, divide(problem.Y, 0), [], [AS_IT_IS], "P@1", 1e9, TrialStore(None, {}))
    made.outcome = Candidate(Arm({"C": 0.5}), Option("tail=1", tail=1.0), 0.6), chosen
    made.confirmed = confirmed
    found = _decide(made)
    assert (found.params == {"C": 0.5, "tail": 1.0}) is replaces
    assert bool(found.params) is replaces
    assert ("the defaults stay" in found.reason) is not replaces


def test_rows_that_confirm_are_never_chosen_on() -> None:
    for n_rows in (40, 600, 6000, 26_000):
        Y = make_longtail(n_rows, 5, 6, labels_per_row=1, random_state=0).Y
        division = divide(Y, 0)
        seen = np.concatenate([part for pair in division.choose for part in pair])
        assert not np.intersect1d(seen, division.confirm.ask).size
        assert not np.intersect1d(division.confirm.fit, division.confirm.ask).size
        for pair in division.choose:
            assert not np.intersect1d(pair.fit, pair.ask).size
        assert len(np.union1d(seen, division.confirm.ask)) == n_rows
        assert len(division.confirm.ask) <= MOST
        assert (len(division.choose) > 1) == (n_rows <= FEW)
    with pytest.raises(InputError, match="at least 40 rows"):
        divide(Y[:39], 0)


# -- what is tried -------------------------------------------------------------------------------


def test_another_boost_needs_no_training() -> None:
    data = make_longtail(300, 60, 40, labels_per_row=3, random_state=0)
    model = RMLSRanker(8).fit(data.X, data.Y)
    before = model.rank(data.X, 5)
    for tail in (0.0, 2.0):
        trained = RMLSRanker(8, tail=tail).fit(data.X, data.Y).rank(data.X, 5)
        asked = with_tail(model, tail).rank(data.X, 5)
        assert asked.labels.tolist() == trained.labels.tolist()
    after = with_tail(model, None).rank(data.X, 5)
    assert after.labels.tolist() == before.labels.tolist()


def test_a_boost_of_texts_with_names_is_that_of_a_training() -> None:
    texts = ["tax on sugar", "fish in the sea", "tax on salt", "sea fishing"] * 12
    labels = [["tax", "sugar"], ["sea"], ["tax", "salt"], ["sea", "fishing"]] * 12
    names = {"sea": ["sea"], "whale": ["whale", "fish"]}
    model = TextRanker(RMLSRanker(8)).fit(texts, labels, label_text=names)
    other = TextRanker(RMLSRanker(8, tail=1.5)).fit(texts, labels, label_text=names)
    X = model.features_.transform(["fish and whale", "salt"])
    asked = with_tail(model.estimator_, 1.5).rank(X, 4)
    expected = other.estimator_.rank(X, 4)
    assert asked.to_lists() == expected.to_lists()
    assert asked.scores == pytest.approx(expected.scores, abs=1e-4)


def test_metrics_have_their_options() -> None:
    assert read_figure("precision@3") == "P@3"
    assert read_figure("f1") == "example F"
    for wrong, sentence in (("recall@5", "cannot be tuned"), ("psp@k", "needs a number")):
        with pytest.raises(InputError, match=sentence):
            read_figure(wrong)
    assert {o.decision for o in list_options(RMLSRanker(), "macro F")} == {None, "macro_f1"}
    assert 1.0 in {o.tail for o in list_options(TextRanker(RMLSRanker()), "PSP@5")}
    assert list_options(KNN(), "PSP@5") == [AS_IT_IS]


def test_changes_are_those_of_the_model() -> None:
    of_texts = {name for arm in list_arms(TextRanker(RMLSRanker()), 1000) for name in arm.params}
    assert {"pairs", "estimator__n_models", "estimator__shortlist_size"} <= of_texts
    few = list_arms(RMLSRanker(), 100)
    assert all("shortlist_size" not in arm.params for arm in few)
    assert all(arm.params != {"C": 0.5} for arm in list_arms(RMLSRanker(C=0.5), 100))
    assert [arm.params for arm in list_arms(KNN(), 9, {"n_neighbors": [3, 9]})] == [
        {"n_neighbors": 3},
        {"n_neighbors": 9},
    ]
    with pytest.raises(InputError, match="no parameter 'x'"):
        list_arms(KNN(), 9, {"x": [1]})
    with pytest.raises(InputError, match="give the values to try"):
        list_arms(KNN(), 9)


def test_good_changes_are_put_together_once_a_parameter() -> None:
    found = combined([Arm({"a": 1}, 2.0), Arm({"a": 2}), Arm({"b": 3}, 1.5)])
    assert found == Arm({"a": 1, "b": 3}, 3.0)
    assert combined([Arm({"a": 1})]) is None
    assert combined([]) is None


# -- all of it -----------------------------------------------------------------------------------


def test_neighbours_are_chosen_where_their_number_decides(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    topic = generator.integers(4, size=400)
    X = np.eye(4)[topic] + 0.8 * generator.normal(size=(400, 4))
    labels = [[f"topic {t}"] for t in topic.tolist()]
    options = {"metric": "p@1", "space": {"n_neighbors": [15]}, "folder": tmp_path / "trials"}
    found = tune(X, labels, model=KNN(1), **options)
    assert found.params == {"n_neighbors": 15}
    assert found.difference is not None
    assert found.difference.value > 0
    assert found.model.n_neighbors == 15
    assert found.model.n_samples_ == 400
    assert "n_neighbors=15 is worth +" in found.reason
    json.dumps(found.as_dict())
    assert "n_neighbors=15" in found.html()
    again = tune(X, labels, model=KNN(1), **options)
    assert again.as_dict() == found.as_dict()


@pytest.mark.parametrize("kind", ["sparse", "dense", "single", "frame", "dataset"])
def test_every_container_of_labels_is_taken(kind: str) -> None:
    data = make_longtail(80, 20, 6, labels_per_row=2, random_state=0)
    Y = {
        "sparse": data.Y,
        "dense": data.Y.toarray(),
        "single": np.arange(80) % 3,
        "dataset": None,
    }
    if kind == "frame":
        pandas = pytest.importorskip("pandas")
        Y["frame"] = pandas.DataFrame(data.Y.toarray(), columns=list("abcdef"))
    X = data if kind == "dataset" else data.X
    found = tune(X, Y[kind], model=MostFrequent(), metric="f1", space={}, minutes=1)
    assert found.params == {}
    kept = found.model.predict(data.X[:2])
    expected = MostFrequent().fit(data.X, data.Y if kind == "dataset" else Y[kind])
    assert str(kept) == str(expected.predict(data.X[:2]))


def test_inputs_are_checked() -> None:
    data = make_longtail(60, 20, 6, random_state=0)
    for minutes in (0, -1, float("nan"), 1e9):
        with pytest.raises(InputError, match="minutes must be"):
            tune(data, minutes=minutes)
    with pytest.raises(InputError, match="both need one row per sample"):
        tune(data.X[:50], data.Y)
    with pytest.raises(InputError, match="requires y"):
        tune(["a"] * 50)


def test_two_problems_differ_in_their_fingerprint() -> None:
    data = make_longtail(60, 20, 6, random_state=0)
    prints = {
        Problem(model, X, Y).fingerprint()
        for model, X, Y in (
            (KNN(), data.X, data.Y),
            (KNN(3), data.X, data.Y),
            (KNN(), 2 * data.X, data.Y),
            (KNN(), data.X, data.Y[::-1]),
        )
    }
    assert len(prints) == 4
    assert rmls.tune is tune
