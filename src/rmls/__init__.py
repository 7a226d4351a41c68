"""Classification with many labels, most of them rare.

>>> from rmls import RMLS
>>> model = RMLS(n_components=8, max_iter=50).fit([[1, 0], [0, 1]], [["tax"], ["law"]])
>>> model.predict([[0, 1]])
[['law']]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rmls.core.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from rmls.core.label_text import LabelText
    from rmls.datasets import Dataset, make_longtail
    from rmls.imbalance import LPROS, LPRUS, MLROS, MLRUS, MLSMOTE, REMEDIAL
    from rmls.metrics import evaluate
    from rmls.models import (
        BMLPL,
        COCOA,
        CPLST,
        CS,
        CSSP,
        GFM,
        IRUS,
        KNN,
        LEML,
        PLST,
        RMLS,
        WSABIE,
        AllIrrelevant,
        AveragedRMLS,
        BinaryRelevance,
        Calibrated,
        FaIE,
        MostFrequent,
        MultiWindowKNN,
        Resampled,
        ReverseMultiLabel,
        RMLSRanker,
        TextRanker,
    )
    from rmls.models.shared.load_once import load_once
    from rmls.models.shared.model_archive import load_model as load
    from rmls.review import check_table, compare, review_model
    from rmls.tuning import tune

_HOME = {
    "AllIrrelevant": "rmls.models",
    "AveragedRMLS": "rmls.models",
    "BinaryRelevance": "rmls.models",
    "BMLPL": "rmls.models",
    "Calibrated": "rmls.models",
    "check_table": "rmls.review",
    "COCOA": "rmls.models",
    "compare": "rmls.review",
    "CPLST": "rmls.models",
    "CS": "rmls.models",
    "CSSP": "rmls.models",
    "Dataset": "rmls.datasets",
    "evaluate": "rmls.metrics",
    "FaIE": "rmls.models",
    "GFM": "rmls.models",
    "IRUS": "rmls.models",
    "KNN": "rmls.models",
    "LabelText": "rmls.core.label_text",
    "LEML": "rmls.models",
    "LPROS": "rmls.imbalance",
    "LPRUS": "rmls.imbalance",
    "load": "rmls.models.shared.model_archive:load_model",
    "load_once": "rmls.models.shared.load_once:load_once",
    "make_longtail": "rmls.datasets",
    "MLROS": "rmls.imbalance",
    "MLRUS": "rmls.imbalance",
    "MLSMOTE": "rmls.imbalance",
    "MostFrequent": "rmls.models",
    "MultiWindowKNN": "rmls.models",
    "PLST": "rmls.models",
    "REMEDIAL": "rmls.imbalance",
    "Resampled": "rmls.models",
    "ReverseMultiLabel": "rmls.models",
    "review_model": "rmls.review",
    "RMLS": "rmls.models",
    "RMLSRanker": "rmls.models",
    "TextRanker": "rmls.models",
    "tune": "rmls.tuning",
    "WSABIE": "rmls.models",
}

__all__ = [
    "BMLPL",
    "COCOA",
    "CPLST",
    "CS",
    "CSSP",
    "GFM",
    "IRUS",
    "KNN",
    "LEML",
    "LPROS",
    "LPRUS",
    "MLROS",
    "MLRUS",
    "MLSMOTE",
    "PLST",
    "REMEDIAL",
    "RMLS",
    "WSABIE",
    "AllIrrelevant",
    "AveragedRMLS",
    "BinaryRelevance",
    "Calibrated",
    "Dataset",
    "FaIE",
    "LabelText",
    "MostFrequent",
    "MultiWindowKNN",
    "RMLSRanker",
    "Resampled",
    "ReverseMultiLabel",
    "TextRanker",
    "check_table",
    "compare",
    "evaluate",
    "load",
    "load_once",
    "make_longtail",
    "review_model",
    "tune",
]


_PACKAGES = (
    "datasets",
    "decide",
    "exchange",
    "features",
    "imbalance",
    "metrics",
    "models",
    "review",
    "tuning",
)


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that the command line starts fast."""
    if name in _PACKAGES:
        return import_module(f"rmls.{name}")
    if name in _HOME:
        module, _, attribute = _HOME[name].partition(":")
        return getattr(import_module(module), attribute or name)
    raise AttributeError(f"module 'rmls' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_PACKAGES])
