"""The whole way from a text to a Snapshot."""

from __future__ import annotations

from ..snapshot import Missing, Snapshot
from .clean import lines_of, text_of
from .decide import symptoms
from .gpus import read_gpus
from .keyed import read_keyed
from .merge import merge
from .messages import find_hits, proven
from .packages import read_packages
from .prose import read_prose
from .smi import read_csv, read_nvcc, read_query, read_smi
from .statement import Line, Statement
from .variables import read_variables

READERS = (read_keyed, read_gpus, read_smi, read_query, read_csv, read_nvcc, read_packages, read_variables, read_prose)
"""Each takes the lines of a text and yields what it understands; all read every text, in any order of its parts."""


def read(data: bytes | str, name: str = "text") -> Snapshot:
    """The facts and messages of a text; nothing in it can fail, what is not understood is left out."""
    lines = lines_of(data if isinstance(data, str) else text_of(data))
    statements: list[Statement] = []
    for reader in READERS:
        statements += reader(lines)
    hits = find_hits(lines)
    s = merge([*statements, *proven(hits)], name)
    return s.replace({"symptoms": symptoms(hits, s, {said.path for said in statements if said.path == "jetson"})})


def judgeable(s: Snapshot) -> bool:
    """Whether the text said anything about a GPU, driver, torch or a message of the catalogue."""
    facts = (s.gpus, s.driver.version, s.driver.nvml_cuda_version, s.driver.cuda_version, s.driver.pci_devices,
             s.driver.kernel_version, s.driver.nvml_library_version, s.torch.version, s.torch.cuda, s.torch.build,
             s.torch_run.cuda_available, s.python.distributions, s.host.environment, s.cuda.nvcc_version)  # fmt: skip
    return bool(s.symptoms) or any(not isinstance(fact, Missing) for fact in facts)


__all__ = ["READERS", "Line", "judgeable", "read"]
