"""What a campaign found: a table by kind, and findings counted by what they have in common."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from .findings import Finding


class Summary(NamedTuple):
    """Cases, seconds and findings of a campaign."""

    kinds: list[str]
    done: list[int]
    seconds: list[float]
    findings: list[Finding]
    wall: float

    def text(self) -> str:
        """Return the tables as plain text."""
        by_kind = Counter(each.kind for each in self.findings)
        lines = [f"{'kind':<12}{'cases':>10}{'per second':>12}{'findings':>10}"]
        for kind, done, seconds in zip(self.kinds, self.done, self.seconds, strict=True):
            rate = done / seconds if seconds else 0.0
            lines.append(f"{kind:<12}{done:>10,}{rate:>12.1f}{by_kind[kind]:>10}")
        total = sum(self.done)
        lines.append(f"{'all':<12}{total:>10,}{total / self.wall:>12.1f}{len(self.findings):>10}")
        groups = group_findings(self.findings)
        if groups:
            lines += ["", f"{len(groups)} different findings"]
        for (kind, signature), members in groups.items():
            first = members[0]
            lines.append(f"{len(members):>7} × {kind} {signature}")
            lines.append(f"{'':>10}--kind {kind} --case {first.case}  {first.message[:120]!r}")
        return "\n".join(lines)


def group_findings(findings: list[Finding]) -> dict[tuple[str, str], list[Finding]]:
    """Return findings by kind and signature, the most frequent first."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for each in sorted(findings, key=lambda each: each.case):
        groups.setdefault((each.kind, each.signature), []).append(each)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def read_findings(folder: Path) -> list[Finding]:
    """Return what the workers wrote down; a line that a kill cut off is left out."""
    found: list[Finding] = []
    for path in sorted(folder.glob("found-*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        found += [Finding(**json.loads(line)) for line in lines if line.endswith("}")]
    return found
