"""The peers' bench without any peer: conversions, runs of made-up peers, failures, the table."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from places import REPOSITORY
from scipy import sparse
from sklearn.model_selection import KFold

from rmls.core.ranking import Ranking
from rmls.datasets import Dataset, load, make_longtail
from rmls.metrics import precision_at_k
from rmls.models import MostFrequent

ADAPTERS = sorted((REPOSITORY / "benchmarks" / "peers" / "adapters").glob("*.py"))
PARTS = ["catalogue", "environments", "exchange", "execution", "problems", "scoring"]
PARTS += ["table", "run", "adapters.contract", "adapters.omikuji", "adapters.fasttext"]

FAKE = """
import os
import numpy as np
from adapters.contract import Adapter, rank_in_blocks

class Fake(Adapter):
    distributions = ("no-such-thing", "numpy")

    def __init__(self, threads, folder, way):
        super().__init__(threads, folder)
        self.way = way

    def train(self, data):
        if self.way == "crash":
            raise ValueError("too many cooks")
        if self.way == "abort":
            os.abort()
        self.counts = np.bincount(data[1].indices, minlength=data[1].shape[1])

    def predict(self, rows, k):
        return rank_in_blocks(lambda some: np.tile(self.counts, (some.shape[0], 1)), rows, k)

    def save(self, folder):
        (folder / "model").write_bytes(b"x" * 1000)

def make(threads, folder, **options):
    return Fake(threads, folder, **options)
