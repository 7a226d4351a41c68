"""Models of texts that an earlier version saved still load, and answer as they did then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tolerances import assert_close

import rmls
from rmls.archive.layout import FORMAT_VERSION

HERE = Path(__file__).parent
SAVED = [folder.parent for folder in sorted(HERE.glob("texts_*/*/model.json"))]


def test_every_format_there_ever_was_has_saved_models() -> None:
    files = [*HERE.glob("saved_*/*/model.json"), *HERE.glob("texts_*/*/model.json")]
    found = {json.loads(file.read_text("utf-8"))["format_version"] for file in files}
    assert found == set(range(1, FORMAT_VERSION + 1))


def test_every_estimator_has_a_saved_model() -> None:
    from rmls.models import __all__ as names

    texts = " ".join((folder / "model.json").read_text("utf-8") for folder in SAVED)
    saved = {file.parent.name.partition("-")[0] for file in HERE.glob("saved_*/*/model.json")}
    inside = {name for name in names if f'"method": "{name}"' in texts}
    estimators = {name for name in names if name[0].isupper()}
    assert estimators - saved - inside == set()


@pytest.mark.parametrize("folder", SAVED, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_a_saved_model_of_texts_answers_as_it_did(folder: Path) -> None:
    stored = json.loads((folder.parent / "answers.json").read_text())[folder.name]
    model = rmls.load(folder)
    assert_close(model.decision_function(stored["rows"]), stored["scores"])
    assert [sorted(row) for row in model.predict(stored["rows"])] == stored["sets"]
    for found, wanted in zip(model.suggest(stored["rows"], 4), stored["suggested"], strict=True):
        assert [each.name for each in found] == [name for name, _ in wanted]
        assert_close([each.probability for each in found], [chance for _, chance in wanted])
    record = getattr(model, "quality_record_", None)
    assert (None if record is None else record.as_dict()) == stored["quality"]
