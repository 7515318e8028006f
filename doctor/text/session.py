"""Answers at a Python prompt, of a one-liner or a sentence: `>>> torch.cuda.is_available()` and `False` under it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..formats.lazy import lazy
from . import meanings
from .statement import Line, Statement

_YES = r"(?:True|False)"
_VERSION = r"\d{1,2}\.\d{1,2}(?:\.\d{1,2})?[\w.+]{0,40}"
_CUDA = r"\d{1,2}\.\d{1,2}|None"
_GPU = lazy(r"NVIDIA|GeForce|Tesla|Quadro|RTX|GTX|TITAN|Orin|Thor|[A-Z]\d")
_PAIR = r"\(\d{1,2}, ?\d{1,2}\)"


class _Query(NamedTuple):
    """A call whose answer is a fact: what it looks like, what it means, what an answer looks like."""

    call: str
    kind: str
    answer: str


_CALLS = (
    _Query(r"torch\.cuda\.is_available(?:\(\))?", "cuda_available", _YES),
    _Query(r"torch\.(?:__version__|version\.__version__)", "torch", _VERSION),
    _Query(r"torch\.version\.cuda", "torch_cuda", _CUDA),
    _Query(r"torch\.version\.hip", "hip", r"\d{1,2}\.\d[\w.-]{0,20}|None"),
    _Query(r"torch\.cuda\.get_arch_list\(\)", "arch_list", r"\[[^\]]{0,300}\]"),
    _Query(r"torch\.cuda\.device_count\(\)", "device_count", r"\d{1,4}"),
    _Query(r"torch\.cuda\.get_device_name\([\w:\" ',.()]{0,40}\)", "gpu_name", r"[A-Z][\w -]{1,60}"),
    _Query(r"torch\.cuda\.get_device_capability\([\w:\" ',]{0,12}\)", "capability", _PAIR),
    _Query(r"torch\.backends\.cudnn\.version\(\)", "cudnn_bundled", r"\d{4,6}"),
    _Query(r"torch\.cuda\.nccl\.version\(\)", "nccl", r"\(\d{1,2}, ?\d{1,2}, ?\d{1,2}\)"),
    _Query(r"torch\.(?:_C\._GLIBCXX_USE_CXX11_ABI|compiled_with_cxx11_abi\(\))", "abi", _YES),
)
_CALL = lazy("|".join(f"(?P<c{index}>{query.call})" for index, query in enumerate(_CALLS)))
_PROMPT = lazy(r"\s{0,8}(?:>>>|In ?\[\d{1,5}\]:)\s?")
_OUT = lazy(r"\s{0,8}Out ?\[\d{1,5}\]:\s?")
_NOT_CODE = lazy(
    r"\s{0,8}(?:```\w{0,12}|~~~|(?:and )?(?:the )?(?:outputs?|results?|returns?|prints?|gives|shows|answer)(?: is)?:?)?"
    r"\s{0,8}$",
    re.I,
)
_LINK = (
    r"[`'\")]{0,3}\s{0,4}(?:-{1,4}>|={1,4}>|→|⇒|={1,2}|:|#{1,4}>?|,)?\s{0,4}"
    r"(?:(?:always|still|now|only|just|also|it|and|which) ){0,2}"
    r"(?:is|was|returns?|returned|returning|gives?|giving|gave|prints?|printed|shows?|says?|outputs?|reports?|reported|"
    r"yields?|evaluates to)?\s{0,4}(?:(?:always|still|now|only|just|me|as) ){0,2}[`'\"*]{0,4}"
)
_CONDITION = lazy(
    r"\b(?:if|elif|while|assert|unless|whether|when|should|must|expect\w{0,3}|ensure|until|make sure|verify|check that|"
    r"not|and|or|return|lambda|in case)\b[^.;\n]{0,60}$",
    re.I,
)
"""Before a call: a condition or a wish, not an answer."""
_CODE = lazy(
    r"\s{0,40}(?:\w[\w.]{0,60} ?(?:=|:(?= ?torch)) ?|with |for |def |class |return |raise |@"
    r"|.{0,200}\b(?:if|elif|while|assert)\b)"
)
"""Code that asks and prints nothing."""


def read_session(lines: list[Line]) -> Iterator[Statement]:
    """Statements of calls and the answers beside or below them."""
    waiting: list[list[_Query]] = []
    prompt = False
    for line in lines:
        text = line.text
        if "torch." in text and _CALL.search(text):
            new = _calls(text)
            at_prompt = bool(_PROMPT.match(text))
            if at_prompt and prompt and _silent(waiting):
                yield from _statements(waiting[0][0], "None", line)
            beside = [] if at_prompt else list(_beside(text, line))
            yield from beside
            waiting = [] if beside else new if at_prompt or prompt else [*waiting, *new][:20]
            prompt = at_prompt
            continue
        if not waiting or _NOT_CODE.match(text):
            continue
        answers = _answers(waiting[0], _OUT.sub("", text).strip())
        if not answers and prompt and _PROMPT.match(text) and _silent(waiting):
            answers = ["None"]
        for query, answer in zip(waiting[0], answers, strict=False):
            yield from _statements(query, answer, line)
        waiting = waiting[1:] if answers else []


def _silent(waiting: list[list[_Query]]) -> bool:
    """Whether what is asked prints nothing for None, as a prompt does."""
    return [[query.kind for query in group] for group in waiting] == [["torch_cuda"]]


def _calls(text: str) -> list[list[_Query]]:
    """The calls whose answers will be printed, those of one line of answers together; none of other code."""
    if not _PROMPT.match(text) and _CODE.match(text):
        return []
    calls = [_CALLS[int((found.lastgroup or "c0")[1:])] for found in _CALL.finditer(text)]
    return [[query] for query in calls] if text.count("print") > 1 else [calls]


def _answers(group: list[_Query], text: str) -> list[str]:
    """The answers of the line to all that are asked together; empty where it is something else."""
    pattern = r"[\s,|]{1,4}".join(f"['\"]?({query.answer})['\"]?" for query in group)
    form = rf"\(?{pattern}\)?" if len(group) > 1 else rf"(?:[A-Za-z][\w .]{{0,30}}[:=]\s{{0,4}})?{pattern}"
    found = re.fullmatch(form, text[:400])
    return list(found.groups()) if found else []


def _beside(text: str, line: Line) -> Iterator[Statement]:
    """Answers on the line of the call: `torch.cuda.is_available() returns False`."""
    for found in _CALL.finditer(text):
        query = _CALLS[int((found.lastgroup or "c0")[1:])]
        rest = text[found.end() : found.end() + 200]
        if _CONDITION.search(text[: found.start()]) or query.kind == "gpu_name":
            continue
        answer = re.match(rf"{_LINK}({query.answer})(?![\w(])", rest)
        sentence = re.split(r"[.;]\s", rest)[0]
        both = query.kind == "cuda_available" and "True" in sentence and "False" in sentence
        if answer and answer[0] != answer[1] and not both:
            yield from _statements(query, answer[1], line)


def _statements(query: _Query, answer: str, line: Line) -> Iterator[Statement]:
    if query.kind in ("capability", "nccl"):
        answer = ".".join(re.findall(r"\d+", answer))
    if query.kind != "gpu_name" or _GPU.search(answer):
        yield from meanings.statements(query.kind, answer, line)
