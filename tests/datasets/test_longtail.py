"""The generator: sizes, tail, determinism, and that there is something to learn."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from rmls.core.errors import InputError
from rmls.core.sparse import label_counts
from rmls.datasets import make_longtail


def test_the_same_seed_gives_the_same_data_and_another_does_not():
    one, two, other = (make_longtail(100, 80, 30, random_state=seed) for seed in (1, 1, 2))
    assert (one.X != two.X).nnz == 0
    assert (one.Y != two.Y).nnz == 0
    assert (one.Y != other.Y).nnz > 0


@pytest.mark.parametrize("labels_per_row", [0.5, 1.0, 3.0, 20.0])
def test_rows_have_the_asked_number_of_labels_on_average(labels_per_row):
    data = make_longtail(2000, 100, 400, labels_per_row=labels_per_row)
    assert data.Y.nnz / 2000 == pytest.approx(labels_per_row, rel=0.1)


def test_every_label_has_a_positive_among_the_training_rows():
    data = make_longtail(500, 300, 1500, labels_per_row=5.0)
    assert label_counts(data.train.Y).min() >= 1


def test_frequencies_fall_as_a_power_law():
    counts = np.sort(label_counts(make_longtail(20000, 200, 1000, labels_per_row=3.0).Y))[::-1]
    ranks = np.array([10, 30, 100, 300])
    slope = np.polyfit(np.log(ranks), np.log(counts[ranks]), 1)[0]
    assert -1.4 < slope < -0.6
    assert counts[0] > 50 * np.median(counts)


def test_labels_of_a_topic_occur_together():
    data = make_longtail(3000, 200, 60, labels_per_row=4.0, exponent=0.5, n_topics=6)
    together = (data.Y.T @ data.Y).toarray().astype(float)
    np.fill_diagonal(together, 0)
    counts = label_counts(data.Y)
    lift = together * 3000 / np.outer(counts, counts)
    best_partners = np.sort(lift, axis=1)[:, -5:]
    assert np.median(best_partners) > 2.0


def test_words_tell_the_labels_even_of_the_tail():
    data = make_longtail(2000, 1500, 100, labels_per_row=2.0)
    train, test = data.train, data.test
    profile = np.asarray((train.Y.T @ train.X).todense(), dtype=float)
    profile *= np.log(train.n_samples / (1 + label_counts(train.X)))
    profile /= np.linalg.norm(profile, axis=1, keepdims=True) + 1e-12
    best = np.asarray(test.X @ profile.T).argmax(axis=1)
    hits = np.asarray(test.Y[np.arange(test.n_samples), best]).ravel()
    tail = label_counts(train.Y)[best] <= np.median(label_counts(train.Y))
    assert hits.mean() > 0.5
    assert hits[tail].mean() > 0.25


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1, 5), (5, 3, 1), (3, 200, 50)])
def test_tiny_sizes_work(sizes):
    data = make_longtail(*sizes)
    assert (data.n_samples, data.n_features, data.n_labels) == sizes


def test_the_size_of_wiki_takes_seconds_and_no_dense_matrix():
    tracemalloc.start()
    start = time.process_time()
    data = make_longtail(28596, 23495, 50341)
    seconds = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.Y.shape == (28596, 50341)
    assert seconds < 30
    assert peak < 400e6


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"m": 0}, "m must be a whole number of at least 1; got 0."),
        ({"noise": 1.5}, "noise must lie in"),
        ({"labels_per_row": 0}, "must be positive"),
    ],
)
def test_wrong_arguments_give_one_sentence(options, sentence):
    with pytest.raises(InputError) as caught:
        make_longtail(**({"n": 10, "d": 10, "m": 5} | options))
    assert sentence in str(caught.value)
