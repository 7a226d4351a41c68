"""The estimators: one published method per file."""

from rmls.models.baseline import AllIrrelevant
from rmls.models.binary_relevance import BinaryRelevance
from rmls.models.bmlpl import BMLPL
from rmls.models.cplst import CPLST
from rmls.models.cs import CS
from rmls.models.cssp import CSSP
from rmls.models.faie import FaIE
from rmls.models.frequent import MostFrequent
from rmls.models.leml import LEML
from rmls.models.neighbours import KNN
from rmls.models.plst import PLST
from rmls.models.rmls import RMLS
from rmls.models.wsabie import WSABIE

__all__ = [
    "BMLPL",
    "CPLST",
    "CS",
    "CSSP",
    "KNN",
    "LEML",
    "PLST",
    "RMLS",
    "WSABIE",
    "AllIrrelevant",
    "BinaryRelevance",
    "FaIE",
    "MostFrequent",
]
