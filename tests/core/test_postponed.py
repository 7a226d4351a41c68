"""What is imported late: nothing notices, and nothing stays behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rmls.core.lean.postponed import postponed

READ = """
import sys
from rmls import RMLS, RMLSRanker, TextRanker
assert "sklearn.base" in sys.modules
assert "scipy.stats" not in sys.modules, "read at once"
import scipy
assert scipy.stats.norm.cdf(0) == 0.5
from sklearn.neighbors import KNeighborsClassifier
near = KNeighborsClassifier(1).fit([[0.0], [1.0]], [3, 4])
assert near.predict([[0.9]]).tolist() == [4]
"""


def test_scikit_learn_comes_without_scipy_stats_and_works() -> None:
    subprocess.run([sys.executable, "-c", READ], check=True)


@pytest.fixture
def module(tmp_path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package that notes when it is read."""
    folder = tmp_path / "slow_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("answer = 42\n")
    (folder / "part.py").write_text("half = 21\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("slow_package", "slow_package.part"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "slow_package"


def test_a_plain_import_reads_nothing(module: str) -> None:
    with postponed(module):
        import slow_package

        assert "answer" not in vars(slow_package)
    assert module not in sys.modules
    assert slow_package.answer == 42


@pytest.mark.parametrize(
    "asks",
    [
        "import slow_package; slow_package.answer",
        "from slow_package import answer",
        "import slow_package.part",
        "from slow_package.part import half",
    ],
)
def test_whoever_asks_gets_the_real_one(module: str, asks: str) -> None:
    with postponed(module):
        exec(asks, {})
        real = sys.modules[module]
        assert real.answer == 42
    assert sys.modules[module] is real


def test_what_is_read_already_stays(module: str) -> None:
    import slow_package

    with postponed(module):
        assert sys.modules[module] is slow_package


def test_an_error_leaves_no_stand_in(module: str) -> None:
    with pytest.raises(ZeroDivisionError), postponed(module):
        _ = 1 / 0
    assert module not in sys.modules
