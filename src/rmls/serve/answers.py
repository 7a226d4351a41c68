"""What is answered: suggestions and explanations as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmls.core.errors import InputError
from rmls.core.ranking import Ranking
from rmls.decide import make_rule
from rmls.serve.problems import Problem
from rmls.serve.store import Served
from rmls.serve.texts import ALONE, Text, as_rows, field_names, is_blank
from rmls.serve.work import keep_to_time

# Labels of a text that are ordered anew when the weight of the tail is asked for.
LISTED = 100
MAX_LABELS, DEFAULT = 100, 5
# Where odds end.
LEAST = 1e-7
# Training rows that are shown beside an explanation.
N_SIMILAR = 3

Answer = list[list[dict[str, Any]]]


@dataclass(frozen=True)
class Wanted:
    """Which labels are wanted for texts.

    Attributes
    ----------
    k : int or None
        At most so many; None is 5, or as many as the rule takes.
    decision : str or None
        A decision rule.
    min_probability : float
    tail : float or None
        How much rare labels are boosted; None is as much as the model does.
    explain : bool
    """

    k: int | None = None
    decision: str | None = None
    min_probability: float = 0.0
    tail: float | None = None
    explain: bool = False

    @property
    def most(self) -> int:
        """Labels of a text that are answered, at most."""
        return self.k or (DEFAULT if self.decision is None else MAX_LABELS)

    @property
    def depth(self) -> int:
        """Labels of a text that must be ranked."""
        return self.most if self.tail is None else max(LISTED, self.most)


def suggest(served: Served, texts: Sequence[Text], wanted: Wanted) -> Answer:
    """Return the labels of every text, as the answer lists them."""
    if not texts:
        return []
    model, rows = served.model, as_rows(served.model, texts)
    if wanted.decision is not None:
        ranking = model.rank_sets(rows, read_rule(wanted.decision))
    else:
        ranking = model.rank(rows, wanted.depth)
    found = [_row(served, ranking, row, wanted) for row in range(len(texts))]
    if wanted.explain:
        for text, suggestions in zip(texts, found, strict=True):
            for each in [] if is_blank(text) else suggestions:
                keep_to_time()
                each["explanation"] = explain(served, text, each["label"])
    return found


def suggest_together(
    served: Served, asked: Sequence[tuple[Sequence[Text], Wanted]]
) -> list[Answer]:
    """Return what `suggest` returns for several requests, by one look at the model.

    None of them has a decision rule or wants explanations.
    """
    texts = [text for some, _ in asked for text in some]
    depth = max(wanted.depth for _, wanted in asked)
    ranking = served.model.rank(as_rows(served.model, texts), depth)
    numbers = iter(range(len(texts)))
    return [[_row(served, ranking, next(numbers), wanted) for _ in some] for some, wanted in asked]


def read_rule(text: str) -> Any:
    """Return a decision rule from its name."""
    rule = make_rule(text)
    if (rule.top or 0) > MAX_LABELS:
        raise InputError(f"a decision may take {MAX_LABELS} labels; {text[:60]!r} takes more.")
    return rule


def _row(served: Served, ranking: Ranking, row: int, wanted: Wanted) -> list[dict[str, Any]]:
    """Return the suggestions for one text."""
    k = wanted.most
    span = slice(*ranking.indptr[row : row + 2].tolist())
    labels, scores = ranking.labels[span], ranking.scores[span]
    chances = None if ranking.probabilities is None else ranking.probabilities[span]
    order = np.arange(len(labels))[:k]
    if wanted.tail is not None:
        own = scores
        scores = _with_tail(served, labels, own, chances, wanted.tail)
        # The model's own score parts those that are all but certain.
        order = np.lexsort((-own, -scores))[:k]
    elif chances is not None:
        # The best by the model's own ranking, the most likely of them first.
        order = order[np.argsort(-chances[order], kind="stable")]
    if chances is not None and wanted.min_probability > 0:
        order = order[chances[order] >= wanted.min_probability]
    table = served.labels
    return [
        {
            "label": table.names[label],
            "probability": None if chance is None else round(chance, 6),
            "score": round(score, 6),
            "rows": table.rows[label],
        }
        for label, score, chance in zip(
            labels[order].tolist(),
            scores[order].tolist(),
            [None] * len(order) if chances is None else chances[order].tolist(),
            strict=True,
        )
    ]


def _with_tail(served: Served, labels: Any, scores: Any, chances: Any, tail: float) -> Any:
    """Return the log odds of labels with another boost of rare ones: + tail · rarity."""
    rarity, boost = served.labels.rarity, served.labels.boost
    if rarity is None or boost is None:
        raise InputError("this model boosts no rare labels; ask without tail.")
    if chances is None:
        return scores - boost[labels] + tail * rarity[labels]
    # A calibration may treat every label in its own way: its odds, not the raw logit, are ranked.
    sure = np.clip(chances.astype(np.float64), LEAST, 1 - LEAST)
    return np.log(sure / (1 - sure)) + tail * rarity[labels]


def explain(served: Served, text: Text, label: str) -> dict[str, Any]:
    """Return why a label has its score for a text."""
    model, name = served.model, name_of(served, label)
    row = as_rows(model, [text])
    try:
        found = model.explain(row, name)
    except InputError:
        if is_blank(text):
            raise Problem(409, "the text is empty; there is nothing to explain.") from None
        raise
    fields = field_names(model)
    return {
        "label": label,
        "probability": round(float(found.probability), 6),
        "score": float(found.score),
        "listed": bool(found.listed),
        "parts": {part: float(value) for part, value in found.parts.items()},
        "words": [
            {
                "field": fields[word.field] if word.field < len(fields) else ALONE,
                "start": int(word.start),
                "end": int(word.end),
                "text": word.word,
                "part": float(word.part),
            }
            for word in found.words
        ],
        "columns": [
            {"column": str(part.column), "value": part.value, "part": float(part.part)}
            for part in found.columns
        ],
        "similar_rows": similar_rows(served, row, name),
    }


def similar_rows(served: Served, row: Any, name: Any) -> list[dict[str, Any]]:
    """Return training rows with a label that are like a text; none where a model keeps none."""
    if getattr(served.model.estimator_, "_kept_rows", None) is None:
        return []
    return [
        {
            "row": int(each.row),
            "similarity": float(each.similarity),
            "text": each.text or "",
            "labels": [str(label) for label in each.labels],
        }
        for each in served.model.similar_rows(row, name, N_SIMILAR)
    ]


def number_of(served: Served, label: str) -> int:
    """Return the number of a label, by its name."""
    number = served.labels.number.get(label)
    if number is None:
        raise Problem(404, f"there is no label {label[:60]!r}.")
    return number


def name_of(served: Served, label: str) -> Any:
    """Return a label as the model knows it."""
    name = served.model.classes_[number_of(served, label)]
    return name.item() if hasattr(name, "item") else name
