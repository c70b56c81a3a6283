"""The documents of the guide, to the letter, with all that is wrong with them."""

from pathlib import Path

import pytest

from rightseat.types.schema import get_validator
from tests.unit.plugins.folders import find_problem, load_operation, load_plugin, make_api_document

MINIMAL = r"""openapi: 3.0.0
info:
  version: 1.0.0
  title: "文档标题"

servers:
  - url: "http://example.com:port/suffix"

paths:
  /url:
    post:
      description: "API的描述信息"
      requestBody:
        description: "API请求体的总描述"
        content:
          application/json:
            schema:
              type: object
              required:
                - data
              properties:
                data:
                  type: string
                  example: "字段的样例值"
                  description: "字段的描述信息"
                  pattern: "[\d].[\d]"
      responses:
        '200':
          description: "API返回体的总描述"
          content:
            application/json:
              schema:
                type: object
                properties:
                  name:
                    type: string
                    example: "字段的样例值"
                    description: "字段的描述信息"
"""

SCHEMA = """
schema:
  - type: object
    required:
      - id
      - name
    description: 对象描述
    properties:
      id:
        type: integer
        description: 用户ID
        pattern: "2"
      name:
        type: string
        description: 用户名
        pattern: "[a-z0-9]{1,20}"
      gender:
        type: string
        description: 性别设置
        enum:
          - male
          - female
          - others
        example: "male"
      posts:
        type: array
        description: 用户发布过的博客ID
        items:
          type: integer
          description: 单篇博客的ID
          default: 10
"""

AROUND = """openapi: 3.0.0
servers: [{url: "https://api.example.com"}]
paths:
  /users:
    post:
      description: 新增用户
      requestBody:
        content:
          %s:
"""

NO_METHOD = """openapi: 3.0.0
servers: [{url: "https://api.example.com"}]
paths:
  /txt2img:
    description: 使用Stable Diffusion模型，生成符合用户要求的图片。
    requestBody:
      content:
        application/json:
          schema:
            properties:
              prompt:
                description: "用于调用Stable Diffusion模型的提示词。例子：`masterpiece, galaxy`"
"""

# With the three dots in place of what every reader of the guide fills in.
DOTS = """paths:
  /txt2img:
    description: 使用Stable Diffusion模型，生成符合用户要求的图片。
    requestBody:
      ...
        schema:
          properties:
            prompt:
              description: "用于调用Stable Diffusion模型的提示词。"
"""


@pytest.mark.demand("plugins.guide_own_sample_d")
def test_the_smallest_document(tmp_path: Path) -> None:
    found = load_plugin(tmp_path, MINIMAL)
    [operation] = found.operations
    assert (operation.id, operation.name, operation.method) == ("POST /url", "post_url", "POST")
    assert operation.description.splitlines() == [
        "API的描述信息",
        "Body: API请求体的总描述",
        "Returns: API返回体的总描述: name (字段的描述信息)",
    ]
    assert operation.arguments["required"] == ["data"]
    data = operation.arguments["properties"]["data"]
    assert (data["description"], data["examples"]) == ("字段的描述信息", ["字段的样例值"])
    assert get_validator(operation.arguments).find_problem({"data": "0.1"}) is None
    for wrong in ("0.1.2", "a.b", ""):
        assert get_validator(operation.arguments).find_problem({"data": wrong})
    assert find_problem(found, "backslash").line == 26
    told = find_problem(found, "no valid host and port")
    assert (told.key, told.line, told.gravity) == ("servers[0].url", 7, "error")


@pytest.mark.demand("plugins.schema_item_list_dangerous")
def test_a_schema_that_is_a_list_of_one(tmp_path: Path) -> None:
    text = AROUND % "application/json" + "".join(f"            {line}\n" for line in SCHEMA.splitlines())
    found = load_plugin(tmp_path, text)
    [operation] = found.operations
    check = get_validator(operation.arguments)
    sample = {"id": 2, "name": "abc123", "gender": "female", "posts": [10, 15, 2, 3]}
    assert check.find_problem(sample) is None
    assert check.find_problem({**sample, "id": 3}), "the pattern of a number holds"
    assert check.find_problem({**sample, "name": "A"})
    assert check.find_problem({"id": 2}), "name is required"
    assert find_problem(found, "A schema is no list").gravity == "warning"


@pytest.mark.demand("plugins.without_strict_tolerant_guide")
@pytest.mark.parametrize("media", ["application/json", "x-www-form-urlencoded", "multipart/form-data"])
def test_the_three_bodies(tmp_path: Path, media: str) -> None:
    text = AROUND % media + "            schema: {type: object, properties: {id: {type: integer}}}\n"
    body = load_operation(tmp_path, text).body
    assert body is not None
    full = {"x-www-form-urlencoded": "application/x-www-form-urlencoded"}.get(media, media)
    assert (body.media, body.fields) == (full, {"id": "id"})


def test_a_path_without_a_method_is_a_post(tmp_path: Path) -> None:
    found = load_plugin(tmp_path, NO_METHOD)
    [operation] = found.operations
    assert operation.id == "POST /txt2img"
    assert operation.description == "使用Stable Diffusion模型，生成符合用户要求的图片。"
    assert list(operation.arguments["properties"]) == ["prompt"]
    told = find_problem(found, "POST is assumed")
    assert (told.line, told.gravity) == (4, "warning")


def test_the_sample_with_dots_is_told(tmp_path: Path) -> None:
    [told] = [one for one in load_plugin(tmp_path, DOTS).problems if one.gravity == "error"]
    assert (told.file, told.line) == ("openapi.yaml", 6)


@pytest.mark.demand("plugins.schema_item_list_dangerous")
def test_dangerous_with_and_without_x(tmp_path: Path) -> None:
    for number, word in enumerate(("dangerous", "x-dangerous")):
        assert load_operation(tmp_path / str(number), make_api_document({word: True})).dangerous
    assert not load_operation(tmp_path / "other", make_api_document({"dangerous": False})).dangerous
