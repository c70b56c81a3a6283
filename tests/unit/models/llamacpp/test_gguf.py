"""The head of a GGUF file; the file may be anything (security row 29)."""

import os
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.errors import GgufError
from rightseat.models.llamacpp import gguf
from tests.unit.models.llamacpp import gguf_files

HUGE = 2**63


@pytest.fixture
def write_model(tmp_path: Path) -> "ModelWriter":
    return ModelWriter(tmp_path / "model.gguf")


class ModelWriter:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, data: bytes) -> Path:
        self.path.write_bytes(data)
        return self.path


def test_what_a_file_says(write_model: ModelWriter) -> None:
    path = write_model(
        gguf_files.make_gguf(
            *gguf_files.make_usual_entries(
                gguf_files.make_string_entry("tokenizer.chat_template.tool_use", "{{ tools }}")
            ),
            tensors=[
                gguf_files.make_tensor_info("a", [8, 2]),
                gguf_files.make_tensor_info("b", [32], kind=2, offset=64),
            ],
            data=bytes(64 + 18),
        )
    )
    header = gguf.read_header(path)
    assert (header.architecture, header.context_length) == ("llama", 8192)
    assert (header.bos, header.eos) == ("<|im_start|>", "<|im_end|>")
    assert header.template == "{{ messages }}"
    assert header.templates == {"tool_use": "{{ tools }}"}
    assert (header.control_tokens, header.added_tokens) == (("<|im_start|>", "<|im_end|>"), ("<tool_call>",))


def test_a_file_with_little_in_it(write_model: ModelWriter) -> None:
    header = gguf.read_header(
        write_model(gguf_files.make_gguf(gguf_files.make_string_entry("general.architecture", "bert"), version=2))
    )
    assert (header.context_length, header.template, header.bos) == (None, None, None)
    assert (header.control_tokens, header.templates) == ((), {})


def test_tokens_that_are_not_utf8_do_no_harm(write_model: ModelWriter) -> None:
    broken = (
        gguf_files.pack_string("general.name")
        + struct.pack("<I", gguf_files.STRING)
        + gguf_files.pack_string(b"\xff\xfe")
    )
    header = gguf.read_header(write_model(gguf_files.make_gguf(*gguf_files.make_usual_entries(broken))))
    assert header.values["general.name"] == "��"


def test_a_token_number_beyond_the_vocabulary_is_no_token(write_model: ModelWriter) -> None:
    pairs = [
        gguf_files.make_string_entry("general.architecture", "x"),
        gguf_files.make_number_entry("tokenizer.ggml.bos_token_id", 7),
    ]
    assert (
        gguf.read_header(
            write_model(
                gguf_files.make_gguf(*pairs, gguf_files.make_string_array_entry("tokenizer.ggml.tokens", ["a"]))
            )
        ).bos
        is None
    )


