"""Forms of one word, told by the endings that many words of the texts take by turns.

For languages without a stemmer. Nothing is known of the language: where "lampy" and "lamp" stand
beside "chat" and "chaty" and many others, "" and "y" are endings. The idea is that of GRAS (Paik,
Mitra, Parui and Järvelin, 2011); what follows, and the constants, are ours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

Pair = tuple[str, str]

# Shorter beginnings are shared by words that have nothing to do with one another.
MIN_BEGINNING = 3
MAX_ENDING = 6
# Two endings belong together where so many words take both: of all words, and at least.
MIN_SHARE, MIN_PAIRS = 0.004, 10
# A form joins a word that has so many of the form's other forms.
MIN_COHESION = 0.7
# Of fewer words, or of made-up ones, what looks like an ending may be none.
MIN_WORDS = 1_000
# The most frequent words show the endings of a language; the time grows with their square.
MOST_WORDS = 20_000


@dataclass(frozen=True)
class Endings:
    """Pairs of endings that words take by turns.

    Attributes
    ----------
    pairs : dict
        How many words take both, for every pair; the two are in the order of the alphabet.
    """

    pairs: dict[Pair, int]

    @classmethod
    def learn(cls, words: Sequence[str]) -> Endings:
        """Count the endings of distinct words and keep those that are frequent.

        Examples
        --------
        >>> words = "lamp book door wall tree ship roof song bird hand".split()
        >>> Endings.learn([*words, *(word + "s" for word in words)]).pairs
        {('', 's'): 10}
        """
        some = _plain(words)[:MOST_WORDS]
        counts = Counter(pair for _, _, pair in _neighbours(some))
        least = max(MIN_PAIRS, MIN_SHARE * len(some))
        return cls({pair: count for pair, count in sorted(counts.items()) if count >= least})

    @cached_property
    def turns(self) -> dict[str, list[tuple[str, int]]]:
        """The endings that may stand for an ending, the likeliest first."""
        turns: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for (one, other), count in self.pairs.items():
            turns[one].append((other, count))
            turns[other].append((one, count))
        return {ending: sorted(found, key=_likeliest) for ending, found in turns.items()}

    def forms(self, word: str) -> list[str]:
        """Return the other forms that a word may have, the likeliest first.

        Examples
        --------
        >>> Endings({("", "s"): 40, ("ies", "y"): 9}).forms("ponies")
        ['ponie', 'poniess', 'pony']
        """
        found: list[tuple[str, int]] = []
        for cut in range(_shortest(word), len(word) + 1):
            beginning, ending = word[:cut], word[cut:]
            turns = self.turns.get(ending, ()) if len(ending) <= MAX_ENDING else ()
            found += [(beginning + other, count) for other, count in turns]
        return [form for form, _ in sorted(found, key=_likeliest)]

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return for every distinct word the one that stands for all its forms.

        The first words are grouped; of the others each joins the first of its forms that is there.
        """
        first = _plain(words)[:MOST_WORDS]
        stem = self._group(first)
        known = set(first)
        for word in words:
            if word not in known and word.isalpha():
                form = next((form for form in self.forms(word) if form in known), word)
                stem[word] = stem.get(form, form)
        return [stem.get(word, word) for word in words]

    def _group(self, words: Sequence[str]) -> dict[str, str]:
        near: dict[str, dict[str, int]] = defaultdict(dict)
        for one, other, pair in _neighbours(words):
            if count := self.pairs.get(pair):
                near[one][other] = near[other][one] = count
        stem: dict[str, str] = {}
        # A word of many forms is the root of most of them; its forms are then no root of others.
        for root in sorted(near, key=lambda word: (-len(near[word]), word)):
            if root in stem:
                continue
            stem[root] = root
            forms = {form for form in near[root] if form not in stem}
            for form in sorted(forms):
                others = [other for other in near[form] if other == root or other not in stem]
                shared = 1 + sum(other in forms for other in others)
                if shared >= MIN_COHESION * len(others):
                    stem[form] = root
        return stem


def _plain(words: Sequence[str]) -> list[str]:
    return [word for word in words if len(word) >= MIN_BEGINNING and word.isalpha()]


def _likeliest(form: tuple[str, int]) -> tuple[int, str]:
    return -form[1], form[0]


def _shortest(word: str) -> int:
    """Return how many letters the beginning of a word has at least: half of them."""
    return max(MIN_BEGINNING, (len(word) + 1) // 2)


def _shared(one: str, other: str) -> int:
    """Return how many letters two words begin with alike."""
    letters = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(letters) if a != b), len(one))


def _neighbours(words: Sequence[str]) -> Iterator[tuple[str, str, Pair]]:
    """Yield words that share their beginning, two and two, with what follows it in both."""
    for _, group in groupby(sorted(words), key=lambda word: word[:MIN_BEGINNING]):
        alike = list(group)
        for place, one in enumerate(alike):
            least = _shortest(one)
            for other in alike[place + 1 :]:
                # Sorted: those that share less stand behind.
                if not other.startswith(one[:least]):
                    break
                cut = _shared(one, other)
                if cut >= _shortest(other) and len(other) - cut <= MAX_ENDING:
                    yield one, other, (one[cut:], other[cut:])
