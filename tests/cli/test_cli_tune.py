"""`rmls tune`: a search, then a training with what it chose."""

from __future__ import annotations

import json

import pytest
from text_samples import write_csv

import rmls

QUICK = ("--set", "n_components=4", "--set", "max_iter=2", "--jobs", "1")


def test_a_table_of_texts_becomes_a_model(run, tmp_path):
    source = write_csv(tmp_path / "tickets.csv")
    given = ("-o", tmp_path / "m", "--metric", "p@1", "--minutes", "0.01", *QUICK)
    result = run("tune", source, *given, "--json", "--html", tmp_path / "tuned.html")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout[result.stdout.index("{\n") :])
    assert found["params"] == {}
    assert found["trials"][0]["name"] == "the defaults"
    model = rmls.load(tmp_path / "m")
    assert model.training_record_["tuning"]["reason"] == found["reason"]
    assert model.n_samples_ == 60
    assert model.estimator_.n_components == 4
    assert (tmp_path / "m.tune" / "search.json").is_file()
    assert "What was tried" in (tmp_path / "tuned.html").read_text("utf-8")


@pytest.mark.slow
def test_numbers_are_tuned_and_the_choice_is_trained(run, data_file, tmp_path, monkeypatch):
    from rmls.tuning import choices

    monkeypatch.setattr(choices, "OF_RANKER", (choices.Arm({"max_iter": 40}),))
    given = ("-o", tmp_path / "m", "--metric", "macro_f1", "--minutes", "5", *QUICK)
    result = run("tune", data_file, *given)
    assert result.exit_code == 0, result.stderr
    assert "trial     max_iter=40" in result.stderr
    model = rmls.load(tmp_path / "m")
    chosen = model.training_record_["tuning"]["params"]
    assert model.get_params().items() >= chosen.items()
    # The test rows of the file were never looked at.
    assert model.training_record_["tuning"]["n_rows"] == model.n_samples_ == 240
    again = run("tune", data_file, *given, "--overwrite")
    assert "Chosen:" in again.stdout


def test_wrong_inputs(fails, data_file, model_dir, tmp_path):
    out = ("-o", tmp_path / "m")
    assert "cannot be tuned for" in fails("tune", data_file, *out, "--metric", "recall@5")
    assert "--overwrite" in fails("tune", data_file, "-o", model_dir)
    assert "--minutes must be" in fails("tune", data_file, *out, "--minutes", "0")
    assert "holds numbers" in fails("tune", data_file, *out, "--numbers", "year")
