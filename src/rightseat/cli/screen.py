"""Prints events to a terminal: the answer to stdout, everything else to stderr."""

from __future__ import annotations

import re
from typing import TextIO

from rightseat.types.events import CallArgs, CallEnd, CallResult, CallStart, Custom, Event, TextDelta, TextEnd

WIDTH = 100
# Text of a model or a tool must not control the terminal: only line breaks and tabs pass.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Terminal:
    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out = out
        self.err = err
        self.text: list[str] = []
        self.calls: dict[str, tuple[str, str]] = {}
        self.line_open = False

    def read_line(self, prompt: str) -> str:
        prompt = _CONTROL.sub("", prompt)
        # The prompt must not get into redirected output.
        if not self.out.isatty():
            print(prompt, end="", file=self.err, flush=True)
            prompt = ""
        try:
            return input(prompt)
        except EOFError:
            # Ctrl-D leaves the cursor behind the prompt.
            if self.out.isatty():
                print(file=self.out)
            raise

    def print_note(self, line: str) -> None:
        line = _CONTROL.sub("", line)
        print(f"\x1b[2m{line}\x1b[0m" if self.err.isatty() else line, file=self.err, flush=True)

    def show_event(self, event: Event) -> None:
        match event:
            case TextDelta():
                self.text.append(event.text)
                self.print_text(event.text)
            case TextEnd():
                self.end_line()
            case CallStart():
                self.calls[event.id] = (event.name, "")
            case CallArgs():
                name, before = self.calls.get(event.id, ("", ""))
                self.calls[event.id] = (name, before + event.json)
            case CallEnd():
                name, arguments = self.calls.get(event.id, ("", ""))
                self.end_line()
                self.print_note(_shorten(f"· {name}({'' if arguments == '{}' else arguments})"))
            case Custom("history_cut", cut):
                self.print_note(f"(the {cut['dropped']} oldest messages no longer fit and were left out)")
            case CallResult():
                self.print_note(_shorten(f"  {'failed' if event.failed else '→'} {event.content}"))
            case _:
                # Steps, state and usage are not shown.
                return

    def print_text(self, text: str) -> None:
        text = _CONTROL.sub("", text)
        if text:
            self.line_open = not text.endswith("\n")
            print(text, end="", file=self.out, flush=True)

    def end_line(self) -> None:
        if self.line_open:
            self.line_open = False
            print(file=self.out, flush=True)

    def finish_answer(self) -> str:
        """End the line; return the text printed since the last call."""
        self.end_line()
        text, self.text, self.calls = "".join(self.text), [], {}
        return text


def _shorten(line: str) -> str:
    line = " ".join(line.split(" ")).replace("\n", " ")
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
