"""RMLS as ONNX gives the scores of RMLS in another runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rmls
from rmls.core.errors import InputError

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'rmls[onnx]'")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

NAMES = ["tax", "law", "sea"]


def make_rows(mode: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = rng.poisson(0.7, (40, 12)).astype(np.float32)
    if mode in ("standardize", "rescale"):
        rows = rng.normal(3, 50, (40, 12)).astype(np.float32)
        rows[:, 4] = 7.0
    # A row without features, and one far from all others.
    rows[3], rows[5] = 0, rows[5] * 1000
    return rows


def run(path: Path, rows: np.ndarray) -> Any:
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["scores", "vectors"], {"X": rows})


@pytest.mark.parametrize("mode", ["none", "l2", "log_l2", "standardize", "rescale"])
@pytest.mark.parametrize("activation", ["tanh", "relu", "linear"])
def test_scores_are_equal_in_another_runtime(mode: str, activation: str, tmp_path: Path) -> None:
    rows = make_rows(mode)
    scale = 50 if mode == "none" else 1
    labels = [[NAMES[number % 3], NAMES[number % 2]] for number in range(len(rows))]
    model = rmls.RMLS(5, max_iter=3, normalize=mode, activation=activation, calibration=None)
    model.fit(rows / scale, labels)
    rmls.exchange.to_onnx(model, tmp_path / "model.onnx")
    scores, vectors = run(tmp_path / "model.onnx", rows / scale)
    wanted = model.decision_function(rows / scale)
    assert scores.shape == wanted.shape
    assert np.allclose(scores, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    assert vectors.shape == (len(rows), 5)
    # What ranks first there ranks first here.
    best = model.rank(rows / scale, 1).labels
    clear = np.sort(wanted, axis=1)[:, -1] - np.sort(wanted, axis=1)[:, -2] > 1e-3
    assert np.array_equal(scores.argmax(axis=1)[clear], best[clear])


def test_the_file_names_its_labels(tmp_path: Path) -> None:
    model = rmls.RMLS(2, max_iter=2).fit([[1.0, 0.0], [0.0, 1.0]] * 5, [["tax"], ["sea"]] * 5)
    rmls.exchange.to_onnx(model, tmp_path / "model.onnx")
    found = {each.key: each.value for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(found["labels"]) == model.classes_.tolist()


def test_other_models_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written as ONNX at equal scores; RMLS can"):
        rmls.exchange.to_onnx(rmls.RMLSRanker(), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
