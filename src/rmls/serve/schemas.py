"""What requests and answers look like, for checking and for the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rmls.serve.content import WHOLE

EXAMPLE = "A view of the Thames with boats and a bridge"
NAME = Annotated[str, Field(min_length=1, max_length=500)]
Cell = str | float | list[str] | list[float] | None
Columns = Annotated[dict[str, Cell], Field(min_length=1, max_length=100)]
Text = str | Columns
ModelName = Annotated[
    str | None, Field(description="The name of a model; the first without it.", max_length=200)
]
Labels = Annotated[list[NAME], Field(max_length=1000)]
# Rules by name, with up to 100 labels; see docs/decisions.md.
RULE = (
    r"^(cardinality|f1|jaccard|micro_f1|macro_f1|round"
    r"|top_([1-9][0-9]?|100)|(psp|macro_recall|macro_f1)@([1-9][0-9]?|100)"
    r"|threshold=-?[0-9]{1,6}(\.[0-9]{1,6})?)$"
)


class Asked(BaseModel):
    """What all requests have in common: nothing that is not known."""

    # Strict: "yes" is no truth value and true is no number, as the document says.
    model_config = ConfigDict(extra="forbid", protected_namespaces=(), strict=True)
    model: ModelName = None


class Choice(Asked):
    """Which labels are wanted."""

    k: Annotated[int, Field(ge=1, le=100, description="At most so many labels a text."), WHOLE] = 5
    decision: Annotated[
        str | None,
        Field(pattern=RULE, description="A rule that decides how many; k is 100 then."),
    ] = None
    min_probability: Annotated[float, Field(ge=0, le=1)] = 0.0
    explain: Annotated[bool, Field(description="With an explanation of every label.")] = False
    tail: Annotated[
        float | None,
        Field(ge=0, le=1, description="0 ranks by probability, 1 boosts rare labels most."),
    ] = None


class OneText(Choice):
    """Labels of one text are wanted."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": EXAMPLE, "k": 3}]})
    text: Text


class ManyTexts(Choice):
    """Labels of several texts are wanted."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"texts": [EXAMPLE, "a horse"], "min_probability": 0.1}]}
    )
    texts: Annotated[list[Text], Field(max_length=10_000)]


class WhyAsked(Asked):
    """An explanation of a label is wanted."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": EXAMPLE, "label": "bridge"}]}
    )
    text: Annotated[str, Field(pattern=r"\S")] | Columns
    label: NAME


class Told(Asked):
    """What a person says of suggestions."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": EXAMPLE, "accepted": ["bridge"], "rejected": ["horse"]}]
        }
    )
    text: Text
    accepted: Labels = []
    rejected: Labels = []
    added: Labels = []
    id: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="Makes a second try harmless."),
    ] = None


class RowsAsked(Asked):
    """Rows for the queue of reviews."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": [EXAMPLE, "a horse"]}]})
    texts: Annotated[list[Text], Field(max_length=10_000)]


class Parts(BaseModel):
    """What a score is the sum of."""

    prior: float
    classifier: float
    vectors: float
    names: float
    dense: float
    boost: float
    remainder: float


class Word(BaseModel):
    """A word where it stands in a text; places count characters (Unicode code points)."""

    field: str
    start: int
    end: int
    text: str
    part: float


class Column(BaseModel):
    """What a column beside the texts adds."""

    column: str
    value: str | float | None
    part: float


class SimilarRow(BaseModel):
    """A training row with the label that is like the text."""

    row: int
    similarity: float
    text: str
    labels: list[str]


class Explanation(BaseModel):
    """Why a label has its score."""

    label: str
    probability: float
    score: float
    listed: bool
    parts: Parts
    words: list[Word]
    columns: list[Column]
    similar_rows: list[SimilarRow]


class Suggestion(BaseModel):
    """A label that suits a text."""

    label: str
    probability: float | None
    score: float
    rows: int
    explanation: Explanation | None = None


