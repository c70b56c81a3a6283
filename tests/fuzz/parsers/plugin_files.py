"""Files of plugins: OpenAPI documents and flows in YAML or JSON, and plugin.json.

An input is a folder in one text: a line `=== NAME` begins each file. Reading a plugin never raises: what is wrong is
one of its problems.
"""

import random
import re
import shutil
import tempfile
from pathlib import Path

from rightseat.errors import RightseatError
from rightseat.plugins.flows.diagram import render_flow_svg, render_mermaid
from rightseat.plugins.flows.estimate import FlowEstimator
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import Plugin
from rightseat.types.schema import get_validator
from tests.fuzz.parsers.target import ParserTarget, mutate_json, require

FILE_LINE = re.compile(rb"^=== ?(\S*)[^\n]*\n?", re.MULTILINE)
NAMES = ("openapi.yaml", "openapi.json", "plugin.json", "flows/a.yaml", "flows/b.yml", "schemas.yaml")
DEFAULT_NAME = "openapi.yaml"


class PluginFiles(ParserTarget):
    name = "plugins"
    traced = ("plugins", "types/schema.py", "types/schema_cost.py")
    words = (
        *(b"=== openapi.yaml\n", b"=== flows/a.yaml\n", b"=== plugin.json\n", b"openapi: 3.1.0\n", b"swagger: '2.0'\n"),
        *(b"paths:\n  /a/{b}:\n    get:\n", b"      parameters:\n", b"      - {name: b, in: path, required: true}\n"),
        *(b"$ref: '#/components/schemas/A'", b"{$ref: '#'}", b"allOf: [", b"oneOf: ["),
        *(b"type: [string, 'null']", b"enum: ["),
        *(b"pattern: '^(a+)+$'", b"format: binary", b"requestBody:"),
        *(b"content: {application/json: {schema: {}}}", b"items:"),
        *(b"properties: {a: {type: integer}}", b"additionalProperties: {}", b"discriminator: {propertyName: a}"),
        *(b"default: ",),
        *(b"&a ", b"*a", b"<<: *a\n", b"!!binary x", b"? a\n: b\n", b"|\n  x\n"),
        *(b">-\n", b"--- \n", b"%YAML 1.1\n", b"'", b"- "),
        *(b"steps:\n", b"  - name: start\n", b"    call_type: api\n", b"call_type: llm"),
        *(b"call_type: choice", b"call_type: loop"),
        *(b"    params: {endpoint: GET /hosts}\n", b"next: end", b"on_error:", b"retry: 3"),
        *(b"{data.x[0]}", b"{{ question }}"),
        *(b"call_type: parallel", b"call_type: extract", b"path: $.a[?@.b > 1]", b"call_type: sql"),
        *(b"query: SELECT 1", b"tasks:"),
        *(b"call_type: ask", b"call_type: render", b"call_type: flow", b"cases: [{when: {a: 1}, next: end}]"),
        *(b"servers:", b"yes"),
    )
    base_seconds = 1.0
    seconds_per_byte = 200e-6
    max_bytes = 60_000

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="rightseat-fuzz-")
        self._folder = Path(self._temporary.name) / "sample"

    def close(self) -> None:
        self._temporary.cleanup()

    def parse(self, data: bytes) -> None:
        self._read(data)

    def check(self, data: bytes) -> None:
        plugin = self._read(data)
        for problem in plugin.problems:
            require(len(str(problem)) < 2_000, "a problem repeats the file", problem)
        again = read_plugin(self._folder, strict=True)
        require(repr(again) == repr(plugin), "a folder is read in two ways", plugin, again)
        for flow in plugin.workflows:
            render_mermaid(flow)
            render_flow_svg(flow)
            FlowEstimator([plugin]).count_calls(flow)
        check_tools(plugin)

    def _read(self, data: bytes) -> Plugin:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        for name, content in split_files(data).items():
            path = self._folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        return read_plugin(self._folder, strict=True)

    def mutate(self, rng: random.Random, data: bytes) -> bytes | None:
        """Change a value in one of the files that are JSON, which is YAML too."""
        files = split_files(data)
        changed = {name: mutate_json(rng, content) for name, content in files.items()}
        choices = [name for name, content in changed.items() if content is not None]
        if not choices:
            return None
        name = rng.choice(choices)
        files[name] = changed[name] or b""
        return b"".join(b"=== %b\n%b\n" % (name.encode(), content.strip()) for name, content in files.items())


def split_files(data: bytes) -> dict[str, bytes]:
    """Return the files of an input by name; a name that no plugin has becomes the default one."""
    matches = list(FILE_LINE.finditer(data))
    ends = [*(match.start() for match in matches[1:]), len(data)]
    files = {}
    for match, end in zip(matches, ends, strict=False):
        name = match[1].decode("ascii", "replace")
        files[name if name in NAMES else DEFAULT_NAME] = data[match.end() : end]
    return files or {DEFAULT_NAME: data}


def check_tools(plugin: Plugin) -> None:
    """Every operation that is left becomes a tool whose schema can be compiled."""
    try:
        tools = make_operation_tools(plugin, PluginPolicy())
    except RightseatError:
        return
    for tool in tools:
        get_validator(tool.parameters).find_problem({})
