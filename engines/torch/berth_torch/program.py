"""A placement as programs of the devices: what each runs, in which order, and what it sends and receives.

An operator of the graph is a part of a step of the model: "forward", "grad" (its backward pass) or "update"
(the optimizer). All parts of a step are on one device. A device's operators are cut into *pieces*. Without
an order, a piece is what is on one device at one level (an edge to another device goes up one level), so
that the graph of pieces has no cycle. With an order, each device keeps to it and is cut only where an
operator waits for a tensor of another device, and after one that sends a tensor there. In a training step,
a *unit* is what lies in one piece both forward and backward: autograd runs it as one graph.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from torch import fx

from .devices import Refusal
from .placed import LOSS, Step

FORWARD, GRAD, UPDATE = "forward", "grad", "update"


@dataclass
class Role:
    """What an operator of the graph is: a part of the step `step`, or the update of the parameter names
    `params`.
    """

    part: str
    step: int
    params: list[str] = field(default_factory=list)


@dataclass
class Unit:
    """Steps of one device that run as one autograd graph, and the nodes that come in and go out."""

    steps: list[int]
    inputs: list[fx.Node] = field(default_factory=list)
    outputs: list[fx.Node] = field(default_factory=list)


@dataclass
class Piece:
    """Operators of the graph that run as one piece. part is that of all of them."""

    device: int
    part: str
    ops: list[int]
    units: list[Unit] = field(default_factory=list)
    params: list[str] = field(default_factory=list)


@dataclass
class Program:
    """pieces: in an order in which one after the other could run; of a device: in the order in which it does.
    needs: pieces that each piece waits for."""

    placement: list[int]
    step_device: list[int]
    pieces: list[Piece]
    needs: list[set[int]] = field(default_factory=list)


@dataclass
class Links:
    """How steps hang together.

    producer: step that makes a node (absent: an input of the model). before: steps that each step needs,
    [n_steps]. grad_from: steps whose backward pass gives a step's outputs gradients. grads: steps that have
    a backward pass. gives: which tensors of a node get a gradient from a step that takes it.
    """

    steps: list[Step]
    producer: dict[fx.Node, int]
    before: list[set[int]]
    grad_from: list[set[int]]
    grads: set[int]
    gives: dict[tuple[fx.Node, int], list[bool]]

    def gives_grad(self, n: fx.Node, k: int) -> bool:
        """Does a step that takes a node give it a gradient?"""
        return any(self.gives.get((n, k), ()))


def link_steps(steps: list[Step], with_grad: set[fx.Node],
               gives: dict[tuple[fx.Node, int], list[bool]]) -> Links:
    """with_grad: nodes whose values require a gradient in a training step."""
    producer = {n: k for k, s in enumerate(steps) for n in s.outputs}
    before = [{producer[n] for n in s.inputs if n in producer} for s in steps]
    grads = {k for k, s in enumerate(steps) if s.name == LOSS or any(n in with_grad for n in s.outputs)}
    links = Links(steps, producer, before, [set() for _ in steps], grads, gives)
    for n, k in gives:
        if k in grads and n in producer and links.gives_grad(n, k):
            links.grad_from[producer[n]].add(k)
    return links


# ---- roles ----


def _split(name: str) -> tuple[str, str]:
    for end, part in (("/grad", GRAD), ("/update", UPDATE)):
        if name.endswith(end):
            return name[: -len(end)], part
    return name, FORWARD


def _index(names: list[str], steps: list[Step]) -> dict[str, int]:
    """The steps by name. Refuses a graph that lacks one of them."""
    index, have = {s.name: k for k, s in enumerate(steps)}, set(names)
    for s in steps:
        if s.name not in have:
            raise Refusal("model", f"the module has an operator '{s.name}', but the graph none of that name: "
                                   "it is the graph of another model, or of another mode")
    return index


def _params_of(name: str, index: dict[str, int], steps: list[Step], alone: set[str]) -> list[str]:
    """The parameters that NAME/update changes: those of an operator, or the one of that name."""
    if name in index:
        return [p for p in steps[index[name]].params if p not in alone]
    return [name] if any(name in s.params for s in steps) else []


def read_roles(names: list[str], steps: list[Step]) -> list[Role]:
    """The role of each operator of berth's graph, by its name. Refuses a graph of another model."""
    index = _index(names, steps)
    alone = {base for base, part in map(_split, names) if part == UPDATE and base not in index}
    roles: list[Role] = []
    for name in names:
        base, part = (name, FORWARD) if name in index else _split(name)
        params = _params_of(base, index, steps, alone) if part == UPDATE else []
        if base not in index and not params:
            raise Refusal("model", f"the graph has an operator '{name}', but the module nothing of that "
                                   "name: it is the graph of another model, or of another mode")
        users = [k for k, s in enumerate(steps) if base in s.params]
        roles.append(Role(part, index[base] if base in index else users[0], params))
    return roles


