"""What notebooks show: HTML in which nothing of the user's can be markup."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import rmls
from rmls import KNN, MostFrequent, RMLSRanker, TextRanker, check_table, compare
from rmls.core.ranking import Ranking
from rmls.core.show.fragments import Listed, grid, marked, shown_inside
from rmls.datasets.tables import TextTable
from rmls.imbalance import describe
from rmls.models.shared import progress
from rmls.models.shared.notebook_progress import NotebookLines

HOSTILE = "<script>alert(1)</script>"
TEXTS = [f"tax on sugar {HOSTILE}", "fish in the sea", "tax on salt", "sea fishing"] * 5
LABELS = [[HOSTILE, "tax"], ["sea"], ["tax"], ["sea", "a & b"]] * 5


class Shape(HTMLParser):
    """Tags of a piece of HTML, which must be closed in order, and its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += f" {data}"


def shape_of(thing: Any) -> Shape:
    found = Shape()
    found.feed(thing if isinstance(thing, str) else thing._repr_html_())
    found.close()
    assert found.open == []
    return found


@pytest.fixture(scope="module")
def model() -> TextRanker:
    return TextRanker(RMLSRanker(8)).fit(TEXTS, LABELS)


def things(model: TextRanker) -> dict[str, Any]:
    return {
        "ranking": model.rank(TEXTS[:3], 2),
        "suggestions": model.suggest(TEXTS[:3], k=2),
        "explanation": model.explain(TEXTS[0], HOSTILE),
        "explanations": model.explain(TEXTS[0], k=2),
        "of features": model.estimator_.explain(model.features_.transform(TEXTS[:1]), k=2),
        "statistics": describe(rmls.core.labels.read_labels(LABELS)[1], ["<b>", "a & b", "x", "y"]),
        "figures": rmls.evaluate(LABELS, model.predict(TEXTS)),
    }


def test_names_and_texts_are_never_markup(model: TextRanker) -> None:
    for name, thing in things(model).items():
        found = shape_of(thing)
        assert "script" not in found.tags, name
        assert found.tags <= {"div", "style", "strong", "table", "thead", "tbody", "tr", "th", "td",
                              "span", "p", "mark"}, name  # fmt: skip


def test_things_show_what_they_hold(model: TextRanker) -> None:
    found = {name: shape_of(thing).text for name, thing in things(model).items()}
    assert HOSTILE in found["suggestions"]
    assert "%" in found["suggestions"]
    assert "Ranking of 3 rows, 4 labels" in found["ranking"]
    assert "sugar" in found["explanation"]
    assert "classifier" in found["explanation"]
    assert "mark" in shape_of(model.explain(TEXTS[0], "tax")).tags
    assert "SCUMBLE" in found["statistics"]
    assert "example_f1" in found["figures"]


def test_lists_are_lists_as_before(model: TextRanker) -> None:
    suggestions = model.suggest(TEXTS[:2], k=1)
    assert isinstance(suggestions, list)
    assert suggestions == [list(row) for row in suggestions]
    assert isinstance(model.explain(TEXTS[0], k=2), list)
    assert Listed()._repr_html_() == "[]"


def test_long_rankings_are_cut_and_scores_stand_for_probabilities() -> None:
    ranking = Ranking.from_dense(np.random.default_rng(0).random((40, 30)))
    text = shape_of(ranking).text
    assert "and 30 more rows" in text
    assert "with scores" in text
    assert shape_of(ranking[:0]).text


def test_marked_pieces_stand_where_they_are() -> None:
    html = marked("a tax on salt", [(2, 5, 1.0), (9, 13, -0.5)], 1.0)
    assert ">tax</mark>" in html
    assert "+1.000" in html
    assert "-0.500" in html
    # Pieces that overlap, or lie behind what is shown, are left out.
    assert marked("abc", [(0, 2, 1.0), (1, 3, 1.0), (2, 9, 1.0)], 1.0).count("<mark") == 1
    assert grid(["a"], []).count("<td") == 0


def test_pages_stand_in_a_frame_where_nothing_runs() -> None:
    html = shown_inside('<p title="x">1 & 2</p><script>x</script>')
    found = shape_of(html)
    assert found.tags == {"iframe"}
    assert 'sandbox=""' in html
    assert "<script" not in html


def test_comparisons_and_checks_are_such_pages() -> None:
    one, other = (TextRanker(each, use_names=False).fit(TEXTS, LABELS)
                  for each in (MostFrequent(), KNN(1)))  # fmt: skip
    for thing in (
        compare(one, other, TEXTS, LABELS),
        check_table(TextTable(("text",), [(text,) for text in TEXTS], LABELS)),
    ):
        assert shape_of(thing).tags == {"iframe"}


def test_estimators_show_their_parameters() -> None:
    html = TextRanker(RMLSRanker(tail=1.25), pairs=True)._repr_html_()
    for part in ("TextRanker", "RMLSRanker", "1.25", "pairs"):
        assert part in html


# -- progress ------------------------------------------------------------------------------------


class Cell:
    """The output of a cell: what is shown in it, one after the other in the same place."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def __call__(self, bundle: Any, display_id: bool) -> Cell:
        assert display_id
        self.shown.append(bundle)
        return self

    def update(self, bundle: Any) -> None:
        self.shown.append(bundle)


def test_stages_are_lines_that_move_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell()
    monkeypatch.setattr(progress, "_make_lines", lambda: NotebookLines(cell))
    with progress.showing(True), progress.stage("first <b>") as first:
        first.tick(0.5, "half & half")
        first.tick(1.0)
    assert len(cell.shown) >= 3
    last = cell.shown[-1]._repr_mimebundle_()
    assert "first <b>" in shape_of(last["text/html"]).text
    assert "width:100%" in last["text/html"]
    assert last["text/plain"].startswith("first <b>")
    assert "100%" in last["text/plain"]
    assert "half & half" in last["text/plain"]


def test_an_interrupted_stage_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell()
    monkeypatch.setattr(progress, "_make_lines", lambda: NotebookLines(cell))
    with pytest.raises(KeyboardInterrupt), progress.showing(True), progress.stage("passes"):
        raise KeyboardInterrupt
    assert "interrupted" in cell.shown[-1].text


def test_outside_a_notebook_nothing_of_it_is_loaded() -> None:
    assert progress._make_lines() is None
