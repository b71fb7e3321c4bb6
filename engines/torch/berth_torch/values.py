"""Values between operators: tensors, numbers, and nested structures of them."""
from __future__ import annotations

import math
from typing import Any, Callable

import torch

from .structure import flatten
from .tracer import is_tensor, tensor_bytes, tensors_in


def map_tensors(value: Any, fn: Callable[[torch.Tensor], Any]) -> Any:
    """The value with fn of each tensor in its place; all else is kept as it is."""
    if isinstance(value, torch.Tensor):
        return fn(value)
    leaves, rebuild = flatten(value, is_tensor)
    return rebuild([fn(t) for t in leaves])


def bytes_of(value: Any) -> int:
    """Bytes of all tensors in a value."""
    return sum(tensor_bytes(t) for t in tensors_in(value))


def layout_of(t: torch.Tensor) -> torch.Tensor:
    """What tells a tensor's type and shape, and its strides where it is dense: a tensor without values."""
    like = torch.empty_like(t, device="cpu")
    return torch.empty_strided(like.size(), like.stride(), dtype=t.dtype, device="meta")


def differentiable(t: torch.Tensor) -> bool:
    """Can it have a gradient?"""
    return t.is_floating_point() or t.is_complex()


def leaf_of(t: torch.Tensor) -> torch.Tensor:
    """The tensor as the start of a new autograd graph, where it can have a gradient."""
    return t.detach().requires_grad_() if differentiable(t) else t


def _comparable(t: torch.Tensor) -> torch.Tensor:
    """On the CPU, as a type whose differences are exact enough."""
    t = t.detach().to("cpu")
    return t if t.dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128) else t.double()


def _gap(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    """The largest difference, and the largest entry of b, where both are finite; elsewhere they are to be equal."""
    gap, top = float((a - b).abs().max()), float(b.abs().max())
    if math.isfinite(gap) and math.isfinite(top):
        return gap, top
    known = torch.isfinite(b)
    alike = torch.where(known, torch.isfinite(a), (a == b) | (torch.isnan(a) & torch.isnan(b)))
    if not bool(alike.all()):
        return float("inf"), 1.0
    if not bool(known.any()):
        return 0.0, 0.0
    return float((a - b)[known].abs().max()), float(b[known].abs().max())


def _one_difference(ours: torch.Tensor, theirs: torch.Tensor, floor: float) -> float:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if not ours.numel():
        return 0.0
    gap, top = _gap(_comparable(ours), _comparable(theirs))
    top = max(top, floor)
    return gap / top if top else gap and float("inf")


def difference(ours: list[torch.Tensor], theirs: list[torch.Tensor], floor: float = 0.0) -> float:
    """The largest deviation of a tensor, relative to its largest entry (at least floor).

    Other shapes, other types, and entries that are not finite and not the same: infinity.
    """
    if len(ours) != len(theirs):
        return float("inf")
    return max((_one_difference(a, b, floor) for a, b in zip(ours, theirs)), default=0.0)
