"""What the user expects: passed to checks and saved in the report. Never a fact."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from .baseline import Baseline
from .expect import Expect
from .spec import MOST_LINES, SpecLine

FailOn: TypeAlias = Literal["fail", "unknown", "warn"]


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
    spec: bool = False
    """It states versions of a spec."""
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
    spec: Annotated[tuple[SpecLine, ...], Meta(max_length=MOST_LINES)] = ()
    """What a team has agreed on, from `gpudoctor.toml` or `--spec`; every line counts."""
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
