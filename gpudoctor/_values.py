"""What the calls return."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from doctor.compare.answer import Comparison as _Compared
from doctor.judge.report import Report as _Judged
from doctor.report.amounts import several
from doctor.report.clean import printable


class Refused(ValueError):
    """What the command refused, in its one-line message: an unreadable file, a meaningless flag."""


class _Printed:
    """The forms in which a command prints its answer."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """As `--format json`, in plain dicts, lists, strings and numbers."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def to_json(self) -> str:
        """As `--format json`."""
        return self._rendered("json")

    def to_markdown(self) -> str:
        """As `--format markdown`: for an issue or a ticket."""
        return self._rendered("markdown")

    def to_text(self) -> str:
        """As `--format text`, without colors, 80 columns wide."""
        return self._rendered("text")

    def to_html(self) -> str:
        """As `--format html`: one self-contained file."""
        return self._rendered("html")

    def __str__(self) -> str:
        return self.to_text()

    def _rendered(self, format_: str) -> str:
        from doctor.report.clean import visible

        flags = {"format_": format_, "output": "report", "verbose": 0, "ascii_": False, "no_color": True}
        return visible(self._as_printed(flags))

    def _as_printed(self, flags: dict[str, Any]) -> str:
        """What the command writes with these flags."""
        raise NotImplementedError


class Report(_Printed, _Judged, frozen=True, kw_only=True):
    """A report: the typed fields of `gpudoctor check --format json`, and its text forms."""

    @property
    def ok(self) -> bool:
        """Whether the exit code is 0: nothing failed, and nothing required is unknown."""
        return self.exit_code == 0

    def __repr__(self) -> str:
        """One line: the verdict, the exit code, the first cause and the number of checks per result."""
        from doctor.report.groups import counted

        first = self.findings[0] if self.findings else None
        cause = f": {_cut(first.title)} ({first.id})" if first else ""
        return f"<Report {self.verdict.upper()}, exit {self.exit_code}{cause}; {counted(self.checks)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from doctor.commands.assess import about
        from doctor.report.clean import visible
        from doctor.report.page import render_fragment

        return visible(render_fragment(self, *about(self)))

    def _as_printed(self, flags: dict[str, Any]) -> str:
        from doctor.commands.run_check import render

        return render(self, flags).decode()


class Comparison(_Printed, _Compared, frozen=True, kw_only=True):
    """What changed: the typed fields of `gpudoctor compare --format json`, and its text forms."""

    @property
    def ok(self) -> bool:
        """Whether the exit code is 0: no new failure, and nothing required is unknown on either side."""
        return self.exit_code == 0

    def __repr__(self) -> str:
        """One line: what changed, with the exit code."""
        from doctor.report.compare_words import verdict

        return f"<Comparison: {_cut(verdict(self)[1])}>"

    def _as_printed(self, flags: dict[str, Any]) -> str:
        from doctor.commands.run_compare import rendered

        return rendered(self, flags).decode()


class Build(Struct, frozen=True, kw_only=True):
    """A torch build that runs on the machine, and the lines that install it."""

    torch: str
    tag: str
    """cu129, cpu ..."""
    platform: str
    grade: str
    why: str
    pip: str
    uv: str
    conda: str = ""
    dockerfile: tuple[str, ...] = ()
    companions: dict[str, str] = {}
    """torchvision and torchaudio, with the matching versions."""

    def __repr__(self) -> str:
        """One line: the build, its grade and its pip line."""
        return f"<Build torch {self.torch}+{self.tag}, {self.platform}, {self.grade}: {_cut(self.pip)}>"


class _Rejected(Struct, frozen=True, kw_only=True):
    torch: str
    tag: str
    reason: str


class Resolution(Struct, frozen=True, kw_only=True):
    """What to install on a machine: the best build first; none if no build runs on it, or if that is unknown."""

    candidates: tuple[Build, ...] = ()
    rejected: tuple[_Rejected, ...] = ()
    """Every other CUDA version, and why it is rejected."""
    conflict: tuple[str, ...] = ()
    """Requested packages that cannot be combined."""

    @property
    def best(self) -> Build | None:
        """The first candidate."""
        return self.candidates[0] if self.candidates else None

    def __repr__(self) -> str:
        """One line: the best build and its pip line, or the conflict, and the counts."""
        best, why = self.best, f" ({_cut('; '.join(self.conflict))})" if self.conflict else ""
        words = f"torch {best.torch}+{best.tag}: {_cut(best.pip)}" if best else f"no build{why}"
        more = [several(len(self.candidates) - 1, "other build")] if self.candidates else []
        return f"<Resolution {words}; {', '.join([*more, f'{len(self.rejected)} rejected'])}>"


_LONGEST = 200


def _cut(text: str) -> str:
    """On one line, short enough for an interactive prompt."""
    text = printable(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
