"""`python launch_litellm.py UPSTREAM [SETTINGS]`: becomes LiteLLM's proxy, and says where once it answers.

SETTINGS is JSON that is added to its general settings.

Run by the Python of LiteLLM's own environment: standard library only.
"""

import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

POLL = 0.1


def format_config(upstream: str, settings: str = "{}") -> str:
    """JSON is YAML too."""
    params = {"model": "openai/bench", "api_base": f"{upstream}/v1", "api_key": "bench"}
    return json.dumps(
        {
            "model_list": [{"model_name": "bench", "litellm_params": params}],
            "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY", **json.loads(settings)},
        }
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def write_ready_file(url: str, server: int) -> None:
    """Ends without a word when the server is gone: who waits sees that by itself."""
    while os.getppid() == server:
        try:
            with urllib.request.urlopen(f"{url}/health/liveliness", timeout=5):
                break
        except (urllib.error.URLError, OSError):
            time.sleep(POLL)
    else:
        return
    ready = Path(os.environ["RIGHTSEAT_READY_FILE"])
    fresh = ready.with_suffix(".new")
    fresh.write_text(url)
    fresh.rename(ready)


def main() -> None:
    port, server = free_port(), os.getpid()
    config = Path("litellm.yaml")
    config.write_text(format_config(*sys.argv[1:]))
    # The child watches, so that the process which is measured is LiteLLM alone.
    if os.fork() == 0:
        write_ready_file(f"http://127.0.0.1:{port}", server)
        return
    program = str(Path(sys.executable).with_name("litellm"))
    options = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    os.execv(program, [program, *options, "--num_workers", "1", "--telemetry", "False"])


if __name__ == "__main__":
    main()
