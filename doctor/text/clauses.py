"""Sentences that tell a fact: `The installed driver is 535.54`, `nvidia-smi shows CUDA 12.2`, `I set NAME=value`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..formats.lazy import lazy
from .grammar.words import canonical, exact_kind, not_here, package_name, variable
from .statement import Line

_END = lazy(r"(?:(?<=[^\s.][^\s.])\.|[;!?])\s+|\s+(?:and|but|while|whereas)\s+(?=(?:the|my|our|it|I|we|nvidia-smi)\b)")
_VERB = lazy(
    r"\s(?:(?:is|are|=) (?:set to |at |on |currently |now |version )?|(?:shows?|says?|reports?|returns?|gives?|prints?"
    r"|reads?|tells?|displays?|detects?|sees?|has|runs?|uses?) (?:me |that |it is )?(?:version )?)",
    re.I,
)
_LEAD = lazy(r"^(?:(?:the|my|our|its|a|an|this|that|in|on|here|installed|current|and|so|also|but) ){1,4}", re.I)
_ARTICLE = lazy(r"^(?:an?|the) ", re.I)
_STOP = lazy(r",\s|\s(?:and|but|on|under|in|with|which|that|while|from|for|because|when|after|so|inside)\s|\s?\(")
_NUMBER = lazy(r"(?:v(?:ersion )?)?(\d[\w.+~-]{0,60}?)[.,]?")
_ANSWER = lazy(r"(?:True|False|None|yes|no|enabled|disabled|unset|not set|on|off)\.?", re.I)
_SET = lazy(
    r"\b(?:I|we)(?:'ve| have| also)? (?:set|exported|export)\s([A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{1,40})=(\S{0,200})"
)
_UNSET = lazy(r"\b([A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{1,40})`? (?:is|was) (?:not set|unset|undefined|empty)\b")
_BUILT = lazy(
    r"\b(?:py)?torch(?: \d[\w.+]{0,30})? (?:was|is|has been) (?:built|compiled) (?:with|for|against)"
    r" CUDA (\d{1,2}\.\d)\b",
    re.I,
)
_USES = lazy(r"\b(?:I|we) (?:use|am using|are using|run) (tensorflow|jax|mxnet|onnxruntime)\b", re.I)
_PLACE = lazy(
    r"\b(?:this is|it is|it runs|it's running|running|I run (?:it|this|everything)|I am|we are|we run (?:it|this)|runs"
    r"|executed) (?:inside|in|within) (?:of )?(?:a |an |the |my |our )?(?:\w{1,20} )?"
    r"(docker|podman|container|kubernetes|k8s)(?:\s|[.,]|$)",
    re.I,
)
_NAMED = ("gpu_name", "gpus_line", "os", "image", "kernel", "container_runtime")
_ASKED = not_here("supposed", "earlier", "asked", "wanted", "tried")
"""A sentence that speaks of something else than what is there."""
_LONGEST = 800


def clauses(line: Line) -> Iterator[Line]:
    """The facts of a line's sentences, as `key: value`."""
    text = line.text.replace("`", "")
    if not 8 < len(text) < _LONGEST or text.count(" ") < 2:
        return
    for found in _SET.finditer(text):
        yield Line(line.number, f"{found[1]}={found[2].rstrip('.,;')}")
    for found in _UNSET.finditer(text):
        yield Line(line.number, f"{found[1]} is unset")
    for found in _USES.finditer(text):
        yield Line(line.number, f"framework: {found[1].lower()}")
    for found in _PLACE.finditer(text):
        word = found[1].lower()
        engine = "True" if word == "container" else word
        yield Line(line.number, "kubernetes: True" if word in ("kubernetes", "k8s") else f"container: {engine}")
    for sentence in _END.split(text):
        if not _ASKED.search(sentence):
            if built := _BUILT.search(sentence):
                yield Line(line.number, f"torch cuda: {built[1]}")
            yield from _told(sentence.strip(), line.number)


def _told(sentence: str, number: int) -> Iterator[Line]:
    for verb in _VERB.finditer(sentence):
        words = _LEAD.sub("", sentence[: verb.start()].strip()).split()
        after = _ARTICLE.sub("", sentence[verb.end() :].strip())
        for count in range(min(6, len(words)), 0, -1):
            key = " ".join(words[-count:])
            if key[:1].isalpha() and "(" not in key and (line := _pair(key, after)):
                yield Line(number, line)
                return
        if words and (two := re.match(r"([A-Za-z]{2,12}) (?:version )?(\d\S{0,40})", after)):
            key = f"{' '.join(words[-2:])} {two[1]}"
            if line := _pair(key, two[2]) or _pair(two[1], two[2]):
                yield Line(number, line)
                return


def _pair(key: str, after: str) -> str:
    """`key: value` where the words that follow are a value of this key; ''."""
    kind = exact_kind(key)
    if not kind and not variable(key) and not package_name(key) and not canonical(key):
        return ""
    value = _STOP.split(after, maxsplit=1)[0].strip().rstrip(".")
    if kind in _NAMED:
        value = after.rstrip(".") if kind != "os" and len(after) < 80 else value
        return f"{key}: {value}" if value[:1].isupper() or value[:1].isdecimal() else ""
    if number := _NUMBER.fullmatch(value):
        return f"{package_name(key)}=={number[1]}" if package_name(key) else f"{key}: {number[1]}"
    if kind == "arch_list":
        return f"{key}: {after}" if "sm_" in after else ""
    one_word = bool(kind or canonical(key)) and len(value.split()) == 1
    return f"{key}: {value}" if one_word or _ANSWER.fullmatch(value) else ""
