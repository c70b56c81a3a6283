"""Schemas of the corpus as they come from clients: tools, actions, OpenAPI bodies, generated unions."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
S: Schema = {"type": "string"}
W: Schema = {"type": "integer"}
N: Schema = {"type": "number"}
B: Schema = {"type": "boolean"}


def many(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def tool(required: str = "", /, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


def said(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def options(*values: Any) -> Schema:
    return {"type": "string", "enum": list(values)}


TOOLS: dict[str, Schema] = {
    "weather": tool(
        "location", location=said(S, "City and state, e.g. San Francisco, CA"), unit=options("celsius", "fahrenheit")
    ),
    "forecast": tool(
        "location days", location=S, days={**W, "minimum": 1, "maximum": 16}, format=options("celsius", "fahrenheit")
    ),
    "no arguments": {"type": "object", "properties": {}},
    "no arguments, closed": {"type": "object", "properties": {}, "additionalProperties": False},
    "python": tool("code", code=S),
    "search": tool(
        "query",
        query={**S, "minLength": 1, "maxLength": 200},
        limit={**W, "minimum": 1, "maximum": 50, "default": 10},
        language={**S, "pattern": "^[a-z]{2}(-[A-Z]{2})?$"},
        safe={**B, "default": True},
    ),
    "mail": tool(
        "to subject",
        to=many({**S, "format": "email"}, minItems=1, maxItems=10),
        cc=many({**S, "format": "email"}),
        subject={**S, "maxLength": 78},
        body=S,
        priority={"enum": [1, 2, 3]},
        at={**S, "format": "date-time"},
    ),
    "read file (MCP)": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"path": S, "tail": {**N, "description": "last lines"}, "head": N},
        "required": ["path"],
        "additionalProperties": False,
    },
    "edit file (MCP)": tool(
        "path edits", path=S, edits=many(tool("oldText newText", oldText=S, newText=S)), dryRun={**B, "default": False}
    ),
    "entities (MCP)": tool(
        "entities", entities=many(tool("name entityType observations", name=S, entityType=S, observations=many(S)))
    ),
    "issue (MCP)": tool(
        "owner repo title",
        owner=S,
        repo=S,
        title=S,
        body=S,
        assignees=many(S),
        milestone=W,
        labels=many(S),
        state=options("open", "closed"),
        draft={"type": ["boolean", "null"]},
    ),
    "sql": tool(
        "query",
        query=S,
        params=many({"type": ["string", "number", "boolean", "null"]}),
        timeout={**N, "exclusiveMinimum": 0},
    ),
    "fetch": tool(
        "url",
        url={**S, "format": "uri"},
        max_length={**W, "exclusiveMinimum": 0, "exclusiveMaximum": 1000000},
        headers={"type": "object", "additionalProperties": S},
        method=options("GET", "POST"),
    ),
    "sequential thinking": tool(
        "thought nextThoughtNeeded thoughtNumber totalThoughts",
        thought=S,
        nextThoughtNeeded=B,
        thoughtNumber={**W, "minimum": 1},
        totalThoughts={**W, "minimum": 1},
        isRevision=B,
    ),
    "add todo (CopilotKit)": tool("text", text=said(S, "What to do"), done=B, tags=many(S)),
    "set state (CopilotKit)": tool("todos", todos=many(tool("id title", id=W, title=S, done=B, assignee=S))),
    "chart (CopilotKit)": tool(
        "title data", title=S, kind=options("bar", "line", "pie"), data=many(tool("label value", label=S, value=N))
    ),
    "colour (CopilotKit)": tool("background", background={**S, "pattern": "^#[0-9a-f]{6}$"}),
    "slides (CopilotKit)": tool("content", content=S, backgroundImageUrl={**S, "format": "uri"}, spokenNarration=S),
    "widget (OpenBB)": tool(
        "widget_uuid args", widget_uuid={**S, "format": "uuid"}, args={"type": "object", "additionalProperties": True}
    ),
    "天气": tool(
        "城市", 城市=said(S, "城市名称"), 单位=options("摄氏度", "华氏度"), 天数={**W, "minimum": 1, "maximum": 7}
    ),
    "查询订单": tool(
        "订单号 时间范围",
        订单号={**S, "pattern": "^订单[0-9]{4,8}$"},
        时间范围=tool("开始 结束", 开始={**S, "format": "date"}, 结束={**S, "format": "date"}),
    ),
    "エアコン": tool("温度", 温度={**N, "minimum": 16, "maximum": 30}, モード=options("冷房", "暖房", "自動")),
    "move": tool(
        "x y",
        x={**N, "minimum": -1, "maximum": 1},
        y={**N, "minimum": -1, "maximum": 1},
        speed={**N, "minimum": 0, "maximum": 2.5},
    ),
    "calendar": tool(
        "start end",
        start={**S, "format": "date-time"},
        end={**S, "format": "date-time"},
        every={**S, "format": "duration"},
        guests=many({**S, "format": "email"}, maxItems=5),
        room={"anyOf": [S, {"type": "null"}]},
    ),
    "network": tool(
        "host",
        host={"anyOf": [{**S, "format": "ipv4"}, {**S, "format": "ipv6"}, {**S, "format": "hostname"}]},
        port={**W, "minimum": 1, "maximum": 65535},
        protocol=options("tcp", "udp"),
    ),
    "currency": tool(
        "amount from to",
        **{
            "from": {**S, "pattern": "^[A-Z]{3}$"},
            "to": {**S, "pattern": "^[A-Z]{3}$"},
            "amount": {**N, "exclusiveMinimum": 0, "multipleOf": 0.01, "maximum": 100000},
        },
    ),
}

PET: Schema = tool(
    "name photoUrls",
    id={**W, "format": "int64"},
    name=S,
    category={"$ref": "#/$defs/Category"},
    photoUrls=many(S),
    tags=many({"$ref": "#/$defs/Tag"}),
    status=options("available", "pending", "sold"),
)
ADDRESS: Schema = tool(
    "street city", street=S, city=S, zip={**S, "pattern": r"^\d{5}$"}, country={**S, "minLength": 2, "maxLength": 2}
)
BUTTON: Schema = tool("type label", type={"const": "button"}, label=S)
BOX: Schema = tool("type children", type={"const": "box"}, children=many({"$ref": "#/$defs/Element"}, maxItems=3))
ALL_OF: Schema = {
    "allOf": [{"$ref": "#/$defs/Base"}, tool("bark", bark=B)],
    "$defs": {"Base": tool("id", id=W, note=S)},
}

OPENAPI: dict[str, Schema] = {
    "pet": PET | {"$defs": {"Category": tool(id=W, name=S), "Tag": tool(id=W, name=S)}},
    "order": tool(
        "petId",
        id=W,
        petId=W,
        quantity={**W, "minimum": 1, "format": "int32"},
        shipDate={**S, "format": "date-time"},
        status=options("placed", "approved"),
        complete=B,
    ),
    "customer": {"$defs": {"Address": ADDRESS}}
    | tool(
        "name billing",
        name=S,
        billing={"$ref": "#/$defs/Address"},
        shipping={"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": None},
        metadata={"type": "object", "additionalProperties": {"type": ["string", "integer"]}},
    ),
    "interface (discriminated)": {
        "$defs": {
            "Button": BUTTON,
            "Box": BOX,
            "Element": {
                "oneOf": [{"$ref": "#/$defs/Button"}, {"$ref": "#/$defs/Box"}],
                "discriminator": {"propertyName": "type"},
            },
        },
        "$ref": "#/$defs/Element",
    },
    "inheritance": ALL_OF,
    "patch": many(
        {
            "oneOf": [
                tool("op path value", op={"enum": ["add", "replace", "test"]}, path=S, value={}),
                tool("op path", op={"const": "remove"}, path=S),
                tool("op from path", **{"op": {"enum": ["move", "copy"]}, "from": S, "path": S}),
            ]
        },
        minItems=1,
    ),
    "filter": {
        "$defs": {
            "Filter": {
                "anyOf": [
                    tool(
                        "field value",
                        field=S,
                        operator=options("eq", "lt", "gt"),
                        value={"type": ["string", "number", "boolean"]},
                    ),
                    tool("and", **{"and": many({"$ref": "#/$defs/Filter"}, minItems=1, maxItems=4)}),
                    tool("not", **{"not": {"$ref": "#/$defs/Filter"}}),
                ]
            }
        },
        "$ref": "#/$defs/Filter",
    },
    "geojson": {
        "$defs": {"Position": many(N, minItems=2, maxItems=3)},
        "oneOf": [
            tool("type coordinates", type={"const": "Point"}, coordinates={"$ref": "#/$defs/Position"}),
            tool(
                "type coordinates",
                type={"const": "LineString"},
                coordinates=many({"$ref": "#/$defs/Position"}, minItems=2),
            ),
            tool(
                "type coordinates",
                type={"const": "Polygon"},
                coordinates=many(many({"$ref": "#/$defs/Position"}, minItems=4)),
            ),
        ],
    },
    "invoice": tool(
        "number lines",
        number={**S, "pattern": r"^INV-\d{6}$"},
        date={**S, "format": "date"},
        total={**N, "minimum": 0},
        lines=many(
            tool(
                "sku qty price",
                sku=S,
                qty={**W, "minimum": 1, "maximum": 999},
                price={**N, "minimum": 0, "maximum": 99999.99},
            ),
            minItems=1,
            maxItems=20,
        ),
    ),
    "resume (structured output)": {
        **tool(
            "name skills jobs",
            name=S,
            skills=many(S, maxItems=10),
            jobs=many(
                {
                    **tool("title years", title=S, years={**N, "minimum": 0, "maximum": 60}),
                    "additionalProperties": False,
                }
            ),
        ),
        "additionalProperties": False,
    },
    "thought": tool(
        "thought_about_next_step_only next_step",
        thought_about_next_step_only=S,
        next_step={
            "anyOf": [
                tool(
                    "tool_calls",
                    tool_calls=many(
                        {
                            "anyOf": [
                                tool("name arguments", name={"const": "weather"}, arguments=TOOLS["weather"]),
                                tool("name arguments", name={"const": "search"}, arguments=TOOLS["search"]),
                            ]
                        },
                        minItems=1,
                    ),
                ),
                tool("result", result=S),
            ]
        },
    ),
    "kubernetes-like": tool(
        "apiVersion kind metadata spec",
        apiVersion={"const": "v1"},
        kind=options("Pod", "Service"),
        metadata=tool(
            "name",
            name={**S, "pattern": "^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$"},
            labels={"type": "object", "additionalProperties": S},
        ),
        spec=tool(
            replicas={**W, "minimum": 0},
            containers=many(
                tool("name image", name=S, image=S, ports=many(tool(port=W)), env=many(tool("name", name=S, value=S)))
            ),
        ),
    ),
}

DOCUMENTS: dict[str, Schema] = TOOLS | OPENAPI
