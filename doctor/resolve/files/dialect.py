"""The answer in the syntax of a file: Poetry's entries, PEP 621's strings with the index as a table of their tool."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ..instead import OWN, Answered, Instead
from .lines import RequirementFile

ENTRIES = ("poetry", "pipenv", "pixi")
"""Kinds with `name = "version"`."""
TOML = (*ENTRIES, "uv", "pdm", "pep621", "pixi-conda")


def spelled(file: RequirementFile, answered: Answered) -> Answered:
    """What is written, as this kind of file has it. An index of its own for torch needs no local version."""
    if file.kind not in TOML or file.kind == "pixi-conda":
        return answered
    tag = answered.gives.partition("+")[2]
    spelled_ = [_one(file, one, tag, answered.index) for one in answered.instead]
    changed = [one for one in spelled_ if not one.number or one.write != one.text]
    return replace(answered, instead=tuple(changed))


def _one(file: RequirementFile, one: Instead, tag: str, index: str) -> Instead:
    old = one.text
    write = one.write
    if not write or (file.requires and one.number == file.requires.number):
        return one
    if re.match(r"https?://", old):  # an index
        return replace(one, write=write.split()[-1])
    if file.kind != "pep621":
        write = write.replace(f"+{tag}", "") if tag else write
    if file.kind in ENTRIES and re.match(r"[\"']?[\w.-]+[\"']?\s*=\s*[\"'{\[]", old):
        write = _entry(file, old, write, tag if index else "")
    else:
        write = write.replace('"', "'")
    return replace(one, write=write)


def _entry(file: RequirementFile, old: str, write: str, tag: str) -> str:
    """`torch = { version = "==2.7.1", source = "pytorch-cu128" }` of a requirement; other keys of a table stay."""
    name = re.match(r"([\w.-]+)(\[[^\]]*\])?\s*(@?)\s*([^;]*)", write)
    if name is None:
        return write
    version = name[4].strip()
    key = "url" if name[3] else "version"
    if old.startswith("version"):
        return f'version = "{version}"'
    first = re.match(r"[\"']?([\w.-]+)[\"']?", old)
    left = first[0] if first else name[1]
    word = "source" if file.kind == "poetry" else "index"
    where = f"pytorch-{tag}" if file.kind != "pixi" else f"https://download.pytorch.org/whl/{tag}"
    source = f', {word} = "{where}"' if tag and name[1] in OWN else ""
    inside = re.search(r"=\s*\{(.*)\}\s*$", old)
    rest = [part.strip() for part in re.split(r",(?![^\[]*\])", inside[1]) if part.strip()] if inside else []
    rest = [part for part in rest if not re.match(r"(version|url|source|index)\s*=", part)]
    if not rest and not source and not name[3]:
        return f'{left} = "{version}"'
    inner = ", ".join([f'{key} = "{version}"{source}', *rest])
    return f"{left} = {{ {inner} }}"


def tables(file: RequirementFile, answered: Answered) -> str:
    """What has to be added to the file for the index of torch; '' where nothing has."""
    if not answered.index or file.kind not in ("uv", "pdm", "poetry", "pipenv"):
        return ""
    tag = answered.gives.partition("+")[2]
    names = [one.name for one in file.lines if one.name in OWN]
    names = names if "torch" in names else ["torch", *names]
    url = next((one for one in answered.index.split() if one.endswith(f"/{tag}")), answered.index.split()[0])
    label = f"pytorch-{tag}"
    if file.kind == "uv":
        rows = ["[tool.uv.sources]", *(f'{name} = {{ index = "{label}" }}' for name in dict.fromkeys(names)), ""]
        rows += ["[[tool.uv.index]]", f'name = "{label}"', f'url = "{url}"', "explicit = true"]
    elif file.kind == "pdm":
        quoted = ", ".join(f'"{name}"' for name in dict.fromkeys(names))
        rows = ["[[tool.pdm.source]]", f'name = "{label}"', f'url = "{url}"', f"include_packages = [{quoted}]"]
    elif file.kind == "poetry":
        rows = ["[[tool.poetry.source]]", f'name = "{label}"', f'url = "{url}"', 'priority = "explicit"']
    else:
        rows = ["[[source]]", f'name = "{label}"', f'url = "{url}"', "verify_ssl = true"]
    return "\n".join(rows) + "\n"
