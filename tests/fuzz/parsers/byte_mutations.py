"""Mutations of bytes that fit every parser: flips, numbers, words of its language, blocks copied and repeated."""

import random
from collections.abc import Callable, Sequence

NUMBERS = (b"0", b"-1", b"1", b"255", b"65536", b"4294967295", b"9223372036854775808", b"1e999", b"NaN", b"0.5")
BYTES = (b"\x00", b"\xff", b"\x7f", b"\x80", b"\n", b"\r", b'"', b"\\", b"{", b"}", b"[", b"]", b" ", b"\t", b":")
TEXTS = ("é", "\u2028", "\ufeff", "🙂", "\u0000", "٣", "İ", "\u202e", "漢")
STRANGE = (*BYTES, *(text.encode() for text in TEXTS), b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80")
MAX_BLOCK = 64


class ByteMutator:
    """Source of mutants: `words` are of the parser's language, `entries` is the corpus as it grows."""

    def __init__(self, rng: random.Random, words: Sequence[bytes], entries: Sequence[bytes]) -> None:
        self._rng = rng
        self._words = (*words, *NUMBERS, *STRANGE)
        self._entries = entries

    def mutate(self, data: bytes) -> bytes:
        """Return the input after one to four mutations."""
        for _ in range(self._rng.choice((1, 1, 1, 2, 2, 3, 4))):
            mutation: Callable[[ByteMutator, bytes], bytes] = self._rng.choice(MUTATIONS)
            data = mutation(self, data)
        return data

    def inflate(self, data: bytes, size: int) -> bytes:
        """Return the input with one of its parts repeated up to about `size` bytes."""
        start, end = self._choose_block(data, self._rng.choice((1, 2, 8, 32, 200)))
        block = data[start:end] or self._rng.choice(self._words)
        times = max(1, (size - len(data)) // len(block))
        return data[:start] + block * times + data[self._rng.choice((start, end, len(data))) :]

    def _choose_block(self, data: bytes, longest: int = MAX_BLOCK) -> tuple[int, int]:
        start = self._rng.randint(0, len(data))
        return start, min(len(data), start + self._rng.randint(1, longest))

    def flip_bit(self, data: bytes) -> bytes:
        if not data:
            return data
        at = self._rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << self._rng.randrange(8)]) + data[at + 1 :]

    def change_number(self, data: bytes) -> bytes:
        """Write a number of 1, 2, 4 or 8 bytes over what is there."""
        size = self._rng.choice((1, 2, 4, 8))
        end = 1 << 8 * size
        number = self._rng.choice((0, 1, 2, 8, 9, len(data), end - 1, end // 2, 1 << 16)) % end
        at = self._rng.randint(0, len(data))
        return data[:at] + number.to_bytes(size, "little") + data[at + size :]

    def insert_word(self, data: bytes) -> bytes:
        at = self._rng.randint(0, len(data))
        return data[:at] + self._rng.choice(self._words) + data[at:]

    def replace_block(self, data: bytes) -> bytes:
        start, end = self._choose_block(data, 8)
        return data[:start] + self._rng.choice(self._words) + data[end:]

    def delete_block(self, data: bytes) -> bytes:
        start, end = self._choose_block(data)
        return data[:start] + data[end:]

    def copy_block(self, data: bytes) -> bytes:
        start, end = self._choose_block(data)
        at = self._rng.randint(0, len(data))
        return data[:at] + data[start:end] + data[at:]

    def repeat_block(self, data: bytes) -> bytes:
        start, end = self._choose_block(data, 16)
        return data[:end] + data[start:end] * self._rng.choice((1, 2, 10, 100)) + data[end:]

    def truncate(self, data: bytes) -> bytes:
        return data[: self._rng.randint(0, len(data))]

    def splice(self, data: bytes) -> bytes:
        """Join the beginning of the input with the end of another one."""
        other = self._rng.choice(self._entries) if self._entries else data
        return data[: self._rng.randint(0, len(data))] + other[self._rng.randint(0, len(other)) :]

    def insert_from_other(self, data: bytes) -> bytes:
        other = self._rng.choice(self._entries) if self._entries else data
        start, end = self._choose_block(other)
        at = self._rng.randint(0, len(data))
        return data[:at] + other[start:end] + data[at:]


MUTATIONS: tuple[Callable[[ByteMutator, bytes], bytes], ...] = (
    ByteMutator.flip_bit,
    ByteMutator.change_number,
    ByteMutator.insert_word,
    ByteMutator.insert_word,
    ByteMutator.replace_block,
    ByteMutator.replace_block,
    ByteMutator.delete_block,
    ByteMutator.copy_block,
    ByteMutator.repeat_block,
    ByteMutator.truncate,
    ByteMutator.splice,
    ByteMutator.insert_from_other,
)
