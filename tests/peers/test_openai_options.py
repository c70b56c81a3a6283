"""Every option of a chat request, the smaller endpoints and the models' names, by the official clients.

The programs are openai-py/options.py and openai-js/options.mjs; `plain` is a model whose answer is the
request as it reached the model's server.
"""

import json
from typing import Any

import pytest

from tests.peers.echo_upstream import LOGPROBS, VECTOR
from tests.peers.openai_cases import HELLO, SENT_OPTIONS, PeerReport

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

SERVER_FIELDS = {"model", "messages", "stream", "stream_options"}
"""Fields of the request to the model's server that do not come from an option."""
ARRIVING_OPTIONS: dict[str, dict[str, Any]] = {
    "choice_auto": {},  # what a server does anyway
    "choice_none": {},  # the tools are left out: so no model can call one
    "format_text": {},
    "stop_one": {"stop": ["END"]},
    "max_completion_tokens": {"max_tokens": 18},
    "bookkeeping": {"safety_identifier": "someone"},
    "unknown": {},
}
"""What arrives where that is something else than what was sent."""


def parse_request(content: str | None) -> dict[str, Any]:
    request: dict[str, Any] = json.loads(content or "")
    assert request["model"] == "vendor/plain-1"
    return request


@pytest.mark.demand(
    "openai.tool_choice_auto_none",
    "openai.parallel_tool_calls_stop",
    "openai.response_format_text_json",
    "openai.unknown_fields_passed_upstream",
    "openai.official_openai_python_npm",
)
@pytest.mark.parametrize("case", SENT_OPTIONS)
def test_an_option_reaches_the_model_or_is_left_out(peer: PeerReport, case: str) -> None:
    (turn,) = peer.get_turns(case)
    sent = parse_request(turn["content"])
    given = {name: value for name, value in sent.items() if name not in SERVER_FIELDS | {"tools"}}
    # Compared as text: 1 and 1.0 are not the same to every server.
    assert json.dumps(given, sort_keys=True) == json.dumps(
        ARRIVING_OPTIONS.get(case, SENT_OPTIONS[case]), sort_keys=True
    )
    tools = [tool["function"]["name"] for tool in sent.get("tools", ())]
    with_tools = {"tool_choice", "parallel_tool_calls"} & SENT_OPTIONS[case].keys() and case != "choice_none"
    assert tools == (["locate", "clock"] if with_tools else [])
    assert (turn["finish"], turn["model"]) == ("stop", "plain")


