"""
A map of labels
===============

`RMLS` learns a vector for every label; labels that share rows lie close together. Two directions
of the vectors are enough for a map of the most frequent subjects of works of art.
"""

import matplotlib.pyplot as plt
import numpy as np

from rmls import RMLS
from rmls.datasets import load_artworks
from rmls.features import TextFeatures

works = load_artworks()
labels = works.train.labels[:3000]
X = TextFeatures().fit_transform(works.train.texts[:3000])
model = RMLS(n_components=32).fit(X, labels)

# %%
# The 45 most frequent subjects: their vectors, of length 1, in the two directions in which they
# differ most.

names, counts = np.unique(np.concatenate(labels), return_counts=True)
frequent = names[np.argsort(-counts)[:45]]
vectors = model.label_vectors_[np.searchsorted(model.classes_, frequent)]
vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
vectors = vectors - vectors.mean(axis=0)
places = vectors @ np.linalg.svd(vectors, full_matrices=False)[2][:2].T

figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
axes.scatter(*places.T, s=12, color="#c9a227")
for name, place in zip(frequent, places, strict=True):
    axes.annotate(name, place, xytext=(3, 2), textcoords="offset points", fontsize=8)
axes.set_axis_off()
plt.show()
