"""Three small trainings on the CPU, written as people write them; what each holds at its peak, by torch's profiler.

`python trainings.py NAME [BATCH]` under a Python with torch prints one JSON line: bytes of the live memory events at
their peak, and the process's own peak. `gpudoctor fit --model trainings.py:Encoder` makes the same classes.
"""

import json
import resource
import sys

import torch
from torch import nn
from torch.nn import functional

VOCAB, BATCH, SEQUENCE = 8000, 8, 256


class Encoder(nn.Module):
    """torch's own layers; attention as one call."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, 384)
        layer = nn.TransformerEncoderLayer(384, 6, 1536, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.output = nn.Linear(384, VOCAB)

    def forward(self, ids):
        return self.output(self.layers(self.tokens(ids)))


class Norm(nn.Module):
    """RMS norm, written out."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Block(nn.Module):
    """Grouped queries and a gated feed-forward block, scores of attention written out."""

    def __init__(self, width, heads, groups, inner):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        size = self.size
        self.before, self.between = Norm(width), Norm(width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        y = self.before(x)
        q = self.q(y).view(b, n, self.heads, self.size).transpose(1, 2)
        k, v = (
            m(y).view(b, n, self.groups, self.size).transpose(1, 2).repeat_interleave(self.heads // self.groups, 1)
            for m in (self.k, self.v)
        )
        shares = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1)
        x = x + self.o((shares @ v).transpose(1, 2).reshape(b, n, self.heads * self.size))
        y = self.between(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """Of the kind of Llama."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, 512)
        self.blocks = nn.ModuleList(Block(512, 8, 2, 1408) for _ in range(5))
        self.norm, self.output = Norm(512), nn.Linear(512, VOCAB, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x))


class Convolutions(nn.Module):
    """No transformer at all."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, 256)
        self.layers = nn.Sequential(
            *(layer for _ in range(8) for layer in (nn.Conv1d(256, 256, 5, padding=2), nn.BatchNorm1d(256), nn.ReLU()))
        )
        self.output = nn.Linear(256, 10)

    def forward(self, ids):
        return self.output(self.layers(self.tokens(ids).transpose(1, 2)).mean(-1))


def peak(model_class, batch):
    """Bytes of memory events that were live at once, over two steps with AdamW, the model's making included."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        model = model_class().train()
        optimizer = torch.optim.AdamW(model.parameters())
        ids = torch.zeros(batch, SEQUENCE, dtype=torch.long)
        for _ in range(2):
            model(ids).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = peak(
        {c.__name__: c for c in (Encoder, Decoder, Convolutions)}[sys.argv[1]], int((sys.argv[2:] or [BATCH])[0])
    )
    print(json.dumps({"peak": found, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10}))
