"""The card says what is known of a model, and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import rmls
from rmls.cli.app import app
from rmls.exchange import make_card

SAVED = Path(__file__).parents[1] / "archive" / "texts_0_1"


def header_of(card: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load(card.split("---")[1])


def test_a_measured_model_shows_its_figures_by_group() -> None:
    model = rmls.load(SAVED / "measured")
    card = make_card(model, repo="me/topics", license="cc0-1.0")
    record = model.quality_record_
    for figure in record.figures:
        assert f"{figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f})" in card
    for group in record.groups:
        recall = group.scores.recall
        shown = "–" if recall is None else f"{recall:.3f}"
        (line,) = [line for line in card.splitlines() if line.startswith(f"| {group.group} |")]
        assert shown in line
    assert 'rmls.load("hf://me/topics")' in card
    assert "made texts" in card
    assert "The model: cc0-1.0." in card
    assert "95% interval" in card


def test_the_header_is_read_as_it_is_meant() -> None:
    model = rmls.load(SAVED / "measured")
    header = header_of(make_card(model, repo="me/on: off", license="no"))
    # A word that YAML takes for a truth value, and a name with a colon.
    assert header["license"] == "no"
    (entry,) = header["model-index"]
    assert entry["name"] == "on: off"
    (result,) = entry["results"]
    figures = {each["type"]: each["value"] for each in result["metrics"]}
    assert figures["P@1"] == model.quality_record_.figures[0].value
    assert header["pipeline_tag"] == "text-classification"


def test_what_is_not_known_is_said() -> None:
    card = make_card(rmls.load(SAVED / "plain"))
    assert "**Not measured**" in card
    assert "**No licence was given for this model**" in card
    assert "model-index" not in card
    assert "license" not in header_of(card)


def test_kept_rows_are_named() -> None:
    assert "beginnings of their texts" in make_card(rmls.load(SAVED / "kept"))
    assert "beginnings of their texts" not in make_card(rmls.load(SAVED / "plain"))


def test_names_cannot_write_into_the_card() -> None:
    names = [["a|b](http://x) <script>\n# heading"], ["plain"]]
    X = [[1.0, 0.0], [0.0, 1.0]] * 10
    model = rmls.RMLS(2, max_iter=2).fit(X, names * 10)
    model.training_record_ = {"data": "x\n---\nlicense: mit | <b>"}
    card = make_card(model)
    assert card.count("\n---\n") == 1
    assert "<b>" not in card
    assert "<script>" not in card


def test_the_command_prints_it_or_writes_it(tmp_path: Path) -> None:
    source, target = str(SAVED / "measured"), tmp_path / "README.md"
    told = CliRunner().invoke(app, ["card", source, "--license", "cc0-1.0"])
    assert told.exit_code == 0
    assert told.stdout.startswith("---\n")
    assert CliRunner().invoke(app, ["card", source, "-o", str(target)]).exit_code == 0
    assert CliRunner().invoke(app, ["card", source, "-o", str(target)]).exit_code == 2
    assert target.read_text("utf-8").startswith("---\n")
