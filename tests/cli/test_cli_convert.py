"""`rmls convert`: the same data in another format."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from rmls.core.errors import InputError
from rmls.datasets import convert, load, save


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


@pytest.mark.parametrize(
    ("target", "beside"),
    [("notes.arff", "notes.xml"), ("notes.npz", "notes.labels.txt"), ("notes.svm", "notes.xml")],
)
def test_files_beside_the_target_are_not_overwritten_without_being_asked(
    run, fails, data_file, tmp_path, target, beside
):
    (tmp_path / beside).write_text("mine")
    if target == "notes.svm":
        # This format writes no such file.
        assert run("convert", data_file, tmp_path / target).exit_code == 0
    else:
        message = fails("convert", data_file, tmp_path / target)
        assert beside in message
        assert "--overwrite" in message
        assert os.listdir(tmp_path) == [beside]
    assert (tmp_path / beside).read_text() == "mine"
    assert run("convert", data_file, tmp_path / target, "--overwrite").exit_code == 0
    assert ((tmp_path / beside).read_text() == "mine") is (target == "notes.svm")


def test_the_same_names_beside_another_format_are_no_obstacle(run, data_file, tmp_path):
    for target in ("d.svm", "d.npz", "d.arff"):
        assert run("convert", data_file, tmp_path / target).exit_code == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_devices_and_folders_are_left_as_they_are(fails, data_file, tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "null.npz").symlink_to(os.devnull)
    (tmp_path / "circle.npz").symlink_to("circle.npz")
    for name in ("pipe", "folder", "null", "circle"):
        before = os.lstat(tmp_path / f"{name}.npz")
        for options in ([], ["--overwrite"]):
            found = fails("convert", data_file, tmp_path / f"{name}.npz", *options)
            assert "give the name of a file" in found
        assert os.path.samestat(os.lstat(tmp_path / f"{name}.npz"), before)
    assert "a device" in fails("convert", data_file, "/dev/null", "--to", "npz", "--overwrite")
    assert not os.path.isfile("/dev/null")


def test_a_link_stays_a_link_and_its_file_is_replaced(run, fails, data_file, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "d.npz"
    link.symlink_to(tmp_path / "elsewhere" / "real.npz")
    assert run("convert", data_file, link).exit_code == 0
    assert "--overwrite" in fails("convert", data_file, link)
    assert run("convert", data_file, link, "--overwrite").exit_code == 0
    assert link.is_symlink()
    assert load(tmp_path / "elsewhere" / "real.npz").n_samples == 300
    assert os.listdir(tmp_path / "elsewhere") == ["real.npz"]


@pytest.mark.parametrize("name", ["x" * 252 + ".npz", "a\0b.npz"])
def test_names_that_no_file_can_have_are_told(name, data, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        save(data, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_name_as_long_as_a_file_may_have_is_written(data, tmp_path):
    save(replace(data, label_names=None), tmp_path / ("x" * 251 + ".npz"))
    assert len(os.listdir(tmp_path)) == 1


def test_overwriting_can_be_forbidden_in_python(data, tmp_path):
    save(data, tmp_path / "d.npz", overwrite=False)
    with pytest.raises(InputError, match=r"d\.npz exists"):
        save(data, tmp_path / "d.npz", overwrite=False)
    with pytest.raises(InputError, match=r"d\.npz exists"):
        convert(tmp_path / "d.npz", tmp_path / "d.npz", overwrite=False)
