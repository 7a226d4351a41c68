"""Tables of texts whose faults are known, because they were put there."""

from __future__ import annotations

import numpy as np

from rmls.datasets.tables import TextTable

N_TOPICS = 12


def topic_table(n_rows: int, seed: int = 0, n_topics: int = N_TOPICS) -> TextTable:
    """Return texts of one or two topics; every topic has words of its own, which tell its label."""
    generator = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_rows):
        topics = generator.choice(n_topics, generator.integers(1, 3), replace=False)
        words = [f"topic{t}word{w}" for t in topics for w in generator.integers(20, size=8)]
        words += [f"common{w}" for w in generator.integers(300, size=8)]
        texts.append((" ".join(generator.permutation(words)),))
        labels.append([f"label {t}" for t in sorted(topics)])
    return TextTable(("text",), texts, labels)
