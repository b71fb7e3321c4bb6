"""What torch.fx does not see by itself, seen while a module is traced: factories, custom functions, isinstance."""
import builtins
import functools
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Iterator

import torch

from .proxy import ValueProxy
from .tracer import FACTORIES, Tracer, proxies_in

RANDOM = ("rand", "randint", "randn", "randperm")


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute is another one inside."""
    own = name in vars(owner)
    before = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def factory(tracer: Tracer, name: str) -> Callable[..., Any]:
    """torch.zeros and its kin: called with sizes out of the graph, or for random numbers, they become nodes."""
    original = getattr(torch, name)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not tracer.evaluating and (name in RANDOM or tracer.all_constants
                                      or proxies_in((args, kwargs))):
            return tracer.create_proxy("call_function", original, args, kwargs)
        return original(*args, **kwargs)

    return call


class Applied:
    """The function that calls a torch.autograd.Function: what a node of the graph has as its target."""

    def __init__(self, function: type) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__module__ = __name__

    def __call__(self, *args: Any) -> Any:
        return self.function.apply(*args)


def apply_of(tracer: Tracer) -> Any:
    """torch.autograd.Function.apply: a custom function is one operation, with a backward pass of its own."""
    own = vars(torch.autograd.Function).get("apply")

    def apply(cls: type, *args: Any) -> Any:
        if not tracer.evaluating and proxies_in(args):
            return tracer.create_proxy("call_function", Applied(cls), args, {})
        original = own.__get__(None, cls) if own is not None else super(torch.autograd.Function, cls).apply
        return original(*args)

    return classmethod(apply)


def isinstance_of() -> Callable[[Any, Any], bool]:
    """isinstance for Python code, to which a proxy of a tensor is a tensor. C code sees what it is."""
    original = builtins.isinstance

    def call(value: Any, kind: Any) -> bool:
        if original(value, kind):
            return True
        return type(value) is ValueProxy and original(value.held, torch.Tensor) and original(value.held, kind)

    return call


@contextmanager
def recorded(tracer: Tracer) -> Iterator[None]:
    """All of it, while a module is traced."""
    with ExitStack() as stack:
        for name in FACTORIES:
            stack.enter_context(replaced(torch, name, factory(tracer, name)))
        stack.enter_context(replaced(torch.autograd.Function, "apply", apply_of(tracer)))
        stack.enter_context(replaced(builtins, "isinstance", isinstance_of()))
        yield
