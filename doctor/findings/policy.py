"""What the user expects: passed to checks and saved in the report. Never a fact."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .baseline import Baseline

FailOn: TypeAlias = Literal["fail", "unknown", "warn"]


class Expect(Struct, frozen=True):
    """`--expect`: gpu (default), any, none, or a count and model such as 8xH100."""

    kind: Literal["gpu", "any", "none"] = "gpu"
    count: int = 0
    """0: no count was given."""
    model: str = ""
    """Part of the GPU's name, as given."""

    @classmethod
    def parse(cls, text: str) -> Expect:
        """Parse `gpu`, `any`, `none`, `8`, `8xH100`, `H100`; ValueError with one line on anything else."""
        word = text.strip()
        if word.lower() in ("gpu", "any", "none"):
            return cls(kind=word.lower())  # type: ignore[arg-type]
        found = re.fullmatch(r"(?:(\d{1,4})(?:\s*[xX×]\s*|$))?([A-Za-z][\w .+-]{0,60})?", word)
        if not word or not found or (found[1] is not None and int(found[1]) == 0):
            raise ValueError(f"--expect {text!r}: must be gpu, any, none, a count such as 8, or a model such as 8xH100")
        return cls(kind="gpu", count=int(found[1] or 0), model=(found[2] or "").strip())

    def __str__(self) -> str:
        if self.count or self.model:
            return f"{self.count}x{self.model}" if self.count and self.model else str(self.count or self.model)
        return self.kind


class FoundConfig(Struct, frozen=True, kw_only=True):
    """A configuration file that was found in a folder and is not trusted: it may add and tighten.

    Its `skip`, `only` and thresholds are part of the policy and silence remarks and warnings. What counts in full, for
    failures and required unknowns too, is kept here: the values without that file.
    """

    path: str
    """Relative to the working directory."""
    ignored: tuple[str, ...] = ()
    """What does not count, as it is written there: `matrix`, `expect = "none"`."""
    require: tuple[str, ...] = ()
    """Packages that only this file names."""
    skip: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    thresholds: dict[str, float] = {}


class Policy(Struct, frozen=True, kw_only=True):
    """Expectations, thresholds and masks of one run."""

    expect: Expect = Expect()
    require: tuple[str, ...] = ()
    """Distributions that must be installed and fit (`torch`, `flash-attn`)."""
    building: bool = False
    """CUDA extensions are going to be compiled here."""
    left_out: tuple[str, ...] = ()
    """Fact path prefixes that the user's own flags left out (`torch_run`): never required."""
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    fail_on: FailOn = "fail"
    thresholds: dict[str, float] = {}
    baseline: Baseline | None = None
    """The earlier proof that rates are held against; None without `--baseline`."""
    judged_on: str = ""
    """ISO date; support ends are judged against it."""
    config: str = ""
    """The configuration file that counts in full; empty without one."""
    found: FoundConfig | None = None
    """The one that was found and is not trusted."""

    @property
    def in_full(self) -> Policy:
        """This policy without what a found file alone silences."""
        if self.found is None:
            return self
        own = {"skip": self.found.skip, "only": self.found.only, "thresholds": self.found.thresholds}
        return replace(self, found=None, **own)

    @property
    def gpu_wanted(self) -> bool:
        """Whether the absence of a GPU is a failure."""
        return self.expect.kind == "gpu"
