"""The causes that a text leaves open, most likely first, and the commands whose output would decide them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pkgutil import get_data
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ..findings import Finding
from ..judge.judge import offered
from ..judge.report import CheckResult, MessageCauses, Need, PossibleCause
from ..snapshot import Ranked, Snapshot, known
from .messages import worded_by_people
from .plausible import in_its_shell, is_answered, is_ruled_out
from .success import is_cleared
from .xids import is_xid

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..judge import Registered

_MOST_NEEDS = 2
_MOST_POSSIBLE = 6
_NO_CODE = ("extension-lacks-gpu-arch", "torch-lacks-new-gpu-sm", "torch-dropped-old-gpu-sm", "jetson-generic-wheel")
_OF_EITHER = frozenset(("no-kernel-image", "invalid-device-function"))
"""Messages of CUDA that torch and an extension print alike."""
_NAMED = "extension-named"
_WORDS = frozenset(
    ("runtimeerror", "torch", "acceleratorerror", "cuda", "error", "kernel", "image", "available", "for", "execution",
     "the", "device", "invalid", "function", "cudaerrornokernelimagefordevice", "cudaerrorinvaliddevicefunction")
)  # fmt: skip
"""The words of those messages as torch prints them, of three letters and more."""
_OF_TORCH = frozenset(("torch", "torchvision", "torchaudio", "triton", "numpy"))
_OF_PODS, _NO_GPU_GIVEN = "k8s-runtimeclass-missing", "container-no-gpu-flag"
_UNASKED = 0.9
"""Probability of a cause that is worth telling where no line of the text complains of anything."""
_LEAST = 0.03
"""Probability of a cause that is worth telling."""


class Open(NamedTuple):
    """What a text leaves open."""

    causes: tuple[PossibleCause, ...] = ()
    """Likeliest first."""
    nothing: float = 0.0
    """The probability that nothing of the environment is wrong."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the checks."""
        return tuple(cause.id for cause in self.causes)

    @property
    def sick(self) -> bool:
        """Whether a cause is likelier than none."""
        return bool(self.causes) and self.causes[0].probability >= self.nothing


def left_open(s: Snapshot, findings: tuple[Finding, ...], results: Iterable[CheckResult]) -> Open:
    """The causes that the text's words make likely and its facts do not rule out; none with a proven failure."""
    if not s.ranked or any(f.status == "fail" for f in findings):
        return Open()
    from .ranker import NOTHING

    chance = _chances(s)
    denied, found_already = ruled_out(s, results), {f.id for f in findings if proven(f, s)}
    everything, elsewhere = in_any_container(s), outside_messages(s)

    def is_open(one: Ranked) -> bool:
        ruled_out = denied(one.cause) or one.cause in found_already or elsewhere(one)
        return not (ruled_out or (one.line and is_cleared(s, one.line, one.text)))

    ranks = [one for one in everything if one.cause == NOTHING or is_open(one)]
    whole = 1 - sum(one.share for one in everything if one not in ranks)
    rated = [(one, round(chance(one.share / max(whole, one.share)), 2)) for one in ranks]
    causes = tuple(
        PossibleCause(id=one.cause, probability=likely, line=one.line, text=one.text)
        for one, likely in rated
        if one.cause != NOTHING and likely >= _LEAST
    )
    nothing = next((likely for one, likely in rated if one.cause == NOTHING), 0.0)
    complains = any(x.suggests or x.decides or x.unknown for x in s.symptoms)
    if causes and not complains and causes[0].probability < _UNASKED:
        return Open((), nothing)
    return Open(causes[:_MOST_POSSIBLE], nothing)


def _chances(s: Snapshot) -> Callable[[float], float]:
    """From a cause's share to its probability, as the model that ranked the causes has earned it."""
    from . import other_languages
    from .ranker import model, probability

    if other_languages.is_ranked_here(s):
        return other_languages.chance
    return lambda share: probability(model().about["calibration"], share)


def in_any_container(s: Snapshot) -> list[Ranked]:
    """The ranker's causes, likeliest first; without a word of Kubernetes that of pods counts for any container."""
    ranks = list(s.ranked)
    same = [one for one in ranks if one.cause in (_OF_PODS, _NO_GPU_GIVEN)]
    in_pod = "kubernetes" in (known(s.host.scheduler), known(s.container.kind))
    if in_pod or all(one.cause != _OF_PODS for one in same):
        return ranks
    general = replace(same[0], cause=_NO_GPU_GIVEN, share=sum(one.share for one in same))
    return sorted([general, *(one for one in ranks if one not in same)], key=lambda one: -one.share)


def outside_messages(s: Snapshot) -> Callable[[Ranked], bool]:
    """Whether a cause comes from the words of lines alone whose messages are known to come from others.

    The message knows its line better than the words do; what another line makes likely stays, and so does everything
    where an error is unknown or only people tell what fails.
    """
    complaints = [x for x in s.symptoms if not x.mention and (x.suggests or x.decides or x.unknown)]
    by_people = worded_by_people({x.id for x in complaints})
    of_tools = {x.line for x in complaints if x.id not in by_people}
    if not of_tools or any(x.unknown for x in complaints):
        return lambda one: False
    causes = {name for x in complaints for name in (*x.suggests, x.decides)}
    return lambda one: one.cause not in causes and (one.line in of_tools or not one.line)


