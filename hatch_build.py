"""Build hooks: a wheel holds the files of its pages, or it is not built; links of its description lead somewhere."""

import os
import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SKIP_VARIABLE = "RIGHTSEAT_WITHOUT_PAGES"
VENDOR_FOLDERS = ("server/playground/vendor", "doors/copilotkit/vendor")
ADVICE = (
    "The files that the pages show (charts, formulas, GraphiQL) are not here: {missing}.\n"
    "Fetch them with `make assets`, which needs npm, and build again. To build without them, so that charts are tables "
    f"and answers plain text, set {SKIP_VARIABLE}=1."
)
SOURCE_URL = "Source"
"""The name in [project.urls] of the repository's address."""
FENCED = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)
RELATIVE = r"(?![a-zA-Z][a-zA-Z0-9+.-]*:|//)(?P<path>[^()\s]+)"
IMAGE = re.compile(rf"!\[(?P<text>[^\]]*)\]\({RELATIVE}(?:\s+\"[^\"]*\")?\)")
LINK = re.compile(rf"(?<!!)\[(?P<text>(?:[^\[\]]|!?\[[^\]]*\](?:\([^)]*\))?)*)\]\({RELATIVE}(?:\s+\"[^\"]*\")?\)")
IMAGE_TAG = re.compile(r"<img\b[^>]*\bsrc=\"(?![a-zA-Z]+:|//)(?P<path>[^\"]+)\"[^>]*>")


def find_missing_files(root: Path) -> list[str]:
    """List the files of the pages that are missing. In a clone the list of `make assets` counts; an sdist has none,
    and its folders must hold something."""
    package, program = root / "src" / "rightseat", root / "checks" / "assets.py"
    if program.is_file():
        return [name for name in runpy.run_path(str(program))["FILES"] if not (package / name).is_file()]
    return [folder for folder in VENDOR_FOLDERS if not any((package / folder).glob("*.js"))]


def rewrite_links(text: str, source: str = "", tag: str = "") -> str:
    """Return a page whose links work outside the repository. With the repository's address, relative links become
    addresses of the tag's files; without it only their text is left, and pictures are left out. Fenced code stays."""

    def replace_image(match: re.Match[str]) -> str:
        if not source:
            return ""
        address = f"{source}/raw/{tag}/{match['path']}"
        return match[0].replace(f"({match['path']}", f"({address}").replace(f'"{match["path"]}"', f'"{address}"')

    def replace_link(match: re.Match[str]) -> str:
        page = f"{source}/blob/{tag}/{'README.md' if match['path'].startswith('#') else ''}{match['path']}"
        return f"[{match['text']}]({page})" if source else match["text"]

    def rewrite(part: str) -> str:
        return LINK.sub(replace_link, IMAGE_TAG.sub(replace_image, IMAGE.sub(replace_image, part)))

    blocks = [*FENCED.findall(text), ""]
    return "".join(rewrite(prose) + block for prose, block in zip(FENCED.split(text), blocks, strict=True))


class PageFilesHook(BuildHookInterface[Any]):
    """Stops the build of a wheel without the files of its pages. An editable installation needs none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get(SKIP_VARIABLE):
            return
        missing = find_missing_files(Path(self.root))
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise SystemExit(ADVICE.format(missing=", ".join(missing[:3]) + more))


class DescriptionHook(MetadataHookInterface):
    """Makes the description of the package from README.md: its links are addresses, or plain text."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get(SOURCE_URL, "").rstrip("/")
        description = rewrite_links(text, source, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": description}
