"""The table of known fields against the fields of the installed openai package: a new one is noticed here."""

import json
import subprocess

import pytest

from rightseat.doors.openai.fields import CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.client_runner import HERE
from tests.peers.install import PEERS_FOLDER
from tests.peers.openai_cases import PYTHON
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]
TABLES = {"chat": CHAT_FIELDS, "completion": COMPLETION_FIELDS, "embedding": EMBEDDING_FIELDS}


@pytest.mark.demand("openai.known_fields_of_the_package")
def test_the_table_has_every_field_of_the_package() -> None:
    require(PYTHON)
    command = [str(PEERS_FOLDER / PYTHON / "bin" / "python"), str(HERE / PYTHON / "fields.py")]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=HANG_TIMEOUT).stdout)
    for name, table in TABLES.items():
        ours = {field.name for field in table.values() if field.source == "OpenAI"}
        assert ours == set(listed[name]), name
