"""Training from texts: the rows of a table become numbers, the model is saved with both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from rmls.cli.shared.options import Part
from rmls.cli.shared.texts import Names, Reading, as_dataset
from rmls.cli.shared.vectors import VectorFile, add_vectors
from rmls.cli.train.command import Given
from rmls.cli.train.run import Rows, Run, Training, new_training, run_training
from rmls.core.errors import InputError
from rmls.core.words import count
from rmls.features import TextFeatures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rmls.datasets import Dataset
    from rmls.features.text.scanning import ScannedTexts
    from rmls.models.text.naming import NamedLabels

# In so many rows at least one label comes again, unless it is no column of labels.
MANY_ROWS = 100
# In the title of every page.
PAGE_MARK = " – rmls</title>".encode()


@dataclass(frozen=True)
class TextRun(Run):
    """One call of `rmls train` with a table of texts.

    Attributes
    ----------
    reading : Reading
        How the table is read.
    names : Names
        Whether what labels are called is evidence, and the file that says more.
    features : TextFeatures
        Fitted to the training texts when they are loaded.
    reports : bool
        Whether a report is made of rows that the model had not seen.
    beginnings : list of str
        Of the training texts, where the model keeps its rows.
    called : dict of str to list of str
        What else labels are called, from the file of names.
    """

    reading: Reading = field(default_factory=Reading)
    names: Names = field(default_factory=Names)
    features: TextFeatures = field(default_factory=TextFeatures)
    reports: bool = True
    beginnings: list[str] = field(default_factory=list)
    called: dict[str, list[str]] = field(default_factory=dict)

    def load(self, training: Training) -> Rows:
        """Return the rows as numbers, and tell the model how many of these are vectors."""
        from rmls.models.text.text_ranker import give_vectors

        if self.features.vectors or self.features.encoder:
            # Before hours of encoding: an estimator that takes none says so.
            give_vectors(training.model, 1)
        rows = self._load(training)
        if self.features.n_dense_:
            give_vectors(training.model, self.features.n_dense_)
        return rows

    def _load(self, training: Training) -> Rows:
        """Return the rows as numbers; rows without labels cannot be learned from."""
        if self.part is not None:
            raise InputError("--part is for data sets that are split; a table of texts is not.")
        features = self.features
        labels: list[list[str]] = []
        keeps = getattr(training.model, "keep_rows", False)
        texts = features.scan(
            self._noted(self._labelled(labels)) if keeps else self._labelled(labels)
        )
        _check_repeated(self.data, labels)
        name = Path(self.data).name
        if training.division is None:
            return Rows(self._fit(training, texts, labels, name), Part.ALL, None, None)
        is_test = _choose_test_rows(labels, *training.division)
        for_test, for_training = texts.divide(is_test)
        if keeps:
            self.beginnings[:] = [self.beginnings[row] for row in (~is_test).nonzero()[0].tolist()]
        own = [names for names, test in zip(labels, is_test, strict=True) if not test]
        train = self._fit(training, for_training, own, f"{name}/train")
        kept = [names for names, test in zip(labels, is_test, strict=True) if test]
        test = as_dataset(kept, features.transform(for_test), f"{name}/test")
        return Rows(train, Part.ALL, test, None, is_test)

    def _labelled(self, labels: list[list[str]]) -> Iterator[dict[str, list[Any]]]:
        """Yield the rows that have labels, some at a time; adds their labels to ``labels``."""
        n_rows = 0
        vectors = None if self.reading.vectors is None else VectorFile(self.reading.vectors)
        beside = {"categories": self.features.categories, "numbers": self.features.numbers}
        for table in self.reading.iterate(self.data, needs_labels=True, **beside):
            if not n_rows:
                for text in table.found:
                    self.say("found", text)
            n_rows += len(table)
            found = table.labels or []
            known = [row for row, names in enumerate(found) if names]
            labels += [found[row] for row in known]
            columns = (table if len(known) == len(table) else table.take(known)).columns
            # Those of rows without labels are passed over.
            yield (
                columns
                if vectors is None
                else add_vectors(columns, vectors.take(len(table))[known])
            )
        if vectors is not None:
            vectors.finish()
        if not labels:
            raise InputError(f"{self.data}: no row has a label; there is nothing to learn from.")
        if len(labels) < n_rows:
            left = count(n_rows - len(labels), "row")
            self.say("note", f"{left} without labels left out; rmls suggest can label them")

    def _noted(self, chunks: Iterator[dict[str, list[Any]]]) -> Iterator[dict[str, list[Any]]]:
        """Pass rows on and note how their texts begin."""
        from rmls.models.ranker.kept_rows import text_beginning

        beside = (*(self.features.categories or ()), *(self.features.numbers or ()))
        for columns in chunks:
            fields = [cells for name, cells in columns.items() if name not in beside]
            self.beginnings.extend(text_beginning(row) for row in zip(*fields, strict=True))
            yield columns

    def _fit(
        self, training: Training, texts: ScannedTexts, labels: list[list[str]], name: str
    ) -> Dataset:
        features, named = self.features, self._name(training.model, labels)
        X = features.fit_transform(texts, names=() if named is None else named.texts)
        if not X.nnz:
            raise InputError(f"{self.data}: the texts hold no words to learn from.")
        language = f", {features.language_} word endings removed" if features.language_ else ""
        roles = features.column_roles_
        if features.fields_ != ():
            self.say("words", f"{features.n_words_:,} different{language}")
        if roles.all:
            n_beside = features.n_terms_ - features.n_words_
            self.say("beside", f"{count(n_beside, 'feature')} of {', '.join(map(str, roles.all))}")
        if features.n_dense_:
            self.say("vectors", f"{features.n_dense_} numbers a row")
        if named is None:
            return as_dataset(labels, X, name)
        from rmls.datasets import Dataset

        training.fit_with["label_text"] = named.words(features)
        return Dataset(X, named.Y, label_names=list(map(str, named.space.names)), name=name)

    def _name(self, model: Any, labels: list[list[str]]) -> NamedLabels | None:
        """Return the labels with what they are called, where somebody learns from it."""
        from rmls.models import RMLSRanker
        from rmls.models.text.naming import name_labels, other_names

        if self.names.unused or not isinstance(model, RMLSRanker):
            return None
        named = name_labels(labels, label_text=self.names.read_for(type(model), self.say))
        if named is not None and self.names.file is not None:
            self.called.update(other_names(named.called))
            for text in named.called.notes:
                self.say("note", text)
            others = count(named.called.n_others, "label")
            if named.called.n_others:
                self.say("names", f"{others} without rows can be suggested by their names")
        return named

    def measure(self, model: Any, rows: Rows) -> None:
        """Print a review of the model on rows that it had not seen, and write it as a page."""
        from rmls.cli.train.report import report

        if self.reports and (rows.test is not None or _held_out_rows(model)):
            report(self, model, rows)

    @property
    def page(self) -> Path:
        """Where the review is written: beside the model."""
        return self.output.with_name(f"{self.output.name}.html")

    def next_steps(self, training: Training, rows: Rows) -> Iterator[tuple[str, str]]:
        """Yield what to do now, as title and text."""
        folder = quote(str(self.output))
        text = "" if self.features.fields_ == () else '"a text", or '
        vectors = "" if self.features.vectors is None else " --features FILE.npy"
        yield "next", f"rmls suggest {folder} {text}--input FILE{vectors}"
        if self.reports and rows.test is None and not _held_out_rows(training.model):
            yield "note", "every row was trained on; --test-share 0.2 keeps some for a report"

    def finished(self, model: Any) -> Any:
        """Return the model that takes texts, from one that takes their numbers."""
        from rmls.models.text.text_ranker import TextRanker

        if self.beginnings:
            from rmls.models.text.why import keep_texts

            keep_texts(model, self.beginnings)
        return TextRanker.assemble(
            self.features, model, use_names=not self.names.unused, names=self.called
        )


def _check_page(run: TextRun) -> None:
    """Refuse, before training, a page that stands where the report would and is none."""
    if not run.reports or run.overwrite or not run.page.exists():
        return
    if run.page.is_file():
        with open(run.page, "rb") as file:
            if PAGE_MARK in file.read(4096):
                return
    raise InputError(
        f"{run.page} exists and is no report; choose another MODEL, or give --overwrite or "
        "--no-report."
    )


def _held_out_rows(model: Any) -> bool:
    """Tell whether a model was judged on training rows before it learned from them."""
    return getattr(model, "_held_out", None) is not None


def _check_repeated(data: str, labels: list[list[str]]) -> None:
    """Refuse a column of names or sentences that was taken for the labels."""
    if len(labels) < MANY_ROWS:
        return
    seen: set[str] = set()
    for names in labels:
        if not seen.isdisjoint(names):
            return
        seen.update(names)
    raise InputError(
        f"{data}: none of the {len(seen):,} labels stands in two rows; name their column with "
        "--labels, or what parts them with --separator."
    )


def _choose_test_rows(labels: list[list[str]], share: float, seed: int) -> NDArray[np.bool_]:
    from rmls.core.labels import read_labels
    from rmls.imbalance import assign_folds

    _, Y = read_labels(labels)
    chosen: NDArray[np.bool_] = assign_folds(Y, [1 - share, share], random_state=seed) == 1
    return chosen


def train_on_texts(
    run: TextRun, estimator: Any, given: list[Given], *, paper: bool, test_share: float | None
) -> None:
    """Train an estimator on the words of a table; the model takes texts."""
    from rmls.cli.shared.options import find_estimator

    if test_share is not None and not run.reports:
        raise InputError("--test-share keeps rows for a report; drop it or --no-report.")
    _check_page(run)
    if estimator.__name__ == "TextRanker":
        # The model is one in any case; this is what learns in it.
        estimator = find_estimator("RMLSRanker")
    features, rest = text_parameters(given)
    training = new_training(estimator, rest, paper=paper, test_share=test_share)
    # Rows of texts are weighted and of unit length.
    if getattr(training.model, "normalize", None) == "auto":
        training.model.set_params(normalize="none")
    run_training(replace(run, features=features), training)


def text_parameters(given: list[Given]) -> tuple[TextFeatures, list[Given]]:
    """Return the text features that were asked for, and the parameters that are none of theirs."""
    known = TextFeatures._options
    params = {}
    rest = []
    for entry in given:
        if entry.name in known and entry.name != "n_jobs":
            value = known[entry.name].read(entry.text)
            params[entry.name] = tuple(value) if isinstance(value, list) else value
            continue
        if entry.name == "n_jobs":
            params[entry.name] = known[entry.name].read(entry.text)
        rest.append(entry)
    features = TextFeatures(**params)
    features._check_options()
    return features, rest
