"""Stores of rows on the command line: written from any data, and opened with their features."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from rmls.cli.shared.console import note, notes
from rmls.cli.shared.data import is_store_path
from rmls.cli.shared.options import read_list
from rmls.cli.shared.texts import Reading, columns_of, rows_for_model
from rmls.core.errors import InputError
from rmls.core.words import count

# Rows that are looked at together.
BLOCK_ROWS = 4096

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmls.datasets.store import Store
    from rmls.datasets.store.layout import Manifest
    from rmls.datasets.tables import TextTable
    from rmls.features import TextFeatures
    from rmls.models.text.stored import TextSource


class Conversion(NamedTuple):
    """What is to become a store.

    Attributes
    ----------
    source, target : str
        Paths or addresses.
    reading : Reading
        How a table of texts is read.
    categories, numbers : str or None
        Columns beside the texts.
    features_of : str or None
        The model or store whose features texts get.
    settings : tuple of str
        Parameters of new text features, as ``name=value``.
    """

    source: str
    target: str
    reading: Reading
    categories: str | None = None
    numbers: str | None = None
    features_of: str | None = None
    settings: tuple[str, ...] = ()


def convert_to_store(
    asked: Conversion,
    index_base: int | None,
    shard_rows: int | None,
    *,
    overwrite: bool,
    quiet: bool,
) -> None:
    """Write a data file or a table of texts as a store."""
    from rmls.cli.shared.data import reads_texts
    from rmls.datasets.store import DEFAULT_SHARD_ROWS
    from rmls.datasets.store.places import local_copy

    size = shard_rows or DEFAULT_SHARD_ROWS
    described = _describe(asked)
    with local_copy(asked.source) as path:
        local = asked._replace(source=path)
        if reads_texts(path, asked.reading):
            manifest = _convert_texts(local, described, size, overwrite, quiet)
        else:
            manifest = _convert_rows(local, described, index_base, size, overwrite)
    sizes = {"row": manifest.rows, "feature": manifest.features, "label": manifest.labels}
    text = ", ".join(count(number, noun) for noun, number in sizes.items())
    shards = count(len(manifest.shards), "shard")
    note(notes(quiet), "wrote", f"{asked.target}: {text} in {shards}")


def _describe(asked: Conversion) -> dict[str, Any]:
    """Return plain values by which the same conversion is known again."""
    found: dict[str, Any] = {"path": asked.source, "reading": asked.reading.plain()}
    found |= {"columns": [asked.categories, asked.numbers], "settings": list(asked.settings)}
    found["features_of"] = asked.features_of
    if os.path.exists(asked.source):
        state = os.stat(asked.source)
        found |= {"path": os.path.realpath(asked.source), "bytes": state.st_size}
        found["changed"] = state.st_mtime_ns
    return found


def _convert_rows(
    asked: Conversion, described: dict[str, Any], index_base: int | None, size: int, overwrite: bool
) -> Manifest:
    from rmls.cli.shared.data import load_data
    from rmls.datasets.store import open_store, write_store

    if asked.features_of is not None or asked.settings:
        flag = "--set" if asked.settings else "--features-of"
        raise InputError(f"{flag} is for tables of texts, and {asked.source} holds numbers.")
    dataset = load_data(asked.source, asked.reading.format, index_base, labels=False)
    write_store(dataset, asked.target, shard_rows=size, overwrite=overwrite, source=described)
    return open_store(asked.target).manifest


def _convert_texts(
    asked: Conversion, described: dict[str, Any], size: int, overwrite: bool, quiet: bool
) -> Manifest:
    from rmls.models.text.stored import store_texts

    if asked.source == "-":
        raise InputError("a store takes two passes over the texts; save them to a file first.")
    console = notes(quiet)
    features, fitted = _features(asked)
    return store_texts(
        _source(asked, described, features if fitted else None),
        asked.target,
        features,
        fitted=fitted,
        shard_rows=size,
        overwrite=overwrite,
        say=lambda title, text: note(console, title, text),
    )


def _source(
    asked: Conversion, described: dict[str, Any], features: TextFeatures | None
) -> TextSource:
    """Return the table; ``features`` are fitted ones that say which columns there are."""
    from rmls.models.text.stored import TextSource

    if features is not None:
        model = SimpleNamespace(features_=features)
        options = columns_of(model)
        return TextSource(
            lambda: asked.reading.iterate(asked.source, **options),
            described,
            lambda table: rows_for_model(model, table),
        )
    beside = {
        name.strip("-"): None if named is None else read_list(name, named)
        for name, named in (("--categories", asked.categories), ("--numbers", asked.numbers))
    }
    return TextSource(lambda: asked.reading.iterate(asked.source, **beside), described)


def _features(asked: Conversion) -> tuple[TextFeatures, bool]:
    """Return the text features to use, and whether they are fitted."""
    if asked.features_of is not None:
        if asked.settings or asked.categories or asked.numbers:
            raise InputError(
                "--features-of brings its own columns and parameters; drop the others."
            )
        found = fitted_features(asked.features_of)
        if found.vectors is not None or found.encoder is not None:
            raise InputError("a store holds no vectors beside the texts; use a model without them.")
        return found, True
    from rmls.cli.train.command import Given, parse_settings
    from rmls.cli.train.texts import text_parameters

    columns = (("--categories", asked.categories), ("--numbers", asked.numbers))
    given = [
        Given(flag, flag.strip("-"), json.dumps(read_list(flag, named)))
        for flag, named in columns
        if named is not None
    ]
    features, rest = text_parameters([*given, *parse_settings(asked.settings)])
    if rest and rest[0].name != "n_jobs":
        raise InputError(f"--set: text features have no parameter {rest[0].name!r}.")
    return features, False


def fitted_features(where: str) -> TextFeatures:
    """Return the text features of a model or a store."""
    if is_store_path(where):
        from rmls.datasets.store import open_store

        found = store_features(open_store(where))
        if found is None:
            raise InputError(f"{where} was not made of texts.")
        return found
    import rmls

    model = rmls.load(where)
    if not hasattr(model, "features_"):
        raise InputError(f"{where} was trained on features, not on texts.")
    fitted: TextFeatures = model.features_
    return fitted


def store_features(store: Store) -> TextFeatures | None:
    """Return the text features that made the rows of a store; None where texts did not."""
    from rmls.models.text.stored import load_features

    folder = store.text_folder
    return None if folder is None else load_features(folder)


def stored_tables(model: Any, where: str) -> Iterator[TextTable]:
    """Yield the rows of a store some at a time, in the form of tables without columns."""
    from rmls.datasets.store import open_store

    store = open_store(where)
    check_features(model, store)
    X, ids = store.X, store.ids
    for start in range(0, store.n_samples, BLOCK_ROWS):
        part = slice(start, min(start + BLOCK_ROWS, store.n_samples))
        names = list(range(part.start, part.stop)) if ids is None else ids[part]
        yield stored_table(names, X[part])


def stored_table(names: list[Any], X: Any) -> TextTable:
    """Return rows that are features already; what they are called stands for their texts."""
    from rmls.datasets.tables import TextTable

    table = TextTable(("row",), [(str(name),) for name in names], None, names)
    table.X = X  # type: ignore[attr-defined]
    return table


def check_features(model: Any, store: Store) -> None:
    """Refuse a store whose rows were made by other text features than those of a model."""
    from rmls.models.text.stored import same_features

    features = store_features(store)
    if features is None or not same_features(features, model.features_):
        raise InputError(
            f"{store.place} was made with other text features than the model; make it with "
            "rmls convert TEXTS OUT --store --features-of MODEL."
        )


def inner_model(model: Any, where: str) -> Any:
    """Return the estimator inside a model for texts, for the rows of a store."""
    from rmls.datasets.store import open_store

    check_features(model, open_store(where))
    estimator = model.estimator_
    # What was trained on is written down once, with the whole model.
    estimator.training_record_ = model.training_record_
    return estimator
