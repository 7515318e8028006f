"""The picture: valid XML, what it draws is what was measured, and no label covers another."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from doctor.report.axes import LinearAxis, LogAxis, spread_labels
from doctor.report.labels import Labels
from doctor.report.plot_svg import drawable, render_svg
from doctor.report.svg import escape, shorten, text_width
from doctor.snapshot.measured import Measured

from ..drawn import drawn
from ..rows import for_each
from .measured_mutants import by_an_enemy, with_holes
from .measured_samples import cpu_measured, full_measured, machine, operation, rate, sweep, told, two_gpus, watched
from .samples import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 1160
SAMPLES = {"full": full_measured, "two": two_gpus, "cpu": cpu_measured}


class Text(NamedTuple):
    """A label and about where it stands."""

    words: str
    left: float
    top: float
    right: float
    bottom: float


def picture(measured: Measured) -> ElementTree.Element:
    """The parsed picture."""
    return ElementTree.fromstring(render_svg(told(measured)))


def walk(node: ElementTree.Element, x: float = 0, y: float = 0) -> Iterator[tuple[ElementTree.Element, float, float]]:
    """Every element with the origin that it is drawn at."""
    moved = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", node.get("transform", ""))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    yield node, x, y
    for child in node:
        yield from walk(child, x, y)


def texts(root: ElementTree.Element) -> list[Text]:
    """All labels that are not turned."""
    found = []
    for node, x, y in walk(root):
        if node.tag == SVG + "text" and "rotate" not in node.get("transform", ""):
            size, words = float(node.attrib["font-size"]), node.text or ""
            wide = text_width(words, size * 0.93)  # the estimate is a generous one
            left = (
                x
                + float(node.attrib["x"])
                - {"start": 0, "middle": wide / 2, "end": wide}[node.get("text-anchor", "start")]
            )
            base = y + float(node.attrib["y"])
            found.append(Text(words, left, base - size * 0.72, left + wide, base + size * 0.1))
    return found


def words_of(measured: Measured) -> str:
    return "\n".join(t.words for t in texts(picture(measured)))


def titles(root: ElementTree.Element, tag: str) -> dict[str, ElementTree.Element]:
    """Shapes of a kind by what they say of themselves."""
    return {
        node.find(SVG + "title").text or "": node
        for node in root.iter(SVG + tag)
        if node.find(SVG + "title") is not None
    }  # type: ignore[union-attr]


@for_each("name", SAMPLES)
def test_no_label_covers_another_or_leaves_the_paper(name: str) -> None:
    stand_apart(texts(picture(SAMPLES[name]())))


def stand_apart(found: list[Text]) -> None:
    assert len(found) > 15
    for index, one in enumerate(found):
        assert one.left >= 0 and one.right <= WIDTH, one
        for other in found[index + 1 :]:
            apart = (
                one.right <= other.left or other.right <= one.left or one.bottom <= other.top or other.bottom <= one.top
            )
            assert apart, (one, other)


def test_axes_have_units_and_the_paper_is_white() -> None:
    root = picture(full_measured())
    said = "\n".join(node.text or "" for node in root.iter(SVG + "text"))
    for words in (
        "NVIDIA H200",
        "Arithmetic intensity (FLOP/byte)",
        "Performance (TFLOP/s)",
        "Share of the dense peak (%)",
        "Step time (ms)",
        "Share of the step (%)",
        "Batch size (samples)",
        "memory 4,305 GB/s",
    ):
        assert words in said
    first = next(root.iter(SVG + "rect"))
    assert (first.get("fill"), first.get("width")) == ("#ffffff", str(WIDTH))


def test_the_roofline_has_every_operation_under_its_roof() -> None:
    root = picture(full_measured())
    marks = {**titles(root, "circle"), **titles(root, "rect")}
    linear = next(node for words, node in marks.items() if words.startswith("linear: 731 TFLOP/s at 1,365 FLOP/byte"))
    scores = next(node for words, node in marks.items() if words.startswith("attention-scores: 214 TFLOP/s"))
    assert float(linear.attrib["cx"]) > float(scores.attrib["cx"]) and float(linear.attrib["cy"]) < float(
        scores.attrib["cy"]
    )
    said = words_of(full_measured())
    for name in (
        "linear",
        "attention-scores",
        "attention",
        "softmax",
        "layer-norm",
        "gelu",
        "residual-add",
        "bf16, fp16",
        "bf16 dense peak",
        "989 TFLOP/s",
        "fp8",
        "contraction",
        "normalisation",
        "element-wise",
    ):
        assert name in said.split("\n")


def test_a_bar_of_a_product_is_as_long_as_its_share_of_the_peak() -> None:
    bars = {
        words.split(":")[0]: node
        for words, node in titles(picture(full_measured()), "rect").items()
        if " at 8192 x" in words
    }
    assert list(bars) == ["fp32", "tf32", "fp16", "bf16", "fp8", "int8"]
    long = {name: float(node.attrib["width"]) for name, node in bars.items()}
    assert long["bf16"] / long["fp8"] == pytest.approx((742 / 989) / (1312 / 1979), rel=0.01)
    low = replace(
        full_measured(), rates=(rate("matmul", "bf16", 301.0, "TFLOP/s"), rate("matmul", "fp32", 51.0, "TFLOP/s"))
    )
    fills = {words.split(":")[0]: node.get("fill") for words, node in titles(picture(low), "rect").items()}
    assert fills["bf16"] != fills["fp32"] == bars["bf16"].get("fill")


def test_the_sweep_splits_each_step_and_marks_where_the_gpu_takes_over() -> None:
    root = picture(full_measured())
    shares = titles(root, "rect")
    for point in sweep():
        own = [
            float(node.attrib["height"]) for words, node in shares.items() if words.startswith(f"batch {point.batch}:")
        ]
        work = next(
            float(node.attrib["height"])
            for words, node in shares.items()
            if words.startswith(f"batch {point.batch}: GPU at work")
        )
        assert work / sum(own) == pytest.approx(point.device_ms / point.step_ms, abs=0.02)  # type: ignore[operator]
    said = words_of(full_measured())
    assert "from batch 4,096 on, the GPU is the limit" in said and "launches" in said and "GPU arithmetic" in said


def test_what_is_there_is_drawn_and_nothing_else() -> None:
    only_sweep = replace(full_measured(), rates=())
    assert "Batch sweep" in words_of(only_sweep) and "Roofline" not in words_of(only_sweep)
    only_products = replace(full_measured(), rates=(rate("matmul", "fp32", 51.0, "TFLOP/s"),), batches=())
    assert "Matrix multiplication" in words_of(only_products) and "Roofline" not in words_of(only_products)
    slope = replace(
        full_measured(),
        rates=(rate("memory", "copy", 4213.0, "GB/s"), operation("contraction", "linear", 900, 700)),
        batches=(),
    )
    assert "Roofline" in words_of(slope) and "Matrix multiplication" not in words_of(slope)


@for_each(
    "measured",
    [watched(), Measured(), replace(full_measured(), rates=(), batches=sweep()[:1])],
    ids=["watched", "none", "one batch"],
)
def test_nothing_to_draw_is_one_line(measured: Measured) -> None:
    with pytest.raises(ValueError, match="nothing to draw") as refused:
        render_svg(told(measured))
    assert "\n" not in str(refused.value)


def test_a_device_is_drawn_by_name() -> None:
    report = told(two_gpus())
    assert drawable(report) == ["cuda:0", "cuda:1"]
    assert "cuda:1  ·" in render_svg(report, "cuda:1")
    assert "cuda:1" not in "".join(t.words for t in texts(ElementTree.fromstring(render_svg(report, "cuda:0"))))
    with pytest.raises(ValueError, match="on cuda:7"):
        render_svg(report, "cuda:7")


@for_each("name", SAMPLES)
def test_words_of_an_enemy_stay_words(name: str) -> None:
    report = told(by_an_enemy(SAMPLES[name]()))
    root = ElementTree.fromstring(render_svg(report))
    tags = {node.tag.removeprefix(SVG) for node in root.iter()}
    assert tags <= {"svg", "title", "rect", "line", "polyline", "polygon", "circle", "text", "g", "clipPath"}
    assert all(
        value.startswith("url(#clip-") for node in root.iter() for key, value in node.attrib.items() if "url" in value
    )


@given(st.text(alphabet=st.characters(), max_size=60))
def test_escaped_text_is_xml_and_comes_back(text: str) -> None:
    parsed = ElementTree.fromstring(f'<a b="{escape(text)}">{escape(text)}</a>')
    assert parsed.text == parsed.get("b") or not text
    if text.isprintable():
        assert (parsed.text or "") == "".join("?" if c in "\ufffe\uffff" else c for c in text)


@pytest.mark.slow
@drawn(30)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 0.7]))
def test_holes_leave_a_picture_or_one_line(name: str, seed: int, share: float) -> None:
    holed = with_holes(SAMPLES[name](), random.Random(seed), share)
    report = replace(BASE, snapshot=BASE.snapshot.replace({"measured": holed}))
    try:
        root = ElementTree.fromstring(render_svg(report))
    except ValueError as error:
        assert "nothing to draw" in str(error) and not drawable(report)
    else:
        said = " ".join(node.text or "" for node in root.iter(SVG + "text"))
        assert not re.search(r"\b(nan|inf|None|Missing)\b", said)


BASE = told(full_measured())


@drawn(30)
@given(st.lists(st.floats(1e-12, 1e17), min_size=8, max_size=8))
def test_any_figures_make_a_picture_with_finite_places(values: list[float]) -> None:
    odd = replace(
        full_measured(),
        rates=(
            rate("matmul", "bf16", values[0], "TFLOP/s"),
            rate("matmul", "fp32", values[1], "TFLOP/s"),
            rate("memory", "copy", values[2], "GB/s"),
            operation("contraction", "linear", values[3], values[4]),
        ),
        batches=tuple(replace(p, step_ms=v) for p, v in zip(sweep(), values[4:], strict=False)),
    )
    root = ElementTree.fromstring(render_svg(replace(BASE, snapshot=machine(odd))))
    numbers = [
        float(v)
        for node in root.iter()
        for k, v in node.attrib.items()
        if k in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height")
    ]
    assert len(numbers) > 50 and all(abs(n) < 1e6 for n in numbers)


@given(st.floats(1e-6, 1e6), st.floats(1.1, 1e9))
def test_ticks_of_a_log_axis_are_round_inside_and_enough(low: float, ratio: float) -> None:
    axis = LogAxis(low, low * ratio, 0, 100)
    assert axis.at(low) == pytest.approx(0) and axis.at(low * ratio) == pytest.approx(100)
    assert all(-0.1 <= axis.at(tick) <= 100.1 and f"{tick:.0e}"[0] in "125" for tick in axis.ticks())
    assert len(axis.ticks()) >= 1 or ratio < 2.6
    assert len(axis.ticks()) <= 12


@given(st.floats(0.01, 1e6))
def test_ticks_of_a_linear_axis_are_round_and_few(high: float) -> None:
    ticks = LinearAxis(0, high, 0, 100).ticks(5)
    assert ticks[0] == 0 and ticks[-1] <= high * 1.001 and 2 <= len(ticks) <= 7


@given(st.lists(st.floats(0, 300), max_size=8))
def test_labels_are_moved_apart_and_keep_their_order(wanted: list[float]) -> None:
    placed = spread_labels(wanted, 28, 0, 300)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    gaps = [placed[b] - placed[a] for a, b in pairwise(order)]
    assert all(gap >= 28 - 1e-6 for gap in gaps)
    assert not placed or max(placed) <= 300 + 1e-6


def test_a_label_finds_the_free_side_of_its_point_or_none() -> None:
    place = Labels(0, 0, 200, 100)
    assert place.label("abc", 100, 50, 12) == (109, 54, "start", False)
    place.keep_off([(105, 50), (200, 50)])
    found = Labels(0, 0, 200, 100)
    found.take(104, 30, 200, 70)
    assert found.label("abc", 100, 50, 12) == (91, 54, "end", False)
    found.take(0, 0, 200, 100)
    assert found.label("abc", 100, 50, 12) is None


def test_long_names_are_cut_to_the_width() -> None:
    assert shorten("NVIDIA H200", 20, 900) == "NVIDIA H200"
    cut = shorten(HOSTILE * 9, 20, 300)
    assert cut.endswith("…") and text_width(cut, 20) <= 310


@for_each(
    ("wanted", "placed"),
    [
        ((), ()),
        ((50,), (50,)),
        ((10, 60), (10, 60)),
        ((60, 10), (60, 10)),
        ((50, 50, 50), (50, 60, 70)),
        ((95, 99, 100), (80, 90, 100)),  # back from the end
        ((20, 99, 100), (20, 90, 100)),  # only those that stand in the way
        ((-5, 300), (0, 100)),
    ],
)
def test_a_label_moves_no_further_than_it_must(wanted: tuple[float, ...], placed: tuple[float, ...]) -> None:
    assert spread_labels(list(wanted), 10, 0, 100) == list(placed)
