"""
How rare are the labels?
========================

Sort the labels by how many rows have them. A few are everywhere, most are rare: the *long tail*.
Half of all assignments belong to the *head*, the next two fifths to the *torso*, the rest to the
*tail*.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import MultiLabelBinarizer

from rmls.datasets import load_artworks
from rmls.imbalance import describe

works = load_artworks()
binarizer = MultiLabelBinarizer(sparse_output=True)
Y = binarizer.fit_transform(works.train.labels)
print(describe(Y, list(binarizer.classes_)))

# %%
# The same as a picture: both axes double from mark to mark.

counts = np.sort(np.asarray(Y.sum(axis=0)).ravel())[::-1]
figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.loglog(np.arange(1, len(counts) + 1), counts, color="#2a5d84", linewidth=2)
axes.set(xlabel="subject, the most frequent first", ylabel="works that have it")
axes.grid(alpha=0.3)
axes.annotate(f"{(counts == 1).mean():.0%} have one work", (len(counts) * 0.7, 1), (60, 1.6))
plt.show()
