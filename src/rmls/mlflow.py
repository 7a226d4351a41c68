"""MLflow: models of rmls in its runs, its registry and its servers.

The flavour ``rmls`` keeps a model as its own archive, without pickle; ``pyfunc`` is what servers
and batch jobs of MLflow call. ``pip install 'rmls[mlflow]'``.

>>> from rmls import mlflow
>>> sorted(name for name in dir(mlflow) if name.endswith("_model"))
['load_model', 'log_model', 'save_model']
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rmls.core.errors import InputError
from rmls.core.optional import import_extra
from rmls.core.options import check_number, check_whole
from rmls.core.version import VERSION
from rmls.exchange.card import make_card
from rmls.models.shared.model_archive import load_model as load_archive

FLAVOR_NAME = "rmls"
ARCHIVE = "model"
CARD = "README.md"
LABELS, PROBABILITIES, SCORES = "labels", "probabilities", "scores"
DEFAULT_K = 5


def save_model(
    rmls_model: Any,
    path: str | Path,
    *,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Sequence[str] | None = None,
    metadata: dict[str, Any] | None = None,
    mlflow_model: Any = None,
) -> None:
    """Write a fitted model as a folder that MLflow can load.

    Parameters
    ----------
    rmls_model : estimator
    path : str or path
        A folder that is not there yet, or is empty.
    signature : mlflow.models.ModelSignature or False, optional
        What goes in and comes out; made from the model without one, none with False.
    input_example : anything that MLflow takes, optional
    pip_requirements : sequence of str, optional
        What a server installs; this version of rmls, and pandas, without it.
    metadata : dict, optional
    mlflow_model : mlflow.models.Model, optional
        What `log_model` of MLflow passes.
    """
    mlflow = _import_mlflow()
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InputError(f"{path} is not empty; give a new folder.")
    model = mlflow.models.Model() if mlflow_model is None else mlflow_model
    rmls_model.save(folder / ARCHIVE)
    (folder / CARD).write_text(make_card(rmls_model), "utf-8")
    if signature is None:
        signature = _make_signature(rmls_model)
    if signature is not False:
        model.signature = signature
    if metadata is not None:
        model.metadata = metadata
    if input_example is not None:
        # The only door MLflow has for it; it writes the file and notes it in the model.
        import_extra("mlflow.models.utils", "mlflow", "MLflow")._save_example(
            model, input_example, str(folder)
        )
    wanted = list(pip_requirements or (f"rmls=={VERSION}", "pandas>=2"))
    _write_environment(folder, [f"mlflow-skinny=={mlflow.__version__}", *wanted])
    model.add_flavor(
        FLAVOR_NAME, rmls_version=VERSION, method=type(rmls_model).__name__, data=ARCHIVE
    )
    mlflow.pyfunc.add_to_model(
        model,
        loader_module=__name__,
        data=ARCHIVE,
        conda_env="conda.yaml",
        python_env="python_env.yaml",
    )
    model.save(str(folder / "MLmodel"))


def log_model(
    rmls_model: Any,
    name: str | None = None,
    *,
    registered_model_name: str | None = None,
    **options: Any,
) -> Any:
    """Log a fitted model to the active run, or to a new one.

    ``options`` are those of `save_model`. Returns MLflow's ``ModelInfo``, whose ``model_uri`` is
    what `load_model` takes.
    """
    from sys import modules

    mlflow = _import_mlflow()
    return mlflow.models.Model.log(
        artifact_path=None,
        name=name or "model",
        flavor=modules[__name__],
        registered_model_name=registered_model_name,
        rmls_model=rmls_model,
        **options,
    )


def log_quality(rmls_model: Any) -> dict[str, float]:
    """Log the figures of a model's quality record as metrics of the active run.

    ``quality/P_at_5/tail`` is P@5 of the rare labels. Returns what was logged.
    """
    record = getattr(rmls_model, "quality_record_", None)
    if record is None:
        raise InputError(
            "the model has no record of its quality; rmls train writes one, and rmls.review_model "
            "measures a model of yours."
        )
    metrics = {
        f"quality/{_metric_name(figure.metric)}/{figure.group}": figure.value
        for figure in record.figures
    }
    _import_mlflow().log_metrics(metrics)
    return metrics


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Load a model of rmls, as it was saved, from a folder, a run or the registry.

    Parameters
    ----------
    model_uri : str
        ``"runs:/…/model"``, ``"models:/name/1"`` or a folder.
    dst_path : str, optional
        Where to download to; a folder of MLflow without it.
    """
    mlflow = _import_mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri, dst_path=dst_path))
    flavors = mlflow.models.Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise InputError(f"{model_uri} is no model of rmls; load it with mlflow.pyfunc.load_model.")
    # The name in the file is not ours to trust: an archive stands in one place.
    return load_archive(folder / ARCHIVE)


