"""TextFeatures: raw texts to sparse rows, ready for any estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.lean.learn import BaseEstimator, TransformerMixin, check_is_fitted
from rmls.core.lean.plain_rows import as_csr
from rmls.core.options import Option, anything, flag, positive, store_params, whole
from rmls.core.resources import count_threads, run_parts
from rmls.features.text.column_block import ColumnBlock, learn_columns
from rmls.features.text.columns import ColumnRoles, ColumnScan, scan_columns
from rmls.features.text.inputs import read_again, read_field_weights, read_lengths, read_rows
from rmls.features.text.scanning import Rows, Scan, ScannedTexts, cut_pieces, scan_names, scan_rows
from rmls.features.text.stem_table import StemTable
from rmls.features.text.stems import AUTO, ENDINGS, NONE, check_language
from rmls.features.text.term_block import (
    NO_NUMBERS,
    TermBlock,
    choose_block,
    count_columns,
    join_kinds,
    spell_terms,
    stack_rows,
)
from rmls.features.text.terms import WORDS, Terms, find_kinds, gather_terms
from rmls.features.text.vectors import Encoder, check_vectors, put_beside, read_vectors, take_column

if TYPE_CHECKING:
    from rmls.features.text.late_terms import LateTerms


class TextFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Describe texts by the words in them: tf-idf rows of length 1.

    Words are runs of letters and digits in small letters, in one Unicode form. In scripts without
    spaces (Chinese, Japanese, Thai, ...) every character and every pair of neighbours is a word.
    The vocabulary is made by compiled code on several threads and has a place in the archive of a
    model; nothing is pickled.

    Parameters
    ----------
    stem : str, default="auto"
        Language whose word endings are removed; ``"endings"``, which are learned from the words of
        the texts and need no language; ``"none"``; or ``"auto"``: the language whose function words
        stand out, and endings where none does.
    pairs : bool, default=False
        Count pairs of neighbouring words, too.
    characters : tuple of two int or None, default=None
        Count sequences of so many characters inside words, too: ``(3, 5)``.
    min_rows : int, default=1
        Terms in fewer rows are left out.
    max_terms : int or None, default=1000000
        Keep the most frequent terms of every kind.
    hashing : int or None, default=None
        Choose one of so many columns by a hash of the term and keep no vocabulary. Columns have no
        names then.
    field_weights : sequence of float or None, default=None
        What a word counts in every field, where rows have several; 1 without it.
    categories : sequence of str or of int, or None, default=None
        Columns whose cells are features of their own, no texts: names in a table, positions in
        tuples.
    numbers : sequence of str or of int, or None, default=None
        Columns of numbers. A number is shared by the two of up to 16 quantiles around it.
    category_separator : str or None, default=None
        What parts the categories of a cell; without it a text is one category, a list several.
    column_weight : float, default=0.5
        What every column of categories or numbers counts, against 1 for all words of a row.
    encoder : function, path or None, default=None
        Makes a vector of every text: any function of a list of texts, or the folder of a model of
        sentence-transformers. Vectors become the last ``n_dense_`` columns, as they are.
    vectors : str or None, default=None
        The column of a table that holds such vectors, made elsewhere.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores.

    Attributes
    ----------
    language_ : str or None
        The language whose endings are removed.
    fields_ : tuple of str or None
        Names of the fields.
    n_fields_ : int
    n_dense_ : int
        Numbers of a vector; 0 without vectors.

    Examples
    --------
    >>> from rmls.features import TextFeatures
    >>> features = TextFeatures(stem="english")
    >>> rows = features.fit_transform(["Taxes on tobacco", "A tax on sugar"])
    >>> features.get_feature_names_out().tolist()
    ['tax', 'on', 'tobacco', 'a', 'sugar']
    >>> rows.shape
    (2, 5)
    """

    _options: ClassVar[dict[str, Option]] = {
        "stem": anything('a language, "auto", "endings" or "none"'),
        "pairs": flag(),
        "characters": anything("two whole numbers, the shortest and the longest").or_none(),
        "min_rows": whole(1),
        "max_terms": whole(1).or_none(),
        "hashing": whole(1).or_none(),
        "field_weights": anything("a positive number for every field").or_none(),
        "categories": anything("names of columns, or positions").or_none(),
        "numbers": anything("names of columns, or positions").or_none(),
        "category_separator": anything("a text").or_none(),
        "column_weight": positive(),
        "encoder": anything("a function of texts, or a folder").or_none(),
        "vectors": anything("the name of a column").or_none(),
        "n_jobs": anything("a whole number other than 0").or_none(),
    }

    language_: str | None
    fields_: tuple[str, ...] | None
    n_fields_: int
    n_dense_: int
    _stems: StemTable
    _blocks: dict[str, TermBlock]
    _columns: ColumnBlock | None
    # What `add_terms` took up, and the rows of the training, which an archive does not say.
    _late: LateTerms | None
    _n_rows: int | None

    def __init__(
        self,
        *,
        stem: str = "auto",
        pairs: bool = False,
        characters: tuple[int, int] | None = None,
        min_rows: int = 1,
        max_terms: int | None = 1_000_000,
        hashing: int | None = None,
        field_weights: Sequence[float] | None = None,
        categories: Sequence[str] | Sequence[int] | None = None,
        numbers: Sequence[str] | Sequence[int] | None = None,
        category_separator: str | None = None,
        column_weight: float = 0.5,
        encoder: Encoder | None = None,
        vectors: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        store_params(self, locals())

    # -- options ---------------------------------------------------------------------------------

    def _check_options(self) -> None:
        for name, option in self._options.items():
            option.check(name, getattr(self, name))
        if not isinstance(self.stem, str) or self.stem not in (AUTO, ENDINGS, NONE):
            check_language(str(self.stem))
        if self.stem == ENDINGS and self.hashing is not None:
            raise InputError('stem="endings" needs a vocabulary, which hashing does not keep.')
        self._sequence_lengths()
        self._roles()
        check_vectors(self.encoder, self.vectors)
        count_threads(self.n_jobs)

    def _roles(self) -> ColumnRoles:
        return ColumnRoles.of(self.categories, self.numbers, self.category_separator)

    def _sequence_lengths(self) -> tuple[int, int] | None:
        return None if self.characters is None else read_lengths(self.characters)

    def _read_weights(self, n_fields: int) -> NDArray[np.float32]:
        return read_field_weights(self.field_weights, n_fields)

    # -- texts to rows ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> TextFeatures:
        """Learn which terms there are and how rare they are."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, names: Sequence[str] = ()) -> sparse.csr_matrix:
        """Learn the terms of texts and return their rows.

        Parameters
        ----------
        X : sequence of str, sequence of tuples of str, mapping of columns, or table
            Also what `scan` read. Several fields are counted together, each by its weight.
        y : ignored
        names : sequence of str
            Texts whose words are known as well, although they are no rows and do not count, such
            as the names of labels: a word of theirs may come up in later texts.

        Returns
        -------
        CSR matrix of float32, shape (n_samples, n_terms)
        """
        texts = X if isinstance(X, ScannedTexts) else self.scan([X])
        self._check_options()
        roles, limits = self._roles(), (self.min_rows, self.max_terms)
        columns = None
        if roles.all:
            weight = float(self.column_weight)
            columns = learn_columns(texts.columns, roles, limits, self.hashing, weight)
        self._late, self._n_rows = None, len(texts)
        scans = texts.use_up()
        named = scan_names(names)
        stems = StemTable.learn(scans, self.stem, named, kept=self.hashing is None)
        found = self._fit_scans(scans, stems, named)
        self._columns = columns
        if columns is not None:
            found = columns.beside(as_csr(found), texts.columns)
        self.fields_, self.n_fields_ = texts.fields, texts.n_fields
        self.language_ = stems.language
        joined = as_csr(put_beside(found, texts.vectors))
        self.n_dense_ = int(joined.shape[1] - found.shape[1])
        return joined

    def scan(self, chunks: Iterable[Any]) -> ScannedTexts:
        """Read texts some at a time and keep the counts of their words, for `fit_transform`.

        Every chunk is let go when it was read: there may be more text than memory.

        Examples
        --------
        >>> features = TextFeatures(stem="none")
        >>> texts = features.scan(iter([["a tax", "a law"], ["the sea"]]))
        >>> features.fit_transform(texts).shape
        (3, 5)
        """
        self._check_options()
        scans: list[Scan] = []
        columns: list[ColumnScan] = []
        vectors: list[NDArray[np.float32]] = []
        roles, threads = self._roles(), count_threads(self.n_jobs)
        fields, n_fields, n_rows = None, 0, 0
        for chunk in chunks:
            texts, given = take_column(chunk, self.vectors)
            rows, cells = read_rows(texts, fields, roles, alone=False)
            if n_fields and rows.n_fields != n_fields:
                raise InputError(
                    f"texts have {rows.n_fields} field(s) but those before had {n_fields}."
                )
            fields, n_fields = rows.fields, rows.n_fields
            work = partial(scan_rows, field_weights=self._read_weights(n_fields), pairs=self.pairs)
            scans += run_parts(work, cut_pieces(rows.pieces, n_fields), threads)
            if roles.all:
                columns.append(scan_columns(cells, rows.n_rows, roles, n_rows))
            n_rows += rows.n_rows
            made = read_vectors(self.encoder, given, rows, None)
            vectors += [] if made is None else [made]
        return ScannedTexts(scans, fields, max(n_fields, 1), columns, vectors)

    def _fit_scans(self, scans: list[Any], stems: StemTable, named: list[Scan]) -> Any:
        """Choose the terms and return the rows; every scan is let go when it was counted."""
        kinds, threads = self._kinds(stems), count_threads(self.n_jobs)
        lengths = self._sequence_lengths()
        known = {
            kind: None if self.hashing else gather_terms(kind, scans, stems, lengths)
            for kind in kinds
        }
        sizes = {
            kind: int(self.hashing or 1) if terms is None else len(terms)
            for kind, terms in known.items()
        }

        def count(number: int) -> dict[str, Rows]:
            scan, scans[number] = scans[number], None
            return {
                kind: count_columns(terms_of(scan), known[kind], sizes[kind])
                for kind, terms_of in kinds.items()
            }

        counted: list[Any] = run_parts(count, range(len(scans)), threads)
        limits = (self.min_rows, self.max_terms)
        named_words = np.concatenate([NO_NUMBERS, *map(stems.stems_of, named)])
        chosen = {}
        for kind in kinds:
            wanted = named_words if kind == WORDS else NO_NUMBERS
            of_kind = [rows[kind] for rows in counted]
            chosen[kind] = choose_block(known[kind], of_kind, sizes[kind], limits, wanted)

        def weigh(number: int) -> Any:
            rows, counted[number] = counted[number], None
            return join_kinds({kind: chosen[kind].take(rows.pop(kind)) for kind in kinds})

        parts = run_parts(weigh, range(len(counted)), threads)
        self._blocks = {kind: choice.block for kind, choice in chosen.items()}
        kept = self._blocks[WORDS].vocabulary
        self._stems = StemTable.of_language(stems.language) if kept is None else stems.keep(kept)
        return stack_rows(parts, self.n_words_)

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Return the rows of texts; words and categories that are not known do not count.

        Returns
        -------
        CSR matrix of float32, shape (n_samples, n_terms + n_dense)
        """
        return as_csr(self._transform(X))

    def _transform(self, X: Any) -> Any:
        """Return the rows of texts, plain ones where nothing stands beside the words."""
        check_is_fitted(self)
        weights, threads = self._read_weights(self.n_fields_), count_threads(self.n_jobs)
        late, blocks = self._late, self._blocks
        kinds = self._kinds(self._stems if late is None else late.stems)

        def work(part: Any) -> list[Any]:
            scan = part if isinstance(part, Scan) else scan_rows(part, weights, self.pairs)
            if late is not None:
                return late.transform({kind: kinds[kind](scan) for kind in kinds}, blocks)
            return [join_kinds({kind: blocks[kind].transform(kinds[kind](scan)) for kind in kinds})]

        X = X if isinstance(X, ScannedTexts) else self._scan_again(X)
        parts = run_parts(work, X.use_up(), threads)
        found = stack_rows([part.pop(0) for part in parts], self.n_words_)
        more = [] if late is None else [stack_rows([part.pop() for part in parts], late.n_terms)]
        if self._columns is not None:
            found = self._columns.beside(as_csr(found), X.columns, more)
        elif more:
            found = sparse.hstack([as_csr(found), *more], format="csr")
        return put_beside(found, X.vectors)

    def add_terms(self, X: Any = None, names: Sequence[str] = (), min_rows: int = 1) -> int:
        """Take up terms that are not known yet; return their number.

        They get columns behind those of words, categories and numbers, before those of vectors.
        Nothing else changes: see "Terms that come later" in docs/text.md.

        Parameters
        ----------
        X : as for `transform`, optional
            Texts whose words, and pairs and character sequences where these count, are added.
        names : sequence of str
            Texts that are no rows, such as the names of labels: their words are added, too.
        min_rows : int
            Terms in fewer rows of ``X`` are left out; those of names are not.

        Examples
        --------
        >>> features = TextFeatures(stem="none").fit(["a tax", "the law"])
        >>> features.add_terms(["a virus", "virus law"], names=["Covid-19"])
        3
        >>> features.get_feature_names_out().tolist()
        ['a', 'tax', 'the', 'law', 'covid', '19', 'virus']
        """
        from rmls.features.text.new_terms import take_up

        check_is_fitted(self)
        return take_up(self, X, names, min_rows)

    def _scan_again(self, X: Any) -> ScannedTexts:
        """Return new rows; their texts are left as they are."""
        check_vectors(self.encoder, self.vectors, self.n_dense_)
        texts, given = take_column(X, self.vectors)
        rows, columns = read_again(texts, self.fields_, self.n_fields_, self.column_roles_)
        made = read_vectors(self.encoder, given, rows, self.n_dense_)
        pieces: list[Any] = list(cut_pieces(rows.pieces, self.n_fields_))
        known = (self.fields_, self.n_fields_, columns)
        return ScannedTexts(pieces, *known, [] if made is None else [made])

    def _kinds(self, stems: StemTable) -> dict[str, Callable[[Scan], Terms]]:
        """Return how every kind of terms is found in a scan."""
        return find_kinds(stems, self.pairs, self._sequence_lengths())

    # -- names and archive -----------------------------------------------------------------------

    @property
    def column_roles_(self) -> ColumnRoles:
        """The columns that are no texts."""
        return ColumnRoles() if self._columns is None else self._columns.roles

    @property
    def n_terms_(self) -> int:
        """Number of columns before those of the vectors."""
        n_late = 0 if self._late is None else self._late.n_terms
        return self.n_words_ + n_late + (0 if self._columns is None else self._columns.n_features)

    @property
    def n_words_(self) -> int:
        """Number of columns that stand for learned words, pairs of them and their parts."""
        return sum(len(block.idf) for block in self._blocks.values())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the term of every column.

        Sequences of characters stand between bars, categories are ``column=category`` and the
        values that stand for a column of numbers ``column~value``.
        """
        check_is_fitted(self)
        names = spell_terms(self._blocks)
        names.extend([] if self._columns is None else self._columns.names)
        names.extend([] if self._late is None else self._late.names)
        names.extend(f"#vector {number}" for number in range(self.n_dense_))
        return np.asarray(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_blocks")
