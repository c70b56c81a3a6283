from __future__ import annotations

import resource
import socket
from pathlib import Path

import pytest

from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, Config, ServerSettings
from rightseat.errors import ConfigError
from rightseat.server import service


@pytest.mark.io
def test_port_zero_takes_a_free_one() -> None:
    with service.open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert service.local_url("127.0.0.1", port) == f"http://127.0.0.1:{port}"
        assert service.local_url("0.0.0.0", port) == f"http://127.0.0.1:{port}"
        assert service.local_url("::1", port) == f"http://[::1]:{port}"
        with socket.create_connection(("127.0.0.1", port), 5):
            pass


@pytest.mark.io
def test_a_port_in_use_says_what_to_do() -> None:
    with service.open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError) as caught:
            service.open_listener("127.0.0.1", port)
    assert f"Port {port} on 127.0.0.1 is in use" in caught.value.message
    assert f"--port {port + 1}" in caught.value.message


@pytest.mark.io
@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "x" * 300])
def test_an_address_that_is_not_ours_says_so(host: str) -> None:
    with pytest.raises(ConfigError, match=r"--host 127\.0\.0\.1"):
        service.open_listener(host, 0)


@pytest.mark.demand("engine.owners_named_key_jwt")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "copilot.example", ""])
def test_beyond_loopback_needs_auth(host: str) -> None:
    server = ServerSettings(host=host)
    with pytest.raises(ConfigError) as caught:
        service.check_exposure(Config(server=server))
    assert "--host 127.0.0.1" in caught.value.message
    assert "[auth.keys]" in caught.value.message
    service.check_exposure(Config(server=server, auth=AuthSettings(keys={"a": Secret("k")})))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"])
def test_loopback_needs_none(host: str) -> None:
    config = Config(server=ServerSettings(host=host))
    service.check_exposure(config)  # raises where a key is needed
    assert not config.auth.required


def test_the_ready_file_appears_whole(tmp_path: Path) -> None:
    service.write_ready_file(tmp_path / "ready", "http://x:1")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("ready", "http://x:1\n")]
    with pytest.raises(ConfigError, match="RIGHTSEAT_READY_FILE"):
        service.write_ready_file(tmp_path / "gone" / "ready", "http://x:1")


def test_the_limit_of_open_files_is_raised() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard) - 1, hard))
        service.raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
