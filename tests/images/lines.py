"""What the images of nvidia/cuda ask of a host: NVIDIA_REQUIRE_CUDA by the brands and driver branches that it lists.

Source: Dockerfiles of nvidia/container-images/cuda (dist/*/base/Dockerfile), as of August 2025; the digest is that of the
original string, of which only the parts are kept here.
"""

from __future__ import annotations

from typing import NamedTuple

_CONSUMER = "geforce geforcertx quadro quadrortx titan titanrtx"
_OLD = f"tesla unknown nvidia nvidiartx {_CONSUMER}"
_NEW = "unknown grid tesla nvidia quadro quadrortx nvidiartx vapps vpc vcs vws cloudgaming"


class Line(NamedTuple):
    """One CUDA version: what its images ask for."""

    cuda: str
    brands: str
    branches: str
    sha256: str

    @property
    def requirement(self) -> str:
        """The expression, as the image's environment holds it."""
        terms = [
            f"brand={brand},driver>={branch},driver<{int(branch) + 1}"
            for branch in self.branches.split()
            for brand in self.brands.split()
        ]
        return " ".join([f"cuda>={self.cuda}", *terms])

    def starts(self, cuda: str, driver: str, brand: str) -> bool:
        """Worked out by hand: the driver reports this CUDA, or brand and branch are among the exceptions."""
        reported, wanted = (tuple(int(part) for part in text.split(".")) for text in (cuda, self.cuda))
        return reported >= wanted or (brand in self.brands.split() and driver.split(".")[0] in self.branches.split())


LINES = {
    "11.8.0": Line("11.8", _OLD, "470", "1a1da6030a79b5d6"),
    "12.4.1": Line("12.4", _OLD, "470 525 535", "a544f86a3c07ed51"),
    "12.8.1": Line("12.8", _NEW, "470 535 550 560 565", "a722af4b83f53f73"),
    "13.0.0": Line("13.0", _NEW, "535 550 565 570 575", "4423a6770b94f2d4"),
}
DRIVERS = {
    "470.256.02": "11.4", "525.147.05": "12.0", "535.183.01": "12.2", "550.54.15": "12.4", "555.42.02": "12.5",
    "560.35.03": "12.6", "565.57.01": "12.7", "570.86.15": "12.8", "580.65.06": "13.0",
}  # fmt: skip
"""Driver to the CUDA version that it reports."""
