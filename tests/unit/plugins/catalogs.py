"""Shelves of made-up plugins, whose tools say that they were called."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.plugin import Plugin
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext

HOSTS = {
    "list_hosts": "查询受管主机列表，返回主机名与地址",
    "host_cves": "查询单台主机的CVE漏洞",
    "open_ticket": "为漏洞创建修复工单",
}
WEATHER = {
    "forecast": "The weather forecast for a city over the next days",
    "current": "The temperature and wind in a city now",
}
LIBRARY = {
    "search_books": "Search books by title or author",
    "reserve_book": "Reserve a book for pickup",
    "opening_hours": "When the library is open",
}


def make_tool(name: str, description: str, **more: Any) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        yield Result(f"{name} was called with {args}")

    return Tool(name, description, {"type": "object", "properties": {"q": {"type": "string"}}}, call, **more)


def make_plugin(id: str, name: str, tools: dict[str, str], *, question: str = "", alias: str = "") -> LoadedPlugin:
    made = Plugin(id=id, folder=Path("/nowhere") / id, name=name, description="", question=question, alias=alias)
    return LoadedPlugin(made, tuple(make_tool(f"{id}_{key}", text) for key, text in tools.items()))


def make_small_catalog(**more: str) -> PluginCatalog:
    return PluginCatalog(
        [
            make_plugin("cmdb", "主机资产与漏洞", HOSTS, alias="Apollo"),
            make_plugin("weather", "Weather", WEATHER),
            make_plugin("library", "Town library", LIBRARY, question=more.get("question", "")),
        ]
    )


def make_large_catalog(plugins: int, each: int) -> PluginCatalog:
    """Plugins that are all alike but for their numbers, and one that is about bees."""
    made = [
        make_plugin(
            f"p{n}", f"Plugin {n}", {f"op{m}": f"Handles records of kind {m} for part {n}" for m in range(each)}
        )
        for n in range(plugins)
    ]
    return PluginCatalog([*made, make_plugin("bees", "Beekeeping", {"hive": "How many bees live in a hive"})])
