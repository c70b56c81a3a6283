"""Tools as APIs show them: names in many styles, arguments renamed, descriptions long, short or left out."""

from __future__ import annotations

from typing import Any

from rightseat.types.model import ToolSpec
from train.catalogue import Parameter, Tool
from train.draw import Draw, to_camel_case
from train.kinds import make_schema
from train.values import draw_simple


class PresentedTools:
    """The tools of one example, and the names their arguments got."""

    def __init__(self, draw: Draw, tools: list[Tool], zh: bool) -> None:
        self.draw, self.zh = draw, zh
        self.obscure = draw.chance(0.12)
        self.style = draw.random.random()
        self.routes = not self.obscure and draw.chance(0.04)
        self.same_style = draw.chance(0.5)
        self.specs: list[ToolSpec] = []
        self._named: dict[int, tuple[str, list[str]]] = {}
        self._used: set[str] = set()
        for tool in tools:
            spec, names = self._spec(tool)
            self.specs.append(spec)
            self._named[id(tool)] = (spec.name, names)

    def get_name(self, tool: Tool) -> str:
        return self._named[id(tool)][0]

    def make_arguments(self, tool: Tool, values: dict[int, Any]) -> dict[str, Any]:
        names = self._named[id(tool)][1]
        return {names[index]: values[index] for index in sorted(values)}

    def get_key(self, tool: Tool, index: int) -> str:
        return self._named[id(tool)][1][index]

    def _spec(self, tool: Tool) -> tuple[ToolSpec, list[str]]:
        name = self._name(tool)
        properties: dict[str, Any] = {}
        required: list[str] = []
        camels, bare = self.draw.chance(0.2), self.draw.chance(0.35)
        for index, parameter in enumerate(tool.parameters):
            key = self._key(parameter, properties, index, camels)
            properties[key] = self._schema(tool, parameter, index, bare)
            if parameter.required:
                required.append(key)
        parameters: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
        return ToolSpec(name, self._description(tool), parameters), list(properties)

    def _key(self, parameter: Parameter, taken: dict[str, Any], index: int, camels: bool) -> str:
        for name in self.draw.some(parameter.names, len(parameter.names)):
            key = to_camel_case(name) if camels else name
            if key not in taken:
                return key
        return f"{parameter.names[0]}{index}"

    def _schema(self, tool: Tool, parameter: Parameter, index: int, bare: bool) -> dict[str, Any]:
        found = make_schema(self.draw, parameter.kind)
        meant = ":" in parameter.description or parameter.kind.startswith(("infer", "days"))
        if not meant and (bare or self.draw.chance(0.1)):
            return found
        chinese = self.zh and index < len(tool.zh_parameters)
        text = tool.zh_parameters[index] if chinese else parameter.description
        kind = parameter.kind
        if found == {"type": "string"} and " " not in kind and kind not in _LONG and self.draw.chance(0.12):
            text += ("，例如" if chinese else ", e.g. ") + draw_simple(self.draw, kind, self.zh)
        return {**found, "description": text}

    def _description(self, tool: Tool) -> str:
        chinese = bool(self.zh and tool.zh)
        text = self.draw.one(tool.zh if chinese else tool.descriptions)
        if self.routes:
            # As an OpenAPI document has it whose authors wrote no summary.
            method = "GET" if tool.is_read_only else self.draw.one(["POST", "POST", "PUT"])
            before = self.draw.one(["", "v1/", "api/"])
            return f"{method} /{before}{tool.plugin}/{tool.names[0].replace('_', '-')}"
        if chinese:
            return text
        if self.draw.chance(0.15):
            return f"{text}. {self.draw.word('description_tail')}"
        if not self.obscure and tool.parameters and self.draw.chance(0.05):
            return ""
        return text + "." if self.draw.chance(0.35) else text

    def _name(self, tool: Tool) -> str:
        name = self._obscure() if self.obscure else self._styled(tool)
        for _ in range(20):
            if name not in self._used:
                break
            name = self._obscure() if self.obscure else self._styled(tool)
        else:
            name += self.draw.digits(2)
        self._used.add(name)
        return name

    def _obscure(self) -> str:
        draw = self.draw
        return draw.one(
            [f"fn_{draw.whole(1, 40)}", f"tool_{draw.one('abcdefghij')}", draw.made_up(2), f"f{draw.whole(1, 99)}"]
        )

    def _styled(self, tool: Tool) -> str:
        draw, name = self.draw, self.draw.one(tool.names)
        words = name.split("_")
        style = self.style if self.same_style else draw.random.random()
        if len(words) > 1 and words[0] in draw.words["verbs"] and draw.chance(0.08):
            name = "_".join([*words[1:], words[0]])
        if style < 0.45:
            return name
        if style < 0.62:
            return to_camel_case(name)
        if style < 0.70:
            return f"{tool.plugin}.{draw.one([name, to_camel_case(name)])}"
        if style < 0.82:
            return f"{tool.plugin}__{name}"
        if style < 0.88:
            return name.replace("_", "-")
        if style < 0.94:
            return f"mcp_{tool.plugin}_{name}"
        return name[:1].upper() + to_camel_case(name)[1:]


_LONG = frozenset(["text", "sql", "scene"])
