"""Tables of texts as stores: the rows are those that a training in memory would see."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rmls.core.errors import InputError
from rmls.core.labels import read_labels
from rmls.datasets import iterate_texts, read_texts
from rmls.datasets.store import open_store
from rmls.features import TextFeatures
from rmls.features.text.state import text_state
from rmls.models.text.naming import name_labels
from rmls.models.text.stored import TextSource, load_features, same_features, store_texts

N = 230
THEMES = ["tax", "sea", "rye bread", "law"]


def make_columns() -> dict[str, list]:
    rng = np.random.default_rng(4)
    names = [[THEMES[i] for i in np.flatnonzero(rng.random(4) < 0.4)] for _ in range(N)]
    words = [f"w{number}" for number in range(60)]
    texts = [" ".join([*rng.choice(words, 8), *(name for name in some)]) for some in names]
    # A row without words, one in a script without spaces.
    texts[5], texts[6] = "", "税法"
    return {"id": [f"d{i}" for i in range(N)], "text": texts, "labels": names}


def write_csv(columns, path):
    lines = ["id,text,labels"]
    parts = zip(columns["id"], columns["text"], columns["labels"], strict=True)
    lines += [f'{id},"{text}","{";".join(names)}"' for id, text, names in parts]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def write_json_lines(columns, path):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def write_json(columns, path):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text(json.dumps(rows), "utf-8")


def write_fasttext(columns, path):
    lines = [
        " ".join([*(f"__label__{name.replace(' ', '-')}" for name in names), text])
        for text, names in zip(columns["text"], columns["labels"], strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def write_arrow(columns, path):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(columns)
    if path.suffix == ".parquet":
        __import__("pyarrow.parquet").parquet.write_table(table, path)
    else:
        __import__("pyarrow.feather").feather.write_feather(table, str(path))


def write_excel(columns, path):
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(list(columns))
    for id, text, names in zip(*columns.values(), strict=True):
        book.active.append([id, text, ";".join(names)])
    book.save(path)


def write_folder(columns, path):
    path.mkdir()
    for id, text, names in zip(*columns.values(), strict=True):
        (path / f"{id}.txt").write_text(text, "utf-8")
        (path / f"{id}.key").write_text("\n".join(names), "utf-8")


WRITERS = {
    "folder": write_folder,
    "t.csv": write_csv,
    "t.jsonl": write_json_lines,
    "t.json": write_json,
    "t.ft": write_fasttext,
    "t.parquet": write_arrow,
    "t.feather": write_arrow,
    "t.xlsx": write_excel,
}


def source_of(path, **more) -> TextSource:
    return TextSource(lambda: iterate_texts(path, **more), {"path": str(path)})


def in_memory(path, features: TextFeatures, **more):
    """Return what a training in memory makes of a table: of its rows that have labels."""
    table = read_texts(path, **more)
    table = table.take([row for row, names in enumerate(table.labels) if names])
    named = name_labels(table.labels)
    X = features.fit_transform(table.columns, names=[] if named is None else named.texts)
    return X, *read_labels(table.labels), table.ids


@pytest.mark.parametrize("name", WRITERS)
def test_every_table_becomes_the_rows_of_a_training_in_memory(name, tmp_path):
    WRITERS[name](make_columns(), tmp_path / name)
    store_texts(source_of(tmp_path / name), tmp_path / "s", TextFeatures(), shard_rows=50)
    features = TextFeatures()
    X, space, Y, ids = in_memory(tmp_path / name, features)
    store = open_store(tmp_path / "s")
    assert np.array_equal(store.X.toarray(), X.toarray())
    assert np.array_equal(store.Y.toarray(), Y.toarray())
    assert store.label_names == list(space.names)
    assert store.ids == ids
    assert same_features(load_features(store.text_folder), features)
    store.verify()


@pytest.mark.parametrize(
    "options",
    [
        {"stem": "endings"},
        {"stem": "english", "pairs": True},
        {"characters": (3, 4), "min_rows": 2},
        {"hashing": 64},
        {"max_terms": 20},
        {"categories": ["id"]},
    ],
    ids=str,
)
def test_the_first_pass_learns_what_a_fit_learns(options, tmp_path):
    write_csv(make_columns(), tmp_path / "t.csv")
    read = {"categories": options["categories"]} if "categories" in options else {}
    store_texts(source_of(tmp_path / "t.csv", **read), tmp_path / "s", TextFeatures(**options))
    features = TextFeatures(**options)
    X, *_ = in_memory(tmp_path / "t.csv", features, **read)
    store = open_store(tmp_path / "s")
    np.testing.assert_allclose(store.X.toarray(), X.toarray(), rtol=1e-6)
    wanted, found = text_state(features), text_state(load_features(store.text_folder))
    assert found[0] == wanted[0]
    assert all(np.array_equal(array, found[1][name]) for name, array in wanted[1].items())


class Failure(Exception):
    pass


def failing(source: TextSource, pass_number: int, rows: int) -> TextSource:
    """Return a source that fails in one of its passes, after some rows."""
    made = []

    def read():
        made.append(None)
        n_rows = 0
        for whole in source.read():
            for start in range(0, len(whole), 10):
                if len(made) == pass_number and n_rows >= rows:
                    raise Failure
                yield whole.take(slice(start, start + 10))
                n_rows += 10

    return replace(source, read=read)


def test_a_second_pass_goes_on_where_it_was(tmp_path):
    write_csv(make_columns(), tmp_path / "t.csv")
    source = source_of(tmp_path / "t.csv")
    said: list[str] = []
    options = {"shard_rows": 40, "say": lambda title, text: said.append(f"{title}: {text}")}
    with pytest.raises(Failure):
        store_texts(failing(source, 2, 150), tmp_path / "s", TextFeatures(), **options)
    first = tmp_path / "s" / "shard-00000" / "X.data.bin"
    written = first.stat().st_mtime_ns
    said.clear()
    store_texts(source, tmp_path / "s", TextFeatures(), **options)
    assert said[0] == "resumed: the words were learned already"
    assert said[1].startswith("resumed: ")
    assert first.stat().st_mtime_ns == written
    X, *_ = in_memory(tmp_path / "t.csv", TextFeatures())
    assert np.array_equal(open_store(tmp_path / "s").X.toarray(), X.toarray())
    left = {path.name for path in (tmp_path / "s").iterdir()}
    assert not left & {"learned", "learned.json", "plan.json"}


def test_a_first_pass_that_failed_begins_again(tmp_path):
    write_csv(make_columns(), tmp_path / "t.csv")
    source = source_of(tmp_path / "t.csv")
    with pytest.raises(Failure):
        store_texts(failing(source, 1, 100), tmp_path / "s", TextFeatures())
    store_texts(source, tmp_path / "s", TextFeatures())
    assert open_store(tmp_path / "s").n_samples > 100


def test_rows_for_a_model_keep_those_without_labels(tmp_path):
    write_csv(make_columns(), tmp_path / "t.csv")
    features = TextFeatures().fit(["w1 w2 w3"])
    store_texts(source_of(tmp_path / "t.csv"), tmp_path / "s", features, fitted=True)
    store = open_store(tmp_path / "s")
    texts = read_texts(tmp_path / "t.csv").columns["text"]
    assert store.X.shape == (N, 3)
    assert (sparse.csr_matrix(features.transform(texts)) != store.X).nnz == 0


def test_texts_without_words_or_labels_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("text,labels\n...,a\n!!,b\n")
    with pytest.raises(InputError, match="no words to learn from"):
        store_texts(source_of(tmp_path / "t.csv"), tmp_path / "s", TextFeatures())
    (tmp_path / "t.csv").write_text("text,labels\nbread,\nsea,\n")
    with pytest.raises(InputError, match="no row has a label"):
        store_texts(source_of(tmp_path / "t.csv", labels="labels"), tmp_path / "r", TextFeatures())


def test_texts_are_stored_behind_an_address(tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="the extra 'remote' is not installed")
    write_csv(make_columns(), tmp_path / "t.csv")
    source = source_of(tmp_path / "t.csv")
    try:
        with pytest.raises(Failure):
            store_texts(failing(source, 2, 150), "memory://rows", TextFeatures(), shard_rows=40)
        said = []
        store_texts(
            source,
            "memory://rows",
            TextFeatures(),
            shard_rows=40,
            say=lambda title, _: said.append(title),
        )
        assert said == ["resumed", "resumed"]
        store, features = open_store("memory://rows"), TextFeatures()
        X, *_ = in_memory(tmp_path / "t.csv", features)
        assert np.array_equal(store.X.toarray(), X.toarray())
        assert same_features(load_features(store.text_folder), features)
    finally:
        fsspec.filesystem("memory").store.clear()
