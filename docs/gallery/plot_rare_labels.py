"""
Which labels are found?
=======================

Of the subjects that curators gave to 800 works, how many are among the best five suggestions? It
depends on how many training works a subject has, and on whether the model knows what subjects are
called.
"""

from collections import Counter

import matplotlib.pyplot as plt

from rmls import TextRanker
from rmls.datasets import load_artworks

works = load_artworks()
texts, labels = works.train.texts[:2500], works.train.labels[:2500]
new_texts, new_labels = works.test.texts[:800], works.test.labels[:800]
rows = Counter(label for row in labels for label in row)
groups = {
    "1": (1, 1),
    "2 to 5": (2, 5),
    "6 to 20": (6, 20),
    "21 to 100": (21, 100),
    "more": (101, 9999),
}


def shares(model):
    """Return the share of the true labels among the best five, group by group."""
    best = model.rank(new_texts, k=5).to_lists()
    pairs = [
        (rows[label], label in listed)
        for listed, row in zip(best, new_labels, strict=True)
        for label in row
    ]
    found = [[hit for n, hit in pairs if few <= n <= many] for few, many in groups.values()]
    return [sum(hits) / len(hits) for hits in found]


# %%
# Two models of the same rows. The second is not told what labels are called.

with_names = shares(TextRanker().fit(texts, labels))
without = shares(TextRanker(use_names=False).fit(texts, labels))

# %%
# Names make the difference where there are few works to learn from.

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
places = range(len(groups))
axes.bar([p - 0.2 for p in places], with_names, 0.38, label="with names", color="#2a5d84")
axes.bar([p + 0.2 for p in places], without, 0.38, label="without", color="#c9a227")
axes.set_xticks(places, groups)
axes.set(xlabel="training works of a subject", ylabel="found among the best five")
axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
axes.legend(frameon=False)
plt.show()
