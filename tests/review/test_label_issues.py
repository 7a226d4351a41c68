"""Labels in doubt as a table: faults that were put there are found, in every container."""

from __future__ import annotations

import pytest
from review_samples import topic_table

from rmls import PLST, TextRanker, review_model
from rmls.core.errors import InputError
from rmls.datasets.tables import TextTable
from rmls.review import label_issues

N_TRAIN, N_HELD = 300, 120


@pytest.fixture(scope="module")
def case() -> tuple[TextRanker, TextTable, list[int], list[int]]:
    """A model, held-out rows, and the rows whose labels were taken away or made wrong."""
    table = topic_table(N_TRAIN + N_HELD)
    train, held = table.take(slice(0, N_TRAIN)), table.take(slice(N_TRAIN, N_TRAIN + N_HELD))
    model = TextRanker(use_names=False).fit(train.texts, train.labels)
    held.ids = [f"id {row}" for row in range(N_HELD)]
    double = [row for row, labels in enumerate(held.labels) if len(labels) == 2]
    robbed, spoiled = double[:8], double[8:14]
    for row in robbed:
        held.labels[row] = held.labels[row][1:]
    for row in spoiled:
        others = [f"label {t}" for t in range(12) if f"label {t}" not in held.labels[row]]
        held.labels[row] = [*held.labels[row], others[0]]
    return model, held, robbed, spoiled


def test_planted_faults_are_found(case) -> None:
    model, held, robbed, spoiled = case
    issues = label_issues(model, held, format="records")
    missing = [each for each in issues if each["issue"] == "missing"]
    mistaken = [each for each in issues if each["issue"] == "mistaken"]
    assert len({each["row"] for each in missing} & set(robbed)) >= 6
    assert len({each["row"] for each in mistaken} & set(spoiled)) >= 4
    # Most of what is listed was put there.
    assert sum(each["row"] in robbed for each in missing) >= 0.7 * len(missing)
    assert sum(each["row"] in spoiled for each in mistaken) >= 0.7 * len(mistaken)
    for each in issues:
        assert (each["label"] in each["labels"]) == (each["issue"] == "mistaken")
        assert each["id"] == f"id {each['row']}"
        assert held.texts[each["row"]][0].startswith(each["text"].removesuffix(" …"))
        assert each["probability"] >= 0.8 or each["issue"] == "mistaken"


def test_the_same_doubts_as_in_a_review(case) -> None:
    model, held, *_ = case
    issues = label_issues(model, held, format="records")
    review = review_model(model, held)
    for kind in ("missing", "mistaken"):
        found = [each["label"] for each in issues if each["issue"] == kind]
        finding = review[f"{kind}_label"]
        assert finding is not None
        assert found == list(finding.labels)


def test_frames_go_in_and_come_out(case) -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    model, held, *_ = case
    expected = label_issues(model, held, format="records")
    columns = {
        "id": held.ids,
        "text": [text for (text,) in held.texts],
        "labels": ["|".join(labels) for labels in held.labels],
    }
    for given in (pyarrow.table(columns), pandas.DataFrame(columns), polars.DataFrame(columns)):
        assert label_issues(model, given, format="arrow").to_pylist() == expected
    frame = label_issues(model, held)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.to_dict("records") == expected
    assert label_issues(model, held, format="polars").to_dicts() == expected


def test_training_rows_are_judged_before_they_were_learned(case) -> None:
    table = topic_table(N_TRAIN)
    spoiled = [row for row, labels in enumerate(table.labels) if len(labels) == 2][:10]
    for row in spoiled:
        others = [f"label {t}" for t in range(12) if f"label {t}" not in table.labels[row]]
        table.labels[row] = [*table.labels[row], others[0]]
    model = TextRanker(use_names=False).fit(table.texts, table.labels)
    issues = label_issues(model, train=table, format="records")
    mistaken = {each["row"] for each in issues if each["issue"] == "mistaken"}
    assert len(mistaken & set(spoiled)) >= 5


def test_wrong_inputs(case) -> None:
    model, held, *_ = case
    with pytest.raises(InputError, match="give held-out rows"):
        label_issues(model)
    with pytest.raises(InputError, match="format must be one of"):
        label_issues(model, held, format="excel")
    plain = TextRanker(PLST(4)).fit(held.texts, held.labels)
    with pytest.raises(InputError, match="gives no probabilities"):
        label_issues(plain, held)


def test_nothing_in_doubt_is_an_empty_table() -> None:
    pandas = pytest.importorskip("pandas")
    texts = ["tax on sugar", "fish in the sea", "tax on salt", "sea fishing"] * 10
    labels = [["tax"], ["sea"], ["tax"], ["sea"]] * 10
    model = TextRanker().fit(texts, labels)
    found = label_issues(model, (texts[:4], labels[:4]))
    assert isinstance(found, pandas.DataFrame)
    assert found.empty
    assert list(found.columns)[:3] == ["row", "id", "label"]
