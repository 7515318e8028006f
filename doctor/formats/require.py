"""NVIDIA_REQUIRE_*: the start conditions of a container image, judged as the two tools do it.

Every variable must hold; within one, spaces mean or and commas mean and; a condition is property, operator, value.
The tools disagree. ``libnvidia-container`` (C, the legacy hook) compares dotted numbers, takes an unknown property for
an error, and judges for each visible GPU. The container toolkit (Go) skips unknown properties, wants versions of up to
three fields, checks every spelling before it compares, and is never told driver or brand, so that such a condition
never holds. Sources: NVIDIA/libnvidia-container src/cli/dsl.c and configure.c; NVIDIA/nvidia-container-toolkit
internal/requirements and internal/config/image.
"""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import require_rules as rules

PREFIX = "NVIDIA_REQUIRE_"
_MAX_LENGTH = 1 << 16
_MOST = 32
"""Requirements that libnvidia-container takes."""


class RequireGpu(NamedTuple):
    """One visible GPU: compute capability "9.0" and brand "tesla"; None: not known."""

    arch: Optional[str]
    brand: Optional[str]


class RequireHost(NamedTuple):
    """What the tools would compare with; None: not known to us. ``gpus`` empty: no GPU is visible."""

    cuda: Optional[str]
    driver: Optional[str]
    gpus: Optional[Tuple[RequireGpu, ...]]


class RequireResult(NamedTuple):
    """``satisfied`` None: a fact is missing. ``term``: the first alternative that failed or is open, as written;
    ``variable``: where it stands. ``error``: the tool refuses the expression itself (then satisfied is False).
    """

    satisfied: Optional[bool]
    variable: str = ""
    term: str = ""
    error: str = ""


def requirements(environment: Mapping[str, str]) -> List[Tuple[str, str]]:
    """(variable, expression) that the tools would check, in order of name; none where NVIDIA_DISABLE_REQUIRE is set.

    An image that has only CUDA_VERSION asks for that CUDA version by the rule of old images.
    """
    if environment.get("NVIDIA_DISABLE_REQUIRE", "") in ("1", "t", "T", "true", "True", "TRUE"):
        return []
    found = sorted(
        (name, value)
        for name, value in environment.items()
        if name.startswith(PREFIX) and not name.startswith(PREFIX + "JETPACK")
    )
    legacy = environment.get("CUDA_VERSION", "")
    if legacy and not environment.get(PREFIX + "CUDA"):
        numbers = rules.semantic(legacy)
        if numbers is not None:
            found.append(("CUDA_VERSION", "cuda>=%d.%d" % numbers[:2]))
    return found


def evaluate_libnvidia_container(found: Sequence[Tuple[str, str]], host: RequireHost) -> RequireResult:
    """As ``nvidia-container-cli configure --require`` answers."""
    if len(found) > _MOST:
        return RequireResult(False, found[_MOST][0], "", "too many requirements: over %d" % _MOST)
    if host.gpus is None:
        gpus: Sequence[Optional[RequireGpu]] = (RequireGpu(None, None),)
    else:
        gpus = host.gpus or (None,)
    return _all([_alternatives(name, text, host, gpu) for gpu in gpus for name, text in found])


def evaluate_container_toolkit(found: Sequence[Tuple[str, str]], host: RequireHost) -> RequireResult:
    """As the runtime of the NVIDIA Container Toolkit answers in its csv mode; it compares with the first GPU only."""
    for name, text in found:
        error = rules.toolkit_error(text[:_MAX_LENGTH])
        if error:
            return RequireResult(False, name, "", error)
    no_gpu = host.gpus is not None and not host.gpus
    arch = host.gpus[0].arch if host.gpus else None
    results = []
    for name, text in found:
        answers = []
        for term in text[:_MAX_LENGTH].split(" "):
            conditions = [c for c in term.split(",") if rules.toolkit_knows(c)]
            if conditions:
                answers.append(
                    (term, _conjunction([rules.toolkit_condition(c, host.cuda, no_gpu, arch) for c in conditions]))
                )
        results.append(_any(name, answers))
    return _all(results)


def _alternatives(name: str, text: str, host: RequireHost, gpu: Optional[RequireGpu]) -> RequireResult:
    """The hook stops at the first alternative that holds, and never sees an error behind it."""
    answers: List[Tuple[str, Optional[bool]]] = []
    for term in text[:_MAX_LENGTH].split(" "):
        seen: List[Optional[bool]] = []
        for condition in filter(None, term.split(",")):
            try:
                seen.append(
                    rules.hook_condition(condition, host.cuda, host.driver, gpu is None, *(gpu or (None, None)))
                )
            except rules.RequireError as error:
                is_open = None in seen or any(answer is None for _, answer in answers)
                return RequireResult(None if is_open else False, name, term, "" if is_open else str(error))
            if seen[-1] is False:
                break
        if term and not seen:  # commas alone: the hook stops here, with what it found before
            break
        if seen:
            answers.append((term, _conjunction(seen)))
        if answers and answers[-1][1] is True:
            break
    return _any(name, answers)


def _conjunction(answers: Sequence[Optional[bool]]) -> Optional[bool]:
    return False if False in answers else None if None in answers else True


def _any(name: str, answers: Sequence[Tuple[str, Optional[bool]]]) -> RequireResult:
    if not answers or any(answer is True for _, answer in answers):
        return RequireResult(True)
    for term, answer in answers:
        if answer is None:
            return RequireResult(None, name, term)
    return RequireResult(False, name, answers[0][0])


def _all(results: Sequence[RequireResult]) -> RequireResult:
    for wanted in (False, None):
        for result in results:
            if result.satisfied is wanted:
                return result
    return RequireResult(True)
