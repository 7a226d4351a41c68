"""Trials: what a change of the defaults says about rows, kept in files so that nothing is lost."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.files import replacing, write_text
from rmls.core.ranking import Ranking
from rmls.review.quality import Prediction

SEARCH = "search.json"


class Trial(NamedTuple):
    """One change of the defaults, fitted to some rows and asked about others.

    Attributes
    ----------
    seconds : float
        Of training and prediction.
    n_fitted : int
        Rows that were learned from, those of all folds together.
    predictions : dict of str to Prediction
        By the name of the option.
    """

    seconds: float
    n_fitted: int
    predictions: Mapping[str, Prediction]


class TrialStore:
    """Trials by their names: in memory, and in a folder where one is given.

    Parameters
    ----------
    folder : Path or None
        Made where it is not there. Every trial is a file that appears when it is complete, so that
        a search that was killed goes on with the next one.
    about : dict
        What the trials are about: those of another search are refused.
    """

    def __init__(self, folder: Path | None, about: dict[str, Any]) -> None:
        self.folder, self._kept = folder, dict[str, Trial]()
        self.n_found = 0
        if folder is None:
            return
        note = folder / SEARCH
        if note.is_file() and _read_note(note) != about:
            raise InputError(
                f"{folder} holds a search on other rows or for another metric; remove it, or give "
                "another folder."
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_text(note, json.dumps(about, indent=2))

    def get(self, name: str) -> Trial | None:
        """Return a trial that was made before."""
        if name not in self._kept and self.folder is not None:
            found = _read(self._path(name))
            if found is not None:
                self._kept[name] = found
                self.n_found += 1
        return self._kept.get(name)

    def put(self, name: str, trial: Trial) -> None:
        """Keep a trial."""
        self._kept[name] = trial
        if self.folder is not None:
            with replacing(self._path(name)) as stream:
                np.savez_compressed(stream, **_arrays(trial))  # type: ignore[arg-type]

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"trial-{hashlib.sha256(name.encode()).hexdigest()[:16]}.npz"


def _read_note(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError:
        return None


def _arrays(trial: Trial) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {
        "about": np.array([trial.seconds, trial.n_fitted], np.float64)
    }
    for number, prediction in enumerate(trial.predictions.values()):
        ranking, sets = prediction.ranking, prediction.sets
        found |= {
            f"{number}.name": np.frombuffer(prediction.name.encode() or b"\0", np.uint8),
            f"{number}.shape": np.array(sets.shape, np.int64),
            f"{number}.bounds": ranking.indptr,
            f"{number}.labels": ranking.labels,
            f"{number}.set_bounds": sets.indptr.astype(np.int64),
            f"{number}.set_labels": sets.indices.astype(np.int32),
            f"{number}.set_counts": sets.data.astype(np.int32),
        }
    return found


def _read(path: Path) -> Trial | None:
    """Return a trial from its file; None where there is none that can be read."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (OSError, ValueError, zipfile.BadZipFile):
        return None
    seconds, n_fitted = arrays["about"].tolist()
    predictions = {}
    for number in range(sum(name.endswith(".name") for name in arrays)):
        part = {
            name.partition(".")[2]: array
            for name, array in arrays.items()
            if name.startswith(f"{number}.")
        }
        name = part["name"].tobytes().decode().strip("\0")
        shape = tuple(part["shape"].tolist())
        # Only the order of a list is looked at again.
        scores = np.zeros(len(part["labels"]), np.float32)
        ranking = Ranking(part["bounds"], part["labels"], scores, shape[1])
        entries = (part["set_counts"], part["set_labels"], part["set_bounds"])
        predictions[name] = Prediction(name, ranking, sparse.csr_matrix(entries, shape))
    return Trial(seconds, int(n_fitted), predictions)
