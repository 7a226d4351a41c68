"""Which column is what: labels, names, alternative names, descriptions, parents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rmls.core.errors import InputError

# What columns are called, without capitals and what is no letter; the first ones are preferred.
ADDRESS_NAMES = (
    "uri", "iri", "concepturi", "labeluri", "labelid", "conceptid", "id", "identifier", "key",
)  # fmt: skip
LABEL_NAMES = ("label", "labels")
# Categories and topics are often groups of labels: labels only where there is nothing else.
ID_NAMES = (
    *ADDRESS_NAMES, "notation", "code", *LABEL_NAMES,
    "tag", "concept", "category", "subject", "topic", "class",
)  # fmt: skip
CODE_NAMES = ("notation", "notations", "code", "codes", "id", *LABEL_NAMES)
ROLE_NAMES: dict[str, tuple[str, ...]] = {
    "name": (
        "preflabel", "preferredlabel", "preferredname", "prefname", "preferredterm", "name",
        "labelname", "title", "term", "heading",
    ),
    "alternatives": (
        "alt", "altlabel", "altlabels", "altname", "altnames", "alternative", "alternatives",
        "alternativename", "alternativenames", "alternativelabel", "alternativelabels",
        "alternate", "synonym", "synonyms", "alias", "aliases", "hiddenlabel", "hiddenlabels",
        "usedfor", "variants",
    ),
    "description": ("description", "desc", "definition", "scopenote", "scope", "gloss"),
    "parents": (
        "parent", "parents", "parentid", "parentids", "broader", "broaderterm", "broaderterms",
        "broaderconcept", "bt",
    ),
    "related": ("related", "relatedterm", "relatedterms", "rt"),
}  # fmt: skip
ROLES = ("id", *ROLE_NAMES, "codes")
SEVERAL = ("alternatives", "description", "codes")
_LANGUAGE = re.compile(r"(.+?)[@_\-. (\[]+([a-z]{2}(?:-[a-z]{2,4})?)[)\]]?")
MAX_SHOWN = 12


class Column(NamedTuple):
    """A column by what it is called: the plain name and the language, where it has one."""

    title: str
    plain: str
    language: str | None


class LabelColumns(NamedTuple):
    """The columns of every role, none or several, and the language of the names."""

    of: dict[str, tuple[str, ...]]
    language: str | None

    def one(self, role: str) -> str | None:
        """Return the column of a role, None where there is none."""
        return self.of[role][0] if self.of.get(role) else None


def looks_like_header(cells: Iterable[str]) -> bool:
    """Tell whether one of the cells is what a column would be called."""
    known = {*ID_NAMES, *CODE_NAMES, *(name for names in ROLE_NAMES.values() for name in names)}
    return any(_column(str(cell)).plain in known for cell in cells)


def find_columns(
    table: Mapping[str, Sequence[Any]],
    given: Mapping[str, str | Sequence[str]] | None,
    language: str | None,
) -> LabelColumns:
    """Return which column is what, by what the user said and by their names.

    Raises
    ------
    InputError
        Where the labels and names cannot be told, or a column is not there.
    """
    titles = list(table)
    chosen = _given(titles, given or {})
    used = {title for columns in chosen.values() for title in columns}
    columns = [_column(title) for title in titles if title not in used]
    if "id" not in chosen:
        chosen["id"] = _find_id(columns, "name" in chosen)
    columns = [column for column in columns if column.title not in chosen["id"]]
    names = [column for column in columns if column.plain in ROLE_NAMES["name"]]
    if not names and chosen["id"]:
        names = [column for column in columns if column.plain in LABEL_NAMES]
    if "name" not in chosen:
        spoken, language = _in_language(names, table, language)
        if len(spoken) > 1:
            raise InputError(
                f"{spoken[0]!r} and {spoken[1]!r} may both hold the names; say which one."
            )
        chosen["name"] = tuple(spoken)
    columns = [column for column in columns if column.title not in chosen["name"]]
    for role in ("alternatives", "description", "parents", "related"):
        if role not in chosen:
            fitting = [column for column in columns if column.plain in ROLE_NAMES[role]]
            chosen[role] = tuple(_in_language(fitting, table, language, names=False)[0])
    if "codes" not in chosen:
        chosen["codes"] = tuple(c.title for c in columns if c.plain in CODE_NAMES)
    if not chosen["id"] and not chosen["name"]:
        raise InputError(
            f"no column is called label, id or name; say which ones hold the labels and their "
            f"names. {_listed(titles)}"
        )
    return LabelColumns(chosen, language)


def _given(
    titles: Sequence[str], given: Mapping[str, str | Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    chosen = {}
    for role, wanted in given.items():
        if role not in ROLES:
            raise InputError(f"a column of labels is one of {', '.join(ROLES)}; got {role!r}.")
        columns = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        for column in columns:
            if column not in titles:
                raise InputError(f"there is no column {column!r}. {_listed(titles)}")
        if len(columns) > 1 and role not in SEVERAL:
            raise InputError(f"one column holds the {role}; got {', '.join(columns)}.")
        chosen[role] = columns
    return chosen


def _column(title: str) -> Column:
    lower = title.strip().lower().removeprefix("skos:")
    plain = _plain(lower)
    found = _LANGUAGE.fullmatch(lower)
    known = {*ID_NAMES, *(name for names in ROLE_NAMES.values() for name in names)}
    if found and plain not in known and _plain(found[1]) in known:
        return Column(title, _plain(found[1]), found[2])
    return Column(title, plain, None)


def _plain(title: str) -> str:
    return "".join(letter for letter in title if letter.isalnum())


def _find_id(columns: Sequence[Column], has_name: bool) -> tuple[str, ...]:
    """Return the column of the labels, none where the names are all there is."""
    plain = {column.plain: column.title for column in reversed(columns) if not column.language}
    named = has_name or any(column.plain in ROLE_NAMES["name"] for column in columns)
    # In "label, name" it is the label, in "code, label" it is the name.
    order = (*ADDRESS_NAMES, *LABEL_NAMES, *ID_NAMES) if named else ID_NAMES
    found = next((plain[name] for name in order if name in plain), None)
    return () if found is None else (found,)


def _in_language(
    columns: Sequence[Column],
    table: Mapping[str, Sequence[Any]],
    language: str | None,
    names: bool = True,
) -> tuple[list[str], str | None]:
    """Return the columns in a language, and which one: by default that of the most names."""
    spoken = [column for column in columns if column.language]
    if not spoken:
        return [column.title for column in columns], language
    if names and language is None and len(spoken) == len(columns):
        filled = Counter({str(c.language): sum(map(bool, table[c.title])) for c in spoken})
        language = most_common_language(filled)
    fitting = [c.title for c in spoken if c.language == (language or "").lower()]
    plain = [column.title for column in columns if not column.language]
    if names and not fitting and not plain:
        known = ", ".join(sorted({str(column.language) for column in spoken}))
        raise InputError(f"no name is in the language {language!r}; there are: {known}.")
    return (fitting or plain) if names else [*fitting, *plain], language


def most_common_language(names: Mapping[str, int]) -> str:
    """Return the language that most names are in; of several English, else the first by name.

    Examples
    --------
    >>> most_common_language({"de": 3, "fi": 4}), most_common_language({"de": 3, "en": 3})
    ('fi', 'en')
    """
    return min(names, key=lambda tag: (-names[tag], tag != "en", tag))


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - MAX_SHOWN} more" if len(columns) > MAX_SHOWN else ""
    return f"Its columns are: {', '.join(columns[:MAX_SHOWN])}{more}."
