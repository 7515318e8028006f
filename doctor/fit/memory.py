"""Memory of a training or of inference on one GPU, by part, as a range.

Activations by the closed form of Korthikanti et al. 2022 (arxiv.org/abs/2205.05198): each layer keeps the inputs of its
products, softmax and dropout; 34 s b h + 5 a s^2 b bytes for GPT in half precision. The same terms by width give any
encoder or decoder. Attention without the s^2 term (FlashAttention, scaled_dot_product_attention) is the low end.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from .rules import Rule, rules, size_of, states
from .shape import Shape
from .stored import Stored
from .work import Counted, Work

GIB, MIB = 1 << 30, 1 << 20


class Part(Struct, frozen=True):
    """One part of the memory, in bytes."""

    name: str
    low: float
    high: float
    note: str = ""


class Estimate(Struct, frozen=True):
    """All parts, for one GPU that holds everything."""

    parts: tuple[Part, ...]
    states: tuple[float, float] = (0.0, 0.0)
    """Of the parts in `STATES` together: whole rule tables disagree less than their parts do."""
    accumulating: bool = False
    """Gradients stay from one batch to the next."""

    @property
    def shared(self) -> float:
        """Bytes that gradients and activations may save: where gradients are freed after each step, these come as those
        go. Nothing if they are summed over several batches."""
        if self.accumulating:
            return 0.0
        parts = {part.name: part.low for part in self.parts}
        return min(parts.get("gradients", 0.0), parts.get("activations", 0.0))

    @property
    def low(self) -> float:
        """Bytes."""
        return self.states[0] + sum(part.low for part in self.parts if part.name not in STATES) - self.shared

    @property
    def high(self) -> float:
        """Bytes."""
        return self.states[1] + sum(part.high for part in self.parts if part.name not in STATES)


_MOVING = ("activations", "logits")
"""What is made and freed in every step."""
STATES = ("weights", "gradients", "master", "master gradients", "optimizer")
FROZEN = "frozen weights"
ROOTS = "optimizer step"
"""What torch's AdamW takes while it steps (docs.pytorch.org: torch.optim, foreach), beyond the activations' room."""


def estimate(shape: Shape, count: float, work: Work, parts: float = 1.0) -> Estimate:
    """Of a model of this shape with `count` parameters; `parts`: how many GPUs share each layer evenly."""
    if work.task == "inference":
        held = _inference(shape, count, work)
        states = held[0].low, held[0].high
    else:
        held, states = _training(shape, count, work)
    return replace(beside(held, states, parts, work.context), accumulating=work.accumulation > 1)


def beside(held: Sequence[Part], states: tuple[float, float], parts: float = 1.0, measured: float = 0.0) -> Estimate:
    """These parts, shared by `parts` GPUs, with what each process needs in addition; measured: bytes of its context."""
    shared = [Part(p.name, p.low / parts, p.high / parts, p.note) for p in held if p.high]
    moving = [p for p in shared if p.name in _MOVING]
    slack, workspace, context = rules().fragmentation_percent, rules().workspace_mib, rules().context_mib
    least, most = (context.low * MIB, context.high * MIB) if not measured else (measured, measured)
    own = (
        Part("fragmentation", *(sum(getattr(p, e) for p in moving) * getattr(slack, e) / 100 for e in ("low", "high"))),
        Part("workspace", workspace.low * MIB, workspace.high * MIB),
        Part("CUDA context", least, most, "as measured" if measured else ""),
    )
    return Estimate((*shared, *own), (states[0] / parts, states[1] / parts))


def chosen(work: Work) -> tuple[Rule, ...]:
    """The rule tables that apply. Raises KeyError for one that there is none of."""
    found = tuple(rule for rule in rules().rules if work.rule in ("", rule.name))
    if not found:
        raise KeyError(work.rule)
    return found


def _training(shape: Shape, count: float, work: Work) -> tuple[list[Part], tuple[float, float]]:
    trained = adapters(shape, work.lora) if work.lora else count
    found = []
    if work.lora:
        if work.stored is None or work.base:
            found.append(_weights(FROZEN, shape, count, work.base or "bf16"))
        else:
            found.append(_as_stored(FROZEN, work.stored))
    for name in STATES:
        each = [per_parameter(rule, work).get(name, 0.0) for rule in chosen(work)]
        span = f"{min(each):g} to {max(each):g}" if min(each) != max(each) else f"{each[0]:g}"
        found.append(Part(name, trained * min(each), trained * max(each), f"{span} bytes each"))
    sums = [trained * sum(per_parameter(rule, work).values()) for rule in chosen(work)]
    moving = activations(shape, work)
    found += moving
    if work.optimizer == "adamw":
        # torch's AdamW takes all square roots at once, when the activations are gone; a fused one does not.
        roots = trained * (4 if work.dtype in ("mixed", "fp32") else 2) - sum(part.high for part in moving)
        found.append(Part(ROOTS, 0.0, max(0.0, roots), "unless fused"))
    return found, (min(sums), max(sums))


_LINEAR_ALONE = ("fp8", "int8", "int4", "nf4", "awq", "gptq")
"""Types that only linear layers have: embeddings and the output stay in half precision."""


def _weights(name: str, shape: Shape, count: float, dtype: str) -> Part:
    size = size_of(dtype)
    outer = shape.hidden * shape.vocab * (2 if shape.head and not shape.tied else 1)
    kept = min(float(outer), count) if dtype in _LINEAR_ALONE else 0.0
    held = (count - kept) * size + kept * 2
    note = f"{8 * size:.4g} bits each" + (", embeddings in 16" if kept else "")
    return Part(name, held, held, note)


def _as_stored(name: str, stored: Stored) -> Part:
    return Part(name, stored.low, stored.high, f"as stored: {stored.words}")


def per_parameter(rule: Rule, work: Work) -> dict[str, float]:
    """Bytes per trained parameter by part, for the precision and the optimizer."""
    own = states(rule, work.optimizer)
    if work.dtype == "mixed":
        return own
    size = size_of(work.dtype)
    of_states = own["optimizer"] * (size / 4 if work.optimizer != "adamw-8bit" else 1)
    return {"weights": size, "gradients": size, "optimizer": of_states}


def adapters(shape: Shape, rank: int) -> int:
    """Parameters of LoRA's two matrices of this rank on each linear layer: rank x (inputs + outputs)."""
    s = shape
    attention = 2 * (s.hidden + s.query) + 2 * (s.hidden + s.key)
    width = s.expert_ffn or s.ffn
    forward = s.matrices * (s.hidden + width) * max(1, s.experts)
    return rank * s.layers * (attention + forward)


