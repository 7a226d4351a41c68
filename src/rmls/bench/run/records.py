"""What one result holds: the fields of a line of ``results.jsonl``."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypedDict

from rmls.bench.study.grid import Config

# Lines of another schema are refused when they are read.
SCHEMA = 1

FailureReason = Literal["time", "memory", "error", "crash"]


class Data(TypedDict):
    """What the run was trained and measured on; ``checksum`` is that of all rows."""

    checksum: str
    n_train: int
    n_test: int
    n_features: int
    n_labels: int


class Reliability(TypedDict):
    """Pairs of rows and labels by predicted probability: the points of a reliability curve."""

    edges: list[float]
    pairs: list[int]
    predicted: list[float | None]
    observed: list[float | None]


class Calibration(TypedDict):
    """How honest probabilities are; a calibration error is None where there are too few pairs.

    ``ece`` is over the predicted labels, ``ece_tail`` over those of the tail, ``brier`` over all
    rows and labels.
    """

    ece: float | None
    ece_tail: float | None
    brier: float


class Tuning(TypedDict):
    """What a run chose on inner folds of its training rows.

    ``scores`` has the mean example F of every candidate, in their order, None for one that could
    not be trained.
    """

    chosen: dict[str, Any]
    scores: list[float | None]
    cpu_seconds: float


class Failure(TypedDict):
    """Why a run has no figures."""

    reason: FailureReason
    message: str


# A field added here needs no new schema: old results are read without it.
class _MeasuredLater(TypedDict, total=False):
    """What results of earlier versions lack."""

    calibration: Calibration | None
    tuning: Tuning


class Measured(_MeasuredLater):
    """The figures of a run that ended well; seconds are wall time, memory and sizes are bytes.

    ``metrics`` has the groups of labels ``all``, ``head``, ``torso`` and ``tail``, each a
    dictionary of values by metric. ``empty_rows`` is the share of rows with no predicted label.
    ``calibration`` and ``reliability`` are None where the method gives no probabilities.
    """

    metrics: dict[str, dict[str, float]]
    reliability: Reliability | None
    empty_rows: float
    train_seconds: float
    train_cpu_seconds: float
    predict_seconds: float
    predict_cpu_seconds: float
    peak_memory: int
    model_bytes: int


class Outcome(NamedTuple):
    """What became of a fit: data and figures, one for each decision rule, or why it failed."""

    data: Data | None = None
    measured: list[Measured] | None = None
    failure: Failure | None = None


class Record(TypedDict):
    """One line of ``results.jsonl``; exactly one of ``measured`` and ``failure`` is None."""

    # Lines are read by later versions too: fields may be added, never renamed.
    schema: int
    key: str
    study: str
    status: Literal["ok", "failed"]
    config: Config
    data: Data | None
    measured: Measured | None
    failure: Failure | None
    commit: str | None
    versions: dict[str, str]
    machine: dict[str, Any]
    finished: str
