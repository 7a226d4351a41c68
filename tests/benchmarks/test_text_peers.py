"""The comparison from raw text without any other system: files, cuts, a made-up one, the table."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from rmls.metrics import macro_f1

PARTS = ["catalogue", "environments", "exchange", "text", "text_exchange", "text_problems"]
PARTS += ["text_table", "text_adapters.contract"]
PARTS += ["text_adapters.annif_text", "text_adapters.fasttext_text"]

FAKE = """
import numpy as np
from exchange import Ranked
from text_adapters.contract import TextAdapter, best_cut, cut

class Fake(TextAdapter):
    distributions = ("numpy",)

    def __init__(self, threads, folder, way):
        super().__init__(threads, folder)
        self.way = way

    def train(self, problem):
        if self.way == "crash":
            raise ValueError("too many cooks")
        fit, held = problem.parts()
        self.order = np.argsort(-np.bincount(np.concatenate(problem.labels).astype(int)))
        self.cut = best_cut(self.rank(held[0], 5), held[1], len(problem.names))

    def rank(self, texts, k):
        best = self.order[:k].astype(np.int32)
        scores = np.tile(np.linspace(1, 0, len(best), dtype=np.float32), len(texts))
        return Ranked(np.arange(len(texts) + 1) * len(best), np.tile(best, len(texts)), scores)

    def decide(self, texts, ranked):
        return {"own": cut(ranked, *self.cut)}

    def model_bytes(self):
        return 1000

def make(threads, folder, **options):
    return Fake(threads, folder, **options)
"""


def test_a_system_never_sees_labels_of_test_rows(bench, tmp_path) -> None:
    data = bench.text_problems.read_data("generated")
    bench.text_exchange.write_problem(tmp_path / "problem.jsonl", data.problem)
    lines = (tmp_path / "problem.jsonl").read_text().splitlines()[1:]
    assert [set(json.loads(line)) for line in lines[450:]] == [{"text"}] * 150
    problem = bench.text_exchange.read_problem(tmp_path / "problem.jsonl")
    assert problem[:4] == data.problem[:4]
    fit, held = problem.parts()
    assert len(held[0]) == 45
    assert sorted(fit[0] + held[0]) == sorted(data.problem.texts)


def test_held_out_rows_take_the_place_of_test_rows(bench) -> None:
    data = bench.text_problems.read_data("generated")
    chosen = bench.text_problems.TextData.of_held_out(data)
    assert chosen.problem.test_texts == data.problem.parts()[1][0]
    assert not set(chosen.problem.texts) & set(data.problem.test_texts)
    assert chosen.truth.nnz == sum(map(len, data.problem.parts()[1][1]))


def test_the_macro_f_that_cuts_are_chosen_by_is_that_of_the_table(bench) -> None:
    rng = np.random.default_rng(0)
    n_rows, n_labels = 30, 7
    scores = rng.random((n_rows, n_labels)).astype(np.float32)
    order = np.argsort(-scores, axis=1)
    ranked = bench.exchange.Ranked(
        np.arange(n_rows + 1) * n_labels,
        order.ravel().astype(np.int32),
        np.take_along_axis(scores, order, axis=1).ravel(),
    )
    truth = [np.flatnonzero(rng.random(n_labels) < 0.3).tolist() for _ in range(n_rows)]
    dense = np.array([[label in row for label in range(n_labels)] for row in truth], int)
    contract = bench.contract
    for threshold, limit in ((0.5, 7), (0.0, 2), (0.8, 1)):
        place = np.argsort(order, axis=1)
        sets = (scores >= threshold) & (place < limit)
        found = contract.macro_f1(contract.cut(ranked, threshold, limit), truth, n_labels)
        assert found == pytest.approx(macro_f1(dense, sets.astype(int), only_occurring=True))
    best = contract.best_cut(ranked, truth, n_labels)
    assert contract.macro_f1(contract.cut(ranked, *best), truth, n_labels) >= found


def test_annif_gets_texts_with_line_breaks_and_gives_lists(bench, tmp_path) -> None:
    annif = bench.annif_text
    annif.write_documents(tmp_path / "rows.csv", ['two\nlines, "quoted"', "one"], [[3, 1], []])
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["text"] == 'two\nlines, "quoted"'
    assert rows[0]["subject_uris"].split() == [f"<{annif.SUBJECT}3>", f"<{annif.SUBJECT}1>"]
    results = [
        {"uri": f"{annif.SUBJECT}{label}", "score": score} for label, score in ((4, 0.2), (2, 0.7))
    ]
    line = json.dumps({"document_id": "1", "results": results})
    (tmp_path / "found.jsonl").write_text(f"{line}\n")
    ranked = annif.read_suggestions(tmp_path / "found.jsonl", 2)
    assert ranked.indptr.tolist() == [0, 0, 2]
    assert ranked.labels.tolist() == [2, 4]


def test_fasttext_gets_one_line_a_text(bench, tmp_path) -> None:
    path = tmp_path / "train.txt"
    bench.fasttext_text.write_lines(path, ["Tax (law),\nnow", "none"], [[5, 2], []])
    assert path.read_text() == "__label__5 __label__2 tax ( law ) , now\n"


def run_fake(bench, tmp_path: Path, way: str) -> dict:
    adapter = tmp_path / "fake.py"
    adapter.write_text(FAKE)
    peer = bench.catalogue.Peer("fake", adapter, options={"way": way})
    data = bench.text_problems.read_data("generated")
    options = Namespace(out=tmp_path, threads=1, timeout=600.0)
    home = bench.environments.Environment(sys.executable)
    result = bench.text.run_one(peer, data, home, options)
    return {**result, "system": "fake-seed1", "dataset": "generated", "data": data.title}


def test_a_run_ends_in_a_line_of_the_table(bench, tmp_path) -> None:
    result = run_fake(bench, tmp_path, "fine")
    other = {**result, "system": "fake-seed2"}
    failed = {**result, "system": "other", "failure": "not installed: no network"}
    table = bench.text_table.format_tables([result, other, failed])
    assert "| fake (2 seeds) | **." in table
    assert "* other: not installed: no network" in table
    figures = bench.text_table.figures(result)
    assert 0 < figures["macro-F"] < figures["P@1"] <= 1


def test_a_crash_is_a_sentence_beneath_the_table(bench, tmp_path) -> None:
    result = run_fake(bench, tmp_path, "crash")
    assert result["failure"] == "ValueError: too many cooks"
