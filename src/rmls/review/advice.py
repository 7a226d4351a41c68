"""What to do next, in a few sentences chosen by what was found."""

from __future__ import annotations

import math

from rmls.review.findings import Finding
from rmls.review.learnability import CountBin, needed_rows
from rmls.review.quality import Quality

MAX_STEPS = 6
# Beyond it a probability of 70% may mean 60% or 80%.
HIGH_ERROR = 0.1
BY_KIND = {
    "leaked_text": "Split again with equal and similar texts on one side: {what}",
    "mistaken_label": "Look through the labels in doubt: {what}",
    "missing_label": "Look through the labels that rows may lack: {what}",
    "confused": "Settle what tells confused labels apart: {what}",
    "not_in_text": "Give the model what decides about labels that it never finds: {what}",
}


# Which rows a model holds out by itself cannot be chosen.
OWN = {"leaked_text": "Believe the figures without repeated texts: {what}"}


def next_steps(
    quality: Quality,
    bins: list[CountBin],
    calibration_error: float,
    findings: list[Finding],
    *,
    is_own: bool = False,
) -> list[str]:
    """Return up to six sentences, the most rewarding step first.

    ``is_own`` says that the model has learned from the held-out rows meanwhile.
    """
    steps = [*_against_baseline(quality)]
    by_kind = {found.kind: found for found in findings}
    sentences = {**BY_KIND, **(OWN if is_own else {})}
    steps += [
        sentence.format(what=by_kind[kind].what)
        for kind, sentence in sentences.items()
        if kind in by_kind and (kind != "leaked_text" or by_kind[kind].weight == "problem")
    ]
    needed = needed_rows(bins)
    if needed is not None:
        few = sum(each.n_labels for each in bins if each.low < needed)
        steps.insert(
            min(2, len(steps)),
            f"Label more rows, or merge labels: on these texts a label needs about {needed} "
            f"training rows to be found, and {few:,} labels have fewer.",
        )
    if calibration_error > HIGH_ERROR:
        steps.append(
            f"Do not cut by probability yet: predicted labels are off by {calibration_error:.0%} "
            "on average; more held-out rows calibrate better."
        )
    elif not math.isnan(calibration_error):
        # Scores of the model that has learned from all rows are a little higher (docs/review.md).
        more = ", and by some 2 points more on new rows" if is_own else ""
        steps.append(
            "Probabilities can be believed (they are off by "
            f"{calibration_error:.1%} on average{more}): accept the sure ones and look at the rest."
        )
    if is_own:
        return steps[:MAX_STEPS]
    steps.append("Train the model that you will use on all rows, the held-out ones included.")
    # The last two hold always; what was found goes before them.
    return [*steps[:-1][: MAX_STEPS - 1], steps[-1]]


def _against_baseline(quality: Quality) -> list[str]:
    if len(quality.methods) < 2:
        return []
    other = quality.methods[1]
    worse = [
        f"{metric} ({group})"
        for (metric, group), found in quality.differences.items()
        # P@k of a group falls where another one gains: their sum counts.
        if found.high < 0 and (group == "all" or not metric.startswith("P@"))
    ]
    if not worse:
        return []
    return [
        f"Find out why {other} is better in {', '.join(worse[:3])}: "
        "other settings of the model, or more passes, may close the gap."
    ]
