from pathlib import Path

import pytest

from checks import names


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "rightseat"
    (folder / "engine").mkdir(parents=True)
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "engine" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "engine" / "loop.py").write_text("class Engine: ...\n\ndef parse_turn(): ...\n", encoding="utf-8")
    return folder


def test_good_names_are_counted(package: Path) -> None:
    assert names.find_problems(package) == ([], "3 modules, 2 root names, 0 repeated classes, 0 participles, 0 cycles")


def test_a_class_defined_twice_is_red(package: Path) -> None:
    (package / "engine" / "other.py").write_text("def f():\n    class Engine: ...\n", encoding="utf-8")
    assert names.find_problems(package)[0] == [
        "class Engine is defined in rightseat.engine.loop, rightseat.engine.other"
    ]


def test_modules_that_import_each_other_are_red(package: Path) -> None:
    (package / "engine" / "a.py").write_text("from rightseat.engine.b import x\n", encoding="utf-8")
    (package / "engine" / "b.py").write_text("from rightseat.engine import a\n", encoding="utf-8")
    assert names.find_problems(package)[0] == ["modules import each other: rightseat.engine.a, rightseat.engine.b"]


def test_an_import_inside_a_function_or_for_types_makes_no_cycle(package: Path) -> None:
    lazy = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from rightseat.engine import b\n\n"
    (package / "engine" / "a.py").write_text(f"{lazy}def f():\n    import rightseat.engine.b\n", encoding="utf-8")
    (package / "engine" / "b.py").write_text("import rightseat.engine.a\n", encoding="utf-8")
    assert names.find_problems(package)[0] == []


@pytest.mark.parametrize(
    ("name", "is_participle"),
    [
        ("worded", True),
        ("_told", True),
        ("asking", True),
        ("kept", True),
        ("parse_request", False),
        ("closing", False),
        ("feed", False),
    ],
)
def test_participles(package: Path, name: str, is_participle: bool) -> None:
    (package / "errors.py").write_text(f"def {name}(): ...\n", encoding="utf-8")
    found = names.find_participles(names.read_trees(package))
    assert found == ([f"rightseat.errors:{name}"] if is_participle else [])


def test_sixty_participles_are_red(package: Path) -> None:
    functions = "".join(f"class C{number}:\n    def told(self): ...\n" for number in range(names.MAX_PARTICIPLES))
    (package / "errors.py").write_text(functions, encoding="utf-8")
    (problem,) = names.find_problems(package)[0]
    assert problem.startswith("60 functions named by a participle: rightseat.errors:told")


def test_a_long_root_listing_is_red(package: Path) -> None:
    for number in range(names.MAX_ROOT_NAMES):
        (package / f"m{number}.py").write_text("", encoding="utf-8")
    assert names.find_problems(package)[0] == ["27 names in rightseat/, at most 25"]


@pytest.mark.demand("house.root_listing", "house.unique_class_names", "house.verbs_for_functions", "house.no_cycles")
def test_the_package_keeps_these_rules() -> None:
    assert names.find_problems(names.PACKAGE)[0] == []
