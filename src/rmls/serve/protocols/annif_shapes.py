"""The documents of Annif's REST API."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, Field

from rmls.serve.problems import Problem
from rmls.serve.protocols.languages import TOLD_APART

# What Annif takes in one request.
MAX_DOCUMENTS = 32
MAX_FIELDS = 100
DEFAULT_LIMIT = 10
METADATA = "metadata_"

Limit = Annotated[int, Field(ge=0, le=2**31 - 1)]
Threshold = Annotated[float, Field(ge=0, le=1)]


class Info(BaseModel):
    """Who answers."""

    title: str
    version: str


class Vocabulary(BaseModel):
    """The labels of a model."""

    vocab_id: str
    languages: list[str]
    size: int
    loaded: bool


class Vocabularies(BaseModel):
    """All vocabularies."""

    vocabs: list[Vocabulary]


class Backend(BaseModel):
    """How a project suggests."""

    backend_id: str


class Project(BaseModel):
    """A model."""

    project_id: str
    name: str
    language: str
    backend: Backend
    vocab: Vocabulary
    vocab_language: str
    is_trained: bool
    modification_time: str


class Projects(BaseModel):
    """All models."""

    projects: list[Project]


class Subject(BaseModel):
    """A suggestion."""

    uri: str
    label: str
    notation: str | None = None
    score: float


class Suggestions(BaseModel):
    """The suggestions for a text."""

    results: list[Subject]


class DocumentSuggestions(Suggestions):
    """The suggestions for one text of several."""

    document_id: str | None = None


class Document(BaseModel):
    """A text to label."""

    text: str
    document_id: str | None = None
    metadata: dict[str, str] = {}


class Batch(BaseModel):
    """Texts to label."""

    documents: Annotated[list[Document], Field(max_length=MAX_DOCUMENTS)]


class GivenSubject(BaseModel):
    """A label that a text has."""

    uri: str
    label: str | None = None


class IndexedDocument(BaseModel):
    """A text and its labels; those that lack either are passed over."""

    text: str | None = None
    metadata: dict[str, str] = {}
    subjects: list[GivenSubject] | None = None


class LanguageQuestion(BaseModel):
    """A text, and the languages it may be in."""

    text: str
    languages: Annotated[
        list[Annotated[str, Field(json_schema_extra={"enum": list(TOLD_APART)})]],
        Field(min_length=1, max_length=5),
    ]


class Language(BaseModel):
    """A language and what speaks for it; None stands for any other."""

    language: str | None
    score: float


class Languages(BaseModel):
    """The languages of a text."""

    results: list[Language]


class SuggestForm(BaseModel):
    """A text to label, as a form sends it."""

    text: str
    limit: Limit = DEFAULT_LIMIT
    threshold: Threshold = 0.0
    language: str = ""

    @property
    def metadata(self) -> dict[str, str]:
        """What else is known of the text."""
        return {
            name[len(METADATA) :]: value
            for name, value in (self.model_extra or {}).items()
            if name.startswith(METADATA)
        }

    model_config = {"extra": "allow"}


def read_form(body: bytes) -> dict[str, str]:
    """Return the fields of a form; the last of a name counts."""
    try:
        pairs = parse_qsl(
            body.decode("latin-1"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="replace",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError as error:
        raise Problem(400, f"the form has more than {MAX_FIELDS} fields.") from error
    return dict(pairs)


def form_schema() -> dict[str, Any]:
    """Return the description of the form."""
    schema = SuggestForm.model_json_schema()
    schema["additionalProperties"] = {"type": "string"}
    form = {"schema": schema, "example": {"text": "A boat on the lake", "limit": 5}}
    return {"requestBody": {"required": True, "content": {FORM: form}}}


FORM = "application/x-www-form-urlencoded"
