"""The objects of a run in Kubernetes, in YAML: a ConfigMap with the probe, and a DaemonSet, or Jobs, that run it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from importlib.resources import files
from time import time

from ..guard import Refusal
from .gather import Probe, Wish
from .whose import own_annotations

IMAGE = "python:3-slim"
ENDS = "@gpudoctor1-end"
"""`@gpudoctor1-end RUN CODE`: the last line of a log that is whole, with the probe's exit code."""
_LOGS_S = 600
"""For reading the logs of many nodes, and for clocks that differ."""
_MORE_S = 120
"""After the time of a node, until Kubernetes ends its Job by itself: where the run was killed."""
_RUNTIME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][\w.\-/:@]{0,254}", re.ASCII)
_EQUAL = re.compile(r"([A-Za-z0-9][\w./-]{0,316})==?([\w.-]{0,63})", re.ASCII)


def refuse_names(wish: Wish) -> None:
    """Raises Refusal for what cannot be the name of an image or a runtime class."""
    for name, value, grammar in (
        ("runtime-class", wish.runtime_class, _RUNTIME),
        ("image", wish.image, _IMAGE),
    ):
        if value and not grammar.fullmatch(value):
            raise Refusal(f"--{name} {value[:80]!r} is not a valid name")


def labels_of(selector: str) -> dict[str, str]:
    """The labels of a selector that is nothing but `NAME=VALUE,...`; else none."""
    parts = [_EQUAL.fullmatch(part.strip()) for part in selector.split(",")]
    return {part[1]: part[2] for part in parts if part} if all(parts) else {}


def nodes_by_name(names: Collection[str]) -> list[dict[str, object]]:
    """Terms of an affinity for these nodes. A field takes one value."""
    return [{"matchFields": [_field("In", name)]} for name in names]


def nodes_but(names: Collection[str]) -> list[dict[str, object]]:
    """The same for all nodes but these; none if there are none."""
    return [{"matchFields": [_field("NotIn", name) for name in names]}] if names else []


def _field(operator: str, name: str) -> dict[str, object]:
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def manifest(run: str, probe: Probe, wish: Wish, labels: Mapping[str, str], terms: list[dict[str, object]]) -> str:
    """The objects of this run: on all nodes with these labels that one of the terms matches."""
    values = _values(run, probe, wish) | {"@SELECTOR@": json.dumps(labels), "@AFFINITY@": _affinity(terms)}
    return _filled("configmap.yaml", values) + _filled("daemonset.yaml", values)


def job_manifest(run: str, probe: Probe, wish: Wish, nodes: Mapping[str, Mapping[str, int]]) -> str:
    """The objects of a run with a Job for each of these nodes, each with the GPUs that its Job requests: resource to
    its number."""
    values = _values(run, probe, wish)
    values["@DEADLINE@"] = str(math.ceil(probe.node_s + wish.wait_s) + _MORE_S)
    jobs = [
        _filled("job.yaml", values | {
            "@NUMBER@": str(number), "@AFFINITY@": _affinity(nodes_by_name([name])),
            "@LIMITS@": json.dumps({resource: str(count) for resource, count in limits.items()}),
        })
        for number, (name, limits) in enumerate(nodes.items())
    ]  # fmt: skip
    return _filled("configmap.yaml", values) + "".join(jobs)


def _values(run: str, probe: Probe, wish: Wish) -> dict[str, str]:
    command = f'( {probe.command} ) <"${{0%/*}}/agent.py"\necho "{ENDS} {probe.run} $?"'
    return {
        "@RUN@": run, "@COMMAND@": _indented(command), "@SCRIPT@": _indented(probe.script.decode("ascii")),
        "      @RUNTIME@\n": f'      runtimeClassName: "{wish.runtime_class}"\n' if wish.runtime_class else "",
        "@IMAGE@": wish.image or IMAGE,
        "@WHOSE@": json.dumps(own_annotations(time() + wish.wait_s + 2 * probe.node_s + _LOGS_S)),
    }  # fmt: skip


def _affinity(terms: list[dict[str, object]]) -> str:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return json.dumps({"nodeAffinity": required} if terms else {})


def _filled(name: str, values: Mapping[str, str]) -> str:
    """The text of a file with its marks replaced; what is put in is not searched for marks again."""
    text = files(__package__).joinpath(name).read_text("utf-8")
    return re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], text)


def _indented(text: str) -> str:
    return text.rstrip("\n").replace("\n", "\n    ")
