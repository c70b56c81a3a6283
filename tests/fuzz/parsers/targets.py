"""All parsers under test, by name. A new one is a subclass of ParserTarget, a line here and a folder of the corpus."""

from tests.fuzz.parsers.chat_formats import ChatFormats
from tests.fuzz.parsers.door_requests import DoorRequests
from tests.fuzz.parsers.gguf_headers import GgufHeaders
from tests.fuzz.parsers.graphql_documents import GraphQLDocuments
from tests.fuzz.parsers.plugin_files import PluginFiles
from tests.fuzz.parsers.target import ParserTarget
from tests.fuzz.parsers.upstream_streams import UpstreamStreams

KINDS: tuple[type[ParserTarget], ...] = (
    UpstreamStreams,
    DoorRequests,
    GraphQLDocuments,
    PluginFiles,
    GgufHeaders,
    ChatFormats,
)
TARGETS: dict[str, type[ParserTarget]] = {kind.name: kind for kind in KINDS}
