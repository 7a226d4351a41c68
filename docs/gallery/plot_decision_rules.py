"""
One model, many decisions
=========================

A rule turns probabilities into a set of labels. No rule is best for everything: those that please
rows (example-F) and those that please labels (macro-F) differ. The model is trained once.
"""

from collections import Counter

import matplotlib.pyplot as plt
from sklearn.preprocessing import MultiLabelBinarizer

from rmls import RMLSRanker
from rmls.datasets import load_artworks
from rmls.features import TextFeatures
from rmls.metrics import evaluate

# %%
# Works of art, and the subjects that ten works or more have.

works = load_artworks()
rows = Counter(label for labels in works.train.labels for label in labels)
binarizer = MultiLabelBinarizer(
    classes=sorted(label for label, n in rows.items() if n >= 10), sparse_output=True
)


def take(part, n_rows):
    """Return texts and a matrix of the labels that are kept."""
    labels = [[label for label in row if rows[label] >= 10] for row in part.labels[:n_rows]]
    return part.texts[:n_rows], binarizer.fit_transform(labels)


(texts, Y), (new_texts, Y_new) = take(works.train, 4000), take(works.test, 1600)
features = TextFeatures().fit(texts)
model = RMLSRanker().fit(features.transform(texts), Y)

# %%
# Seven rules, one model.

rules = ["f1", "micro_f1", "macro_f1", "cardinality", "top_5", "psp@5", "macro_recall@5"]
X_new = features.transform(new_texts)
found = {
    rule: evaluate(Y_new, model.predict(X_new, decision=rule), names=["f1", "macro_f1"])
    for rule in rules
}
for rule, report in found.items():
    print(f"{rule:15} example-F {report['f1']:.3f}  macro-F {report['macro_f1']:.3f}")

# %%
# Up is better for labels, right is better for rows.

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
for rule, report in found.items():
    axes.scatter(report["f1"], report["macro_f1"], color="#2a5d84")
    axes.annotate(
        rule, (report["f1"], report["macro_f1"]), xytext=(5, 4), textcoords="offset points"
    )
axes.set(xlabel="example-F: the typical row", ylabel="macro-F: the typical label")
axes.margins(0.15)
axes.grid(alpha=0.3)
plt.show()
