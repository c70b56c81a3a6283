"""Resolve JSON pointers in a schema, and expand sets of pointers to conjunctions without alternatives."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.grammar.limits import Limits

MAX_STEPS = 50_000
# Keywords that do not constrain a value.
SILENT = {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly",
          "$comment", "$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicAnchor"}  # fmt: skip

Places = frozenset[str]
"""JSON pointers of schemas that all constrain the same value; empty: any value."""


class Part(Struct, frozen=True, eq=False):
    """One schema of a conjunction; its references and alternatives are expanded elsewhere."""

    place: str
    schema: dict[str, Any]


class Way(Struct, frozen=True, eq=False):
    """A conjunction of schemas: a value must satisfy all parts."""

    parts: tuple[Part, ...]

    def given(self, key: str) -> list[Any]:
        return [part.schema[key] for part in self.parts if key in part.schema]


class _State(Struct):
    todo: list[tuple[str, frozenset[str]]]
    """Pointers to expand, each with the references that led to it."""
    seen: set[str]
    parts: list[Part]

    def fork(self) -> _State:
        return _State(list(self.todo), set(self.seen), list(self.parts))


class Document:
    def __init__(self, root: dict[str, Any], limits: Limits) -> None:
        self.root = root
        self.limits = limits
        self.unsaid: dict[str, None] = {}
        self.choices: dict[str, None] = {}
        """Pointers of the schemas with oneOf that were expanded."""
        self._found: dict[str, Any] = {"#": root}
        self._anchors: dict[str, str] | None = None
        self._steps = 0

    def note(self, place: str, what: str) -> None:
        self.unsaid[f"{place}: {what}"] = None

    def at(self, place: str) -> Any:
        """Return the schema at a pointer; raises CallerError if there is none."""
        if place not in self._found:
            value: Any = self.root
            for step in place.split("/")[1:]:
                value = self._step(value, step.replace("~1", "/").replace("~0", "~"), place)
            if not isinstance(value, dict | bool):
                raise CallerError(f"The JSON Schema refers to {place[:100]}, which is no schema.")
            self._found[place] = value
        return self._found[place]

    def _step(self, value: Any, step: str, place: str) -> Any:
        if isinstance(value, dict) and step in value:
            return value[step]
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            return value[int(step)]
        raise CallerError(f"The JSON Schema refers to {place[:100]}, which does not exist in it.")

    def target(self, reference: Any) -> str:
        """Return the pointer that a `$ref` names."""
        base = self.root.get("$id")
        name = str(reference)
        if isinstance(base, str) and base and name.startswith(base.rstrip("#")):
            name = name[len(base.rstrip("#")) :] or "#"
        if name == "#" or name.startswith("#/"):
            return unquote(name)
        if name.startswith("#"):
            found = self.anchors().get(name[1:])
            if found:
                return found
        raise CallerError(f"The JSON Schema refers to {name[:100]}, outside itself; nothing is fetched.")

    def resolved(self, place: str) -> str:
        """Follow schemas that are only a `$ref`; returns the final pointer."""
        for _ in range(64):
            schema = self.at(place)
            if not isinstance(schema, dict) or schema.keys() - SILENT != {"$ref"}:
                break
            place = self.target(schema["$ref"])
        return place

    def anchors(self) -> dict[str, str]:
        if self._anchors is None:
            self._anchors = {}
            todo: list[tuple[str, Any]] = [("#", self.root)]
            while todo:
                place, value = todo.pop()
                if isinstance(value, dict):
                    for key in ("$anchor", "$dynamicAnchor"):
                        if isinstance(value.get(key), str):
                            self._anchors.setdefault(value[key], place)
                    todo += [(below(place, key), child) for key, child in value.items()]
                elif isinstance(value, list):
                    todo += [(below(place, str(at)), child) for at, child in enumerate(value)]
        return self._anchors

    def ways(self, places: Places) -> list[Way]:
        """Return the schemas as a disjunction of conjunctions; empty if they contradict each other."""
        found: list[Way] = []
        states = [_State([(place, frozenset()) for place in sorted(places, reverse=True)], set(), [])]
        while states:
            state = states.pop()
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise CallerError(
                    "The JSON Schema has too many alternatives within alternatives: make it smaller."
                )
            if not state.todo:
                found.append(Way(tuple(state.parts)))
                continue
            place, trail = state.todo.pop()
            states += reversed(self._open(state, place, trail, len(states) + len(found)))
        return found

    def _open(self, state: _State, place: str, trail: frozenset[str], others: int) -> list[_State]:
        if place in trail or len(trail) > 256:
            # A reference cycle without progress: no value satisfies it.
            return []
        if place in state.seen:
            return [state]
        state.seen.add(place)
        schema = self.at(place)
        if isinstance(schema, bool):
            return [state] if schema else []
        state.parts.append(Part(place, schema))
        trail = trail | {place}
        for key in ("$ref", "$dynamicRef"):
            if key in schema:
                state.todo.append((self.target(schema[key]), trail))
        state.todo += [
            (below(place, "allOf", at), trail) for at in reversed(range(len(schema.get("allOf", ()))))
        ]
        if "oneOf" in schema:
            self.choices[place] = None
        states = [state]
        for key in ("oneOf", "anyOf"):
            if key in schema:
                branches = [[below(place, key, at)] for at in range(len(schema[key]))]
                states = self._fork(states, branches, trail, others, (place, key))
        if "if" in schema and ("then" in schema or "else" in schema):
            states = self._fork(states, self._condition(place, schema), trail, others, (place, "if"))
        return states

    def _condition(self, place: str, schema: dict[str, Any]) -> list[list[str]]:
        # A grammar cannot express that a value does not satisfy `if`.
        self.note(place, "if")
        met = [below(place, "if")] + [below(place, "then")] * ("then" in schema)
        return [met, [below(place, "else")] * ("else" in schema)]

    def _fork(
        self,
        states: list[_State],
        branches: list[list[str]],
        trail: frozenset[str],
        others: int,
        what: tuple[str, str],
    ) -> list[_State]:
        if others + len(states) * len(branches) > self.limits.alternatives:
            self.note(*what)
            return states
        forked = []
        for state in states:
            for branch in branches:
                new = state.fork()
                new.todo += [(place, trail) for place in reversed(branch)]
                forked.append(new)
        return forked


def below(place: str, *steps: str | int) -> str:
    return "/".join([place, *(str(step).replace("~", "~0").replace("/", "~1") for step in steps)])
