"""Work spread over machines: one small interface, by threads of this machine or by Ray.

Nothing here knows of models. Ray is imported when an address asks for it.
"""

from rmls.cluster.engine import Engine, NodeUsage, Shared, Usage, open_cluster, watching
from rmls.cluster.keeping import Keeper, current_keeper, keeping

__all__ = [
    "Engine",
    "Keeper",
    "NodeUsage",
    "Shared",
    "Usage",
    "current_keeper",
    "keeping",
    "open_cluster",
    "watching",
]
