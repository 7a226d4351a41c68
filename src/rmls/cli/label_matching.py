"""The labels of a data set and those of a model: the same columns, whatever their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rmls.core.errors import InputError
from rmls.core.label_matching import Matched, with_unknown
from rmls.core.labels import match_columns

if TYPE_CHECKING:
    from rmls.datasets import Dataset


def match_labels(model: Any, dataset: Dataset) -> Matched:
    """Bring the labels of ``dataset`` into the columns of ``model``.

    Labels are matched by name where both sides have distinct names, otherwise by column.

    Warns
    -----
    RmlsWarning
        When the data set has labels that the model does not know; they count as never predicted.
    """
    names, counts = model.classes_.tolist(), np.asarray(model.label_counts_)
    own = dataset.label_names
    by_name = own is not None and _are_distinct_names(names) and _are_distinct_names(own)
    if own is None or not by_name or own == names:
        if dataset.n_labels != len(names):
            raise InputError(
                f"{dataset.name} has {dataset.n_labels} labels but the model was trained on "
                f"{len(names)}; labels are matched by name only where both have names."
            )
        # A data set may have names where the model has numbers.
        return Matched(dataset.Y, counts, names if own is None else own)
    Y, unknown = match_columns(dataset.Y, own, names)
    if len(unknown) == len(own):
        raise InputError(f"{dataset.name} has no label that the model knows.")
    # The data set is what the user has: its labels are counted, not those of both sides.
    matched = with_unknown(Y, unknown, counts, dataset.name, dataset.n_labels)
    return matched._replace(names=[*names, *unknown])


def _are_distinct_names(names: list[Any]) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
