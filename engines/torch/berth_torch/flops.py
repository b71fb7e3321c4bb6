"""Operations counted where they happen: below autograd, whatever Python code asks for them."""
import math
from typing import Any, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .dims import Seen
from .tracer import storage_of, tensors_in

FREE = ("empty", "empty_like", "empty_strided", "new_empty", "detach", "set_", "resize_")


def window(weight: torch.Tensor) -> int:
    """Multiplications for each output of a convolution (each input of a transposed one)."""
    return math.prod(weight.shape[1:])


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> int:
    """Multiplications of softmax(q k') v; shapes [..., tokens, width]."""
    pairs = query.numel() // query.shape[-1] * key.shape[-2]
    return pairs * (query.shape[-1] + value.shape[-1])


def macs_of(name: str, args: Tuple[Any, ...], out: Any) -> int:
    """Multiply-accumulates of an operation of ATen; 0: it is no product."""
    if name in ("mm", "bmm"):
        return out.numel() * args[0].shape[-1]
    if name in ("addmm", "baddbmm", "addmv"):
        return out.numel() * args[1].shape[-1]
    if name in ("mv", "dot"):
        return args[0].numel()
    if name in ("convolution", "_convolution", "convolution_overrideable"):
        of = args[0] if args[6] else out
        return of.numel() * window(args[1])
    if name == "convolution_backward":
        of = args[1] if args[7] else args[0]
        return of.numel() * window(args[2]) * sum(bool(wanted) for wanted in args[10][:2])
    if "scaled_dot_product" in name:
        return attention(*args[1:4]) * 5 // 2 if "backward" in name else attention(*args[:3])
    return 0


class Counter(TorchDispatchMode):
    """Counts what runs inside: multiply-accumulates, and elements that everything else makes.

    A view, and what writes no element, counts nothing. flops: two for each multiply-accumulate and one for
    each of the other elements.
    """

    def __init__(self) -> None:
        super().__init__()
        self.macs = 0
        self.elements = 0
        self.seen = Seen()

    @property
    def flops(self) -> int:
        """All operations."""
        return 2 * self.macs + self.elements

    def __torch_dispatch__(self, func: Any, types: Any, args: Tuple[Any, ...] = (),
                           kwargs: Any = None) -> Any:
        name = func._schema.name.split("::")[-1]
        out = func(*args, **(kwargs or {}))
        self.count(name, args, out)
        return out

    def count(self, name: str, args: Tuple[Any, ...], out: Any) -> None:
        """Add one operation."""
        if name in FREE:
            return
        macs = macs_of(name, args, out)
        self.macs += macs
        made = 0
        if macs == 0:
            taken = {storage_of(t) for t in tensors_in(args)} if not name.endswith("_") else set()
            made = sum(t.numel() for t in tensors_in(out) if storage_of(t) not in taken)
        self.elements += made
        if macs or made:
            self.seen.note(name, args, out, macs)


def recurrent_macs(module: torch.nn.RNNBase, steps: int) -> int:
    """Multiply-accumulates of an LSTM, GRU or RNN over steps = tokens times sequences."""
    gates = {"LSTM": 4, "GRU": 3}.get(module.mode, 1)
    ways = 2 if module.bidirectional else 1
    hidden = module.hidden_size
    width = getattr(module, "proj_size", 0) or hidden
    macs, taken = 0, module.input_size
    for _ in range(module.num_layers):
        macs += ways * gates * hidden * (taken + width)
        macs += ways * hidden * width if width != hidden else 0
        taken = ways * width
    return macs * steps


def attention_macs(module: torch.nn.MultiheadAttention, query: Tuple[int, ...], key: Tuple[int, ...]) -> int:
    """Multiply-accumulates of torch.nn's attention; shapes as its inputs have them."""
    batch = 1 if len(query) == 2 else query[0 if module.batch_first else 1]
    tokens, kept = math.prod(query[:-1]) // batch, math.prod(key[:-1]) // batch
    width = module.embed_dim
    products = width * (2 * tokens * width + kept * (module.kdim + module.vdim))
    return batch * (products + 2 * tokens * kept * width)


def least_macs(module: torch.nn.Module, shapes: Any) -> int:
    """What a module of torch.nn computes at least, where a fused kernel hides it. shapes: its inputs'."""
    if isinstance(module, torch.nn.RNNBase) and shapes:
        return recurrent_macs(module, math.prod(shapes[0][:-1]))
    if isinstance(module, torch.nn.MultiheadAttention) and len(shapes) >= 2:
        return attention_macs(module, shapes[0], shapes[1])
    return 0


__all__ = ["Counter", "least_macs"]
