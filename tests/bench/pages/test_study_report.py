"""The report as a file: complete, self-contained, safe, and the same every time."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from record_samples import make_record

from rmls.bench.pages.curves import pool
from rmls.bench.pages.study_report import build_report
from rmls.bench.run.records import Record, Reliability
from rmls.bench.tables.ranks import rank_methods
from rmls.bench.tables.summary import summarise
from rmls.imbalance import describe
from rmls.report.averages import format_average
from rmls.report.content import Bullets
from rmls.report.output import write_report

EVIL = "<b>&\"'</title></svg><script>alert(1)</script>"
ALWAYS = ["summary", "quality", "time", "frequency"]


def reliability() -> Reliability:
    return {
        "edges": [0.0, 0.1, 1.0],
        "pairs": [900, 100],
        "predicted": [0.01, 0.5],
        "observed": [0.02, 0.4],
    }


def results(dataset: str = "enron", label: str = "RMLS", n_folds: int = 3) -> list[Record]:
    """Two methods with two numbers of components, one of them under two rules."""
    found = [
        make_record(name, value + 0.01 * fold, dataset=dataset, k=k, fold=fold, decision=rule)
        for name, rule, value in (
            (label, "cardinality", 0.6),
            ("PLST", "round", 0.4),
            ("PLST", "cardinality", 0.5),
        )
        for k in (25, 50)
        for fold in range(n_folds)
    ]
    for record in found:
        if record["config"]["label"] == label and record["measured"]:
            record["measured"]["reliability"] = reliability()
    return found


def alphas() -> list[Record]:
    return [
        make_record(
            "RMLS",
            0.3 + 0.02 * alpha + 0.01 * fold,
            fold=fold,
            experiment="alpha",
            params={"negatives_per_positive": alpha},
        )
        for alpha in (1, 2, 5)
        for fold in range(2)
    ]


def study(dataset: str = "enron", note: str = "", **changes: Any) -> dict[str, Any]:
    facts = {
        "n_samples": 1702,
        "n_features": 1001,
        "n_labels": 53,
        "note": note,
        "imbalance": describe([[1, 0, 0], [1, 1, 0], [1, 0, 1]]).as_dict(),
    }
    return {
        "study": "grid",
        "title": "A study",
        "command": "rmls bench grid.toml",
        "datasets": {dataset: facts},
        "missing": {},
        **changes,
    }


def write(folder: Path, records: list[Record], told: dict[str, Any]) -> tuple[Path, Path]:
    return write_report(folder, build_report(records, told))


def page_of(folder: Path, records: list[Record], told: dict[str, Any]) -> ElementTree.Element:
    """The page, read by a parser that forgives nothing."""
    html, _ = write(folder, records, told)
    return ElementTree.fromstring(html.read_text("utf-8"))


def sections(page: ElementTree.Element) -> list[str]:
    return [section.attrib["id"] for section in page.iter("section")]


def text_of(item: ElementTree.Element | None) -> str:
    assert item is not None
    return " ".join("".join(item.itertext()).split())  # no-break blanks become plain ones


def section(page: ElementTree.Element, anchor: str) -> str:
    return text_of(page.find(f".//section[@id='{anchor}']"))


def test_a_full_study_has_every_section_and_contents_that_lead_to_it(tmp_path: Path) -> None:
    failed = make_record("FaIE", failure="time")
    page = page_of(tmp_path, [*results(), *alphas(), failed], study(study="paper"))
    links = [link.attrib["href"] for link in page.iter("a")]
    assert links == [f"#{anchor}" for anchor in sections(page)]
    rest = ["alpha", "reliability", "ranks", "imbalance", "paper", "tables", "failures"]
    assert sections(page) == [*ALWAYS, *rest]


def test_sections_with_nothing_to_say_are_left_out(tmp_path: Path) -> None:
    page = page_of(tmp_path, [make_record("KNN", k=None, dataset="mine")], {"study": "grid"})
    assert sections(page) == [*ALWAYS, "tables"]


@pytest.mark.parametrize("failure", [None, "crash"])
def test_any_number_of_results_gives_a_page(tmp_path: Path, failure: str | None) -> None:
    record = make_record("KNN", failure=failure)
    assert "summary" in sections(page_of(tmp_path, [record], study()))
    assert "summary" in sections(page_of(tmp_path, [], {}))


def test_names_from_outside_are_text_and_never_markup(tmp_path: Path) -> None:
    told = study(EVIL, EVIL, title=EVIL, command=EVIL, missing={EVIL: EVIL}, study=EVIL)
    records = [*results(EVIL, EVIL), make_record(EVIL, dataset=EVIL, failure="error")]
    html, markdown = write(tmp_path, records, told)
    page = ElementTree.fromstring(html.read_text("utf-8"))
    assert len(list(page.iter("script"))) == 1
    assert not list(page.iter("b"))
    assert EVIL in text_of(page.find("body"))
    assert "<" not in markdown.read_text("utf-8").replace(told["command"], "")


def test_letters_that_no_page_may_hold_are_replaced(tmp_path: Path) -> None:
    page = page_of(tmp_path, [make_record("bad \x00\x1b name")], study())
    assert "bad \ufffd\ufffd name" in text_of(page)


def test_the_page_fetches_nothing(tmp_path: Path) -> None:
    page = page_of(tmp_path, [*results(), *alphas()], study())
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "@import" not in text
    assert "url(" not in text
    assert not set(re.findall(r"https?://[^\"\s]+", text)) - {"http://www.w3.org/2000/svg"}
    for item in page.iter():
        assert "src" not in item.attrib
        assert item.get("href", "#").startswith(("#", "data:,"))


def test_the_policy_allows_the_script_of_the_page_and_no_other(tmp_path: Path) -> None:
    import base64
    import hashlib

    page = page_of(tmp_path, results(), study())
    (script,) = page.iter("script")
    digest = base64.b64encode(hashlib.sha256((script.text or "").encode()).digest()).decode()
    (policy,) = [m.attrib["content"] for m in page.iter("meta") if m.get("http-equiv")]
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")


def test_the_page_can_be_read_without_seeing_it(tmp_path: Path) -> None:
    page = page_of(tmp_path, [*results(), *alphas()], study())
    svg = "{http://www.w3.org/2000/svg}"
    pictures = [item for item in page.iter(svg + "svg") if item.get("role") == "img"]
    assert pictures
    for picture in pictures:
        assert (picture[0].tag, picture[1].tag) == (svg + "title", svg + "desc")
        assert text_of(picture[0])
        assert text_of(picture[1])
    for table in page.iter("table"):
        assert table.get("aria-label")
        assert all(th.get("scope") in {"col", "row"} for th in table.iter("th"))
    ids = [item.attrib["id"] for item in page.iter() if "id" in item.attrib]
    assert len(ids) == len(set(ids))


def test_the_summary_says_what_was_run(tmp_path: Path) -> None:
    told = study(missing={"wiki": "is not available."}, n_results=20)
    records = [*results(), make_record("FaIE", failure="time")]
    said = section(page_of(tmp_path, records, told), "summary")
    for text in (
        "19 of 20, 1 failed",
        "RMLS; PLST; FaIE",
        "5 shuffled folds, seed 0",
        "Commit",
        "abc",
        "a processor, 2 cores",
        "rmls 0.1.0, numpy 2.0",
        "rmls bench grid.toml",
        "2026-01-01 00:00 UTC",
        "wiki: is not available.",
        "1,702",
    ):
        assert text in said


def test_the_summary_names_the_best_method(tmp_path: Path) -> None:
    said = section(page_of(tmp_path, results(), study()), "summary")
    # Both numbers of components of the example share the first place.
    both = "RMLS, k = 25 and RMLS, k = 50"
    assert f"Label sets of rows: {both} on enron (0.610)" in said
    text = (tmp_path / "report.md").read_text("utf-8")
    row = f"|  | F | {both} | PLST · cardinality, k = 25 | **0.610 ± 0.010** | +0.100 | "
    assert f"{row}\\[+0.100, +0.100\\] | 3 of 3 |" in text


def test_the_summary_leads_with_who_wins_for_head_torso_and_tail(tmp_path: Path) -> None:
    records = [
        make_record(label, value, fold=fold, dataset=dataset, k=None)
        for dataset in ("a", "b")
        for label, value in (("RMLS", 0.5), ("KNN", 0.4), ("LEML", 0.3))
        for fold in range(3)
    ]
    for record in records:
        metrics = record["measured"]["metrics"]  # type: ignore[index]
        metrics["torso"]["macro_f1"] = 0.0
        if record["config"]["label"] == "KNN":
            # Ahead in two folds of three.
            metrics["tail"]["macro_f1"] = 0.9 if record["config"]["fold"] else 0.1
    parts = build_report(records, {"study": "grid"}).sections[0].parts
    assert isinstance(parts[1], Bullets)
    assert parts[1].lines == [
        ("Head, the frequent labels", ": RMLS on a (0.500) and b (0.500)"),
        ("Torso", ": nobody finds any on a (0.000) and b (0.000)"),
        (
            "Tail, the rare labels",
            ": KNN on a (0.633, lead within noise) and b (0.633, lead within noise)",
        ),
        ("Label sets of rows", ": RMLS on a (0.500) and b (0.500)"),
    ]
    page = page_of(tmp_path, records, {"study": "grid"})
    text = (tmp_path / "report.md").read_text("utf-8")
    # ± t(0.975, 2) · 0.462 · sqrt(1/3 + 20/80).
    lead = "+0.133 | \\[-1.384, +1.651\\] | 2 of 3 |"
    assert f"| macro F, tail | KNN | RMLS | **0.633 ± 0.462** | {lead}" in text
    first = next(page.iter("section"))
    assert [item.tag for item in first][1:3] == ["p", "ul"]


def test_one_clock_is_used_in_charts_and_tables(tmp_path: Path) -> None:
    records = results()
    for record in records:
        assert record["measured"] is not None
        record["measured"] |= {"train_seconds": 77.0, "train_cpu_seconds": 4.0}
    html, markdown = write(tmp_path, records, study(study="paper"))
    for path in (html, markdown):
        assert "77.0" not in path.read_text("utf-8")
    said = section(ElementTree.fromstring(html.read_text("utf-8")), "time")
    assert "processor seconds" in said
    assert "4.00 s" in said


def test_a_stand_in_is_called_one_wherever_it_is_named(tmp_path: Path) -> None:
    note = "stand-in for other data"
    records = [*results(), *alphas(), make_record("FaIE", failure="time")]
    page = page_of(tmp_path, records, study(note=note))
    for anchor in [*ALWAYS, "alpha", "reliability", "imbalance", "tables", "failures"]:
        assert note in section(page, anchor)
    for box in page.findall(".//div[@class='table']"):
        if "enron" in text_of(box):
            assert note in text_of(box)


def test_failures_are_listed_with_their_reason_and_shown_in_charts(tmp_path: Path) -> None:
    failed = [make_record("FaIE", fold=fold, k=50, failure="memory") for fold in range(3)]
    page = page_of(tmp_path, [*results(), *failed], study())
    row = page.find(".//section[@id='failures']//tbody/tr")
    assert row is not None
    assert [text_of(cell) for cell in row][2:] == ["FaIE", "50", "memory", "it went wrong.", "3"]
    assert "ran out of memory" in section(page, "quality")


def test_figures_are_those_of_the_summaries(tmp_path: Path) -> None:
    records = [*results(), *alphas()]
    page = page_of(tmp_path, records, study())
    for summary in summarise(records):
        average = summary.average("example_f1")
        assert average is not None
        anchor = "alpha" if summary.setting.experiment == "alpha" else "quality"
        assert format_average(average) in section(page, anchor)


def test_ranks_and_their_test_are_those_of_the_ranking(tmp_path: Path) -> None:
    records = [*results("a"), *results("b")]
    report = rank_methods(summarise(records), "example_f1")
    assert report is not None
    said = section(page_of(tmp_path, records, study()), "ranks")
    assert f"F χ² = {report.statistic:.1f}" in said
    assert f"critical difference {report.critical_difference:.2f}" in said
    assert report.note in said


def test_several_experiments_on_one_data_set_are_told_apart(tmp_path: Path) -> None:
    others = [make_record("KNN", 0.3, experiment="ablation", fold=fold) for fold in range(2)]
    said = section(page_of(tmp_path, [*results(), *others], study()), "quality")
    assert "enron, experiment methods" in said
    assert "enron, experiment ablation" in said


def test_probabilities_are_pooled_by_their_pairs() -> None:
    first, second = reliability(), reliability()
    second |= {"pairs": [300, 0], "predicted": [0.05, None], "observed": [0.0, None]}
    pooled = pool([first, second])
    assert pooled is not None
    assert pooled["pairs"] == [1200, 100]
    assert pooled["predicted"] == pytest.approx([0.02, 0.5])
    assert pooled["observed"] == pytest.approx([0.015, 0.4])
    assert pool([]) is None


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [*results(), *alphas()], study())
    second = write(tmp_path / "b", [*results(), *alphas()], study())
    assert [path.name for path in first] == ["report.html", "report.md"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_a_write_that_fails_leaves_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    html, markdown = write(tmp_path, results(), study())
    before = html.read_bytes(), markdown.read_bytes()

    def fail(*arguments: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path, [*results(), *alphas()], study())
    assert (html.read_bytes(), markdown.read_bytes()) == before
    assert sorted(os.listdir(tmp_path)) == ["report.html", "report.md"]


def test_markdown_holds_the_figures_of_the_charts(tmp_path: Path) -> None:
    records = [make_record("RMLS", 0.6 + 0.02 * fold, fold=fold) for fold in range(2)]
    _, path = write(tmp_path, records, {"study": "grid", "title": "A study"})
    text = path.read_text("utf-8")
    assert "| RMLS | 25 | 0.610 ± 0.014 | 0.610 ± 0.014 | 0.610 ± 0.014 |" in text
    assert "| RMLS | 25 | 1.00 s | 0.610 ± 0.014 | 0.610 ± 0.014 |" in text
    assert "<svg" not in text
