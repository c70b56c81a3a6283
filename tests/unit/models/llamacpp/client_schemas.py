"""Schemas of the corpus as they come from clients: tools, actions, OpenAPI bodies, generated unions."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}


def make_array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def make_object(required: str = "", /, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": required.split()}


def describe(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def make_string_enum(*values: Any) -> Schema:
    return {"type": "string", "enum": list(values)}


TOOLS: dict[str, Schema] = {
    "weather": make_object(
        "location",
        location=describe(STRING, "City and state, e.g. San Francisco, CA"),
        unit=make_string_enum("celsius", "fahrenheit"),
    ),
    "forecast": make_object(
        "location days",
        location=STRING,
        days={**INTEGER, "minimum": 1, "maximum": 16},
        format=make_string_enum("celsius", "fahrenheit"),
    ),
    "no arguments": {"type": "object", "properties": {}},
    "no arguments, closed": {"type": "object", "properties": {}, "additionalProperties": False},
    "python": make_object("code", code=STRING),
    "search": make_object(
        "query",
        query={**STRING, "minLength": 1, "maxLength": 200},
        limit={**INTEGER, "minimum": 1, "maximum": 50, "default": 10},
        language={**STRING, "pattern": "^[a-z]{2}(-[A-Z]{2})?$"},
        safe={**BOOLEAN, "default": True},
    ),
    "mail": make_object(
        "to subject",
        to=make_array({**STRING, "format": "email"}, minItems=1, maxItems=10),
        cc=make_array({**STRING, "format": "email"}),
        subject={**STRING, "maxLength": 78},
        body=STRING,
        priority={"enum": [1, 2, 3]},
        at={**STRING, "format": "date-time"},
    ),
    "read file (MCP)": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"path": STRING, "tail": {**NUMBER, "description": "last lines"}, "head": NUMBER},
        "required": ["path"],
        "additionalProperties": False,
    },
    "edit file (MCP)": make_object(
        "path edits",
        path=STRING,
        edits=make_array(make_object("oldText newText", oldText=STRING, newText=STRING)),
        dryRun={**BOOLEAN, "default": False},
    ),
    "entities (MCP)": make_object(
        "entities",
        entities=make_array(
            make_object("name entityType observations", name=STRING, entityType=STRING, observations=make_array(STRING))
        ),
    ),
    "issue (MCP)": make_object(
        "owner repo title",
        owner=STRING,
        repo=STRING,
        title=STRING,
        body=STRING,
        assignees=make_array(STRING),
        milestone=INTEGER,
        labels=make_array(STRING),
        state=make_string_enum("open", "closed"),
        draft={"type": ["boolean", "null"]},
    ),
    "sql": make_object(
        "query",
        query=STRING,
        params=make_array({"type": ["string", "number", "boolean", "null"]}),
        timeout={**NUMBER, "exclusiveMinimum": 0},
    ),
    "fetch": make_object(
        "url",
        url={**STRING, "format": "uri"},
        max_length={**INTEGER, "exclusiveMinimum": 0, "exclusiveMaximum": 1000000},
        headers={"type": "object", "additionalProperties": STRING},
        method=make_string_enum("GET", "POST"),
    ),
    "sequential thinking": make_object(
        "thought nextThoughtNeeded thoughtNumber totalThoughts",
        thought=STRING,
        nextThoughtNeeded=BOOLEAN,
        thoughtNumber={**INTEGER, "minimum": 1},
        totalThoughts={**INTEGER, "minimum": 1},
        isRevision=BOOLEAN,
    ),
    "add todo (CopilotKit)": make_object(
        "text", text=describe(STRING, "What to do"), done=BOOLEAN, tags=make_array(STRING)
    ),
    "set state (CopilotKit)": make_object(
        "todos", todos=make_array(make_object("id title", id=INTEGER, title=STRING, done=BOOLEAN, assignee=STRING))
    ),
    "chart (CopilotKit)": make_object(
        "title data",
        title=STRING,
        kind=make_string_enum("bar", "line", "pie"),
        data=make_array(make_object("label value", label=STRING, value=NUMBER)),
    ),
    "colour (CopilotKit)": make_object("background", background={**STRING, "pattern": "^#[0-9a-f]{6}$"}),
    "slides (CopilotKit)": make_object(
        "content", content=STRING, backgroundImageUrl={**STRING, "format": "uri"}, spokenNarration=STRING
    ),
    "widget (OpenBB)": make_object(
        "widget_uuid args",
        widget_uuid={**STRING, "format": "uuid"},
        args={"type": "object", "additionalProperties": True},
    ),
    "天气": make_object(
        "城市",
        城市=describe(STRING, "城市名称"),
        单位=make_string_enum("摄氏度", "华氏度"),
        天数={**INTEGER, "minimum": 1, "maximum": 7},
    ),
    "查询订单": make_object(
        "订单号 时间范围",
        订单号={**STRING, "pattern": "^订单[0-9]{4,8}$"},
        时间范围=make_object("开始 结束", 开始={**STRING, "format": "date"}, 结束={**STRING, "format": "date"}),
    ),
    "エアコン": make_object(
        "温度", 温度={**NUMBER, "minimum": 16, "maximum": 30}, モード=make_string_enum("冷房", "暖房", "自動")
    ),
    "move": make_object(
        "x y",
        x={**NUMBER, "minimum": -1, "maximum": 1},
        y={**NUMBER, "minimum": -1, "maximum": 1},
        speed={**NUMBER, "minimum": 0, "maximum": 2.5},
    ),
    "calendar": make_object(
        "start end",
        start={**STRING, "format": "date-time"},
        end={**STRING, "format": "date-time"},
        every={**STRING, "format": "duration"},
        guests=make_array({**STRING, "format": "email"}, maxItems=5),
        room={"anyOf": [STRING, {"type": "null"}]},
    ),
    "network": make_object(
        "host",
        host={"anyOf": [{**STRING, "format": "ipv4"}, {**STRING, "format": "ipv6"}, {**STRING, "format": "hostname"}]},
        port={**INTEGER, "minimum": 1, "maximum": 65535},
        protocol=make_string_enum("tcp", "udp"),
    ),
    "currency": make_object(
        "amount from to",
        **{
            "from": {**STRING, "pattern": "^[A-Z]{3}$"},
            "to": {**STRING, "pattern": "^[A-Z]{3}$"},
            "amount": {**NUMBER, "exclusiveMinimum": 0, "multipleOf": 0.01, "maximum": 100000},
        },
    ),
}

PET: Schema = make_object(
    "name photoUrls",
    id={**INTEGER, "format": "int64"},
    name=STRING,
    category={"$ref": "#/$defs/Category"},
    photoUrls=make_array(STRING),
    tags=make_array({"$ref": "#/$defs/Tag"}),
    status=make_string_enum("available", "pending", "sold"),
)
ADDRESS: Schema = make_object(
    "street city",
    street=STRING,
    city=STRING,
    zip={**STRING, "pattern": r"^\d{5}$"},
    country={**STRING, "minLength": 2, "maxLength": 2},
)
BUTTON: Schema = make_object("type label", type={"const": "button"}, label=STRING)
BOX: Schema = make_object(
    "type children", type={"const": "box"}, children=make_array({"$ref": "#/$defs/Element"}, maxItems=3)
)
ALL_OF: Schema = {
    "allOf": [{"$ref": "#/$defs/Base"}, make_object("bark", bark=BOOLEAN)],
    "$defs": {"Base": make_object("id", id=INTEGER, note=STRING)},
}

OPENAPI: dict[str, Schema] = {
    "pet": PET
    | {"$defs": {"Category": make_object(id=INTEGER, name=STRING), "Tag": make_object(id=INTEGER, name=STRING)}},
    "order": make_object(
        "petId",
        id=INTEGER,
        petId=INTEGER,
        quantity={**INTEGER, "minimum": 1, "format": "int32"},
        shipDate={**STRING, "format": "date-time"},
        status=make_string_enum("placed", "approved"),
        complete=BOOLEAN,
    ),
    "customer": {"$defs": {"Address": ADDRESS}}
    | make_object(
        "name billing",
        name=STRING,
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
    "patch": make_array(
        {
            "oneOf": [
                make_object("op path value", op={"enum": ["add", "replace", "test"]}, path=STRING, value={}),
                make_object("op path", op={"const": "remove"}, path=STRING),
                make_object("op from path", **{"op": {"enum": ["move", "copy"]}, "from": STRING, "path": STRING}),
            ]
        },
        minItems=1,
    ),
    "filter": {
        "$defs": {
            "Filter": {
                "anyOf": [
                    make_object(
                        "field value",
                        field=STRING,
                        operator=make_string_enum("eq", "lt", "gt"),
                        value={"type": ["string", "number", "boolean"]},
                    ),
                    make_object("and", **{"and": make_array({"$ref": "#/$defs/Filter"}, minItems=1, maxItems=4)}),
                    make_object("not", **{"not": {"$ref": "#/$defs/Filter"}}),
                ]
            }
        },
        "$ref": "#/$defs/Filter",
    },
    "geojson": {
        "$defs": {"Position": make_array(NUMBER, minItems=2, maxItems=3)},
        "oneOf": [
            make_object("type coordinates", type={"const": "Point"}, coordinates={"$ref": "#/$defs/Position"}),
            make_object(
                "type coordinates",
                type={"const": "LineString"},
                coordinates=make_array({"$ref": "#/$defs/Position"}, minItems=2),
            ),
            make_object(
                "type coordinates",
                type={"const": "Polygon"},
                coordinates=make_array(make_array({"$ref": "#/$defs/Position"}, minItems=4)),
            ),
        ],
    },
    "invoice": make_object(
        "number lines",
        number={**STRING, "pattern": r"^INV-\d{6}$"},
        date={**STRING, "format": "date"},
        total={**NUMBER, "minimum": 0},
        lines=make_array(
            make_object(
                "sku qty price",
                sku=STRING,
                qty={**INTEGER, "minimum": 1, "maximum": 999},
                price={**NUMBER, "minimum": 0, "maximum": 99999.99},
            ),
            minItems=1,
            maxItems=20,
        ),
    ),
    "resume (structured output)": {
        **make_object(
            "name skills jobs",
            name=STRING,
            skills=make_array(STRING, maxItems=10),
            jobs=make_array(
                {
                    **make_object("title years", title=STRING, years={**NUMBER, "minimum": 0, "maximum": 60}),
                    "additionalProperties": False,
                }
            ),
        ),
        "additionalProperties": False,
    },
    "thought": make_object(
        "thought_about_next_step_only next_step",
        thought_about_next_step_only=STRING,
        next_step={
            "anyOf": [
                make_object(
                    "tool_calls",
                    tool_calls=make_array(
                        {
                            "anyOf": [
                                make_object("name arguments", name={"const": "weather"}, arguments=TOOLS["weather"]),
                                make_object("name arguments", name={"const": "search"}, arguments=TOOLS["search"]),
                            ]
                        },
                        minItems=1,
                    ),
                ),
                make_object("result", result=STRING),
            ]
        },
    ),
    "kubernetes-like": make_object(
        "apiVersion kind metadata spec",
        apiVersion={"const": "v1"},
        kind=make_string_enum("Pod", "Service"),
        metadata=make_object(
            "name",
            name={**STRING, "pattern": "^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$"},
            labels={"type": "object", "additionalProperties": STRING},
        ),
        spec=make_object(
            replicas={**INTEGER, "minimum": 0},
            containers=make_array(
                make_object(
                    "name image",
                    name=STRING,
                    image=STRING,
                    ports=make_array(make_object(port=INTEGER)),
                    env=make_array(make_object("name", name=STRING, value=STRING)),
                )
            ),
        ),
    ),
}

DOCUMENTS: dict[str, Schema] = TOOLS | OPENAPI
