"""Rankings as Arrow tables, for Parquet files and programs that read Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from rmls.core.optional import import_extra
from rmls.core.ranking import Ranking


def to_arrow(ranking: Ranking, ids: Any = None) -> Any:
    """Return a ranking as a table with a line for every row and label, best first.

    Parameters
    ----------
    ranking : Ranking
        What ``model.rank`` or ``model.rank_sets`` gives.
    ids : sequence, optional
        What the rows are called; their numbers without it.

    Returns
    -------
    pyarrow.Table
        With the columns ``row``, ``rank`` (from 1), ``label``, ``score`` and ``probability``, which
        is null where the model has none. Labels are stored once each (dictionary-encoded).
    """
    arrow = import_extra("pyarrow", "tables", "Arrow")
    rows: Any = ranking.rows
    if ids is not None:
        rows = arrow.array(list(ids)).take(arrow.array(rows))
    used, places = np.unique(ranking.labels, return_inverse=True)
    names = used.tolist() if ranking.names is None else [ranking.names[label] for label in used]
    plain = [name.item() if isinstance(name, np.generic) else name for name in names]
    chances = ranking.probabilities
    return arrow.table(
        {
            "row": rows,
            "rank": (ranking.positions + 1).astype(np.int32),
            "label": arrow.DictionaryArray.from_arrays(
                arrow.array(places.astype(np.int32)), arrow.array(plain)
            ),
            "score": ranking.scores,
            "probability": (
                arrow.nulls(len(ranking.labels), arrow.float32()) if chances is None else chances
            ),
        }
    )
