"""The picture of all GPUs together: a row for each, and the copies between each two; error bars; light and dark."""

from __future__ import annotations

import random
import re
from importlib.resources import files
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from doctor.judge.report import Report
from doctor.report.page import render_html
from doctor.report.plot_machine import render_machine
from doctor.report.plot_matmul import GOOD, LOW
from doctor.report.plot_soak import render_soak
from doctor.report.plot_svg import render_svg
from doctor.report.svg import INK
from doctor.report.terminal import Display, render_terminal
from doctor.snapshot import PairProof, SoakPoint, known

from ..checks.test_gpu_link_slow import one_slow, switched
from ..checks.test_gpu_slower_than_siblings import eight
from ..drawn import drawn
from ..judging import report
from ..proof.stories import BOARDS, changed, proven, rates
from .measured_mutants import by_an_enemy, with_holes
from .measured_samples import told, two_gpus
from .samples import LAYERS
from .test_plot_svg import SVG, stand_apart, texts

BAR = f'stroke="{INK}" stroke-width="1.2"'


def sick() -> Report:
    """Eight GPUs: cuda:5 at half speed, cuda:2 and cuda:6 slow between each other."""
    s = switched(one_slow(12.0, 380.0, 2, 6))
    half = {("cuda:5", "matmul")}
    spread = tuple(
        replace(r, spread_percent=4.0, value=r.value * (0.5 if (r.device, r.kind) in half else 1.0))
        for r in known(s.measured.rates) or ()
    )
    return report(changed(s, rates=spread))


def test_a_row_for_each_gpu_and_a_cell_for_each_pair() -> None:
    root = ElementTree.fromstring(render_machine(sick()))
    labels = texts(root)
    assert [t.words for t in labels if t.words.startswith("cuda:")] == [f"cuda:{n}" for n in range(8)] * 2
    titles = {rect.findtext(f"{SVG}title"): rect.get("fill") for rect in root.iter(f"{SVG}rect")}
    titles.pop(None, None)
    assert len(titles) == 8 * 4 + 56
    assert {words for words, colour in titles.items() if colour == LOW} == {
        "cuda:5 bf16: 379 TFLOP/s",
        "cuda:2 to cuda:6: 12 GB/s",
        "cuda:6 to cuda:2: 12 GB/s",
    }
    assert set(titles.values()) == {GOOD, LOW}
    assert [t.words for t in labels].count("12") == 2


def test_no_label_covers_another() -> None:
    found = texts(ElementTree.fromstring(render_machine(sick())))
    for index, one in enumerate(found):
        for other in found[index + 1 :]:
            apart = (
                one.right <= other.left or other.right <= one.left or one.bottom <= other.top or other.bottom <= one.top
            )
            assert apart or min(one.bottom, other.bottom) - max(one.top, other.top) < 3, (one, other)


def test_many_gpus_and_one() -> None:
    assert render_machine(report(proven(BOARDS["h100"]))) == ""
    names = [f"cuda:{n}" for n in range(16)]
    ring = tuple(
        PairProof(source=a, target=b, right=True, gb_s=1234.5)
        for n, a in enumerate(names)
        for b in (names[(n + 1) % 16], names[n - 1])
    )
    s = changed(eight(), pairs=ring, torch_devices=tuple(names))
    root = ElementTree.fromstring(render_machine(report(s)))
    assert sum("to cuda" in (r.findtext(f"{SVG}title") or "") for r in root.iter(f"{SVG}rect")) == 32


def test_error_bars_are_as_wide_as_the_spread() -> None:
    def bars(spread: float) -> list[float]:
        own = tuple(replace(r, spread_percent=spread) for r in rates(BOARDS["h100"]) if r.kind == "matmul")
        text = render_svg(report(changed(proven(BOARDS["h100"]), rates=own)))
        found = re.findall(r'<line x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="\2" ' + re.escape(BAR), text)
        return [float(right) - float(left) for left, _, right in found]

    assert bars(0.0) == [] and len(bars(5.0)) == len(bars(20.0)) == 6
    assert all(3.7 < wide / narrow < 4.3 for wide, narrow in zip(bars(20.0), bars(5.0), strict=True))


