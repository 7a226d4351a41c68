"""The training of RMLS: passes over the rows, some of them held out, and more passes later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rmls
from rmls.cli.shared.console import CtrlC
from rmls.cli.shared.options import Part
from rmls.cli.train.run import Division, Training
from rmls.core.errors import InputError
from rmls.core.resources import count_threads
from rmls.core.sparse import label_counts
from rmls.core.words import count, size
from rmls.metrics import get_metric
from rmls.models import RMLS
from rmls.models.rmls.sampling import count_passes

if TYPE_CHECKING:
    from rmls.datasets import Dataset

# Other changes would make one model of two different trainings.
MAY_CHANGE = ("max_iter", "n_jobs")


class PassTraining(Training):
    """The first training of an RMLS.

    Parameters
    ----------
    model : RMLS
    """

    model: RMLS

    def __init__(self, model: RMLS) -> None:
        super().__init__(model)
        check_metric(model.validation_metric)
        self.n_before = 0
        self.can_resume = True
        self.nothing_to_save = "no further pass was complete"

    def announce(self, dataset: Dataset) -> Iterator[tuple[str, str]]:
        """Yield the sizes of the model, and which passes are made over which rows."""
        model, d, m = self.model, dataset.n_features, dataset.n_labels
        k = model.n_components
        # W, b, L and c in float32; AdaGrad keeps a sum per number, or per row and bias, and early
        # stopping a copy of the best parameters.
        parameters = 4 * ((d + m) * k + k + m)
        accumulators = parameters if model.accumulators == "element" else 4 * (d + m + k + m)
        copies = 2 if model.early_stopping else 1
        training = f"{size(copies * parameters + accumulators)} while training"
        yield "model", f"{count(k, 'component')}, {size(parameters)} ({training})"
        rows = "all rows"
        if model.early_stopping:
            share, metric = f"{model.validation_fraction:.0%}", model.validation_metric
            rows = f"{share} of the rows held out for {metric}"
        passes = f"passes {self.n_before + 1} to {count_passes(model.max_iter, dataset.n_samples)}"
        yield "training", f"{rows}, {passes}, {count(count_threads(model.n_jobs), 'thread')}"

    def fit(self, dataset: Dataset, quiet: bool, ctrl_c: CtrlC) -> None:
        """Train and show every pass; Ctrl-C ends it, and the passes made so far are kept."""
        super().fit(dataset, quiet, ctrl_c)
        # A setting of this run; the saved model has its own.
        self.model.set_params(warm_start=False)
        self.is_worth_saving = not self.interrupted or self.has_more

    @property
    def has_more(self) -> bool:
        """Tell whether the model has made a pass."""
        return bool(self.model.n_iter_ > self.n_before)

    def record(self) -> dict[str, Any]:
        """Return the passes, and the loss and the metric after each of them."""
        model, held_out = self.model, None
        if model.early_stopping:
            held_out = {"metric": model.validation_metric, "curve": list(model.validation_curve_)}
        return {
            "passes": model.n_iter_,
            "loss_curve": list(model.loss_curve_),
            "held_out": held_out,
        }

    def outcome(self, record: dict[str, Any]) -> str:
        """Return the number of passes and the best of them."""
        made = f"{record['passes']} of {self.model.max_iter_} passes in {record['seconds']:.1f} s"
        curve = record["held_out"]["curve"] if record["held_out"] else []
        if not curve:
            return f"{made}; loss {record['loss_curve'][-1]:.4f}"
        metric = get_metric(self.model.validation_metric)
        best = (max if metric.greater_is_better else min)(curve)
        return f"{made}; best held-out {metric.name} {best:.4f} in pass {curve.index(best) + 1}"


class ResumedTraining(PassTraining):
    """The passes that an interrupted training has left, or more of them.

    Parameters
    ----------
    folder : Path
        Of the model.
    params : dict
        What the user gave; most parameters cannot change.
    data : str
        What the user calls the data.
    """

    def __init__(self, folder: Path, params: dict[str, Any], data: str) -> None:
        model = rmls.load(folder)
        if not isinstance(model, RMLS):
            raise InputError(f"{folder} is a model of {type(model).__name__}, which has no passes.")
        fixed = [name for name in params if name not in MAY_CHANGE]
        if fixed:
            raise InputError(f"--resume keeps the settings of the model; {fixed[0]} cannot change.")
        model.set_params(**params, warm_start=True)
        super().__init__(model)
        self.folder, self.data, self.n_before = folder, data, model.n_iter_
        self.earlier = model.training_record_ or {}
        if self.earlier.get("part") in [part.value for part in Part]:
            self.part = Part(self.earlier["part"])
        share, seed = self.earlier.get("test_share"), self.earlier.get("test_seed")
        if isinstance(share, float) and isinstance(seed, int):
            self.division = Division(share, seed)
        total = count_passes(model.max_iter, model.n_samples_)
        # Interrupted after the last pass: what is missing is the calibration.
        self.only_calibrates = (
            model.n_iter_ >= total
            and model.calibration is not None
            and model._calibration is None
            and self.earlier.get("interrupted") is True
        )
        if model.n_iter_ >= total and not self.only_calibrates:
            raise InputError(
                f"{folder} has made {model.n_iter_} of {total} passes; ask for more with --passes."
            )

    def prepare(self, dataset: Dataset) -> None:
        """Refuse other data than those of the first passes."""
        model = self.model
        # Sizes and label counts are cheap to compare, and other data hardly have the same.
        same = (
            dataset.n_features == model.n_features_in_
            and dataset.n_samples == model.n_samples_
            and label_counts(dataset.Y).tolist() == model.label_counts_.tolist()
        )
        if not same:
            raise InputError(
                f"{self.data} is not the data that {self.folder} was trained on; resume with the "
                "same rows, or train a new model."
            )

    def announce(self, dataset: Dataset) -> Iterator[tuple[str, str]]:
        """Yield what is made up for."""
        if self.only_calibrates:
            return iter([("training", "all passes are made; probabilities are calibrated")])
        return super().announce(dataset)

    def learn(self, dataset: Dataset) -> None:
        """Make the passes that are missing, or what follows on them."""
        if self.only_calibrates:
            self.model._calibrate_later(dataset.X, dataset.Y, dataset.label_names)
        else:
            super().learn(dataset)

    @property
    def has_more(self) -> bool:
        """Tell whether the model learned something."""
        return super().has_more or (self.only_calibrates and not self.interrupted)


def check_metric(name: str) -> None:
    """Refuse a metric that held-out rows alone do not give."""
    metric = get_metric(name)
    if "propensity" in metric.options or (metric.takes_k and metric.k is None):
        raise InputError(f"the metric {name} cannot be measured in training; try precision@5.")
