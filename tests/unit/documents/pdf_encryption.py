"""Encrypted PDF files: RC4 with 128 bits (revision 3) and AES with 256 bits (revision 6) of ISO 32000-2."""

import hashlib
import os
import struct
from collections.abc import Callable

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tests.unit.documents.pdf_producers import HELVETICA, PAGE, make_stream
from tests.unit.documents.sample_files import make_pdf_from_objects

ID = bytes(range(16))
PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
PERMISSIONS = -4


def apply_rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    output = bytearray()
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        output.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(output)


def encrypt_cbc(key: bytes, data: bytes, start: bytes = bytes(16)) -> bytes:
    encryptor = Cipher(algorithms.AES(key), modes.CBC(start)).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def hash_md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def pad_password(password: str) -> bytes:
    return (password.encode() + PADDING)[:32]


def repeat_rc4(key: bytes, data: bytes) -> bytes:
    for number in range(20):
        data = apply_rc4(bytes(byte ^ number for byte in key), data)
    return data


def make_rc4_entry(password: str, owner: str) -> tuple[str, Callable[[int, bytes], bytes]]:
    """Return the encryption dictionary, and the function that encrypts an object's stream."""
    owner_key = hash_md5(pad_password(owner))
    for _ in range(50):
        owner_key = hash_md5(owner_key)
    owner_entry = repeat_rc4(owner_key, pad_password(password))
    key = hash_md5(pad_password(password) + owner_entry + struct.pack("<i", PERMISSIONS) + ID)
    for _ in range(50):
        key = hash_md5(key)
    user_entry = repeat_rc4(key, hash_md5(PADDING + ID)) + bytes(16)

    def encrypt(number: int, data: bytes) -> bytes:
        return apply_rc4(hash_md5(key + struct.pack("<I", number)[:3] + b"\0\0"), data)

    entry = f"/V 2 /R 3 /Length 128 /P {PERMISSIONS} /O <{owner_entry.hex()}> /U <{user_entry.hex()}>"
    return entry, encrypt


def hash_password(password: bytes, salt: bytes, user: bytes = b"") -> bytes:
    """Algorithm 2.B: at least 64 rounds of AES over the password, and a hash that the round's bytes choose."""
    key = hashlib.sha256(password + salt + user).digest()
    number, last = 0, 0
    while number < 64 or last > number - 32:
        encrypted = encrypt_cbc(key[:16], (password + key + user) * 64, key[16:32])
        kind = ("sha256", "sha384", "sha512")[int.from_bytes(encrypted[:16], "big") % 3]
        key = hashlib.new(kind, encrypted).digest()
        number, last = number + 1, encrypted[-1]
    return key[:32]


def make_aes_entry(password: str, owner: str) -> tuple[str, Callable[[int, bytes], bytes]]:
    """Return the encryption dictionary, and the function that encrypts an object's stream."""
    key, salts = os.urandom(32), [os.urandom(8) for _ in range(4)]
    user, owner_password = password.encode(), owner.encode()
    user_entry = hash_password(user, salts[0]) + salts[0] + salts[1]
    user_key = encrypt_cbc(hash_password(user, salts[1]), key)
    owner_entry = hash_password(owner_password, salts[2], user_entry) + salts[2] + salts[3]
    owner_key = encrypt_cbc(hash_password(owner_password, salts[3], user_entry), key)
    permissions = struct.pack("<i", PERMISSIONS) + b"\xff\xff\xff\xff" + b"Tadb" + os.urandom(4)

    def encrypt(number: int, data: bytes) -> bytes:
        start = os.urandom(16)
        missing = 16 - len(data) % 16
        return start + encrypt_cbc(key, data + bytes([missing]) * missing, start)

    entry = (
        f"/V 5 /R 6 /Length 256 /P {PERMISSIONS} /O <{owner_entry.hex()}> /U <{user_entry.hex()}> "
        f"/OE <{owner_key.hex()}> /UE <{user_key.hex()}> /Perms <{encrypt_cbc(key, permissions).hex()}> "
        "/CF << /StdCF << /CFM /AESV3 /AuthEvent /DocOpen /Length 32 >> >> /StmF /StdCF /StrF /StdCF"
    )
    return entry, encrypt


ALGORITHMS = {"RC4-128": make_rc4_entry, "AES-256": make_aes_entry}


def make_encrypted_pdf(text: str, password: str, algorithm: str, handler: str = "Standard") -> bytes:
    entry, encrypt = ALGORITHMS[algorithm](password, "owner")
    data = encrypt(4, f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode())
    return make_pdf_from_objects(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"{PAGE} >>".encode(),
        make_stream(data, packed=False),
        HELVETICA,
        f"<< /Filter /{handler} {entry} >>".encode(),
        trailer=f"/Encrypt 6 0 R /ID [<{ID.hex()}> <{ID.hex()}>]",
    )
