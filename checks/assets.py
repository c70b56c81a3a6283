"""`make assets`: what others made and our pages show, from a locked package.json into the package, each with
its licence. Runs on the bare interpreter. Without npm the pages work, and say what they cannot show.
"""

import json
import shutil
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from checks.packages import COULD_NOT_INSTALL, ROOT, InstallError, run_with_retries, show_progress

LOCK_FOLDER = ROOT / "assets"
PACKAGE = ROOT / "src" / "rightseat"
PLAYGROUND = "server/playground/vendor"
GRAPHIQL = "doors/copilotkit/vendor"
COPIED_FILES = {
    f"{PLAYGROUND}/echarts.js": "echarts/dist/echarts.esm.min.mjs",
    f"{PLAYGROUND}/echarts.LICENSE.txt": "echarts/LICENSE",
    f"{PLAYGROUND}/echarts.NOTICE.txt": "echarts/NOTICE",
    f"{PLAYGROUND}/markdown-it.js": "markdown-it/dist/browser/markdown-it.esm.min.mjs",
    f"{PLAYGROUND}/purify.js": "dompurify/dist/purify.es.mjs",
    f"{PLAYGROUND}/highlight.js": "@highlightjs/cdn-assets/es/highlight.min.js",
    f"{PLAYGROUND}/katex.js": "katex/dist/katex.mjs",
    f"{PLAYGROUND}/dagre.js": "@dagrejs/dagre/dist/dagre.esm.js",
    f"{GRAPHIQL}/graphiql.js": "graphiql/graphiql.min.js",
    f"{GRAPHIQL}/graphiql.css": "graphiql/graphiql.min.css",
    f"{GRAPHIQL}/react.js": "react/umd/react.production.min.js",
    f"{GRAPHIQL}/react-dom.js": "react-dom/umd/react-dom.production.min.js",
}
# Files with what they are built of inside, which is much: one list of all licences beside each.
LICENCES = (f"{PLAYGROUND}/LICENSES.txt", f"{GRAPHIQL}/LICENSES.txt")
LABEL = "fetching what the pages show: charts, formulas, GraphiQL"
FILES = (*COPIED_FILES, *LICENCES)
NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def fetch_assets() -> None:
    if shutil.which("npm") is None:
        raise InstallError("npm is not here. Without, answers are plain text and charts are tables")
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(LOCK_FOLDER / name, scratch)
        run_with_retries(NPM_CI, cwd=Path(scratch))
        licences = collect_licences(Path(scratch))
        for folder in (PLAYGROUND, GRAPHIQL):
            replace_folder(folder, Path(scratch) / "node_modules", licences)


def replace_folder(folder: str, modules: Path, licences: str) -> None:
    """Put the files of a folder there all at once: a server that runs meanwhile sees all of them or none."""
    target, draft = PACKAGE / folder, PACKAGE / f"{folder}.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    for name, source in COPIED_FILES.items():
        if name.startswith(f"{folder}/"):
            shutil.copy(modules / source, draft / name.removeprefix(f"{folder}/"))
    (draft / "LICENSES.txt").write_text(licences, encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    draft.rename(target)


def collect_licences(scratch: Path) -> str:
    """Of everything that was installed, under the name of each."""
    locked = json.loads((LOCK_FOLDER / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    sections = []
    for place, about in locked.items():
        if place:
            paths = sorted((scratch / place).glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*"))
            texts = [path.read_text(encoding="utf-8").strip() for path in paths if path.is_file()]
            title = f"{place.rpartition('node_modules/')[2]} {about['version']}: {about.get('license')}"
            sections.append("\n\n".join([title, *texts]))
    return "\n\n\n".join(sections) + "\n"


def main() -> int:
    if all((PACKAGE / name).is_file() for name in FILES):
        return 0
    background = "--background" in sys.argv[1:]
    if background:
        print(f"{LABEL}, in the background …", file=sys.stderr, flush=True)
    try:
        with nullcontext() if background else show_progress(LABEL):
            fetch_assets()
    except InstallError as error:
        print(f"could not install what the pages show: {error}", file=sys.stderr)
        return COULD_NOT_INSTALL
    if background:
        print("What the pages show is here. Reload a page that is open.", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
