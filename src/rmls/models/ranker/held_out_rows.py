"""Which rows the combination is learned from, and by how many models they are scored."""

from __future__ import annotations

from rmls.core.options import is_auto
from rmls.models.shared.training_set import TrainingSet, count_folds

# Below, a tenth of the rows is too few to learn the combination from (docs/research/ranker.md).
CROSS_FIT_ROWS = 5_000
MIN_ROWS = 30
# Times 150 listed labels, plenty of pairs for the 30 coefficients of the combination.
HELD_OUT_ROWS = 2_000
# Labels that all fit into a list have rows enough for models of half of them
# (docs/research/accuracy-log.md); where there are more, rare ones would miss the other half.
FEW_LABELS = 150
ROWS_FOR_TWO_FOLDS = 1_000


def split_rows(
    data: TrainingSet, folds: int | str, fraction: float, seed: int
) -> tuple[TrainingSet, int]:
    """Return the set, with rows held out where there are no folds, and the number of folds."""
    n_folds = count_folds(folds, data.n_rows, CROSS_FIT_ROWS)
    # Too few to leave any out: the combination has to trust the scores of training rows.
    if data.n_rows < MIN_ROWS:
        return data, 0
    if not n_folds:
        return data.hold_out(min(fraction, HELD_OUT_ROWS / data.n_rows), seed), 0
    is_easy = data.n_labels <= FEW_LABELS and data.n_rows > ROWS_FOR_TWO_FOLDS
    return data, 2 if is_auto(folds) and is_easy else n_folds