def activations(shape: Shape, work: Work) -> list[Part]:
    """What the backward pass needs: of all layers, or with checkpointing their inputs and one layer."""
    if work.counted is not None:
        return [_counted(shape, work, work.counted)]
    size = 4 if work.dtype == "fp32" else 2
    tokens = work.sequence * work.batch
    ways = {"eager": (False, False), "fused": (True, True)}.get(work.attention, (True, False))
    mixed = work.dtype == "mixed"
    low = tokens * of_layer(shape, work.sequence, size, ways[0])
    mask = 1 if ways[1] else 4 if mixed else size
    high = tokens * of_layer(shape, work.sequence, size, ways[1], mixed, mask)
    layer = low, high
    if work.checkpointing:
        kept = tokens * shape.hidden * size * shape.layers
        low, high = kept + low, kept + high
    else:
        low, high = low * shape.layers, high * shape.layers
    rows = [Part("activations", low, high, "checkpointed" if work.checkpointing else "")]
    if shape.head:
        logits = tokens * shape.vocab
        least, most = float(logits * (8 + size)), float(logits * (12 + size))
        if work.checkpointing:  # they are gone when the first layer is computed again
            least, most = max(0.0, least - layer[0]), max(0.0, most - layer[1])
        rows.append(Part("logits", least, most, f"over {shape.vocab} tokens"))
    return rows


