"""The public data sets that the registry knows: sizes, origin, addresses, checksums."""

from __future__ import annotations

from dataclasses import dataclass

BOOMER = "https://github.com/mrapp-ke/Boomer-Datasets"
MULAN = "https://mulan.sourceforge.net/datasets-mlc.html"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel.html"


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch; without ``sha256`` the first download is trusted and remembered."""

    name: str
    url: str
    sha256: str | None = None


@dataclass(frozen=True)
class Entry:
    """A public data set; ``files`` is empty when it must be fetched by hand from ``source``."""

    name: str
    n_samples: int
    n_features: int
    n_labels: int
    description: str
    licence: str
    source: str
    by_hand: str
    files: tuple[RemoteFile, ...] = ()


def _mulan(
    name: str,
    sizes: tuple[int, int, int],
    description: str,
    commit: str,
    sums: tuple[str, str | None],
    xml: str | None = None,
) -> Entry:
    files = (
        # At a commit, which cannot change: the checksum stays true.
        RemoteFile(f"{name}.arff", f"{BOOMER}/raw/{commit}/{name}.arff", sums[0]),
        RemoteFile(f"{name}.xml", xml or f"{BOOMER}/raw/main/{name}.xml", sums[1]),
    )
    return Entry(
        name,
        *sizes,
        description,
        licence="not stated by the publishers",
        source=MULAN,
        by_hand=f"unpack {name}.arff and {name}.xml from the archive listed there",
        files=files,
    )


ENTRIES = (
    _mulan(
        "emotions",
        (593, 72, 6),
        "music and the feelings it stirs; dense",
        "082dba2665d701ce74a1291ad3809da789fa5c96",
        (
            "6f2f790047073d1293ac0872c0d55f2dc98b6177802fc96c6b66b309dfee1e4b",
            "dbce8e6ccbbb2fcbfd9e9edbb230d7ed12692c6e13f59fdbc0161fa9b6cf2dc0",
        ),
    ),
    _mulan(
        "enron",
        (1702, 1001, 53),
        "e-mails of the Enron corpus by topic",
        "91950e2fd9fb199df84f0c045fde589fa5ec46c5",
        (
            "d0889ef0576d4e7b5ec0df3b3e4760e476ac11a6e7d7ddeee4c4a34470dedf97",
            "ed40c92d7f613eed51714912cab10dddc4ce456262137d8fef230d44c7f4457b",
        ),
    ),
    _mulan(
        "delicious",
        (16105, 500, 983),
        "web pages and the tags of their readers",
        "db86cef9af5ef1d01f5554e689e790a3e1a0637b",
        ("b944de0bca910050c11d97eed57d17b073110ea3646a587f3d15d127cf581aab", None),
        xml="https://raw.githubusercontent.com/tsoumakas/mulan/"
        "1994d0831de3f1fcf1a2ed83e574c35dcebb761b/data/multi-label/delicious/delicious.xml",
    ),
    _mulan(
        "yeast",
        (2417, 103, 14),
        "genes and their functions; dense",
        "73db96cbcc8cc8891830fc86827617e4a8e7f033",
        ("55c07a3b6ff885ae338fb6987a1d57f55572b29809922c2822c4885c61230dd7", None),
    ),
    Entry(
        "medical",
        978,
        1449,
        45,
        "clinical reports and their disease codes",
        licence="not stated by the publishers",
        source=MULAN,
        by_hand="unpack medical.arff and medical.xml from the archive listed there",
    ),
    Entry(
        "rcv1sub1",
        6000,
        47236,
        101,
        "Reuters news by topic, subset 1 of RCV1",
        licence="free for research; see the source",
        source=LIBSVM,
        by_hand="decompress and join the training and test file of 'rcv1v2 (topics; subsets)' 1 "
        "as rcv1sub1.svm",
    ),
    Entry(
        "eurlex57k",
        57000,
        14932,
        4271,
        "European law and EuroVoc concepts, as word counts",
        licence="CC BY-SA 4.0",
        source="http://nlp.cs.aueb.gr/software_and_datasets/EURLEX57K/",
        by_hand="the archive there holds texts: count the words and save eurlex57k.npz",
    ),
)
