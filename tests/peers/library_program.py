"""What the programs of the client libraries share: the questions, the tool, and how cases are told and answered.

A program is started as `library_NAME.py BASE_URL` with the Python of its own environment. Its first line out
names the version of the library. Each line of stdin is `CASE MODEL`, and one JSON line answers it; a case that
streams says {"first": …} as soon as the first piece is there.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel

Json = dict[str, Any]
Case = Callable[[str], Awaitable[Json]]
"""Does one case with the model of that name."""
WEATHER_QUESTION = "What is the weather in Oslo?"
CUT_QUESTION = "What is the weather in Oslo and in Glasgow?"
GREETING = "Say hello."
PERSON_QUESTION = "Ada is 36 years old. Who is she?"
# A model that never stops calling must not stop the program from answering.
MAX_STEPS = 3


class Person(BaseModel):
    """A person."""

    name: str
    age: int


class CaseRecord:
    """What a case has done so far. `tool_runs`: arguments of each run of the library's own tool."""

    def __init__(self) -> None:
        self.tool_runs: list[Json] = []
        self.pieces: list[str] = []

    def add_piece(self, piece: str | None) -> None:
        """Keep a piece of a stream. The first is told at once: the upstream holds the others back until then."""
        if not piece:
            return
        if not self.pieces:
            print_answer({"first": piece})
        self.pieces.append(piece)


record = CaseRecord()
answers = sys.stdout


def get_weather(city: str) -> str:
    """Get the weather in a city.

    Args:
        city: Name of the city.
    """
    record.tool_runs.append({"city": city})
    return f"21 degrees in {city}"


def describe_person(person: Person) -> Json:
    """The fields of a structured answer, which must be of the class that was asked for."""
    assert isinstance(person, Person), type(person)
    return person.model_dump()


def add_piece(piece: str | None) -> None:
    record.add_piece(piece)


async def run_case(case: Case, model: str) -> Json:
    """The answer of a case, or what its user would catch, with all that the library did."""
    global record
    record = CaseRecord()
    [answer] = await asyncio.gather(case(model), return_exceptions=True)
    if isinstance(answer, BaseException):
        answer = {"error": type(answer).__name__, "message": str(answer)}
    return {**answer, "runs": record.tool_runs, "pieces": record.pieces}


def print_answer(answer: Json) -> None:
    print(json.dumps(answer), file=answers, flush=True)


async def serve_cases(package: str, cases: Mapping[str, Case]) -> None:
    """Answer the cases that stdin names, until it ends."""
    # Whatever a library prints must not stand among the answers.
    sys.stdout = sys.stderr
    print_answer({"version": version(package)})
    while line := await asyncio.to_thread(sys.stdin.readline):
        case, model = line.split()
        print_answer(await run_case(cases[case], model))


def main(package: str, cases: Mapping[str, Case]) -> None:
    asyncio.run(serve_cases(package, cases))
