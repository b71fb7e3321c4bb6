"""A user's loss in another space: what it holds of tensors (targets, weights of classes) has to be there too.
"""
from __future__ import annotations

import copy
import functools
import types
from typing import Any, Callable

import torch

from .spaces import is_host
from .values import map_tensors

Loss = Callable[[Any], torch.Tensor]


def loss_in(loss: Loss, space: torch.device) -> Loss:
    """The loss with copies of the tensors that it holds: of a function's closure and defaults, of a partial
    function's arguments, of a module. What else it reaches stays where it is."""
    if is_host(space):
        return loss
    if isinstance(loss, torch.nn.Module):
        return copy.deepcopy(loss).to(space)

    def moved(value: Any) -> Any:
        return map_tensors(value, lambda t: t.to(space))

    if isinstance(loss, functools.partial):
        return functools.partial(loss_in(loss.func, space), *moved(loss.args), **moved(loss.keywords))
    if not isinstance(loss, types.FunctionType):
        return loss
    cells = tuple(types.CellType(moved(c.cell_contents)) for c in loss.__closure__ or ())
    made = types.FunctionType(loss.__code__, loss.__globals__, loss.__name__, moved(loss.__defaults__), cells)
    made.__kwdefaults__ = moved(loss.__kwdefaults__)
    return made
