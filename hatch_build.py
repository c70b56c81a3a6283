"""Build hook: a wheel holds the files of its pages, or it is not built."""

import os
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP_VARIABLE = "RIGHTSEAT_WITHOUT_PAGES"
VENDOR_FOLDERS = ("server/playground/vendor", "doors/copilotkit/vendor")
ADVICE = (
    "The files that the pages show (charts, formulas, GraphiQL) are not here: {missing}.\n"
    "Fetch them with `make assets`, which needs npm, and build again. To build without them, so that charts are tables "
    f"and answers plain text, set {SKIP_VARIABLE}=1."
)


def find_missing_files(root: Path) -> list[str]:
    """List the files of the pages that are missing. In a clone the list of `make assets` counts; an sdist has none,
    and its folders must hold something."""
    package, program = root / "src" / "rightseat", root / "checks" / "assets.py"
    if program.is_file():
        return [name for name in runpy.run_path(str(program))["FILES"] if not (package / name).is_file()]
    return [folder for folder in VENDOR_FOLDERS if not any((package / folder).glob("*.js"))]


class PageFilesHook(BuildHookInterface[Any]):
    """Stops the build of a wheel without the files of its pages. An editable installation needs none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get(SKIP_VARIABLE):
            return
        missing = find_missing_files(Path(self.root))
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise SystemExit(ADVICE.format(missing=", ".join(missing[:3]) + more))