class Suggester:
    """A model as servers of MLflow ask it: rows in, a table of labels out."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return labels and probabilities of every row, most likely first.

        Parameters
        ----------
        model_input : texts or rows, as the model takes them
        params : dict, optional
            ``k``, labels a row (5), and ``min_probability`` (0).

        Returns
        -------
        DataFrame
            With the columns ``labels`` and ``probabilities``, lists of the same length; ``scores``
            in place of probabilities where the model has none.
        """
        pandas = import_extra("pandas", "mlflow", "MLflow")
        given = params or {}
        k, least = given.get("k", DEFAULT_K), given.get("min_probability", 0.0)
        check_whole("k", k, 1)
        check_number("min_probability", least, positive=False)
        ranking = self.model.rank(model_input, min(int(k), len(self.model.classes_)))
        rows = [
            sorted(
                row,
                key=lambda each: -(each.score if each.probability is None else each.probability),
            )
            for row in ranking
        ]
        kept = [
            [each for each in row if each.probability is None or each.probability >= least]
            for row in rows
        ]
        has_chances = all(each.probability is not None for row in rows for each in row)
        values = [
            [float(each.probability if has_chances else each.score) for each in row] for row in kept
        ]
        labels = [[_plain(each.label) for each in row] for row in kept]
        return pandas.DataFrame({LABELS: labels, PROBABILITIES if has_chances else SCORES: values})


def _load_pyfunc(path: str) -> Suggester:
    """Return what ``mlflow.pyfunc`` calls; it gives the folder of the archive."""
    return Suggester(load_archive(path))


def _import_mlflow() -> Any:
    mlflow = import_extra("mlflow", "mlflow", "MLflow")
    for part in ("artifacts", "models", "pyfunc"):
        import_extra(f"mlflow.{part}", "mlflow", "MLflow")
    return mlflow


def _make_signature(model: Any) -> Any:
    """Return what goes in and comes out; rows of numbers may come in any container."""
    types = import_extra("mlflow.types", "mlflow", "MLflow")
    signature = import_extra("mlflow.models", "mlflow", "MLflow").ModelSignature
    array = import_extra("mlflow.types.schema", "mlflow", "MLflow").Array
    params = types.ParamSchema(
        [
            types.ParamSpec("k", types.DataType.long, DEFAULT_K),
            types.ParamSpec("min_probability", types.DataType.double, 0.0),
        ]
    )
    features = getattr(model, "features_", None)
    if features is None or features.column_roles_.all:
        return signature(params=params)
    names = features.fields_ or (None,)
    inputs = types.Schema([types.ColSpec(types.DataType.string, name) for name in names])
    outputs = types.Schema(
        [
            types.ColSpec(array(types.DataType.string), LABELS),
            types.ColSpec(array(types.DataType.double), PROBABILITIES),
        ]
    )
    return signature(inputs=inputs, outputs=outputs, params=params)


def _write_environment(folder: Path, requirements: list[str]) -> None:
    """Write what a server installs, in the three forms that MLflow reads."""
    python = platform.python_version()
    (folder / "requirements.txt").write_text("\n".join(requirements) + "\n", "utf-8")
    (folder / "python_env.yaml").write_text(
        f"python: {python}\nbuild_dependencies:\n- pip\ndependencies:\n- -r requirements.txt\n",
        "utf-8",
    )
    listed = "".join(f"  - {each}\n" for each in requirements)
    (folder / "conda.yaml").write_text(
        f"name: mlflow-env\nchannels:\n- conda-forge\ndependencies:\n- python={python}\n- pip\n"
        f"- pip:\n{listed}",
        "utf-8",
    )


def _metric_name(metric: str) -> str:
    """Return a name with the letters that MLflow allows.

    >>> _metric_name("PSP@5"), _metric_name("macro F")
    ('PSP_at_5', 'macro F')
    """
    return re.sub(r"[^\w\-. :/]", "_", metric.replace("@", "_at_"))


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label
