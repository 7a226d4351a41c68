"""Files whose columns have names: found by them, whatever their order, or refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from cli_samples import RESUME, SMALL_RMLS

import rmls
from rmls.datasets import save


@pytest.fixture(scope="module")
def named(data):
    return replace(data, feature_names=[f"word{column}" for column in range(data.n_features)])


@pytest.fixture(scope="module", params=["arff", "npz"])
def trained(request, named, tmp_path_factory):
    """A folder with a data file of each kind, and the model of one of them."""
    folder = tmp_path_factory.mktemp("named")
    order = np.random.default_rng(0).permutation(named.n_features)
    swapped = replace(
        named, X=named.X[:, order], feature_names=[named.feature_names[at] for at in order]
    )
    other = replace(named, feature_names=["odd", *named.feature_names[1:]])
    for stem, rows in (("given", named), ("swapped", swapped), ("other", other)):
        (folder / stem).mkdir()
        save(rows, folder / stem / f"data.{request.param}")
    (folder / "plain").mkdir()
    save(replace(named, feature_names=None), folder / "plain" / "data.npz")
    return folder, f"data.{request.param}"


@pytest.fixture
def model(trained, run):
    folder, file = trained
    if not (folder / "model").exists():
        result = run(
            "train", folder / "given" / file, "-o", folder / "model", *SMALL_RMLS, "--quiet"
        )
        assert result.exit_code == 0, result.stderr
    return folder / "model"


def test_names_are_saved_with_the_model(model, named):
    assert rmls.load(model).feature_names_in_.tolist() == named.feature_names


def test_swapped_columns_give_the_same_predictions(trained, model, run):
    folder, file = trained
    given, swapped = (
        run("predict", model, folder / stem / file, "-o", "-", "--top", "3")
        for stem in ("given", "swapped")
    )
    assert given.exit_code == 0, given.stderr
    assert swapped.stdout == given.stdout
    assert "warning" not in swapped.stderr


def test_swapped_columns_give_the_same_figures(trained, model, run):
    folder, file = trained
    figures = [
        json.loads(run("evaluate", model, folder / stem / file, "--json").stdout)
        for stem in ("given", "swapped")
    ]
    assert figures[0]["all"] == figures[1]["all"]


def test_other_columns_are_refused_by_name(trained, model, fails):
    folder, file = trained
    for command in (["evaluate"], ["predict", "-o", "-"]):
        sentence = fails(command[0], model, folder / "other" / file, *command[1:])
        assert "lacks 'word0' and has 'odd', which the model does not know" in sentence


def test_columns_without_names_are_taken_by_place_with_one_warning(trained, model, run, named):
    folder, _ = trained
    result = run("predict", model, folder / "plain" / "data.npz", "-o", "-", "--top", "1")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("does not have valid feature names") == 1
    assert len(result.stdout.splitlines()) == named.n_samples


def test_a_resumed_training_finds_its_columns(trained, run, tmp_path):
    folder, file = trained
    for stem, output in (("given", "one"), ("swapped", "other")):
        path = tmp_path / output
        first = (
            "train",
            folder / "given" / file,
            "-o",
            path,
            *SMALL_RMLS,
            "--passes",
            "2",
            "--jobs",
            "1",
        )
        assert run(*first, "--quiet").exit_code == 0
        more = run("train", folder / stem / file, "-o", path, *RESUME, "--passes", "4", "--quiet")
        assert more.exit_code == 0, more.stderr
    one, other = (rmls.load(tmp_path / output) for output in ("one", "other"))
    np.testing.assert_allclose(one.feature_vectors_, other.feature_vectors_, rtol=1e-4, atol=1e-5)
