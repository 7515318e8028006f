"""Part of the agent collective_speed: one rank of the process group, and what all ranks have to agree on."""

from __future__ import annotations

import datetime
import os
import select
import socket
import struct
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Sequence, Tuple

SIOCGIFADDR = 0x8915
"""ioctl of Linux: the IPv4 address of an interface (netdevice(7))."""


class Group:
    """This rank and the others. The launcher's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT) say
    which one it is, as torchrun sets them."""

    def __init__(self, torch: Any, device: str, seconds: float) -> None:
        self.torch, self.distributed = torch, torch.distributed
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.per_node = max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
        self.gpu = device != "cpu"
        self.device = "cpu"
        self.until = time.monotonic() + seconds
        self.backend = "gloo"
        if self.gpu:
            offered = max(1, int(torch.cuda.device_count()))
            self.device = "cuda:%d" % (self.local_rank % offered)
            torch.cuda.set_device(self.local_rank % offered)
            self.backend = "nccl" if self.distributed.is_nccl_available() else "gloo"
        else:
            torch.set_num_threads(1)  # several ranks share the cores
        self.reaching = interface_of(address_towards(os.environ.get("MASTER_ADDR", "")))
        """The interface through which the first node is reached."""
        self.interface, self.library_interface = ("", "") if self.gpu else self.choose_interface()

    def join(self, seconds: float, store: str = "") -> None:
        """Meet the other ranks: in a file of this name, or where the launcher's variables say."""
        limit = datetime.timedelta(seconds=max(10.0, seconds))
        how: Dict[str, Any] = {"init_method": "env://"}
        if store:
            how = {"init_method": "file:///" + store.lstrip("/"), "rank": self.rank, "world_size": self.size}
        self.distributed.init_process_group(self.backend, timeout=limit, **how)
        if not self.gpu:
            self.backend = str(self.distributed.get_backend())

    @property
    def nodes(self) -> int:
        return -(-self.size // self.per_node)

    def choose_interface(self) -> Tuple[str, str]:
        """The interface whose address the first node is reached from, and the one that gloo takes by itself.

        gloo binds to what the host's name resolves to, which on many machines is the loopback: over several nodes
        nobody is reached from there. The first node's address is what the user named, so it decides, unless the user
        set GLOO_SOCKET_IFNAME."""
        try:
            by_name = interface_of(socket.gethostbyname(socket.gethostname()))
        except OSError:
            by_name = ""
        chosen = os.environ.get("GLOO_SOCKET_IFNAME", "")
        if not chosen and self.nodes > 1 and self.reaching:
            os.environ["GLOO_SOCKET_IFNAME"] = self.reaching
        return chosen or (self.reaching if self.nodes > 1 else by_name), by_name

    def about(self) -> Dict[str, Any]:
        """Fields of LinkGroup."""
        return {
            "backend": self.backend,
            "ranks": self.size,
            "nodes": self.nodes,
            "interface": self.interface,
            "library_interface": self.library_interface,
            "reaching": self.reaching if self.nodes > 1 else "",
        }

    def sync(self) -> None:
        if self.gpu:
            self.torch.cuda.synchronize()

    def barrier(self) -> None:
        """All ranks come here before one goes on."""
        self.distributed.all_reduce(self.torch.zeros(1, device=self.device))
        self.sync()

    def agree(self, values: Sequence[float]) -> List[float]:
        """What the first rank holds, on all of them."""
        tensor = self.torch.tensor(list(values), dtype=self.torch.float64, device=self.device)
        self.distributed.broadcast(tensor, 0)
        return [float(value) for value in tensor.cpu()]

    def of_all(self, values: Sequence[float]) -> List[List[float]]:
        """The values of every rank, in the order of the ranks."""
        mine = self.torch.tensor(list(values), dtype=self.torch.float64, device=self.device)
        found = [self.torch.zeros_like(mine) for _ in range(self.size)]
        self.distributed.all_gather(found, mine)
        return [[float(value) for value in tensor.cpu()] for tensor in found]

    def texts_of_all(self, text: str) -> List[str]:
        """The text of every rank (torch's own gathering of objects needs NumPy)."""
        data = text.encode("utf-8")
        longest = int(max(row[0] for row in self.of_all([float(len(data))])))
        padded = data.ljust(longest, b" ")
        mine = self.torch.tensor(list(padded), dtype=self.torch.uint8, device=self.device)
        found = [self.torch.zeros_like(mine) for _ in range(self.size)]
        self.distributed.all_gather(found, mine)
        return [bytes(tensor.tolist()).decode("utf-8") for tensor in found]

    def left(self) -> float:
        """Seconds until all has to be over, on this rank's clock."""
        return self.until - time.monotonic()


def address_towards(host: str) -> str:
    """The own IPv4 address from which packets to this host leave; empty where there is no way. Nothing is sent."""
    if not host:
        return ""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def interface_of(address: str) -> str:
    """The name of the interface that has this address; empty where none has."""
    if not address:
        return ""
    if address.startswith("127."):
        return "lo"
    try:
        import fcntl

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            for _, name in socket.if_nameindex():
                try:
                    data = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                except OSError:
                    continue
                if socket.inet_ntoa(data[20:24]) == address:
                    return name
    except (ImportError, OSError):
        pass
    return ""


def bytes_sent(interface: str) -> int:
    """What this network namespace has sent over an interface so far; -1 where that cannot be read."""
    try:
        with open("/proc/self/net/dev") as stream:
            for line in stream:
                name, _, numbers = line.partition(":")
                if name.strip() == interface:
                    return int(numbers.split()[8])
    except (OSError, ValueError, IndexError):
        pass
    return -1


def end_with_stdin() -> None:
    """End when nobody holds the other end of stdin any more: torchrun gives its ranks sessions of their own, so that no
    signal to its group reaches them."""

    def wait() -> None:
        poller = select.poll()
        poller.register(0, select.POLLIN)
        poller.poll()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
