"""Smaller sets of other kinds, made of the ones that are there: files for ``make peers``.

    RMLS_DATA=folder python benchmarks/peers/derived.py out/derived

* images: 5,625 rows of delicious, and the 374 labels that follow its 50 most frequent ones.
* vectors: 6,100 rows of cooking as 300 dense numbers, the leading singular vectors of its tf-idf
  rows, and the 159 most frequent labels.
* questions: 10,400 tf-idf rows of cooking, and the 392 most frequent labels.

Four fifths of the rows train.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from rmls.core.sparse import label_counts
from rmls.datasets import Dataset, load, save


def draw(name: str, data: Dataset, n_rows: int, frequent: slice, X: sparse.csr_matrix) -> Dataset:
    """Return some rows with other features, and the labels of some ranks by frequency."""
    rows = np.random.default_rng(3).permutation(data.n_samples)[:n_rows]
    labels = np.argsort(-label_counts(data.Y), kind="stable")[frequent]
    return Dataset(X[rows], data.Y[rows][:, labels], n_train=n_rows * 4 // 5, name=name)


def derive() -> Iterator[Dataset]:
    """Yield the sets."""
    images = load("delicious")
    yield draw("images", images, 5_625, slice(50, 424), images.X)
    questions = load("cooking")
    words = TfidfTransformer(sublinear_tf=True).fit_transform(questions.X).tocsr()
    vectors = TruncatedSVD(300, random_state=0).fit_transform(words).astype(np.float32)
    yield draw("vectors", questions, 6_100, slice(159), sparse.csr_matrix(vectors))
    yield draw("questions", questions, 10_400, slice(392), words)


def main() -> None:
    """Write a file for every set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for data in derive():
        save(data, folder / f"{data.name}.npz")
        print(folder / f"{data.name}.npz", data, sep="  ")


if __name__ == "__main__":
    main()
