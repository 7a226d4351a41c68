"""A model on rows that it has not seen: how good, beside what, and what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.datasets import Dataset
from rmls.datasets.tables import TextTable
from rmls.metrics.reliability import expected_calibration_error
from rmls.models.shared.quality_record import QualityRecord
from rmls.review.advice import next_steps
from rmls.review.baseline import choose_baseline, predict_baseline
from rmls.review.disagreements import confused_pairs, label_doubts
from rmls.review.findings import Finding
from rmls.review.held_out import HeldOut, Rows, Trained, read_held_out, read_trained
from rmls.review.leaks import TextSides, find_leaks
from rmls.review.learnability import CountBin, learnability, recall_by_count
from rmls.review.own_rows import read_own_rows
from rmls.review.quality import Prediction, Quality, measure_quality, values_at
from rmls.review.record import make_record

if TYPE_CHECKING:
    from rich.console import Console

    from rmls.report.charts.calibration import Curve

# Both methods are compared on these; the findings are of all held-out rows.
MAX_COMPARED = 5000
MIN_LEAKED = 0.01
EDGES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Review:
    """What `review_model` found.

    Attributes
    ----------
    method : str
        Name of the estimator.
    n_train, n_held_out, n_labels : int
    n_judges : int
        0 for rows that were given to the review. Else the held-out rows are training rows, from
        which the model learned in the end: 1 before it did, or each by one of so many models that
        learned from the others.
    quality : Quality
        Figures with intervals, by head, torso and tail, beside a baseline.
    without_leaks : Quality or None
        The same without the held-out rows that training has nearly seen.
    recall : list of CountBin
        How well labels are found by the number of their training rows.
    reliability : Curve or None
        Observed against predicted probability; None for a model without probabilities.
    calibration_error : float
        Mean distance of the two, NaN for a model without probabilities.
    findings : list of Finding
    advice : list of str
        What to do next, the most rewarding first.
    record : QualityRecord or None
        What is worth keeping with the model: ``model.quality_record_ = review.record``.
    """

    method: str
    n_train: int
    n_held_out: int
    n_labels: int
    n_judges: int
    quality: Quality
    without_leaks: Quality | None
    recall: list[CountBin]
    reliability: Curve | None
    calibration_error: float
    findings: list[Finding] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    record: QualityRecord | None = None

    def __getitem__(self, kind: str) -> Finding | None:
        """Return the finding of a kind, None where nothing of the kind was found."""
        return next((found for found in self.findings if found.kind == kind), None)

    def html(self, name: str = "model") -> str:
        """Return the review as one page that fetches nothing."""
        from rmls.report.page import to_html
        from rmls.review.pages import review_report

        return to_html(review_report(self, name))

    def _repr_html_(self) -> str:
        from rmls.core.show.fragments import shown_inside

        return shown_inside(self.html())

    def print(self, console: Console | None = None, name: str = "model") -> None:
        """Print the review to a terminal, some examples of every finding."""
        from rmls.report.terminal import print_report
        from rmls.review.pages import review_report

        print_report(review_report(self, name, n_examples=5), console)

    def print_summary(self, console: Console | None = None, name: str = "model") -> None:
        """Print the review to a terminal on about one screen, without examples."""
        from rmls.report.terminal import print_report
        from rmls.review.pages import review_summary

        print_report(review_summary(self, name), console)

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        figures = [
            {"method": method, "metric": metric, "group": group, **found._asdict()}
            for (method, metric, group), found in self.quality.values.items()
        ]
        error = self.calibration_error
        return {
            "method": self.method,
            "n_train": self.n_train,
            "n_held_out": self.n_held_out,
            "n_labels": self.n_labels,
            "n_judges": self.n_judges,
            "quality": figures,
            "recall": [each._asdict() for each in self.recall],
            "calibration_error": None if np.isnan(error) else error,
            "findings": [found.as_dict() for found in self.findings],
            "advice": self.advice,
        }


def review_model(
    model: Any,
    held_out: Rows | tuple[Sequence[Any], Any] | None = None,
    train: Rows | tuple[Sequence[Any], Any] | None = None,
    *,
    baseline: str | None = "auto",
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Review:
    """Review a fitted model on rows that it was not trained on.

    Parameters
    ----------
    model : TextRanker or another fitted estimator of rmls
    held_out : TextTable, Dataset, or texts with their labels, optional
        The model must not have seen them: what it was trained on it agrees with. Without them,
        those training rows that an `RMLSRanker` was judged on before it learned from them.
    train : the same, optional
        The training rows, for the baseline and for texts that stand on both sides.
    baseline : {"auto", "svm", "knn"} or None, default="auto"
        What the model is compared with: one-vs-rest linear SVMs or the ten nearest training rows,
        both on the features of the model. ``"auto"`` takes the SVMs where they are quick to train.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores.
    random_state : int, default=0

    Returns
    -------
    Review

    Examples
    --------
    >>> from rmls import TextRanker, review_model
    >>> texts = ["tax on sugar", "fish in the sea", "tax on salt", "sea fishing"] * 5
    >>> labels = [["tax"], ["sea"], ["tax"], ["sea"]] * 5
    >>> model = TextRanker().fit(texts, labels)
    >>> review = review_model(model, (["salt tax", "the sea"], [["tax"], ["sea"]]))
    >>> review.quality.values["TextRanker", "P@1", "all"].value
    1.0
    """
    seen = None if train is None else as_rows(train)
    trained: Trained | None = None
    sides: TextSides | None = None
    if held_out is None:
        if seen is None:
            raise InputError("give held-out rows, or all rows that the model was fitted to.")
        rows, trained = read_own_rows(model, seen)
        if isinstance(seen, TextTable):
            sides = TextSides.within(seen, rows.places, n_jobs)
    else:
        given = as_rows(held_out)
        rows = read_held_out(model, given)
        if seen is not None:
            trained = read_trained(model, seen, rows.Y.shape[1])
        if isinstance(given, TextTable) and isinstance(seen, TextTable):
            sides = TextSides.of(seen, given, n_jobs)
    name = type(model).__name__
    return review_rows(name, rows, trained, sides, baseline, n_jobs, random_state)


def review_rows(
    name: str,
    rows: HeldOut,
    trained: Trained | None = None,
    sides: TextSides | None = None,
    baseline: str | None = "auto",
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Review:
    """Review what a model of some name says about held-out rows.

    Without ``trained`` there is no baseline, without ``sides`` no look for texts on both sides.
    """
    predictions = [Prediction(name, rows.ranking, rows.sets)]
    compared = np.arange(rows.n_rows)
    if trained is not None and baseline is not None:
        compared = _sample(rows.n_rows, random_state)
        predictions = [_taken(predictions[0], compared)]
        predictions.append(_baseline(rows, trained, compared, baseline, n_jobs))
    findings = list(learnability(rows))
    without: Quality | None = None
    if trained is not None and sides is not None:
        leaked, found = find_leaks(rows, trained, sides)
        findings += [found] if found is not None else []
        clean = np.flatnonzero(~np.isin(compared, leaked))
        # A row or two change no figure.
        if len(clean) and len(leaked) >= max(1, MIN_LEAKED * rows.n_rows):
            parts = [_taken(each, clean) for each in predictions]
            without = _measure(rows, compared[clean], parts, random_state)
    findings += [*confused_pairs(rows), *label_doubts(rows)]
    quality = _measure(rows, compared, predictions, random_state)
    bins = recall_by_count(rows)
    curve, error = _reliability(rows, name)
    steps = next_steps(quality, bins, error, findings, is_own=rows.is_own)
    return Review(
        name,
        rows.n_train,
        rows.n_rows,
        rows.n_known,
        len(rows.seen) if rows.is_own else 0,
        quality,
        without,
        bins,
        curve,
        error,
        findings,
        steps,
        make_record(rows, quality, without, curve, error),
    )


def _measure(
    rows: HeldOut, chosen: NDArray[np.int64], predictions: list[Prediction], seed: int
) -> Quality:
    # By what the judges had seen: a label that only held-out rows have is rarer than any other.
    counts = np.rint(rows.seen.mean(axis=0)).astype(np.int64)
    return measure_quality(rows.Y[chosen], predictions, counts, rows.n_train, seed)


def as_rows(data: Any) -> Rows:
    """Return rows of any kind as a table or a data set."""
    if isinstance(data, TextTable | Dataset):
        return data
    if not isinstance(data, tuple) or len(data) != 2:
        raise InputError(
            "rows are a TextTable, a Dataset, or texts with their labels; "
            f"got {type(data).__name__}."
        )
    texts, labels = data
    listed = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
    if len(listed) != len(labels):
        raise InputError(f"{len(listed)} texts but {len(labels)} lists of labels were given.")
    fields = tuple(f"field {place}" for place in range(len(listed[0]) if listed else 1))
    return TextTable(fields, listed, [[str(label) for label in row] for row in labels])


def _sample(n_rows: int, seed: int) -> NDArray[np.int64]:
    if n_rows <= MAX_COMPARED:
        return np.arange(n_rows)
    drawn = np.random.default_rng(seed).choice(n_rows, MAX_COMPARED, replace=False)
    return np.sort(drawn).astype(np.int64)


def _taken(prediction: Prediction, rows: NDArray[np.int64]) -> Prediction:
    return Prediction(prediction.name, prediction.ranking.take(rows), prediction.sets[rows])


def _baseline(
    rows: HeldOut,
    trained: Trained,
    compared: NDArray[np.int64],
    kind: str,
    n_jobs: int | None,
) -> Prediction:
    """Let a baseline judge every row, fitted to what the model had seen that judged it."""
    kind = choose_baseline(trained.X, trained.Y, kind, as_training=rows.is_own)
    parts = []
    # Rows come part by part, so that what is put below one another is in their order.
    for part, mask in enumerate(trained.masks):
        inside = compared[rows.part_of[compared] == part]
        known = trained if mask.all() else Trained(trained.X[mask], trained.Y[mask], [])
        if len(inside):
            parts.append(predict_baseline(known.X, known.Y, rows.X[inside], kind, n_jobs))
    return Prediction(
        parts[0].name,
        Ranking.stack([part.ranking for part in parts]),
        sparse.vstack([part.sets for part in parts], format="csr"),
    )


def _reliability(rows: HeldOut, name: str) -> tuple[Curve | None, float]:
    from rmls.report.charts.calibration import Curve

    ranking = rows.ranking
    if ranking.probabilities is None:
        return None, float("nan")
    chance = np.clip(np.asarray(ranking.probabilities, np.float64), 0, 1)
    outcome = values_at(rows.Y, ranking.rows, ranking.labels)
    bins = np.clip(np.searchsorted(EDGES, chance, side="right") - 1, 0, len(EDGES) - 2)
    pairs = np.bincount(bins, minlength=len(EDGES) - 1)
    predicted, observed = (
        [float(total / n) if n else None for total, n in zip(sums, pairs, strict=True)]
        for sums in (np.bincount(bins, values, len(pairs)) for values in (chance, outcome))
    )
    # Of the predicted labels: hundreds of thousands of pairs near 0 would hide all others.
    chosen = rows.sets.multiply(ranking.to_csr(probabilities=True)).tocsr()
    error = expected_calibration_error(rows.Y, chosen) if chosen.nnz else float("nan")
    return Curve(name, list(EDGES), pairs.tolist(), predicted, observed), error
