"""Static files that come later: a folder that is missing at the first request is found when it is there."""

from pathlib import Path

from rightseat.http.static import StaticFiles


def test_a_folder_that_comes_later_is_found(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "main.js").write_text("1")
    files = StaticFiles({"": tmp_path / "page", "vendor/": tmp_path / "vendor"})
    assert [*files.paths] == ["main.js"]
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "echarts.js").write_text("2")
    assert {*files.paths} == {"main.js", "vendor/echarts.js"}
    assert files.paths is files.paths
