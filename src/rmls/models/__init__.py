"""The estimators: one published method per file, imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmls.models.baseline import AllIrrelevant
    from rmls.models.binary_relevance import BinaryRelevance
    from rmls.models.bmlpl import BMLPL
    from rmls.models.calibrated import Calibrated
    from rmls.models.cocoa import COCOA
    from rmls.models.cplst import CPLST
    from rmls.models.cs import CS
    from rmls.models.cssp import CSSP
    from rmls.models.faie import FaIE
    from rmls.models.frequent import MostFrequent
    from rmls.models.gfm import GFM
    from rmls.models.irus import IRUS
    from rmls.models.leml import LEML
    from rmls.models.multi_window import MultiWindowKNN
    from rmls.models.neighbours import KNN
    from rmls.models.plst import PLST
    from rmls.models.ranker import RMLSRanker
    from rmls.models.resampled import Resampled
    from rmls.models.reverse import ReverseMultiLabel
    from rmls.models.rmls import RMLS
    from rmls.models.wsabie import WSABIE

_HOME = {
    "BMLPL": "bmlpl",
    "COCOA": "cocoa",
    "CPLST": "cplst",
    "CS": "cs",
    "CSSP": "cssp",
    "GFM": "gfm",
    "IRUS": "irus",
    "KNN": "neighbours",
    "LEML": "leml",
    "PLST": "plst",
    "RMLS": "rmls",
    "WSABIE": "wsabie",
    "AllIrrelevant": "baseline",
    "BinaryRelevance": "binary_relevance",
    "Calibrated": "calibrated",
    "FaIE": "faie",
    "MostFrequent": "frequent",
    "RMLSRanker": "ranker",
    "Resampled": "resampled",
    "MultiWindowKNN": "multi_window",
    "ReverseMultiLabel": "reverse",
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
    "PLST",
    "RMLS",
    "WSABIE",
    "AllIrrelevant",
    "BinaryRelevance",
    "Calibrated",
    "FaIE",
    "MostFrequent",
    "MultiWindowKNN",
    "RMLSRanker",
    "Resampled",
    "ReverseMultiLabel",
]


def __getattr__(name: str) -> Any:
    """Import an estimator on first use: a user of one pays for one."""
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
