"""Hostile fits and predictions: a sentence, or a model that answers and can be saved."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import rmls
from rmls.core.label_text import LabelText
from rmls.core.labels import read_labels
from rmls.imbalance import RESAMPLERS
from rmls.metrics import evaluate

from ..cases import Case, Kind
from ..mutate import Draw
from .estimators import ESTIMATORS
from .inputs import FORMS, HOPELESS, Problem, make_problem
from .params import draw_params

WORDS = ("tax", "taxes", "sea", "sea boats", "law-court", "é", "税", "the", "a b c d e", "C++")
RANKS: list[Any] = [
    1,
    2,
    3,
    100,
    0,
    -1,
    10**6,
    2**31,
    2**63,
    10**30,
    1.5,
    None,
    "3",
    np.int8(2),
    True,
]


def run_fit(case: Case) -> None:
    draw = case.random
    name = draw.choice(list(ESTIMATORS))
    params = draw_params(name, draw)
    problem = make_problem(draw)
    note = f"{name}({params})\nX={problem.X!r}\ny={problem.y!r}\nweight={problem.sample_weight!r}"
    (case.folder / "call.txt").write_text(note[:20_000], errors="replace")
    options: dict[str, Any] = {}
    if problem.sample_weight is not None:
        options["sample_weight"] = problem.sample_weight
    if problem.label_names is not None:
        options["label_names"] = problem.label_names
    if name == "RMLSRanker" and draw.random() < 0.5:
        options["label_text"] = draw_label_text(problem, draw)
    try:
        model = ESTIMATORS[name](**params)
        model.fit(problem.X, problem.y, **options)
    except Exception as error:
        case.allowed(error)
        return
    ask(case, model, problem)
    save_and_compare(case, model, problem)


def draw_label_text(problem: Problem, draw: Draw) -> Any:
    """Return names in the features of a problem, mostly as many as it has labels, or junk."""
    rng = np.random.default_rng(draw.randrange(2**32))
    try:
        n_labels = read_labels(problem.y)[0].n_labels
    except Exception:
        n_labels = 3
    n_labels += draw.choice((0, 0, 0, 0, 1, -1))
    width = np.shape(problem.plain)[1]
    names = (rng.random((max(n_labels, 0), width)) < 0.4) * rng.choice((1.0, -1.0, 1e-40, 1e30))
    way = draw.random()
    if way < 0.6:
        return draw.choice((sparse.csr_matrix, np.asarray))(names)
    if way < 0.8 and names.size:
        return draw.choice(list(FORMS.values()))(names, rng)
    if way < 0.9 and names.size:
        return draw.choice(HOPELESS)(names, rng)
    return draw.choice(({"l0": "tax"}, {}, {0: 3}, [], "names", 5, LabelText(("l0",), ("c0",))))


def run_text_names(case: Case) -> None:
    """Fit texts with names of labels, some of which have no row."""
    draw = case.random
    texts = [" ".join(draw.choices(WORDS, k=draw.randrange(6))) for _ in range(draw.randrange(60))]
    y: Any = [draw.sample(WORDS, draw.randrange(3)) for _ in texts]
    if draw.random() < 0.2:
        y = draw.choice(([row[:1] or ["none"] for row in y], np.arange(len(texts)) % 3, None))
    text: Any = {
        label: draw.choice((label, "", [], [label, *draw.choices(WORDS, k=2)], "no such word"))
        for label in draw.sample([*WORDS, "B12", "new label"], draw.randrange(9))
    }
    if draw.random() < 0.3:
        text = draw.choice((None, {}, {"x": None}, {3: "three"}, {"a": ["b", 3]}, [], "nowhere", 7))
    (case.folder / "call.txt").write_text(f"{texts!r}\n{y!r}\n{text!r}"[:20_000], errors="replace")
    params = {"stem": draw.choice(("auto", "none", "english")), "pairs": draw.random() < 0.3}
    inner = rmls.RMLSRanker(3, max_iter=2, shortlist_size=draw.choice((1, 4, 150)))
    try:
        model = rmls.TextRanker(inner, **params).fit(texts, y, label_text=text)
    except Exception as error:
        case.allowed(error)
        return
    asked = draw.choice((texts, list(WORDS), ["", "none of them"]))
    chances = case.attempt(model.predict_proba, asked)
    if chances is not None and not ((chances >= 0) & (chances <= 1)).all():
        case.report("no probability: TextRanker", str(chances.ravel()[:5]))
    path = case.folder / "model"
    case.attempt(model.save, path)
    if not path.exists() or chances is None:
        return
    again = case.attempt(lambda: rmls.load(path).predict_proba(asked))
    if again is not None and not np.array_equal(again, chances):
        case.report("loaded model differs: TextRanker", "with names")


def ask(case: Case, model: Any, problem: Problem) -> None:
    """Ask a fitted model everything, about good rows and about others."""
    draw, name = case.random, type(model).__name__
    rng = np.random.default_rng(case.number)
    X = problem.X
    if draw.random() < 0.5:
        X = draw.choice(list(FORMS.values()))(problem.plain, rng)
    elif draw.random() < 0.3:
        X = draw.choice(HOPELESS)(problem.plain, rng)
    elif draw.random() < 0.3:
        X = problem.plain * draw.choice((1e-42, 1e-39, 1e-30, 1e30, 1e37, 0.0, -1.0))
    case.attempt(model.predict, X)
    case.attempt(model.score, problem.X, problem.y)
    ranking = case.attempt(model.rank, X, draw.choice(RANKS))
    answers = {"rank": None if ranking is None else ranking.scores}
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            answers[method] = case.attempt(getattr(model, method), X)
    for method, answer in answers.items():
        if answer is None:
            continue
        values = np.asarray(answer)
        if not np.isfinite(values).all():
            case.report(f"not finite: {name}.{method}", str(values.ravel()[:5]))
        elif (
            method == "predict_proba"
            and values.size
            and not (0 <= values.min() <= values.max() <= 1)
        ):
            case.report(f"no probability: {name}", f"{values.min()} to {values.max()}")


def save_and_compare(case: Case, model: Any, problem: Problem) -> None:
    """Save a model; what is saved loads, and gives the same answers."""
    path, name = case.folder / "model", type(model).__name__
    case.attempt(model.save, path)
    if not path.exists():
        return
    try:
        loaded = rmls.load(path)
    except Exception as error:
        case.report(f"saved but not loaded: {name}", str(error))
        return
    X = sparse.csr_matrix(problem.plain.astype(np.float32))
    if X.shape[1] != model.n_features_in_:
        return
    before = case.attempt(model.decision_function, X)
    after = case.attempt(loaded.decision_function, X)
    if (
        before is not None
        and after is not None
        and not np.array_equal(before, after, equal_nan=True)
    ):
        # The ranker may store rounded vectors; what it ranks by then is close, not equal.
        spread = np.abs(before - after).max() / (1e-30 + np.abs(before).max())
        if not spread < 0.02:
            case.report(f"loaded model differs: {name}", f"by {spread:.3g} of the largest score")


def run_resample(case: Case) -> None:
    draw, problem = case.random, make_problem(case.random)
    cls = getattr(rmls.imbalance, draw.choice(RESAMPLERS))
    params = {
        key: draw.choice((value, value, 0, 1, -1, 0.5, 1.5, np.nan, "junk", None, 2**63, 1e300))
        for key, value in cls().get_params().items()
    }
    (case.folder / "call.txt").write_text(
        f"{cls.__name__}({params})\n{problem!r}"[:20_000], errors="replace"
    )
    made = case.attempt(lambda: cls(**params).fit_resample(problem.X, problem.y))
    if made is not None and len(made) == 2:
        rows = [part.shape[0] if hasattr(part, "shape") else len(part) for part in made]
        if rows[0] != rows[1]:
            case.report(f"rows do not fit: {cls.__name__}", str(rows))


def run_metrics(case: Case) -> None:
    draw = case.random
    truth, other = make_problem(draw), make_problem(draw)
    scores = draw.choice((other.y, truth.y, truth.plain, np.asarray(truth.plain)[:, :1]))
    (case.folder / "call.txt").write_text(f"{truth.y!r}\n{scores!r}"[:20_000], errors="replace")
    case.attempt(evaluate, truth.y, scores)


KINDS = [
    Kind("fit", "fits", run_fit, weight=8),
    Kind("text names", "fits", run_text_names, weight=2),
    Kind("resample", "fits", run_resample),
    Kind("metrics", "fits", run_metrics),
]
