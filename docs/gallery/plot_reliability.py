"""
Can the probabilities be believed?
==================================

Of the suggestions with a probability of 0.7, seven in ten should be right. Group suggestions by
their probability and count: points on the diagonal are as right as they say. Neither these works
nor their subjects were trained on.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import MultiLabelBinarizer

from rmls import TextRanker
from rmls.datasets import load_artworks
from rmls.metrics import expected_calibration_error, reliability_curve

works = load_artworks()
model = TextRanker().fit(works.train.texts[:2500], works.train.labels[:2500])

suggested = model.rank(works.test.texts, k=10).to_csr(probabilities=True)
known = set(model.classes_)
truth = [[label for label in row if label in known] for row in works.test.labels]
true = MultiLabelBinarizer(classes=model.classes_, sparse_output=True).fit_transform(truth)

error = expected_calibration_error(true, suggested)
print(f"off by {error:.1%} on average")

# %%
curve = reliability_curve(true, suggested)
figure, axes = plt.subplots(figsize=(4.4, 4.2), layout="constrained")
axes.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle="--", label="as right as they say")
axes.plot(curve.predicted, curve.observed, marker="o", color="#2a5d84", label="suggestions")
axes.set(
    xlabel="probability", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1), aspect="equal"
)
axes.legend(frameon=False, loc="upper left")
plt.show()
