"""One file as a recipe: its kind, its problems, and the image that it would build."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...formats.given import Unopened, is_stream, read_given
from ..chosen import chosen_in
from ..source import Image
from .bases import Base, base_of
from .builds import extensions
from .docker_rules import docker_faults
from .install_rules import install_faults
from .instructions import Unparsed, instructions, template
from .judged import Judged
from .lint import Recipe
from .manifests import read_manifests
from .packages import context_file, pip_installs, python_of, removals
from .pinned import pinned, system_of
from .stages import Stage, chosen, declared, stages

if TYPE_CHECKING:
    from compat_matrix import Matrix

_MARKUP = re.compile(r"(?m)\{%|<%|^[ \t]*(?:FROM\b.*)?\{\{")
"""Of Jinja, ERB or Go templates, where no Dockerfile has it; a RUN may well contain {{ }}."""
_MOST_BYTES = 8 << 20
_MOST_FILES = 50
_ANY_DRIVER = "cuda>=9.0"
"""The condition of NVIDIA's framework containers, which rely on cuda-compat."""


def read_recipe(path: Path, m: Matrix, arguments: Mapping[str, str], target: str | None = None) -> Recipe:
    """Read and judge a file. Raises Unparsed with one line."""
    if re.fullmatch(r".*\.hcl|docker-bake\S*\.json", path.name):
        raise Unparsed(f"{path}: a bake file; check the Dockerfiles it names: gpudoctor dockerfile FILE --target STAGE")
    text = _text(path)
    folder = Path() if is_stream(str(path)) else path.parent
    if _is_yaml(path, text):
        return read_manifests(path, text, folder)
    return _dockerfile(path, text, folder, m, arguments, target)


def _text(path: Path) -> str:
    try:
        data = read_given(
            str(path), _MOST_BYTES, f"is over {_MOST_BYTES >> 20} MiB: too large for a Dockerfile or manifest"
        )
    except Unopened as error:
        raise Unparsed(str(error)) from None
    if b"\0" in data:
        raise Unparsed(f"{path}: not a text file")
    return data.decode("utf-8-sig", "replace")


def _is_yaml(path: Path, text: str) -> bool:
    if path.suffix in (".yaml", ".yml"):
        return True
    return not re.search(r"(?im)^[ \t]*FROM\s", text) and bool(re.search(r"(?m)^(?:services|apiVersion|kind):", text))


def _dockerfile(
    path: Path, text: str, folder: Path, m: Matrix, arguments: Mapping[str, str], target: str | None
) -> Recipe:
    name = str(path)
    try:
        found = instructions(text, name)
        made = stages(found, name, arguments)
    except Unparsed:
        if _MARKUP.search(text):
            raise template(name) from None
        raise
    stage = chosen(made, target, name)
    base = base_of(stage.image)
    rows = tuple(text.split("\n"))
    row = m.ngc_image(base.ngc_release) if base.ngc_release else None
    base = replace(base, cuda=row.cuda) if row else base
    python = python_of(stage, base)
    platform = "linux_aarch64" if "arm64" in stage.platform else "linux_x86_64"
    runs = [step for step in stage.whole if step.word == "RUN"]
    brought = base.torch or (row.torch if row and base.ngc else "")
    have = brought.partition("+")[0] or ("0" if base.ngc else "")
    each = zip(runs, chosen_in(m, [(step.value, step.env) for step in runs], platform, python, have), strict=True)
    today = tuple((step, one) for step, installs in each for one in installs)
    judged = Judged(stage=stage, base=base, rows=rows, m=m, files=_context(folder, stage, rows), today=today)
    unresolved = tuple(dict.fromkeys(re.findall(r"\$\{?(\w+)", stage.image)))
    faults = tuple(sorted((*docker_faults(judged), *install_faults(judged)), key=lambda fault: fault.line))
    made_here = tuple(extensions(judged, list(pip_installs(stage.whole, rows))))
    return Recipe(
        name=name, kind="dockerfile", faults=faults, extensions=made_here, base=stage.image,
        choice=today[-1][1].choice if today else "", unresolved=unresolved, base_line=stage.image_line,
        pinned=pinned(stage, rows, judged.files), system=system_of(stage.image),
        undeclared=tuple(one for one in unresolved if one not in declared(found)),
        images=() if unresolved else _images(stage, base, python, name, m),
        cuda="" if any(_INSTALLER.search(step.value) for step in runs) else _cuda(base),
    )  # fmt: skip


