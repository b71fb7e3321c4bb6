"""A module as operators: torch.fx nodes put together to units that run on one device.

Placeholders and get_attr nodes (parameters, buffers, constants) are no operators. Tuples' members, views,
sizes and Python numbers belong to the operator that makes what they are taken from.
"""
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Sequence

import torch
from torch import fx

from .inplace import make_safe
from .operators import Op, make_operators
from .proxy import DataDependent
from .recorded import recorded
from .spec import Loaded, Spec, SpecError, load, nearest, one_line, parse_spec, tell, where
from .structure import Rebuild, flatten
from .tracer import Tracer, info, is_tensor


@dataclass
class Traced:
    """A traced module.

    graph_module   forward(*inputs) gives the output's tensors as a tuple; submodules and parameters are the
                   module's own, under their names
    inputs         the tensors of args and kwargs, in the order of the placeholders
    ops, op_of     operators in topological order, and the operator of each node that belongs to one
    loss           of what the module returns
    rebuild        makes what the module returns of the tensors that graph_module gives
    """

    spec: Spec
    module: torch.nn.Module
    graph_module: fx.GraphModule
    args: Sequence[Any]
    kwargs: Dict[str, Any]
    inputs: List[torch.Tensor]
    ops: List[Op]
    op_of: Dict[fx.Node, int]
    loss: Callable[[Any], torch.Tensor]
    rebuild: Rebuild

    @property
    def mode(self) -> str:
        """inference or training."""
        return self.spec.mode


def default_loss(output: Any) -> torch.Tensor:
    """The mean over the outputs of their means, complex and whole numbers aside."""
    means = [t.mean() for t in flatten(output, is_tensor)[0] if t.is_floating_point()]
    if not means:
        raise ValueError("the module returns no floating-point tensor; give a loss")
    return torch.stack([m.to(means[0]) for m in means]).mean()


@contextmanager
def kept_state(module: torch.nn.Module) -> Iterator[None]:
    """Buffers (running means) and random numbers are afterwards as they were before."""
    buffers = [(b, b.detach().clone()) for b in module.buffers()]
    random = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.copy_(before)


def leaf_classes(module: torch.nn.Module, spec: Spec) -> List[type]:
    """The classes that are called so, with or without the name of their module. Raises SpecError."""
    classes = list(dict.fromkeys(type(m) for m in module.modules()))
    found: List[type] = []
    for name in spec.leaves:
        named = [c for c in classes if name in (c.__name__, f"{c.__module__}.{c.__qualname__}")]
        if not named:
            known = sorted({c.__name__ for c in classes})
            raise SpecError(f"{spec.path}: the module has no part of class '{name}'{nearest(name, known)}")
        if type(module) in named:
            raise SpecError(f"{spec.path}: '{name}' is the whole module; kept whole, nothing could be placed")
        found += named
    return found


def run_tracer(tracer: Tracer, loaded: Loaded, spec: Spec) -> fx.Graph:
    """The graph of a module. Raises SpecError with the line where it failed."""
    try:
        with kept_state(loaded.module), torch.no_grad(), recorded(tracer):
            return tracer.trace(loaded.module)
    except (Exception, SystemExit) as error:
        raise failure(tracer, loaded, spec, error) from error


def runs(loaded: Loaded) -> bool:
    """Does the module run on its inputs, untraced?"""
    try:
        with kept_state(loaded.module), torch.no_grad():
            loaded.module(*loaded.args, **loaded.kwargs)
        return True
    except (Exception, SystemExit):
        return False


def failure(tracer: Tracer, loaded: Loaded, spec: Spec, error: BaseException) -> SpecError:
    """What to tell of an exception in the module's code: is it the code's, or that of tracing it?"""
    name, cls = tracer.failed_in or ("", type(tracer.root))
    part = f"'{name}' ({cls.__name__})" if name else f"the module ({cls.__name__})"
    if not isinstance(error, DataDependent) and not runs(loaded):
        return tell(spec, f"{part} failed on the example inputs", error)
    why = one_line(error)
    if isinstance(error, DataDependent):
        why = "the way through its code depends on the values of a tensor"
    way = f"the word leaf={cls.__name__} keeps it whole" if name else "only modules inside it can be kept whole"
    return SpecError(f"{where(error.__traceback__) or spec.path}: {part} cannot be traced: {why}; {way}")


def trace(text: str, leaves: Sequence[str] = ()) -> Traced:
    """Load and trace what a spec names. Raises UsageError, SpecError."""
    spec = parse_spec(text, tuple(leaves))
    return trace_loaded(load(spec), spec)


def trace_loaded(loaded: Loaded, spec: Spec) -> Traced:
    """Trace a module that was loaded. Raises SpecError."""
    inputs, rebuild = flatten((loaded.args, loaded.kwargs), is_tensor)
    tracer = Tracer(inputs, rebuild, leaf_classes(loaded.module, spec))
    graph = run_tracer(tracer, loaded, spec)
    graph_module = fx.GraphModule(tracer.root, graph)
    make_safe(graph_module)
    graph_module.recompile()
    ops, op_of = make_operators(graph_module)
    if not ops:
        raise SpecError(f"{spec.path}: the module computes nothing")
    return Traced(spec, loaded.module, graph_module, loaded.args, loaded.kwargs, inputs, ops, op_of,
                  loaded.loss or default_loss, tracer.rebuild)


__all__ = ["Op", "Traced", "info", "trace", "trace_loaded"]