@pytest.mark.demand("openai.images_files_content_parts")
def test_images_and_files_arrive_as_sent(peer: PeerReport) -> None:
    (message,) = parse_request(peer.list_contents("parts")[0])["messages"]
    text, picture, address, document, known = message["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert picture["image_url"] == {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}
    assert address["image_url"] == {"url": "https://pictures.example/cat.png"}
    assert document["file"] == {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    assert known["file"] == {"file_id": "file-1"}


@pytest.mark.demand("openai.n_several_responders_bare")
def test_several_choices_of_a_model_and_none_of_an_assistant(peer: PeerReport) -> None:
    made, refused = peer.get_turns("several")
    assert made["choices"] == ["sure", "sure", "sure"]
    assert made["usage"] == [21, 9, 30]
    assert (refused["class"], refused["status"], refused["param"]) == ("BadRequestError", 400, "n")


@pytest.mark.demand("openai.logprobs_passed_through")
def test_logprobs_come_back(peer: PeerReport) -> None:
    (turn,) = peer.get_turns("probable")
    (row,) = turn["logprobs"]["content"]
    assert row == LOGPROBS["content"][0]


@pytest.mark.demand("openai.stream_options_include_usage")
def test_usage_is_streamed_when_asked_for(single_mode_peer: PeerReport) -> None:
    asked, declined, silent = single_mode_peer.get_turns("counted")
    assert asked == {"rows": [[0, 9]], "last": True}
    assert declined == silent == {"rows": [], "last": False}


@pytest.mark.demand("openai.response_format_text_json", "openai.official_openai_python_npm")
def test_the_clients_own_parser(peer: PeerReport) -> None:
    assert peer.get_turns("parsed") == [{"parsed": {"name": "Ada", "age": 36}, "refusal": None}]
    assert peer.get_turns("parsed_refusal") == [{"parsed": None, "refusal": "I will not."}]
    (cut,) = peer.get_turns("parsed_length")
    assert cut["class"] == "LengthFinishReasonError"
    (unfit,) = peer.get_turns("parsed_unfit")
    assert (unfit["class"], unfit["status"], unfit["code"]) == ("InternalServerError", 502, "invalid_output")
    assert "does not match the requested schema" in unfit["message"]


@pytest.mark.demand("openai.post_v1_completions")
def test_the_older_completions(peer: PeerReport) -> None:
    said, several, refused = peer.get_turns("completion")
    assert said == {"texts": [HELLO], "ends": ["stop"], "kinds": [["text_completion", "default"]]}
    assert (several["texts"][0], several["ends"]) == ("sure", ["stop", "stop"])
    sent = parse_request(several["texts"][1])
    assert sent["messages"] == [{"role": "user", "content": "raw"}]
    assert (sent["max_tokens"], sent["stop"], sent["seed"], sent["temperature"]) == (5, ["x"], 3, 0)
    assert (refused["class"], refused["status"], refused["param"]) == ("BadRequestError", 400, "echo")


@pytest.mark.demand("openai.get_v1_models_models")
def test_models_are_listed_and_found(single_mode_peer: PeerReport) -> None:
    *listed, one, missing = single_mode_peer.get_turns("models")
    names = ["default", "mirror", "faulty", "limping", "endless", "script", "plain", "slow"]
    assert listed == [{"id": name, "object": "model"} for name in names]
    assert one == {"id": "mirror"}
    assert (missing["class"], missing["status"], missing["code"]) == ("NotFoundError", 404, "not_found")
    assert "Those that exist: default, mirror, faulty" in missing["message"]


@pytest.mark.demand("openai.post_v1_embeddings_goes")
def test_embeddings(single_mode_peer: PeerReport) -> None:
    by_itself, floats, packed, missing = single_mode_peer.get_turns("embeddings")
    assert by_itself == floats == {"rows": [VECTOR, VECTOR], "model": "plain", "usage": 2}
    assert packed["rows"] == ["AAAAPwAAgD8AAADA"] * 2
    assert (missing["class"], missing["status"], missing["code"]) == ("InternalServerError", 503, "not_configured")


@pytest.mark.demand("openai.v1_audio_transcriptions_answers", "openai.errors_openai_shape_right")
def test_speech_is_not_configured(single_mode_peer: PeerReport) -> None:
    (turn,) = single_mode_peer.get_turns("speech")
    assert (turn["class"], turn["status"], turn["code"]) == ("InternalServerError", 503, "not_configured")
    assert "Speech is not configured on this server" in turn["message"]


@pytest.mark.demand("openai.several_configured_name_full")
def test_a_model_has_three_names_and_is_answered_by_the_one_used(peer: PeerReport) -> None:
    turns = peer.get_turns("names")
    assert [turn["model"] for turn in turns] == ["plain", "openai:vendor/plain-1", "vendor/plain-1", "default"]
    mirrored = json.loads(turns[0]["content"])
    assert mirrored["messages"] == [["user", "hello", None]]
    assert [turn["content"] for turn in turns] == [turns[0]["content"]] * 3 + [HELLO]


@pytest.mark.demand("openai.server_model_answers_model")
def test_one_model_answers_to_any_name(peer: PeerReport) -> None:
    assert [(turn["model"], turn["content"]) for turn in peer.get_turns("any_name")] == [
        ("gpt-3.5-turbo", HELLO),
        ("meta-llama/llama-3.3-70b-instruct:free", HELLO),
        ("default", HELLO),
        ("default", HELLO),
    ]
