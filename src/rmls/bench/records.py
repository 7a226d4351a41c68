"""What one result holds: the fields of a line of ``results.jsonl``."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

SCHEMA = 1

FoldKind = Literal["shuffled", "stratified", "given"]
FailureReason = Literal["time", "memory", "error", "crash"]


class Config(TypedDict):
    """What was asked for; two results with the same configuration answer the same question.

    ``label`` is the name in tables and ``decision`` the rule that cut the scores into sets. One
    fit answers for all of its rules, each in a line of its own.
    """

    experiment: str
    dataset: str
    features: str
    label: str
    method: str
    preset: str | None
    params: dict[str, Any]
    decision: str
    folds: FoldKind
    n_folds: int
    fold: int
    seed: int
    threads: int


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


class Failure(TypedDict):
    """Why a run has no figures."""

    reason: FailureReason
    message: str


class _MeasuredLater(TypedDict, total=False):
    """What results of earlier versions lack."""

    calibration: Calibration | None


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


class Record(TypedDict):
    """One line of ``results.jsonl``; exactly one of ``measured`` and ``failure`` is None."""

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
