"""JUnit XML as CI servers read it: a test case for each check or rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from .outcome import Outcome

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_SKIPPED = ("skipped", "unknown", "consequence")


def render_junit(found: Sequence[Outcome], name: str, preface: Sequence[str] = ()) -> bytes:
    """One suite. fail: failure; unknown and consequences: skipped, with the reason; warn: passed, with system-out.
    `preface`: the suite's own system-out."""
    failed = sum(one.level == "fail" for one in found)
    skipped = sum(one.level in _SKIPPED for one in found)
    counts = {"tests": str(len(found)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    whole = {key: value for key, value in counts.items() if key != "skipped"}
    suites = Element("testsuites", {"name": "gpudoctor", **whole})
    suite = SubElement(suites, "testsuite", {"name": _clean(name), **counts})
    for one in found:
        where = f"{one.file}:{one.line}" if one.file else "machine"
        title = f"{one.rule} ({one.file}:{one.line})" if one.file else one.rule
        case = SubElement(
            suite, "testcase", {"name": _clean(title), "classname": _clean(f"gpudoctor.{one.file or name}")}
        )
        text = _clean("\n".join(filter(None, (where if one.file else "", one.detail, one.fix and f"Fix: {one.fix}"))))
        if one.level == "fail":
            SubElement(case, "failure", {"message": _clean(one.title), "type": one.rule}).text = text
        elif one.level in _SKIPPED:
            SubElement(case, "skipped", {"message": _clean(one.detail or one.title)})
        elif one.level in ("warn", "info"):
            SubElement(case, "system-out").text = _clean(f"{one.level}: {one.title}\n{text}")
    if preface:
        SubElement(suite, "system-out").text = _clean("\n".join(preface))
    indent(suites)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode").encode() + b"\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("?", text)