class Suggestions(BaseModel):
    """The labels of one text."""

    suggestions: list[Suggestion]


class Suggested(BaseModel):
    """The labels of all texts of a request."""

    model_config = ConfigDict(
        protected_namespaces=(),
        json_schema_extra={
            "examples": [
                {
                    "model": "demo",
                    "results": [
                        {
                            "suggestions": [
                                {"label": "bridge", "probability": 0.93, "score": 4.2, "rows": 120}
                            ]
                        }
                    ],
                }
            ]
        },
    )
    model: str
    results: list[Suggestions]


class LabelRows(BaseModel):
    """A label and its training rows."""

    label: str
    names: Annotated[list[str], Field(description="What else it is called.")]
    rows: int
    group: Literal["head", "torso", "tail", "unseen"]
    f1: Annotated[float | None, Field(description="On held-out rows, where it was measured.")]


class FoundLabels(BaseModel):
    """Labels that were searched for."""

    total: int
    labels: list[LabelRows]


class FeatureWeight(BaseModel):
    """A term and its weight in the classifier of a label."""

    feature: str
    weight: float


class SimilarLabel(BaseModel):
    """A label that is like another."""

    label: str
    similarity: float


class LabelQuality(BaseModel):
    """How well a label does on rows that the model was not trained on."""

    precision: float | None
    recall: float | None
    f1: float | None
    held_out_rows: int


class LabelPage(LabelRows):
    """All that is known of a label."""

    top_features: list[FeatureWeight]
    similar: list[SimilarLabel]
    quality: LabelQuality | None


class Stored(BaseModel):
    """Feedback that is on the disk."""

    id: str


class ModelRow(BaseModel):
    """A model that can be asked."""

    name: str
    default: bool
    labels: int
    rows: int
    method: str
    version: str
    since: str


class Models(BaseModel):
    """All models."""

    models: list[ModelRow]


class Frequency(BaseModel):
    """How many labels have from so many training rows to less than twice as many."""

    rows: int
    labels: int


class GroupQuality(BaseModel):
    """How well a group of labels does."""

    group: str
    labels: int
    precision: float | None
    recall: float | None
    f1: float | None


class Reliability(BaseModel):
    """Stated probabilities beside how often they came true."""

    stated: float
    true: float
    count: int


class WorstLabel(LabelRows, LabelQuality):
    """A label that does badly."""


class QualityFigure(BaseModel):
    """A metric with its 95% interval, beside that of a baseline on the same rows."""

    metric: str
    group: str
    value: float
    low: float
    high: float
    baseline: float | None
    baseline_low: float | None
    baseline_high: float | None
    without_repeats: Annotated[
        float | None, Field(description="Without rows whose texts training has nearly seen.")
    ]


class Quality(BaseModel):
    """How well a model does on rows that it was not trained on."""

    baseline: str | None
    measured: str
    n_rows: Annotated[int, Field(description="Held-out rows.")]
    n_train: int
    n_judges: Annotated[
        int,
        Field(description="0: rows kept out; else training rows, judged before they were learned."),
    ]
    calibration_error: float | None
    figures: list[QualityFigure]
    groups: list[GroupQuality]
    reliability: list[Reliability]
    worst: list[WorstLabel]


class ModelPage(ModelRow):
    """All that is known of a model."""

    description: dict[str, object]
    settings: Annotated[
        dict[str, object], Field(description="The estimator, and what is not its default.")
    ]
    stages: Annotated[dict[str, float], Field(description="Seconds of the training.")]
    frequencies: list[Frequency]
    quality: Quality | None
    columns: list[str] | None


class ReviewRow(BaseModel):
    """A row that waits for a person."""

    id: str
    text: Text
    suggestions: list[Suggestion]
    why: Literal["uncertain", "rare label"]


class ReviewRows(BaseModel):
    """Rows that wait, the most helpful first."""

    rows: list[ReviewRow]


class Added(BaseModel):
    """Rows that were put into the queue."""

    ids: list[str]


class ProblemDocument(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
