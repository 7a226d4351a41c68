"""What looking up names costs, from thousands of labels to a million.

    python benchmarks/name_index.py [--labels 16000 100000 1000000]

Names of three words and rows of fifty, drawn from 200,000 words by Zipf's law. Prints the time of
the index, the time of a row (matches, the best 30 labels, the scores of a list of 150) and the size
of the index, in processor time of one thread, and each against the line before.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy import sparse

from rmls.models.ranker.label_words import LabelWords
from rmls.models.ranker.names import NameIndex, NameTrainer
from rmls.models.ranker.sources import Rows
from rmls.models.shared.training_set import TrainingSet

N_WORDS, N_ROWS, N_ASKED = 200_000, 2_000, 500
ROW_WORDS, NAME_WORDS, N_LISTED, N_FOUND = 50, 3, 150, 30


def draw_rows(rng: Any, n_rows: int, n_words: int) -> sparse.csr_matrix:
    """Return rows of so many words, frequent words more often."""
    chances = 1 / np.arange(1, N_WORDS + 1)
    words = rng.choice(N_WORDS, (n_rows, n_words), p=chances / chances.sum())
    ends = np.arange(0, n_rows * n_words + 1, n_words)
    rows = sparse.csr_matrix(
        (np.ones(words.size, np.float32), words.ravel(), ends), (n_rows, N_WORDS)
    )
    rows.sum_duplicates()
    rows.data[:] = 1
    return rows


def look_up(index: NameIndex, X: sparse.csr_matrix, listed: np.ndarray) -> None:
    seen = index.look(Rows(X))
    index.find(seen, N_FOUND)
    index.score(seen, listed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, nargs="+", default=[16_000, 100_000, 1_000_000])
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = draw_rows(rng, N_ROWS, ROW_WORDS)
    print("| labels | index, s | a row, ms | index, MB | against the line before |")
    print("|---|---|---|---|---|")
    before = None
    for n_labels in options.labels:
        names = LabelWords(
            draw_rows(rng, n_labels, NAME_WORDS), np.arange(n_labels, dtype=np.int32)
        )
        truth = (
            np.ones(N_ROWS, np.int32),
            rng.integers(0, n_labels, N_ROWS),
            np.arange(N_ROWS + 1),
        )
        Y = sparse.csr_matrix(truth, (N_ROWS, n_labels))
        data = TrainingSet.of(X, Y, np.ones(N_ROWS)).compact()
        listed = np.sort(rng.integers(0, n_labels, (N_ASKED, N_LISTED)).astype(np.int32), axis=1)
        # Compiled before it is measured.
        look_up(NameTrainer(names, n_labels).learn(data), X[:20], listed[:20])
        started = time.process_time()
        index = NameTrainer(names, n_labels).learn(data)
        learned = time.process_time()
        look_up(index, X[:N_ASKED], listed)
        asked = (time.process_time() - learned) / N_ASKED
        figures = np.array(
            [learned - started, 1000 * asked, sum(a.nbytes for a in index.arrays().values()) / 1e6]
        )
        ratios = "" if before is None else ", ".join(f"{ratio:.1f}" for ratio in figures / before)
        cells = " | ".join(f"{figure:.2f}" for figure in figures)
        print(f"| {n_labels:,} | {cells} | {ratios} |", flush=True)
        before = figures


if __name__ == "__main__":
    main()
