"""A module as operators: torch.fx nodes put together to units that run on one device.

Placeholders and get_attr nodes (parameters, buffers, constants) are no operators. Tuples' members, views,
sizes and Python numbers belong to the operator that makes what they are taken from.
"""
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import torch
from torch import fx

from .attributes import Attributes
from .inplace import make_safe
from .operators import Op, make_operators
from .proxy import Untraceable
from .recorded import recorded
from .spec import Loaded, Spec, SpecError, load, nearest, one_line, parse_spec, tell, where
from .structure import Rebuild, flatten
from .tracer import Tracer, buffers_of, info, is_tensor


@dataclass
class Traced:
    """A traced module.

    graph_module   forward(*inputs) gives the output's tensors as a tuple; submodules and parameters are the
                   module's own, under their names
    inputs         the tensors of args and kwargs, in the order of the placeholders
    ops, op_of     operators in topological order, and the operator of each node that belongs to one
    loss           of what the module returns
    rebuild        makes what the module returns of the tensors that graph_module gives
    entered        modules whose code ran, by name
    steered        the code looked at sizes: other inputs may go another way through it
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
    entered: Sequence[str] = ()
    steered: bool = False

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
    """Buffers (running means), attributes and random numbers are afterwards as they were before."""
    buffers = [(b, b.detach().clone()) for b in module.buffers()]
    attributes = Attributes(module)
    random = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        attributes.restore()
        with torch.no_grad():
            for buffer, before in buffers:
                buffer.detach_().copy_(before)


def copied(inputs: Sequence[torch.Tensor]) -> List[torch.Tensor]:
    """The inputs in memory of their own, for a module that writes into them."""
    return [t.detach().clone().requires_grad_(t.requires_grad) for t in inputs]


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


def run_tracer(tracer: Tracer, loaded: Loaded, spec: Spec) -> fx.GraphModule:
    """The module as a graph. Gradients are on in training, as they will be. Raises SpecError with the line
    where it failed."""
    try:
        with kept_state(loaded.module), torch.set_grad_enabled(spec.training or spec.gradients), \
                recorded(tracer):
            graph = tracer.trace(loaded.module)
            tracer.check_random()
            check_buffers(loaded.module, tracer, spec)
            return fx.GraphModule(tracer.root, graph)
    except SpecError:
        raise
    except BaseException as error:
        raise failure(tracer, loaded, spec, error) from error


def traced_graph(loaded: Loaded, spec: Spec, whole: Sequence[str]) -> Tuple[Tracer, fx.GraphModule, List[torch.Tensor]]:
    """Trace a module; once more with every constant that forward makes recorded, where it writes into one."""
    inputs, rebuild = flatten((loaded.args, loaded.kwargs), is_tensor)
    leaves = leaf_classes(loaded.module, spec)
    attributes = Attributes(loaded.module)
    tracer = Tracer(copied(inputs), rebuild, leaves, False, whole)
    try:
        return tracer, run_tracer(tracer, loaded, spec), inputs
    except SpecError:
        if not tracer.wrote_constant:
            raise
    attributes.restore(constants=False)
    tracer = Tracer(copied(inputs), rebuild, leaves, True, whole)
    return tracer, run_tracer(tracer, loaded, spec), inputs


def check_names(module: torch.nn.Module, spec: Spec) -> None:
    """Raises SpecError where a part or a parameter has a name that cannot be written."""
    for name, _ in [*module.named_modules(), *module.named_parameters(), *module.named_buffers()]:
        if not name.isprintable():
            raise SpecError(f"{spec.path}: the module has a part of the name {ascii(name)}; letters were expected")


def check_buffers(module: torch.nn.Module, tracer: Tracer, spec: Spec) -> None:
    """Raises SpecError where forward puts another tensor in a buffer's place."""
    now = buffers_of(module)
    for name, buffer in tracer.buffers.items():
        if now.get(name) is not buffer:
            raise SpecError(f"{spec.path}: forward assigns the buffer '{name}'; a run would not change it: "
                            f"write into it, as in {name}.copy_(...)")


def runs(loaded: Loaded, training: bool) -> bool:
    """Does the module run on its inputs, untraced?"""
    tensors, rebuild = flatten((loaded.args, loaded.kwargs), is_tensor)
    try:
        with kept_state(loaded.module), torch.set_grad_enabled(training):
            args, kwargs = rebuild(copied(tensors)) if tensors else (loaded.args, loaded.kwargs)
            loaded.module(*args, **kwargs)
        return True
    except BaseException:
        return False


def failure(tracer: Tracer, loaded: Loaded, spec: Spec, error: BaseException) -> SpecError:
    """What to tell of an exception in the module's code: is it the code's, or that of tracing it?"""
    name, cls = tracer.failed_in or ("", type(tracer.root))
    part = f"'{name}' ({cls.__name__})" if name else f"the module ({cls.__name__})"
    if not isinstance(error, Untraceable) and not runs(loaded, spec.training):
        given = "on the example inputs" if loaded.args or loaded.kwargs else \
            f"without inputs ({spec.factory}() returned a module without args)"
        return tell(spec, f"{part} failed {given}", error)
    why = str(error) if isinstance(error, Untraceable) else one_line(error)
    way = f"the word leaf={cls.__name__} keeps it whole" if name else "only modules inside it can be kept whole"
    return SpecError(f"{where(error.__traceback__) or spec.path}: {part} cannot be traced: {why}; {way}")


def trace(text: str, leaves: Sequence[str] = ()) -> Traced:
    """Load and trace what a spec names. Raises UsageError, SpecError."""
    spec = parse_spec(text, tuple(leaves))
    return trace_loaded(load(spec), spec)


def trace_loaded(loaded: Loaded, spec: Spec, whole: Sequence[str] = ()) -> Traced:
    """Trace a module that was loaded. whole: names of parts that are not looked into. Raises SpecError."""
    check_names(loaded.module, spec)
    tracer, graph_module, inputs = traced_graph(loaded, spec, whole)
    make_safe(graph_module)
    graph_module.recompile()
    ops, op_of = make_operators(graph_module)
    if not ops:
        raise SpecError(f"{spec.path}: the module computes nothing")
    return Traced(spec, loaded.module, graph_module, loaded.args, loaded.kwargs, inputs, ops, op_of,
                  loaded.loss or default_loss, tracer.rebuild, tracer.entered, tracer.steered)


__all__ = ["Op", "Traced", "info", "trace", "trace_loaded"]
