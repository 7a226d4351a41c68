"""Data sets as the commands want them: loaded, cut to a part, checked against a model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmls.cli.shared.options import Part
from rmls.core.errors import InputError, RmlsWarning
from rmls.core.words import count

if TYPE_CHECKING:
    from rmls.datasets import Dataset


def load_data(source: str, format: str | None = None) -> Dataset:
    """Load a data set by path or name; one without rows is an error."""
    from rmls.datasets import load

    options = {} if format is None else {"format": format}
    dataset = load(source, **options)
    if dataset.n_samples == 0:
        raise InputError(f"{source} has no rows.")
    return dataset


def choose_part(dataset: Dataset, part: Part | None, default: Part) -> tuple[Dataset, int]:
    """Return the rows of a part, and the number of the first one in the file.

    Parameters
    ----------
    dataset : Dataset
    part : Part or None
        What the user asked for; None takes ``default``, or all rows where there is no split.
    default : Part
    """
    if part is None:
        part = default if dataset.n_train is not None else Part.ALL
    if part is Part.ALL:
        return dataset, 0
    if dataset.n_train is None:
        raise InputError(
            f"{dataset.name} is not split into training and test rows; use --part all."
        )
    first = 0 if part is Part.TRAIN else dataset.n_train
    chosen = dataset.train if part is Part.TRAIN else dataset.test
    if chosen.n_samples == 0:
        raise InputError(f"the {part.value} part of {dataset.name} has no rows.")
    return chosen, first


def load_for_model(source: str, format: str | None, model: Any) -> Dataset:
    """Load a data set with the features that ``model`` was trained on.

    Notes
    -----
    svmlight text does not say how many columns there are: missing ones are empty.
    """
    dataset = load_data(source, format)
    wanted = int(model.n_features_in_)
    if dataset.n_features == wanted:
        return dataset
    if dataset.n_features < wanted and _is_svmlight(source, format):
        warnings.warn(
            f"{source} names {dataset.n_features} of the {wanted} features of the model; "
            "the others are taken as zero.",
            RmlsWarning,
            stacklevel=2,
        )
        return load_data_with(source, n_features=wanted)
    raise InputError(
        f"{source} has {dataset.n_features} features but the model was trained on {wanted}."
    )


def load_data_with(source: str, **sizes: int) -> Dataset:
    """Load svmlight text with a given number of columns."""
    from rmls.datasets import load

    return load(source, format="svmlight", **sizes)


def _is_svmlight(source: str, format: str | None) -> bool:
    from rmls.datasets.formats import format_of

    if format is not None:
        return format == "svmlight"
    return Path(source).is_file() and format_of(source).name == "svmlight"


def describe_size(dataset: Dataset) -> str:
    """Return the three sizes of a data set in words."""
    sizes = {"row": dataset.n_samples, "feature": dataset.n_features, "label": dataset.n_labels}
    return ", ".join(count(number, noun) for noun, number in sizes.items())
