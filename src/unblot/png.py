"""PNG files written on all processors at once: strips of a page are compressed side by side and joined.

Pillow and OpenCV use one, which took a twentieth of the time that a page takes from start to end.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
from jaxtyping import UInt8

from unblot.threads import side_by_side

STRIP = 256  # rows; no fewer where there are fewer processors, so that the file is the same everywhere
LEVEL = 2  # of compression, repeated bytes alone: a scanner's grain repeats nothing else
UP = 2  # PNG's number for differences to the row above
HEADER = b"\x78\x01"  # of a stream that zlib would have written at once
GREY, COLOUR = 0, 2
METRE = 39.37  # inches


def encode(pixels: UInt8[np.ndarray, "H W"] | UInt8[np.ndarray, "H W 3"], dpi: tuple[float, float] | None) -> bytes:
    """Give the PNG file of a page, grey or colour, with its resolution if it has one.

    >>> encode(np.zeros((2, 3), np.uint8), None)[1:4]
    b'PNG'
    """
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1)
    filtered = np.full((height, 1 + rows.shape[1]), UP, np.uint8)
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])

    def compressed(first: int) -> bytes:
        stream = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zlib.Z_RLE)
        last = zlib.Z_FINISH if first + STRIP >= height else zlib.Z_SYNC_FLUSH
        return stream.compress(filtered[first : first + STRIP].data) + stream.flush(last)

    strips = side_by_side(compressed, range(0, height, STRIP))
    data = b"".join([HEADER, *strips, struct.pack(">I", zlib.adler32(filtered.data))])
    head = struct.pack(">IIBBBBB", width, height, 8, GREY if pixels.ndim == 2 else COLOUR, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", data), (b"IEND", b"")]
    if dpi is not None:
        chunks.insert(1, (b"pHYs", struct.pack(">IIB", *(round(METRE * each) for each in dpi), 1)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
