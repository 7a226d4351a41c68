"""What the README and tutorials say is what the pages behind them have measured."""

from __future__ import annotations

import re
import runpy

import pytest
from places import REPOSITORY

README = (REPOSITORY / "README.md").read_text("utf-8")
PAGES = {path.name: path.read_text("utf-8") for path in (REPOSITORY / "docs").rglob("*.md")}
SHOWN = ("P@1", "P@5", "PSP@5", "macro-F")
TIME = "train CPU s"
# Others' problem, but our solver: its figures count among theirs, its time does not.
OUR_SOLVER = "sklearn-solved"


def rows_below(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the table that begins with a heading, without emphasis."""
    lines = text[text.index(heading) :].splitlines()
    end = next(n for n, line in enumerate(lines) if not line.startswith("|"))
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines[:end]]


def test_nothing_credits_the_sampling_with_a_cure_for_imbalance() -> None:
    claim = re.compile(
        r"fights?\s+(the\s+)?imbalance|sampling\s+(negatives\s+)?[^.|]*\bbeats\b", re.I
    )
    for name, text in {"README.md": README, **PAGES}.items():
        assert not claim.search(text), name
    assert "no cure for imbalance" in README
    assert "docs/research/what-sampling-buys.md" in README


def test_the_readme_says_what_the_study_of_sampling_measured() -> None:
    rows = rows_below(PAGES["what-sampling-buys.md"], "| data | F: rule f1 |")
    means = read_means(rows)
    # All labels instead of the paper's five: no loss beyond the noise.
    assert min(means["F: all labels"]) >= -0.003
    assert f"up to {max(means['F: all labels']):.3f}" in README
    rule = means["macro-F: rule macro_f1"]
    assert f"{min(rule):.2f} to {max(rule):.2f} of macro-F" in " ".join(README.split())
    # The exceptions: what draws by frequency gain on one set, and five per relevant label on one.
    means = read_means(rows_below(PAGES["what-sampling-buys.md"], "| data | F under f1: alpha 5"))
    by_frequency = max(means["F: frequency ** 0.5 - all labels"])
    five = max(means["F under f1: alpha 5 - all labels"])
    assert f"two exceptions of {by_frequency:.3f} and {five:.3f}" in README


def read_means(rows: list[list[str]]) -> dict[str, list[float]]:
    """Return the differences of every column but the first, without intervals and brackets."""
    return {
        heading: [
            0.0 if row[place] == "the same" else float(row[place].strip("()").split()[0])
            for row in rows[2:]
        ]
        for place, heading in enumerate(rows[0])
        if place
    }


def read_cell(cell: str) -> str:
    """Return the figure of a cell, without emphasis and spread."""
    return cell.replace("*", "").split()[0]


def make_rows(data: str) -> list[list[str]]:
    """Return the two lines of a data set that follow from the page on texts."""
    page = PAGES["text-peers.md"]
    heading = re.search(rf"^### {data}:.* ([\d,]+) labels$", page, re.M)
    assert heading
    names, _, *rows = rows_below(page[heading.start() :], "| system |")
    place = {name: names.index(name) for name in (*SHOWN, TIME)}
    (ours,) = [row for row in rows if row[0].startswith("TextRanker")]
    others = [row for row in rows if row is not ours]
    best = [max((read_cell(row[place[name]]) for row in others), key=float) for name in SHOWN]
    timed = [read_cell(row[place[TIME]]) for row in others if row[0] != OUR_SOLVER]
    return [
        [data, heading[1], "`TextRanker`", *(read_cell(ours[place[n]]) for n in (*SHOWN, TIME))],
        ["", "", "best of the others", *best, min(timed, key=float)],
    ]


def test_the_readme_shows_the_figures_of_the_page_on_texts() -> None:
    shown = rows_below(README, "| texts | labels |")[2:]
    sets = [row[0] for row in shown if row[0]]
    assert len(sets) >= 5
    expected = [row for data in sets for row in make_rows(data)]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in expected)
    assert shown == expected, f"the table of the README should be\n{lines}"


def test_the_readme_makes_the_better_figure_bold() -> None:
    rows = [line.strip("|").split("|") for line in README.splitlines() if line.startswith("| ")]
    table = [[cell.strip() for cell in row] for row in rows if len(row) == 8][1:]
    for ours, others in zip(table[::2], table[1::2], strict=True):
        for place in range(3, 8):
            mine, theirs = (float(read_cell(row[place])) for row in (ours, others))
            better = ours if (mine < theirs) == (place == 7) else others
            bold = [row[place].startswith("**") for row in (ours, others)]
            assert mine == theirs or bold == [better is ours, better is others], (ours[0], place)


def test_the_picture_of_rare_labels_shows_the_figures_of_the_demo() -> None:
    drawn = runpy.run_path(str(REPOSITORY / "docs" / "make_gain.py"))
    shares = drawn["read_shares"]()
    assert len(shares) == 3
    assert drawn["PICTURE"].read_text("utf-8") == drawn["make_picture"](), (
        "run python docs/make_gain.py"
    )
    described = README[README.index("![Of subjects with 1 to 5") :].splitlines()[0]
    assert [f"{share}%" for _, *both in shares for share in both] == re.findall(
        r"[\d.]+%", described
    )


def test_the_tutorial_of_a_thesaurus_shows_the_figures_of_the_page_on_names() -> None:
    measured = rows_below(PAGES["label-names.md"], "| data (training rows) | names |")
    columns = ["P@1", "P@5", "R@5, 1-5 rows", "R@5, 0 rows"]
    places = [measured[0].index(name) for name in columns]
    start = next(n for n, row in enumerate(measured) if row[0] == "tate (42,040)")
    expected = [[row[1], *(row[place] for place in places)] for row in measured[start : start + 2]]
    shown = rows_below(PAGES["thesaurus.md"], "| training works | names |")[2:]
    assert [row[1:] for row in shown] == expected


def test_what_peers_do_better_is_what_was_measured() -> None:
    page = PAGES["peers.md"]
    page = page[page.index("### Time against PECOS's tree") :]
    said = " ".join(PAGES["from-other-tools.md"].split())
    names, _, *rows = rows_below(page, "| data | labels | RMLSRanker: CPU s |")
    # The first column of a name is ours, the second that of PECOS.
    ours = names.index("model MB")
    theirs = names.index("model MB", ours + 1)
    size = {row[0]: (row[theirs], row[ours]) for row in rows}
    assert "cooking: {} MB, ours {};".format(*size["cooking"]) in said
    assert "tate: {} MB, ours {})".format(*size["tate"]) in said
    names, _, *rows = rows_below(page, "| data | rows | labels | RMLSRanker: CPU s |")
    ours, theirs = names.index("RMLSRanker: CPU s"), names.index("pecos-tree: CPU s")
    times = {row[0]: (row[theirs], row[ours]) for row in rows}
    assert "rcv1sub1: {} s of CPU, ours {})".format(*times["rcv1sub1"]) in said


@pytest.mark.parametrize(
    ("row", "label", "k"),
    [
        ("| Enron | k=50 |", "RMLS, our defaults", "50"),
        ("| Delicious | k=250 |", "RMLS, our defaults", "250"),
    ],
)
def test_quality_shows_the_figures_of_our_run_of_the_study(row: str, label: str, k: str) -> None:
    (line,) = [line for line in PAGES["quality.md"].splitlines() if line.startswith(row)]
    found = line.split("|")[3].strip(" *").partition("*")[0]
    data = row.split("|")[1].strip().lower()
    rows = rows_below(PAGES["paper-study.md"], "| data set | method | k | own rule |")
    (measured,) = [cells[5] for cells in rows if cells[:3] == [data, label, k]]
    assert found == measured.split()[0]


def test_the_size_of_an_int8_model_is_that_of_the_table() -> None:
    rows = rows_below(
        PAGES["ranker.md"][PAGES["ranker.md"].index("### eurlex57k_4k") :], "| variant"
    )
    size = {row[0]: float(row[rows[0].index("model MB")]) for row in rows[2:]}
    assert size["precision=int8"] / size["default"] == pytest.approx(0.4, abs=0.05)
    assert "`--set precision=int8` (two fifths of the file)" in PAGES["from-other-tools.md"]


CELLS = re.compile(r"\bT(\d+)((?:[a-z]{1,2}\b)(?:, [a-z]{1,2}(?=[,);]))*)?")


def test_every_conclusion_of_the_study_names_cells_that_exist() -> None:
    page = PAGES["paper-study.md"]
    tables = dict(re.findall(r"^\*\*Table (\d+)\. (.*?)(?=^\*\*Table|\Z)", page, re.M | re.S))
    following = page[page.index("## What follows") : page.index("## The tables")]
    # The first paragraph says how cells are named.
    conclusions = [part for part in following.split("\n\n") if part.startswith("**")]
    assert len(conclusions) >= 8
    for conclusion in conclusions:
        named = CELLS.findall(conclusion)
        assert named, conclusion
        for number, lines in named:
            assert number in tables, (number, conclusion)
            for line in filter(None, lines.split(", ")):
                assert f"\n| {line} |" in tables[number], (number, line, conclusion)
