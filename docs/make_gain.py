"""Draw docs/images/rare-labels.svg from the table of `rmls demo` on its page."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE / "reference" / "command-line.md"
PICTURE = HERE / "images" / "rare-labels.svg"
ROW = re.compile(r"^(1 to 5|6 to 50|more than 50) .* ([\d.]+)% +([\d.]+)% +[-+]\d+%$", re.M)
WIDTH, LINE, LEFT, SCALE = 640, 58, 150, 8.6
OURS, THEIRS = "#2a5d84", "#b8860b"
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#222}.small{font-size:12px;fill:#555}"
    ".title{font-size:15px;font-weight:600}"
)


def read_shares() -> list[tuple[str, float, float]]:
    """Return every group of subjects with the shares that RMLSRanker and one-vs-rest find."""
    found = ROW.findall(SOURCE.read_text("utf-8"))
    return [(group, float(ours), float(theirs)) for group, ours, theirs in found]


def make_picture() -> str:
    """Return the picture."""
    shares = read_shares()
    height = 92 + LINE * len(shares)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        "<title>Share of the subjects that are found among the best five</title>",
        f'<style>{STYLE}</style><rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>',
        '<text class="title" x="16" y="28">Subjects found among the best five suggestions</text>',
        '<text class="small" x="16" y="48">works per subject in training; 1,600 works that neither '
        "has seen; rmls demo</text>",
    ]
    for place, (group, ours, theirs) in enumerate(shares):
        top = 66 + place * LINE
        parts.append(f'<text x="{LEFT - 12}" y="{top + 27}" text-anchor="end">{group}</text>')
        parts += _draw_bar(top, ours, OURS) + _draw_bar(top + 21, theirs, THEIRS)
    bottom = height - 12
    parts += _draw_key(LEFT, bottom, OURS, "rmls") + _draw_key(
        LEFT + 80, bottom, THEIRS, "one-vs-rest linear SVM"
    )
    return "\n".join([*parts, "</svg>", ""])


def _draw_bar(top: int, share: float, colour: str) -> list[str]:
    width = share * SCALE
    return [
        f'<rect x="{LEFT}" y="{top}" width="{width:.0f}" height="18" rx="2" fill="{colour}"/>',
        f'<text x="{LEFT + width + 6:.0f}" y="{top + 14}">{share:.1f}%</text>',
    ]


def _draw_key(left: int, bottom: int, colour: str, name: str) -> list[str]:
    return [
        f'<rect x="{left}" y="{bottom - 11}" width="12" height="12" rx="2" fill="{colour}"/>',
        f'<text class="small" x="{left + 18}" y="{bottom}">{name}</text>',
    ]


if __name__ == "__main__":
    PICTURE.write_text(make_picture(), "utf-8")
