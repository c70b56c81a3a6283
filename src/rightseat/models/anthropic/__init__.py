"""Claude models through Anthropic's Messages API.

client.py sends requests. request.py builds the body from a Prompt;
conversation.py builds its messages; claude_models.py knows what each Claude model and the API accept.
stream_parser.py decodes stream events into ModelChunks. errors.py maps errors. options.py parses
`anthropic:NAME`.
"""

from rightseat.models.anthropic.client import AnthropicModel
from rightseat.models.anthropic.options import model

__all__ = ["AnthropicModel", "model"]
