from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from rightseat.cli import log
from rightseat.config.secret import Secret
from rightseat.http.endpoint import REQUEST_ID
from rightseat.runtime.incidents import current_run

NAMES = ("", "uvicorn", "uvicorn.error", "asyncio")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    before = [(name, *_state(logging.getLogger(name))) for name in NAMES]
    raising = logging.raiseExceptions
    yield
    logging.raiseExceptions = raising
    for name, handlers, level, propagate in before:
        logger = logging.getLogger(name)
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate


def _state(logger: logging.Logger) -> tuple[list[logging.Handler], int, bool]:
    return list(logger.handlers), logger.level, logger.propagate


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure_logging("json", "info")
    logger = logging.getLogger("rightseat.x")
    token = REQUEST_ID.set("r1")
    logger.info("two\nlines %s", "ü")
    REQUEST_ID.reset(token)
    try:
        raise ValueError("boom")
    except ValueError:
        logger.exception("failed")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["logger"], first["message"]) == ("info", "rightseat.x", "two\nlines ü")
    assert first["request_id"] == "r1"
    assert "ValueError: boom" in second["error"]
    assert "request_id" not in second


def test_console_lines_cannot_be_forged(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure_logging("console", "info")
    token = REQUEST_ID.set("r1")
    logging.getLogger("rightseat.x").warning("a\r\n12:00:00 forged\x1b[2J\u2028")
    REQUEST_ID.reset(token)
    lines = capsys.readouterr().err.split("\n")
    assert len(lines) == 2
    assert "warning rightseat.x [r1] a\\r\\n12:00:00 forged\\x1b[2J\\u2028" in lines[0]


@pytest.mark.parametrize("kind", ["json", "console"])
def test_a_known_secret_never_shows(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    log.configure_logging(kind, "info")
    key = Secret("sk-canary-123").reveal()
    try:
        raise ValueError(f"cannot use {key}")
    except ValueError:
        logging.getLogger("rightseat.x").exception("with %s", key)
    text = capsys.readouterr().err
    assert "sk-canary-123" not in text
    assert text.count("***") >= 2


def test_uvicorn_speaks_through_it_and_only_when_it_matters(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure_logging("json", "info")
    logging.getLogger("uvicorn.error").info("Started server process")
    logging.getLogger("uvicorn.error").error("Exception in ASGI application")
    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["Exception in ASGI application"]


def test_levels(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure_logging("console", "error")
    logging.getLogger("rightseat").warning("quiet")
    log.configure_logging("console", "debug")
    logging.getLogger("rightseat").debug("loud")
    assert "loud" in (err := capsys.readouterr().err)
    assert "quiet" not in err


def test_a_full_disk_is_not_the_callers_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w", encoding="utf-8", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        log.configure_logging("json", "info")
        logging.getLogger("rightseat").info("this goes nowhere")
        # The text stays in the file's buffer and must not fail the closing of it.
        monkeypatch.undo()
        with pytest.raises(OSError, match="No space"):
            full.close()


@pytest.mark.demand("models.structured_logs_json_console")
def test_a_line_has_the_thread_and_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    token = current_run.set(("t\n1", "r1" * 100))
    try:
        for kind in ("json", "console"):
            log.configure_logging(kind, "info")
            logging.getLogger("rightseat.x").info("hello")
    finally:
        current_run.reset(token)
    machine, person, _ = capsys.readouterr().err.split("\n")
    assert json.loads(machine)["thread"] == "t\n1"
    assert json.loads(machine)["run"] == ("r1" * 100)[:64]
    assert f"[t\\n1 {('r1' * 100)[:64]}] hello" in person


@pytest.mark.parametrize("kind", ["json", "console"])
def test_in_production_an_exception_is_told_without_its_words(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    log.configure_logging(kind, "info", foreign_text=False)
    # Not written out below: a traceback shows the lines of the code.
    inner, outer, around = (f"canary-{number}" for number in range(3))
    try:
        try:
            raise KeyError(inner)
        except KeyError as error:
            error.__context__ = ValueError(around)
            error.__context__.__context__ = error
            raise RuntimeError(outer) from error
    except RuntimeError:
        logging.getLogger("rightseat.x").exception("failed")
    text = capsys.readouterr().err
    assert "canary" not in text
    assert [name in text for name in ("builtins.KeyError", "builtins.RuntimeError")] == [True, True]
    assert "test_log.py" in text


ODD_SECRETS = (
    'pass"word-1',
    "pass\\word-2",
    "schl\u00fcssel-3",
    "\u5bc6\u7801\u5bc6\u7801-4",
    'it\'s "both"-5',
    "tab\there-6",
    "\udcff-raw-7",
)


@pytest.mark.demand("security.secrets_masked")
@pytest.mark.parametrize("kind", ["json", "console"])
@pytest.mark.parametrize("value", ODD_SECRETS)
def test_secrets_are_masked_in_every_spelling(kind: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    secret = Secret(value)
    log.configure_logging(kind, "debug")
    logger = logging.getLogger("rightseat.x")
    encoded = value.encode("utf-8", "surrogateescape")
    spellings = [value, repr(value), repr(encoded), json.dumps(value), quote(encoded), {"headers": [value]}]
    for spelling in spellings:
        logger.info("key %s.", spelling, extra={"fields": {"url": f"https://x/?key={spelling}", "inner": [spelling]}})
        try:
            raise ValueError(f"bad key {spelling}")
        except ValueError:
            logger.exception("failed")
    shown = capsys.readouterr().err
    assert shown.count("***") >= 2 * len(spellings)
    tail = secret.reveal()[-5:]
    assert tail not in shown


@pytest.mark.demand("scale.workers_serve_one_port")
@pytest.mark.parametrize(("kind", "words"), [("console", "[w2]"), ("json", '"worker": 2')])
def test_lines_name_the_worker(kind: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    log.configure_logging(kind, "info", worker=2)
    logging.getLogger("rightseat.server").info("hello")
    assert words in capsys.readouterr().err