def of_messages(s: Snapshot, results: Iterable[CheckResult]) -> tuple[MessageCauses, ...]:
    """What the text's messages mean and come from; one that says of nothing that it fails is left out."""
    denied = ruled_out(s, results)
    found: list[MessageCauses] = []
    for symptom in sorted(s.symptoms, key=lambda x: x.line):
        causes = tuple(name for name in symptom.suggests if not denied(name))
        fix = symptom.fix if is_xid(symptom) else ""
        if (causes or fix) and symptom.line and not symptom.mention:
            found.append(MessageCauses(line=symptom.line, means=symptom.means, causes=causes, fix=fix))
    return tuple(found)


def ruled_out(s: Snapshot, results: Iterable[CheckResult]) -> Callable[[str], bool]:
    """Whether the facts of a text deny a cause: its check passed, or what is known about the place excludes it."""
    passed = {result.id for result in results if result.status == "pass"}
    return lambda name: name in passed or is_ruled_out(s, name)


def proven(finding: Finding, s: Snapshot) -> bool:
    """Whether a message of the text decides it: a failure, or a warning that is not only likely."""
    return finding.status in ("fail", "warn") and any(symptom.decides == finding.id for symptom in s.symptoms)


def speaks_of_a_fault(s: Snapshot) -> bool:
    """Whether a line says that something fails, and not only what is there."""
    return any((x.suggests or x.decides or x.unknown) and not x.mention for x in s.symptoms)


def suspected(s: Snapshot, m: Matrix, left: Open, catalogue: Iterable[Registered]) -> tuple[Finding, ...]:
    """The most likely cause as a warning with its fix, if such guesses have been right often enough; never a failure.

    Not where no line says that something fails, or where the program is likelier: a message of that line speaks of it.
    """
    from .other_languages import is_ranked_here

    if not left.sick or is_ranked_here(s):
        return ()
    from .ranker import model

    trained = model().about
    first = left.causes[0]
    about = next((check.about for check in catalogue if check.id == first.id), None)
    if about is None or first.probability < trained["threshold"] or not first.line or not speaks_of_a_fault(s):
        return ()
    if any(symptom.of_program and symptom.line == first.line for symptom in s.symptoms):
        return ()
    if first.id in _NO_CODE and _by_cuda_alone(s, first):
        return ()
    from .fixes.offer import made, suspected_fixes

    text = first.text.removesuffix(".")
    detail = f"Line {first.line}: {text}. The text does not prove this; in solved cases, {_record(trained, first.id)}."
    facts = {"line": first.line, "probability": first.probability}
    named = about.warn(f"Likely: {about.title}", detail, facts=facts, downstream_of=(), direct=False)
    return made(named, lambda: offered(s, m, replace(named, fixes=suspected_fixes(named, first.text, s, m))))


def _record(trained: dict[str, Any], cause: str) -> str:
    """How often such guesses were right: of this cause if the model's head has its figure, else of all causes."""
    if own := trained["threshold_causes"].get(cause):
        return f"{own[0]} of {own[1]} such guesses of this cause were right"
    return f"{trained['threshold_right']} of {trained['threshold_calls']} such guesses (of any cause) were right"


def _by_cuda_alone(s: Snapshot, first: PossibleCause) -> bool:
    """Whether the line has only CUDA's words for a kernel without code for the GPU, and nothing names whose kernel."""
    ids = {x.id for x in s.symptoms}
    facts = bool(known(s.gpus)) and known(s.torch.version) is not None  # checks judge these
    if not ids & _OF_EITHER or _NAMED in ids or facts:
        return False
    packages = {d.name for d in known(s.python.distributions) or ()} - _OF_TORCH
    return not packages and not set(re.findall(r"[a-z]{3,}", first.text.lower())) - _WORDS


def needs(open_causes: tuple[str, ...], s: Snapshot | None = None) -> tuple[Need, ...]:
    """The one or two commands that decide the most (and most likely) of these and whose output is not in the text."""
    left = list(open_causes)
    found: list[Need] = []
    rows = [need for need in _table() if s is None or not is_answered(s, need.command)]
    while left and len(found) < _MOST_NEEDS:
        weight = {name: 1.0 / (rank + 1) for rank, name in enumerate(left)}
        best = max(rows, key=lambda need: sum(weight.get(name, 0.0) for name in need.decides))
        decides = tuple(name for name in left if name in best.decides)
        if not decides:
            break
        found.append(replace(best, decides=decides))
        left = [name for name in left if name not in decides]
    found = found or [_table()[-1]]
    return tuple(found if s is None else [in_its_shell(s, need) for need in found])


@lru_cache(maxsize=1)
def _table() -> tuple[Need, ...]:
    rows = json.loads(get_data(__package__, "needs.json") or b"[]")
    return tuple(Need(command=row["command"], why=row["why"], decides=tuple(row["decides"])) for row in rows)