def test_the_page_holds_it_in_light_and_dark() -> None:
    page = render_html(sick(), LAYERS)
    assert page.count('<div class="picture"') > 1 and "GPUs side by side" in page
    dark = files("doctor.report").joinpath("page.css").read_text("utf-8")
    dark = dark[dark.rindex("prefers-color-scheme: dark") :]
    used = set(re.findall(r'(fill|stroke)="(#[0-9a-f]{6})"', page))
    # Colours that mean something are the same in both; paper, ink and greys have a dark one.
    grey = {
        (kind, c)
        for kind, c in used
        if max(int(c[i : i + 2], 16) for i in (1, 3, 5)) - min(int(c[i : i + 2], 16) for i in (1, 3, 5)) < 40
    }
    assert grey and all(f'[{kind}="{colour}"]' in dark for kind, colour in grey), grey


def soaked(falls: bool = True) -> Report:
    """Eight GPUs for ten minutes, cuda:3 slower from the middle on."""
    points = tuple(
        SoakPoint(
            device=f"cuda:{g}", what="bf16", at_s=10.0 * n, seconds=10.0, rate=740.0 * (0.7 if g == 3 and n > 30 and falls else 1),
            clock_sm_mhz=1900.0 - n, power_w=690.0, temperature_max_c=50 + n // 3, compared=9,
        )
        for g in range(8)
        for n in range(60)
    )  # fmt: skip
    return report(changed(eight(), soak=points))


def test_the_course_of_a_load_is_drawn_for_each_gpu() -> None:
    root = ElementTree.fromstring(render_soak(soaked()))
    lines = [line.get("stroke") for line in root.iter(f"{SVG}polyline")]
    assert len(lines) == 4 * 8 and lines.count(LOW) == 4 and len(set(lines)) == 8
    assert LOW not in render_soak(soaked(falls=False))
    words = [t.words for t in texts(root)]
    assert {"Sustained load, 600 s", "SM clock, MHz", "Power, W", "Temperature, C", "cuda:7"} <= set(words)
    page = render_html(soaked(), LAYERS)
    assert "Sustained load, 600 s" in page and "518 TFLOP/s at the end (-30 %)" in page
    assert "Sustained load" in render_terminal(soaked(), LAYERS, Display()) and render_soak(sick()) == ""


def test_one_file_draws_every_gpu() -> None:
    """`--plot figures.svg`: side by side, the load, the first as it is alone, and the products of all others."""
    shown = report(sick().snapshot.replace({"measured.soak": soaked().snapshot.measured.soak}))
    root = ElementTree.fromstring(render_svg(shown))
    labels = texts(root)
    stand_apart(labels)
    words = [t.words for t in labels]
    assert {"GPUs side by side", "Copies between GPUs, GB/s", "Sustained load, 600 s", "Roofline"} <= set(words)
    names = [t for t in labels if t.words.startswith("cuda:") and "H200" in t.words]
    assert [t.words for t in names] == [f"cuda:{n}, NVIDIA H200" for n in range(8)]
    assert len({round(t.left) for t in names[1:]}) == 2 and words.count("Matrix multiplication") == 8
    bars = [r for r in root.iter(f"{SVG}rect") if (r.findtext(f"{SVG}title") or "").startswith("bf16: 379 TFLOP/s")]
    assert [bar.get("fill") for bar in bars] == [LOW], "cuda:5 alone is at half speed"
    alone = texts(ElementTree.fromstring(render_svg(shown, "cuda:5")))
    assert "GPUs side by side" not in {t.words for t in alone} and "NVIDIA H200" in {t.words for t in alone}


def test_two_gpus_of_a_sample() -> None:
    assert "cuda:1" in render_machine(told(two_gpus()))


@pytest.mark.slow
@drawn(25)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 0.7]))
def test_holes_and_hostile_words_make_no_broken_picture(seed: int, share: float) -> None:
    for made in (with_holes(two_gpus(), random.Random(seed), share), by_an_enemy(two_gpus())):
        text = render_machine(told(made))
        assert (
            not text or "nan" not in ElementTree.tostring(ElementTree.fromstring(text), "unicode").split("<title>")[0]
        )
