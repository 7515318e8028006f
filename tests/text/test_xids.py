"""The table of Xid codes against NVIDIA's catalogue: every code in use, its category, and the action that it asks for."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from doctor.report.terminal import render_terminal
from doctor.text import read
from doctor.text.xids import table

from ..judging import report
from ..report.samples import LAYERS


class Entry(NamedTuple):
    """What the catalogue says of one code."""

    immediate: str
    investigatory: str
    category: str


def _catalogue() -> dict[int, Entry]:
    lines = Path(__file__).with_name("xid_catalogue.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {int(code): Entry(*row[:3]) for row in rows for code in row[3].split()}


CATALOGUE = _catalogue()
IN_OUR_WORDS = {
    "software fault": "software fault", "cleanup": "removed from the GPU", "remapping": "remap",
    "illegal access by driver": "illegal access by the driver", "media engine": "NVDEC, NVJPG, OFA", "vGPU": "virtual GPU",
    "contained": "only one program", "uncontained": "not contained", "link training": "NVLink training",
    "initialization": "initialized", "key rotation": "rotating a key", "retirement": "retired", "timeout": "timeout",
    "coherent link": "coherent link", "encoder": "encoder",
}  # fmt: skip
"""A category in the words of the table, where they are not the catalogue's."""
ACTION = {
    "RESTART_APP": "again|compute-sanitizer", "RESET_GPU": "^Reset the GPU|reset the GPU", "RESTART_BM": "^Power",
    "IGNORE": "", "CHECK_MECHANICALS": "cable", "UPDATE_SWFW": "versions", "RESTART_VM": "virtual machine",
    "XID_154": "what the line says", "WORKFLOW_NVLINK5_ERR": "severity in the line", "WORKFLOW_NVLINK_ERR": "counters",
    "CHECK_UVM": "unified memory or vGPU", "WORKFLOW_XID_45": "fabric manager", "WORKFLOW_XID_48": "[Rr]eset",
    "CONTACT_SUPPORT": "support", "-": "",
}  # fmt: skip


def test_the_table_has_every_code_in_use_and_says_what_it_is() -> None:
    rows = table()
    assert len(CATALOGUE) == 110 and not set(CATALOGUE) - set(rows)
    wrong = []
    for code, entry in CATALOGUE.items():
        words = IN_OUR_WORDS.get(entry.category, entry.category)
        if words.lower() not in rows[code].meaning.lower():
            wrong.append(f"Xid {code} is {entry.category!r}, not {rows[code].meaning!r}")
    assert not wrong, "\n".join(wrong)


def test_each_code_asks_for_the_action_of_the_catalogue() -> None:
    wrong = [
        f"Xid {code}: {entry.immediate} is not {row.do!r}"
        for code, entry in CATALOGUE.items()
        if not re.search(ACTION[entry.immediate], (row := table()[code]).do)
        or (entry.immediate == "IGNORE") > (row.severity == "info")
        or (entry.immediate in ("RESET_GPU", "RESTART_BM")) > (row.severity == "critical")
        or (entry.investigatory == "CONTACT_SUPPORT" and entry.immediate == "IGNORE" and row.who == "the program's author"
            and code != 43)
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_codes_that_share_a_text_share_category_and_action() -> None:
    """Driver firmware (37, 38), a fault in a context switch (44) and illegal access (66, 67) are not one thing."""
    shared = defaultdict(set)
    for code, entry in CATALOGUE.items():
        row = table()[code]
        shared[row.meaning, row.do].add((entry.category, entry.immediate, entry.investigatory))
    assert not [(text, found) for text, found in shared.items() if len(found) > 1]


def test_a_logged_code_is_judged_as_its_action_says() -> None:
    """What asks for a reset decides a check; what can be ignored decides nothing and is not a fault of the host."""
    wrong = []
    for code, entry in CATALOGUE.items():
        symptoms = read(f"[1.0] NVRM: Xid (PCI:0000:17:00): {code}, pid=99, name=python").symptoms
        decides = {s.decides for s in symptoms} - {"", None}
        reset = entry.immediate in ("RESET_GPU", "RESTART_BM", "WORKFLOW_XID_48", "WORKFLOW_NVLINK_ERR")
        if reset != bool(decides):
            wrong.append(f"Xid {code} ({entry.immediate}) decides {sorted(decides)}")
        if entry.immediate == "IGNORE" and any(s.id == f"xid-{code}-logged" for s in symptoms):
            wrong.append(f"Xid {code} can be ignored, but it is called a fault of the host")
    assert not wrong, "\n".join(wrong)


def test_a_logged_code_is_explained_where_it_decides_nothing() -> None:
    """What the tool knows of a code is on the screen: 'No known error in this text' is false."""
    silent = []
    for code, row in table().items():
        found = report(read(f"[1.0] NVRM: Xid (PCI:0000:17:00): {code}, pid=99, name=python"))
        if found.verdict == "fail":
            continue
        shown = " ".join(render_terminal(found, LAYERS).split())
        said = [one.fix for one in found.text.messages if one.means.startswith(f"Xid {code}: ")] if found.text else []
        if said != [row.do] or f"Xid {code}: {row.meaning}" not in shown or "No known error" in shown:
            silent.append(f"{code}: {said}")
    assert not silent, "\n".join(silent)
