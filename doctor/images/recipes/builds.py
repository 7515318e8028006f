"""Extensions that are compiled in a build: which variable names their GPUs, and what they do without it or a GPU.

No GPU is visible in `docker build` unless the host's default runtime is NVIDIA's. The rows are in `builds.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pkgutil import get_data
from typing import Any, Literal

from msgspec import Struct, convert

from .judged import Judged
from .lint import Extension
from .packages import PipInstall, line_in
from .stages import Step

_SETUP = re.compile(r"\b(?:python[\d.]*\s+)?setup\.py\s+(?:install|develop|build_ext|bdist_wheel|build)\b")
_EXTENSION_WORDS = re.compile(r"(?i)cuda|extension|ops\b|raster|knn|nms|deform|kernels|csrc|apex|point|voxel")

_HERE = re.compile(r"\b(?:pip[\d.]*|uv pip)\s+install\s+(?:[^\s;&|]+\s+){0,12}?(?:\./?)(?=[\s;&|]|$)")
_CLONE = re.compile(r"\bgit\s+clone\s+(?:[^;&|]{0,200}?\s)?(?:https://|git@)[\w.-]+[/:][\w.-]+/([\w-]+)")

_NEAR = 120
"""Words around a setup.py call that say what it compiles."""


class Build(Struct, frozen=True, kw_only=True):
    """How one package is compiled. also: other names of its repository; archs: the variable that names the GPUs.

    without: what it builds if there is neither that variable nor a GPU; force: the variable that must be 1 for CUDA
    code without a GPU; wheels: pip compiles it only from a URL; only_with: it is compiled only if a variable with this
    prefix is 1.
    """

    package: str
    source: str
    also: tuple[str, ...] = ()
    archs: str = "TORCH_CUDA_ARCH_LIST"
    without: Literal["stops", "nothing", "everything"] = "stops"
    says: str = ""
    force: str = ""
    list_forces: bool = False
    wheels: bool = False
    only_with: str = ""


class Compiled(Struct, frozen=True, kw_only=True):
    """One extension that a step compiles."""

    build: Build
    step: Step
    line: int

    def value(self, name: str) -> str:
        """A variable's value when it is compiled; '' if nothing sets it."""
        inline = re.search(rf"(?:^|[\s;&]){re.escape(name)}=(\"[^\"]*\"|'[^']*'|[^\s;&]+)", self.step.value)
        return (inline[1] if inline else self.step.env.get(name, "")).strip("\"' ")

    @property
    def archs(self) -> str:
        """The value that names its GPUs; '' if there is none."""
        return self.value(self.build.archs)

    @property
    def forced(self) -> bool:
        """Whether it is built with CUDA code although no GPU is visible."""
        build = self.build
        if not build.force:
            return build is not _PLAIN or self.value("USE_CUDA").lower() not in ("0", "off", "false", "no")
        option = "--force_cuda" in self.step.value
        return option or self.value(build.force) == "1" or (build.list_forces and bool(self.archs))


@lru_cache(maxsize=1)
def builds() -> dict[str, Build]:
    """By package, and by the other names of its repository."""
    found: Any = json.loads(get_data(__package__, "builds.json") or b"[]")
    rows = convert(found, list[Build])
    return {name: row for row in rows for name in (row.package, *row.also)}


_PLAIN = Build(package="setup.py", source="torch/utils/cpp_extension.py")


def compiled(j: Judged, installs: list[PipInstall]) -> Iterator[Compiled]:
    """Everything that is certainly compiled in the build, pip's before setup.py's; nothing for ROCm."""
    if "rocm" in j.stage.image or any(re.search(r"(?i)\brocm|/rocm", step.value) for step in j.stage.whole):
        return
    for install in installs:
        for wanted in install.wanted:
            row = builds().get(wanted.name)
            address = wanted.operator == "@" and ".whl" not in wanted.version
            if row is None or (row.wheels and not address):
                continue
            line = line_in(install.step, j.rows, wanted.name, wanted.name.replace("-", "_"))
            one = Compiled(build=row, step=install.step, line=line)
            if not row.only_with or _switched_on(one, row.only_with):
                yield one
    for step in j.stage.whole:
        for found in _SETUP.finditer(step.value) if step.word == "RUN" else ():
            if row := _cloned(step.value[: found.start()]):
                yield Compiled(build=row, step=step, line=line_in(step, j.rows, row.package, "setup.py"))
                continue
            near = step.value[max(0, found.start() - _NEAR) : found.end() + _NEAR]
            if _EXTENSION_WORDS.search(near):
                yield Compiled(build=_PLAIN, step=step, line=line_in(step, j.rows, "setup.py"))
                break
        for found in _HERE.finditer(step.value) if step.word == "RUN" else ():
            if row := _cloned(step.value[: found.start()]):
                yield Compiled(build=row, step=step, line=line_in(step, j.rows, row.package, "pip install"))


def _cloned(before: str) -> Build | None:
    """The row of the last repository that was cloned in the same step; None for any other."""
    last = next(reversed(_CLONE.findall(before)), "")
    return builds().get(last.lower().replace("_", "-"))


def _switched_on(one: Compiled, prefix: str) -> bool:
    names = {name for name in one.step.env if name.startswith(prefix)}
    names |= set(re.findall(rf"\b({prefix}\w+)=", one.step.value))
    return any(one.value(name) == "1" for name in names)


def extensions(j: Judged, installs: list[PipInstall]) -> Iterator[Extension]:
    """Those that name their GPUs."""
    for one in compiled(j, installs):
        if found := targets(one.archs):
            yield Extension(
                line=one.line, package=one.build.package, variable=one.build.archs, sass=found[0], ptx=found[1],
                cuda=j.base.cuda,
            )  # fmt: skip


def targets(value: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """(SASS, PTX) in a list: `8.0;8.6+PTX`, `80;86`; None if it cannot be read."""
    words = [word for word in re.split(r"[;,\s]+", value) if word]
    read = [re.fullmatch(r"(\d{1,2})\.?(\d[af]?)(\+PTX)?", word) for word in words]
    if not words or not all(read):
        return None
    names = [(f"{one[1]}.{one[2]}", bool(one[3])) for one in read if one]
    return tuple(name for name, _ in names), tuple(name for name, ptx in names if ptx)
