"""What a GPU computed and copied while it was timed: is it right, is it the same each time, and what was looked at."""

from __future__ import annotations

from collections.abc import Callable

from ..snapshot import CopyProof, Measured, Missing, PairProof, ProductProof, Snapshot, StepEnd, known
from ..snapshot.device_names import in_short
from ..snapshot.measured_proof import PROVES_NOTHING

WAYS = {
    "d2d": "within the GPU's memory", "h2d-pinned": "from pinned host memory", "d2h-pinned": "to pinned host memory",
    "h2d-far": "from host memory on a different NUMA node", "d2h-far": "to host memory on a different NUMA node",
    "h2d-pageable": "from pageable host memory", "d2h-pageable": "to pageable host memory",
}  # fmt: skip
"""A copy as text."""


def products_of(m: Measured, device: str) -> list[ProductProof]:
    """Products that were checked on a device; of one that was checked twice, the worse."""
    found: dict[str, ProductProof] = {}
    for product in known(m.products) or ():
        if product.device == device and _worse(product) >= _worse(found.get(product.what)):
            found[product.what] = product
    return list(found.values())


def _worse(p: ProductProof | None) -> int:
    if p is None or isinstance(p.right, Missing):
        return 0
    return 1 + 2 * bool(p.differing_repeats) + is_suspect(p) if p.right else 5


def copies_of(m: Measured, device: str) -> list[CopyProof]:
    """Copies whose bytes were compared."""
    return [copy for copy in known(m.copies) or () if copy.device == device]


def wrong_results(m: Measured, device: str) -> list[str]:
    """Sentences without a full stop: products off by more than rounding explains, copies that brought other bytes."""
    found = [_wrong_product(p) for p in products_of(m, device) if known(p.right) is False]
    for copy in copies_of(m, device):
        if known(copy.right) is False:
            numbers = f"{copy.wrong_numbers:,} 4-byte numbers" if copy.wrong_numbers else "some bytes"
            found.append(
                f"copies {WAYS.get(copy.what, copy.what)} return wrong bytes: {numbers} in {copy.copies} copies of "
                f"{copy.mib:.0f} MiB"
            )
    return found


def _wrong_product(p: ProductProof) -> str:
    shape = f"{p.m} x {p.n} x {p.k}"
    if p.wrong_blocks:
        off = f", by up to {p.over_bound:.3g} times that" if p.over_bound > 1 else ""
        return (
            f"{p.what} matmuls ({shape}) are wrong: {p.wrong_blocks:,} of {p.blocks:,} sums over the result differ "
            f"from float64 by more than rounding can explain{off}"
        )
    if p.wrong_elements:
        return (
            f"{p.what} matmuls ({shape}) are sometimes wrong: {p.differing_repeats} of {p.repeats} repeats differ, "
            f"and {p.wrong_elements} of the differing elements are off from float64 by more than rounding can explain"
        )
    return f"{p.what} matmuls ({shape}) are wrong"


def unrepeatable(m: Measured) -> list[ProductProof]:
    """Products whose repeats gave other bits, all of them within what rounding explains; each once."""
    devices = dict.fromkeys(p.device for p in known(m.products) or ())
    found = [p for device in devices for p in products_of(m, device)]
    return [p for p in found if known(p.right) is True and p.differing_repeats]


def is_suspect(p: ProductProof) -> bool:
    """Whether a product is right, but off by more than rounding is expected to make."""
    return known(p.right) is True and bool(known(p.suspect_blocks))


def suspects(m: Measured) -> list[ProductProof]:
    """Products that are suspect and in no process wrong; each once, where it was furthest off."""
    found: dict[tuple[str, str], ProductProof] = {}
    products = known(m.products) or ()
    wrong = {(p.device, p.what) for p in products if known(p.right) is False}
    for p in sorted(filter(is_suspect, products), key=lambda p: p.over_expected):
        if (p.device, p.what) not in wrong:
            found[p.device, p.what] = p
    return list(found.values())


def seen_again(m: Measured, product: ProductProof, odd: Callable[[ProductProof], object]) -> bool | None:
    """Whether a second process on the same GPU saw something odd too; None if there was none."""
    same = [p for p in known(m.products) or () if (p.device, p.what) == (product.device, product.what)]
    return all(map(odd, same)) if len(same) > 1 else None


