"""Texts of requests as rows of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmls.core.errors import InputError
from rmls.serve.settings import Settings

# What a text is called where it has no columns.
ALONE = "text"

Cell = str | float | Sequence[str] | Sequence[float] | None
Text = str | Mapping[str, Cell]


def check_texts(texts: Sequence[Text], settings: Settings) -> None:
    """Refuse more or longer texts than a request may have."""
    # Inside: rmls learn reads texts without what a service needs.
    from rmls.serve.problems import Problem

    if len(texts) > settings.max_texts:
        raise Problem(413, f"a request may have {settings.max_texts:,} texts; got {len(texts):,}.")
    longest = max(map(count_characters, texts), default=0)
    if longest > settings.max_characters:
        raise Problem(
            413, f"a text may have {settings.max_characters:,} characters; got {longest:,}."
        )


def count_characters(text: Text) -> int:
    """Return the length of a text, with all its columns.

    Examples
    --------
    >>> count_characters({"title": "A tax", "topics": ["law", "sea"], "year": 1990})
    11
    """
    return len(text) if isinstance(text, str) else sum(map(_length, text.values()))


def _length(cell: Any) -> int:
    if isinstance(cell, str):
        return len(cell)
    return sum(map(_length, cell)) if isinstance(cell, list | tuple) else 0


def is_blank(text: Text) -> bool:
    """Tell whether no letter stands in a text.

    Examples
    --------
    >>> is_blank(" "), is_blank({"title": "", "body": None}), is_blank({"title": "A"})
    (True, True, False)
    """
    cells = (text,) if isinstance(text, str) else text.values()
    return not any(cell.strip() if isinstance(cell, str) else cell for cell in cells)


def columns_of(model: Any) -> list[str] | None:
    """Return the names of the columns that a model knows; None where texts have none."""
    features = model.features_
    named = [*(features.fields_ or ()), *features.column_roles_.all]
    if features.vectors is not None:
        named.append(features.vectors)
    return [str(name) for name in named] if named else None


def as_rows(model: Any, texts: Sequence[Text]) -> Any:
    """Return texts as a model takes them."""
    columns = columns_of(model)
    if all(isinstance(text, str) for text in texts) and model.features_.fields_ != ():
        return list(texts)
    if columns is None:
        return [text if isinstance(text, str) else _only_text(text) for text in texts]
    rows: dict[str, list[Any]] = {name: [None] * len(texts) for name in columns}
    for number, text in enumerate(texts):
        # A text of its own stands in the first column.
        cells = {columns[0]: text} if isinstance(text, str) else text
        for name, cell in cells.items():
            if name not in rows:
                raise InputError(
                    f"the model knows no column {name[:60]!r}; its columns are: "
                    f"{', '.join(columns)}."
                )
            rows[name][number] = cell
    return rows


def _only_text(text: Mapping[str, Any]) -> str:
    if set(text) != {ALONE} or not isinstance(text[ALONE], str):
        raise InputError(f'the model takes plain texts, or an object {{"{ALONE}": "…"}}.')
    only: str = text[ALONE]
    return only


def field_names(model: Any) -> list[str]:
    """Return what the fields of a model's texts are called."""
    fields = model.features_.fields_
    if fields:
        return [str(name) for name in fields]
    n_fields = model.features_.n_fields_
    return [ALONE] if n_fields == 1 else [f"{ALONE} {place + 1}" for place in range(n_fields)]
