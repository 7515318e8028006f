"""Part of the agents: an answer as lines of text that come through a shell, a log or `srun`, whatever else does.

    @gpudoctor1 RUN SHA256 PART/PARTS BYTES LENGTH CRC BASE64;

RUN names the run that asked. SHA256 and BYTES are those of the whole answer; BASE64 is a part of its zlib-compressed
bytes, LENGTH characters of it, and CRC is the CRC-32 of them in hexadecimal. A line that was cut, or into which
another program wrote, does not fit its own length and sum.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from typing import Iterator

MARK = b"@gpudoctor1 "
MOST_BYTES = 64 << 20
"""Of one answer."""
CHUNK = 7600
"""Characters of base64 in a line at most, so that it stays below 8 kB."""
_RUN = re.compile(r"[A-Za-z0-9-]{1,32}")


def lines(answer: bytes, run: str, chunk: int = CHUNK) -> Iterator[bytes]:
    """The lines of an answer, each with its line end. `chunk`: characters of base64 in each, 7,600 at most.

    Raises ValueError for a run or a size that cannot be sent.
    """
    if not _RUN.fullmatch(run) or len(answer) > MOST_BYTES or not 0 < chunk <= CHUNK:
        raise ValueError("a run's name may have at most 32 letters and digits, and an answer at most 64 MiB")
    text = base64.b64encode(zlib.compress(answer, 6))
    digest = hashlib.sha256(answer).hexdigest()
    parts = max(1, -(-len(text) // chunk))
    for part in range(parts):
        piece = text[part * chunk : (part + 1) * chunk]
        head = "%s %s %d/%d %d %d %08x " % (run, digest, part + 1, parts, len(answer), len(piece), zlib.crc32(piece))
        yield MARK + head.encode("ascii") + piece + b";\n"
