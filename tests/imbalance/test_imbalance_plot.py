from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from scipy import sparse

from rmls.core.errors import InputError, MissingExtraError
from rmls.imbalance import describe, plot_imbalance

SIGNATURES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def zipf_labels(n_labels: int = 300) -> sparse.csr_matrix:
    generator = np.random.default_rng(0)
    return sparse.csr_matrix(generator.random((400, n_labels)) < 0.9 / np.arange(1, n_labels + 1))


@pytest.mark.parametrize("extension", SIGNATURES)
def test_extension_gives_the_format_and_no_other_file_is_left(
    tmp_path: Path, extension: str
) -> None:
    target = tmp_path / f"labels.{extension}"
    plot_imbalance(zipf_labels(), target)
    assert target.read_bytes().startswith(SIGNATURES[extension])
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["labels.xyz", "labels"])
def test_unknown_extension_is_refused_before_anything_is_drawn(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"written as \.png, \.svg or \.pdf"):
        plot_imbalance(zipf_labels(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        plot_imbalance([[1, 0]], tmp_path / "nowhere" / "labels.png")


def test_failed_write_keeps_the_old_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "labels.png"
    target.write_bytes(b"old")

    def fail(figure: object, stream: IO[bytes], **options: object) -> None:
        stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        plot_imbalance([[1, 0]], target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_report_and_labels_give_the_same_curve() -> None:
    Y = zipf_labels(40)
    curves = [
        plot_imbalance(given).axes[0].lines[0].get_xydata().tolist() for given in (Y, describe(Y))
    ]
    assert curves[0] == curves[1]


def test_curve_has_the_counts_in_falling_order() -> None:
    Y = np.array([[1, 0, 1], [1, 1, 1], [1, 0, 0]])
    line = plot_imbalance(Y).axes[0].lines[0]
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert line.get_ydata().tolist() == [3, 2, 1]


def test_histogram_counts_every_row_unless_the_axis_says_otherwise() -> None:
    sizes = [1] * 390 + [2] * 8 + [250, 299]
    Y = np.array([[1] * size + [0] * (299 - size) for size in sizes])
    axes = plot_imbalance(Y).axes[1]
    drawn = sum(patch.get_height() for patch in axes.patches)
    assert drawn == 398
    assert "2 rows with up to 299 not shown" in axes.get_xlabel()


@pytest.mark.parametrize("Y", [[[1]], [[0, 0]], [[1, 0], [1, 1]]])
def test_smallest_data_can_be_drawn(Y: list[list[int]], tmp_path: Path) -> None:
    plot_imbalance(Y, tmp_path / "labels.png")
    assert (tmp_path / "labels.png").stat().st_size > 1000


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rmls\[plots\]'"):
        plot_imbalance([[1, 0]])


def test_importing_the_package_loads_neither_matplotlib_nor_sklearn() -> None:
    code = (
        "import sys, rmls.imbalance, rmls.metrics;"
        "print([m for m in ('matplotlib', 'sklearn', 'numba') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr
