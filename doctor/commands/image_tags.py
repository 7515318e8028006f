"""Other tags of an image's release line, each read and judged before it is offered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..findings import Finding, Policy
from ..fixes.start_image import other_tag
from ..images.evidence import evidence_of
from ..images.importer import snapshot_of
from ..images.opened import open_image
from ..images.other_tags import nearest
from ..images.registry import RegistrySource
from ..images.source import ImageError
from ..judge.preflight import preflight
from ..judge.preflight_answer import HostAnswer
from ..snapshot import Snapshot

if TYPE_CHECKING:
    from compat_matrix import Matrix

_MOST = 8


def with_other_tags(
    flags: dict[str, Any],
    m: Matrix,
    hosts: list[tuple[str, Snapshot]],
    answers: tuple[HostAnswer, ...],
    policy: Policy,
    platform: str,
) -> tuple[HostAnswer, ...]:
    """The answers, with the nearest tag that runs on a host as the first fix for what is wrong there."""
    if all(one.verdict != "fail" for one in answers):
        return answers
    opened = open_image(
        flags["reference"], "registry", plain_http=flags["plain_http"], ca=flags["ca"] or "", timeout_s=flags["timeout"]
    )
    source = opened.source
    if not isinstance(source, RegistrySource) or not source.reference.tag:
        return answers
    left = {number for number, one in enumerate(answers) if one.verdict == "fail"}
    found = list(answers)
    for tag in nearest(source.reference.tag, source.tags())[:_MOST]:
        other = source.other(tag)
        try:
            image = other.image(platform)
            s = snapshot_of(image, evidence_of(other, image, m))
        except ImageError:
            continue  # for another platform, or gone by now
        for number in sorted(left):
            name, host = hosts[number]
            answer = preflight(s, host, name, m, policy)[0]
            if answer.verdict == "pass":
                found[number] = _offered(found[number], image.name, answer.grade)
                left.discard(number)
        if not left:
            break
    return tuple(found)


def _offered(answer: HostAnswer, reference: str, grade: str) -> HostAnswer:
    first = next((n for n, one in enumerate(answer.findings) if one.status == "fail"), 0)
    findings: list[Finding] = list(answer.findings)
    if findings:
        findings[first] = replace(findings[first], fixes=(other_tag(reference, grade), *findings[first].fixes))
    return replace(answer, findings=tuple(findings))
