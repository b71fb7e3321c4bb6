"""Parts of a module that a plan keeps on one device: the written forward calls them by their own code."""
import functools
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch import fx

from .node_text import ByMode
from .operators import works
from .parameters import module_tensors
from .recorded import Applied
from .spec import Loaded, Spec, SpecError
from .trace import Traced, trace_loaded
from .tracer import FACTORIES, info

Devices = Dict[fx.Node, str]


def is_inside(node: fx.Node, part: str) -> bool:
    """Does the code of a part make this node?"""
    scope = str(node.target).rpartition(".")[0] if node.op == "call_module" else info(node).scope
    return scope == part or scope.startswith(part + ".")


def asks_for_device(node: fx.Node) -> bool:
    """Does it make a tensor that the code does not put on a device of its own?"""
    makers = {getattr(torch, name) for name in FACTORIES}
    named = [a for a in (*node.args, *node.kwargs.values()) if isinstance(a, (torch.device, str))]
    if any(a.op == "get_attr" and str(a.target).startswith("_tensor_constant") for a in node.all_input_nodes):
        return True
    if node.op == "call_method" and node.target in ("to", "cpu", "cuda"):
        return bool(named) or node.target != "to"
    made = node.op == "call_function" and node.target in makers
    return made or any(isinstance(a, torch.device) for a in named)


def has_plain(module: torch.nn.Module) -> bool:
    """Has it tensors that are neither parameters nor buffers? They are not moved with it."""
    return any(isinstance(v, torch.Tensor) for m in module.modules() for v in vars(m).values())


def device_of_part(traced: Traced, device_of: Devices, part: str) -> Optional[str]:
    """The device of a part that can be called as it is; None: it cannot."""
    nodes = [n for n in works(traced.graph_module.graph) if is_inside(n, part)]
    found = {device_of[n] for n in nodes if info(n).tensors}
    module = traced.module.get_submodule(part)
    if len(found) != 1 or has_plain(module) or any(map(asks_for_device, nodes)):
        return None
    mine = {id(t) for t in module_tensors(module)}
    for node in works(traced.graph_module.graph):
        if node.op == "call_module" and device_of[node] not in found:
            called = traced.graph_module.get_submodule(str(node.target))
            if any(id(t) in mine for t in module_tensors(called)):
                return None
    return found.pop()


def parts_of(traced: Traced, device_of: Devices) -> Dict[str, str]:
    """The largest such parts, and their devices."""
    found: Dict[str, str] = {}
    for part in sorted(set(traced.entered)):
        if part and not any(part.startswith(p + ".") for p in found):
            device = device_of_part(traced, device_of, part)
            if device is not None:
                found[part] = device
    return found


def carried_over(fine: Traced, device_of: Devices, coarse: Traced, parts: Dict[str, str]) -> Optional[Devices]:
    """Devices of the nodes of a trace that keeps parts whole; None: it is not the same but for these."""
    rest = [n for n in works(fine.graph_module.graph) if not any(is_inside(n, p) for p in parts)]
    made: Devices = {}
    for node in works(coarse.graph_module.graph):
        if node.op == "call_module" and node.target in parts:
            if info(node).writes:
                return None
            made[node] = parts[str(node.target)]
            continue
        twin = rest.pop(0) if rest else None
        if twin is None or twin.op != node.op or str(twin.target) != str(node.target):
            return None
        made[node] = device_of[twin]
    return None if rest else made


def with_whole_parts(loaded: Loaded, spec: Spec, fine: Traced,
                     device_of: Devices) -> Tuple[Traced, Devices, List[str]]:
    """The module traced with parts that are called whole: the trace, devices of its nodes, the parts' names."""
    parts = parts_of(fine, device_of)
    try:
        coarse = trace_loaded(loaded, spec, list(parts)) if parts else fine
        devices = carried_over(fine, device_of, coarse, parts)
    except SpecError:
        devices = None
    return (fine, device_of, []) if devices is None else (coarse, devices, list(parts))


# ---- the other mode ----


def merged(ours: Any, theirs: Any, twin: Dict[fx.Node, fx.Node], path: str, training: bool) -> Any:
    """An argument, or what it is by the mode. twin: our node for one of theirs. Raises SpecError where the two
    are more than constants."""
    if type(ours) in (tuple, list) and type(ours) is type(theirs) and len(ours) == len(theirs):
        return type(ours)(merged(a, b, twin, path, training) for a, b in zip(ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict) and list(ours) == list(theirs):
        return {k: merged(v, theirs[k], twin, path, training) for k, v in ours.items()}
    if isinstance(ours, slice) and isinstance(theirs, slice):
        ends = ((s.start, s.stop, s.step) for s in (ours, theirs))
        return slice(*merged(*ends, twin, path, training))
    if isinstance(ours, fx.Node) or isinstance(theirs, fx.Node):
        if twin.get(theirs) is not ours:
            raise SpecError("another value")
        return ours
    if ours is theirs or type(ours) is type(theirs) and repr(ours) == repr(theirs):
        return ours
    return ByMode(path, *((ours, theirs) if training else (theirs, ours)))


def join_modes(loaded: Loaded, spec: Spec, traced: Traced, parts: Sequence[str]) -> bool:
    """Make the trace one of both modes: constants that depend on the mode do so from now on. False: the code
    goes another way in the other mode."""
    module, training = loaded.module, spec.training
    modes = [(m, m.training) for m in module.modules()]
    module.train(not training)
    try:
        other = trace_loaded(loaded, spec, parts)
        ours, theirs = list(traced.graph_module.graph.nodes), list(other.graph_module.graph.nodes)
        twin = dict(zip(theirs, ours))
        if len(ours) != len(theirs) or not all(map(is_like, ours, theirs)):
            return False
        new = [merged((a.args, dict(a.kwargs)), (b.args, dict(b.kwargs)), twin, scope_of(a), training)
               for a, b in zip(ours, theirs)]
    except SpecError:
        return False
    finally:
        for m, was in modes:
            m.training = was
    for node, (args, kwargs) in zip(ours, new):
        node.args, node.kwargs = args, kwargs
    return True


def is_like(a: fx.Node, b: fx.Node) -> bool:
    """Do two nodes call or hold the same?"""
    held = [n.op == "get_attr" and functools.reduce(getattr, str(n.target).split("."), n.graph.owning_module)
            for n in (a, b)]
    if isinstance(held[0], torch.Tensor) and isinstance(held[1], torch.Tensor):
        return held[0] is held[1] or str(a.target).startswith("_tensor_constant") and torch.equal(*held)
    return (a.op, function_of(a)) == (b.op, function_of(b))


def function_of(node: fx.Node) -> Any:
    """What a node calls."""
    return node.target.function if isinstance(node.target, Applied) else node.target


def scope_of(node: fx.Node) -> str:
    """The module whose code makes the node."""
    return info(node).scope if "berth" in node.meta else ""
