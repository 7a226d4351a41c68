"""How well a model did on rows that it had not seen, as it is kept with the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from rmls.core.errors import InputError
from rmls.core.options import check_number, check_whole

VERSION = 1
COUNTS = ("true", "predicted", "right")
WHOLE = ("n_rows", "n_train", "n_judges")
# A label that occurs in fewer held-out rows may do badly by chance.
MIN_ROWS = 5


class Scores(NamedTuple):
    """Precision, recall and F1; None where nothing was predicted, or nothing was to be found.

    Examples
    --------
    >>> Scores.of(true=4, predicted=2, right=1)
    Scores(precision=0.5, recall=0.25, f1=0.3333333333333333)
    """

    precision: float | None
    recall: float | None
    f1: float | None

    @classmethod
    def of(cls, true: int, predicted: int, right: int) -> Scores:
        """Return them from counts of pairs of a row and a label."""
        both = true + predicted
        return cls(
            right / predicted if predicted else None,
            right / true if true else None,
            2 * right / both if both else None,
        )


@dataclass(frozen=True)
class Figure:
    """A metric of the labels of one group, with its 95% interval.

    Attributes
    ----------
    metric, group : str
    value, low, high : float
    baseline, baseline_low, baseline_high : float or None
        The same of the baseline, on the same rows.
    without_repeats : float or None
        Without the held-out rows whose texts training has nearly seen, where that was looked at.
    """

    metric: str
    group: str
    value: float
    low: float
    high: float
    baseline: float | None = None
    baseline_low: float | None = None
    baseline_high: float | None = None
    without_repeats: float | None = None


@dataclass(frozen=True)
class Group:
    """Counts of head, torso or tail: labels, and pairs of a held-out row and a label."""

    group: str
    labels: int
    true: int
    predicted: int
    right: int

    @property
    def scores(self) -> Scores:
        """Precision, recall and F1 of all pairs together."""
        return Scores.of(self.true, self.predicted, self.right)


@dataclass(frozen=True)
class Point:
    """Suggestions of about the same probability: how likely they were said to be, and were."""

    stated: float
    true: float
    count: int


@dataclass(frozen=True)
class LabelCounts:
    """Labels of held-out rows: how often they were there, were predicted, and both.

    Attributes
    ----------
    names : list of str
        Only labels that occur or were predicted.
    true, predicted, right : list of int
    """

    names: list[str] = field(default_factory=list)
    true: list[int] = field(default_factory=list)
    predicted: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class QualityRecord:
    """How well a model did on held-out rows.

    Attributes
    ----------
    method : str
    baseline : str or None
        What it was compared with.
    measured : str
        When, as in ISO 8601.
    n_rows, n_train : int
        Held-out rows, and training rows.
    n_judges : int
        0 for rows that were kept out of the training. Else they are training rows, which the model
        was judged on before it learned from them: by one model, or by one of so many.
    calibration_error : float or None
    figures : list of Figure
    groups : list of Group
    reliability : list of Point
    labels : LabelCounts
        By name, so that they hold when the model gets further labels.

    Examples
    --------
    >>> counts = LabelCounts(["sea", "tax"], [6, 9], [2, 9], [1, 9])
    >>> record = QualityRecord("TextRanker", None, "", 20, 80, 0, labels=counts)
    >>> record.of_label("sea").f1, record.worst()
    (0.25, ['sea', 'tax'])
    """

    method: str
    baseline: str | None
    measured: str
    n_rows: int
    n_train: int
    n_judges: int
    calibration_error: float | None = None
    figures: list[Figure] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    reliability: list[Point] = field(default_factory=list)
    labels: LabelCounts = field(default_factory=LabelCounts)

    def of_label(self, name: str) -> Scores | None:
        """Return how well a label did; None where no held-out row says anything about it."""
        place = self._places.get(name)
        return None if place is None else self._scores(place)

    def rows_of(self, name: str) -> int:
        """Return how many held-out rows have a label."""
        place = self._places.get(name)
        return 0 if place is None else self.labels.true[place]

    def worst(self) -> list[str]:
        """Return the labels that were measured, those first that do worst.

        Those with enough held-out rows to say so come before the others; of labels that do as
        badly as one another, that with more rows comes first.
        """
        true = self.labels.true

        def order(place: int) -> tuple[bool, float, int]:
            return true[place] < MIN_ROWS, self._scores(place).f1 or 0.0, -true[place]

        return [self.labels.names[place] for place in sorted(range(len(true)), key=order)]

    def as_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        return {"version": VERSION, **asdict(self)}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.labels.names)}

    def _scores(self, place: int) -> Scores:
        labels = self.labels
        return Scores.of(labels.true[place], labels.predicted[place], labels.right[place])


def read_quality(found: Any) -> QualityRecord | None:
    """Return the record that `QualityRecord.as_dict` wrote; None where there is none to be read.

    A record of a newer version is passed over: the model is as good without it.
    """
    if found is None:
        return None
    if not isinstance(found, dict):
        raise InputError("the record of the quality is not a dictionary")
    check_whole("version", found["version"], 1)
    if found["version"] > VERSION:
        return None
    given = {name: value for name, value in found.items() if name != "version"}
    for name in ("figures", "groups", "reliability"):
        if not isinstance(given[name], list):
            raise InputError(f"the {name} of the quality are not a list")
    record = QualityRecord(
        **{
            **given,
            "figures": [Figure(**each) for each in given["figures"]],
            "groups": [Group(**each) for each in given["groups"]],
            "reliability": [Point(**each) for each in given["reliability"]],
            "labels": _label_counts(given["labels"]),
        }
    )
    _check(record)
    return record


def _label_counts(found: dict[str, Any]) -> LabelCounts:
    labels = LabelCounts(**found)
    columns = [getattr(labels, name) for name in ("names", *COUNTS)]
    if not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        raise InputError("the labels of the quality are not columns of one length")
    _check_texts(*labels.names)
    for true, predicted, right in zip(*columns[1:], strict=True):
        _check_counts(true, predicted, right)
    return labels


def _check(record: QualityRecord) -> None:
    """Refuse what no measurement gives."""
    _check_texts(record.method, record.measured, record.baseline or "")
    for name in WHOLE:
        check_whole(name, getattr(record, name), 0)
    if record.calibration_error is not None:
        check_number("calibration_error", record.calibration_error, positive=False)
    for figure in record.figures:
        metric, group, *values = vars(figure).values()
        _check_texts(metric, group)
        # Intervals are moved to their figure and may reach a little beyond what can be.
        _check_shares(*(value for value in values if value is not None), low=-1, high=2)
    for each in record.groups:
        _check_texts(each.group)
        check_whole("labels", each.labels, 0)
        _check_counts(each.true, each.predicted, each.right)
    for point in record.reliability:
        _check_shares(point.stated, point.true)
        check_whole("count", point.count, 0)


def _check_texts(*texts: Any) -> None:
    if not all(isinstance(text, str) for text in texts):
        raise InputError("a name in the record of the quality is no text")


def _check_shares(*values: Any, low: float = 0, high: float = 1) -> None:
    if not all(type(value) in (int, float) and low <= value <= high for value in values):
        raise InputError("a share in the record of the quality is none")


def _check_counts(true: Any, predicted: Any, right: Any) -> None:
    if not all(type(count) is int and count >= 0 for count in (true, predicted, right)):
        raise InputError("a count in the record of the quality is none")
    if right > min(true, predicted):
        raise InputError("the record of the quality has more right labels than there can be")
