"""Proxies that know their value: torch.fx's tracing, with shapes at hand and errors where they happen.

A ValueProxy stands for a node of the graph and holds what the node gives for the example inputs. What is
known from a shape can steer the code (`if x.size(0) > 1`, `for i in range(x.size(1))`); values of tensors
cannot.
"""
import operator
from typing import Any, Iterator

import torch
from torch import fx

FIXED = ("device", "dtype", "is_cuda", "layout", "ndim", "requires_grad", "grad_fn", "is_sparse", "is_leaf",
         "is_quantized", "is_mkldnn", "is_meta", "is_nested", "dim", "ndimension", "is_floating_point",
         "is_complex", "is_contiguous", "get_device", "element_size")
VALUES = ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "nonzero_static")
HOOKS = ("register_hook", "register_post_accumulate_grad_hook")
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "imatmul")


class Untraceable(Exception):
    """The code does what operators do not show; the text tells what."""


class DataDependent(Untraceable):
    """The code asks for the value of a tensor to decide which way to go."""


class ValueProxy(fx.Proxy):
    """A node and its value for the example inputs; tainted: a Python value that a tensor's numbers decide."""

    def __init__(self, node: fx.Node, tracer: fx.Tracer, value: Any, tainted: bool) -> None:
        super().__init__(node, tracer)
        self.held = value
        self.tainted = tainted

    def __getattr__(self, name: str) -> Any:
        if name in ("held", "tainted", "node", "tracer"):
            raise AttributeError(name)
        value = self.held
        found = getattr(value, name)  # no such attribute is the user's error, as without tracing
        if isinstance(value, torch.Tensor):
            if name in FIXED:
                return found
            if name == "data":
                return self.detach()
            if name in HOOKS:
                raise Untraceable(f"a gradient's hook ({name}) has no place between operators")
        if callable(found):
            return lambda *args, **words: self.tracer.create_proxy("call_method", name, (self, *args), words)
        return self.tracer.create_proxy("call_function", getattr, (self, name), {})

    def decided(self) -> Any:
        """The value, where the code may depend on it."""
        if isinstance(self.held, torch.Tensor) or self.tainted:
            raise DataDependent("the way through its code depends on the values of a tensor")
        self.tracer.steered = True
        return self.held

    def __bool__(self) -> bool:
        return bool(self.decided())

    def __int__(self) -> int:
        return int(self.decided())

    def __index__(self) -> int:
        return operator.index(self.decided())

    def __float__(self) -> float:
        return float(self.decided())

    def __len__(self) -> int:
        self.tracer.steered |= isinstance(self.held, torch.Tensor)
        return len(self.held)

    def __iter__(self) -> Iterator[Any]:
        self.tracer.steered |= isinstance(self.held, torch.Tensor)
        return (self[i] for i in range(len(self.held)))

    def __contains__(self, what: Any) -> bool:
        return what in self.decided()

    def __format__(self, spec: str) -> str:
        return format(self.held, spec)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.create_proxy("call_function", operator.setitem, (self, key, value), {})


def in_place(name: str) -> Any:
    """The method of `x += y` and its kin: recorded as it is for tensors, as `x + y` for numbers."""
    on_tensors, on_numbers = getattr(operator, name), getattr(operator, f"__{name[1:]}__")

    def method(self: ValueProxy, other: Any) -> Any:
        target = on_tensors if isinstance(self.held, torch.Tensor) else on_numbers
        return self.tracer.create_proxy("call_function", target, (self, other), {})

    return method


for _name in IN_PLACE:
    setattr(ValueProxy, f"__{_name}__", in_place(_name))
