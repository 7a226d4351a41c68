"""`rmls train --cluster` and `rmls suggest --cluster`."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import numpy as np
import pytest
from cli_samples import invoke as run
from text_samples import make_texts

import rmls
from rmls.cluster.keeping import Keeper


@pytest.fixture
def table(tmp_path):
    texts, labels = make_texts(300, seed=1)
    path = tmp_path / "texts.jsonl"
    rows = zip(texts, labels, strict=True)
    path.write_text("\n".join(json.dumps({"text": text, "labels": own}) for text, own in rows))
    return path


class Killed(BaseException):
    """What no command expects."""


def test_a_killed_training_is_resumed_and_cleans_up(table, tmp_path, monkeypatch):
    options = ("--components", 8, "--passes", 3, "--cluster", "local:2", "--no-report", "-q")
    assert run("train", table, "-o", tmp_path / "whole", *options).exit_code == 0
    assert not (tmp_path / "whole.parts").exists()
    put, n_kept = Keeper.put, []

    def die(self, name, arrays):
        n_kept.append(name)
        if len(n_kept) == 6:
            raise Killed
        put(self, name, arrays)

    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "put", die)
        with suppress(Killed):
            run("train", table, "-o", tmp_path / "model", *options)
    assert list((tmp_path / "model.parts").glob("*.npz"))
    result = run("train", table, "-o", tmp_path / "model", *options[:-1], "--resume")
    assert result.exit_code == 0, result.output
    assert re.search(r"resumed +\d parts of", result.output)
    assert not (tmp_path / "model.parts").exists()
    models = [rmls.load(tmp_path / name).estimator_._state()[1] for name in ("whole", "model")]
    assert all(np.array_equal(models[0][name], models[1][name]) for name in models[0])


def test_there_must_be_something_to_resume(table, tmp_path):
    result = run("train", table, "-o", tmp_path / "model", "--cluster", "local:2", "--resume")
    assert result.exit_code == 2
    assert "train without --resume" in " ".join(result.output.split())


def test_suggestions_of_a_cluster_are_those_of_one_machine(table, tmp_path):
    model = tmp_path / "model"
    assert run("train", table, "-o", model, "--passes", 2, "--no-report", "-q").exit_code == 0
    for source in (("-i", table), ("one text", "another text")):
        found = [
            run("suggest", model, *source, "--format", "csv", "-q", *more).stdout
            for more in ((), ("--cluster", "local:2"))
        ]
        assert found[0].count("\n") > 2
        assert found[0] == found[1]
