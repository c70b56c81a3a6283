"""Forms with files: what browsers and OpenAI's clients send, and what is no form."""

import pytest

from rightseat.errors import CallerError
from rightseat.http.multipart import MAX_PARTS, MultipartField, format_form, is_form, parse_form
from tests.kit.cases import each_case

TYPE = "multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'


def test_a_form_is_read_as_it_was_written() -> None:
    parts = [
        MultipartField("model", b"whisper-1"),
        MultipartField("file", bytes(range(256)) + b"\r\n--form-\r\n", 'a"b\r\n.wav', "audio/wav"),
        MultipartField("empty", b""),
    ]
    body, content_type = format_form(parts)
    assert is_form(content_type)
    # Browsers escape what would end a name; nobody unescapes it.
    assert parse_form(body, content_type) == [
        parts[0],
        MultipartField("file", parts[1].data, "a%22b%0D%0A.wav", "audio/wav"),
        parts[2],
    ]


def test_what_browsers_and_curl_write() -> None:
    body = (
        b'preamble\r\n--x \t\r\ncontent-disposition: form-data; name=audio1; name="audio"; filename="r.webm"\r\n'
        b"Content-Type: audio/webm;codecs=opus\r\n\r\n\x00\xff\r\n--x--\r\nepilogue"
    )
    part = MultipartField("audio", b"\x00\xff", "r.webm", "audio/webm;codecs=opus")
    assert parse_form(body, 'Multipart/Form-Data; charset=utf-8; Boundary="x"') == [part]
    assert parse_form(b"--x--", TYPE) == []
    encoded = b"--x\r\nContent-Disposition: form-data; name=f; filename*=UTF-8''%e6%b5%8b.txt\r\n\r\n\r\n--x--"
    assert parse_form(encoded, TYPE) == [MultipartField("f", b"", "测.txt")]


@each_case(
    ("body", "content_type", "message"),
    [
        (b"{}", "application/json", "Send a form"),
        (PART + b"--x--", "multipart/form-data", "Send a form"),
        (PART, TYPE, "The form is cut"),
        (b"", TYPE, "The form is cut"),
        (PART[:-1] + b"--x--", TYPE, "The form is cut"),
        (b"--x\r\nname=a\r\n\r\n1\r\n--x--", TYPE, "has no name"),
        (b'--x\r\nContent-Disposition: attachment; name="a"\r\n\r\n1\r\n--x--', TYPE, "has no name"),
        (b"--x\r\n\r\n1\r\n--x--", TYPE, "has no name"),
        (b"--xyz\r\n--x--", TYPE, "no headers"),
        (PART * (MAX_PARTS + 1) + b"--x--", TYPE, "more than 64 parts"),
    ],
)
def test_what_is_no_form_is_told(body: bytes, content_type: str, message: str) -> None:
    with pytest.raises(CallerError, match=message):
        parse_form(body, content_type)
