"""Stages of a Dockerfile with their variables resolved, and the chain that the built image comes from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..history import filled
from .instructions import Instruction, Unparsed


class Step(Struct, frozen=True, kw_only=True):
    """An instruction with its variables filled in, and the environment before it."""

    word: str
    value: str
    line: int
    end: int
    env: dict[str, str]
    sets: dict[str, str] = {}
    """Of ENV: what it sets."""


class Stage(Struct, frozen=True, kw_only=True):
    """One FROM: base as written with variables filled in; parent: the stage that it builds on, None for an image."""

    name: str
    base: str
    line: int
    platform: str
    steps: tuple[Step, ...]
    parent: Stage | None = None

    @property
    def image(self) -> str:
        """The image at the root of its chain."""
        return self.parent.image if self.parent else self.base

    @property
    def image_line(self) -> int:
        """Where that image is named."""
        return self.parent.image_line if self.parent else self.line

    @property
    def whole(self) -> tuple[Step, ...]:
        """Steps of the whole chain, the first stage's first."""
        return (*(self.parent.whole if self.parent else ()), *self.steps)

    @property
    def env(self) -> dict[str, str]:
        """What ENV sets, in the whole chain."""
        return {name: value for step in self.whole for name, value in step.sets.items()}


def stages(found: Sequence[Instruction], name: str, arguments: Mapping[str, str]) -> list[Stage]:
    """Every stage. arguments: of --build-arg. Raises Unparsed."""
    outer: dict[str, str] = {"TARGETPLATFORM": "linux/amd64", "TARGETARCH": "amd64", "BUILDPLATFORM": "linux/amd64"}
    made: list[Stage] = []
    at = 0
    while at < len(found) and found[at].word != "FROM":
        if found[at].word == "ARG":
            outer.update(_arguments(found[at].value, outer, arguments))
        at += 1
    while at < len(found):
        end = next((i for i in range(at + 1, len(found)) if found[i].word == "FROM"), len(found))
        made.append(_stage(found[at], found[at + 1 : end], made, name, outer, arguments))
        at = end
    return made


def chosen(made: Sequence[Stage], target: str | None, name: str) -> Stage:
    """The stage that is built: the last, or the one that --target names. Raises Unparsed."""
    if not target:
        return made[-1]
    for number, stage in enumerate(made):
        if target.lower() in (stage.name.lower(), str(number)):
            return stage
    names = ", ".join(stage.name for stage in made if stage.name) or "none has a name"
    raise Unparsed(f"{name}: there is no stage {target!r} ({names})")


def _stage(
    head: Instruction, rest: Sequence[Instruction], made: Sequence[Stage], name: str, outer: Mapping[str, str],
    given: Mapping[str, str],
) -> Stage:  # fmt: skip
    flags = dict(re.findall(r"--([\w-]+)=(\S+)", head.value))
    words = [word for word in filled(head.value, outer).split() if not word.startswith("--")]
    if not words or (len(words) not in (1, 3)) or (len(words) == 3 and words[1].upper() != "AS"):
        raise Unparsed(f"{name}:{head.line}: FROM takes an image, and AS with a name")
    parent = next((stage for stage in reversed(made) if stage.name and stage.name.lower() == words[0].lower()), None)
    env = dict(parent.env) if parent else {}
    values = {**outer, **env} if not rest else dict(env)
    steps = []
    for one in rest:
        scope = {**_known_platform(outer), **values, **env}
        if one.word == "ARG":
            values.update(_arguments(one.value, {**outer, **scope}, given, outer))
            continue
        value = filled(one.shell if one.word == "RUN" else one.value, scope)
        sets = _pairs(value) if one.word == "ENV" else {}
        env.update(sets)
        steps.append(Step(word=one.word, value=value, line=one.line, end=one.end, env={**values, **env}, sets=sets))
    return Stage(
        name=words[2] if len(words) == 3 else "", base=words[0], line=head.line, steps=tuple(steps), parent=parent,
        platform=filled(flags.get("platform", ""), outer),
    )  # fmt: skip


def _known_platform(outer: Mapping[str, str]) -> dict[str, str]:
    return {name: outer[name] for name in ("TARGETPLATFORM", "TARGETARCH", "BUILDPLATFORM")}


def _arguments(
    value: str, scope: Mapping[str, str], given: Mapping[str, str], outer: Mapping[str, str] | None = None
) -> dict[str, str]:
    """ARG with its default, the one given on the command line, or that of the ARG before the first FROM."""
    found = {}
    for word in _words(value):
        name, equals, default = word.partition("=")
        if name in given:
            found[name] = given[name]
        elif equals:
            found[name] = filled(default, scope)
        elif outer and name in outer:
            found[name] = outer[name]
    return found


def _pairs(value: str) -> dict[str, str]:
    """`A=1 B="two words"`, or the old form `A two words`."""
    if not re.match(r"[\w.-]+=", value.lstrip()):
        name, _, rest = value.strip().partition(" ")
        return {name: rest.strip()} if name else {}
    return {name: content for name, _, content in (word.partition("=") for word in _words(value))}


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:  # an open quote
        return value.split()
