"""A notebook that is really run: what its cells show is HTML, and progress moves in place."""

from __future__ import annotations

import os

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

pytestmark = pytest.mark.slow

CELLS = (
    """
from rmls import RMLSRanker, TextRanker
texts = ["tax on sugar", "fish in the sea", "tax on salt", "sea fishing"] * 5
labels = [["tax"], ["sea"], ["tax"], ["sea"]] * 5
model = TextRanker(RMLSRanker(8, verbose=1)).fit(texts, labels)
""",
    "model",
    "model.suggest(texts[:2])",
    "model.rank(texts[:2])",
    "model.explain(texts[0], 'tax')",
)


def test_cells_show_html_and_progress_is_one_output() -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    kernel = nbclient.NotebookClient(book, timeout=None, kernel_name="python3")
    # The kernel is a process of its own, which must find this package.
    kernel.execute(env=dict(os.environ))
    first, *others = book.cells
    shown = [output for output in first.outputs if output.output_type == "display_data"]
    assert len(shown) == 1
    assert "rmls-shown" in shown[0].data["text/html"]
    assert "100%" in shown[0].data["text/plain"]
    for cell, word in zip(
        others, ("TextRanker", "Suggestions", "Ranking of 2", "sugar"), strict=True
    ):
        assert word in cell.outputs[-1].data["text/html"]
