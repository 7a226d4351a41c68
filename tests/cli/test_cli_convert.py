"""`rmls convert`: the same data in another format."""

from __future__ import annotations

from rmls.datasets import load


def test_convert_keeps_the_data(run, data, data_file, tmp_path):
    assert run("convert", data_file, tmp_path / "d.svm.gz").exit_code == 0
    assert run("convert", tmp_path / "d.svm.gz", tmp_path / "d", "--to", "arff").exit_code == 0
    result = run("convert", tmp_path / "d", tmp_path / "d.npz", "--from", "arff")
    assert result.stdout == ""
    assert "300 rows, 120 features, 30 labels" in result.stderr
    found = load(tmp_path / "d.npz")
    assert found.n_train == data.n_train
    assert (found.X != data.X).nnz == (found.Y != data.Y).nnz == 0


def test_convert_warns_when_the_split_is_lost(run, data_file, tmp_path):
    result = run("convert", data_file, tmp_path / "d.xmc")
    assert result.exit_code == 0
    assert result.stderr.count("rmls: warning: ") == 1
    assert "the first 240 rows" in result.stderr


def test_convert_refuses(fails, data_file, tmp_path):
    (tmp_path / "there.npz").write_text("mine")
    assert "--overwrite" in fails("convert", data_file, tmp_path / "there.npz")
    assert "is not a folder" in fails("convert", data_file, tmp_path / "no" / "d.npz")
    assert "names no format" in fails("convert", data_file, tmp_path / "d.what")
    assert "unknown format" in fails("convert", data_file, tmp_path / "d", "--to", "x")
    assert "unknown format" in fails("convert", data_file, tmp_path / "d.npz", "--from", "x")
    (tmp_path / "bad.xmc").write_text("2 3 4\n0 0:x\n")
    assert "bad.xmc, line" in fails("convert", tmp_path / "bad.xmc", tmp_path / "d.npz")
    assert not (tmp_path / "d.npz").exists()
