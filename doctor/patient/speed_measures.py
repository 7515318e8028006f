"""Part of the agent torch_speed: all measures of a device."""

from __future__ import annotations

from .figures import median
from .speed_copies import Copies
from .speed_plan import ELEMENT_BYTES, MIB, batch_factor, mixed_type, operation_costs
from .speed_training import Training

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Tuple

    Call = Callable[[int], Any]


class Measures(Copies):
    """The measures of one device. Each emits its lines, or raises."""

    def steps(self) -> List[Tuple[str, float, Callable[[], None]]]:
        """Name, least seconds and function of each measure, the ones worth most first."""
        gpu = self.processor.kind == "cuda"
        half, other = ("fp16", "bf16") if gpu and self.processor.capability < (8, 0) else ("bf16", "fp16")
        found: List[Tuple[str, float, Callable[[], None]]] = []

        def add(step: str, least_s: float, function: Callable[..., None], *arguments: Any) -> None:
            found.append((step, least_s, lambda: function(*arguments)))

        if gpu:
            add("warm-up", 0.0, self.wake)
        for what in (half, "fp32") if gpu else ("fp32", half):
            add("matmul " + what, 0.25, self.matmul, what)
        add("memory copy", 0.2, self.memory, "copy")
        if gpu:
            add("copy h2d-pinned", 0.2, self.copy, "h2d", True)
            add("copy d2h-pinned", 0.2, self.copy, "d2h", True)
        add("launch eager", 0.1, self.launch_eager)
        add("training", 0.8, self.training)
        add("memory triad", 0.2, self.memory, "triad")
        for what in ("tf32", other, "fp8", "int8", "fp4") if gpu else ():
            add("matmul " + what, 0.25, self.matmul, what)
        if gpu:
            add("launch graph", 0.15, self.launch_graph)
        names = ["linear", "softmax", "gelu", "layer-norm", "residual-add", "attention-scores"]
        if hasattr(self.torch.nn.functional, "scaled_dot_product_attention"):
            names.append("attention")
        for name in names:
            add("operation " + name, 0.1, self.operation, name)
        if gpu:
            add("copy h2d-pageable", 0.2, self.copy, "h2d", False)
            add("copy d2h-pageable", 0.2, self.copy, "d2h", False)
        return found

    def launch_eager(self) -> None:
        """Host time of handing over one tiny kernel; fewer at a time than the launch queue holds."""
        value, launches = self.torch.zeros(1, device=self.processor.name), 200

        def issue() -> None:
            for _ in range(launches):
                value.add_(1)

        with self.torch.no_grad():
            host, done = self.rounds_us(issue, launches)
        detail = {"launches": launches, "done_us": median(done)}
        self.rate("launch", "eager", median(host), "us", host, detail=detail)

    def launch_graph(self) -> None:
        """The same kernels as one CUDA graph: time for each until the device is done, by the host's clock."""
        torch, launches = self.torch, 200
        value = torch.zeros(1, device=self.processor.name)
        if not hasattr(torch.cuda, "CUDAGraph"):
            self.agent.ended("launch graph", "skipped", "this torch has no CUDA graphs")
            return
        with torch.no_grad():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                value.add_(1)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(launches):
                    value.add_(1)
            host, done = self.rounds_us(graph.replay, launches)
        detail = {"launches": launches, "host_us": median(host)}
        self.rate("launch", "graph", median(done), "us", done, detail=detail)

    def operation(self, name: str) -> None:
        """One operation in the type that mixed precision uses here: rate, bandwidth and arithmetic intensity."""
        what = mixed_type(self.processor.capability)
        model = self.plan.model
        batch = batch_factor(self.processor.sms) if self.processor.kind == "cuda" else 2

        def measure(batch: int) -> None:
            costs = operation_costs(batch, model.sequence * 2, model.width * 2, model.heads * 2, ELEMENT_BYTES[what])
            group, flops, moved = costs[name]
            call = self.operation_call(name, what, batch, moved)
            times = self.times_ms(call, self.short_s)
            ms = self.typical(times)
            detail = {"flops": flops, "bytes": moved, "ms": ms, "gb_s": moved / ms / 1e6, "intensity": flops / moved}
            self.rate("operation", name, flops / ms / 1e9, "TFLOP/s", times, group=group, detail=detail)

        with self.torch.no_grad():
            self.shrinking("operation " + name, batch, 1, measure)

    def operation_call(self, name: str, what: str, batch: int, moved: int) -> Call:
        """A call that works on one of several sets of random inputs; shapes as in operation_costs."""
        torch, model = self.torch, self.plan.model
        functional = torch.nn.functional
        sequence, width, heads = model.sequence * 2, model.width * 2, model.heads * 2
        head = width // heads
        shapes: Dict[str, Tuple[Tuple[int, ...], ...]] = {
            "linear": ((batch, sequence, width), (4 * width, width)),
            "attention-scores": ((batch * heads, sequence, head), (batch * heads, sequence, head)),
            "attention": ((batch, heads, sequence, head),) * 3,
            "softmax": ((batch * heads, sequence, sequence),),
            "layer-norm": ((batch, sequence, 4 * width), (4 * width,), (4 * width,)),
            "gelu": ((batch, sequence, 4 * width),),
            "residual-add": ((batch, sequence, 4 * width),) * 2,
        }
        functions: Dict[str, Any] = {
            "linear": functional.linear,
            "attention-scores": lambda q, k: torch.bmm(q, k.transpose(1, 2)),
            "attention": getattr(functional, "scaled_dot_product_attention", None),
            "softmax": lambda x: torch.softmax(x, -1),
            "layer-norm": lambda x, weight, bias: functional.layer_norm(x, weight.shape, weight, bias),
            "gelu": functional.gelu,
            "residual-add": torch.add,
        }
        function = functions[name]
        inputs = [tuple(self.random(what, *shape) for shape in shapes[name]) for _ in range(self.sets(moved))]
        return lambda number: function(*inputs[number % len(inputs)])

    def training(self) -> None:
        """A small training step: samples/s, forward and backward time, and what the memory is used for."""
        model = self.plan.model
        batch = model.batch * (batch_factor(self.processor.sms) if self.processor.kind == "cuda" else 1)
        need = 24 * 12 * model.layers * model.width**2
        free, largest = self.processor.free_bytes(), batch
        while largest > 1 and need + 40 * largest * model.sequence * model.width * model.layers > 0.8 * free:
            largest //= 2
        if largest < batch:
            detail = "%d MiB free: made smaller, batch %d instead of %d" % (free / MIB, largest, batch)
            self.agent.ended("training", "skipped", detail)
        self.shrinking("training", largest, 1, lambda size: Training(self, size, size < batch).run())
