"""The bytes of one layer as stored: counted, hashed, and requested again if the connection was cut."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Iterator

from ..layer import Layer, OpenLayer
from ..source import ImageError, TooSlow

_TRIES, _MOST_CUTS = 5, 100
"""Retries in a row without another byte, and in total."""
_WAIT_S = 0.2


class Download:
    """Pieces of a layer, once. `count`: bytes so far. Raises ImageError."""

    def __init__(self, layer: Layer, open_layer: OpenLayer, progress: Callable[[int], None]) -> None:
        self.layer = layer
        self.count = 0
        self.packed = False
        """Set by whoever sees the first bytes: they are compressed."""
        self._open = open_layer
        self._progress = progress
        self._hash = hashlib.sha256() if layer.digest.startswith("sha256:") else None
        self._pieces = self._all()

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        """Stop reading."""
        self._pieces.close()

    def rest(self) -> bool:
        """Read the rest; whether the whole matches its digest (False: it has none that can be checked, for example if
        an engine serves a compressed layer under the digest of its uncompressed content).

        Raises ImageError if it does not match.
        """
        for _ in self._pieces:
            pass
        if self._hash is None or (self.packed and self.layer.media_type.endswith(".tar")):
            return False
        if f"sha256:{self._hash.hexdigest()}" != self.layer.digest:
            raise ImageError(
                f"{words(self.layer)} does not match its digest: it has sha256:{self._hash.hexdigest()[:12]}"
            )
        return True

    def _all(self) -> Generator[bytes, None, None]:
        size, tries, cuts = self.layer.size, 0, 0
        while size < 0 or self.count < size:
            before, problem = self.count, ""
            try:
                for piece in self._open(self.layer, self.count):
                    self.count += len(piece)
                    if 0 <= size < self.count:
                        raise ImageError(f"{words(self.layer)} is longer than the manifest says ({size:,} bytes)")
                    if self._hash is not None:
                        self._hash.update(piece)
                    self._progress(len(piece))
                    yield piece
                if size < 0:
                    return
            except ImageError as error:
                if not error.unknown or isinstance(error, TooSlow):
                    raise
                problem = str(error)
            except OSError as error:
                problem = str(error.strerror or error)
            if 0 <= size <= self.count:
                return
            tries = tries + 1 if self.count == before else 1
            cuts += 1
            if tries >= _TRIES or cuts >= _MOST_CUTS:
                reason = f": {problem}" if problem else ""
                raise ImageError(
                    f"{words(self.layer)} ends after {self.count:,} of {size:,} bytes{reason}", unknown=True
                )
            time.sleep(_WAIT_S * 2 ** (tries - 1))


def words(layer: Layer) -> str:
    """`layer sha256:0123456789ab`, as a message names it."""
    return f"layer {(layer.digest or layer.name)[:19]}" if layer.digest else f"layer {layer.name}"
