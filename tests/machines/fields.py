"""`nvml_fields.csv`: what NVML is asked, what sick means, and on which machine of eight GPUs a test makes it so."""

from __future__ import annotations

import csv
from typing import NamedTuple

from tests.fakes import MACHINES


class Field(NamedTuple):
    """A row. `first_driver` 450 stands for that branch or an older one."""

    field: str
    call: str
    first_driver: str
    asked: str
    sick: str
    machine: str
    scenario: str
    finds: str
    why: str
    source: str

    def on_gpu(self, gpu: int) -> dict[str, str]:
        """The scenario's keys that make this GPU sick; `N` stands for its number, else keys are those of the GPU."""
        changes = dict(part.strip().split("=", 1) for part in self.scenario.split(";"))
        return {
            key.replace(".N", f".{gpu}") if ".N" in key else f"gpu.{gpu}.{key}": value for key, value in changes.items()
        }


def fields() -> list[Field]:
    """All rows."""
    with open(MACHINES / "nvml_fields.csv", newline="", encoding="utf-8") as file:
        return [Field(**row) for row in csv.DictReader(file)]
