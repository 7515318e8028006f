"""Plain questions that only a look at the machine decides: which of our commands does, filled in from the question.

Nothing here says what is wrong. The table has how people ask for it (`tables/plain_questions.toml`).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pkgutil import get_data
from typing import TYPE_CHECKING, NamedTuple

from ..formats.lazy import lazy
from ..judge.report import Answer
from .plain_words import words_for

if TYPE_CHECKING:
    from compat_matrix import Matrix

_SUBJECT = lazy(
    r"\b(?:gpus?|cuda|nvidia|graphics cards?|[rg]tx|cards?|torch|pytorch|tensorflow|jax|vllm|ollama|llama|vram|training"
    r"|inference|fine-?tun\w*|models?|epochs?|tokens?|pods?|nodes|cluster|slurm|drivers?|python|xformers|flash\W?att\w+"
    r"|dataloader|nccl|nvlink|docker ?files?|[abhlv]\d{2,3}s?|\d+(?:\.\d+)?b|[2345]0[5-9]0s?)\b"
    r"|그래픽 ?카드|显卡|グラボ|видеокарт|tarjeta gráfica|grafikkarte|carte graphique"
)
_OVER = lazy(
    r"\b(?:solved|fixed|resolved|works? (?:now|again|fine|great|well)|working (?:now|again|fine)|all good"
    r"|no (?:problems?|issues?)|thanks|thank you)\b"
)
"""Only with a question mark it still asks something."""
_DENIED = lazy(
    r"(?:n't|\b(?:not|never|no|without|nor|no longer|outside))(?: of)? "
    r"(?:(?:an?|any|the|in|on|inside|use|using|really|too|so|running|about|getting|with|that|very|at all) ){0,3}"
    r"(?:docker|podman|kubernetes|k8s|pods?|containers?|slurm|wsl2?|ssh|jupyter|notebooks?|colab|vms?|slow\w*|idle|hot"
    r"|overheating|throttl\w*|oom\w*|out of memory|stuck|hang\w*|nan|scaling|gpus? (?:involved|needed|required))\b"
)
"""What a question says is not so."""
_JOINED = lazy(
    r"(?<=[a-z\d])(?=[\uac00-\ud7a3\u3040-\u30ff\u3400-\u9fff])|(?<=[\uac00-\ud7a3\u3040-\u30ff\u3400-\u9fff])(?=[a-z\d])"
)
"""Where a Latin word meets a Korean, Chinese or Japanese one without a blank between them."""
_SHORTENED = lazy(r"\b(do|does|did|is|are|was|has|have|could|would|ca|wo)nt\b")
_MACHINE = lazy(
    r"\w(?:Error|Exception|Warning)\b|Traceback|core dumped|(?:Tried|trying) to allocate|\bexit(?:ed)? (?:code|status)"
    r"|\.so\b|\bline \d|(?i:\b(?:error|fatal|warning|failed)\b.{0,30}: )|[][{}\\]|::|0x[0-9a-fA-F]{3}|\bXid\b|NVRM"
    r"|>>> |print\(|import \w+;"
    r"|[A-Z]{2,}_[A-Z]|[A-Z]{4,} [A-Z]{4,}: |\d\d:\d\d:\d\d|/(?:usr|proc|dev|opt|var|lib|etc|home|tmp)\b"
    r"|\w: .{1,200}?\w: "
)
"""What a program has printed, or a report of facts (two `key: value`): both have answers of their own."""
_OWN = lazy(r"\b(?:i|i'm|my|we|our|an?|the|with)\b|\?")
"""Around a program's message: somebody asks about it."""
_QUESTION = lazy(
    r"\?|\b(?:how|why|what|which|whether|check|test|verify|sure|know if|(?:is|are) (?:it|this|that|they)|can i"
    r"|should)\b|^(?:is|are|was|does|do|can|has|have|will)\b"
)


class Plain(NamedTuple):
    """A row of the table: how people ask, and what decides it."""

    id: str
    pattern: str
    answers: tuple[tuple[str, str], ...]
    question: str = ""
    abroad: str = ""
    unless: str = ""
    messages: bool = False

    def matches(self, wording: str) -> bool:
        """Whether the question is one of this kind."""
        if self.unless and re.search(self.unless, wording):
            return False
        put = bool(self.question) and bool(_QUESTION.search(wording)) and bool(re.search(self.question, wording))
        return put or bool(re.search(self.pattern, wording)) or bool(self.abroad and re.search(self.abroad, wording))


@lru_cache(maxsize=1)
def plain_questions() -> tuple[Plain, ...]:
    """All rows, in the order of the table."""
    return tuple(Plain(**row) for row in json.loads(get_data(__package__, "plain_questions.json") or b"[]"))


def plain(question: str) -> tuple[Plain, str] | None:
    """The first row that fits, and the question in lower case without what it denies."""
    wording = _DENIED.sub(" ", _SHORTENED.sub(r"\1n't", question.lower()))
    if not question.isascii():
        wording = _JOINED.sub(" ", wording)
    if _MACHINE.search(question) or not _SUBJECT.search(wording) or (_OVER.search(wording) and "?" not in wording):
        return None
    return next(((row, wording) for row in plain_questions() if row.matches(wording)), None)


def deciding(question: str, m: Matrix, of_program: bool) -> tuple[Answer, ...]:
    """Sentences with the commands that decide it. `of_program`: it holds a program's message, which has answers."""
    found = plain(question)
    if found is None:
        return ()
    row, wording = found
    if of_program and not (row.messages and _OWN.search(wording)):
        return ()
    words = words_for(question, wording, m)
    filled = [(text.format_map(words), command.format_map(words).rstrip()) for text, command in row.answers]
    return tuple(Answer(text, command) for text, command in filled if command)
