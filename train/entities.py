"""Families of tools: what every back office does with its orders, tickets, bookings: data/entities.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from train.catalogue import Tool, apply_line, split_parts
from train.draw import Draw, read_json

Entity = dict[str, Any]


def make_entity_tools(draw: Draw) -> Iterator[Tool]:
    for entity in read_json("entities.json"):
        one = entity["noun"].replace(" ", "_")
        number = one.split("_")[-1] + "_number"
        key = f"+ {one}_id|id|{number} ; id {entity['prefixes'].split()[0]} ; ID of the {entity['noun']}"
        for names, described, facts in (
            _get(entity, one, key),
            _list(entity),
            _search(entity),
            _create(draw, entity, one),
            _cancel(entity, one, key),
            _update(entity, one, key),
            _export(entity),
        ):
            tool = Tool(entity["domain"], entity["plugin"], split_parts(names), split_parts(described), entity=True)
            for line in facts:
                apply_line(tool, line)
            yield tool


Family = tuple[str, str, list[str]]


def _get(e: Entity, one: str, key: str) -> Family:
    noun, zh = e["noun"], e["zh"]
    facts = [
        key,
        f"! look up {noun} {{0}}",
        f"! pull up {noun} {{0}}",
        f"? what's the status of {noun} {{0}}",
        f"? where do we stand with {noun} {{0}}",
        f". I need the details of {noun} {{0}}",
        f". Someone is asking about {noun} {{0}}",
        f"~ 0 ; look up my {noun} ; What is the ID of the {noun}?",
        f"~ 0 ; what's the status of my {noun}? ; Which {noun} do you mean? Please give me its ID.",
        f"z 按编号查询{zh}详情 | 查看单个{zh}",
        f"zp {zh}编号",
        f"zt 查一下{zh}{{0}} | {zh}{{0}}现在什么状态？ | 帮我看看{zh} {{0}}",
        f"zm 0;查一下我的{zh};请问{zh}编号是多少？",
    ]
    return (
        f"get_{one}|{one}_details|fetch_{one}",
        f"Get the details of one {noun} by its ID|Look up a single {noun}",
        facts,
    )


def _list(e: Entity) -> Family:
    plural, zh = e["plural"], e["zh"]
    many = plural.replace(" ", "_")
    states = ", ".join(f"{state}={state.replace('_', ' ')}" for state in e["states"].split())
    facts = [
        f"- status|state ; enum {states} ; Only this status ; with status {{}}",
        "- limit|max_results|count ; int 2 50 ; Maximum number ; at most {}",
        "- since|from_date ; date ; Only newer than this date ; since {}",
        f"! list the {plural}",
        f"? which {plural} do we have",
        f"? what {plural} are there",
        f". I'd like an overview of the {plural}",
        f"! give me the {plural}",
        f"? can I see all {plural}",
        f"z 列出{zh} | 获取多条{zh}",
        "zp 状态|数量上限|起始日期",
        "zo 状态为{}|最多{}条|从{}开始",
        f"zt 列出所有{zh} | 有哪些{zh}？ | 看看全部{zh}",
    ]
    return (
        f"list_{many}|get_all_{many}|show_{many}",
        f"List {plural}, optionally filtered|Return several {plural}",
        facts,
    )


def _search(e: Entity) -> Family:
    plural, zh = e["plural"], e["zh"]
    many = plural.replace(" ", "_")
    facts = [
        "+ query|q|keywords ; query ; Search text",
        "- limit|max_results ; int 2 30 ; Maximum number ; and return up to {}",
        f"! search the {plural} for {{0}}",
        f"! find {plural} about {{0}}",
        f"? are there any {plural} mentioning {{0}}",
        f"? which {plural} deal with {{0}}",
        f". I remember some {plural} on {{0}}, find them",
        f"~ 0 ; search the {plural} ; What should I search for in the {plural}?",
        f"z 全文搜索{zh} | 按关键词查找{zh}",
        "zp 关键词|数量上限",
        "zo 最多{}条",
        f"zt 搜索关于{{0}}的{zh} | 查找包含{{0}}的{zh}",
        f"zm 0;搜索{zh};请问要搜索什么内容？",
    ]
    return (
        f"search_{many}|find_{many}|query_{many}",
        f"Search {plural} by free text|Full-text search over {plural}",
        facts,
    )


def _create(draw: Draw, e: Entity, one: str) -> Family:
    noun, zh = e["noun"], e["zh"]
    needed = [split_parts(line[1:], " ; ")[0].split("|")[0] for line in e["create"] if line[0] == "+"]
    asked = " and ".join(name.replace("_", " ") for name in needed)
    wishes = [
        f". {draw.one(['I would like to', 'We have to', 'I am supposed to'])} {ask[2:]}"
        for ask in e["asks"]
        if ask[0] == "!"
    ]
    facts = [
        *e["create"],
        *e["asks"],
        *wishes,
        f"~ 0 ; create a new {noun} ; Please tell me the {asked}.",
        f"~ 0 ; I need to set up a {noun} ; What {'are' if len(needed) > 1 else 'is'} the {asked}?",
        f"z 新建{zh} | 创建一条{zh}",
        f"zp {e['create_zh']}",
        f"zt {' | '.join(e['asks_zh'])}",
    ]
    return f"create_{one}|add_{one}|new_{one}", f"Create a new {noun}|Add a {noun}", facts


def _cancel(e: Entity, one: str, key: str) -> Family:
    noun, zh, verb, verb_zh = e["noun"], e["zh"], e["verb"], e["verb_zh"]
    facts = [
        key,
        "- reason|comment ; title ; Reason ; with the reason {}",
        f"! {verb} {noun} {{0}}",
        f"! {verb} the {noun} with number {{0}}",
        f"? can you {verb} {noun} {{0}} for me",
        f". {noun.capitalize()} {{0}} was a mistake, {verb} it",
        f". We don't need {noun} {{0}} any more, please {verb} it",
        f"~ 0 ; {verb} my {noun} ; Which {noun} should I {verb}? Please give me its ID.",
        f"z {verb_zh}{zh} | 按编号{verb_zh}{zh}",
        f"zp {zh}编号|原因",
        "zo 原因是{}",
        f"zt {verb_zh}{zh}{{0}} | 把{zh}{{0}}{verb_zh} | 请{verb_zh}编号{{0}}的{zh}",
        f"zm 0;{verb_zh}我的{zh};请问要{verb_zh}哪个{zh}？请提供编号。",
    ]
    return (
        f"{verb}_{one}|{verb}_{one}_by_id|{one}_{verb}",
        f"{verb.capitalize()} an existing {noun}|{verb.capitalize()} one {noun} by ID",
        facts,
    )


def _update(e: Entity, one: str, key: str) -> Family:
    noun, zh = e["noun"], e["zh"]
    name, kind, described, what, what_zh = e["update"]
    facts = [
        key,
        f"+ {name}|new_{name} ; {kind} ; {described}",
        f"! change the {what} of {noun} {{0}} to {{1}}",
        f"! set the {what} on {noun} {{0}} to {{1}}",
        f"? can the {what} of {noun} {{0}} be {{1}} instead",
        f". {noun.capitalize()} {{0}} has the wrong {what}, it should be {{1}}",
        f"! update {noun} {{0}}: {what} is now {{1}}",
        f"~ 0 ; change the {what} of my {noun} to {{1}} ; Which {noun} do you mean? Please give me its ID.",
        f"~ 1 ; change the {what} of {noun} {{0}} ; What should the new {what} be?",
        f"z 修改{zh}的{what_zh} | 更新{zh}{what_zh}",
        f"zp {zh}编号|新的{what_zh}",
        f"zt 把{zh}{{0}}的{what_zh}改为{{1}} | {zh}{{0}}的{what_zh}更新成{{1}}",
        f"zm 1;修改{zh}{{0}}的{what_zh};请问新的{what_zh}是什么？",
    ]
    return (
        f"update_{one}_{name}|change_{one}_{name}|set_{one}_{name}",
        f"Change the {what} of an existing {noun}|Update {what} of a {noun}",
        facts,
    )


def _export(e: Entity) -> Family:
    plural, zh = e["plural"], e["zh"]
    many = plural.replace(" ", "_")
    facts = [
        "+ format|file_type ; enum csv=CSV, pdf=PDF, xlsx=Excel/xlsx, json=JSON ; File format",
        "- period|range ; object_range ; Date range ; {}",
        f"! export the {plural} as {{0}}",
        f"! download all {plural} in {{0}} format",
        f"? can I get the {plural} as a {{0}} file",
        f". My colleague wants the {plural} in {{0}}",
        f"~ 0 ; export the {plural} ; Which file format would you like: CSV, PDF, Excel or JSON?",
        f"z 导出{zh} | 下载{zh}文件",
        "zp 文件格式|日期范围",
        "zo {}",
        f"zt 把{zh}导出为{{0}} | 导出{{0}}格式的{zh}",
        f"zm 0;导出{zh};请问要导出为哪种格式？",
    ]
    return (
        f"export_{many}|{many}_export|download_{many}",
        f"Export {plural} to a file|Download {plural} in a file format",
        facts,
    )
