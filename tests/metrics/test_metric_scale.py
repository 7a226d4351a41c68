from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from rmls.core.ranking import Ranking
from rmls.core.sparse import label_counts
from rmls.metrics import evaluate

N_SAMPLES, N_LABELS, PER_ROW = 300, 2_000_000, 5


def random_ranking(seed: int) -> Ranking:
    generator = np.random.default_rng(seed)
    labels = np.sort(generator.integers(0, N_LABELS // PER_ROW, size=(N_SAMPLES, PER_ROW)))
    labels = labels * PER_ROW + np.arange(PER_ROW)
    scores = np.tile(np.linspace(1, 0, PER_ROW, dtype=np.float32), (N_SAMPLES, 1))
    return Ranking.from_table(labels.astype(np.int32), scores, N_LABELS)


@pytest.mark.slow
def test_two_million_labels_never_become_a_dense_matrix() -> None:
    truth: sparse.csr_matrix = random_ranking(0).to_sets()
    ranking = random_ranking(1)
    predicted = ranking.to_sets()
    counts = label_counts(truth)
    tracemalloc.start()
    report = evaluate(truth, predicted, ranking, ks=[1, 5], train_counts=counts, n_train=N_SAMPLES)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    a_dozen_vectors = 12 * 8 * N_LABELS
    assert peak < a_dozen_vectors < N_SAMPLES * N_LABELS
    assert report["hamming_loss"] > 0
