"""Write saved models of texts that later versions must still load, with what they answered.

Run it once for a version that is released, with that version on the path, and never again for
the same folder: ``python tests/tools/write_saved_texts.py tests/archive/texts_0_1``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "samples"))

from text_samples import COLUMNS, make_columns, make_texts

from rmls import RMLS, AveragedRMLS, RMLSRanker, TextRanker, review_model

BEST = 4
SMALL = {"n_components": 4, "max_iter": 3, "shortlist_size": 3, "random_state": 0}


def make_ranker(**options: Any) -> RMLSRanker:
    """Return the ranker of the small models."""
    return RMLSRanker(**{**SMALL, **options})


def fit_texts() -> dict[str, TextRanker]:
    """Return a small fitted model for every part that an archive of texts may have."""
    texts, labels = make_texts(60)
    names = {"sea": "fishing and boats", "tax": "taxes and levies"}
    rows, decided = make_columns(80)
    models = {
        "plain": TextRanker(make_ranker()).fit(texts, labels),
        "kept": TextRanker(make_ranker(keep_rows=True)).fit(texts, labels),
        "named": TextRanker(make_ranker()).fit(texts, labels, label_text=names),
        "pairs": TextRanker(make_ranker(), pairs=True, characters=(3, 4)).fit(texts, labels),
        "columns": TextRanker(make_ranker(), **COLUMNS).fit(rows, decided),
        "paper": TextRanker(RMLS(4, max_iter=3)).fit(texts, labels),
        "averaged": TextRanker(AveragedRMLS(RMLS(4, max_iter=3), n_estimators=2)).fit(
            texts, labels
        ),
    }
    measured = models["measured"] = TextRanker(make_ranker()).fit(texts, labels)
    measured.training_record_ = {"data": "made texts", "n_rows": len(texts)}
    measured.quality_record_ = review_model(measured, train=(texts, labels)).record
    live = models["live"] = TextRanker(make_ranker(keep_rows=True)).fit(texts, labels)
    live.add_labels(["harvest time"])
    live.rename_labels({"law": "justice"})
    return models


def ask(model: TextRanker, rows: Any) -> dict[str, Any]:
    """Return all that a model answers, as plain values."""
    suggested = [
        [[each.name, each.probability] for each in row] for row in model.suggest(rows, BEST)
    ]
    return {
        "suggested": suggested,
        "scores": model.decision_function(rows).tolist(),
        "sets": [sorted(row) for row in model.predict(rows)],
    }


def main(folder: Path) -> None:
    """Write all models and ``answers.json``."""
    texts, columns = make_texts(6, seed=1)[0], make_columns(6, seed=1)[0]
    answers = {}
    for case, model in fit_texts().items():
        model.save(folder / case)
        rows = columns if case == "columns" else texts
        record = getattr(model, "quality_record_", None)
        answers[case] = {
            "rows": rows,
            **ask(model, rows),
            "quality": None if record is None else record.as_dict(),
        }
    (folder / "answers.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
