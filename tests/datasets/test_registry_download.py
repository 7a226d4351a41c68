"""Downloads against a server on this machine: whole, wrong, cut, missing, dead."""

from __future__ import annotations

import hashlib
import http.server
import threading

import pytest

from rmls.core.errors import RmlsError
from rmls.datasets import _catalogue, available, download, load, registry
from rmls.datasets._download import DownloadError, fetch

CONTENT = b"2 3 2\n0,1 0:1 2:.5\n 1:2\n"
SUM = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.path == "/dies":
            self.connection.close()
            return
        self.send_response(200)
        extra = 100 if self.path == "/cut" else 0
        if self.path != "/unsized":
            self.send_header("Content-Length", str(len(CONTENT) + extra))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def register(monkeypatch):
    def add(url, sha256=None):
        file = _catalogue.RemoteFile("tiny.xmc", url, sha256)
        entry = _catalogue.Entry(
            "tiny", 2, 3, 2, "a toy", "CC0", "https://example.org", "copy tiny.xmc", (file,)
        )
        monkeypatch.setattr(registry, "ENTRIES", (entry,))

    return add


def test_a_good_file_lands_in_the_cache_and_loads(address, register, folders):
    register(f"{address}/good", SUM)
    assert download("tiny") == folders[1] / "tiny.xmc"
    assert load("tiny").X.toarray().tolist() == [[1, 0, 0.5], [0, 2, 0]]
    assert [item.path for item in available() if item.name == "tiny"] == [folders[1] / "tiny.xmc"]


def test_loading_fetches_only_when_told_to(address, register, folders):
    register(f"{address}/good", SUM)
    with pytest.raises(RmlsError, match="tiny is not available"):
        load("tiny")
    assert load("tiny", download=True).n_samples == 2


@pytest.mark.parametrize(
    ("page", "sum_", "sentence"),
    [
        ("good", "0" * 64, f"has SHA-256 {SUM} instead of 000"),
        ("missing", SUM, "answered 404 Not Found"),
        ("cut", None, f"broke off after {len(CONTENT)} of {len(CONTENT) + 100} bytes"),
        ("dies", None, "127.0.0.1"),
    ],
)
def test_a_failed_download_leaves_nothing_and_says_what_to_do(
    page, sum_, sentence, address, register, folders
):
    register(f"{address}/{page}", sum_)
    with pytest.raises(DownloadError) as caught:
        download("tiny")
    message = str(caught.value)
    assert sentence in message
    assert f"{address}/{page}" in message
    assert "by hand, see https://example.org: copy tiny.xmc" in message
    assert "\n" not in message
    assert list(folders[1].iterdir()) == []


def test_a_server_that_is_not_there_gives_one_sentence(register, folders):
    register("http://127.0.0.1:9/none")
    with pytest.raises(DownloadError, match=r"cannot be reached \(.*by hand"):
        download("tiny")


def test_a_file_beyond_the_limit_is_refused_sized_or_not(address, tmp_path):
    for page in ("good", "unsized"):
        with pytest.raises(DownloadError, match="the limit"):
            fetch(f"{address}/{page}", tmp_path / "a", None, max_bytes=10)
    assert list(tmp_path.iterdir()) == []


def test_only_web_addresses_are_fetched(tmp_path):
    with pytest.raises(DownloadError, match="not a web address"):
        fetch("file:///etc/hostname", tmp_path / "a", None)


@pytest.mark.parametrize("sum_", [None, SUM], ids=["first use", "published"])
def test_a_cached_file_that_changed_is_refused_until_forced(sum_, address, register, folders):
    register(f"{address}/good", sum_)
    path = download("tiny")
    assert (folders[1] / "tiny.xmc.sha256").read_text().startswith(SUM)
    path.write_bytes(CONTENT.replace(b"1:2", b"1:3"))
    with pytest.raises(DownloadError, match="delete it, or fetch it again with force=True"):
        load("tiny")
    download("tiny", force=True)
    assert load("tiny").n_samples == 2


def test_the_users_folder_wins_over_the_cache(address, register, folders):
    register(f"{address}/good", SUM)
    download("tiny")
    (folders[0] / "tiny.txt").write_bytes(b"1 1 1\n0 0:7\n")
    assert load("tiny").X.toarray().tolist() == [[7]]


def test_the_cache_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("RMLS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert registry.cache_dir() == tmp_path / "rmls"


def test_catalogue_entries_are_complete_and_distinct():
    names = [entry.name for entry in _catalogue.ENTRIES]
    assert len(set(names)) == len(names)
    for entry in _catalogue.ENTRIES:
        assert entry.source.startswith("http")
        assert entry.by_hand
        for file in entry.files:
            assert file.url.startswith("https://")
            assert file.sha256 is None or len(file.sha256) == 64
