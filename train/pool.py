"""All tools of the training data, by domain and by language, and which are shown beside each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from train import catalogue, entities
from train.catalogue import Tool
from train.compounds import CompoundTools
from train.draw import Draw

GENERAL = frozenset(["web", "knowledge", "math", "news", "text", "science", "time", "clock", "outlook"])
"""Domains whose tools fit almost any question: never shown where no tool should fit."""
RELATED_DOMAINS = [
    "tasks notes reminders calendar appointments time clock",
    "travel bookings rentals reservations events calendar vehicles realestate outlook",
    "finance donations expenses crypto invoices subscriptions outlook",
    "shopping orders listings shipments outlook",
    "issues tickets maintenance pull_requests",
    "health appointments prescriptions animals",
    "books movies news web knowledge",
    "servers devops backups device",
    "sensors smarthome garden device",
    "files backups text notes knowledge screen",
    "contacts leads messaging campaigns",
    "courses grades",
    "parking vehicles",
    "policies tickets",
    "weather outlook",
    "device screen clock",
]


class ToolPool:
    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.compounds = CompoundTools(draw)
        self.handwritten = list(catalogue.load_tools())
        self.tools = [*self.handwritten, *entities.make_entity_tools(draw)]
        self.zh = [tool for tool in self.tools if tool.zh and tool.zh_asks]
        self.zh_handwritten = [tool for tool in self.zh if not tool.entity]
        self.foreign = {code: [t for t in self.tools if code in t.others] for code in ("de", "fr", "es")}
        self.by_domain: defaultdict[str, list[Tool]] = defaultdict(list)
        for tool in self.tools:
            self.by_domain[tool.domain].append(tool)
        self.related_domains: defaultdict[str, set[str]] = defaultdict(set)
        for group in RELATED_DOMAINS:
            for domain in group.split():
                self.related_domains[domain].update(group.split())

    def draw_target(self, language: str) -> Tool:
        draw = self.draw
        if language == "zh":
            return draw.one(self.zh if draw.chance(0.4) else self.zh_handwritten)
        if language != "en":
            return draw.one(self.foreign[language])
        return draw.one(self.tools if draw.chance(0.45) else self.handwritten)

    def draw_tools(self, language: str, made_up: float = 0.35) -> tuple[Tool, list[Tool]]:
        """A tool that is meant, and all that are shown."""
        count = self.draw_count()
        if language in ("en", "zh") and self.draw.chance(made_up):
            family = self.compounds.draw_family(count)
            extra = self.draw_strangers(None, 1, language == "zh") if self.draw.chance(0.3) else []
            return family[0], self.draw.some([*family, *extra], len(family) + len(extra))
        tool = self.draw_target(language)
        return tool, self.add_neighbours([tool], count, language == "zh")

    def draw_count(self) -> int:
        weights = [14, 18, 17, 14, 11, 8, 5, 4, 3, 3, 2, 1]
        return self.draw.random.choices(range(1, 13), weights)[0]

    def add_neighbours(self, targets: Sequence[Tool], count: int, zh: bool) -> list[Tool]:
        """The targets among others, mostly from the same domain, in any order."""
        found = list(targets)
        same = [tool for tool in self.by_domain[found[0].domain] if tool not in found]
        for _ in range(60):
            if len(found) >= count:
                break
            tool = self.draw.one(same) if same and self.draw.chance(0.55) else self.draw.one(self.tools)
            if tool in found or self._has_twin(tool, found) or (zh and not tool.zh and self.draw.chance(0.8)):
                continue
            found.append(tool)
        return self.draw.some(found, len(found))

    def _has_twin(self, tool: Tool, shown: Sequence[Tool]) -> bool:
        """Two tools that do the same make a question without an answer."""
        twins = {"outlook": "weather", "clock": "time", "weather": "outlook", "time": "clock"}
        return any(twins.get(tool.domain) == other.domain for other in shown)

    def draw_strangers(self, tool: Tool | None, count: int, zh: bool) -> list[Tool]:
        """Tools that do not fit the question for `tool`."""
        far = self.related_domains[tool.domain] | {tool.domain} if tool else set()
        found: list[Tool] = []
        while len(found) < count:
            other = self.draw.one(self.zh if zh else self.tools)
            if other not in found and other.domain not in far and other.domain not in GENERAL:
                found.append(other)
        return found

    def draw_near_misses(self, tool: Tool, count: int) -> list[Tool]:
        """Tools for the same thing, none of which does what is wanted."""
        others = [
            other
            for other in self.by_domain[tool.domain]
            if other is not tool and other.names[0].split("_")[0] not in ("search", "list", "get")
        ]
        return self.draw.some(others, count)
