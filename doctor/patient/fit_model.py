"""An encoder or decoder of given widths as plain torch calls: for counting what a training of it keeps.

Two ways to compute the same: `eager` as libraries write it out (scores of attention, norms and the loss in steps of
their own), or fused (attention and norms as one call each, that keep their inputs alone). With `mixed` products run in
half precision, norms, softmax and loss in single precision, as torch's autocast does on CUDA; the copies of weights
that it makes are counted in `copied`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Transformer:
    """Parameters on one device, random or (on `meta`) without values. `shape`: the names of `doctor.fit.shape`."""

    def __init__(self, torch: Any, shape: dict[str, Any], dtype: str, device: str, eager: bool) -> None:
        self.torch, self.shape, self.eager = torch, shape, eager
        self.mixed = dtype == "mixed"
        self.half = torch.bfloat16
        self.device, self.dtype = device, torch.float32 if dtype in ("fp32", "mixed") else self.half
        self.parameters: list[Any] = []
        self.copied = 0
        self.copies: dict[int, Any] = {}
        self.forward = True
        self.fused = fused_attention(torch)
        s = shape
        hidden = s["hidden"]
        self.embeddings = [self.tensor(n, hidden) for n in (s["vocab"], s["positions"], s["kinds"]) if n]
        self.layers = [self.layer(number) for number in range(s["layers"])]
        self.last = self.norm()
        self.output = None
        if s["head"]:
            self.output = self.embeddings[0] if s["tied"] else self.tensor(s["vocab"], hidden)
        self.pooler = self.linear(hidden, hidden, True) if s["pooler"] else None

    # ---- Parameters ----

    def tensor(self, *sizes: int) -> Any:
        found = self.torch.empty(*sizes, dtype=self.dtype, device=self.device)
        if self.device != "meta":
            found.normal_(0.0, 0.02)
        found.requires_grad_(True)
        self.parameters.append(found)
        return found

    def linear(self, inner: int, outer: int, bias: bool | None = None) -> tuple[Any, Any]:
        has_bias = self.shape["bias"] if bias is None else bias
        return self.tensor(outer, inner), self.tensor(outer) if has_bias else None

    def norm(self) -> tuple[Any, Any]:
        hidden = self.shape["hidden"]
        return self.tensor(hidden), self.tensor(hidden) if self.shape["bias"] else None

    def layer(self, number: int) -> dict[str, Any]:
        s = self.shape
        hidden, size = s["hidden"], s["head_dim"] or s["hidden"] // s["heads"]
        query, key = s["heads"] * size, s["kv_heads"] * size
        found: dict[str, Any] = {
            "norms": [self.norm() for _ in range(4 if s["post_norms"] else 2)],
            "q": self.linear(hidden, query), "k": self.linear(hidden, key), "v": self.linear(hidden, key),
            "o": self.linear(query, hidden),
        }  # fmt: skip
        if s["experts"] and number >= s["dense_layers"]:
            width = s["expert_ffn"] or s["ffn"]
            found["router"] = self.linear(hidden, s["experts"], False)
            sizes = [(width, hidden)] * (2 if s["gated"] else 1)
            found["experts"] = [self.tensor(s["experts"], inner, outer) for outer, inner in sizes]
            found["down"] = self.tensor(s["experts"], width, hidden)
            if s["shared_ffn"]:
                found["ffn"] = self.feed_forward(s["shared_ffn"])
        else:
            found["ffn"] = self.feed_forward(s["ffn"])
        return found

    def feed_forward(self, width: int) -> list[tuple[Any, Any]]:
        hidden = self.shape["hidden"]
        ups = [self.linear(hidden, width) for _ in range(2 if self.shape["gated"] else 1)]
        return [*ups, self.linear(width, hidden)]

    # ---- One step ----

    def loss(self, batch: int, sequence: int, checkpointing: bool) -> Any:
        """Of random tokens, next-token or of two classes; a scalar."""
        torch = self.torch
        self.copies, self.copied, self.forward = {}, 0, True
        ids = torch.zeros(batch, sequence, dtype=torch.long, device=self.device)
        functional = torch.nn.functional
        x = functional.embedding(ids, self.embeddings[0])
        for table in self.embeddings[1:]:
            at = torch.zeros(sequence, dtype=torch.long, device=self.device)
            x = x + functional.embedding(at, table)
        x = self.dropped(x)
        for layer in self.layers:
            if checkpointing:
                from torch.utils.checkpoint import checkpoint

                x = checkpoint(self.through, layer, x, use_reentrant=False)
            else:
                x = self.through(layer, x)
        x = self.normed(self.last, x)
        if self.pooler is not None:
            x = torch.tanh(self.product(self.pooler, x[:, 0]))
        if self.output is None:
            return x.float().mean()
        logits = self.product((self.output, None), x)
        labels = torch.zeros(batch * sequence, dtype=torch.long, device=self.device)
        return functional.cross_entropy(logits.float().flatten(0, 1), labels)

    def through(self, layer: dict[str, Any], x: Any) -> Any:
        s = self.shape
        norms = iter(layer["norms"])
        found = self.attention(layer, self.normed(next(norms), x))
        x = x + self.dropped(self.normed(next(norms), found) if s["post_norms"] else found)
        inner = self.normed(next(norms), x)
        found = self.block(layer["ffn"], inner) if "ffn" in layer else 0
        if "experts" in layer:
            found = found + self.expert(layer, inner)
        return x + self.dropped(self.normed(next(norms), found) if s["post_norms"] else found)

    def attention(self, layer: dict[str, Any], x: Any) -> Any:
        torch, s = self.torch, self.shape
        b, n, _ = x.shape
        q, k, v = (
            self.product(layer[name], x).view(b, n, heads, -1).transpose(1, 2)
            for name, heads in (("q", s["heads"]), ("k", s["kv_heads"]), ("v", s["kv_heads"]))
        )
        if not self.eager:
            found = self.fused.apply(q, k, v)
        else:
            groups = s["heads"] // s["kv_heads"]
            if groups > 1:
                k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
            scores = self.by(torch.matmul, q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5
            shares = torch.softmax(scores, -1, dtype=torch.float32) if self.mixed else torch.softmax(scores, -1)
            found = self.by(torch.matmul, self.dropped(shares), v)
        return self.product(layer["o"], found.transpose(1, 2).reshape(b, n, -1))

    def block(self, ffn: list[tuple[Any, Any]], x: Any) -> Any:
        functional = self.torch.nn.functional
        if len(ffn) == 3:
            inner = functional.silu(self.product(ffn[0], x)) * self.product(ffn[1], x)
        else:
            inner = functional.gelu(self.product(ffn[0], x))
        return self.product(ffn[-1], inner)

    def expert(self, layer: dict[str, Any], x: Any) -> Any:
        """Each expert gets an even share of the tokens."""
        torch, s = self.torch, self.shape
        tokens = x.flatten(0, 1)
        shares = torch.softmax(self.product(layer["router"], tokens).float(), -1)
        ways, active = s["experts"], max(1, s["active_experts"])
        each = -(-tokens.shape[0] * active // ways)
        taken = tokens.repeat_interleave(active, 0)
        taken = torch.nn.functional.pad(taken, (0, 0, 0, each * ways - taken.shape[0])).view(ways, each, -1)
        first = self.by(torch.bmm, taken, layer["experts"][0])
        if len(layer["experts"]) > 1:
            inner = torch.nn.functional.silu(first) * self.by(torch.bmm, taken, layer["experts"][1])
        else:
            inner = torch.nn.functional.gelu(first)
        out = self.by(torch.bmm, inner, layer["down"]).flatten(0, 1)[: tokens.shape[0] * active]
        weights = shares[:, :active].reshape(-1, 1).to(out.dtype)
        return (out * weights).view(tokens.shape[0], active, -1).sum(1).view_as(x)

    # ---- Precision ----

    def cast(self, tensor: Any) -> Any:
        """As autocast does it: a weight is copied once in a forward pass, each time where a layer is computed again."""
        if not self.mixed or tensor is None or tensor.dtype != self.torch.float32:
            return tensor
        if not tensor.is_leaf or not self.forward:
            return tensor.to(self.half)
        if id(tensor) not in self.copies:
            self.copies[id(tensor)] = tensor.to(self.half)
            self.copied += 2 * tensor.numel()
        return self.copies[id(tensor)]

    def product(self, linear: tuple[Any, Any], x: Any) -> Any:
        return self.torch.nn.functional.linear(self.cast(x), self.cast(linear[0]), self.cast(linear[1]))

    def by(self, product: Any, a: Any, b: Any) -> Any:
        return product(self.cast(a), self.cast(b))

    def normed(self, norm: tuple[Any, Any], x: Any) -> Any:
        torch, (weight, bias) = self.torch, norm
        if self.mixed:
            x = x.float()
        if bias is not None or not self.eager:  # keeps what a fused RMS norm keeps
            return torch.nn.functional.layer_norm(x, weight.shape, weight, bias)
        single = x.float()
        return weight * (single * torch.rsqrt(single.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def dropped(self, x: Any) -> Any:
        """Its mask takes an element each where it is written out, as measured trainings show; a byte where fused."""
        if not self.shape["dropout"]:
            return x
        return self.torch.nn.functional.dropout(x, 0.1) if self.eager else self.torch.native_dropout(x, 0.1, True)[0]


def fused_attention(torch: Any) -> Any:
    """Attention that keeps q, k, v, its result and one number a row, as FlashAttention does; without values."""

    class Fused(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, q: Any, k: Any, v: Any) -> Any:
            b, heads, n, size = q.shape
            found = torch.empty(b, n, heads, size, dtype=q.dtype, device=q.device).transpose(1, 2)
            rows = torch.empty(q.shape[:-1], dtype=torch.float32, device=q.device)
            context.save_for_backward(q, k, v, found, rows)
            return found

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            q, k, v, _, _ = context.saved_tensors
            return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)

    return Fused
