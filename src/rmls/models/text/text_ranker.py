"""TextRanker: texts in, labels out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.archive import Archive
from rmls.core.errors import InputError
from rmls.core.lean.learn import BaseEstimator, ClassifierMixin, check_is_fitted, clone
from rmls.core.lean.plain_rows import as_csr
from rmls.core.options import Option, anything, check_number, flag, store_params
from rmls.core.ranking import Ranking
from rmls.decide import Rule
from rmls.features.text.text_features import TextFeatures
from rmls.features.text.vectors import Encoder
from rmls.models.ranker.ranker import RMLSRanker
from rmls.models.shared.estimator import Archived, MultiLabelEstimator
from rmls.models.text.live import LiveTexts
from rmls.models.text.naming import NamedLabels, name_labels, other_names
from rmls.models.text.suggestion import Suggestion, Suggestions, likely, rank_rows
from rmls.models.text.why import ExplainsTexts, keep_texts, list_beginnings

if TYPE_CHECKING:
    from rmls.models.shared.quality_record import QualityRecord

# Rows of texts that are words and numbers at the same time.
BLOCK_ROWS = 4096


def give_vectors(estimator: Any, n_dense: int) -> None:
    """Tell an estimator how many of the last columns are vectors."""
    if not hasattr(estimator, "dense_columns"):
        name = type(estimator).__name__
        raise InputError(f"{name} takes no vectors beside the words; RMLSRanker does.")
    estimator.set_params(dense_columns=n_dense)


class TextRanker(LiveTexts, ExplainsTexts, Archived, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Label texts: words become numbers, RMLSRanker ranks the labels, one model holds both.

    The words are those of `TextFeatures`; any other estimator may take the place of `RMLSRanker`.

    Parameters
    ----------
    estimator : estimator of rmls or None, default=None
        What learns the labels; None is ``RMLSRanker()``.
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
        Choose one of so many columns by a hash of the term and keep no vocabulary.
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
        Makes a vector of every text, which is used beside its words: any function of a list of
        texts, or the folder of a model of sentence-transformers. A function cannot be saved:
        set it again in a model that was loaded (``model.set_params(encoder=...)``).
    vectors : str or None, default=None
        The column of a table that holds such vectors, made elsewhere.
    use_names : bool, default=True
        Take what labels are called for evidence, where they are called by words and the estimator
        is an `RMLSRanker`.
    n_jobs : int or None, default=None
        Threads: None is 1, -1 all cores. It is that of the estimator, too, unless that has one.

    Attributes
    ----------
    classes_ : ndarray
        Names of the labels.
    estimator_ : estimator
        Fitted to the rows that the texts became.
    features_ : TextFeatures
    other_names_ : dict of str to list of str
        What labels are called beside what they are, from ``label_text``.
    quality_record_ : QualityRecord or None
        How well it did on held-out rows: set by `rmls train`, or from a review
        (``model.quality_record_ = review_model(...).record``); kept by `save`.

    Examples
    --------
    >>> from rmls import TextRanker
    >>> texts = ["tax on sugar", "fishing in the sea", "tax on fish"]
    >>> model = TextRanker().fit(texts, [["tax"], ["sea"], ["tax", "sea"]])
    >>> [suggestion.name for suggestion in model.suggest(["the sugar tax"], k=1)[0]]
    ['tax']
    """

    _options: ClassVar[dict[str, Option]] = {
        **TextFeatures._options,
        "estimator": anything("an estimator of rmls").or_none(),
        "use_names": flag(),
    }

    estimator: Any
    estimator_: MultiLabelEstimator
    features_: TextFeatures
    training_record_: dict[str, Any] | None = None
    quality_record_: QualityRecord | None = None
    other_names_: dict[str, list[str]]

    def __init__(
        self,
        estimator: Any = None,
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
        use_names: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        store_params(self, locals())

    @classmethod
    def assemble(
        cls,
        features: TextFeatures,
        estimator: MultiLabelEstimator,
        *,
        use_names: bool = True,
        names: dict[str, list[str]] | None = None,
    ) -> TextRanker:
        """Return the model of fitted text features and an estimator fitted to their rows."""
        params = features.get_params(deep=False)
        params["n_jobs"] = params["n_jobs"] or getattr(estimator, "n_jobs", None)
        model = cls(clone(estimator), use_names=use_names, **params)
        model.features_, model.estimator_ = features, estimator
        model.other_names_ = names or {}
        # Whoever has texts has names of labels, whatever held them during the training.
        estimator._space = replace(estimator._space, container="names")
        model.training_record_ = getattr(estimator, "training_record_", None)
        return model

    @classmethod
    def declared_options(cls) -> dict[str, Option]:
        """Return what every parameter of the constructor may be."""
        return {name: cls._options[name] for name in cls._get_param_names()}

    # -- fitting ---------------------------------------------------------------------------------

    def _check_options(self) -> None:
        self._make_features()._check_options()
        self._make_estimator()._check_options()

    def _make_features(self) -> TextFeatures:
        params = self.get_params(deep=False)
        return TextFeatures(**{name: params[name] for name in TextFeatures._options})

    def _make_estimator(self) -> MultiLabelEstimator:
        inner = RMLSRanker() if self.estimator is None else self.estimator
        if not isinstance(inner, MultiLabelEstimator):
            raise InputError(
                f"estimator must be an estimator of rmls or None; got {type(inner).__name__}."
            )
        made: MultiLabelEstimator = clone(inner)
        # Rows come in unit length and weighted: there is nothing left to scale.
        own = made.get_params(deep=False)
        if own.get("normalize") == "auto":
            made.set_params(normalize="none")
        if self.n_jobs is not None and "n_jobs" in own and own["n_jobs"] is None:
            made.set_params(n_jobs=self.n_jobs)
        return made

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        label_names: Any = None,
        label_text: Any = None,
    ) -> TextRanker:
        """Learn from texts ``X`` and their labels ``y``.

        Parameters
        ----------
        X : sequence of str, sequence of tuples of str, mapping of columns, or table
            Several fields are counted together, each by its weight. Columns that ``categories``
            and ``numbers`` name are no texts; there may be no others.
        y : lists of label names, 0/1 matrix, or 1-d classes
        sample_weight : array-like of shape (n_samples,), optional
        label_names : sequence of str, optional
            Names for the columns of a 0/1 matrix.
        label_text : LabelText, mapping of labels to names, or path, optional
            What labels are called; see `rmls.datasets.read_label_text`. Labels that ``y`` does not
            have can be suggested by their names alone. Without it labels are called what they are.

        Returns
        -------
        self
        """
        self._check_options()
        features, estimator = self._make_features(), self._make_estimator()
        named = self._name_labels(estimator, y, label_names, label_text)
        keeps = getattr(estimator, "keep_rows", False)
        X = list(X) if keeps and hasattr(X, "__next__") else X
        rows = features.fit_transform(X, names=() if named is None else named.texts)
        if not rows.nnz:
            raise InputError("the texts hold no words to learn from.")
        if features.n_dense_:
            give_vectors(estimator, features.n_dense_)
        if named is None or not isinstance(estimator, RMLSRanker):
            estimator.fit(rows, y, sample_weight, label_names)
        else:
            # Wide enough for labels without rows, then again in the container that was given.
            labels = y if named.space.is_single else named.Y
            estimator.fit(rows, labels, sample_weight, named.space.names, named.words(features))
            estimator._space = named.space
        if keeps:
            keep_texts(estimator, list_beginnings(self, X))
        self.features_, self.estimator_ = features, estimator
        self.other_names_ = {} if named is None or label_text is None else other_names(named.called)
        # What was recorded is about another training.
        self.training_record_ = self.quality_record_ = None
        return self

    def _name_labels(
        self, estimator: MultiLabelEstimator, y: Any, label_names: Any, label_text: Any
    ) -> NamedLabels | None:
        if not self.use_names:
            return None
        if not isinstance(estimator, RMLSRanker):
            if label_text is not None:
                name = type(estimator).__name__
                raise InputError(f"{name} learns nothing from label_text; RMLSRanker does.")
            return None
        return name_labels(y, label_names, label_text)

    # -- labels of texts -------------------------------------------------------------------------

    def suggest(self, X: Any, k: int = 5, min_probability: float = 0.0) -> list[list[Suggestion]]:
        """Return the best labels of every text with their probabilities, most likely first.

        The labels are those that `rank` puts first, where rare ones are boosted a little.

        Parameters
        ----------
        X : texts, as for `fit`
        k : int, default=5
            At most so many labels a text.
        min_probability : float, default=0.0
            Leave out labels that are less likely.
        """
        check_is_fitted(self)
        check_number("min_probability", min_probability, positive=False)
        found = Suggestions()
        for rows in self._blocks(X):
            if not rows.shape[0]:
                continue
            ranking = rank_rows(self, rows, k)
            if ranking.probabilities is None:
                name = type(self.estimator_).__name__
                raise InputError(
                    f"{name} gives scores and no probabilities; "
                    f"use rank, or TextRanker(Calibrated({name}()))."
                )
            found.extend(likely(row, min_probability) for row in ranking)
        return found

    def rank(self, X: Any, k: int = 5) -> Ranking:
        """Return the best ``k`` labels of every text with scores and probabilities."""
        check_is_fitted(self)
        parts = [rank_rows(self, rows, k) for rows in self._blocks(X)]
        return parts[0] if len(parts) == 1 else Ranking.stack(parts)

    def rank_sets(self, X: Any, decision: str | float | Rule | None = None) -> Ranking:
        """Return the predicted labels of every text with scores and probabilities."""
        check_is_fitted(self)
        parts = [self.estimator_.rank_sets(as_csr(rows), decision) for rows in self._blocks(X)]
        return Ranking.stack(parts)

    def predict(self, X: Any, decision: str | float | Rule | None = None) -> Any:
        """Return label sets by the decision rule, in the container of ``fit``."""
        check_is_fitted(self)
        return self.estimator_.predict(self.features_.transform(X), decision)

    def predict_sets(self, X: Any, decision: str | float | Rule | None = None) -> sparse.csr_matrix:
        """Return label sets as a 0/1 CSR matrix, whatever container ``fit`` was given."""
        check_is_fitted(self)
        return self.estimator_.predict_sets(self.features_.transform(X), decision)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of every label, dense."""
        check_is_fitted(self)
        if not hasattr(self.estimator_, "predict_proba"):
            name = type(self.estimator_).__name__
            raise InputError(
                f"{name} gives no probabilities; use TextRanker(Calibrated({name}()))."
            )
        probabilities: NDArray[np.float32] = self.estimator_.predict_proba(
            self.features_.transform(X)
        )
        return probabilities

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return all scores, dense."""
        check_is_fitted(self)
        return self.estimator_.decision_function(self.features_.transform(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean example-F1 of the predicted sets; the accuracy for a 1-d ``y``."""
        check_is_fitted(self)
        return self.estimator_.score(self.features_.transform(X), y, sample_weight)

    def _blocks(self, X: Any) -> Iterator[Any]:
        rows = self.features_._transform(X)
        if rows.shape[0] <= BLOCK_ROWS:
            yield rows
            return
        for start in range(0, rows.shape[0], BLOCK_ROWS):
            yield rows[start : start + BLOCK_ROWS]

    def set_params(self, **params: Any) -> TextRanker:
        """Set parameters; an encoder holds at once, for a model that was fitted, too."""
        super().set_params(**params)
        if "encoder" in params and hasattr(self, "features_"):
            self.features_.set_params(encoder=params["encoder"])
        return self

    # -- what it is made of ----------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """Names of the labels."""
        return self.estimator_.classes_

    @property
    def label_counts_(self) -> NDArray[np.int64]:
        """Training rows of every label."""
        return self.estimator_.label_counts_

    @property
    def n_samples_(self) -> int:
        """Number of training rows."""
        return self.estimator_.n_samples_

    def _describe(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        from rmls.models.text.archive import describe_text_ranker

        return describe_text_ranker(self)

    @classmethod
    def _build(cls, archive: Archive) -> TextRanker:
        from rmls.models.text.archive import build_text_ranker

        return build_text_ranker(archive)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags
