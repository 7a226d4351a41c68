"""A lean process does without scikit-learn and Numba, and answers as any other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from patience import patience
from text_samples import make_texts

from rmls import KNN, RMLS, Calibrated, RMLSRanker, TextRanker
from rmls.core.lean import is_lean, start_lean
from rmls.features.text.characters import encode_pieces
from rmls.kernels.cpu.text.words import hash_pieces

TEXTS, LABELS = make_texts()
NEW = [*make_texts(4, seed=5)[0], "", "Zwölf 東京 …", "unheard words"]
HEAVY = {"numba", "sklearn", "scipy.sparse._csr"}
ODD_NAMES = ["", "a", "naïve", "東京", "x" * 300, "a" * 64, "b", "two words", "\x00", "🂡"]
LATE = ["a zeppelin over the sea", "zeppelins and balloons"]

MODELS: dict[str, dict[str, Any]] = {
    "words": {},
    "endings": {"stem": "endings"},
    "all kinds": {"pairs": True, "characters": (2, 4), "min_rows": 2, "max_terms": 300},
    "hashed": {"hashing": 64, "pairs": True},
    "no names": {"use_names": False},
    "small": {"estimator": RMLSRanker(precision="int8", n_components=8)},
    "leading": {"estimator": RMLSRanker(index="leading", n_components=48)},
    "clusters": {"estimator": RMLSRanker(index="clusters", n_components=8)},
    "scaled": {"estimator": RMLSRanker(normalize="log_l2", n_components=8)},
    "RMLS": {"estimator": RMLS(n_components=4, max_iter=5)},
    "calibrated": {"estimator": Calibrated(KNN(n_neighbors=5))},
}
# Every model in Python bodies, then the same models again by compiled kernels.
ASK = """
import json, sys
from rmls.core.lean import start_lean
assert start_lean()
import numpy as np
import rmls
from rmls.features.text.characters import encode_pieces
from rmls.features.text.vocabulary import MANY, Vocabulary, hash_names
from rmls.kernels.cpu.text.words import hash_together
from rmls.kernels.jit import compile_kernels, runs_compiled

given = json.load(sys.stdin)
models = {name: rmls.load(path) for name, path in given["models"].items()}
def ask():
    found = {}
    for name, model in models.items():
        ranking = model.rank(given["texts"], 4)
        found[name] = [ranking.labels.tolist(), ranking.scores.tolist()]
        if ranking.probabilities is not None:
            found[name].append(ranking.probabilities.tolist())
    return found
names = [f"name {number}" for number in range(2 * MANY)]
words = [Vocabulary(names), Vocabulary.of_text(*encode_pieces(names))]
numbers = [each.find(hash_names(names[::-1])).tolist() for each in words]
answers = [ask()]
hashes = hash_together(*encode_pieces(given["names"])).tolist()
lean = not runs_compiled() and "numba" not in sys.modules
compile_kernels()
numbers += [each.find(hash_names(names[::-1])).tolist() for each in words]
answers.append(ask())
print(json.dumps({"answers": answers, "hashes": hashes, "numbers": numbers, "lean": lean}))
"""
PROBE = """
import sys
from rmls.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("models")
    for name, params in MODELS.items():
        TextRanker(**params).fit(TEXTS, LABELS).save(folder / name)
    late = TextRanker().fit(TEXTS, LABELS)
    late.partial_fit(LATE, [["airships"], ["airships"]]).save(folder / "late")
    TextRanker().fit(TEXTS, [labels[0] if labels else "none" for labels in LABELS]).save(
        folder / "classes"
    )
    return folder


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    """What a lean process says of all models."""
    models = {path.name: str(path) for path in sorted(folder.iterdir())}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps({"models": models, "texts": NEW, "names": ODD_NAMES}),
        capture_output=True,
        text=True,
        timeout=patience(5),
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def run(folder: Path, *arguments: str, given: str | None = None) -> tuple[str, set[str]]:
    """Return what `rmls suggest` prints in a process of its own, and the modules it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, "suggest", str(folder / "words"), *arguments],
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=patience(2),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set(done.stderr.split())


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", [*MODELS, "late", "classes"])
def test_a_lean_process_ranks_as_any_other(
    name: str, compiled: bool, folder: Path, told: dict[str, Any]
) -> None:
    import rmls

    ranking = rmls.load(folder / name).rank(NEW, 4)
    labels, scores, *chances = told["answers"][compiled][name]
    np.testing.assert_allclose(scores, ranking.scores, rtol=1e-4, atol=1e-5)
    if ranking.probabilities is not None:
        np.testing.assert_allclose(chances[0], ranking.probabilities, rtol=1e-4, atol=1e-5)
    # Two labels of the same score may change places.
    gaps = np.abs(np.diff(ranking.scores, prepend=np.inf, append=-np.inf)) > 1e-4
    apart = gaps[1:] & gaps[:-1]
    assert np.array_equal(np.array(labels)[apart], ranking.labels[apart])


def test_python_bodies_are_what_a_lean_process_runs(told: dict[str, Any]) -> None:
    assert told["lean"]


def test_all_names_at_once_have_the_hashes_of_each(told: dict[str, Any]) -> None:
    assert told["hashes"] == hash_pieces(*encode_pieces(ODD_NAMES)).tolist()


def test_a_vocabulary_of_a_lean_process_finds_its_names(told: dict[str, Any]) -> None:
    # Made from names or from a text, and asked before and after kernels are compiled.
    assert len(told["numbers"]) == 4
    for found in told["numbers"]:
        assert found == list(range(len(found)))[::-1]


@pytest.mark.parametrize("options", [[], ["--top", "5"], ["--format", "jsonl"]], ids=str)
def test_a_text_is_labelled_without_heavy_imports(options: list[str], folder: Path) -> None:
    _, loaded = run(folder, NEW[0], *options)
    assert "rmls.models.ranker.ranker" in loaded
    assert not HEAVY & loaded


def test_without_options_nothing_is_parsed_and_the_answer_is_the_same(folder: Path) -> None:
    directly, loaded = run(folder, *NEW[:2])
    parsed, _ = run(folder, *NEW[:2], "--top", "5")
    assert directly == parsed
    assert "typer" not in loaded


def test_many_texts_are_labelled_by_compiled_kernels(folder: Path) -> None:
    lines = "\n".join(TEXTS[:12])
    from_stdin, loaded = run(folder, "--format", "jsonl", given=lines)
    assert "numba" in loaded
    assert "sklearn" not in loaded
    as_arguments, loaded = run(folder, "--format", "jsonl", *TEXTS[:12])
    assert "numba" in loaded
    for one, other in zip(from_stdin.splitlines(), as_arguments.splitlines(), strict=True):
        found, wanted = (
            {each["label"]: each["probability"] for each in json.loads(line)["labels"]}
            for line in (one, other)
        )
        assert found == pytest.approx(wanted, abs=1e-4)


def test_a_mistake_is_told_in_one_line_without_the_parser(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rmls", "suggest", str(tmp_path / "none"), "a text"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(2))
    assert done.returncode == 2
    assert done.stderr.startswith("rmls: error: ")
    assert done.stderr.count("\n") == 1


def test_a_process_with_the_libraries_does_not_become_lean() -> None:
    assert "sklearn" in sys.modules
    assert not start_lean()
    assert not is_lean()
