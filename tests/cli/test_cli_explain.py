"""`rmls explain`: why a label, in the terminal, as JSON and as a page."""

from __future__ import annotations

import json
import re

import pytest
from text_samples import write_csv

import rmls

TEXT = "The levy on fishing boats; a tax."


def by_probability(found):
    return sorted(found, key=lambda each: -each.probability)


def figures(text: str, title: str) -> dict[str, float]:
    """The rows of a table by their names."""
    lines = text.split(title)[1].splitlines()[2:]
    found = {}
    for line in lines:
        name, _, number = line.rstrip().rpartition("  ")
        if not name:
            break
        found[name.strip()] = float(number)
    return found


def test_the_best_labels_are_explained_and_parts_add_up(text_model, run):
    result = run("explain", text_model, TEXT, "-k", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    best = by_probability(rmls.load(text_model).explain(TEXT, k=2))
    sections = result.stdout.split("Probability")
    assert len(sections) == 3
    assert sections[0].rstrip().endswith(str(best[0].label))
    for text, expected in zip(sections[1:], best, strict=True):
        parts = figures(text, "Parts that add up to the score")
        score = parts.pop("score")
        assert score == pytest.approx(expected.score, abs=6e-4)
        assert sum(parts.values()) == pytest.approx(score, abs=6e-4 * len(parts))
        words = figures(text, "Words")
        assert words["levy"] == pytest.approx(dict(expected.top_words)["levy"], abs=6e-4)
    assert "\x1b" not in result.stdout


def test_a_label_is_explained_whether_suggested_or_not(text_model, run):
    result = run("explain", text_model, TEXT, "--label", "law", "--json")
    (found,) = json.loads(result.stdout)
    assert found["label"] == "law"
    assert sum(found["parts"].values()) == pytest.approx(found["score"], abs=1e-5)
    for word in found["words"]:
        assert TEXT[word["start"] : word["end"]] == word["word"]


def test_words_for_a_label_are_green_and_those_against_it_red(text_model, run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = run("explain", text_model, TEXT, "--label", "tax").stdout
    assert re.search(r"\x1b\[[0-9;]*(32|42)m(levy|tax)\x1b", shown)
    assert re.search(r"\x1b\[[0-9;]*(31|41)m(fishing|boats)\x1b", shown)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = run("explain", text_model, TEXT, "--label", "tax").stdout
    assert not re.search(r"\x1b\[[0-9;]*[34][0-7]m", plain)
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == re.sub(r"\x1b\[[0-9;]*m", "", plain)


def test_the_page_marks_words_and_holds_nothing_foreign(text_model, run, tmp_path):
    page = tmp_path / "why.html"
    text = "<script>alert(1)</script> the levy & fishing boats"
    result = run("explain", text_model, text, "--label", "tax", "--html", page)
    assert result.exit_code == 0
    content = page.read_text("utf-8")
    assert "<script>alert" not in content
    assert re.search(r'<mark class="for level\d" title="\+\d\.\d+">levy</mark>', content)
    assert re.search(r'<mark class="against level\d" title="-\d\.\d+">', content)
    assert "Content-Security-Policy" in content
    assert not re.search(r'(src|href)="https?:', content)
    again = run("explain", text_model, TEXT, "--html", page)
    assert again.exit_code == 2
    assert "exists; choose another name or give --overwrite" in again.stderr


def test_training_rows_are_shown_where_the_model_keeps_them(text_model, run, tmp_path):
    table = write_csv(tmp_path / "rows.csv", 120)
    options = ("--keep-rows", "--quiet", "--no-report")
    assert run("train", table, "-o", tmp_path / "model", *options).exit_code == 0
    shown = run("explain", tmp_path / "model", TEXT, "--label", "tax").stdout
    assert "Training rows with the label" in shown
    model = rmls.load(tmp_path / "model")
    nearest = model.similar_rows(TEXT, "tax", 3)
    assert all(each.text and "tax" in each.labels for each in nearest)
    assert " ".join(nearest[0].text.split()[:4]) in shown
    assert "Training rows" not in run("explain", text_model, TEXT).stdout


def test_rows_that_are_kept_for_a_test_are_not_in_the_model(run, tmp_path):
    table = write_csv(tmp_path / "rows.csv", 120)
    options = ("--keep-rows", "--test-share", "0.25", "--quiet")
    assert run("train", table, "-o", tmp_path / "model", *options).exit_code == 0
    kept = rmls.load(tmp_path / "model").estimator_._kept_rows
    assert len(kept.numbers) <= 90
    # The text beside a row is its own: it holds the words that the row counts.
    model = rmls.load(tmp_path / "model")
    for number in range(0, len(kept.numbers), 9):
        text = kept._text_of(number)
        title, body = text.split(" ", 1)
        own = model.features_.transform({"title": [title], "body": [body]})
        assert abs(own - kept.X[number]).max() < 1e-6


def test_text_comes_from_standard_input_with_a_dash(text_model, run):
    found = run("explain", text_model, "-", "--json", given=TEXT.encode())
    assert found.exit_code == 0, found.stderr
    assert [each["label"] for each in json.loads(found.stdout)] == [
        each.label for each in by_probability(rmls.load(text_model).explain(TEXT, k=3))
    ]


def test_bad_questions_are_one_sentence(text_model, model_dir, run):
    for arguments, message in (
        ((text_model, TEXT, "--label", "taxi"), "no label 'taxi'; did you mean 'tax'?"),
        ((text_model, "  "), "the text is empty; give one with words in it."),
        ((model_dir, TEXT), "was trained on features, not on texts"),
        ((text_model, TEXT, "-k", "0"), "--top must be a whole number from 1"),
        ((text_model / "nothing", TEXT), "nothing"),
    ):
        result = run("explain", *arguments)
        assert result.exit_code == 2
        assert message in result.stderr, result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


def test_a_model_that_is_no_ranker_is_told(run, tmp_path):
    table = write_csv(tmp_path / "rows.csv")
    arguments = ("--method", "KNN", "-o", tmp_path / "model", "--quiet", "--no-report")
    assert run("train", table, *arguments).exit_code == 0
    result = run("explain", tmp_path / "model", TEXT)
    assert result.exit_code == 2
    assert "scores of KNN cannot be explained; RMLSRanker explains its own." in result.stderr
    kept = run("train", table, *arguments, "--keep-rows", "--overwrite")
    assert "--keep-rows: KNN has no parameter 'keep_rows'" in kept.stderr


def test_unknown_words_are_told(text_model, run):
    result = run("explain", text_model, "zxcvb")
    assert result.exit_code == 0
    assert "the model knows no word of the text" in result.stderr