NAMED = gguf_files.make_string_entry("general.architecture", "llama")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "too short"),
        (b"GGUF", "too short"),
        (gguf_files.make_gguf(NAMED, magic=b"GGML"), "does not begin with GGUF"),
        (gguf_files.make_gguf(NAMED, version=1), "version 1"),
        (gguf_files.make_gguf(NAMED, version=0x03000000), "big-endian"),
        (gguf_files.make_gguf(NAMED, entry_count=HUGE), "keys"),
        (gguf_files.make_gguf(NAMED, tensor_count=HUGE), "tensors"),
        (gguf_files.make_gguf(NAMED, tensor_count=1), "ends in the middle"),
        (gguf_files.make_gguf(NAMED, NAMED), "twice"),
        (gguf_files.make_gguf(NAMED, entry_count=2), "ends in the middle"),
        (gguf_files.make_gguf(struct.pack("<Q", HUGE) + b"abc" * 8), "a key claims"),
        (gguf_files.make_gguf(gguf_files.pack_string("k") + struct.pack("<I", 99) + bytes(8)), "unknown type 99"),
        (gguf_files.make_gguf(gguf_files.pack_string("k") + struct.pack("<IQ", 8, HUGE)), "k claims"),
        (gguf_files.make_gguf(gguf_files.pack_string("k") + struct.pack("<IQ", 8, 1 << 20)), "ends in the middle"),
        (
            gguf_files.make_gguf(gguf_files.make_string_array_entry("k", ["a"], count=HUGE)),
            "claims 9223372036854775808 strings",
        ),
        (
            gguf_files.make_gguf(gguf_files.make_number_array_entry("k", [1], count=HUGE)),
            "claims 9223372036854775808 numbers",
        ),
        (gguf_files.make_gguf(gguf_files.make_string_array_entry("k", ["a"], count=2) + bytes(8)), "architecture"),
        (
            gguf_files.make_gguf(gguf_files.pack_string("k") + struct.pack("<IIQ", 9, 9, 1) + bytes(16)),
            "elements of the unknown",
        ),
        (gguf_files.make_gguf(gguf_files.make_number_entry("llama.context_length", 1)), "architecture"),
        (gguf_files.make_gguf(NAMED, tensors=[gguf_files.make_tensor_info("t", [1] * 5)]), "claims 5 dimensions"),
        (gguf_files.make_gguf(NAMED, tensors=[gguf_files.make_tensor_info("t", [4], offset=HUGE)]), "beyond its end"),
        (
            gguf_files.make_gguf(NAMED, tensors=[gguf_files.make_tensor_info("t", [HUGE, HUGE])], data=bytes(64)),
            "beyond its end",
        ),
        (
            gguf_files.make_gguf(NAMED, tensors=[gguf_files.make_tensor_info("t", [64])], data=bytes(255)),
            "beyond its end",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_forged_files_are_refused(write_model: ModelWriter, data: bytes, why: str) -> None:
    with pytest.raises(GgufError, match=why):
        gguf.read_header(write_model(data))


@pytest.mark.slow
def test_every_truncation_is_an_error(write_model: ModelWriter) -> None:
    whole = gguf_files.make_gguf(
        *gguf_files.make_usual_entries(), tensors=[gguf_files.make_tensor_info("t", [4])], data=bytes(16)
    )
    assert gguf.read_header(write_model(whole)).architecture == "llama"
    for length in range(len(whole)):
        with pytest.raises(GgufError):
            gguf.read_header(write_model(whole[:length]))


@given(data=st.data())
def test_no_change_of_a_byte_escapes_as_another_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = bytearray(
        gguf_files.make_gguf(
            *gguf_files.make_usual_entries(), tensors=[gguf_files.make_tensor_info("t", [4])], data=bytes(16)
        )
    )
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed.gguf"
    path.write_bytes(whole)
    try:
        header = gguf.read_header(path)
    except GgufError:
        return
    assert header.architecture is not None


def test_the_tensors_data_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    size = 8 << 30
    with path.open("wb") as file:
        file.write(
            gguf_files.make_gguf(
                *gguf_files.make_usual_entries(), tensors=[gguf_files.make_tensor_info("t", [size // 4])]
            )
        )
        file.truncate(file.tell() + size)  # a hole: it takes no room on the disk
    tracemalloc.start()
    try:
        assert gguf.read_header(path).architecture == "llama"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_head_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "MAX_HEAD", 1000)
    path = tmp_path / "head.gguf"
    path.write_bytes(gguf_files.make_gguf(NAMED, gguf_files.make_number_array_entry("k", range(1000))))
    with pytest.raises(GgufError, match="head has more than"):
        gguf.read_header(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(GgufError, match="is not a file"):
        gguf.read_header(pipe)
    with pytest.raises(GgufError, match="cannot be read"):
        gguf.read_header(tmp_path)
    with pytest.raises(GgufError, match="cannot be read"):
        gguf.read_header(tmp_path / "none")
