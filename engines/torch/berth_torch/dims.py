"""The shape of an operator's work: docs/formats.md, "Dims". Made of the operations of ATen that ran."""
import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from .tracer import tensors_in

Dims = Dict[str, int]

REDUCING = ("pool", "mean", "sum", "max", "min", "argmax", "argmin", "var", "std", "norm", "softmax", "topk")
PRECISIONS = {torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.qint8: "int8",
              torch.quint8: "int8"}


def product(b: int, m: int, n: int, k: int) -> Dims:
    """b products of [m, k] by [k, n]."""
    return {"b": b, "m": m, "n": n, "k": k}


def convolution(of: torch.Tensor, weight: torch.Tensor, stride: Sequence[int], dilation: Sequence[int],
                transposed: bool, groups: int) -> Dims:
    """of: the tensor whose pixels are counted, which has weight.shape[0] channels."""
    first, other = weight.shape[0], weight.shape[1] * groups
    return {"b": of.shape[0], "in": first if transposed else other, "out": other if transposed else first,
            "pixels": math.prod(of.shape[2:]), "taps": math.prod(weight.shape[2:]), "stride": stride[0],
            "groups": groups, "dilation": dilation[0]}


def dims_of(name: str, args: Tuple[Any, ...], out: Any) -> Optional[Dims]:
    """Of a product of ATen; None: it has no one shape."""
    if name == "mm":
        return product(1, *out.shape, args[0].shape[1])
    if name == "bmm":
        return product(*out.shape, args[0].shape[2])
    if name == "addmm":
        return product(1, *out.shape, args[1].shape[1])
    if name == "baddbmm":
        return product(*out.shape, args[1].shape[2])
    if name in ("mv", "addmv"):
        return product(1, out.numel(), 1, args[name == "addmv"].shape[1])
    if name == "dot":
        return product(1, 1, 1, args[0].numel())
    if name in ("convolution", "_convolution", "convolution_overrideable"):
        return convolution(args[0] if args[6] else out, args[1], args[3], args[5], args[6], args[8])
    if name == "convolution_backward":
        dims = convolution(args[1] if args[7] else args[0], args[2], args[4], args[6], args[7], args[9])
        dims["b"] *= sum(bool(wanted) for wanted in args[10][:2])
        return dims
    return None


def macs_of_dims(dims: Dims) -> int:
    """Multiply-accumulates of a product or a convolution."""
    counted = math.prod(v for k, v in dims.items() if k not in ("stride", "groups", "dilation"))
    return counted // dims.get("groups", 1)


def rows_of(shape: Sequence[int]) -> Dims:
    """Rows of the last dimension."""
    width = shape[-1] if shape else 1
    return {"rows": math.prod(shape[:-1]), "width": width}


class Seen:
    """What the operations of one operator add up to: products, the largest of other tensors, a precision."""

    def __init__(self) -> None:
        self.products: List[Optional[Dims]] = []
        self.largest: Sequence[int] = (0,)
        self.dtype: Optional[torch.dtype] = None

    def note(self, name: str, args: Tuple[Any, ...], out: Any, macs: int) -> None:
        """One operation that computes. What reduces or normalises goes over what it takes."""
        tensors = tensors_in(args if any(part in name for part in REDUCING) else out) or tensors_in(out)
        if macs:
            self.products.append(dims_of(name, args, out))
        elif tensors and tensors[0].numel() > math.prod(self.largest):
            self.largest = tuple(tensors[0].shape)
        for tensor in tensors_in(out):
            if tensor.is_floating_point() and (self.dtype is None or macs):
                self.dtype = tensor.dtype

    def dims(self, macs: int) -> Optional[Dims]:
        """Of all: of products one, or several with equal work; without any, rows; None: it has no shape."""
        if not macs:
            return rows_of(self.largest) if math.prod(self.largest) else None
        works = {p and macs_of_dims(p) for p in self.products}
        first = self.products[0] if len(works) == 1 else None
        if first is None or min(first.values()) < 1:
            return None
        dims = {**first, "b": first["b"] * len(self.products)}
        return dims if macs_of_dims(dims) == macs else None

    def precision(self) -> Optional[str]:
        """None: single, or not known."""
        return PRECISIONS.get(self.dtype) if self.dtype else None


__all__ = ["Dims", "Seen", "rows_of"]