def _counted(shape: Shape, work: Work, counted: Counted) -> Part:
    """As the pass gave it for its own length; another length by the closed form's proportion."""
    ends = counted.spared if work.checkpointing else counted.plain
    if work.sequence != counted.sequence:
        forms = []
        for length in (work.sequence, counted.sequence):
            form = activations(shape, replace(work, counted=None, sequence=length, batch=1))
            forms.append((sum(part.low for part in form), sum(part.high for part in form)))
        ends = ends[0] * forms[0][0] / forms[1][0], ends[1] * forms[0][1] / forms[1][1]
    note = "counted on the meta device" + (", checkpointed" if work.checkpointing else "")
    return Part("activations", work.batch * ends[0], work.batch * ends[1], note)


def of_layer(
    shape: Shape, sequence: int, size: int, flash: bool = False, autocast: bool = False, mask: int = 1
) -> float:
    """Bytes per token that one layer keeps for the backward pass; `size`: bytes of an element, `mask`: of dropout's.

    autocast: norms and softmax are in single precision, written out in steps, and each product has a half copy of what
    it takes, as torch's autocast makes them.
    """
    s, mask = shape, mask * int(shape.dropout)
    width = (s.expert_ffn or s.ffn) * max(1, s.active_experts) + s.shared_ffn
    keys = s.query if autocast and not flash else s.key  # repeated for each head where attention is written out
    if autocast:
        norms = 2 * s.hidden * (4 if s.bias or flash else 8)
        inputs = 2 * s.hidden * (3 + (2 if s.gated else 1))
    else:
        norms, inputs = 2 * s.hidden * size, 2 * s.hidden * size
    attention = (2 * s.query + 2 * keys) * size + mask * s.hidden
    row = (size if not autocast else 6) + mask + (size if mask and not autocast else 0)
    scores = s.heads * 4 if flash else s.heads * sequence * row
    middle = (4 if s.gated else 2) * width * size
    return norms + inputs + attention + scores + middle + mask * s.hidden


def kv_bytes(shape: Shape, kv_dtype: str) -> float:
    """Bytes of keys and values, or of what they are made from, per token, of all layers."""
    each = shape.latent.kept if shape.latent else 2 * shape.key
    return shape.layers * each * size_of(kv_dtype)


def cache(shape: Shape, work: Work) -> tuple[float, float]:
    """Bytes of keys and values of all requests: low and high, where it is not known which layers have a window."""
    whole, windows = kv_bytes(shape, work.kv_dtype) * work.sequence, shape.windows
    saved = whole / shape.layers * max(0.0, 1 - windows.tokens / work.sequence)
    return work.batch * (whole - windows.most * saved), work.batch * (whole - windows.least * saved)


def _inference(shape: Shape, count: float, work: Work) -> list[Part]:
    tokens = work.batch * work.sequence
    held = cache(shape, work)
    windows = shape.windows
    short = (
        f"; {windows.most} layers keep only {windows.tokens}"
        if windows.least and windows.tokens < work.sequence
        else ""
    )
    widest = max(shape.hidden * 4, (shape.expert_ffn or shape.ffn) * (2 if shape.gated else 1))
    step = 2 * work.batch, 2 * tokens  # one token of each request, or all of their prompts at once
    low, high = (x * widest + work.batch * shape.vocab * 4 for x in step)
    kept = f"{tokens} tokens, {kv_bytes(shape, work.kv_dtype) / 1024:.0f} KiB each{short}"
    return [
        _as_stored("weights", work.stored) if work.stored else _weights("weights", shape, count, work.dtype),
        Part("KV cache", *held, kept),
        Part("activations", low, min(high, low + 2 * GIB), "for one step"),
    ]
