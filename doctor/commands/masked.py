"""A recording with its values masked: all lines teach what there is to mask before the first is written."""

from __future__ import annotations

from ..snapshot.redact import Redactor
from ..targets.agent import AgentResult
from ..targets.recording import Recording
from .local_names import local_names


def masked(recording: Recording) -> Recording:
    """The same recording without names, addresses, UUIDs and secrets."""
    redactor = Redactor(local_names())
    agents = {name: result.as_dict() for name, result in recording.agents.items()}
    redactor.learn(recording.files)
    redactor.learn(agents)
    return Recording(
        redactor.value(recording.files),
        {name: AgentResult(**redactor.value(result)) for name, result in agents.items()},
        redactor.value(recording.manifest),
    )