def step_devices(roles: list[Role], placement: list[int], steps: list[Step], devices: list[str]) -> list[int]:
    """The device of each step. Refuses a placement that parts what has to stay together."""
    place = [-1] * len(steps)
    for role, dev in zip(roles, placement):
        if role.part == FORWARD:
            place[role.step] = dev
    for role, dev in zip(roles, placement):
        if place[role.step] != dev:
            name, there = steps[role.step].name, devices[place[role.step]]
            raise Refusal("model", f"'{name}' is on {there}, but its {role.part} on {devices[dev]}: they run "
                                   "on one device")
    return place


def check_shared(steps: list[Step], place: list[int], devices: list[str], training: bool) -> None:
    """What a training step writes has to be on one device: buffers and parameters."""
    owner: dict[str, int] = {}
    for k, s in enumerate(steps):
        for name in (s.buffers if training else []) + (s.params if training else []):
            other = owner.setdefault(name, k)
            if place[other] != place[k]:
                raise Refusal("model", f"'{s.name}' and '{steps[other].name}' share '{name}', which a "
                                       f"training step changes, but are on {devices[place[k]]} and "
                                       + devices[place[other]])


# ---- pieces ----


def _levels(links: Links, place: list[int]) -> list[int]:
    level = [0] * len(links.steps)
    for k in range(len(links.steps)):
        level[k] = max((level[p] + (place[p] != place[k]) for p in links.before[k]), default=0)
    return level


def _own_order(roles: list[Role], links: Links, place: list[int]) -> list[tuple]:
    """The key that each operator of the graph is sorted by: part, level, device, place in the module."""
    level = _levels(links, place)
    keys = []
    for role in roles:
        k = role.step
        if role.part == FORWARD:
            keys.append((0, level[k], place[k], k))
        elif role.part == GRAD:
            keys.append((1, -level[k], place[k], -k))
        else:
            keys.append((2, 0, place[k], k))
    return keys


def needs_of(roles: list[Role], links: Links) -> list[list[int]]:
    """Operators of the graph that each of them waits for."""
    at: dict[tuple[str, int], int] = {}
    for i, r in enumerate(roles):
        if r.part != UPDATE:
            at[(r.part, r.step)] = i
    needs: list[list[int]] = []
    for r in roles:
        if r.part == FORWARD:
            wanted = [(FORWARD, p) for p in links.before[r.step]]
        elif r.part == GRAD:
            wanted = [(FORWARD, r.step)] + [(GRAD, u) for u in links.grad_from[r.step]]
        else:
            users = {k for k, s in enumerate(links.steps) if set(s.params) & set(r.params)} or {r.step}
            wanted = [(GRAD, k) for k in users]
        needs.append([at[w] for w in wanted if w in at])
    return needs


def check_order(order: list[int], needs: list[list[int]], names: list[str]) -> None:
    """Refuses an order that is none, or in which an operator comes before what it needs."""
    rank = {op: i for i, op in enumerate(order)}
    if len(rank) != len(needs) or len(order) != len(needs):
        raise Refusal("", "the order does not have each operator once")
    for op, before in enumerate(needs):
        for p in before:
            if rank[p] > rank[op]:
                raise Refusal("model", f"in the order, '{names[op]}' comes before '{names[p]}', which it "
                                       "needs")


def _cut(order: list[int], roles: list[Role], needs: list[list[int]], placement: list[int]) -> list[Piece]:
    """Pieces of a given order; see the head of this file."""
    sends = [False] * len(order)
    for op, before in enumerate(needs):
        for p in before:
            sends[p] |= placement[p] != placement[op]
    last: dict[int, Piece] = {}
    arrived: set[tuple[int, int]] = set()
    pieces = []
    for op in order:
        dev = placement[op]
        new = {(p, dev) for p in needs[op] if placement[p] != dev} - arrived
        arrived |= new
        piece = last.get(dev)
        if piece is None or new or piece.part != roles[op].part or sends[piece.ops[-1]]:
            piece = last[dev] = Piece(dev, roles[op].part, [])
            pieces.append(piece)
        piece.ops.append(op)
    return pieces


def _group(order: list[int], roles: list[Role], keys: list[tuple], placement: list[int]) -> list[Piece]:
    """Pieces of the engine's own order: what has part, level and device in common."""
    pieces: dict[tuple, Piece] = {}
    for op in order:
        key = keys[op][:3]
        if key not in pieces:
            pieces[key] = Piece(placement[op], roles[op].part, [])
        pieces[key].ops.append(op)
    return list(pieces.values())


