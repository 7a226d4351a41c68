"""Training from a store of rows that texts were turned into: the model takes texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Any

from rmls.cli.shared.texts import Names
from rmls.cli.train.run import Rows, Run, Training
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.features import TextFeatures


@dataclass(frozen=True)
class StoreRun(Run):
    """One call of `rmls train` with a store that was made of texts.

    Attributes
    ----------
    features : TextFeatures
        Those that made the rows.
    names : Names
    """

    features: TextFeatures | None = None
    names: Names = field(default_factory=Names)

    def load(self, training: Training) -> Rows:
        """Return the rows, and tell the model what the labels are called."""
        rows = super().load(training)
        # Rows of texts are weighted and of unit length.
        if getattr(training.model, "normalize", None) == "auto":
            training.model.set_params(normalize="none")
        from rmls.models import RMLSRanker
        from rmls.models.text.naming import name_labels

        if self.names.unused or not isinstance(training.model, RMLSRanker):
            return rows
        text = self.names.read_for(type(training.model), self.say)
        named = name_labels(rows.train.Y, rows.train.label_names, text)
        if named is None:
            return rows
        assert self.features is not None
        training.fit_with["label_text"] = named.words(self.features)
        if named.called.n_others:
            others = count(named.called.n_others, "label")
            self.say("names", f"{others} without rows can be suggested by their names")
        wider = rows.train.renamed(named.Y, list(map(str, named.space.names)))
        return rows._replace(train=wider)

    def finished(self, model: Any) -> Any:
        """Return the model that takes texts, from one that takes their numbers."""
        from rmls.models.text.text_ranker import TextRanker

        assert self.features is not None
        return TextRanker.assemble(self.features, model, use_names=not self.names.unused)

    def next_steps(self, training: Training, rows: Rows) -> Iterator[tuple[str, str]]:
        """Yield what to do now, as title and text."""
        folder = quote(str(self.output))
        yield "next", f'rmls suggest {folder} "a text", or --input FILE'
        if rows.test is None and rows.others is None:
            test = f"rmls convert TEST TEST-STORE --store --features-of {folder}"
            yield "note", f"every row was trained on; {test} makes rows to evaluate"
