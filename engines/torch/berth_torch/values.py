"""Values between operators: tensors, numbers, and nested structures of them."""
from __future__ import annotations

from typing import Any, Callable

import torch

from .structure import flatten


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def map_tensors(value: Any, fn: Callable[[torch.Tensor], Any]) -> Any:
    """The value with fn of each tensor in its place; all else is kept as it is."""
    if isinstance(value, torch.Tensor):
        return fn(value)
    leaves, rebuild = flatten(value, is_tensor)
    return rebuild([fn(t) for t in leaves])


def tensors_of(value: Any) -> list[torch.Tensor]:
    """The tensors in a value, in order."""
    return [value] if isinstance(value, torch.Tensor) else flatten(value, is_tensor)[0]


def bytes_of(value: Any) -> int:
    """Bytes of all tensors in a value."""
    return sum(t.numel() * t.element_size() for t in tensors_of(value))


def differentiable(t: torch.Tensor) -> bool:
    """Can it have a gradient?"""
    return t.is_floating_point() or t.is_complex()


def _widen(t: torch.Tensor) -> torch.Tensor:
    return t.detach().to("cpu").to(torch.complex128 if t.is_complex() else torch.float64)


def _one_difference(ours: torch.Tensor, theirs: torch.Tensor, floor: float) -> float:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if not ours.numel():
        return 0.0
    a, b = _widen(ours), _widen(theirs)
    known = torch.isfinite(b)
    if not bool((torch.isfinite(a) == known).all()):
        return float("inf")
    gap = float((a - b)[known].abs().max()) if bool(known.any()) else 0.0
    top = max(float(b[known].abs().max()) if bool(known.any()) else 0.0, floor)
    return gap / top if top else gap and float("inf")


def difference(ours: list[torch.Tensor], theirs: list[torch.Tensor], floor: float = 0.0) -> float:
    """The largest deviation of a tensor, relative to its largest entry (at least floor).

    Other shapes, other types, and entries that are finite on one side alone: infinity.
    """
    if len(ours) != len(theirs):
        return float("inf")
    return max((_one_difference(a, b, floor) for a, b in zip(ours, theirs)), default=0.0)
