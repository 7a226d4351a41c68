"""Damaged model folders: refused in one sentence, or a model that gives finite answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rmls
from rmls.core.errors import RmlsError

from ..cases import Case, Kind
from ..mutate import Draw, damage, mutate
from .estimators import ESTIMATORS, make, toy_data

CODES = {
    "bool": "BOOL",
    **{
        f"{sign}int{bits}": f"{'U' if sign else 'I'}{bits}"
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
}
ODD_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 10**6, 2**31, 2**31 - 1, 2**63, 10**30, 10**999),
    *(0.0, -0.0, 0.5, 1.5, -1.0, 1e-12, 1e-300, 1e300, -1e300, 5e-324),
    *("", "auto", "none", "l2", "RMLS", "float32", "object", "U500000000", "é", "a\nb", "x" * 5000),
    *(
        [],
        {},
        [0],
        [[]],
        [None],
        {"rule": "top_3"},
        {"rule": {}},
        {"estimator": "RMLS", "params": {}},
    ),
    *({"estimator": "KNN", "params": {"n_neighbors": 2}}, {"resampler": "MLROS", "params": {}}),
]
ODD_INTEGERS = [0, 1, -1, 2, 3, 5, 100, 10**6, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63)]
ODD_FLOATS = [0.0, -1.0, 1e-45, 1e-30, 1e30, 3e38, 1e300, np.nan, np.inf, -np.inf]


class Saved(NamedTuple):
    """A saved model in memory."""

    name: str
    manifest: dict[str, Any]
    arrays: dict[str, Any]
    files: dict[str, bytes]


def prepare(folder: Path) -> list[Saved]:
    """Fit and save every estimator, once for all workers."""
    saved = []
    X, Y = toy_data()
    variants: list[tuple[str, Any, Any]] = [
        *((name, make(name), Y) for name in ESTIMATORS),
        ("RMLS", make("RMLS", calibration="isotonic", decision="macro_f1"), Y),
        ("RMLSRanker", make("RMLSRanker", index="clusters", precision="int8"), Y),
        ("RMLSRanker", make("RMLSRanker", precision="int16", tail=1.0, n_models=2), Y),
        ("BinaryRelevance", make("BinaryRelevance", normalize="standardize"), Y.argmax(axis=1)),
        ("KNN", make("KNN"), [[f"l{at}" for at in np.flatnonzero(row)] for row in Y]),
        ("Calibrated", make("Calibrated", estimator=make("KNN"), calibration="platt"), Y),
        ("GFM", make("GFM", joint="pairs"), Y),
    ]
    for number, (name, model, y) in enumerate(variants):
        path = folder / f"{number}-{name}"
        if not path.exists():
            model.fit(X, y).save(path)
        saved.append(read_saved(name, path))
    path = folder / "named-RMLSRanker"
    if not path.exists():
        # Enough rows to hold some out, and a label without any.
        X, Y = toy_data(60)
        Y[:, 3] = 0
        make("RMLSRanker", shortlist_size=3).fit(X, Y, label_text=X[:4] > 0.5).save(path)
    # Twice, as it has most to damage.
    return [*saved, *[read_saved("RMLSRanker", path)] * 2, *[_later_labels(folder)] * 2]


def _later_labels(folder: Path) -> Saved:
    """Save a ranker that went on after its training."""
    path = folder / "later-RMLSRanker"
    if not path.exists():
        X, Y = toy_data(60)
        model = make("RMLSRanker", shortlist_size=3).fit(X, Y, label_text=X[: Y.shape[1]] > 0.5)
        model.add_labels(["a", "b"], X[:2] > 0.5, X[:3], [["a"], ["b"], ["a", "b"]])
        model.retire_labels([0]).save(path)
    return read_saved("RMLSRanker", path)


def read_saved(name: str, path: Path) -> Saved:
    files = {each: (path / each).read_bytes() for each in ("model.json", "arrays.safetensors")}
    content = files["arrays.safetensors"]
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    types = {code: dtype for dtype, code in CODES.items()}
    arrays = {
        key: np.frombuffer(data[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(
            entry["shape"]
        )
        for key, entry in header.items()
    }
    manifest = json.loads(files["model.json"])
    for key in ("arrays", "arrays_sha256", "sha256"):
        del manifest[key]
    return Saved(name, manifest, arrays, files)


def pack(
    manifest: dict[str, Any], arrays: dict[str, Any], draw: Draw | None = None
) -> dict[str, bytes]:
    """Return the two files with checksums that fit; ``draw`` spoils the header of the arrays."""
    ordered = sorted(arrays, key=lambda key: (-arrays[key].dtype.itemsize, key))
    header, data = {}, b""
    for key in ordered:
        array = arrays[key]
        content = array.tobytes()
        header[key] = {
            "dtype": CODES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    if draw is not None:
        entry = header[draw.choice(ordered)]
        field = draw.choice(list(entry))
        entry[field] = _odd_entry(entry[field], draw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    tensors = len(text).to_bytes(8, "little") + text + data
    listed = {
        key: {"dtype": arrays[key].dtype.name, "shape": header[key]["shape"]} for key in arrays
    }
    whole = {**manifest, "arrays": listed, "arrays_sha256": sha256(tensors).hexdigest()}
    lines = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in whole.items())
    body = ("{\n" + lines).encode()
    closing = f'"sha256": "{sha256(body).hexdigest()}"\n}}\n'
    return {"model.json": body + closing.encode(), "arrays.safetensors": tensors}


def _odd_entry(value: Any, draw: Draw) -> Any:
    if isinstance(value, str):
        return draw.choice(["F32", "I64", "BOOL", "I8", "F64", "BF16", 5, None])
    changed = [*value, 1] if draw.random() < 0.2 else list(value)
    if changed:
        changed[draw.randrange(len(changed))] = draw.choice([*ODD_INTEGERS, 1.0, "1", None, True])
    return changed


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, (dict, list)) and len(item) < 50:
            yield from _places(item, (*path, key))


def change_manifest(manifest: dict[str, Any], draw: Draw) -> dict[str, Any]:
    """Return the manifest with values replaced, taken out or taken from other places."""
    changed = json.loads(json.dumps(manifest))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        places = list(_places(changed))
        *parents, last = draw.choice(places)
        place = _at(changed, parents)
        way = draw.random()
        if way < 0.15:
            del place[last]
        elif way < 0.3:
            place[last] = json.loads(json.dumps(_at(changed, draw.choice(places))))
        elif way < 0.4 and isinstance(place[last], list):
            place[last] = draw.choice((place[last] * 2, place[last][:-1], place[last][::-1]))
        elif way < 0.5 and isinstance(place[last], (int, float)):
            place[last] = draw.choice(
                (place[last] + 1, place[last] - 1, -place[last], place[last] * 2)
            )
        else:
            # A copy: later changes may go inside.
            place[last] = deepcopy(draw.choice(ODD_VALUES))
    return changed


def _at(value: Any, path: Any) -> Any:
    for key in path:
        value = value[key]
    return value


def change_arrays(arrays: dict[str, Any], draw: Draw) -> dict[str, Any]:
    """Return the arrays, one or two of them with other values, types or shapes."""
    changed = dict(arrays)
    for _ in range(draw.choice((1, 1, 2))):
        name = draw.choice(list(changed))
        array = changed[name]
        way = draw.random()
        if way < 0.05:
            del changed[name]
        elif way < 0.15:
            changed[name] = _cast(array, draw.choice(list(CODES)))
        elif way < 0.3:
            changed[name] = _reshaped(array, draw)
        elif way < 0.35:
            changed[name] = changed[draw.choice(list(changed))]
        else:
            changed[name] = _odd_values(array, draw)
        if not changed:
            return dict(arrays)
    return changed


def _cast(array: Any, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _reshaped(array: Any, draw: Draw) -> Any:
    if array.ndim == 0:
        return array.reshape(1)
    return draw.choice(
        (
            array[:-1],
            array[1:],
            np.concatenate([array, array]),
            array.T,
            array.ravel(),
            array[None],
            array[:0],
        )
    )


def _odd_values(array: Any, draw: Draw) -> Any:
    changed = np.array(array).ravel()
    if not changed.size:
        return array
    pool = ODD_FLOATS if changed.dtype.kind == "f" else ODD_INTEGERS
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(changed.size)
        # The ends of row pointers and the first of many are the most telling.
        at = draw.choice((at, at, 0, changed.size - 1))
        with np.errstate(all="ignore"):
            changed[at] = np.asarray(draw.choice(pool)).astype(changed.dtype)
    if draw.random() < 0.1:
        draw_order = list(range(changed.size))
        draw.shuffle(draw_order)
        changed = changed[draw_order]
    return changed.reshape(array.shape)


def write_damaged(saved: Saved, folder: Path, draw: Draw) -> str:
    """Write a damaged model and return how it was damaged."""
    folder.mkdir()
    level = draw.choice(
        ("manifest", "manifest", "arrays", "arrays", "both", "header", "bytes", "text")
    )
    files = dict(saved.files)
    if level in ("manifest", "arrays", "both", "header"):
        manifest = (
            saved.manifest
            if level in ("arrays", "header")
            else change_manifest(saved.manifest, draw)
        )
        arrays = (
            saved.arrays if level in ("manifest", "header") else change_arrays(saved.arrays, draw)
        )
        files = pack(manifest, arrays, draw if level == "header" else None)
    elif level == "bytes":
        name = draw.choice(list(files))
        files[name] = damage(files[name], draw)
    else:
        body = mutate(files["model.json"].rpartition(b'"sha256"')[0], draw)
        closing = f'"sha256": "{sha256(body).hexdigest()}"\n}}\n'
        files["model.json"] = body + closing.encode()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return level


def run(case: Case) -> None:
    saved: Saved = case.random.choice(case.prepared)
    path = case.folder / "model"
    level = write_damaged(saved, path, case.random)
    try:
        model = rmls.load(path)
    except Exception as error:
        if case.allowed(error) and not isinstance(error, RmlsError):
            case.report(f"no error of ours: {type(error).__name__}", str(error))
        return
    if level == "bytes" and any(
        (path / name).read_bytes() != text for name, text in saved.files.items()
    ):
        case.report("wrong load: damaged bytes", saved.name)
    use(case, model, path)


def use(case: Case, model: Any, path: Path) -> None:
    """Ask a model everything; answers are finite numbers, or an error in one sentence."""
    n_features = model.n_features_in_
    if n_features > 10**5:
        return
    X = np.abs(np.random.default_rng(case.number).normal(size=(3, n_features))).astype(np.float32)
    name = type(model).__name__
    case.attempt(model.predict, X)
    ranking = case.attempt(model.rank, X, 3)
    answers = {"rank": None if ranking is None else ranking.scores}
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            answers[method] = case.attempt(getattr(model, method), X)
    for method, answer in answers.items():
        if answer is not None and not np.isfinite(np.asarray(answer)).all():
            case.report(f"not finite: {name}.{method}", str(np.asarray(answer).ravel()[:5]))
    again = path.with_name("again")
    case.attempt(model.save, again)
    if again.exists():
        try:
            rmls.load(again)
        except Exception as error:
            case.report(f"saved but not loaded: {name}", str(error))


KINDS = [Kind("archive", "archives", run, prepare)]
