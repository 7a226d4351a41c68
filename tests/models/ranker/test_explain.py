"""Explanations: parts that add up to the score that ranked, features that are to blame."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_samples import assert_refused, change_model
from named_samples import make_named
from scipy import sparse

import rmls
from rmls import RMLS, RMLSRanker, TextRanker, make_longtail
from rmls.archive import read_archive
from rmls.core.errors import InputError
from rmls.kernels.arrays import ACTIVATIONS
from rmls.models.ranker.pair_parts import Pair, pair_scores, split_score

N_LABELS, N_DENSE = 80, 6
DATA = make_longtail(900, 600, N_LABELS, labels_per_row=3, random_state=2)
EXACT = 1e-5


@cache
def fitted(activation: str = "tanh", **options: Any) -> RMLSRanker:
    vectors = RMLS(16, max_iter=5, activation=activation)
    settings: dict[str, Any] = {"shortlist_size": 20, "calibration_folds": 0}
    model = RMLSRanker(representation=vectors, **{**settings, **options})
    return model.fit(rows(), DATA.Y) if "dense_columns" in options else model.fit(DATA.X, DATA.Y)


def rows() -> sparse.csr_matrix:
    """The rows of the data with dense columns behind them."""
    dense = np.random.default_rng(0).normal(size=(DATA.X.shape[0], N_DENSE)) + DATA.Y[:, :N_DENSE]
    return sparse.hstack([DATA.X, sparse.csr_matrix(np.asarray(dense, np.float32))], format="csr")


def assert_adds_up(model: RMLSRanker, X: Any, numbers: Any, gradient: str = "path") -> None:
    """Parts of ranked labels add up to the scores of `rank` and of `decision_function`."""
    ranking, scores = model.rank(X[numbers], 3), model.decision_function(X[numbers])
    place = {name: at for at, name in enumerate(model.classes_.tolist())}
    for row, number in enumerate(numbers):
        explained = model.explain(X[number], k=3, gradient=gradient)
        assert [each.label for each in explained] == [each.label for each in ranking[row]]
        for each, ranked in zip(explained, ranking[row], strict=True):
            assert each.listed
            # Unbounded activations make scores of hundreds, which are rounded to 3e-5.
            near = pytest.approx(ranked.score, abs=EXACT, rel=1e-6)
            assert each.total == near
            assert each.score == near
            assert scores[row, place[each.label]] == near
            assert each.probability == pytest.approx(ranked.probability, abs=1e-6)


# -- parts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("gradient", ["path", "point"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_parts_add_up_to_the_score_that_ranks(activation: str, gradient: str) -> None:
    assert_adds_up(fitted(activation), DATA.X, range(60), gradient)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "int8"},
        {"precision": "int16"},
        {"index": "clusters"},
        {"index": "leading", "n_components": 40},
        {"n_models": 2},
        {"tail": 1.0},
        {"loss": "logistic", "normalize": "none"},
        {"dense_columns": N_DENSE},
    ],
    ids=str,
)
def test_parts_add_up_in_every_kind_of_model(options: dict[str, Any]) -> None:
    X = rows() if "dense_columns" in options else DATA.X
    assert_adds_up(fitted(**options), X, range(40))


@pytest.mark.slow
def test_parts_add_up_for_10_000_random_pairs() -> None:
    data = make_longtail(4000, 3000, 800, labels_per_row=4, random_state=1)
    model = RMLSRanker(64, n_jobs=2).fit(data.X[:3500], data.Y[:3500])
    rng, worst, n_pairs = np.random.default_rng(0), 0.0, 0
    for number in range(3500, 4000):
        ranking = model.rank(data.X[number], 150)
        for place in rng.choice(len(ranking.labels), 20, replace=False):
            found = model.explain(data.X[number], int(ranking.labels[place]))
            worst, n_pairs = max(worst, abs(found.total - ranking.scores[place])), n_pairs + 1
    assert n_pairs == 10_000
    assert worst < EXACT


def test_parts_add_up_for_single_classes() -> None:
    y = np.asarray(DATA.Y.argmax(axis=1)).ravel()
    model = RMLSRanker(8).fit(DATA.X, y)
    chances = model.predict_proba(DATA.X[:20])
    for row in range(20):
        best = model.explain(DATA.X[row], k=1)[0]
        # A score of 60 is known to 4e-6 in single precision, and is a sum of such numbers.
        assert best.total == pytest.approx(best.score, abs=EXACT, rel=1e-6)
        assert best.probability == pytest.approx(chances[row].max(), abs=1e-5)


def test_dense_columns_names_and_the_boost_have_parts_of_their_own() -> None:
    model = fitted(dense_columns=N_DENSE, tail=1.0)
    found = model.explain(rows()[3], k=5)
    assert any(abs(each.dense) > 0.01 for each in found)
    boost = dict(zip(model.classes_.tolist(), model._boost.tolist(), strict=True))
    assert [each.boost for each in found] == pytest.approx([boost[each.label] for each in found])
    assert max(boost.values()) > 0.5


def test_a_name_in_the_row_is_shared_by_its_words() -> None:
    named = make_named()
    model = TextRanker().fit(named.texts, named.labels, label_text=named.names)
    X = model.features_.transform(named.texts)
    inner = model.estimator_
    assert isinstance(inner, RMLSRanker)
    for row in range(20):
        for each in inner.explain(X[row], k=4):
            assert each.total == pytest.approx(each.score, abs=EXACT)
            assert sum(part.named for part in each.features) == pytest.approx(each.names, abs=1e-9)
    label = named.labels[0][0]
    row = next(
        at
        for at, (text, labels) in enumerate(zip(named.texts, named.labels, strict=True))
        if label in labels and set(named.names[label].split()) <= set(text.split())
    )
    found = inner.explain(X[row], label)
    words = [part for part in found.features if part.named]
    spelled = model.features_.get_feature_names_out()
    assert found.names > 0.1
    assert {spelled[part.feature] for part in words} == set(named.names[label].split())


def test_a_label_that_is_not_listed_gets_the_score_it_would_have() -> None:
    model = fitted()
    scorer = model._scorer
    (block,) = scorer.blocks
    every = replace(block, proposer=replace(block.proposer, size=N_LABELS))
    wide = replace(scorer, blocks=(every,))
    for row in range(10):
        X = model._rows(DATA.X[row])
        listed = {pair.label for pair in pair_scores(scorer, X, None, 20)}
        every = {pair.label: pair.score for pair in pair_scores(wide, X, None, N_LABELS)}
        for label in [each for each in range(N_LABELS) if each not in listed][::7]:
            found = model.explain(DATA.X[row], label)
            assert not found.listed
            assert found.total == pytest.approx(every[label], abs=EXACT)
            assert found.score == pytest.approx(found.total)


def test_an_empty_row_has_its_prior_and_its_boost_and_nothing_else() -> None:
    model = fitted()
    found = model.explain(np.zeros(DATA.X.shape[1]), label=3)
    assert found.features == ()
    assert found.score == pytest.approx(found.prior + found.boost, abs=EXACT)
    # The prior of a label is the same in every row.
    assert model.explain(DATA.X[5], label=3).prior == pytest.approx(found.prior)


def make_pair(activation: str, **changes: Any) -> Pair:
    rng = np.random.default_rng(5)
    draw = rng.normal
    pair = Pair(
        label=0,
        score=None,
        other=None,
        x=rng.random(7),
        own=draw(size=7),
        own_bias=-0.3,
        W=draw(size=(7, 4)),
        b=draw(size=4),
        L=draw(size=4),
        c=0.2,
        activation=activation,
        names=np.zeros(7),
        more=np.zeros(0),
        n_names=0,
        coefficients=np.array([-1.0, 0.7, 0.5, -0.2, 0.4, 0.3]),
        knots=np.array([0.1, 0.6, 0.2]),
        boost=0.25,
    )
    return pair._replace(**changes)


def score_of(pair: Pair, x: Any) -> float:
    """The combination, written down again."""
    acts = {"tanh": np.tanh, "linear": lambda z: z, "relu": lambda z: np.maximum(z, 0)}
    own = float(x @ pair.own) + pair.own_bias
    other = float(acts[pair.activation](x @ pair.W + pair.b) @ pair.L) + pair.c
    t, k = pair.coefficients, pair.knots
    bends = t[2] * max(own - k[0], 0) + t[3] * max(own - k[1], 0) + t[5] * max(other - k[2], 0)
    return float(t[0] + t[1] * own + t[4] * other + bends + pair.boost)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("path", [True, False])
def test_parts_add_up_to_the_combination_written_down_again(activation: str, path: bool) -> None:
    pair = make_pair(activation)
    assert split_score(pair, path=path).total == pytest.approx(score_of(pair, pair.x), abs=1e-12)


def test_at_a_point_the_part_of_the_vectors_is_the_gradient_times_the_features() -> None:
    # Neither classifier nor bends: the score is that of the vectors, whose gradient is measured.
    line = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    pair = make_pair("tanh", coefficients=line, own=np.zeros(7))
    step, parts = 1e-6, split_score(pair, path=False)
    for place in range(7):
        move = np.zeros(7)
        move[place] = step
        slope = (score_of(pair, pair.x + move) - score_of(pair, pair.x - move)) / (2 * step)
        assert parts.vectors[place] == pytest.approx(slope * pair.x[place], abs=1e-8)
    assert abs(parts.remainder) > 1e-3


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_along_a_path_the_part_is_the_mean_gradient_and_nothing_remains(activation: str) -> None:
    line = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    pair = make_pair(activation, coefficients=line, own=np.zeros(7))
    steps = (np.arange(4000) + 0.5) / 4000
    gradients = [split_score(pair._replace(x=share * pair.x), path=False) for share in steps]
    mean = np.mean(
        [part.vectors / share for part, share in zip(gradients, steps, strict=True)], axis=0
    )
    found = split_score(pair)
    np.testing.assert_allclose(found.vectors, mean, atol=2e-3)
    assert found.remainder == pytest.approx(0, abs=1e-12)


def test_a_linear_activation_leaves_no_remainder() -> None:
    for each in fitted("linear").explain(DATA.X[0], k=5, gradient="point"):
        # Rounding of scores of hundreds.
        assert each.remainder == pytest.approx(0, abs=1e-3)
        assert abs(each.remainder) < 1e-5 * sum(abs(part.vectors) for part in each.features)


def test_features_come_with_the_largest_part_first_and_by_their_names() -> None:
    import pandas as pd

    frame = pd.DataFrame(DATA.X[:200].toarray(), columns=[f"w{at}" for at in range(600)])
    model = RMLSRanker(8).fit(frame, DATA.Y[:200])
    found = model.explain(frame[:1])[0]
    totals = [part.total for part in found.features]
    assert totals == sorted(totals, reverse=True)
    assert {part.feature for part in found.features} == {
        f"w{at}" for at in DATA.X[0].indices.tolist()
    }
    assert model.top_features(found.label)[0].feature.startswith("w")


def test_features_that_decide_are_named_first() -> None:
    rng = np.random.default_rng(0)
    topics = rng.integers(6, size=400)
    noise = (rng.random((400, 30)) < 0.1).astype(np.float32)
    X = np.hstack([np.eye(6, dtype=np.float32)[topics], noise])
    model = RMLSRanker(8).fit(X, np.eye(6, dtype=int)[topics])
    for row in range(20):
        best = model.explain(X[row], k=1)[0]
        assert best.label == topics[row] == best.features[0].feature
        assert model.top_features(best.label, k=1)[0].feature == topics[row]


# -- labels and rows -----------------------------------------------------------------------------


def test_top_features_are_the_weights_of_the_label() -> None:
    model = fitted("tanh", precision="int8")
    weights = model._scorer.weights
    dense = np.zeros((600, N_LABELS))
    for feature in range(600):
        part = slice(*weights.indptr[feature : feature + 2])
        dense[feature, weights.indices[part]] = weights.values[part]
    own = (dense * weights.scale)[:, 7]
    found = model.top_features(7, k=4)
    assert [entry.weight for entry in found[:4]] == pytest.approx(np.sort(own)[::-1][:4])
    assert [entry.weight for entry in found[4:]] == pytest.approx(np.sort(own)[: len(found) - 4])
    assert all(own[entry.feature] == pytest.approx(entry.weight) for entry in found)


def test_similar_labels_have_vectors_of_nearly_the_same_direction() -> None:
    model = fitted()
    L = model.representation_.params.L.astype(np.float64)
    unit = L / np.linalg.norm(L, axis=1, keepdims=True)
    cosines = unit @ unit[4]
    cosines[4] = cosines[np.asarray(model.label_counts_) == 0] = -2
    found = model.similar_labels(4, k=6)
    assert [entry.label for entry in found] == np.argsort(-cosines)[:6].tolist()
    assert [entry.similarity for entry in found] == pytest.approx(np.sort(cosines)[::-1][:6])
    n_known = int((np.asarray(model.label_counts_) > 0).sum())
    assert len(model.similar_labels(4, k=1000)) == n_known - 1


def test_similar_rows_have_the_label_and_the_largest_cosine() -> None:
    model = fitted(keep_rows=True)
    label = int(DATA.Y[0].indices[0])
    found = model.similar_rows(DATA.X[0], label, k=7)
    scaled = model._rows(DATA.X).X.toarray().astype(np.float64)
    unit = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-30)
    has = np.flatnonzero(DATA.Y[:, [label]].toarray().ravel())
    cosines = np.sort(unit[has] @ unit[0])[::-1]
    assert found[0].row == 0
    assert [each.similarity for each in found] == pytest.approx(cosines[:7], abs=1e-6)
    for each in found:
        assert each.labels == DATA.Y[each.row].indices.tolist()
        assert each.text is None


def test_kept_rows_are_in_the_archive_and_nowhere_else(tmp_path: Path) -> None:
    model = fitted(keep_rows=True)
    model.save(tmp_path / "kept")
    fitted().save(tmp_path / "plain")
    loaded = rmls.load(tmp_path / "kept")
    assert loaded.similar_rows(DATA.X[3], 2) == model.similar_rows(DATA.X[3], 2)
    sizes = [
        sum(file.stat().st_size for file in (tmp_path / name).iterdir())
        for name in ("kept", "plain")
    ]
    assert sizes[0] > sizes[1] + 8 * DATA.X.nnz
    with pytest.raises(InputError, match="keep_rows=True"):
        rmls.load(tmp_path / "plain").similar_rows(DATA.X[3], 2)
    np.testing.assert_array_equal(
        model.decision_function(DATA.X), fitted().decision_function(DATA.X)
    )


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("kept_numbers", lambda array: array + 900),
        ("kept_numbers", lambda array: array[:-1]),
        ("kept_y_indices", lambda array: array + N_LABELS),
        ("kept_y_indptr", lambda array: array[::-1].copy()),
        ("kept_x_indices", lambda array: array - 1),
    ],
)
def test_damaged_rows_are_refused(name: str, change: Any, tmp_path: Path) -> None:
    fitted(keep_rows=True).save(tmp_path / "model")
    array = read_archive(tmp_path / "model").arrays[name]
    change_model(tmp_path / "model", arrays={name: change(np.array(array))})
    assert_refused(tmp_path / "model")


# -- bad input -----------------------------------------------------------------------------------


def test_an_unknown_label_is_told_with_near_names() -> None:
    model = RMLSRanker(4).fit([[1, 0], [0, 1]], [["tax law"], ["tax"]])
    for ask in (model.top_features, model.similar_labels, lambda x: model.explain([1, 0], x)):
        with pytest.raises(InputError, match="no label 'Tax laws'; did you mean 'tax law'"):
            ask("Tax laws")
    with pytest.raises(InputError, match=r"no label 'zzz'\.$"):
        model.explain([1, 0], "zzz")


def test_other_bad_questions_get_a_sentence() -> None:
    model = fitted()
    with pytest.raises(InputError, match="one row can be explained at a time; got 2"):
        model.explain(DATA.X[:2])
    with pytest.raises(InputError, match="k must be a whole number of at least 1"):
        model.explain(DATA.X[0], k=0)
    with pytest.raises(InputError, match="gradient must be one of 'path', 'point'"):
        model.explain(DATA.X[0], gradient="mean")
    with pytest.raises(ValueError, match="features"):
        model.explain(DATA.X[0, :5])


def test_a_label_without_rows_has_no_similar_ones() -> None:
    Y = sparse.csr_matrix(np.array([[1, 0, 0], [0, 1, 0]] * 20))
    model = RMLSRanker(4).fit(np.eye(2)[[0, 1] * 20], Y)
    with pytest.raises(InputError, match="2 has no training rows"):
        model.similar_labels(2)
    assert [entry.label for entry in model.similar_labels(0)] == [1]
