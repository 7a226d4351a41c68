"""Pairs of a label and a row, and the two products that linear classifiers need of them.

Rows are CSR with a column of ones behind the features, so that the last weight is the bias. The
weights of a label lie side by side. A part of a problem is a set of pairs with targets and costs:
`ListedPairs` names them one by one, `SharedRows` are the same rows for all labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from rmls.kernels.gpu.draws import repeat

# Non-zero features of pairs that the plain products look at at once.
CHUNK = 1 << 24


class Rows(NamedTuple):
    """CSR rows on a device with a column of ones behind the features.

    Columns of zeros stand between them, so that ``width`` is a multiple of eight: matrix units want
    rows that begin at round places.
    """

    indptr: Any
    indices: Any
    data: Any
    width: int

    @classmethod
    def of(cls, indptr: Any, indices: Any, data: Any, n_features: int) -> Rows:
        """Put the column of ones behind the features of every row."""
        n_rows = len(indptr) - 1
        counts = indptr.diff()
        owner, number = repeat(counts)
        # Row i moves by i places: each row before it has got one number more.
        places = indptr[owner] + number + owner
        ends = indptr[1:] + torch.arange(n_rows, device=indptr.device)
        new_indices = torch.empty(len(indices) + n_rows, dtype=torch.int32, device=indptr.device)
        new_data = torch.empty(len(data) + n_rows, dtype=torch.float32, device=indptr.device)
        new_indices[places], new_data[places] = indices.to(torch.int32), data.to(torch.float32)
        width = -(-(n_features + 1) // 8) * 8
        new_indices[ends], new_data[ends] = width - 1, 1.0
        new_indptr = indptr + torch.arange(n_rows + 1, device=indptr.device)
        return cls(new_indptr, new_indices, new_data, width)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def dense(self, rows: Any) -> Any:
        """Return some rows as a dense table."""
        owner, number = repeat(self.indptr[rows + 1] - self.indptr[rows])
        entries = self.indptr[rows][owner] + number
        table = torch.zeros((len(rows), self.width), device=self.data.device)
        table[owner, self.indices[entries].long()] = self.data[entries]
        return table

    def expand(self, rows: Any) -> tuple[Any, Any, Any]:
        """Return owner, column and value of every non-zero number of some rows."""
        owner, number = repeat(self.indptr[rows + 1] - self.indptr[rows])
        entries = self.indptr[rows][owner] + number
        return owner, self.indices[entries].long(), self.data[entries]


class ListedPairs:
    """Pairs in the order of their labels; ``labels`` and ``rows`` name them."""

    def __init__(
        self,
        X: Rows,
        labels: Any,
        rows: Any,
        targets: Any,
        costs: Any,
        n_labels: int,
        offsets: Any = None,
    ) -> None:
        self.X, self.labels, self.rows, self.n_labels = X, labels, rows, n_labels
        self.targets, self.costs, self.offsets = targets, costs, offsets
        numbers = torch.arange(n_labels + 1, device=labels.device, dtype=labels.dtype)
        self.indptr = torch.searchsorted(labels, numbers)

    def margins(self, W: Any) -> Any:
        """Return the score of every pair, with what is given beside the weights."""
        scores = self.products(W)
        return scores if self.offsets is None else scores + self.offsets

    def products(self, V: Any) -> Any:
        """Return ``v_j . x_i`` of every pair."""
        if V.is_cuda:
            from rmls.kernels.gpu.fused_pairs import products

            return products(self, V)
        out = torch.zeros(len(self.rows), device=V.device)
        flat = V.reshape(-1)
        for part in self._chunks():
            owner, column, value = self.X.expand(self.rows[part].long())
            places = self.labels[part].long()[owner] * self.X.width + column
            out[part].index_add_(0, owner, value * flat[places])
        return out

    def add(self, values: Any, out: Any) -> None:
        """Add ``value x_i`` of every pair to the row of ``out`` of its label."""
        if out.is_cuda:
            from rmls.kernels.gpu.fused_pairs import add

            add(self, values, out)
            return
        flat = out.view(-1)
        for part in self._chunks():
            owner, column, value = self.X.expand(self.rows[part].long())
            places = self.labels[part].long()[owner] * self.X.width + column
            flat.index_add_(0, places, value * values[part][owner])

    def add_curved(self, curvature: Any, V: Any, out: Any, live: Any) -> None:
        """Add ``curvature (v_j . x_i) x_i`` of every pair of a live label to ``out``."""
        if V.is_cuda:
            from rmls.kernels.gpu.fused_pairs import add_curved

            add_curved(self, curvature, V, out, live)
        else:
            self.add(curvature * self.products(V) * live[self.labels.long()], out)

    def _chunks(self) -> list[slice]:
        size = max(1, CHUNK * self.X.n_rows // max(len(self.X.data), 1))
        return [slice(at, at + size) for at in range(0, len(self.rows), size)]

    def sums(self, values: Any) -> Any:
        """Return the sum of values of every label."""
        # Differences of a running sum, which float32 would not have the digits for.
        total = torch.zeros(len(values) + 1, dtype=torch.float64, device=values.device)
        torch.cumsum(values, 0, dtype=torch.float64, out=total[1:])
        return (total[self.indptr[1:]] - total[self.indptr[:-1]]).to(torch.float32)

    def spread(self, values: Any) -> Any:
        """Return for every pair the value of its label."""
        return values[self.labels.long()]

    def take(self, kept: Any) -> ListedPairs:
        """Return the marked pairs."""
        places = kept.nonzero()[:, 0]
        labels, rows = self.labels[places], self.rows[places]
        given = (labels, rows, self.targets[places], self.costs[places])
        offsets = None if self.offsets is None else self.offsets[places]
        return ListedPairs(self.X, *given, self.n_labels, offsets)


class SharedRows:
    """The same rows for all labels, as a dense table: targets and costs have a row a label.

    They stand for others, so that eight bits of every factor are enough: sums are float32.
    """

    def __init__(self, table: Any, targets: Any, costs: Any) -> None:
        self.kind = torch.bfloat16 if table.is_cuda else torch.float32
        self.table, self.targets, self.costs = table.to(self.kind), targets, costs

    def margins(self, W: Any) -> Any:
        """Return the score of every label and row."""
        return self.products(W)

    def products(self, V: Any) -> Any:
        """Return ``v_j . x_i`` of every label and row."""
        return (V.to(self.kind) @ self.table.T).to(torch.float32)

    def add(self, values: Any, out: Any) -> None:
        """Add the rows times their values to every label."""
        out += values.to(self.kind) @ self.table

    def add_curved(self, curvature: Any, V: Any, out: Any, live: Any) -> None:
        """Add ``curvature (v_j . x_i) x_i`` of every pair to ``out``."""
        self.add(curvature * self.products(V), out)

    def sums(self, values: Any) -> Any:
        """Return the sum of values of every label."""
        return values.sum(dim=1)

    def spread(self, values: Any) -> Any:
        """Return the value of every label, for all of its rows."""
        return values[:, None]

    def take(self, kept: Any) -> SharedRows:
        """Return the same rows; pairs that are not kept have no cost."""
        return SharedRows(self.table, self.targets, torch.where(kept, self.costs, 0.0))
