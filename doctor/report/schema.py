"""The JSON Schema of the report, made from the types."""

from __future__ import annotations

from typing import Any

import msgspec

from ..findings import Alternative, Expect, Finding, Fix, Policy, Quote, Step
from ..judge.report import (
    REPORT_SCHEMA_VERSION,
    CheckResult,
    MatrixInfo,
    Need,
    PossibleCause,
    ProgramMessage,
    Report,
    TextReport,
    Tool,
)
from ..snapshot import Similar, Target

_WHOLE = (Report, Finding, Quote, Fix, Step, Alternative, CheckResult, Need, TextReport, PossibleCause,
          ProgramMessage, MatrixInfo, Tool, Target, Policy, Expect, Similar)  # fmt: skip
"""Types whose keys are always all there; the others leave out what has its default."""


def report_schema() -> bytes:
    """JSON Schema 2020-12 as UTF-8 JSON. Fields that a newer gpudoctor adds are allowed."""
    (reference,), components = msgspec.json.schema_components((Report,), ref_template="#/$defs/{name}")
    for kind in _WHOLE:
        about: dict[str, Any] = components[kind.__name__]
        about["required"] = list(about["properties"])
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:gpudoctor:report:{REPORT_SCHEMA_VERSION}",
        "title": "gpudoctor report",
        **reference,
        "$defs": components,
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"
