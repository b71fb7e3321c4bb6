"""Arguments and results of forward as Python text."""
import dataclasses
import inspect
from typing import Any, Dict, List, Tuple

import torch

from .node_text import Names, Token, Unwritable, joined, literal, quoted
from .structure import flatten
from .trace import Traced
from .tracer import is_tensor


class Marker:
    """Stands for the tensor of that number in nested arguments or results."""

    def __init__(self, number: int) -> None:
        self.number = number


def marked(value: Any, count: int) -> Any:
    """A nested value with markers in place of its tensors."""
    return flatten(value, is_tensor)[1]([Marker(i) for i in range(count)]) if count else value


def key_text(key: Any) -> str:
    """A key of a dict."""
    return quoted(key) if isinstance(key, str) else repr(key)


def paths_of(value: Any, text: str, found: Dict[int, str]) -> None:
    """Where each marker is found, by its number."""
    if isinstance(value, Marker):
        found[value.number] = text
    elif isinstance(value, dict):
        for key, member in value.items():
            paths_of(member, f"{text}[{key_text(key)}]", found)
    elif dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
        names = getattr(value, "_fields", None) or [f.name for f in dataclasses.fields(value)]
        for name in names:
            paths_of(getattr(value, name), f"{text}.{name}", found)
    elif isinstance(value, (tuple, list)):
        for i, member in enumerate(value):
            paths_of(member, f"{text}[{i}]", found)


@dataclasses.dataclass
class Head:
    """How forward begins: its parameters, the text of each input, and lines that look at constants."""

    parameters: str
    inputs: List[str]
    checks: List[str]


def default_text(parameter: inspect.Parameter, names: Names) -> str:
    """`=None` behind a parameter that has a default."""
    if parameter.default is inspect.Parameter.empty:
        return ""
    try:
        return "=" + literal(parameter.default, "None", names)
    except Unwritable:
        return "=None"


def parameters_text(parameters: List[inspect.Parameter], names: Names) -> str:
    """What stands in the parentheses of def."""
    words, star = ["self"], False
    for i, p in enumerate(parameters):
        if p.kind == p.KEYWORD_ONLY and not star:
            words.append("*")
            star = True
        star = star or p.kind == p.VAR_POSITIONAL
        sign = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        words.append(sign + p.name + default_text(p, names))
        last = i + 1 == len(parameters) or parameters[i + 1].kind != p.POSITIONAL_ONLY
        if p.kind == p.POSITIONAL_ONLY and last:
            words.append("/")
    return ", ".join(words)


def head_of(traced: Traced, names: Names) -> Head:
    """The head of forward for the arguments of the example. Raises Unwritable."""
    signature = inspect.signature(traced.module.forward)
    args, kwargs = marked((traced.args, traced.kwargs), len(traced.inputs))
    bound = signature.bind(*args, **kwargs)
    found: Dict[int, str] = {}
    checks = []
    for name, value in bound.arguments.items():
        inside: Dict[int, str] = {}
        paths_of(value, name, inside)
        found.update(inside)
        default = signature.parameters[name].default
        if not inside and value is not default:
            checks.append(f'expect("{name}", {name}, {value_text(value, names)})')
    for name, parameter in signature.parameters.items():
        named = parameter.default is not inspect.Parameter.empty and not isinstance(parameter.default, torch.Tensor)
        if named and (name not in bound.arguments or bound.arguments[name] is parameter.default):
            checks.append(f'expect("{name}", {name}, {default_text(parameter, names)[1:]})')
    inputs = [found[i] for i in range(len(traced.inputs))]
    if traced.steered:
        checks += [f'expect("the shape of {text}", tuple({text}.shape), {tuple(t.shape)})'
                   for text, t in zip(inputs, traced.inputs)]
    return Head(parameters_text(list(signature.parameters.values()), names), inputs, checks)


def value_text(value: Any, names: Names) -> str:
    """A nested constant. Raises Unwritable."""
    if type(value) in (tuple, list):
        inner = ", ".join(value_text(v, names) for v in value)
        return f"[{inner}]" if type(value) is list else f"({inner}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return "{" + ", ".join(f"{key_text(k)}: {value_text(v, names)}" for k, v in value.items()) + "}"
    return literal(value, "None", names)


def result_text(value: Any, leaves: List[List[Token]], names: Names) -> List[Token]:
    """What the module returns. leaves: tokens of its tensors. Raises Unwritable."""
    if isinstance(value, Marker):
        return leaves[value.number]
    if type(value) in (tuple, list):
        inner = joined([result_text(v, leaves, names) for v in value])
        ends = "[]" if type(value) is list else "()"
        return [ends[0], *inner, "," + ends[1] if type(value) is tuple and len(value) == 1 else ends[1]]
    if dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
        own = getattr(value, "_fields", None) or [f.name for f in dataclasses.fields(value)]
        members = {n: getattr(value, n) for n in own if not isinstance(value, dict) or n in value}
        return [names.of(type(value)), "(", *named(members, leaves, names), ")"]
    if isinstance(value, dict):
        rows = [[key_text(k) + ": ", *result_text(v, leaves, names)] for k, v in value.items()]
        text = ["{", *joined(rows), "}"]
        return text if type(value) is dict else [names.of(type(value)), "(", *text, ")"]
    return [literal(value, "None", names)]


def named(members: Dict[str, Any], leaves: List[List[Token]], names: Names) -> List[Token]:
    """Keyword arguments."""
    return joined([[f"{n}=", *result_text(v, leaves, names)] for n, v in members.items()])


def result_of(traced: Traced, count: int) -> Any:
    """What the module returns, with markers in place of tensors."""
    return traced.rebuild([Marker(i) for i in range(count)]) if count else traced.rebuild([])


__all__: Tuple[str, ...] = ("Head", "head_of", "result_of", "result_text")
