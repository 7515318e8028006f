"""conda's environment.yml: conda packages, and those that pip installs in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from compat_matrix.resolver import Question
from compat_matrix.wish import Wish

from ..machine import Unclear
from .lines import Other, Pinned, RequirementFile, Span
from .requirements import of_rows
from .yaml_spans import YamlText

_TORCH = {
    "pytorch": "torch",
    "pytorch-gpu": "torch",
    "pytorch-cpu": "torch",
    "torchvision": "torchvision",
    "torchaudio": "torchaudio",
}
CUDA_NAMES = ("pytorch-cuda", "cudatoolkit", "cuda-version", "cuda-toolkit", "cpuonly")
"""Packages that determine which CUDA build of torch conda's solver chooses."""


class CondaSpec(Struct, frozen=True):
    """`channel::name=version=build`. version: '1.11.0', '2.1.*', '>=2.0'; '' for any."""

    name: str
    version: str = ""
    build: str = ""
    channel: str = ""


def conda_spec(text: str) -> CondaSpec | None:
    """A match specification in one of the forms that conda reads; None if it is not one."""
    text = text.split("#")[0].strip()
    found = re.fullmatch(r"(?:([\w./:-]+)::)?([A-Za-z0-9_][\w.-]*)(.*)", text)
    if not found:
        return None
    rest = found[3].strip()
    bracket = re.search(r"\[(.*)\]\s*$", rest)
    inside: dict[str, str] = dict(re.findall(r"(\w+)\s*=\s*[\"']?([^\"',\]]+)", bracket[1])) if bracket else {}
    rest = rest[: bracket.start()].strip() if bracket else rest
    build = ""
    exact = re.fullmatch(r"={1,2}\s*([^=<>!~,\s]+)(?:[=\s]+(\S+))?", rest)
    if exact:
        version, build = exact[1], exact[2] or ""
    else:
        parts = rest.split()
        version = parts[0] if parts else ""
        build = parts[1] if len(parts) > 1 and not re.match(r"[<>=!~]", parts[1]) else ""
    return CondaSpec(
        name=found[2].lower(), version=str(inside.get("version", version)), build=str(inside.get("build", build)),
        channel=found[1] or inside.get("channel", ""),
    )  # fmt: skip


def of_environment(content: Any, path: str, q: Question) -> RequirementFile:
    """content: the document, whose strings know their positions. Raises Unclear."""
    listed = content.get("dependencies") if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise Unclear(f"{path} is YAML, but not a conda environment (no dependencies)")
    specs = [(one.span, spec) for one in listed if isinstance(one, YamlText) and (spec := conda_spec(one))]
    lines, others = of_specs(specs)
    python = python_of(one for _, one in specs)
    within = [one for pip in listed if isinstance(pip, dict) and isinstance(pip.get("pip"), list) for one in pip["pip"]]
    rows = [(one.span, str(one).strip()) for one in within if isinstance(one, YamlText)]
    pip = of_rows(rows, path, q, strict=False)
    return RequirementFile(
        kind="conda", lines=tuple(lines), others=tuple(others), python=python, unread=pip.unread,
        elsewhere=pip.elsewhere, pip=pip,
    )  # fmt: skip


def python_of(specs: Iterable[CondaSpec]) -> str:
    """The requested Python, such as 3.11; '' for a range or none."""
    versions = (re.match(r"3\.\d+", one.version) for one in specs if one.name == "python")
    return next((found[0] for found in versions if found), "")


def of_specs(specs: list[tuple[Span, CondaSpec]]) -> tuple[list[Pinned], list[Other]]:
    """Torch with its companions, and what determines its CUDA and Python; empty without torch."""
    tag = conda_tag([spec for _, spec in specs])
    lines, others = [], []
    for span, spec in specs:
        number, text, at = span.number, span.text, span.at
        if spec.name in _TORCH:
            lines.append(
                Pinned(
                    number=number, text=text, name=_TORCH[spec.name],
                    wish=Wish(_TORCH[spec.name], _specifier(spec.version)),
                    local=tag, extras=spec.channel, at=at,
                )
            )  # fmt: skip
        elif spec.name in (*CUDA_NAMES, "python"):
            others.append(Other(number=number, text=text, name=spec.name, specifier=spec.version, at=at))
    return (lines, others) if any(one.name == "torch" for one in lines) else ([], [])


def conda_tag(specs: list[CondaSpec]) -> str:
    """'cu113' or 'cpu' as named by the packages; '' if the solver chooses."""
    torch = next((one for one in specs if _TORCH.get(one.name) == "torch"), None)
    build = torch.build if torch else ""
    if "cpu" in build or any(one.name in ("cpuonly", "pytorch-cpu") for one in specs):
        return "cpu"
    in_build = re.search(r"cuda_?(\d+)\.(\d+)", build) or re.search(r"cuda_?(\d\d)(\d)", build)
    if in_build:
        return f"cu{in_build[1]}{in_build[2]}"
    for name in CUDA_NAMES[:3]:
        found = next((m for one in specs if one.name == name and (m := re.match(r"(\d+)\.(\d+)", one.version))), None)
        if found:
            return f"cu{found[1]}{found[2]}"
    return ""


def _specifier(version: str) -> str:
    """'1.11.0' and '1.11' as they are (any patch of it), '2.1.*' as '2.1', a range as it is."""
    plain = re.fullmatch(r"(\d+(?:\.\d+)*)(?:\.?\*)?", version)
    return plain[1] if plain else version
