"""A Dockerfile's stages with their variables resolved, and the chain that the built image comes from."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from ..history import Expanded, Room
from ..installs import lexer
from .instructions import Instruction, Unparsed


class Step(Struct, frozen=True, kw_only=True):
    """An instruction with its variables filled in, and the environment before it."""

    word: str
    value: str
    line: int
    end: int
    env: dict[str, str]
    sets: dict[str, str] = {}
    """What an ENV sets."""


class Stage(Struct, frozen=True, kw_only=True):
    """One FROM, with variables filled in. The rest covers its whole chain: a stage may build on another."""

    name: str
    platform: str
    image: str
    """The image at the root of its chain."""
    image_line: int
    """Where that image is named."""
    whole: tuple[Step, ...]
    """Steps of the whole chain, the first stage's first."""
    env: dict[str, str]
    """What ENV sets, in the whole chain."""


def stages(found: Sequence[Instruction], name: str, arguments: Mapping[str, str]) -> list[Stage]:
    """Every stage. arguments: from --build-arg. Raises Unparsed."""
    outer: dict[str, str] = {"TARGETPLATFORM": "linux/amd64", "TARGETARCH": "amd64", "BUILDPLATFORM": "linux/amd64"}
    made: dict[str, Stage] = {}
    listed: list[Stage] = []
    room, at = Room(), 0
    try:
        while at < len(found):
            end = next((i for i in range(at + 1, len(found)) if found[i].word == "FROM"), len(found))
            if found[at].word == "FROM":
                stage = _stage(found[at], found[at + 1 : end], made, name, outer, arguments, room)
                listed.append(stage)
                made.update({stage.name.lower(): stage} if stage.name else {})
                at = end
                continue
            if found[at].word == "ARG":
                outer.update(_arguments(found[at].value, outer, arguments, room))
            at += 1
    except Expanded as error:
        raise Unparsed(f"{name}: {error}: not judged") from None
    return listed


def declared(found: Sequence[Instruction]) -> set[str]:
    """The names that --build-arg can set for FROM: those of each ARG before the first FROM."""
    before = takewhile(lambda one: one.word != "FROM", found)
    return {word.partition("=")[0] for one in before if one.word == "ARG" for word in _words(one.value)}


def chosen(made: Sequence[Stage], target: str | None, name: str) -> Stage:
    """The stage that is built: the last, or the one that --target names. Raises Unparsed."""
    if not target:
        return made[-1]
    for number, stage in enumerate(made):
        if target.lower() in (stage.name.lower(), str(number)):
            return stage
    names = ", ".join(stage.name for stage in made if stage.name) or "no stage has a name"
    raise Unparsed(f"{name}: no stage {target!r} ({names})")


def _stage(
    head: Instruction, rest: Sequence[Instruction], made: Mapping[str, Stage], name: str, outer: Mapping[str, str],
    given: Mapping[str, str], room: Room,
) -> Stage:  # fmt: skip
    flags = dict(re.findall(r"--([\w-]+)=(\S+)", head.value))
    words = [word for word in room.filled(head.value, outer).split() if not word.startswith("--")]
    if not words or (len(words) not in (1, 3)) or (len(words) == 3 and words[1].upper() != "AS"):
        raise Unparsed(f"{name}:{head.line}: FROM takes an image and, optionally, AS and a name")
    parent = made.get(words[0].lower())
    env = dict(parent.env) if parent else {}
    room.take(len(env) + (len(parent.whole) if parent else 0) + len(rest) + 1)
    platform = {name: outer[name] for name in ("TARGETPLATFORM", "TARGETARCH", "BUILDPLATFORM")}
    values = dict(env)
    steps = []
    both = {**values, **env}
    for one in rest:
        scope = ChainMap(env, values, platform)
        value = ""
        if one.word == "ARG":
            values.update(_arguments(one.value, ChainMap(*scope.maps, dict(outer)), given, room, outer))
        else:
            value = room.filled(one.shell if one.word == "RUN" else one.value, scope)
        sets = _pairs(value) if one.word == "ENV" else {}
        env.update(sets)
        if one.word in ("ARG", "ENV"):  # the others share what was set last
            both = {**values, **env}
            room.take(len(both))
        if one.word != "ARG":
            steps.append(Step(word=one.word, value=value, line=one.line, end=one.end, env=both, sets=sets))
    return Stage(
        name=words[2] if len(words) == 3 else "", platform=room.filled(flags.get("platform", ""), outer),
        image=parent.image if parent else words[0], image_line=parent.image_line if parent else head.line,
        whole=(*(parent.whole if parent else ()), *steps), env=env,
    )  # fmt: skip


def _arguments(
    value: str, scope: Mapping[str, str], given: Mapping[str, str], room: Room, outer: Mapping[str, str] | None = None
) -> dict[str, str]:
    """ARG with its default, the value from the command line, or the value of the ARG before the first FROM."""
    found = {}
    for word in _words(value):
        name, equals, default = word.partition("=")
        if name in given:
            found[name] = given[name]
        elif equals:
            found[name] = room.filled(default, scope)
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
        return list(lexer(value))
    except ValueError:  # an open quote, or a very long word
        return value.split()
