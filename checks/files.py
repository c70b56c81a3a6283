"""Which files of the project the checks look at."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def list_tracked_files(root: Path) -> list[Path]:
    """Files that git keeps or would keep; those it ignores are nobody's business."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (root / name for name in sorted(set(listed.stdout.split("\0"))) if name)
    return [path for path in paths if path.is_file()]


def list_python_files(root: Path) -> list[Path]:
    return [path for path in list_tracked_files(root) if path.suffix == ".py"]