def not_compared(s: Snapshot) -> Missing | None:
    """The GPUs that were to be measured and of which no result was compared, and why; None if there is none.

    Asked for are those of `--device`, without it all that torch or libcuda lists."""
    m, device = s.measured, known(s.measured.device) or "cpu"
    wanted = [] if device == "cpu" else device.split(",")
    if device == "cuda":
        listed = (f"cuda:{gpu.ordinal}" for gpu in known(s.driver.cuda_devices) or ())
        wanted = list(dict.fromkeys((*(known(m.torch_devices) or ()), *listed)))
    proofs = {proof.device: proof.right for proof in known(m.torch) or ()}
    done = {name for name, right in proofs.items() if known(right) is not None}
    done |= {f"cuda:{proof.device}" for proof in known(m.driver) or () if known(proof.right) is not None}
    left = [name for name in wanted if name not in done]
    if not left:
        return None
    about = proofs.get(left[0])
    reason: Missing = about if isinstance(about, Missing) else Missing("not-asked")
    ends = [end for end in m.ended if end.agent == "torch_proof"]
    words = next((end.detail for end in ends if end.device == left[0] or end.fault in PROVES_NOTHING), reason.detail)
    return Missing(reason.reason, f"no result from {in_short(left)} was compared" + (f": {words}" if words else ""))


def not_verified(m: Measured) -> list[StepEnd]:
    """How the first check ended on each device whose timed products could not be checked, not one: an error before a
    check for which time or memory was missing."""
    timed = {(rate.device, rate.what) for rate in known(m.rates) or () if rate.kind == "matmul"}
    found = []
    for device in sorted({device for device, _ in timed}):
        steps = {f"{check}matmul {what}" for name, what in timed if name == device for check in ("", "check of ")}
        ends = [end for end in m.ended if end.device == device and end.step in steps]
        broken = [end for end in ends if end.fault not in PROVES_NOTHING]
        ends = broken or [end for end in ends if end.step.startswith("check of ")]  # others: timed, but smaller
        if ends and all(known(p.right) is None for p in products_of(m, device)):
            found.append(ends[0])
    return found


def damaged(m: Measured) -> list[PairProof]:
    """Pairs of devices between which data arrived other than it was sent."""
    return [pair for pair in known(m.pairs) or () if known(pair.right) is False]


def suspect_of(pairs: list[PairProof]) -> str:
    """The device that has a part in most of these pairs; of those alike, the first sender: it drives the copy."""
    parts = [pair.source for pair in pairs] + [pair.target for pair in pairs]
    return max(dict.fromkeys(parts), key=parts.count) if parts else ""


def checked_words(m: Measured, device: str, short: bool = False) -> str:
    """`products bf16 and fp16 against float64, 20 repeats alike; ...`: what was looked at; empty if nothing was.

    `short`: which copies is not reported."""
    products = [p for p in products_of(m, device) if known(p.right) is not None]
    copies = [c for c in copies_of(m, device) if known(c.right) is not None]
    words = []
    right = [p for p in products if known(p.right)]
    if right:
        same = [p for p in right if p.repeats and not p.differing_repeats]
        repeats = min((p.repeats for p in same), default=0)
        alike = f", {repeats} bit-identical repeats" if repeats and len(same) == len(right) else ""
        words.append(f"{_list([p.what for p in right])} matmuls correct against float64{alike}")
    words += [f"{p.what} matmuls: {_outcome(p)}" for p in products if _worse(p) > 1]
    same_bytes = [c.what for c in copies if known(c.right)]
    if same_bytes:
        words.append(f"{'' if short else _list(same_bytes) + ' '}copies are byte-identical")
    words += [f"copies {WAYS.get(c.what, c.what)}: wrong bytes" for c in copies if not known(c.right)]
    return "; ".join(words)


def _outcome(p: ProductProof) -> str:
    if not known(p.right):
        return "wrong"
    if not p.differing_repeats:
        count = f"{known(p.suspect_blocks):,} of {p.blocks:,}"
        return f"{count} sums off by up to {p.over_expected:.3g} times the expected error, all within the bound"
    return f"{p.differing_repeats} of {p.repeats} repeats differ in some bits, all within rounding"


def unchecked(m: Measured, device: str) -> list[str]:
    """What was timed on a GPU and not checked: names of products and copies."""
    timed = [rate for rate in known(m.rates) or () if rate.device == device]
    done = {p.what for p in products_of(m, device)} | {c.what for c in copies_of(m, device)}
    names = {r.what: f"{r.what} matmuls" for r in timed if r.kind == "matmul"}
    if any((r.kind, r.what) == ("memory", "copy") for r in timed):
        names["d2d"] = "copies within its memory"
    names |= {r.what: f"{r.what} copies" for r in timed if r.kind == "copy"}
    return [words for what, words in names.items() if what not in done]


def _list(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
