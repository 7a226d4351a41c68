"""The report at the end of `rmls train` on a table: of rows not seen, and never in the way."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from text_samples import make_texts

import rmls

FAST = ("--components", "8", "--passes", "3", "--jobs", "1")
RMLS = ("--method", "RMLS", *FAST)


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """Return a table whose every second row has no labels."""
    texts, labels = make_texts(60)
    lines = ["body,tags"]
    for text, names in zip(texts, labels, strict=True):
        lines += [f"{text},{'; '.join(names)}", "nobody has looked at this,"]
    path = tmp_path_factory.mktemp("report") / "tickets.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_a_model_of_all_rows_comes_with_a_report_of_rows_it_had_not_seen(tickets, run, tmp_path):
    result = run("train", tickets, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0, result.stderr
    assert rmls.load(tmp_path / "m").n_samples_ == 60
    assert "Review of tickets.csv" in result.stdout
    assert "trained on all 60 rows" in " ".join(result.stdout.split())
    assert "What to do next" in result.stdout
    assert len(result.stdout.splitlines()) <= 45
    assert f"wrote     {tmp_path / 'm.html'}: the whole report, with examples" in result.stderr
    # What to do now is the last thing that is said.
    assert result.stderr.splitlines()[-1].startswith("next      rmls suggest")
    assert "every row was trained on" not in result.stderr
    root = ElementTree.fromstring((tmp_path / "m.html").read_text("utf-8"))
    assert {section.get("id") for section in root.iter("section")} >= {"quality", "next"}


def test_the_figures_of_the_report_are_kept_with_the_model(tickets, run, tmp_path):
    result = run("train", tickets, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0, result.stderr
    kept = rmls.load(tmp_path / "m").quality_record_
    assert (kept.n_rows, kept.n_train, kept.n_judges) == (60, 60, 3)
    assert kept.baseline is not None
    assert sum(kept.labels.true) == sum(group.true for group in kept.groups) > 60
    figure = next(each for each in kept.figures if (each.metric, each.group) == ("P@1", "all"))
    assert f"{figure.value:.3f}" in result.stdout
    result = run("train", tickets, "-o", tmp_path / "n", *FAST, "--no-report")
    assert rmls.load(tmp_path / "n").quality_record_ is None


def test_a_model_that_another_training_put_there_keeps_its_own_figures(
    tickets, run, tmp_path, monkeypatch
):
    from rmls.cli.train import report

    made = report._review

    def replaced(*arguments):
        other = rmls.load(tmp_path / "m")
        other.training_record_ = {"by": "another"}
        other.save(tmp_path / "m")
        return made(*arguments)

    monkeypatch.setattr(report, "_review", replaced)
    result = run("train", tickets, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0, result.stderr
    found = rmls.load(tmp_path / "m")
    assert (found.training_record_, found.quality_record_) == ({"by": "another"}, None)


def test_rows_are_named_by_their_place_in_the_file(tickets, run, tmp_path):
    """Rows without labels are not learned, and count all the same."""
    lines = tickets.read_text("utf-8").splitlines()
    # Near copies of texts, with other labels: found on both sides of a split.
    extra = [line.split(",")[0] + ",odd" for line in lines[1:41:2]]
    source = tmp_path / "t.csv"
    source.write_text("\n".join([*lines, *extra]) + "\n", "utf-8")
    result = run("train", source, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0, result.stderr
    root = ElementTree.fromstring((tmp_path / "m.html").read_text("utf-8"))
    section = next(each for each in root.iter("section") if each.get("id") == "leaked-text")
    rows = [[cell.text for cell in row] for row in section.iter("tr")]
    assert rows[0] == ["held-out row", "text", "training row", "text there"]
    for number, text, other, _ in rows[1:]:
        words = text.rstrip(" …")
        assert source.read_text("utf-8").splitlines()[int(number)].startswith(words)
        assert source.read_text("utf-8").splitlines()[int(other)].startswith(words)


def test_other_methods_say_how_to_get_a_report(tickets, run, tmp_path):
    result = run("train", tickets, "-o", tmp_path / "m", *RMLS)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert not (tmp_path / "m.html").exists()
    assert "every row was trained on; --test-share 0.2 keeps some for a report" in result.stderr
    result = run("train", tickets, "-o", tmp_path / "n", *RMLS, "--test-share", "0.2")
    assert "48 training rows, 12 held-out rows" in result.stdout
    assert (tmp_path / "n.html").is_file()


def test_too_few_rows_are_no_ground_for_a_report(tickets, run, tmp_path):
    source = tmp_path / "few.csv"
    source.write_text("\n".join(tickets.read_text("utf-8").splitlines()[:30]), "utf-8")
    result = run("train", source, "-o", tmp_path / "m", *FAST)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "--test-share 0.2 keeps some for a report" in result.stderr


def test_a_report_can_be_left_out(tickets, run, fails, tmp_path):
    result = run("train", tickets, "-o", tmp_path / "m", *FAST, "--no-report")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "keeps some for a report" not in result.stderr
    assert not (tmp_path / "m.html").exists()
    both = fails("train", tickets, "-o", tmp_path / "n", "--no-report", "--test-share", "0.2")
    assert both == "--test-share keeps rows for a report; drop it or --no-report."


def test_quiet_writes_the_page_and_says_nothing(tickets, run, tmp_path):
    result = run("train", tickets, "-o", tmp_path / "m", *FAST, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")
    assert (tmp_path / "m.html").is_file()


def test_a_page_of_somebody_else_is_not_written_over(tickets, run, fails, tmp_path):
    page = tmp_path / "m.html"
    page.write_text("<title>My page</title>", "utf-8")
    sentence = fails("train", tickets, "-o", tmp_path / "m", *FAST)
    assert sentence.startswith(f"{page} exists and is no report")
    assert not (tmp_path / "m").exists()
    assert run("train", tickets, "-o", tmp_path / "m", *FAST, "--no-report").exit_code == 0
    assert page.read_text("utf-8") == "<title>My page</title>"
    assert run("train", tickets, "-o", tmp_path / "m", *FAST, "--overwrite").exit_code == 0
    first = page.read_text("utf-8")
    assert "Review of tickets.csv" in first
    # A report of ours makes room for the next one.
    (tmp_path / "m").rename(tmp_path / "old")
    assert run("train", tickets, "-o", tmp_path / "m", *FAST).exit_code == 0


def broken(*_, **__):
    raise RuntimeError("no figure adds up")


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_a_report_that_fails_loses_no_model(tickets, run, tmp_path, monkeypatch):
    monkeypatch.setattr("rmls.cli.train.report.review_rows", broken)
    result = run("train", tickets, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0
    assert "rmls: warning: no report (RuntimeError: no figure adds up" in result.stderr
    assert f"the model in {tmp_path / 'm'} is complete." in result.stderr
    assert "next      rmls suggest" in result.stderr
    assert not (tmp_path / "m.html").exists()
    assert run("suggest", tmp_path / "m", "taxes and revenue").exit_code == 0
    # One that was asked for is missed.
    asked = run("train", tickets, "-o", tmp_path / "n", *FAST, "--test-share", "0.2")
    assert asked.exit_code == 1
    assert run("suggest", tmp_path / "n", "taxes and revenue").exit_code == 0


def test_a_page_that_cannot_be_written_loses_no_model(tickets, run, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", str(tmp_path / "m.html"))

    monkeypatch.setattr("rmls.cli.train.report.write_text", full)
    result = run("train", tickets, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0
    assert "No space left on device); the model in" in result.stderr
    assert rmls.load(tmp_path / "m").n_samples_ == 60


def test_ctrl_c_during_the_report_keeps_the_model_and_says_so(tickets, run, tmp_path, monkeypatch):
    monkeypatch.setattr("rmls.cli.train.report.review_rows", interrupted)
    result = run("train", tickets, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 130
    kept = f"before the report was made; the model in {tmp_path / 'm'} is complete"
    assert f"stopped   {kept}" in result.stderr
    assert not (tmp_path / "m.html").exists()
    assert rmls.load(tmp_path / "m").n_samples_ == 60


def test_a_table_that_changes_meanwhile_is_reported_without_texts(
    tickets, run, tmp_path, monkeypatch
):
    monkeypatch.setattr("rmls.cli.train.report._labelled", lambda run: iter(()))
    result = run("train", tickets, "-o", tmp_path / "m", *FAST)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "m.html").is_file()
