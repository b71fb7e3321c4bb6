"""The tracer: the module's code runs once with proxies that know their values; operations become nodes."""
import functools
import random
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch import fx

from .proxy import VALUES, Untraceable, ValueProxy
from .spec import is_users, shown
from .structure import Rebuild, flatten

OPENED = (torch.nn.Sequential, torch.nn.Transformer, torch.nn.TransformerEncoder, torch.nn.TransformerDecoder,
          torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)
FACTORIES = ("arange", "as_tensor", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn",
             "randperm", "scalar_tensor", "tensor", "zeros")


def modes() -> Tuple[bool, ...]:
    """Gradients on, inference mode, autocast: what the code may change around operations."""
    if hasattr(torch, "get_autocast_dtype"):  # from 2.4 on
        cast = (torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda"))
    else:
        cast = (torch.is_autocast_cpu_enabled(), torch.is_autocast_enabled())
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), *cast


def buffers_of(module: torch.nn.Module) -> Dict[str, torch.Tensor]:
    """Every buffer by each of its names."""
    named = ((f"{path}.{name}".lstrip("."), buffer) for path, part in module.named_modules()
             for name, buffer in part._buffers.items())
    return {name: buffer for name, buffer in named if buffer is not None}


def random_state() -> Tuple[Any, ...]:
    """Where the generators stand: torch's, Python's, and NumPy's if it is there."""
    numpy = sys.modules.get("numpy")
    return torch.get_rng_state(), random.getstate(), numpy and str(numpy.random.get_state()[1:3])


def is_differentiable(tensor: torch.Tensor) -> bool:
    """Can it have a gradient?"""
    return tensor.is_floating_point() or tensor.is_complex()


@dataclass
class TensorInfo:
    """A tensor as the example inputs make it."""

    shape: Tuple[int, ...]
    dtype: torch.dtype
    bytes: int


@dataclass
class NodeInfo:
    """What tracing saw of a node; in node.meta["berth"].

    tensors   what it gives, nested outputs flattened
    value     of a node that gives no tensor: the Python value
    scope     qualified name of the module whose code made it ("" for the outermost)
    place     FILE:LINE of the user's code
    base      node whose memory the first tensor shares, itself aside: it is a view, or that very tensor
    writes    nodes whose tensors it writes into
    """

    tensors: List[TensorInfo]
    value: Any
    scope: str
    place: str
    base: Optional[fx.Node]
    writes: List[fx.Node]


def info(node: fx.Node) -> NodeInfo:
    """What tracing saw of a node."""
    return node.meta["berth"]


def storage_of(tensor: torch.Tensor) -> int:
    """Address of a tensor's memory; 0: it has none of its own that can be told."""
    try:
        if hasattr(tensor, "untyped_storage"):
            return tensor.untyped_storage().data_ptr()
        return tensor.storage().data_ptr()
    except (NotImplementedError, RuntimeError):
        return 0


def is_tensor(value: Any) -> bool:
    """Is this a tensor, and no proxy?"""
    return isinstance(value, torch.Tensor) and type(value) is not ValueProxy


def tensors_in(value: Any) -> List[torch.Tensor]:
    """All tensors of a nested value."""
    return flatten(value, is_tensor)[0]


def tensor_bytes(tensor: torch.Tensor) -> int:
    """Bytes of a tensor's elements."""
    return tensor.numel() * tensor.element_size()


