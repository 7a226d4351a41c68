"""Data sets as the commands want them: loaded, cut to a part, checked against a model."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmls.cli.shared.options import Part
from rmls.core.errors import InputError, RmlsWarning
from rmls.core.words import count

# Real data hold copies: up to 4% of the test rows of debtags are training rows too.
KNOWN_SHARE = 0.05

if TYPE_CHECKING:
    from scipy import sparse

    from rmls.cli.shared.texts import Reading
    from rmls.datasets import Dataset


def load_data(
    source: str, format: str | None = None, index_base: int | None = None, *, labels: bool = True
) -> Dataset:
    """Load a data set by path or name; one without rows, or without labels, is an error.

    With ``labels=False`` rows without labels are loaded too.
    """
    from rmls.datasets import load

    options: dict[str, Any] = {"require_labels": labels}
    if format is not None:
        options["format"] = format
    if index_base is not None:
        options["zero_based"] = index_base == 0
    dataset = load(source, **options)
    if dataset.n_samples == 0:
        raise InputError(f"{source} has no rows.")
    return dataset


def is_store_path(data: str) -> bool:
    """Tell whether DATA is a store, or the part of one."""
    from rmls.datasets.io import may_be_store

    return may_be_store(data)


def reads_texts(data: str, reading: Reading) -> bool:
    """Tell whether ``data`` is a table of texts: by its ending, or as columns are named."""
    from rmls.datasets.formats import format_by_extension
    from rmls.datasets.tables.text_table import NAMES, table_format

    if is_store_path(data):
        return False
    if reading.format is not None:
        return reading.format in NAMES
    if reading.text is not None or reading.labels is not None:
        return True
    path = Path(data)
    # A data set's name is no file; a file of features is told by its own ending.
    if not path.exists() or format_by_extension(path) is not None:
        return path.suffix.lower() in (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")
    return table_format(path, reading.encoding) is not None


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


def load_model(folder: Path, data: str) -> Any:
    """Load a model; says so where ``data`` is the model and the two were exchanged."""
    import rmls
    from rmls.archive.layout import MANIFEST_NAME

    if not folder.is_dir() and (Path(data) / MANIFEST_NAME).is_file():
        raise InputError(f"MODEL comes before DATA: {data} is a model, and {folder} is none.")
    return rmls.load(folder)


def load_for_model(
    source: str,
    format: str | None,
    model: Any,
    index_base: int | None = None,
    *,
    labels: bool = False,
) -> Dataset:
    """Load a data set with the features that ``model`` was trained on, in their order.

    Parameters
    ----------
    source : str
    format : str or None
    model : estimator
    index_base : int, optional
        The first index of svmlight text; by default that of the file the model was trained on.
    labels : bool, default=False
        Whether the labels of the rows are looked at.

    Notes
    -----
    svmlight text does not say how many columns there are: missing ones are empty.
    """
    dataset = load_data(source, format, index_base, labels=labels)
    if index_base is None:
        dataset = align_indices(dataset, model, labels=labels)
    wanted = int(model.n_features_in_)
    if (
        dataset.format == "svmlight"
        and dataset.n_features < wanted
        and not _both_have_names(dataset, model)
    ):
        warnings.warn(
            f"{source} names {dataset.n_features} of the {wanted} features of the model; "
            "the others are taken as zero.",
            RmlsWarning,
            stacklevel=2,
        )
        dataset = replace(dataset, X=_widen(dataset.X, wanted))
    if dataset.n_features != wanted and not _both_have_names(dataset, model):
        raise InputError(
            f"{source} has {dataset.n_features} features but the model was trained on {wanted}."
        )
    n_labels = len(model.classes_)
    if dataset.zero_based is not None and dataset.label_names is None:
        dataset = replace(dataset, Y=_widen(dataset.Y, max(n_labels, dataset.n_labels)))
    return _in_order(dataset, model, source)


def _both_have_names(dataset: Dataset, model: Any) -> bool:
    return dataset.feature_names is not None and hasattr(model, "feature_names_in_")


def _in_order(dataset: Dataset, model: Any, source: str) -> Dataset:
    """Return a data set with the features of the model in their order, and with their names."""
    from rmls.core.feature_names import match_features, move_columns

    known = getattr(model, "feature_names_in_", None)
    fitted = None if known is None else known.tolist()
    if fitted is None and dataset.feature_names is None:
        return dataset
    order = match_features(fitted, dataset.feature_names, "the model", source)
    X = dataset.X if order is None else move_columns(dataset.X, order)
    # What the user was told once is not said again of every block of rows.
    return replace(dataset, X=X, feature_names=fitted)


def _widen(matrix: sparse.csr_matrix, n_columns: int) -> sparse.csr_matrix:
    from scipy import sparse

    parts = (matrix.data, matrix.indices, matrix.indptr)
    return sparse.csr_matrix(parts, shape=(matrix.shape[0], n_columns))


def align_indices(dataset: Dataset, model: Any, *, labels: bool) -> Dataset:
    """Return svmlight data with indices that begin where those of the training rows did."""
    if dataset.zero_based is None:
        return dataset
    from rmls.datasets.svmlight import rebase

    known = _trained_base(model)
    if known is None:
        _tell_guess(dataset, int(model.n_features_in_))
        return dataset
    if not labels:
        known = (known[0], dataset.zero_based[1])
    try:
        return rebase(dataset, known)
    except InputError as error:
        raise InputError(
            f"{dataset.name}: {error} as in the file that the model was trained on; if that was "
            "guessed wrongly, train again with --index-base 0, otherwise write this file anew."
        ) from None


def _trained_base(model: Any) -> tuple[bool, bool] | None:
    record = getattr(model, "training_record_", None)
    known = record.get("zero_based") if isinstance(record, dict) else None
    if (
        isinstance(known, list)
        and len(known) == 2
        and all(isinstance(base, bool) for base in known)
    ):
        return known[0], known[1]
    return None


def _tell_guess(dataset: Dataset, wanted: int) -> None:
    """Warn where both readings of the indices are possible."""
    # As many columns as the model has: counted from 0 there would be one too many.
    if dataset.zero_based is not None and not dataset.zero_based[0] and dataset.n_features < wanted:
        warnings.warn(
            f"{dataset.name}: no feature has the index 0, so that indices are taken to begin with "
            "1; give --index-base 0 if they begin with 0.",
            RmlsWarning,
            stacklevel=2,
        )


def describe_training_rows(dataset: Dataset, part: Part) -> dict[str, Any]:
    """Return what a model keeps of the rows it was trained on, as plain values."""
    from rmls.core.sparse import sketch_rows

    return {
        "data": dataset.name,
        "format": dataset.format,
        "part": part.value,
        "zero_based": dataset.zero_based and list(dataset.zero_based),
        "rows": dataset.n_samples,
        "features": dataset.n_features,
        "labels": dataset.n_labels,
        # Hashes do not give the rows away, and are enough to know them again.
        "row_hashes": sketch_rows(dataset.X, dataset.Y).astype(">u8").tobytes().hex(),
    }


def warn_of_known_rows(
    model: Any, name: str, X: sparse.csr_matrix, Y: sparse.csr_matrix
) -> float | None:
    """Warn where a model is measured on rows that it was trained on; returns their share.

    ``Y`` has the columns of the model. None where nothing is known about the training rows.
    """
    from rmls.core.sparse import share_in_sketch

    sketch = _read_sketch(model)
    if sketch is None:
        return None
    share, n_compared = share_in_sketch(X, Y, sketch)
    if share >= KNOWN_SHARE:
        n_rows = int(X.shape[0])
        some = f"{round(share * n_rows):,}" if n_compared == n_rows else f"about {share:.0%}"
        which = "all" if share == 1 else f"{some} of the"
        warnings.warn(
            f"{which} {n_rows:,} rows of {name} were trained on: the "
            "figures say how well the model remembers them, not how well it does on new rows.",
            RmlsWarning,
            stacklevel=2,
        )
    return share


def remember_rows(model: Any, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
    """Add rows that a model has learned later to those that it is known to be trained on.

    A model whose training rows are not known stays as it is.
    """
    from rmls.core.sparse import join_sketches, sketch_rows

    known = _read_sketch(model)
    if known is not None:
        joined = join_sketches(known, sketch_rows(X, Y)).astype(">u8").tobytes().hex()
        model.training_record_ = {**model.training_record_, "row_hashes": joined}


def _read_sketch(model: Any) -> Any:
    import numpy as np

    record = getattr(model, "training_record_", None)
    text = record.get("row_hashes") if isinstance(record, dict) else None
    try:
        return np.frombuffer(bytes.fromhex(text or ""), ">u8").astype(np.uint64) if text else None
    except (TypeError, ValueError):
        # Written by hand or by another program; a model without it can be measured as well.
        return None


def describe_size(dataset: Dataset) -> str:
    """Return the three sizes of a data set in words."""
    sizes = {"row": dataset.n_samples, "feature": dataset.n_features, "label": dataset.n_labels}
    return ", ".join(count(number, noun) for noun, number in sizes.items())
