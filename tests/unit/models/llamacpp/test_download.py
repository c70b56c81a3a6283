"""Parts of a download that need no server: redirects, validators, what the hub states of a file."""

from pathlib import Path

import pytest
from yarl import URL

from rightseat.models.llamacpp.download import PartialFile, SourceRecord, find_validator, join_redirect
from rightseat.models.llamacpp.hub import (
    DownloadError,
    DownloadSource,
    LinkedFile,
    make_missing_file_error,
    parse_gguf_names,
)
from tests.kit.hub import SIGNATURE


def test_a_signed_address_is_not_quoted_anew() -> None:
    url = join_redirect(URL("https://hub.test/a"), f"https://cdn.test/x%7Ey/b?{SIGNATURE}")
    assert url.raw_path_qs == f"/x%7Ey/b?{SIGNATURE}"
    assert str(join_redirect(URL("https://hub.test/a/b"), "/c d?e")) == "https://hub.test/c%20d?e"


@pytest.mark.demand("llamacpp.pull_token_stays_with_hub")
@pytest.mark.parametrize(
    "location", ["http://hub.test/a", "http://cdn.test/a", "ftp://cdn.test/a", "file:///etc/passwd"]
)
def test_no_redirect_leads_out_of_encryption(location: str) -> None:
    with pytest.raises(DownloadError):
        join_redirect(URL("https://hub.test/a"), location)


@pytest.mark.parametrize(
    ("headers", "validator"),
    [
        ({"etag": '"a"', "last-modified": "Mon"}, '"a"'),
        ({"etag": 'W/"a"', "last-modified": "Mon"}, ""),
        ({"last-modified": "Mon"}, "Mon"),
        ({}, ""),
    ],
)
def test_only_a_strong_validator_lets_a_download_go_on(headers: dict[str, str], validator: str) -> None:
    assert find_validator(headers) == validator


@pytest.mark.demand("llamacpp.pull_verifies_checksum")
@pytest.mark.parametrize("etag", ['"{}"', "{}"])
def test_the_hub_states_a_checksum_of_large_files_only(etag: str) -> None:
    digest = "ab" * 32
    assert LinkedFile.from_headers({"x-linked-etag": etag.format(digest), "x-linked-size": "7"}) == LinkedFile(
        digest, 7
    )
    # A small file has the hash of its git object.
    assert LinkedFile.from_headers({"x-linked-etag": etag.format("ab" * 20)}).sha256 == ""


@pytest.mark.parametrize("body", [b"", b"[]", b'{"siblings": 1}', b'{"siblings": [1, {"rfilename": 2}, {}]}'])
def test_a_description_that_cannot_be_read_names_no_files(body: bytes) -> None:
    assert parse_gguf_names(body) == []


def test_parts_of_models_are_not_suggested() -> None:
    names = parse_gguf_names(b'{"siblings": [{"rfilename": "a-00001-of-00002.gguf"}, {"rfilename": "q/A.GGUF"}]}')
    assert names == ["q/A.GGUF"]


def test_what_is_recorded_of_a_partial_file_is_read_again(tmp_path: Path) -> None:
    record = SourceRecord("hf:a/b/c.gguf", "ab", 5, '"e"')
    partial = PartialFile(tmp_path)
    partial.begin(record)
    partial.write(b"GGUF")
    again = PartialFile(tmp_path)
    assert (again.size, again.record, again.read_start()) == (4, record, b"GGUF")
    (tmp_path / "source.json").write_text("{")
    assert PartialFile(tmp_path).record == SourceRecord("")


def test_a_repository_without_models() -> None:
    source = DownloadSource("hf:a/b/c.gguf", URL("https://hub.test"), "c.gguf", "a/b")
    assert "ends with -GGUF" in make_missing_file_error(source, []).message
    many = make_missing_file_error(source, [f"x{number}.gguf" for number in range(20)]).message
    assert many.endswith("and 8 more")
