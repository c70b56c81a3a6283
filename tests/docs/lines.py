"""The command lines of README, docs and examples: all of them, and for each one where it is run or why it is not."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tests.docs.test_docs import PAGES, ROOT

PROGRAMS = (
    *("rightseat", "curl", "make", "pip", "docker", "kubectl", "npm", "npx", "export", "python", "printf"),
    *("bash", "cd", "uvicorn", "opentelemetry-instrument"),
)
EXAMPLE_PAGES = [ROOT / "examples" / "README.md", *sorted((ROOT / "examples").glob("*/README.md"))]
# Their lines are run, or have a reason that a reader of the first page accepts.
FIRST_PAGES = ("README.md", "docs/start.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINE_BLOCKS = ("sh", "text", "")
ASSIGNMENT = re.compile(r"[A-Z_]+=")
SUBSTITUTION = re.compile(r"[A-Z_]+=\$\(")
OURS = re.compile(r"http://(?:127\.0\.0\.1:7777|localhost:8080)")


class DocumentedLine(Struct, frozen=True):
    page: str
    text: str
    """The whole command, as it is pasted; it may have several lines."""

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def split_commands(block: str) -> list[str]:
    """Split a block into commands: a quote or a backslash at the end of a line goes on in the next."""
    commands, open_text = [], ""
    for line in block.splitlines():
        open_text = f"{open_text}\n{line}" if open_text else line
        if open_text.endswith("\\"):
            continue
        try:
            shlex.split(open_text, comments=True)
        except ValueError:
            continue
        commands.append(open_text)
        open_text = ""
    return commands


def is_command(text: str) -> bool:
    try:
        words = [word for word in shlex.split(text, comments=True) if not ASSIGNMENT.match(word)]
    except ValueError:
        return False
    return bool(SUBSTITUTION.match(text)) or (bool(words) and words[0] in PROGRAMS)


def list_lines(pages: Sequence[Path] = PAGES) -> list[DocumentedLine]:
    """List the commands of the pages, each of them once for a page."""
    lines = [
        DocumentedLine(page.relative_to(ROOT).as_posix(), command)
        for page in pages
        for kind, block in BLOCK.findall(page.read_text(encoding="utf-8"))
        if kind in LINE_BLOCKS
        for command in split_commands(block)
        if is_command(command)
    ]
    return list(dict.fromkeys(lines))


# Pattern of a line → the test that runs it as pasted.
RUN_BY = {
    r"pip install rightseat && rightseat serve$": "tests/package/test_stranger.py",
    r"curl .*(?:127\.0\.0\.1:7777|localhost:8080)": "tests/docs/test_docs.py, tests/peers/test_docs_lines.py",
    r"make serve": "tests/docs/test_start.py",
    r"bash examples/first-hour/first_hour\.sh": "tests/docs/test_start.py",
    r"rightseat doctor --url http://127\.0\.0\.1:7777 --key env:RIGHTSEAT_KEY": "tests/docs/test_start.py",
    r"rightseat (?:serve|doctor)$": "tests/docs/test_lines.py, tests/docs/test_start.py",
    r"rightseat serve (?:--workers \S+|--plugins inventory)$": "tests/docs/test_lines.py",
    r"rightseat doctor --openbb \S+(?: --origin \S+)?$": "tests/docs/test_lines.py",
    r"rightseat doctor --openbb \S+ --ask": "tests/docs/test_openbb.py",
    r"rightseat plugins (?:new|check)": "tests/docs/test_lines.py",
    r"rightseat flows (?:check|draw)": "tests/docs/test_lines.py",
    r"rightseat store (?:check|backup|restore|repair)": "tests/docs/test_lines.py",
    r"rightseat models (?:list|use|path \S|remove qwen|pull \S)": "tests/docs/test_models.py",
    r"python -m checks\.mutations --list": "tests/checks/test_mutations.py",
    r"npm install @copilotkit|npx esbuild": "tests/peers/test_docs_copilotkit.py",
    r"export (?:INVENTORY_TOKEN|RIGHTSEAT_KEY)=": "tests/docs/test_start.py",
}
WORKFLOW = ".github/workflows/tests.yml"
PULL_TESTS = "tests/unit/cli/test_models_pull.py runs the commands with small ones."
FLOW_TESTS = "tests/docs/test_flows.py runs the flow with a server of its own."
INSTALL_TESTS = "tests/unit/config/test_installation.py runs the command that the program itself prints."
# Pattern of a line → why no test runs it as pasted.
NOT_RUN = {
    r"make test": f"It runs all tests, this one among them; {WORKFLOW} runs it as pasted, on every push.",
    r"rightseat serve .*(?:--model|--endpoint|--llama-server)": "It needs a model of gigabytes or a server on another "
    "machine; tests/model runs GGUF files, tests/unit/cli/test_model_options.py each option.",
    r"rightseat models (?:pull|path|remove local)$": f"It needs the weights that all tests of this machine share; "
    f"{PULL_TESTS}",
    r"rightseat flows run": f"It calls the API of an example at example.com; {FLOW_TESTS}",
    r"make release": "It builds from a clone of the last commit; tests/package/test_release.py does so.",
    r"make assets|pip download|npm install -g": "It fetches packages of others from the network.",
    r"rightseat doctor --url https:": "It needs a server at an address of yours; tests/unit/cli/test_doctor_live.py "
    "runs the command against one of its own.",
    r"rightseat store migrate": "It needs a database of yours; tests/unit/stores/postgres/test_set_up.py migrates one.",
    r"export (?:COPILOT_|RIGHTSEAT_API_KEY)|python page\.py": "Another program's; "
    "tests/unit/doors/openai/test_recipes.py sends its requests.",
    r"pip install (?!rightseat &&)": f"It changes the environment of the tests; {INSTALL_TESTS}",
    r"export DATABASE_URL|rightseat (?:serve --host 0\.0\.0\.0|store move)": "It needs a database at an address of "
    "yours; tests/unit/cli/test_store_move.py and tests/faults run PostgreSQL.",
    r"OTEL_SERVICE_NAME=": "It needs OpenTelemetry's distribution, which is no dependency; "
    "tests/unit/server/test_traces.py has the spans.",
    r"printf 'POSTGRES|docker|kubectl|curl http://127\.0\.0\.1:8080": "It needs Docker or a cluster; "
    "tests/unit/server/test_deploy*.py checks the files that it uses.",
    r"python -m checks\.mutations --row": "It takes minutes; `make mutations` runs all rows.",
}
# Pattern of a line of an example's README → the test that runs it as pasted, in a copy of the example.
EXAMPLES_RUN_BY = {
    r"export PATH=": "tests/docs/examples/test_index.py",
    r"rightseat serve$": "tests/peers/test_examples.py",
    r"cd functions && rightseat serve$": "tests/docs/examples/test_openbb.py",
    r"rightseat doctor --openbb http://127\.0\.0\.1:7777$": "tests/docs/examples/test_openbb.py",
    r"rightseat plugins check --strict plugins/stock$": "tests/peers/test_examples.py",
    r"python stock_api\.py$": "tests/peers/test_examples.py",
    r"curl -s http://127\.0\.0\.1:7777/v1/chat/completions ": "tests/peers/test_examples.py",
    r"uvicorn app:app$": "tests/peers/test_examples.py",
    r"(?:TOKEN=\$\()?curl -s http://127\.0\.0\.1:8000/": "tests/peers/test_examples.py",
    r"python agent\.py ": "tests/peers/test_examples.py",
    r"npm start$": "tests/peers/test_examples.py",
}
# Pattern of a line of an example's README → why no test runs it as pasted.
EXAMPLES_NOT_RUN = {
    r"pip install": f"It changes the environment of the tests, which has these packages; {INSTALL_TESTS}",
    r"npm ci$": "It fetches half a gigabyte; tests/peers/test_examples.py has the same versions in their place.",
}


def find_patterns(line: DocumentedLine) -> list[str]:
    """List the patterns of its tables that a line has."""
    text = " ".join(line.text.split("#")[0].split()) if not line.text.startswith(("curl", "printf")) else line.text
    is_example = line.page.startswith("examples/")
    tables = (*EXAMPLES_RUN_BY, *EXAMPLES_NOT_RUN) if is_example else (*RUN_BY, *NOT_RUN)
    return [pattern for pattern in tables if re.match(pattern, text, re.DOTALL)]


def list_page_lines(page: str, start: str) -> list[str]:
    return [line.text for line in list_lines() if line.page == page and line.text.startswith(start)]


def list_curls() -> list[DocumentedLine]:
    return [line for line in list_lines() if line.text.startswith("curl") and OURS.search(line.text)]
