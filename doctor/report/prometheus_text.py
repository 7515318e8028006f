"""The lines of a Prometheus text file, and the file of a health check that was cut off. Imports next to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .clean import printable

ANSWERED = "1 if the check finished, 0 if it was cut off."
"""HELP of the series that says so."""


def family(name: str, words: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> list[str]:
    """HELP, TYPE and one line for each sample (labels, value); nothing if there is no sample."""
    rows = [f"gpudoctor_{name}{_braces(labels)} {value:.15g}" for labels, value in samples]
    return [f"# HELP gpudoctor_{name} {words}", f"# TYPE gpudoctor_{name} gauge", *rows] if rows else []


def _braces(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    text = printable(value.encode("utf-8", "replace").decode(), keep_lines=True)
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def cut_off(why: str) -> str:
    """The series written if no answer came in time."""
    words = why.replace("\n", " ")
    return "\n".join([f"# UNKNOWN {words}", *family("answered", ANSWERED, [({}, 0)])]) + "\n"
