"""Models that an earlier version saved still load, and answer as they did then."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tolerances import assert_close, assert_same_ranking
from write_saved_models import BEST, plain

import rmls
from rmls.core.ranking import Ranking

VERSIONS = sorted(Path(__file__).parent.glob("saved_*"))
FOLDERS = [folder.parent for version in VERSIONS for folder in sorted(version.glob("*/model.json"))]


@cache
def read_answers(version: Path) -> dict[str, Any]:
    return json.loads((version / "answers.json").read_text())


def test_every_saved_model_has_its_answers() -> None:
    assert VERSIONS
    for version in VERSIONS:
        saved = {folder.name for folder in FOLDERS if folder.parent == version}
        assert saved == set(read_answers(version)["answers"])
        assert len(saved) > 30


@pytest.mark.parametrize(
    "folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}"
)
def test_a_model_saved_before_answers_as_it_did(folder: Path) -> None:
    stored = read_answers(folder.parent)
    X, wanted = np.array(stored["queries"]), stored["answers"][folder.name]
    model = rmls.load(folder)
    assert type(model).__name__ == folder.name.partition("-")[0]
    assert_close(model.decision_function(X), wanted["scores"])
    ranking = Ranking(
        np.array(wanted["indptr"]),
        np.array(wanted["labels"], np.int32),
        np.array(wanted["ranked"], np.float32),
        model.label_counts_.size,
    )
    assert_same_ranking(model.rank(X, BEST), ranking)
    sets = model.predict(X)
    if isinstance(sets, list):
        # Lists of names are best first now; as sets they are what they were.
        sets = [sorted(row) for row in sets]
    assert plain(sets) == wanted["sets"]
    assert hasattr(model, "predict_proba") == ("probabilities" in wanted)
    if "probabilities" in wanted:
        assert_close(model.predict_proba(X), wanted["probabilities"])
