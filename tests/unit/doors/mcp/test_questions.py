"""What MCP's flat forms show of a question's schema."""

from rightseat.doors.mcp.tool_call import make_form_schema
from rightseat.types.events import Interrupt


def test_a_field_that_no_form_has_is_left_out_unless_it_must_be_there() -> None:
    """As pydantic-ai asks for an approval: whoever wrote text into `editedArgs` broke its run."""
    fields = {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        "reason": {"type": "string", "format": "x"},
        "tags": {"type": "array"},
    }
    schema = {"type": "object", "properties": fields, "required": ["approved", "tags", "gone"]}
    assert make_form_schema(Interrupt("ask_1", "confirm", "Approve?", schema)) == {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}, "tags": {"type": "string"}},
        "required": ["approved", "tags"],
    }


def test_a_question_has_one_field() -> None:
    asked = make_form_schema(Interrupt("ask_1", "ask", "Which?", {"enum": ["a", 1]}))
    assert asked["properties"] == {"answer": {"type": "string", "enum": ["a", "1"]}}
    assert asked["required"] == ["answer"]
