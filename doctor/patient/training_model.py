"""Part of the agent training_speed: the model, its optimizer and data, and what a step costs."""

from __future__ import annotations

import os
import re

from .cuda_keys import gpu_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Optional, Sequence, Tuple

SAMPLES = 32768
TOWERS = ((256, 512, 512, 128), (128, 512, 512, 128))
TEMPERATURE = 0.07
SLOTS = 3

samples: List[Any] = []  # the training's, one tensor, made once a process


def layers(dims: Sequence[int]) -> List[Tuple[int, int]]:
    """Width before and after each layer."""
    return [(dims[layer], dims[layer + 1]) for layer in range(len(dims) - 1)]


def step_flops(batch: int) -> int:
    """Floating-point operations of the matrix products of a step (element-wise work left out).

    Each product comes once forward and twice backward (gradients of both factors); the gradient of the input is not
    needed. The similarity matrix: batch x batch x embedding.
    """
    products = 0
    for dims in TOWERS:
        products += sum((3 if index else 2) * a * b for index, (a, b) in enumerate(layers(dims)))
    return 2 * batch * products + 2 * 3 * batch * batch * TOWERS[0][-1]


def step_bytes(batch: int) -> int:
    """Least bytes that a step of such operations moves in device memory, 4 a number, each read and write counted once.

    Weights: read forward, read backward (not the first layer's), gradient written, AdamW as one
    operation: reads four, writes three.
    A hidden layer: product written; ReLU reads, writes; read by the next product and by its weights' gradient; gradient
    written; ReLU backward reads two, writes one; that read by weights' and bias's gradients and (not the first) by the
    input's. Input: read forward and for the weights' gradient. Embedding: product written, norm reads, division reads
    and writes, its product reads; backward the same again, and read by the gradients of weights, bias and input.
    Similarity: product written; log-softmax by rows reads, writes; by columns the same on a transposed copy (read,
    written); backward a gradient written, then read with the result, the other written, for both; sum reads two,
    writes one; read by both products backward.
    """
    numbers = 0
    for dims in TOWERS:
        weights = sum(a * b for a, b in layers(dims))
        biases = sum(dims[1:])
        numbers += (1 + 1 + 7) * (weights + biases) + weights - dims[0] * dims[1]
        numbers += batch * (2 * dims[0] + (5 + 1 + 3 + 3) * sum(dims[1:-1]) - dims[1] + (5 + 5 + 3) * dims[-1])
    return 4 * (numbers + (1 + 2 + 4 + 2 * 4 + 3 + 2) * batch * batch)


class Training:
    """Model, optimizer and data for one batch size on one device."""

    def __init__(self, torch: Any, device: str, batch: int, capturable: bool = False) -> None:
        self.torch, self.cuda, self.batch = torch, device != "cpu", batch
        torch.manual_seed(0)
        nn = torch.nn
        self.towers = []
        for dims in TOWERS:
            parts = [part for a, b in layers(dims) for part in (nn.Linear(a, b, device=device), nn.ReLU())]
            self.towers.append(nn.Sequential(*parts[:-1]))
        weights = [weight for tower in self.towers for weight in tower.parameters()]
        more = {"capturable": True} if capturable else {}
        self.optimizer = torch.optim.AdamW(weights, lr=1e-4, **more)
        self.labels = torch.arange(batch, device=device)
        width = TOWERS[0][0] + TOWERS[1][0]
        if not samples:
            samples.append(torch.rand(SAMPLES, width))
        self.slots = [torch.zeros(batch, width, pin_memory=self.cuda) for _ in range(SLOTS)]
        self.copied = [torch.cuda.Event() for _ in range(SLOTS)] if self.cuda else []
        self.x = torch.zeros(batch, width, device=device)
        self.turns = 0

    def load(self, slot: int = 0) -> None:
        """Draw a batch by index into pinned memory, once its last copy is over."""
        if self.cuda:
            self.copied[slot].synchronize()
        self.torch.index_select(samples[0], 0, self.torch.randint(SAMPLES, (self.batch,)), out=self.slots[slot])

    def copy(self, slot: int = 0) -> None:
        if self.cuda:
            self.x.copy_(self.slots[slot], non_blocking=True)
            self.copied[slot].record()
        else:
            self.x = self.slots[slot]

    def step(self) -> None:
        """Forward, backward, optimizer."""
        F, middle = self.torch.nn.functional, TOWERS[0][0]
        self.optimizer.zero_grad(set_to_none=True)
        one = F.normalize(self.towers[0](self.x[:, :middle])) * (1 / TEMPERATURE)
        two = F.normalize(self.towers[1](self.x[:, middle:]))
        similarity = one @ two.t()
        loss = F.cross_entropy(similarity, self.labels) + F.cross_entropy(similarity.t(), self.labels)
        (loss * 0.5).backward()
        self.optimizer.step()

    def turn(self, step: Optional[Callable[[], None]] = None) -> None:
        """One turn of the loop; `step` in the place of the eager one."""
        slot = self.turns % SLOTS
        self.turns += 1
        self.load(slot)
        self.copy(slot)
        (step or self.step)()

    def wait(self) -> None:
        if self.cuda:
            self.torch.cuda.synchronize()

    def capture(self) -> Callable[[], None]:
        """The step as a CUDA graph; its replay."""
        cuda = self.torch.cuda
        stream = cuda.Stream()
        stream.wait_stream(cuda.current_stream())
        with cuda.stream(stream):
            for _ in range(3):
                self.step()
        cuda.current_stream().wait_stream(stream)
        self.optimizer.zero_grad(set_to_none=True)
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            self.step()
        return graph.replay  # type: ignore[no-any-return]


def open_device(torch: Any, device: str) -> str:
    """Make the device current, and its key: "GPU-" and the UUID; empty for the CPU and where nobody tells it."""
    if device == "cpu":
        return ""
    torch.cuda.init()
    torch.cuda.set_device(device)
    torch.zeros(1, device=device)
    torch.cuda.synchronize()
    return gpu_key(torch, torch.cuda.current_device())


def cuda_touched(descriptors: str = "/proc/self/fd") -> bool:
    """Whether this process has initialised CUDA: the driver's nodes are open then."""
    try:
        names = os.listdir(descriptors)
    except OSError:
        return False
    for name in names:
        try:
            if re.match(r"/dev/(nvidia(ctl|\d+|-uvm)|dxg)", os.readlink(os.path.join(descriptors, name))):
                return True
        except OSError:
            pass
    return False
