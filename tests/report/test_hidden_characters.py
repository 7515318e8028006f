"""C1 controls and characters that turn writing around reach no output: JSON has them as escapes of the same value."""

from __future__ import annotations

import json

from ..cli.command import gpudoctor

HIDDEN = "\x7f\x85\x9b\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\ufeff"


def test_no_hidden_character_of_a_text_reaches_an_output() -> None:
    text = f"{HIDDEN.join('ab')} RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    for options in (["--format", "json"], ["-vv"], ["--format", "markdown"]):
        said = gpudoctor("explain", "-", *options, data=text.encode()).stdout.decode()
        assert "no kernel image" in said
        assert not set(HIDDEN) & set(said), options
    report = json.loads(gpudoctor("explain", "-", "--format", "json", data=text.encode()).stdout)
    assert "\u202e" in json.dumps(report, ensure_ascii=False), "escaped, not dropped"
