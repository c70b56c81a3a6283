"""llama.cpp's own grammar engine, out of xllamacpp's library and without a model.

Run as a script it reads {"grammar", "texts"} as JSON lines and answers which texts the grammar takes, or null
when it does not parse. In a process of its own: these are C++ functions called by their addresses.
"""

import ctypes
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

INIT = "_Z23llama_grammar_init_implPK11llama_vocabPKcS3_bPS3_mPKim"
ACCEPT = "_Z20llama_grammar_acceptP13llama_grammarj"
STACKS = "_Z24llama_grammar_get_stacksP13llama_grammar"
CLONE = "_Z24llama_grammar_clone_implRK13llama_grammar"
FREE = "_Z23llama_grammar_free_implP13llama_grammar"


class Vector(ctypes.Structure):
    _fields_ = (("begin", ctypes.c_void_p), ("end", ctypes.c_void_p), ("room", ctypes.c_void_p))


class GrammarEngine:
    def __init__(self) -> None:
        spec = importlib.util.find_spec("xllamacpp")
        if spec is None or spec.origin is None:
            raise ImportError("xllamacpp is not installed")
        found = next(Path(spec.origin).parent.glob("xllamacpp*.so"))
        self.library = ctypes.CDLL(str(found))
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.init = self.load_function(
            INIT, pointer, pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_bool, pointer, size, pointer, size
        )
        self.accept = self.load_function(ACCEPT, None, pointer, ctypes.c_uint32)
        self.stacks = self.load_function(STACKS, ctypes.POINTER(Vector), pointer)
        self.clone = self.load_function(CLONE, pointer, pointer)
        self.free = self.load_function(FREE, None, pointer)

    def load_function(self, name: str, result: Any, *arguments: Any) -> Any:
        found = getattr(self.library, name)
        found.restype, found.argtypes = result, arguments
        return found

    def match_texts(self, grammar: str, texts: list[str]) -> list[bool] | None:
        parsed = self.init(None, grammar.encode(), b"root", False, None, 0, None, 0)
        if not parsed:
            return None
        answers = [self.accepts(parsed, text) for text in texts]
        self.free(parsed)
        return answers

    def accepts(self, parsed: int, text: str) -> bool:
        copy = self.clone(parsed)
        for char in text:
            self.accept(copy, ord(char))
        stacks = self.stacks(copy).contents
        first, last = stacks.begin or 0, stacks.end or 0
        rows: Any = (Vector * ((last - first) // ctypes.sizeof(Vector))).from_address(first) if last > first else []
        done = any(row.begin == row.end for row in rows)
        self.free(copy)
        return done


def main() -> None:
    engine = GrammarEngine()
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(engine.match_texts(request["grammar"], request["texts"])), flush=True)


if __name__ == "__main__":
    main()
