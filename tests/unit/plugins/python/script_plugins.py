"""Plugins written into a test's folder."""

from pathlib import Path
from textwrap import dedent

from rightseat.plugins.plugin import Plugin
from rightseat.plugins.python.find import find_scripts


def write_scripts(folder: Path, **files: str) -> Path:
    """A plugin's folder with these files in lib/, by their names without `.py`."""
    for name, text in files.items():
        path = folder / "lib" / f"{name.replace('__slash__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
    return folder


def load_script_plugin(folder: Path, **files: str) -> Plugin:
    write_scripts(folder, **files)
    found, problems = find_scripts(folder)
    return Plugin(
        id=folder.name, folder=folder, name="Tools", description="Tools of a test.", scripts=found, problems=problems
    )
