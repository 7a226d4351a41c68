"""A saved model that a process opens once, whatever asks for it."""

from __future__ import annotations

from functools import lru_cache

from rmls.models.shared.estimator import MultiLabelEstimator
from rmls.models.shared.model_archive import load_model


@lru_cache(maxsize=4)
def load_once(path: str) -> MultiLabelEstimator:
    """Return the model in a folder, opened when this process asks for it first.

    For functions that engines such as Dask or Spark send to their workers: processes of one machine
    share the pages of its files.

    Examples
    --------
    >>> import tempfile
    >>> from rmls import MostFrequent, load_once
    >>> folder = f"{tempfile.mkdtemp()}/model"
    >>> MostFrequent().fit([[1], [0]], [["tax"], ["law"]]).save(folder)
    >>> load_once(folder) is load_once(folder)
    True
    """
    return load_model(path)
