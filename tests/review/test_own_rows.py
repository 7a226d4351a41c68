"""A review of the training rows that a model was judged on before it learned from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from review_samples import N_TOPICS, topic_table

import rmls
from rmls import RMLS, RMLSRanker, TextRanker, review_model
from rmls.core.errors import InputError
from rmls.datasets.tables import TextTable
from rmls.review import Review
from rmls.review.own_rows import read_own_rows


def fit(table: TextTable, **options: Any) -> TextRanker:
    return TextRanker(RMLSRanker(16, max_iter=5, **options)).fit(table.texts, table.labels)


def with_mistakes(n_rows: int) -> tuple[TextTable, dict[int, str]]:
    """Return a table in which the last label of some rows is replaced by a wrong one."""
    table, generator = topic_table(n_rows, seed=1), np.random.default_rng(0)
    assert table.labels is not None
    planted = {}
    for row in generator.choice(n_rows, n_rows // 30, replace=False).tolist():
        others = [f"label {t}" for t in range(N_TOPICS) if f"label {t}" not in table.labels[row]]
        planted[row] = str(generator.choice(others))
        table.labels[row] = [*table.labels[row][:-1], planted[row]]
    return table, planted


@pytest.fixture(scope="module")
def judged() -> tuple[TextTable, dict[int, str], Review]:
    table, planted = with_mistakes(900)
    return table, planted, review_model(fit(table), train=table)


def test_every_row_is_judged_by_a_model_that_learned_from_the_others(judged: Any) -> None:
    _, _, review = judged
    assert (review.n_train, review.n_held_out, review.n_judges) == (900, 900, 3)
    assert review.quality.methods == ("TextRanker", "one-vs-rest SVM")
    assert 0.9 < review.quality.values["TextRanker", "P@1", "all"].value < 1.0
    page = review.html()
    assert "judged on each of them by one of 3 models that learned from the others" in page
    assert not any("Train the model that you will use" in step for step in review.advice)


def test_mistakes_of_the_own_table_are_found_under_their_row_numbers(judged: Any) -> None:
    table, planted, review = judged
    found = review["mistaken_label"]
    assert found is not None
    hits = len(set(found.rows) & set(planted))
    assert hits / len(planted) > 0.8
    assert hits / len(found.rows) > 0.8
    for number, text, *_, label, _ in found.examples:
        row = int(number) - 1
        assert table.texts[row][0].startswith(text.rstrip(" …"))
        assert label in table.labels[row]
        assert planted.get(row, label) == label


def test_rows_that_were_held_out_for_a_while_are_judged_too() -> None:
    table, _ = with_mistakes(300)
    review = review_model(fit(table, calibration_folds=0), train=table, baseline="knn")
    assert (review.n_train, review.n_held_out, review.n_judges) == (300, 30, 1)
    assert "judged on 30 of them before it learned from these" in review.html()


@pytest.mark.parametrize("folds", [0, 3])
def test_neither_side_has_seen_a_copy_of_a_row_that_is_judged(folds: int) -> None:
    """Labels are tossed and every row is given twice: a copy would tell them all."""
    table, generator = topic_table(150, seed=3), np.random.default_rng(4)
    labels = [[f"label {generator.integers(N_TOPICS)}"] for _ in range(150)]
    twice = TextTable(table.fields, table.texts * 2, labels * 2)
    model = fit(twice, calibration_folds=folds)
    rows, trained = read_own_rows(model, twice)
    for part, mask in enumerate(trained.masks):
        inside = rows.places[rows.part_of == part] % 150
        assert not np.isin(np.flatnonzero(mask) % 150, inside).any()
        assert len(inside) * 2 + np.count_nonzero(mask) == 300
    review = review_model(model, train=twice, baseline="knn")
    for method in review.quality.methods:
        assert review.quality.values[method, "P@1", "all"].value < 0.5
    # Two rows of the same text and labels are one: nothing stands on both sides.
    assert review["leaked_text"] is None


def test_texts_that_the_judge_has_nearly_seen_are_found() -> None:
    table = topic_table(200, seed=5)
    assert table.labels is not None
    # The same texts with one label more: other rows, which may be on the other side.
    copies = table.take(range(40))
    copies.labels = [[*row, "copy"] for row in copies.labels or []]
    table.extend(copies)
    model = fit(table)
    rows, _ = read_own_rows(model, table)
    found = review_model(model, train=table, baseline=None)["leaked_text"]
    part = np.empty(240, np.int64)
    part[rows.places] = rows.part_of
    apart = [row for row in range(40) if part[row] != part[200 + row]]
    assert found is not None
    assert sorted(found.rows) == sorted([*apart, *(200 + row for row in apart)])
    assert 10 < len(apart) < 40


def test_a_label_whose_only_row_is_held_out_is_not_said_to_be_missed_by_the_model() -> None:
    table = topic_table(200, seed=6)
    assert table.labels is not None
    for row in range(10):
        table.labels[row].append(f"once {row}")
    review = review_model(fit(table), train=table, baseline=None)
    found = review["unknown_label"]
    assert found is not None
    assert set(found.labels) == {f"once {row}" for row in range(10)}
    assert min(each.low for each in review.recall) > 0


@pytest.mark.parametrize("knows_more", [False, True])
def test_names_find_labels_that_no_row_is_left_of_only_where_others_may_come(
    knows_more: bool,
) -> None:
    table = topic_table(400, seed=8)
    assert table.labels is not None
    # Every row has a label of its own, which its text calls by name.
    table.texts = [(f"{text} vessel{row}",) for row, (text,) in enumerate(table.texts)]
    table.labels = [[*some, f"vessel{row}"] for row, some in enumerate(table.labels)]
    called = {label: label for some in table.labels for label in some}
    if knows_more:
        called["vessel400"] = "vessel400"
    model = TextRanker(RMLSRanker(16, max_iter=5))
    model.fit(table.texts, table.labels, label_text=called)
    rows, _ = read_own_rows(model, table)
    found = rows.ranking.top(3).labels.reshape(-1, 3)
    is_left = rows.seen[rows.part_of[:, None], found] > 0
    assert (not is_left.all()) == knows_more


def test_a_model_without_rows_of_its_own_is_refused(tmp_path: Path) -> None:
    table = topic_table(60, seed=7)
    model = fit(table)
    with pytest.raises(InputError, match="give held-out rows, or all rows"):
        review_model(model)
    with pytest.raises(InputError, match="not the rows that the model was fitted to"):
        review_model(model, train=table.take(range(59)))
    with pytest.raises(InputError, match="not the rows that the model was fitted to"):
        review_model(model, train=table.take(range(59, -1, -1)))
    model.save(tmp_path / "m")
    with pytest.raises(InputError, match=r"RMLSRanker has no rows of its own .* not saved"):
        review_model(rmls.load(tmp_path / "m"), train=table)
    other = TextRanker(RMLS(8, max_iter=2)).fit(table.texts, table.labels)
    with pytest.raises(InputError, match="RMLS has no rows of its own"):
        review_model(other, train=table)


def test_the_summary_fits_on_a_screen(judged: Any, capsys: Any) -> None:
    from rich.console import Console

    _, _, review = judged
    review.print_summary(Console(width=80, highlight=False, markup=False), "tickets.csv")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Review of tickets.csv"
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("The best label is right in 9") for line in lines)
