"""Nested inputs and outputs (tuples, lists, dicts, dataclasses) as a flat list, and back again."""
import copy
import dataclasses
from typing import Any, Callable, List, Sequence, Tuple

Rebuild = Callable[[Sequence[Any]], Any]


def fields_of(value: Any) -> List[str]:
    """Names of a dataclass instance's fields."""
    return [f.name for f in dataclasses.fields(value)]


def parts_of(value: Any) -> Tuple[List[Any], Rebuild]:
    """The members of a nested value, and how to make one like it of other members; ([], ...) for a leaf."""
    if isinstance(value, dict):
        keys = list(value)
        return [value[k] for k in keys], lambda new: remake_dict(value, keys, new)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(value), lambda new: type(value)(*new)
    if isinstance(value, (tuple, list)):
        return list(value), type(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = fields_of(value)
        return [getattr(value, n) for n in names], lambda new: remake_dataclass(value, names, new)
    return [], lambda new: value


def remake_dict(value: Any, keys: List[Any], new: Sequence[Any]) -> Any:
    """A dict, or one of its kin, with other values."""
    made = copy.copy(value)
    for key, member in zip(keys, new):
        made[key] = member
    return made


def remake_dataclass(value: Any, names: List[str], new: Sequence[Any]) -> Any:
    """A dataclass, frozen ones too, with other values."""
    made = copy.copy(value)
    for name, member in zip(names, new):
        object.__setattr__(made, name, member)
    return made


def flatten(value: Any, is_leaf: Callable[[Any], bool]) -> Tuple[List[Any], Rebuild]:
    """The leaves that is_leaf takes, in order, and a function that puts others in their places.

    Everything else in the value is kept as it is.
    """
    if is_leaf(value):
        return [value], lambda new: new[0]
    members, remake = parts_of(value)
    if not members:
        return [], lambda new: value
    flat: List[Any] = []
    inner: List[Tuple[int, Rebuild]] = []
    for member in members:
        leaves, rebuild = flatten(member, is_leaf)
        flat += leaves
        inner.append((len(leaves), rebuild))
    return flat, lambda new: rebuild_parts(inner, remake, new)


def rebuild_parts(inner: List[Tuple[int, Rebuild]], remake: Rebuild, new: Sequence[Any]) -> Any:
    """Each member made of its share of the leaves."""
    members, at = [], 0
    for count, rebuild in inner:
        members.append(rebuild(new[at:at + count]))
        at += count
    return remake(members)
