"""Where tests find the embedded model's weights, and what is said when they cannot be had."""

from pathlib import Path
from typing import Any

import pytest

from rightseat.errors import WeightsError
from rightseat.models.llamacpp.weights import EMBEDDED
from tests.kit import embedded
from tests.kit.embedded import COULD_NOT_FETCH, WeightsFetchError, choose_folder, fetch_weights


def put_weights(folder: Path) -> None:
    place = folder / "models" / EMBEDDED.sha256[:16] / EMBEDDED.file_name
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        file.truncate(EMBEDDED.size)


def test_the_users_cache_is_used_where_it_can_be_written(tmp_path: Path) -> None:
    assert choose_folder(tmp_path / "usual", tmp_path / "build") == tmp_path / "usual"


@pytest.mark.demand("tests.test_needs_python_package")
def test_weights_go_to_build_where_the_cache_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert choose_folder(tmp_path / "file" / "cache", tmp_path / "build") == tmp_path / "build"


@pytest.mark.demand("tests.test_needs_python_package")
def test_weights_in_build_are_found_again(tmp_path: Path) -> None:
    put_weights(tmp_path / "build")
    assert choose_folder(tmp_path / "usual", tmp_path / "build") == tmp_path / "build"
    put_weights(tmp_path / "usual")
    assert choose_folder(tmp_path / "usual", tmp_path / "build") == tmp_path / "usual"


@pytest.mark.demand("tests.weights_come_through_session")
def test_it_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tries = []

    def pull(**arguments: Any) -> Path:
        tries.append(arguments["folder"])
        if len(tries) < embedded.TRIES:
            raise WeightsError("No network.")
        return tmp_path / "there"

    assert fetch_weights(tmp_path, pull, pause=0) == tmp_path / "there"
    assert tries == [tmp_path] * 3
    said = capsys.readouterr().err
    assert "Fetching smollm2-135m-instruct" in said
    assert "try 2 of 3 failed: No network." in said


def test_in_the_end_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pull(**arguments: Any) -> Path:
        raise WeightsError("No network.")

    with pytest.raises(WeightsFetchError, match=r"^could not fetch the embedded model's weights: No network\.$"):
        fetch_weights(tmp_path, pull, pause=0)
    monkeypatch.setattr(embedded, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(embedded, "fetch_weights", lambda folder: fetch_weights(folder, pull, pause=0))
    assert embedded.main() == COULD_NOT_FETCH
    assert "could not fetch" in capsys.readouterr().err
