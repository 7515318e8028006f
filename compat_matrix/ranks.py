"""The order of builds that fit: which comes first, what each gives up, and when one is better in every respect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .served import STALE_MINORS
from .versions import minor, numbers, tag_cuda

if TYPE_CHECKING:
    from .candidate import Candidate


def rank(one: Candidate, newest: tuple[int, ...], uv: str) -> tuple[object, ...]:
    """uv's backend first; then recent torch, native before minor-version, forward compatibility last."""
    version = numbers(one.build.torch)
    fresh = version[0] == newest[0] and newest[1] - version[1] <= STALE_MINORS
    cuda = minor(tag_cuda(one.build.tag)) or (0, 0)
    stage = {"minor-version": 1, "forward-compat": 3}.get(one.grade, 0 if fresh else 2)
    near = cuda if one.grade == "minor-version" else (-cuda[0], -cuda[1])
    choices = tuple(choice.rank for choice in one.chosen)
    leads = one.build.tag == uv
    return (not leads, stage, choices, tuple(-part for part in version), not one.build.pypi_default, near)


def dominates(one: Candidate, first: Candidate) -> bool:
    """Whether a build has a torch at least as new as the first's, gives up no more, and is better in one of the two.

    This comes before uv's choice, which looks only at the driver's version. With the same torch, a build for an older
    CUDA major gives up something too: other packages are built for one major.
    """
    lost, lost_first = _lost(one), _lost(first)
    torch, torch_first = numbers(one.build.torch), numbers(first.build.torch)
    is_same_torch = torch == torch_first and major_of(one) >= major_of(first)
    better = (torch > torch_first and lost <= lost_first) or (is_same_torch and lost < lost_first)
    return better and one.grade != "forward-compat"


def major_of(one: Candidate) -> int:
    """The CUDA major that a build is for."""
    return next(iter(numbers(tag_cuda(one.build.tag))), 0)


def _lost(one: Candidate) -> frozenset[str]:
    """What it gives up other than a newer torch."""
    lost = {choice.gives_up for choice in one.chosen if choice.gives_up} | {"torchvision"} - set(one.companions)
    return frozenset(lost | {one.grade} - {"native", "no-driver"})


def trade_offs(one: Candidate, newest: tuple[int, ...]) -> tuple[str, ...]:
    """What a build gives up, each a clause without its subject; newest: the newest torch that fits."""
    lost = []
    if one.grade == "minor-version":
        lost.append("cannot compile kernels at run time from PTX newer than the driver (its own machine code runs)")
    if one.grade == "forward-compat":
        lost.append(f"requires {one.compat_package}, installed and first on the loader's path; no features are lost")
    if numbers(one.build.torch)[:2] < newest[:2]:
        lost.append(f"lacks what torch {newest[0]}.{newest[1]} adds over {one.build.torch}")
    lost += [choice.gives_up for choice in one.chosen if choice.gives_up]
    lost += [
        f"{name}: no version is listed for torch {one.build.torch}"
        for name in ("torchvision",)
        if name not in one.companions
    ]
    return tuple(lost)
