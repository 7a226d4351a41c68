"""Read a study from a TOML file."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rmls.bench.study.grid import DataSource, Experiment, Study, field_names
from rmls.bench.study.methods import Method
from rmls.core.errors import InputError
from rmls.core.words import read_size

# The fields of the classes are the keys of the file; a new field can be set at once.
STUDY_KEYS = [*(name for name in field_names(Study) if name != "experiments"), "experiment"]
# Names stand in tables and in sentences.
MAX_TEXT = 1000
EXPERIMENT_KEYS = ["name", "datasets", "method"]


def load_study(path: str | Path) -> Study:
    """Read a study from a TOML file; ``docs/reference/bench.md`` describes the keys.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tiny.toml"
    >>> _ = path.write_text('''
    ... n_folds = 3
    ... [[experiment]]
    ... datasets = ["enron"]
    ... [[experiment.method]]
    ... method = "RMLS"
    ... params.n_components = [10, 20]
    ... ''')
    >>> study = load_study(path)
    >>> study.name, len(study.fits())
    ('tiny', 6)
    """
    path = Path(path)
    try:
        return _study(_read_toml(path), path)
    except InputError as error:
        # What the classes of a study refuse does not know of any file.
        text = str(error)
        raise InputError(text if str(path) in text else f"{path}: {text}") from None


def _study(values: dict[str, Any], path: Path) -> Study:
    _check_keys(values, STUDY_KEYS, f"{path}")
    _check_texts(values, ("name", "title"), f"{path}")
    experiments = _tables(values.pop("experiment", None), "experiment", path)
    if "memory_limit" in values:
        values["memory_limit"] = read_size("memory_limit", values["memory_limit"])
    for name in ("seeds", "only_folds"):
        if name in values:
            values[name] = tuple(_as_list(values[name]))
    values.setdefault("name", path.stem)
    return Study(experiments=tuple(_experiment(item, path) for item in experiments), **values)


def _read_toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; give the path of a TOML file.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.") from None
    try:
        return dict(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None


def _experiment(values: dict[str, Any], path: Path) -> Experiment:
    _check_keys(values, EXPERIMENT_KEYS, f"{path}, an experiment")
    _check_texts(values, ("name",), f"{path}, an experiment")
    methods = _tables(values.get("method"), "experiment.method", path)
    datasets = _as_list(values.get("datasets", []))
    if not datasets:
        raise InputError(f"{path}: an experiment has no datasets.")
    name = values.get("name", "methods")
    return Experiment(
        name,
        tuple(_dataset(item, path) for item in datasets),
        tuple(_method(item, name, path) for item in methods),
    )


def _dataset(value: Any, path: Path) -> DataSource:
    if isinstance(value, str):
        # A path is named by its file, without any of its endings.
        return DataSource(Path(value).name.partition(".")[0], source=value)
    if not isinstance(value, dict) or "name" not in value:
        raise InputError(f"{path}: a data set is a name or a table with a name; got {value!r}.")
    _check_texts(value, ("name", "source", "features", "note"), f"{path}, a data set")
    where = f"{path}, data set {value['name']}"
    _check_keys(value, field_names(DataSource), where)
    _check_values(value, "longtail", where)
    return DataSource(**value)


def _method(value: dict[str, Any], experiment: str, path: Path) -> Method:
    if "method" not in value:
        raise InputError(f'{path}: an [[experiment.method]] needs method = "RMLS" or another.')
    _check_texts(value, ("method", "label", "preset"), f"{path}, a method")
    where = f"{path}, method {value['method']}"
    _check_keys(value, field_names(Method), where)
    _check_values(value, "params", where)
    _check_values(value, "tune", where)
    decisions = tuple(str(item) for item in _as_list(value.get("decisions", [])))
    try:
        return Method(**{**value, "decisions": decisions})
    except InputError as error:
        # A method does not know where it stands.
        raise InputError(f"{path}, experiment {experiment!r}: {error}") from None


def _tables(value: Any, name: str, path: Path) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError(f"{path} needs at least one [[{name}]] table.")
    return value


def _check_keys(values: dict[str, Any], known: list[str], where: str) -> None:
    for name in values:
        if name not in known:
            raise InputError(f"{where}: unknown key {name!r}; known are {', '.join(known)}.")


def _check_texts(values: dict[str, Any], names: Sequence[str], where: str) -> None:
    for name in names:
        value = values.get(name, "")
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            raise InputError(f"{where}: {name} must be a text of at most {MAX_TEXT} letters.")


def _check_values(values: dict[str, Any], name: str, where: str) -> None:
    """Refuse what is no table of values that a result can hold."""
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{where}: {name} must be a table, such as {{ n_components = 25 }}.")
    for key, value in table.items():
        if not _is_plain(value):
            raise InputError(
                f"{where}: {name}.{key} must be a number, a text, true, false or a list of such."
            )


def _is_plain(value: Any) -> bool:
    """Tell whether JSON can hold a value, which dates and nan it cannot."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
