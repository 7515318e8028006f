"""What is wrong with installs of torch and of packages compiled against it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compat_matrix.builds import ranked_build
from compat_matrix.installer import nightly_ended
from compat_matrix.resolver import Question
from compat_matrix.versions import tag_cuda
from compat_matrix.which_torch import USUAL, which_torch

from ..installs import TorchInstall
from .builds import Compiled, compiled
from .judged import Judged
from .lint import Fault
from .packages import (
    PipInstall,
    Wanted,
    apt_packages,
    line_in,
    pip_installs,
    removals,
    requirements,
    torch_of,
)
from .stages import Step


def install_faults(j: Judged) -> Iterator[Fault]:
    """In file order."""
    installs = list(pip_installs(j.stage.whole, j.rows))
    torches = [(step, one) for step in j.stage.whole if step.word == "RUN" for one in torch_of(step)]
    for step, one in j.today:
        yield from _torch(j, step, one)
    for install in installs:
        yield from _companions(j, install)
    yield from _replaced(j, installs, torches)
    yield from _against_base(j, installs)


def _torch(j: Judged, step: Step, one: TorchInstall) -> Iterator[Fault]:
    line = line_in(step, j.rows, "torch==", "torch", "pytorch")
    if j.base.musl:
        yield Fault(rule="torch-on-musl", line=line, detail=f"{j.stage.image} is Alpine.")
    if one.build == "cpu" and (j.base.gpu or j.base.cuda):
        yield Fault(
            rule="torch-cpu-build", line=line,
            detail=f"{one.text[:120]}: on {j.stage.image} this installs a CPU build.",
            fix=_cuda_line(j, one),
        )  # fmt: skip
    version = one.version.partition("+")[0]
    platform = "linux_aarch64" if "arm64" in j.stage.platform else "linux_x86_64"
    builds = j.m.torch_builds(version, platform) if version else ()
    if not one.installer:
        builds = ()  # a conda channel has builds of its own
    if version and builds and one.tag.startswith("cu") and not j.m.torch_build(version, one.tag, platform):
        have = ", ".join(sorted({build.tag for build in builds}))
        detail = f"torch {version} was published for {have}, not for {one.tag}."
        yield Fault(rule="torch-build-not-published", line=line, detail=detail)
    elif one.installer and one.tag.startswith("cu") and not j.m.index_url(one.tag):
        yield Fault(rule="torch-build-not-published", line=line, detail=f"{one.tag} is not a PyTorch index.")
    for url in one.indexes:
        nightly = re.search(r"/whl/nightly/(cu\d{2,3})(?:/|$)", url)
        if nightly and (last := nightly_ended(j.m, nightly[1])):
            detail = (
                f"torch {last} was the last with {nightly[1]} wheels; nightly wheels are built only for newer CUDA "
                "versions."
            )
            yield Fault(rule="nightly-index-ended", line=line_in(step, j.rows, f"/nightly/{nightly[1]}"), detail=detail)
    if version and j.base.python:
        grade = j.m.python_for_torch(version, j.base.python, platform)
        if grade.grade in ("too-old", "too-new", "no-wheel"):
            detail = f"torch {version} has no wheel for Python {j.base.python}, the version in {j.stage.image}."
            yield Fault(rule="torch-without-wheel-for-python", line=line, detail=detail)


def _cuda_line(j: Judged, one: TorchInstall) -> str:
    """The build for the usual GPUs and the oldest driver that the base allows; '' if none is listed.

    From the release that the line names if there is one, with the base's own CUDA first.
    """
    q = Question(
        gpus=USUAL,
        driver=j.m.driver_for_cuda("1", j.base.cuda).floor_minor if j.base.cuda else "",
        arch="aarch64" if "arm64" in j.stage.platform else "x86_64",
        python=j.base.python,
        any_gpu=True,
    )
    choice = which_torch(j.m, q, one.version, "cu" + j.base.cuda.replace(".", ""))
    if choice is None:
        return ""
    build = ranked_build(j.m, choice.build, None, ())
    index = f" --index-url {build.index_url}" if build.index_url else ""
    return f"pip install {' '.join(build.requirements)}{index}"


def _companions(j: Judged, install: PipInstall) -> Iterator[Fault]:
    torch = install.version_of("torch")
    if torch is None or torch.operator != "==":
        return
    for name in ("torchvision", "torchaudio"):
        other = install.version_of(name)
        if other is not None and other.operator == "==":
            grade = j.m.companion_matches(torch.version, name, other.version)
            if grade.grade == "mismatch":
                line = line_in(install.step, j.rows, f"{name}==")
                detail = f"{name} {other.version} does not work with torch {torch.version}."
                yield Fault(rule="torch-companion-of-other-release", line=line, detail=detail)


def _replaced(j: Judged, installs: list[PipInstall], torches: list[tuple[Step, TorchInstall]]) -> Iterator[Fault]:
    """A later command that asks for a torch other than the installed one."""
    own = bool(j.base.torch) or j.base.ngc
    first = None if own else next(((step, one) for step, one in torches), None)
    have = first[1].version.partition("+")[0] if first else j.base.torch
    tag = first[1].tag if first else ""
    named = own or bool(first and (tag or first[1].build))
    if not named:
        return
    after = first[0].line if first else 0
    removed = removals(j.stage.whole, ("torch", "pytorch"))
    for install in installs:
        if any(after <= line <= install.step.line for line in removed):
            return  # removed on purpose, and not replaced
        if install.step.line < after or (first and install.step is first[0] and install.version_of("torch")):
            continue
        for line, wanted in _torch_wishes(j, install):
            again = wanted.version.partition("+")[0]
            same_index = bool(tag) and (tag in " ".join(install.indexes) or tag in wanted.version)
            other = bool(wanted.operator == "==" and (not have or again != have) and (have or j.base.ngc))
            if (other or (install.upgrade and wanted.operator != "==")) and not (same_index and not other):
                what = f"torch {have}".strip() if have else f"the torch in {j.stage.image}"
                built = f" ({tag})" if tag else ""
                words = f"torch{wanted.operator}{wanted.version}" + (" with --upgrade" if install.upgrade else "")
                detail = f"{what}{built} is installed; {words} replaces it."
                yield Fault(rule="torch-replaced-later", line=line, detail=detail)
                break


def _torch_wishes(j: Judged, install: PipInstall) -> Iterator[tuple[int, Wanted]]:
    if wanted := install.version_of("torch"):
        yield line_in(install.step, j.rows, "torch"), wanted
    for name in install.files:
        text = j.files.get(name)
        for _, wanted in requirements(text) if text is not None else ():
            if wanted.name == "torch":
                yield line_in(install.step, j.rows, name), wanted


def _against_base(j: Judged, installs: list[PipInstall]) -> Iterator[Fault]:
    torches = j.today
    cuda = next((found for _, one in reversed(torches) if one.tag and (found := tag_cuda(one.tag))), "")
    made = list(compiled(j, installs))
    line, what = (made[0].line, made[0].build.package) if made else (0, "")
    toolkit = j.base.cuda
    if cuda and toolkit and made and toolkit.split(".")[0] != cuda.split(".")[0]:
        detail = f"{what} is compiled with CUDA {toolkit} in {j.stage.image}; torch was built with CUDA {cuda}."
        choice = torches[-1][1].choice
        detail += f" {choice}." if choice else ""
        yield Fault(rule="toolkit-of-other-major", line=line, detail=detail)
    elif (
        cuda and toolkit and int(cuda.split(".")[0]) > int(toolkit.split(".")[0]) and j.m.index_url(torches[-1][1].tag)
    ):
        step, one = torches[-1]
        floor = j.m.driver_for_cuda("1", cuda).floor_minor
        asks = j.m.oldest_driver(j.base.cuda_tag, "arm64" if "arm64" in j.stage.platform else "x86_64")
        lets = f"starts with driver {asks}" if asks else f"is built for drivers that support CUDA {toolkit}"
        detail = f"torch is built with CUDA {cuda} and needs driver {floor}; {j.stage.image} {lets}."
        detail += f" {one.choice}." if one.choice else ""
        yield Fault(rule="torch-newer-than-base-promises", line=line_in(step, j.rows, one.tag, "torch"), detail=detail)
    toolkit_added = any(re.match(r"cuda-(?:toolkit|nvcc|compiler)", p) or p == "nvidia-cuda-toolkit"
                        for step in j.stage.whole if step.word == "RUN" for p in apt_packages(step))  # fmt: skip
    if made and j.base.nvcc is False and not toolkit_added and not _conda_nvcc(j):
        yield Fault(
            rule="compiler-not-in-image", line=line, detail=f"{what} needs nvcc, but {j.stage.image} does not have it."
        )
    if j.base.nvcc is not None and not j.base.ngc:
        yield from _gpus_of_build(made)


def _gpus_of_build(made: list[Compiled]) -> Iterator[Fault]:
    """What is compiled for no GPU, or only if one is visible; the first of each rule and variable."""
    named = set()
    for one in made:
        build = one.build
        switch = build.force or "USE_CUDA"
        if not one.forced:
            words = f"{switch}=1 is not set" if build.force else f"{switch}={one.value(switch)}"
            detail = f"{words}: if no GPU is visible, {build.package} is built only for the CPU."
            yield Fault(rule="extension-without-cuda", line=one.line, detail=detail)
            break
    for one in made:
        build = one.build
        if one.forced and build.without != "everything" and not one.archs and build.archs not in named:
            named.add(build.archs)
            end = f" ({build.says})" if build.says else ""
            detail = f"If no GPU is visible, the build of {build.package} stops{end} unless {build.archs} is set."
            example = "80;86;90" if build.archs == "TCNN_CUDA_ARCHITECTURES" else "8.0;8.6;9.0+PTX"
            fix = f'Set ENV {build.archs}="{example}" before that line, with the compute capabilities you need.'
            yield Fault(rule="arch-list-not-set", line=one.line, detail=detail, fix=fix)


def _conda_nvcc(j: Judged) -> bool:
    return any("cuda-nvcc" in step.value or "cudatoolkit-dev" in step.value or "nvidia/label/cuda" in step.value
               for step in j.stage.whole if step.word == "RUN")  # fmt: skip
