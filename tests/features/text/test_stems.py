"""Stems: the same from every thread."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from rmls.features.text.stems import stem_words

WORDS = [f"{'abcdefgh'[i % 8]}unning{'nesses'[: i % 7]}{'ations'[: i % 5]}" for i in range(400)]


@pytest.fixture
def impatient_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient_threads")
def test_threads_that_stem_at_the_same_time_do_not_disturb_each_other():
    wanted = stem_words("english")(WORDS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: stem_words("english")(WORDS), range(24)))
    assert all(stems == wanted for stems in found)
