"""A table of labels: what each is called, what it means, what stands above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmls.core.errors import InputError
from rmls.core.words import count, shorten

if TYPE_CHECKING:
    from rmls.core.label_text.alignment import AlignedLabelText

# Columns that hold several texts of a label, and that may be left out.
LISTS = ("alternatives", "parents", "codes", "related")


@dataclass(frozen=True, repr=False)
class LabelText:
    """What labels are called.

    Attributes
    ----------
    ids : tuple of str
        What the file calls the labels: addresses, codes or the names themselves; all different.
    names : tuple of str
        The preferred name of every label, empty where it has none.
    alternatives : tuple of tuple of str
        Other names.
    descriptions : tuple of str
        What the label means.
    parents : tuple of tuple of str
        Ids of the labels above, all of them in the table and without a circle.
    codes : tuple of tuple of str
        Other things that a label may be known by, such as ``skos:notation``.
    related : tuple of tuple of str
        Ids of related labels.
    deprecated : frozenset of str
        Ids of labels that are no longer to be given.
    language : str or None
        The language of the names, where the file has several.
    found : tuple of str
        What was found out about the file, in words.
    notes : tuple of str
        What is odd about it, in words.

    Examples
    --------
    >>> text = LabelText(("b1", "b2"), ("bread", "rye bread"), parents=((), ("b1",)))
    >>> text
    LabelText(2 labels, 2 with a name, 1 with a parent)
    >>> aligned = text.align(["b2", "flour"])
    >>> aligned.labels, aligned.names, aligned.parents
    (('b2', 'flour', 'b1'), ('rye bread', 'flour', 'bread'), ((2,), (), ()))
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    alternatives: tuple[tuple[str, ...], ...] = ()
    descriptions: tuple[str, ...] = ()
    parents: tuple[tuple[str, ...], ...] = ()
    codes: tuple[tuple[str, ...], ...] = ()
    related: tuple[tuple[str, ...], ...] = ()
    deprecated: frozenset[str] = frozenset()
    language: str | None = None
    found: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        absent: dict[str, Any] = {name: ((),) * len(self.ids) for name in LISTS}
        absent["descriptions"] = ("",) * len(self.ids)
        for name, empty in absent.items():
            if not getattr(self, name):
                object.__setattr__(self, name, empty)
        for name in ("names", *absent):
            if len(getattr(self, name)) != len(self.ids):
                raise InputError(
                    f"there are {len(self.ids)} labels but {len(getattr(self, name))} {name}."
                )
        if len(set(self.ids)) < len(self.ids):
            seen: set[str] = set()
            # `add` returns None: the first id that was there before.
            twice = next(name for name in self.ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise InputError(f"the label {shorten(twice)!r} is there twice.")

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        named, below = sum(map(bool, self.names)), sum(map(bool, self.parents))
        inside = f"{count(len(self), 'label')}, {named:,} with a name, {below:,} with a parent"
        return f"LabelText({inside})"

    def align(self, labels: Sequence[Any], *, add_others: bool = True) -> AlignedLabelText:
        """Return the texts in the order of a model's labels.

        A label is looked for as an id, as the last part of an address, as a code and as a name, in
        this order; the last three ignore capitals. Where two labels fit equally well, none is
        taken.

        Parameters
        ----------
        labels : sequence
            What the model calls its labels.
        add_others : bool, default=True
            Put labels of the table that the model does not have behind its own, without those that
            are deprecated or have no text at all.

        Raises
        ------
        InputError
            If the table has none of the labels.
        """
        from rmls.core.label_text.alignment import align

        return align(self, labels, add_others)
