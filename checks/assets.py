"""`make assets`: what others made and the playground draws with, from a locked package.json into the package,
each with its licence. Runs on the bare interpreter. Without npm the page works, and says what it cannot draw.
"""

import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from checks.packages import COULD_NOT_INSTALL, ROOT, InstallError, retry

LOCKED = ROOT / "assets"
VENDOR = ROOT / "src" / "rightseat" / "playground" / "vendor"
FILES = {
    "echarts.js": "echarts/dist/echarts.esm.min.mjs",
    "echarts.LICENSE.txt": "echarts/LICENSE",
    "echarts.NOTICE.txt": "echarts/NOTICE",
}
NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def fetch() -> None:
    if shutil.which("npm") is None:
        raise InstallError("npm is not here. The page works without, and shows charts as tables")
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(LOCKED / name, scratch)
        retry(NPM_CI, cwd=Path(scratch))
        VENDOR.mkdir(exist_ok=True)
        for name, source in FILES.items():
            shutil.copy(Path(scratch) / "node_modules" / source, VENDOR / name)


def main() -> int:
    if all((VENDOR / name).is_file() for name in FILES):
        return 0
    try:
        fetch()
    except InstallError as error:
        print(f"could not install the playground's charts: {error}", file=sys.stderr)
        return COULD_NOT_INSTALL
    return 0


if __name__ == "__main__":
    sys.exit(main())
