"""Questions about a model for texts: which words speak for a label, what is like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.lean.learn import check_is_fitted
from rmls.core.options import check_choice, check_whole
from rmls.core.sparse import as_feature_csr
from rmls.features.text.columns import ColumnScan
from rmls.features.text.inputs import read_again, read_rows, read_texts
from rmls.features.text.occurrences import find_occurrences, name_columns
from rmls.features.text.text_features import TextFeatures
from rmls.features.text.vectors import take_column
from rmls.models.ranker.explanation import (
    Explanation,
    FeatureWeight,
    SimilarLabel,
    SimilarRow,
)
from rmls.models.ranker.kept_rows import text_beginning
from rmls.models.ranker.ranker import RMLSRanker
from rmls.models.ranker.why import GRADIENTS, find_label

if TYPE_CHECKING:
    from rmls.models.text.text_ranker import TextRanker


class WordPart(NamedTuple):
    """A word where it stands in a text, and what it adds to the score.

    Attributes
    ----------
    word : str
        As it is written.
    field : int
        The field it stands in, the first being 0.
    start, end : int
        The characters of that field between which it stands.
    part : float
    """

    word: str
    field: int
    start: int
    end: int
    part: float


class ColumnPart(NamedTuple):
    """What a column beside the texts adds to the score.

    Attributes
    ----------
    column : str or int
    value : str or float
        The category, or the number.
    part : float
    """

    column: Any
    value: Any
    part: float


@dataclass(frozen=True)
class TextExplanation(Explanation):
    """Why a label suits a text: the words that speak for it and against it.

    The attributes of `Explanation`, and

    Attributes
    ----------
    texts : tuple of str
        The text of every field.
    words : tuple of WordPart
        In the order of the text. What a stem, a pair or a sequence of characters adds is shared by
        the words that it stands in.
    columns : tuple of ColumnPart
        Categories and numbers.
    """

    texts: tuple[str, ...] = ()
    words: tuple[WordPart, ...] = ()
    columns: tuple[ColumnPart, ...] = ()

    @property
    def top_words(self) -> list[tuple[str, float]]:
        """Every different word with all that it adds, the strongest for the label first."""
        totals: dict[str, float] = {}
        for word in self.words:
            key = word.word.lower()
            totals[key] = totals.get(key, 0.0) + word.part
        return sorted(totals.items(), key=lambda entry: -entry[1])


class ExplainsTexts:
    """Mixin of `TextRanker`: what is behind its suggestions."""

    features_: TextFeatures
    estimator_: Any

    def explain(self, x: Any, label: Any = None, k: int = 5, *, gradient: str = "path") -> Any:
        """Return the parts that the score of a label adds up to, word by word.

        Parameters
        ----------
        x : str, tuple of str, mapping of columns to cells, or texts as for `fit` with one row
        label : str, optional
            The label to explain, listed for the text or not. Without it the best ``k`` are.
        k : int, default=5
        gradient : {"path", "point"}, default="path"
            See `RMLSRanker.explain`.

        Returns
        -------
        TextExplanation, or a list of them, best first

        Examples
        --------
        >>> from rmls import TextRanker
        >>> texts = ["tax on sugar", "fishing in the sea", "tax on fish"]
        >>> model = TextRanker().fit(texts, [["tax"], ["sea"], ["tax", "sea"]])
        >>> found = model.explain("a new tax on boats", "tax")
        >>> found.top_words[0][0], abs(found.total - found.score) < 1e-5
        ('tax', True)
        """
        inner = self._ranker()
        check_whole("k", k, 1)
        check_choice("gradient", gradient, GRADIENTS)
        number = None if label is None else find_label(inner._space.names, label)
        row = self._read_text(x)
        found = inner._explain_row(row.X, number, k, path=gradient == "path")
        explained = _add_words(self.features_, row, found)
        if label is not None:
            return next(explained)
        from rmls.core.show.fragments import Listed

        return Listed(explained)

    def top_features(self, label: Any, k: int = 20) -> list[FeatureWeight]:
        """Return the terms with the largest weights in the classifier of a label.

        At most ``k`` that speak for the label, largest first, and behind them at most so many that
        speak against it.
        """
        found = self._ranker().top_features(label, k)
        names = name_columns(self.features_, np.array([entry.feature for entry in found], int))
        return [FeatureWeight(name, each.weight) for name, each in zip(names, found, strict=True)]

    def similar_labels(self, label: Any, k: int = 10) -> list[SimilarLabel]:
        """Return the labels whose vectors are the most similar to that of a label."""
        found: list[SimilarLabel] = self._ranker().similar_labels(label, k)
        return found

    def similar_rows(self, x: Any, label: Any, k: int = 5) -> list[SimilarRow]:
        """Return the training texts with a label that are the most similar to a text.

        The estimator must have been fitted with ``keep_rows=True``; of texts the beginnings are
        kept.

        Examples
        --------
        >>> from rmls import RMLSRanker, TextRanker
        >>> texts = ["tax on sugar", "fishing in the sea", "tax on fish"]
        >>> model = TextRanker(RMLSRanker(keep_rows=True))
        >>> model = model.fit(texts, [["tax"], ["sea"], ["tax", "sea"]])
        >>> [entry.text for entry in model.similar_rows("a fish tax", "tax")]
        ['tax on fish', 'tax on sugar']
        """
        inner = self._ranker()
        found: list[SimilarRow] = inner.similar_rows(self._read_text(x).X, label, k)
        return found

    def _ranker(self) -> RMLSRanker:
        check_is_fitted(self)
        if not isinstance(self.estimator_, RMLSRanker):
            name = type(self.estimator_).__name__
            raise InputError(f"scores of {name} cannot be explained; RMLSRanker explains its own.")
        return self.estimator_

    def _read_text(self, x: Any) -> TextRow:
        features, one = self.features_, _as_rows(x)
        texts, _ = take_column(one, features.vectors)
        known = (features.fields_, features.n_fields_, features.column_roles_)
        rows, columns = read_again(texts, *known)
        if rows.n_rows != 1:
            raise InputError(f"one text can be explained at a time; got {rows.n_rows}.")
        X = features.transform(one)
        if not X.nnz and not any(piece.strip() for piece in rows.pieces):
            raise InputError("the text is empty; give one with words in it.")
        return TextRow(as_feature_csr(X), tuple(rows.pieces), columns)


class TextRow(NamedTuple):
    """One row of texts: its features, its fields and the columns beside them."""

    X: sparse.csr_matrix
    pieces: tuple[str, ...]
    columns: list[ColumnScan]


def _as_rows(x: Any) -> Any:
    """Return what stands for one row as rows."""
    if isinstance(x, str | tuple):
        return [x]
    # A cell of categories may be a list itself.
    is_row = isinstance(x, Mapping) and any(
        isinstance(cell, str) or not hasattr(cell, "__len__") for cell in x.values()
    )
    return {name: [cell] for name, cell in x.items()} if is_row else x


def _add_words(
    features: TextFeatures, row: TextRow, found: list[Explanation]
) -> Iterator[TextExplanation]:
    occurrences = find_occurrences(features, row.pieces)
    places = [
        array.tolist() for array in (occurrences.fields, occurrences.starts, occurrences.ends)
    ]
    columns = np.sort(row.X.indices)
    names = dict(zip(columns.tolist(), name_columns(features, columns), strict=True))
    for each in found:
        total = {part.feature: part.total for part in each.features}
        parts = np.array([total.get(column, 0.0) for column in columns.tolist()])
        shared = occurrences.share(columns, parts).tolist()
        spans = zip(*places, shared, strict=True)
        values = {field.name: getattr(each, field.name) for field in fields(each)}
        values["features"] = tuple(
            part._replace(feature=names[part.feature]) for part in each.features
        )
        yield TextExplanation(
            **values,
            texts=row.pieces,
            words=tuple(
                WordPart(row.pieces[field][start:end], field, start, end, part)
                for field, start, end, part in spans
            ),
            columns=tuple(_column_parts(features, row, total, names)),
        )


def _column_parts(
    features: TextFeatures, row: TextRow, total: Mapping[int, float], names: Mapping[int, str]
) -> Iterator[ColumnPart]:
    """Yield the parts of categories and of columns of numbers."""
    block, first = features._columns, features.n_words_
    if block is None:
        return
    for column in sorted(total):
        if first <= column < first + block.n_categories:
            term, equals, value = names[column].partition("=")
            yield ColumnPart(term, value if equals else None, total[column])
    start = first + block.n_categories
    for place, (name, knots) in enumerate(zip(block.roles.numbers, block.knots, strict=True)):
        part = sum(total.get(column, 0.0) for column in range(start, start + len(knots)))
        number = float(row.columns[0].numbers[0, place])
        if not np.isnan(number):
            yield ColumnPart(name, number, part)
        start += len(knots)


def list_beginnings(model: TextRanker, X: Any) -> list[str]:
    """Return the beginnings of texts, as `fit` takes them."""
    features = model._make_features()
    texts, _ = take_column(X, features.vectors)
    roles = features._roles()
    rows = read_rows(texts, None, roles, alone=False)[0] if roles.all else read_texts(texts)
    pieces, n_fields = rows.pieces, rows.n_fields
    return [text_beginning(pieces[at : at + n_fields]) for at in range(0, len(pieces), n_fields)]


def keep_texts(estimator: Any, beginnings: Sequence[str]) -> None:
    """Put the beginnings of the training texts beside the rows that an estimator keeps."""
    kept = getattr(estimator, "_kept_rows", None)
    if kept is not None:
        estimator._kept_rows = kept.with_texts(beginnings)
