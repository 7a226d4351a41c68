"""Checks and reviews as reports, for HTML and the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rmls.imbalance import ImbalanceReport
from rmls.report.charts.calibration import reliability_chart
from rmls.report.charts.shares import Stack, share_chart
from rmls.report.content import Bullets, Facts, Figure, Key, Panel, Part, Report, Section
from rmls.report.numbers import format_number, format_percent, format_value
from rmls.report.tables import Mark, Table, TableCell, table_row
from rmls.review.findings import Finding
from rmls.review.learnability import CountBin
from rmls.review.quality import GROUPS, METRICS, Estimate, Quality

if TYPE_CHECKING:
    from rmls.review.model_review import Review
    from rmls.review.table_check import TableCheck

HELD_FOR_A_WHILE = (
    "How the two scores of the model are combined, and its probabilities, were fitted to these "
    "rows, all else was not. On rows that nothing was fitted to, which --test-share 0.2 keeps, "
    "labels are ranked as well, and example F and macro F are lower by some 0.01."
)
CROSS_FITTED = (
    "The models that judged had a third of the rows less than the one that is kept, which has "
    "learned from all of them and is rather better than these figures."
)
IN_SHORT = "± is half of the 95% interval; ✓ ✗: better, worse than the baseline, {baseline}."
NOTHING_FOUND = "Nothing was found that costs quality."


def check_report(check: TableCheck, name: str, n_examples: int | None = None) -> Report:
    """Return what was found in a table; ``n_examples`` shortens lists of examples."""
    words = check.words
    pairs = [
        ("Rows", format_number(check.n_rows, 0)),
        ("Text", ", ".join(check.fields)),
        ("Words", f"{np.median(words):,.0f} in the middle row, {words.max():,} in the longest"),
        ("Language", check.language or "none stands out"),
    ]
    sections = [Section("table", "The table", [Facts(pairs)])]
    if check.imbalance is not None:
        sections.append(_label_section(check.imbalance))
    if not check.findings:
        sections.append(Section("findings", "Findings", [NOTHING_FOUND]))
    sections += [finding_section(found, n_examples) for found in check.findings]
    problems = sum(found.weight == "problem" for found in check.findings)
    said = f"{problems or 'no'} problem{'' if problems == 1 else 's'}"
    notes = len(check.findings) - problems
    subtitle = f"{said}, {notes or 'no'} note{'' if notes == 1 else 's'}"
    return Report(f"Check of {name}", subtitle, sections)


def _label_section(report: ImbalanceReport) -> Section:
    rows = [
        table_row(
            group.name,
            format_number(group.n_labels, 0),
            format_percent(group.label_share),
            format_percent(group.positive_share),
            f"{group.min_count:,} to {group.max_count:,}" if group.n_labels else "–",
        )
        for group in report.groups
    ]
    columns = ["group", "labels", "of labels", "of assignments", "rows of a label"]
    facts = Facts(
        [
            ("Labels", format_number(report.n_labels, 0)),
            ("Labels a row", f"{report.cardinality:.2f}"),
        ]
    )
    stacks = [
        Stack(text, [float(getattr(group, field)) for group in report.groups])
        for field, text in (("label_share", "labels"), ("positive_share", "assignments"))
    ]
    names = [group.name for group in report.groups]
    picture = share_chart("Head, torso and tail", stacks, names)
    table = Table("Labels by their rows", columns, rows)
    figure = Figure(
        "Head, torso and tail",
        [Panel("", picture)],
        "The head carries half of all assignments, the torso the next 40%, the tail the rest.",
        [table],
        [Key(place, name) for place, name in enumerate(names)],
    )
    return Section("labels", "The labels", [facts, figure])


def finding_section(found: Finding, n_examples: int | None = None) -> Section:
    """Return a finding with its advice and examples."""
    parts: list[Part] = [found.what]
    table = found.table()
    if table is not None:
        left = len(table.rows) - len(table.rows[:n_examples])
        table.rows = table.rows[:n_examples]
        table.note = f"{left} more are on the page." if left else ""
        parts.append(table)
    if found.advice:
        parts.append(Bullets([("What to do", f": {found.advice}")]))
    return Section(found.kind.replace("_", "-"), found.title, parts)


# -- a model on held-out rows --------------------------------------------------------------------


def review_report(review: Review, name: str, n_examples: int | None = None) -> Report:
    """Return what was found about a model; ``n_examples`` shortens lists of examples."""
    sections = [_quality_section(review), _learning_section(review)]
    sections += [finding_section(found, n_examples) for found in review.findings]
    if review.reliability is not None:
        sections.append(_reliability_section(review))
    steps = Bullets([(f"{number}. ", text) for number, text in enumerate(review.advice, 1)])
    sections.append(Section("next", "What to do next", [steps]))
    return Report(f"Review of {name}", judged_in_words(review), sections)


def judged_in_words(review: Review) -> str:
    """Return how many rows were learned and which of them the model was judged on."""
    n_train, n_held, n_labels = (
        f"{number:,}" for number in (review.n_train, review.n_held_out, review.n_labels)
    )
    if not review.n_judges:
        return (
            f"{review.method}: {n_train} training rows, {n_held} held-out rows, {n_labels} labels"
        )
    judged = f"{n_held} of them before it learned from these"
    if review.n_judges > 1:
        # Equal rows are judged once, so that they may be fewer than all.
        each = "each" if n_held == n_train else f"{n_held}"
        judged = f"{each} of them by one of {review.n_judges} models that learned from the others"
    return f"{review.method}: {n_labels} labels, trained on all {n_train} rows; judged on {judged}"


def _quality_section(review: Review) -> Section:
    quality = review.quality
    parts: list[Part] = [answer(review), quality_table("Quality on held-out rows", quality)]
    if quality.n_rows < review.n_held_out:
        parts.append(f"Compared on a random {quality.n_rows:,} of the held-out rows.")
    if len(quality.methods) > 1:
        parts.append(_baseline_in_words(quality.methods[1]))
    if review.n_judges:
        parts.append(CROSS_FITTED if review.n_judges > 1 else HELD_FOR_A_WHILE)
    if review.without_leaks is not None:
        n_rows = review.without_leaks.n_rows
        title = f"Without texts that training has nearly seen: {n_rows:,} rows"
        table = quality_table(title, review.without_leaks)
        table.note = ""
        parts.append(table)
    return Section("quality", "Quality", parts)


def answer(review: Review) -> str:
    """Return the quality in a sentence or two."""
    methods = review.quality.methods

    def share(method: str, metric: str, quality: Quality = review.quality) -> str:
        return format_percent(quality.values[method, metric, "all"].value)

    model, without = methods[0], review.without_leaks
    first = f"The best label is right in {share(model, 'P@1')} of the rows"
    if len(methods) > 1:
        first += f" ({methods[1]}: {share(methods[1], 'P@1')})"
    said = f"{first}; of the best five {share(model, 'P@5')} are."
    if without is not None:
        said += (
            f" Without texts that training has nearly seen: {share(model, 'P@1', without)} and "
            f"{share(model, 'P@5', without)}."
        )
    return said


def _baseline_in_words(name: str) -> str:
    if "SVM" in name:
        return (
            "The baseline is a linear SVM for every label (LinearSVC of scikit-learn) on the same "
            "features, with one threshold that gives rows as many labels as in training."
        )
    return (
        "The baseline votes with the labels of the ten most similar training rows, on the same "
        "features; one-vs-rest SVMs would take too long with so many labels."
    )


def quality_table(title: str, quality: Quality) -> Table:
    """Return the figures of the model and of the baseline by head, torso and tail."""
    rows = []
    for metric in METRICS:
        for place, method in enumerate(quality.methods):
            found = [quality.values.get((method, metric, group)) for group in GROUPS]
            if any(found):
                cells = [
                    TableCell(_written(each), _mark(quality, metric, group) if not place else "")
                    for each, group in zip(found, GROUPS, strict=True)
                ]
                who = "baseline" if place else "model"
                rows.append(table_row("" if place else metric, who, *cells))
    note = (
        "± is half of the 95% interval, by drawing held-out rows anew. "
        "✓ and ✗: better and worse than the baseline by the interval of the difference. "
        + "Head, torso and tail are the labels with 50%, the next 40% and the last 10% of all "
        "assignments in training; their P@k add up to the total."
    )
    return Table(title, ["metric", "of", *GROUPS], rows, note, n_names=2)


def _written(found: Estimate | None) -> str:
    if found is None:
        return format_number(None)
    # Short, so that all groups stand side by side in a terminal.
    return f"{found.value:.3f}±{(found.high - found.low) / 2:.3f}".replace("±0.", "±.")


def _mark(quality: Quality, metric: str, group: str) -> Mark:
    found = quality.differences.get((metric, group))
    if found is None:
        return ""
    return "better" if found.low > 0 else "worse" if found.high < 0 else ""


def _learning_section(review: Review) -> Section:
    rows = [
        table_row(
            _range(each),
            format_number(each.n_labels, 0),
            format_number(each.n_tested, 0),
            format_percent(each.in_top),
            format_percent(each.predicted),
        )
        for each in review.recall
    ]
    columns = ["training rows", "labels", "to be found", "among the best 5", "predicted"]
    table = Table("How often labels are found, by their training rows", columns, rows)
    return Section("learning", "How many rows a label needs", [table])


def _range(each: CountBin) -> str:
    if each.high < 0:
        return f"{each.low:,} or more"
    return f"{each.low:,}" if each.low == each.high else f"{each.low:,} to {each.high:,}"


def _reliability_section(review: Review) -> Section:
    curve = review.reliability
    assert curve is not None
    rows = [
        table_row(f"{low:g} to {high:g}", format_value(x), format_value(y), format_number(n, 0))
        for low, high, x, y, n in zip(
            curve.edges, curve.edges[1:], curve.predicted, curve.observed, curve.pairs, strict=False
        )
        if n
    ]
    table = Table(
        "Observed against predicted", ["probability", "predicted", "observed", "pairs"], rows
    )
    caption = (
        "How often a label is there, by the probability it was given. On the diagonal "
        "probabilities are honest; below it they promise too much."
    )
    error = review.calibration_error
    said = f"Probabilities of predicted labels are off by {format_percent(error)} on average."
    if review.n_judges:
        said += " They were fitted to these rows: on new ones it is some 2 points more."
    figure = Figure(
        "Observed against predicted",
        [Panel("", reliability_chart("Reliability on held-out rows", [curve]))],
        caption,
        [table],
    )
    return Section("reliability", "Can probabilities be believed?", [said, figure])


def review_summary(review: Review, name: str) -> Report:
    """Return the figures and what to do next, as a terminal shows them on one screen."""
    quality = review.quality
    table = quality_table("", quality)
    table.note = IN_SHORT.format(baseline=quality.methods[1]) if len(quality.methods) > 1 else ""
    sections = [Section("quality", "Quality", [answer(review), table])]
    steps: list[Part] = [
        Bullets([(f"{number}. ", text) for number, text in enumerate(review.advice, 1)])
    ]
    told = " ".join(review.advice)
    others = [("Also: ", found.what) for found in review.findings if found.what not in told]
    sections.append(Section("next", "What to do next", [*steps, Bullets(others)]))
    return Report(f"Review of {name}", judged_in_words(review), sections)
