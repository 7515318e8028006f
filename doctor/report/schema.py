"""The JSON Schema of the report, made from the types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..findings import Alternative, Expect, Finding, Fix, Policy, Quote, Step
from ..judge.preflight_answer import PREFLIGHT_SCHEMA_VERSION, HostAnswer, ImageAbout, LayerAnswer, Preflight
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
from ..topo.costs import SCHEMA_VERSION as TOPO_SCHEMA_VERSION
from ..topo.costs import Answer as TopoAnswer
from ..topo.matrix import Device
from ..topo.verdicts import Cost, Fastest

_WHOLE = (Report, Finding, Quote, Fix, Step, Alternative, CheckResult, Need, TextReport, PossibleCause,
          ProgramMessage, MatrixInfo, Tool, Target, Policy, Expect, Similar)  # fmt: skip
"""Types whose keys are always all there; the others leave out what has its default."""


_OF_IMAGE = (Preflight, ImageAbout, LayerAnswer, HostAnswer, Finding, Quote, Fix, Step, Alternative, MatrixInfo, Tool)


def report_schema() -> bytes:
    """JSON Schema 2020-12 as UTF-8 JSON. Fields that a newer gpudoctor adds are allowed."""
    return _schema(Report, "report", REPORT_SCHEMA_VERSION, _WHOLE)


def image_schema() -> bytes:
    """The same of what `image --format json` prints."""
    return _schema(Preflight, "image", PREFLIGHT_SCHEMA_VERSION, _OF_IMAGE)


def topo_schema() -> bytes:
    """The same of what `topo --format json` prints."""
    return _schema(TopoAnswer, "topo", TOPO_SCHEMA_VERSION, (TopoAnswer, Cost, Device, Fastest))


def compare_schema() -> bytes:
    """The same of what `compare --format json` prints."""
    from ..compare import answer
    from ..judge.compared import Named

    return _schema(answer.Comparison, "compare", answer.COMPARE_SCHEMA_VERSION, (*_structs(vars(answer)), Named))


def fleet_schema() -> bytes:
    """The same of what `fleet report --format json` prints."""
    from ..fleet import report as fleet
    from ..fleet import report_links

    whole = _structs({**vars(fleet), **vars(report_links)})
    return _schema(fleet.FleetReport, "fleet", fleet.FLEET_SCHEMA_VERSION, (*whole, Alternative))


def _structs(names: Mapping[str, object]) -> tuple[type[msgspec.Struct], ...]:
    """The Structs among the names of a module."""
    kinds = {one for one in names.values() if isinstance(one, type) and issubclass(one, msgspec.Struct)}
    return tuple(sorted(kinds - {msgspec.Struct}, key=lambda one: one.__name__))


def _schema(root: type[msgspec.Struct], name: str, version: int, whole: tuple[type, ...]) -> bytes:
    (reference,), components = msgspec.json.schema_components((root,), ref_template="#/$defs/{name}")
    for kind in whole:
        about: dict[str, Any] = components[kind.__name__]
        about["required"] = list(about["properties"])
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:gpudoctor:{name}:{version}",
        "title": f"gpudoctor {name}",
        **reference,
        "$defs": components,
    }
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"
