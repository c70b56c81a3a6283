"""The order that travels in a prompt from the driver through the peer to the upstream."""

import re
from dataclasses import dataclass

_ORDER = re.compile(rb"bench-i(\d+)-n(\d+)-r(\d+)-([a-z]+)")


class WrongAnswer(Exception):
    """An answer that is not the one ordered."""


@dataclass(frozen=True, slots=True)
class StreamOrder:
    """One answer to be given by the upstream."""

    stream: int
    """Which of the driver's streams; the upstream reports closes by it."""
    tokens: int
    rate: int
    """Tokens per second; 0: as fast as they are taken."""
    start: str = "now"
    """`now`: tokens at once; `timed`: and their moments are kept; `cut`: the connection ends half-way;
    `never`: nothing, not even a head; `part`: a head, part of a body, silence;
    `call`: the beginning of a tool's call, silence; `end`: all tokens at once, but no end of the body."""

    @property
    def prompt(self) -> str:
        return f"bench-i{self.stream}-n{self.tokens}-r{self.rate}-{self.start}"

    @property
    def text(self) -> str:
        return "".join(format_token(i) for i in range(self.tokens))

    def check(self, text: str) -> None:
        """Raises Wrong unless every token is there once and in its place."""
        if text != self.text:
            raise WrongAnswer(
                f"stream {self.stream}: {len(text)} characters instead of {len(self.text)}: {text[-200:]!r}"
            )


def format_token(i: int) -> str:
    return f" token{i}"


def find_order(request: bytes) -> StreamOrder | None:
    if (found := _ORDER.search(request)) is None:
        return None
    stream, tokens, rate, start = found.groups()
    return StreamOrder(int(stream), int(tokens), int(rate), start.decode())