def user_place() -> str:
    """FILE:LINE of the innermost running line of the user's."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return f"{shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def proxies_in(value: Any) -> List[ValueProxy]:
    """All proxies of nested arguments."""
    found: List[ValueProxy] = []

    def visit(x: Any) -> None:
        if type(x) is ValueProxy:
            found.append(x)
        elif isinstance(x, (tuple, list)):
            for member in x:
                visit(member)
        elif isinstance(x, dict):
            for member in x.values():
                visit(member)
        elif isinstance(x, slice):
            visit((x.start, x.stop, x.step))

    visit(value)
    return found


def unwrap(value: Any) -> Any:
    """Nested arguments with each proxy replaced by its value."""
    if type(value) is ValueProxy:
        return value.held
    if isinstance(value, tuple):
        members = [unwrap(v) for v in value]
        return type(value)(*members) if hasattr(value, "_fields") else tuple(members)
    if isinstance(value, list):
        return [unwrap(v) for v in value]
    if isinstance(value, dict):
        return {k: unwrap(v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    return value


def spread(value: Any) -> Any:
    """An output in which proxies of tuples, lists and dicts are such with proxies of their members."""
    if type(value) is ValueProxy and isinstance(value.held, dict):
        return {k: spread(value[k]) for k in value.held}
    if type(value) is ValueProxy and isinstance(value.held, (tuple, list)):
        return tuple(spread(member) for member in value)
    if type(value) in (tuple, list):
        return type(value)(spread(member) for member in value)
    return value


class Tracer(fx.Tracer):
    """Traces a module on its example inputs. Leaves are torch.nn's own modules and the classes of `leaves`.

    whole: names of modules that are leaves, too. After trace(): `rebuild` makes what forward returns of the
    output leaves; `failed_in` names the module (name, class) whose code raised; `entered` those whose code ran;
    `steered` tells whether the code looked at a size to decide on its way.
    """

    def __init__(self, inputs: Sequence[torch.Tensor], rebuild_inputs: Rebuild,
                 leaves: Sequence[type], all_constants: bool, whole: Sequence[str] = ()) -> None:
        super().__init__()
        self.whole = frozenset(whole)
        self.entered: List[str] = []
        self.steered = False
        self.all_constants = all_constants  # record those too that forward makes of numbers alone
        self.wrote_constant = False
        self.modes = modes()
        self.random = random_state()
        self.buffers: Dict[str, torch.Tensor] = {}
        self.inputs = list(inputs)
        self.rebuild_inputs = rebuild_inputs
        self.leaves = tuple(leaves)
        self.rebuild: Rebuild = lambda new: new
        self.failed_in: Optional[Tuple[str, type]] = None
        self.inside: List[str] = [""]  # qualified names of the modules whose code runs
        self.evaluating = False

    # what fx asks

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        """torch.nn's own modules but those that only hold others, scripted ones, and what the user named."""
        if isinstance(m, self.leaves) or isinstance(m, torch.jit.ScriptModule):
            return True
        if module_qualified_name in self.whole:
            return True
        own = type(m).__module__.startswith(("torch.nn", "torch.ao.nn"))
        return own and not isinstance(m, OPENED)

    def create_args_for_root(
            self, root_fn: Callable[..., Any], is_module: bool,
            concrete_args: Optional[Dict[str, Any]] = None) -> Tuple[Callable[..., Any], List[Any]]:
        """A placeholder for each tensor of the inputs, wherever it is nested; the rest is constant."""
        self.buffers = buffers_of(self.root)
        self.modes, self.random = modes(), random_state()
        proxies = [self.placeholder(i, tensor) for i, tensor in enumerate(self.inputs)]

        def flat(root: torch.nn.Module, *leaves: Any) -> Tuple[Any, ...]:
            args, kwargs = self.rebuild_inputs(list(leaves))
            try:
                output = root_fn(root, *args, **kwargs)
            except BaseException:
                self.failed_in = self.failed_in or ("", type(root))
                raise
            found, self.rebuild = flatten(spread(output), lambda x: type(x) is ValueProxy or is_tensor(x))
            return tuple(found)

        return flat, [self.root, *proxies]

    def placeholder(self, number: int, tensor: torch.Tensor) -> ValueProxy:
        """The node of an input."""
        node = self.create_node("placeholder", f"input_{number}", (), {})
        self.note(node, tensor, [])
        return ValueProxy(node, self, tensor, False)

    def call_module(self, m: torch.nn.Module, forward: Callable[..., Any], args: Tuple[Any, ...],
                    kwargs: Dict[str, Any]) -> Any:
        """A node for a leaf; the code of any other module runs, under its name."""
        if self.evaluating:
            return forward(*args, **kwargs)
        name = self.path_of_module(m)
        if self.is_leaf_module(m, name):
            return self.create_proxy("call_module", name, args, kwargs)
        self.inside.append(name)
        self.entered.append(name)
        try:
            return forward(*args, **kwargs)
        except BaseException:
            self.failed_in = self.failed_in or (name, type(m))
            raise
        finally:
            self.inside.pop()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Dict[str, Any]) -> Any:
        """Parameters and buffers become get_attr nodes where the module's own code takes them."""
        if self.evaluating or not isinstance(attr_val, torch.Tensor):
            return attr_val
        for name, tensor in [*self.root.named_parameters(), *self.root.named_buffers()]:
            if tensor is attr_val:
                if name not in parameter_proxy_cache:
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
                return parameter_proxy_cache[name]
        return attr_val

    _module_getattr = getattr  # its name in older versions

    def create_arg(self, a: Any) -> Any:
        """The node of a proxy, which looks like a tensor to whoever asks; of a tensor, a new one."""
        if type(a) is ValueProxy:
            return a.node
        arg = super().create_arg(a)
        if isinstance(arg, fx.Node) and "berth" not in arg.meta:
            # a constant, a parameter that was not taken from its module, a named tuple
            self.note(arg, unwrap(a), proxies_in(a))
        return arg

    def create_proxy(self, kind: str, target: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], *more: Any,
                     **words: Any) -> Any:
        """Run the operation on the values and make its node."""
        self.check_random()
        if modes()[1:] != self.modes[1:]:
            raise Untraceable("autocast and inference_mode do not reach into operators")
        node_args, node_kwargs = self.create_arg(args), self.create_arg(kwargs)
        taken = proxies_in((args, kwargs))
        before = [(p, t, t._version) for p in taken for t in tensors_in(p.held)]
        constants = [(t, t._version) for t in self.constants_in((args, kwargs))]
        value = self.value_of(kind, target, unwrap(args), unwrap(kwargs))
        if any(t._version != version for t, version in constants):
            self.wrote_constant = True
            raise Untraceable("it writes into a tensor that is neither computed nor a buffer")
        name = words.get("name", more[0] if more else None)
        node = self.create_node(kind, target, node_args, node_kwargs, name)
        self.note(node, value, taken)
        info(node).writes = list(dict.fromkeys(p.node for p, t, version in before if t._version != version))
        data = kind == "call_method" and target in VALUES or any(p.tainted for p in taken)
        proxy = ValueProxy(node, self, value, data and not isinstance(value, torch.Tensor))
        if self.cuts_gradients(kind, target, args, kwargs, value):
            return self.without_gradients(proxy)
        return type(value)(proxy) if type(value) in (tuple, list) else proxy  # C code wants such as they are

    # values

    def value_of(self, kind: str, target: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """What an operation gives, without tracing what happens inside."""
        with self.evaluate():
            if kind == "call_function":
                return target(*args, **kwargs)
            if kind == "call_method":
                return getattr(args[0], target)(*args[1:], **kwargs)
            found = functools.reduce(getattr, target.split("."), self.root)
            return found if kind == "get_attr" else found(*args, **kwargs)

    @contextmanager
    def evaluate(self) -> Iterator[None]:
        """Nothing is recorded inside. Random numbers of torch may be drawn: a run draws them, too."""
        before, self.evaluating = self.evaluating, True
        try:
            yield
        finally:
            self.evaluating = before
            if not before:
                self.random = (torch.get_rng_state(), *self.random[1:])

    def check_random(self) -> None:
        """Raises Untraceable where random numbers were drawn that no node draws."""
        if self.evaluating:
            return
        now = random_state()
        if not torch.equal(now[0], self.random[0]):
            self.wrote_constant = True  # torch.empty(2).normal_(): recorded where all constants are
            raise Untraceable("random numbers are drawn here or before by what is no operator")
        if now[1:] != self.random[1:]:
            raise Untraceable("random numbers are drawn here or before that are not torch's")

    def constants_in(self, value: Any) -> List[torch.Tensor]:
        """The tensors among arguments that are no parameters and buffers."""
        state = {id(t) for t in [*self.root.parameters(), *self.root.buffers()]}
        return [t for t in tensors_in(value) if id(t) not in state and not t.is_inference()]

    # gradients that the code turns off

    def cuts_gradients(self, kind: str, target: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any],
                       value: Any) -> bool:
        """Would the operation need a gradient if the code had not turned them off?"""
        if not self.modes[0] or torch.is_grad_enabled() or target == "detach" or kind == "get_attr":
            return False
        taken = tensors_in(unwrap((args, kwargs)))
        if kind == "call_module":
            taken += functools.reduce(getattr, str(target).split("."), self.root).parameters()
        return any(t.requires_grad for t in taken) and any(map(is_differentiable, tensors_in(value)))

    def without_gradients(self, made: ValueProxy) -> Any:
        """What an operation gives, cut off from autograd behind it. Raises Untraceable where it cannot be."""
        if info(made.node).writes:
            raise Untraceable("it writes into a tensor with a gradient while gradients are turned off")
        if is_tensor(made.held):
            return made.detach()
        if type(made.held) in (tuple, list) and all(map(is_tensor, made.held)):
            return type(made.held)(m.detach() if is_differentiable(m.held) else m for m in made)
        raise Untraceable("gradients are turned off for an operation with nested results")

    def note(self, node: fx.Node, value: Any, taken: List[ValueProxy]) -> None:
        """Write down what a node gives. The value itself is not kept."""
        tensors = tensors_in(value)
        described = [TensorInfo(tuple(t.shape), t.dtype, tensor_bytes(t)) for t in tensors]
        base = self.base_of(tensors, taken) if node.op != "get_attr" else None
        number = None if tensors else value
        node.meta["berth"] = NodeInfo(described, number, self.inside[-1], user_place(), base, [])

    def base_of(self, tensors: List[torch.Tensor], taken: List[ValueProxy]) -> Optional[fx.Node]:
        """The node among those that were taken whose memory the first tensor shares."""
        memory = storage_of(tensors[0]) if tensors else 0
        if not memory:
            return None
        for proxy in taken:
            if any(storage_of(t) == memory for t in tensors_in(proxy.held)):
                return proxy.node
        return None
