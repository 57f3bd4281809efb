"""Small PNG pictures, the same bytes everywhere."""

from __future__ import annotations

import base64
import struct
import zlib

from bench.conversations.dice import Dice
from bench.conversations.session import Image


def picture(dice: Dice) -> Image:
    """A grey picture of some 100 x 70 pixels: a gradient with a noisy band.

    The pixels are stored, not compressed: compressed bytes differ between builds of zlib.
    """
    width, height = dice.whole(96, 128), dice.whole(64, 80)
    band = dice.whole(8, height - 16)
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        if band <= y < band + 8:
            rows += bytes.fromhex(dice.hexadecimal(2 * width))
        else:
            rows += bytes((x * 2 + y) & 255 for x in range(width))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    png = (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", _stored(bytes(rows)))
        + _chunk(b"IEND", b"")
    )
    return Image("image/png", base64.b64encode(png).decode("ascii"))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _stored(data: bytes) -> bytes:
    length = len(data)
    block = b"\x01" + struct.pack("<HH", length, length ^ 0xFFFF) + data
    return b"\x78\x01" + block + struct.pack(">I", zlib.adler32(data))
