"""The estimators: one family per folder, one published method per file, imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmls.models.baselines.all_irrelevant import AllIrrelevant
    from rmls.models.baselines.most_frequent import MostFrequent
    from rmls.models.embedding.bmlpl import BMLPL
    from rmls.models.embedding.leml import LEML
    from rmls.models.embedding.wsabie import WSABIE
    from rmls.models.ensembles.cocoa import COCOA
    from rmls.models.ensembles.irus import IRUS
    from rmls.models.ensembles.reverse import ReverseMultiLabel
    from rmls.models.lsdr.binary_relevance import BinaryRelevance
    from rmls.models.lsdr.cplst import CPLST
    from rmls.models.lsdr.cs import CS
    from rmls.models.lsdr.cssp import CSSP
    from rmls.models.lsdr.faie import FaIE
    from rmls.models.lsdr.plst import PLST
    from rmls.models.neighbours.knn import KNN
    from rmls.models.neighbours.multi_window_knn import MultiWindowKNN
    from rmls.models.ranker.ranker import RMLSRanker
    from rmls.models.rmls.rmls import RMLS
    from rmls.models.text.text_ranker import TextRanker
    from rmls.models.wrappers.averaged import AveragedRMLS
    from rmls.models.wrappers.calibrated import Calibrated
    from rmls.models.wrappers.gfm import GFM
    from rmls.models.wrappers.resampled import Resampled

HOMES = {
    "BMLPL": "embedding.bmlpl",
    "COCOA": "ensembles.cocoa",
    "CPLST": "lsdr.cplst",
    "CS": "lsdr.cs",
    "CSSP": "lsdr.cssp",
    "GFM": "wrappers.gfm",
    "IRUS": "ensembles.irus",
    "KNN": "neighbours.knn",
    "LEML": "embedding.leml",
    "PLST": "lsdr.plst",
    "RMLS": "rmls.rmls",
    "WSABIE": "embedding.wsabie",
    "AllIrrelevant": "baselines.all_irrelevant",
    "AveragedRMLS": "wrappers.averaged",
    "BinaryRelevance": "lsdr.binary_relevance",
    "Calibrated": "wrappers.calibrated",
    "FaIE": "lsdr.faie",
    "MostFrequent": "baselines.most_frequent",
    "RMLSRanker": "ranker.ranker",
    "Resampled": "wrappers.resampled",
    "MultiWindowKNN": "neighbours.multi_window_knn",
    "ReverseMultiLabel": "ensembles.reverse",
    "TextRanker": "text.text_ranker",
}

# Estimators whose rows are texts; all others take numbers.
READS_TEXT = ("TextRanker",)

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
    "AveragedRMLS",
    "BinaryRelevance",
    "Calibrated",
    "FaIE",
    "MostFrequent",
    "MultiWindowKNN",
    "RMLSRanker",
    "Resampled",
    "ReverseMultiLabel",
    "TextRanker",
]


def __getattr__(name: str) -> Any:
    """Import an estimator on first use: a user of one pays for one."""
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
