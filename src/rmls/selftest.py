"""Check an installation: ``python -m rmls.selftest`` trains, saves, loads and suggests.

It needs the package and what it depends on, no network and no data of your own. A line says what
every check has found; the exit code is 0 where all are right, else 1. The first run on a machine
also compiles kernels, which is most of its time.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from rmls.core.errors import RmlsError
from rmls.core.version import VERSION

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
PARTS = ("py.typed", "report/style.css", "serve/page/index.html", "bench/study/paper_figures.json")
N_WORKS, N_TRAIN, N_TEST, BEST = 8000, 1200, 300, 5
# Far below what is measured (.31 and .79): other processors and versions round otherwise.
MIN_PRECISION, MIN_F1 = 0.2, 0.4
# The command line writes six digits.
DIGITS = 1e-5
MAX_REASON = 300


class Failed(Exception):
    """A check has found something that is not as it must be."""


@dataclass
class Trial:
    """What the checks share."""

    folder: Path
    works: Any = None
    model: Any = None

    @property
    def archive(self) -> Path:
        """Where the model is saved."""
        return self.folder / "model"


Check = Callable[[Trial], str]


def check_files(trial: Trial) -> str:
    """Look for what is not Python in the package."""
    from rmls.datasets import load_artworks

    missing = [part for part in PARTS if not (files("rmls") / part).is_file()]
    _expect(not missing, f"the package lacks {', '.join(missing)}")
    trial.works = load_artworks()
    found = len(trial.works.train) + len(trial.works.test)
    _expect(found == N_WORKS, f"{found} works of art instead of {N_WORKS}")
    return f"{found:,} works of art, the page and its styles are in the package"


def check_training(trial: Trial) -> str:
    """Train a model of texts."""
    from rmls import TextRanker

    works = trial.works.train.take(slice(0, N_TRAIN))
    began = time.perf_counter()
    trial.model = TextRanker().fit(works.columns, works.labels)
    seconds = time.perf_counter() - began
    return f"{len(works):,} works, {len(trial.model.classes_):,} subjects, {seconds:.1f} s"


def check_ranking(trial: Trial) -> str:
    """Compare the best subjects of works that were not trained on with what curators gave them."""
    works = trial.works.test.take(slice(0, N_TEST))
    ranked = trial.model.rank(works.columns, BEST).to_lists()
    right = sum(len(set(best) & set(true)) for best, true in zip(ranked, works.labels, strict=True))
    share = right / (BEST * len(works))
    _expect(share >= MIN_PRECISION, f"only {share:.1%} of the best {BEST} subjects are right")
    return f"{share:.1%} of the best {BEST} subjects of other works are right"


def check_saving(trial: Trial) -> str:
    """Save the model, and load it here and on the command line of a fresh process."""
    from rmls import load

    text = "Fishing boats in the harbour at Whitby"
    trial.model.save(trial.archive)
    before, after = (model.suggest([text], BEST)[0] for model in (trial.model, load(trial.archive)))
    _expect(before == after, "the loaded model suggests something else")
    command = [sys.executable, "-m", "rmls", "suggest", str(trial.archive), text]
    done = subprocess.run(
        [*command, "--format", "jsonl"], capture_output=True, text=True, encoding="utf-8"
    )
    _expect(done.returncode == 0, f"rmls suggest failed: {done.stderr.strip()}")
    labels = json.loads(done.stdout)["labels"]
    _expect([each["label"] for each in labels] == [each.name for each in before], "other labels")
    apart = max(
        abs(each["probability"] - (mine.probability or 0.0))
        for each, mine in zip(labels, before, strict=True)
    )
    _expect(apart < DIGITS, f"probabilities of a fresh process differ by {apart:.2g}")
    size = sum(file.stat().st_size for file in trial.archive.iterdir())
    return f"{size / 2**20:.1f} MB; a fresh process suggests the same ({labels[0]['label']})"


def check_damage(trial: Trial) -> str:
    """Change a byte of the saved model, which must be refused."""
    from rmls import load

    file = trial.archive / "arrays.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    try:
        load(trial.archive)
    except RmlsError:
        return "a model with a changed byte is refused"
    raise Failed("a model with a changed byte was loaded")


def check_paper(trial: Trial) -> str:
    """Train the method of the paper on made rows, and decide."""
    from rmls import RMLS, make_longtail

    data = make_longtail(400, 200, 20, labels_per_row=2, random_state=0)
    train, test = data.take(slice(0, 300)), data.take(slice(300, 400))
    model = RMLS(n_components=16).fit(train)
    f1 = float(model.score(test.X, test.Y))
    _expect(f1 >= MIN_F1, f"F1 of label sets is only {f1:.2f}")
    return f"F1 of {f1:.2f} on made rows that it had not seen"


CHECKS: dict[str, Check] = {
    "files": check_files,
    "training": check_training,
    "ranking": check_ranking,
    "saving": check_saving,
    "damage": check_damage,
    "paper": check_paper,
}


def _expect(right: bool, otherwise: str) -> None:
    if not right:
        raise Failed(otherwise)


def describe_system() -> str:
    """Return what the checks run on, in one line."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    return f"rmls {VERSION}, {system}; {libraries}"


def run_checks(checks: dict[str, Check]) -> Iterator[tuple[str, bool, str]]:
    """Yield the name of every check, whether all is right, and a sentence."""
    with tempfile.TemporaryDirectory(prefix="rmls-selftest-", ignore_cleanup_errors=True) as folder:
        trial = Trial(Path(folder))
        for name, check in checks.items():
            yield name, *_run(check, trial)


def _run(check: Check, trial: Trial) -> tuple[bool, str]:
    try:
        return True, check(trial)
    # Whatever is wrong here is what the user wants to know, and the next check goes on.
    except Exception as error:
        reason = " ".join(str(error).split())[:MAX_REASON]
        return False, reason if isinstance(error, Failed) else f"{type(error).__name__}: {reason}"


def main(arguments: Sequence[str] = ()) -> int:
    """Run all checks and print a line for each; return the exit code."""
    argparse.ArgumentParser("python -m rmls.selftest", description=__doc__).parse_args(arguments)
    began = time.perf_counter()
    print(describe_system(), flush=True)
    failed = 0
    for name, right, sentence in run_checks(CHECKS):
        failed += not right
        print(f"{'ok' if right else 'FAILED':6s}  {name:9s} {sentence}", flush=True)
    seconds = time.perf_counter() - began
    told = f"{failed} of {len(CHECKS)} checks failed" if failed else f"all {len(CHECKS)} passed"
    print(f"{told}, {seconds:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
