"""Models in MLflow, with a real tracking store on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rmls
from rmls.core.errors import InputError

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'rmls[mlflow]'")

SAVED = Path(__file__).parents[1] / "archive" / "texts_0_1"
TEXTS = ["fishing boats in the harbour", "taxes for the revenue of the court"]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A tracking store in a file; a data base where this MLflow has one."""
    pytest.importorskip("mlflow.pyfunc", reason="this MLflow cannot load models")
    has_database = True
    try:
        import alembic  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ImportError:
        has_database = False
    # MLflow asks for a data base; the store of files is what its small package has.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    place = f"sqlite:///{tmp_path}/runs.db" if has_database else (tmp_path / "runs").as_uri()
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(place)
    mlflow.set_registry_uri(place)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    mlflow.set_tracking_uri(before)
    mlflow.set_registry_uri(before)


@pytest.fixture
def model() -> Any:
    return rmls.load(SAVED / "measured")


def test_a_logged_model_comes_back_with_equal_answers(store: Path, model: Any) -> None:
    from rmls import mlflow as flavour

    with mlflow.start_run() as run:
        info = flavour.log_model(model, "topics", registered_model_name="topics")
        logged = flavour.log_quality(model)
    back = flavour.load_model(info.model_uri)
    assert type(back) is type(model)
    assert np.array_equal(back.decision_function(TEXTS), model.decision_function(TEXTS))
    kept = mlflow.MlflowClient().get_run(run.info.run_id).data.metrics
    assert kept == logged
    assert kept["quality/P_at_5/all"] == pytest.approx(0.33)
    registered = flavour.load_model("models:/topics/1")
    assert registered.suggest(TEXTS) == model.suggest(TEXTS)


def test_the_function_of_mlflow_gives_what_the_model_suggests(store: Path, model: Any) -> None:
    import pandas as pd

    from rmls import mlflow as flavour

    flavour.save_model(model, store / "saved", input_example=TEXTS)
    served = mlflow.pyfunc.load_model(str(store / "saved"))
    for rows in (TEXTS, pd.DataFrame({"text": TEXTS}), pd.Series(TEXTS)):
        found = served.predict(rows, params={"k": 2})
        for row, wanted in zip(found.itertuples(), model.suggest(TEXTS, 2), strict=True):
            assert row.labels == [each.name for each in wanted]
            assert row.probabilities == pytest.approx([each.probability for each in wanted])
    assert len(served.predict(TEXTS).labels[0]) == len(model.classes_)
    likely = served.predict(TEXTS, params={"k": 4, "min_probability": 0.5})
    assert all(chance >= 0.5 for row in likely.probabilities for chance in row)
    assert served.metadata.signature.params.to_dict()[0]["name"] == "k"


def test_a_table_with_columns_is_asked_by_their_names(store: Path) -> None:
    import pandas as pd

    from rmls import TextRanker
    from rmls import mlflow as flavour

    rows = {"title": TEXTS * 10, "body": ["quota", "court"] * 10}
    model = TextRanker(rmls.RMLS(4, max_iter=2)).fit(rows, [["sea"], ["tax"]] * 10)
    flavour.save_model(model, store / "saved")
    served = mlflow.pyfunc.load_model(str(store / "saved"))
    # In another order, as tables come.
    table = pd.DataFrame({"body": rows["body"], "title": rows["title"]})
    assert [row[0] for row in served.predict(table).labels] == [
        row[0].name for row in model.suggest(rows, 1)
    ]


def test_a_model_of_numbers_is_served_too(store: Path) -> None:
    from scipy import sparse

    from rmls import mlflow as flavour

    X = np.random.default_rng(0).random((30, 5))
    model = rmls.RMLS(4, max_iter=2).fit(X, (X[:, :2] > 0.5).astype(int))
    flavour.save_model(model, store / "saved")
    served = mlflow.pyfunc.load_model(str(store / "saved"))
    wanted = model.rank(X, 1).to_lists()
    for rows in (X, sparse.csr_matrix(X)):
        assert served.predict(rows, params={"k": 1}).labels.tolist() == wanted
    assert np.array_equal(
        flavour.load_model(str(store / "saved")).decision_function(X), model.decision_function(X)
    )


def test_the_folder_has_no_pickle_and_says_what_to_install(store: Path, model: Any) -> None:
    from rmls import mlflow as flavour

    flavour.save_model(model, store / "saved")
    files = {
        path.relative_to(store / "saved").as_posix() for path in (store / "saved").rglob("*.*")
    }
    assert files >= {"requirements.txt", "conda.yaml", "python_env.yaml", "README.md"}
    assert files >= {"model/model.json", "model/arrays.safetensors"}
    assert not any(name.endswith((".pkl", ".pickle")) for name in files)
    assert f"rmls=={rmls.__version__}" in (store / "saved" / "requirements.txt").read_text()
    loaded = mlflow.models.Model.load(str(store / "saved"))
    assert loaded.flavors["rmls"]["method"] == "TextRanker"
    with pytest.raises(InputError, match="is not empty"):
        flavour.save_model(model, store / "saved")


def test_what_cannot_be_done_is_a_sentence(store: Path, model: Any) -> None:
    from rmls import mlflow as flavour

    with pytest.raises(InputError, match="no record of its quality"):
        flavour.log_quality(rmls.load(SAVED / "plain"))
    with pytest.raises(InputError, match="k must be"):
        flavour.Suggester(model).predict(TEXTS, {"k": 0})
    foreign = mlflow.models.Model()
    foreign.add_flavor("other")
    (store / "foreign").mkdir()
    foreign.save(str(store / "foreign" / "MLmodel"))
    with pytest.raises(InputError, match="is no model of rmls"):
        flavour.load_model(str(store / "foreign"))
