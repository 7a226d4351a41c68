"""A pass laid out for a device: the labels and features of every batch, grouped by what they move.

A row of parameters moves once a batch, against the sum of its gradients. Which visits of a batch
touch which label and which feature is known before the pass begins, so that a sort brings all
visits of a row together: every row then collects its gradient from the visits, and nothing is
written by two of them at once. A pass is thus the same every time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from rmls.kernels.gpu.draws import Drawn, repeat
from rmls.kernels.gpu.rows import DeviceRows, Piece


class Groups(NamedTuple):
    """Rows of parameters that move in every batch, and the visits that move them.

    Batch b moves ``rows[batches[b]:batches[b + 1]]``; the g-th of all belongs to the places
    ``starts[g]:starts[g + 1]`` of ``visits``. ``order`` are the entries that the places came from.
    """

    batches: Any
    rows: Any
    starts: Any
    visits: Any
    order: Any


class Layout(NamedTuple):
    """Some batches of a pass.

    ``x`` are the features of the visits in their order. ``owners`` are the visits of the chosen
    labels, ``places`` is where the slope of each goes among the visits of the label groups;
    ``values`` are the feature values in the order of the feature groups.
    """

    n_visits: int
    batch_size: int
    x: DeviceRows
    weights: Any
    keys: Any
    rates: Any
    drawn: Drawn
    owners: Any
    places: Any
    labels: Groups
    features: Groups
    values: Any


def group_entries(visits: Any, rows: Any, batch_size: int, n_batches: int, n_rows: int) -> Groups:
    """Group entries, each a visit and the row of parameters it touches, by batch and row."""
    small = n_batches * n_rows < 2**31
    keys = torch.div(visits, batch_size, rounding_mode="floor") * n_rows + rows
    keys, order = keys.to(torch.int32 if small else torch.int64).sort(stable=True)
    first = torch.ones(len(keys) + 1, dtype=torch.bool, device=keys.device)
    torch.ne(keys[1:], keys[:-1], out=first[1:-1])
    starts = first.nonzero()[:, 0]
    found = keys[starts[:-1]].long()
    ends = torch.arange(n_batches + 1, device=keys.device) * n_rows
    return Groups(
        torch.searchsorted(found, ends).to(torch.int32),
        (found % n_rows).to(torch.int32),
        starts.to(torch.int32),
        visits[order].to(torch.int32),
        order,
    )


def lay_out(
    visits: tuple[Any, Any, Any], piece: Piece, drawn: Drawn, batch_size: int, shape: Any
) -> Layout:
    """Lay out the batches of some visits: weights, keys, and the rate of every batch.

    ``piece`` has the features of every visit, ``shape`` = (n_features, n_labels).
    """
    (weights, keys, rates), x = visits, piece.features
    n_visits, n_batches = len(weights), len(rates)
    owners, _ = repeat(drawn.indptr.diff())
    labels = group_entries(owners, drawn.labels, batch_size, n_batches, shape[1])
    places = torch.empty(len(labels.order), dtype=torch.int32, device=weights.device)
    places[labels.order] = torch.arange(len(places), dtype=torch.int32, device=weights.device)
    features = group_entries(piece.owners, x.indices, batch_size, n_batches, shape[0])
    values = x.data[features.order]
    drawn = drawn._replace(indptr=drawn.indptr.to(torch.int32))
    x = x._replace(indptr=x.indptr.to(torch.int32))
    return Layout(
        *(n_visits, batch_size, x, weights, keys, rates, drawn, owners),
        *(places, labels, features, values),
    )