_INSTALLER = re.compile(
    r"\b(?:pip[\d.]*|uv|conda|mamba|micromamba|poetry|pipenv|pixi)\s+(?:\S+\s+){0,4}?"
    r"(?:install|sync|add|env|create|update)\b|torch"
)
"""A line that may bring torch, also as a dependency."""


def _cuda(base: Base) -> str:
    """As far as the name shows it: 12.4.1 of nvidia/cuda:12.4.1-base, 12.4 of a tag without the third number."""
    exact = re.match(r"\d+\.\d+\.\d+", base.cuda_tag)
    return exact[0] if exact else base.cuda


def _context(folder: Path, stage: Stage, rows: tuple[str, ...]) -> dict[str, str]:
    """Requirement files that a stage installs from the build context; never one outside it."""
    copies = [step for step in stage.whole if step.word in ("COPY", "ADD")]
    found: dict[str, str] = {}
    root = folder.resolve()
    for install in pip_installs(stage.whole, rows):
        for name in install.files[:_MOST_FILES]:
            file = (root / context_file(name, install.step, copies).lstrip("/")).resolve()
            if file.is_relative_to(root) and file.is_file():
                with suppress(Unopened):
                    found[name] = read_given(str(file), _MOST_BYTES, "is too large").decode("utf-8", "replace")
    return found


def _images(stage: Stage, base: Base, python: str, name: str, m: Matrix) -> tuple[Image, ...]:
    """As if it were built: what is known about the base's variables, those of ENV, and RUN lines as its history.

    One for each driver condition that the base may have: a tag's name does not show which of several lists it has
    today. For a base with an unknown list: the mildest and the strictest possible.
    """
    arm = "arm64" in stage.platform
    env = {"PYTHON_VERSION": python} if python else {}
    own = not removals(stage.whole, ("torch", "pytorch"))  # if removed on purpose, it is not replaced by the next one
    if base.torch and own:
        env["PYTORCH_VERSION"] = base.torch
    conditions: tuple[str, ...] = ("",)
    if row := m.ngc_image(base.ngc_release) if base.ngc_release else None:
        conditions = (_ANY_DRIVER,)
        env |= {"CUDA_VERSION": row.cuda, "_CUDA_COMPAT_PATH": "/usr/local/cuda/compat"}
        if base.ngc and own:
            env |= {"PYTORCH_VERSION": row.torch, "PYTORCH_BUILD_VERSION": row.torch} if row.torch else {}
            env |= {"NVIDIA_PYTORCH_VERSION": row.release}
            env |= {"TORCH_CUDA_ARCH_LIST": row.archs} if row.archs and not arm else {}
    elif base.cuda_tag:
        listed = m.image_requirements(base.cuda_tag, "arm64" if arm else "x86_64")
        conditions = listed or (_ANY_DRIVER, f"cuda>={base.cuda}")
        env |= {"CUDA_VERSION": _cuda(base)}
        env |= {"NV_CUDA_COMPAT_PACKAGE": f"cuda-compat-{base.cuda.replace('.', '-')}"}
    history = [{"created_by": f"RUN {step.value}"} for step in stage.whole if step.word == "RUN"]
    made = []
    for condition in conditions:
        whole = {**env, **({"NVIDIA_REQUIRE_CUDA": condition} if condition else {}), **stage.env}
        config: dict[str, Any] = {
            "os": "linux",
            "architecture": "arm64" if arm else "amd64",
            "config": {"Env": [f"{key}={value}" for key, value in whole.items()]},
            "history": history,
        }
        made.append(Image(name=f"{name} ({stage.image})", digest="", config=config, layers=()))
    return tuple(made)