"""


@pytest.fixture
def small() -> Dataset:
    """Rows without labels, without features and without both among a few others."""
    X = [[0, 2, 0], [1, 0, 3], [0, 0, 0], [4, 0, 0], [0, 0, 0]]
    return Dataset(X, [[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]])


def test_omikujis_file_holds_all_rows_that_say_something(bench, small, tmp_path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("".join(f"{line}\n" for line in bench.omikuji.xmc_lines(small.X, small.Y)))
    assert not any(line.endswith(" ") for line in path.read_text().splitlines())
    back = load(path)
    assert (small.X[:4] != back.X).nnz == 0
    assert (small.Y[:4] != back.Y).nnz == 0


def test_fasttexts_words_repeat_as_often_as_the_counts(bench, small) -> None:
    lines = bench.fasttext.feature_words(small.X)
    counts = [[line.split().count(f"f{j}") for j in range(3)] for line in lines]
    assert counts == small.X.toarray().astype(int).tolist()


def test_fasttext_spreads_other_values_and_drops_what_is_not_positive(bench) -> None:
    assert bench.fasttext.repeats([0.1, 0.5, 1.0, -1.0, 0.0]).tolist() == [1, 2, 4, 0, 0]
    assert bench.fasttext.repeats([3, 500]).tolist() == [3, 20]


def test_fasttexts_training_lines_name_the_labels(bench, small) -> None:
    lines = list(bench.fasttext.labelled_lines(small.X, small.Y))
    assert len(lines) == 3
    labels = [word for word in lines[1].split() if word.startswith("__label__")]
    assert bench.fasttext.label_numbers(labels) == [0, 1]


@pytest.mark.parametrize("k", [1, 3, 6, 7])
def test_all_ways_to_rank_agree(bench, monkeypatch, k) -> None:
    monkeypatch.setattr(bench.contract, "ROWS_AT_ONCE", 4)
    dense = np.random.default_rng(k).permutation(7 * 10).reshape(10, 7).astype(np.float32)
    wanted = Ranking.from_dense(dense, k)
    best = np.argsort(-dense, axis=1)[:, :k]
    pairs = [[(int(j), float(dense[i, j])) for j in best[i]] for i in range(10)]
    stored = np.zeros_like(dense)
    np.put_along_axis(stored, best, np.take_along_axis(dense, best, 1) + 1, axis=1)
    for found in (
        bench.contract.rank_in_blocks(lambda rows: rows, dense, k),
        bench.contract.rank_pairs(pairs),
        bench.contract.rank_sparse(sparse.csr_matrix(stored)),
    ):
        assert found.labels.tolist() == wanted.labels.tolist()
        assert found.indptr.tolist() == wanted.indptr.tolist()


def test_labels_that_a_tree_did_not_score_are_left_out(bench) -> None:
    scores = np.array([[0.0, 0.5, 0.7], [0.0, 0.0, 0.0]])
    found = bench.contract.rank_in_blocks(
        lambda rows: rows, scores, 3, labels=[4, 5, 6], unscored=0
    )
    assert found.labels.tolist() == [6, 5]
    assert found.indptr.tolist() == [0, 2, 2]


def test_a_problem_survives_the_exchange_and_hides_the_test_labels(bench, small, tmp_path) -> None:
    split = bench.problems.make_split("small", "given", "raw", small, small)
    split.write(tmp_path / "problem.npz", raw=False)
    back = bench.exchange.read_problem(tmp_path / "problem.npz")
    assert (back.X_test != small.X).nnz == (back.Y_train != small.Y).nnz == 0
    assert back.sample.tolist() == list(range(5))
    assert not any(name.startswith("Y_test") for name in np.load(tmp_path / "problem.npz"))


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_an_adapter_can_be_imported_without_its_peer_and_without_rmls(bench, path) -> None:
    module = importlib.import_module(f"adapters.{path.stem}")
    assert hasattr(module, "make") or path.stem in ("__init__", "contract")
    imported = {
        name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [*(alias.name for alias in node.names), getattr(node, "module", "")]
    }
    assert path.stem == "rmls_models" or "rmls" not in imported


def test_every_peer_has_an_adapter_and_a_pinned_recipe(bench) -> None:
    assert len(bench.catalogue.PEERS) >= 11
    for peer in bench.catalogue.PEERS.values():
        assert peer.adapter.is_file()
        assert "==" in str(bench.catalogue.RECIPES[peer.environment][0])


def test_peers_are_chosen_by_name_or_by_library(bench) -> None:
    chosen = [peer.name for peer in bench.catalogue.choose_peers(["pecos", "omikuji", "pecos-ovr"])]
    assert chosen == ["pecos-tree", "pecos-ovr", "omikuji"]
    with pytest.raises(SystemExit, match="unknown peer 'pecan'"):
        bench.catalogue.choose_peers(["pecan"])


def test_a_method_of_rmls_takes_parameters(bench) -> None:
    peer = bench.catalogue.rmls_method("RMLS:n_components=50,loss=squared,l2=0.1")
    wanted = {"n_components": 50, "loss": "squared", "l2": 0.1}
    assert peer.options == {"method": "RMLS", "parameters": wanted}


@pytest.fixture
def fake_pip(bench, monkeypatch) -> list[tuple[str, ...]]:
    """Replace venv and pip; a requirement named ``bad`` cannot be installed."""
    calls: list[tuple[str, ...]] = []

    def run_venv(base: str, home: Path) -> subprocess.CompletedProcess[str]:
        home.mkdir(parents=True)
        return subprocess.CompletedProcess([], 0, "", "")

    def run_pip(python: str, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        calls.append(arguments)
        output = "ERROR: No matching distribution found for bad\nnote: see above\n"
        return subprocess.CompletedProcess([], int("bad" in arguments), output)

    monkeypatch.setattr(bench.environments, "run_venv", run_venv)
    monkeypatch.setattr(bench.environments, "run_pip", run_pip)
    monkeypatch.setattr(bench.environments, "interpreters", lambda given: ["one", "two"])
    return calls


def test_an_environment_is_made_once_and_again_when_its_recipe_changes(
    bench, fake_pip, tmp_path
) -> None:
    recipe = bench.catalogue.recipe
    bad, good = recipe("bad"), recipe("first", "second --option")
    found = bench.environments.prepare("peer", (bad, good), tmp_path)
    assert found.python.startswith(str(tmp_path / "peer"))
    assert fake_pip == [("bad",), ("first",), ("second", "--option")]
    assert bench.environments.prepare("peer", (bad, good), tmp_path) == found
    assert len(fake_pip) == 3
    bench.environments.prepare("peer", (recipe("newer"),), tmp_path)
    assert fake_pip[3:] == [("newer",)]


def test_every_interpreter_is_tried_before_giving_up(bench, fake_pip, tmp_path) -> None:
    found = bench.environments.prepare("peer", (bench.catalogue.recipe("bad"),), tmp_path)
    assert found.failure == "ERROR: No matching distribution found for bad"
    assert fake_pip == [("bad",), ("bad",)]
    assert not (tmp_path / "peer").exists()
    assert "pip install bad" in (tmp_path / "peer.log").read_text()


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ("Traceback\n  File\nValueError: no good\n", "ValueError: no good"),
        ("      AttributeError: gone\n× Getting requirements\nnote: x", "AttributeError: gone"),
        ("a\nsrc.cc:1: fatal\nerror: command 'gcc' failed: 1\n", "error: command 'gcc' failed: 1"),
        ("error: no rust\nerror: legacy-install-failure\n", "error: no rust"),
        ("something\nodd\n", "odd"),
        ("", "no message"),
    ],
)
def test_the_telling_line_of_an_output_is_found(bench, output, wanted) -> None:
    assert bench.environments.last_error_line(output) == wanted


@pytest.fixture
def fake_peers(bench, fake_pip, monkeypatch, tmp_path) -> dict:
    """Made-up peers that run in this interpreter, one of which cannot be installed."""
    adapter = tmp_path / "fake.py"
    adapter.write_text(FAKE)

    def peer(way: str, **details):
        return bench.catalogue.Peer(way, adapter, options={"way": way}, **details)

    peers = {way: peer(way) for way in ("popular", "crash", "abort")}
    peers["many"] = peer("many", most_labels=10)
    peers["absent"] = bench.catalogue.Peer("absent", adapter, "nowhere")
    monkeypatch.setitem(bench.catalogue.RECIPES, "nowhere", (bench.catalogue.recipe("bad"),))
    monkeypatch.setattr(bench.catalogue, "PEERS", peers)
    return peers


def run_bench(bench, tmp_path, *arguments: str) -> dict[str, dict]:
    places = ["--envs", str(tmp_path / "envs"), "--out", str(tmp_path / "out")]
    bench.run.main(["--datasets", "generated", "--threads", "1", *places, *arguments])
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    return {row["peer"]: row for row in map(json.loads, lines)}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended but was not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_failures_of_all_kinds_are_reported_and_the_run_goes_on(
    bench, fake_peers, tmp_path, capsys
) -> None:
    rows = run_bench(bench, tmp_path, "--rmls")
    told = {name: f"{row['status']}: {row['failure']}" for name, row in rows.items()}
    assert told == {
        "popular": "ok: ",
        "crash": "failed: ValueError: too many cooks",
        "abort": "failed: killed by SIGABRT",
        "many": "refused: 200 labels, more than 10; --no-label-limit runs it",
        "absent": "not installed: ERROR: No matching distribution found for bad",
    }
    printed = capsys.readouterr().out
    assert all(f"* {name}: {text}" in printed for name, text in told.items() if text != "ok: ")
    assert "too many cooks" in (tmp_path / "out" / "crash-generated-given.log").read_text()


def test_a_peer_that_takes_too_long_is_ended_with_its_children(
    bench, fake_peers, monkeypatch, tmp_path
) -> None:
    script = tmp_path / "sleeper.py"
    script.write_text(
        "import os, subprocess\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "child.wait()\n"
    )
    monkeypatch.setattr(bench.execution, "WORKER", script)
    rows = run_bench(bench, tmp_path, "--rmls", "--peers", "popular", "--timeout", "2")
    assert (rows["popular"]["status"], rows["popular"]["failure"]) == (
        "failed",
        "timeout after 2 s",
    )
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    deadline = time.monotonic() + 30
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_alive, pids))


def test_rmls_and_a_peer_that_does_the_same_get_the_same_figures(
    bench, fake_peers, tmp_path
) -> None:
    started = time.perf_counter()
    rows = run_bench(bench, tmp_path, "--peers", "popular", "--rmls", "MostFrequent", "--here")
    elapsed = time.perf_counter() - started
    data = make_longtail(1500, 1000, 200)
    ranking = MostFrequent().fit(data.train.X, data.train.Y).rank(data.test.X, 50)
    wanted = precision_at_k(data.test.Y, ranking, 3)
    for row in rows.values():
        assert row["metrics"]["ranking"]["precision@3"] == pytest.approx(wanted)
        assert 0 <= row["train_seconds"] < elapsed
        assert 0 < row["predict_cpu_seconds"] < elapsed
        assert row["peak_bytes"] > 1e7
    assert rows["popular"]["model_bytes"] == 1000
    assert rows["popular"]["version"] == f"numpy {np.__version__}"
    assert {"commit", "machine", "versions", "settings", "time"} <= set(rows["popular"])


def test_folds_are_those_of_the_rest_of_the_project(bench) -> None:
    data = make_longtail(100, 30, 10)
    (split,) = bench.problems.splits(data, "generated", "auto", [2])
    train, test = list(KFold(5, shuffle=True, random_state=0).split(data.X))[2]
    assert (data.X[test] != split.test.X).nnz == (data.X[train] != split.train.X).nnz == 0
    assert split.features == "tfidf"
    assert np.sqrt(split.X_test.multiply(split.X_test).sum(axis=1)).max() == pytest.approx(1)
    (given,) = bench.problems.splits(data, "enron", "auto", None)
    assert (given.fold, given.features, given.X_train) == ("given", "raw", given.train.X)


def test_drawn_rows_keep_a_part_of_the_entries_of_training_rows(bench) -> None:
    data = make_longtail(100, 30, 10)
    (own,) = bench.problems.splits(data, "generated", "raw", [0])
    (split,) = bench.problems.splits(data, "generated", "raw", [0], 300)
    assert (split.train.n_samples, split.fold) == (300, "0, 300 rows drawn")
    assert (split.X_test != own.X_test).nnz == 0
    entries = {tuple(row.indices) for row in own.train.X}
    for row in split.train.X:
        assert any(set(row.indices) <= set(whole) for whole in entries)
    kept = split.train.X.nnz / (300 * own.train.X.nnz / own.train.n_samples)
    assert kept == pytest.approx(bench.problems.KEPT_ENTRIES, abs=0.1)


def test_decision_rules_give_the_cardinality_of_the_training_rows(bench) -> None:
    rng = np.random.default_rng(0)
    Y = sparse.csr_matrix(rng.random((40, 6)) < 0.4, dtype=np.int32)
    scores = rng.random((40, 6))
    ranked = bench.contract.rank_in_blocks(lambda rows: rows, scores, 5)
    rule = bench.scoring.cardinality_rule(Y, np.arange(40), ranked)
    assert rule.select(Ranking(*ranked, 6)).nnz == Y.nnz
    assert bench.scoring.top_rule(Y).k == round(Y.nnz / 40)
    assert bench.scoring.top_rule(Y[:, :0]).k == 1


def test_a_boost_moves_rare_labels_up_within_their_row(bench) -> None:
    ranking = Ranking(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([0.6, 0.5, 0.1]), 2)
    boosted = bench.scoring.boost(ranking, np.array([1.0, 2.0]))
    assert boosted.labels.tolist() == [1, 0, 0]
    np.testing.assert_allclose(boosted.scores, [1.0, 0.6, 0.1], rtol=1e-6)
    assert bench.scoring.are_probabilities(ranking.scores)
    assert not bench.scoring.are_probabilities(np.array([1.2, 0.5]))
    assert not bench.scoring.are_probabilities(np.array([0.2, -0.5]))


def result(peer: str, fold: str, precision: float | None, **more) -> dict:
    metrics = {"ranking": {"precision@1": precision}}
    row = {"peer": peer, "dataset": "toy", "fold": fold, "data": "9 rows", "features": "raw"}
    row |= {"given_features": "raw", "threads": 2, "status": "ok", "failure": ""}
    return {**row, "metrics": metrics, "train_seconds": 2.0, "peak_bytes": 5e6, **more}


def test_the_table_shows_means_gaps_and_failures(bench) -> None:
    text = bench.table.format_tables(
        [
            result("b", "0", 0.5),
            result("b", "1", 0.7, train_seconds=4.0),
            result("a", "0", 0.25),
            result("a", "1", None, status="failed", failure="out of luck"),
            result("c", "given", 1.0, dataset="another", given_features="counts"),
        ]
    )
    another, toy = text.split("### toy")
    assert "| c, counts features | 1.000 | – |" in another
    lines = toy.splitlines()
    columns = [cell.strip() for cell in lines[4].split("|")]
    both = [cell.strip() for cell in lines[6].split("|")]
    assert dict(zip(columns, both, strict=True)) | {"": ""} == {
        **dict.fromkeys(columns, "–"),
        "": "",
        "method": "b",
        "P@1": ".600",
        "train s": "3.00",
        "peak MB": "5",
    }
    assert lines[7].startswith("| a (1 of 2 folds) | .250 |")
    assert lines[-1] == "* a, fold 1: failed: out of luck"


def test_rankings_boosted_alike_have_a_table_of_their_own(bench) -> None:
    row = result("pecos-tree", "given", 0.5)
    row["metrics"]["boosted"] = {"precision@1": 0.4, "psp@1": 0.3}
    text = bench.table.format_tables([row, result("libmultilabel-ovr", "given", 0.5)])
    below = text.split("inverse propensity:")[1]
    assert "| pecos-tree | .500 | – | – | – | – | .400 | – | .300 | – | – |" in below
    assert "libmultilabel-ovr" not in below


def test_earlier_results_are_printed_again_the_newest_of_each(bench, tmp_path, capsys) -> None:
    rows = [result("a", "given", 0.1), result("a", "given", 0.9)]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    bench.run.main(["--table-only", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert ".900" in printed
    assert ".100" not in printed