# ---- units ----


def _make_units(pieces: list[Piece], roles: list[Role], links: Links, outside: set[fx.Node]) -> None:
    back = {roles[op].step: i for i, p in enumerate(pieces) if p.part == GRAD for op in p.ops}
    unit_of: dict[int, Unit] = {}
    users: dict[fx.Node, set[int]] = {}
    for k, s in enumerate(links.steps):
        for n in s.inputs:
            users.setdefault(n, set()).add(k)
    for p in pieces:
        if p.part != FORWARD:
            continue
        groups: dict[int, Unit] = {}
        for op in p.ops:
            k = roles[op].step
            key = back.get(k, -1)
            if key not in groups:
                groups[key] = Unit([])
            groups[key].steps.append(k)
            unit_of[k] = groups[key]
        p.units = _runnable(groups, [roles[op].step for op in p.ops], links)
        for unit in p.units:
            _unit_borders(unit, links, users, outside)
    forward = [u for p in pieces for u in p.units]
    for p in pieces:
        if p.part == GRAD:
            taken = {id(unit_of[roles[op].step]) for op in p.ops}
            # each behind those that give it gradients
            p.units = [u for u in reversed(forward) if id(u) in taken]


def _runnable(groups: dict[int, Unit], steps: list[int], links: Links) -> list[Unit]:
    """Units of a piece in order. Steps without a backward pass (group -1) that lie between others of a unit
    run in it, and each by itself where together they would wait for what waits for them. steps: of the
    piece, in order."""
    plain = groups.get(-1, Unit([]))
    for unit in (u for key, u in groups.items() if key != -1):
        after, before = set(unit.steps), set(unit.steps)
        for k in steps:
            if links.before[k] & after:
                after.add(k)
        for k in reversed(steps):
            if k in before:
                before |= links.before[k]
        between = after & before & set(plain.steps)
        unit.steps = [k for k in steps if k in between or k in set(unit.steps)]
        plain.steps = [k for k in plain.steps if k not in between]
    units = [u for u in groups.values() if u.steps]
    alone = [Unit([k]) for k in plain.steps] + [u for u in units if u is not plain]
    made = _sorted_units(units, links) or _sorted_units(alone, links)
    if not made:
        raise Refusal("", "the order parts operators so that autograd cannot run them")
    return made


def _sorted_units(units: list[Unit], links: Links) -> list[Unit]:
    """Units of a piece in an order in which each comes behind those that it needs; none: there is no such.
    """
    of = {k: i for i, u in enumerate(units) for k in u.steps}
    before = [{of[p] for k in u.steps for p in links.before[k] if p in of} - {i} for i, u in enumerate(units)]
    done: list[int] = []
    while len(done) < len(units):
        free = [i for i in range(len(units)) if i not in done and before[i] <= set(done)]
        if not free:
            return []
        done += free[:1]
    return [units[i] for i in done]


def _unit_borders(unit: Unit, links: Links, users: dict[fx.Node, set[int]], outside: set[fx.Node]) -> None:
    own = set(unit.steps)
    for k in unit.steps:
        for n in links.steps[k].inputs:
            if links.producer.get(n) not in own and n not in unit.inputs:
                unit.inputs.append(n)
        unit.outputs += [n for n in links.steps[k].outputs if users.get(n, set()) - own or n in outside]


def make_program(roles: list[Role], names: list[str], links: Links, placement: list[int],
                 order: list[int] | None, devices: list[str], outside: set[fx.Node],
                 fine: bool = False) -> Program:
    """The program of a placement. outside: nodes that the model returns. fine: each operator is a piece."""
    place = step_devices(roles, placement, links.steps, devices)
    check_shared(links.steps, place, devices, any(r.part == GRAD for r in roles))
    needs = needs_of(roles, links)
    if order is None:
        keys = _own_order(roles, links, place)
        order = sorted(range(len(roles)), key=lambda i: keys[i])
        pieces = _group(order, roles, keys, placement)
    else:
        check_order(order, needs, names)
        pieces = _cut(order, roles, needs, placement)
    if fine:
        pieces = [Piece(p.device, p.part, [op]) for p in pieces for op in p.ops]
    _make_units(pieces, roles, links, outside)
    for p in pieces:
        if p.part == UPDATE:
            p.params = [n for op in p.ops for n in roles[op].params]
    of = {op: i for i, p in enumerate(pieces) for op in p.ops}
    before = [{of[n] for op in p.ops for n in needs[op]} - {i} for i, p in enumerate(pieces)]
    return Program(placement, place, pieces, before)
