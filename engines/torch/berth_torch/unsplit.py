"""The unsplit module: what runs of plans are compared with, and how long it takes by itself."""
from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch import fx

from .attributes import Attributes
from .devices import Refusal
from .losses import loss_in
from .optimizers import make_optimizer
from .placed import LOSS, Space, Step, is_parameter, model_output
from .seeds import seeded
from .spaces import is_host, wait_for
from .trace import Traced, copied
from .tracer import tensors_in
from .values import difference, layout_of, leaf_of, map_tensors

TRACE_TOLERANCE = 1e-3  # of the largest entry: sums in another order


@dataclass
class Outcome:
    """What a run leaves: the tensors that the module returns; of a training step also the loss, gradients,
    and parameters and buffers afterwards, by name. A parameter without a gradient has none."""

    outputs: list[torch.Tensor]
    loss: torch.Tensor | None = None
    grads: dict[str, torch.Tensor] = field(default_factory=dict)
    params: dict[str, torch.Tensor] = field(default_factory=dict)
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)

    def copied(self) -> "Outcome":
        """The same in memory of its own, on the CPU: an accelerator may have no room for it twice."""
        def one(t: torch.Tensor) -> torch.Tensor:
            return t.detach().to("cpu", copy=True)

        def copy_of(named: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            return {n: one(t) for n, t in named.items()}

        return Outcome([one(t) for t in self.outputs], self.loss, copy_of(self.grads),
                       copy_of(self.params), copy_of(self.buffers))

    def differences(self, other: "Outcome") -> dict[str, float]:
        """How far this is from another, by kind. A gradient is judged by its largest entry, or by a
        thousandth of the largest of all gradients where that is more: sums that cancel out leave rounding
        errors alone."""
        found = {"outputs": difference(self.outputs, other.outputs)}
        if other.loss is not None:
            found["loss"] = difference([self.loss], [other.loss])
        floor = 1e-3 * max((float(g.abs().max()) for g in other.grads.values() if g.numel()), default=0.0)
        found["gradients"] = _by_name(self.grads, other.grads, floor)
        found["parameters"] = _by_name(self.params, other.params, 0.0)
        found["buffers"] = _by_name(self.buffers, other.buffers, 0.0)
        return found


def _by_name(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor], floor: float) -> float:
    if ours.keys() != theirs.keys():
        return float("inf")
    return difference([ours[n] for n in theirs], list(theirs.values()), floor)


@dataclass
class Record:
    """What running the module operator by operator showed.

    inputs: values that each step takes, [step]. grads: gradients of the tensors that each step gives, [step],
    None where there is none. with_grad: nodes whose values need a gradient. layouts: values of nodes with
    tensors that tell types, shapes and strides alone. gives: for a node and a step that takes it, which of
    the node's tensors get a gradient from the step.
    """

    inputs: list[list[Any]]
    grads: list[list[torch.Tensor | None]]
    with_grad: set[fx.Node]
    layouts: dict[fx.Node, Any]
    gives: dict[tuple[fx.Node, int], list[bool]] = field(default_factory=dict)


def bind_inputs(traced: Traced) -> dict[fx.Node, Any]:
    """The value of each input node."""
    nodes = [n for n in traced.graph_module.graph.nodes if n.op == "placeholder"]
    return dict(zip(nodes, traced.inputs))


class Recorder:
    """Runs a module step by step on the CPU, each step cut off from the others, and in training backward too.
    """

    def __init__(self, traced: Traced, steps: list[Step], cpu: Space):
        self.steps, self.cpu, self.training = steps, cpu, traced.mode == "training"
        self.values = bind_inputs(traced)
        self.made = Record([], [], set(), {})
        self.leaves: list[dict[fx.Node, list[torch.Tensor]]] = []
        self.roots: list[list[list[torch.Tensor]]] = []  # [step][output][tensor]

    def run(self) -> Record:
        """Marks the steps that draw random numbers, too."""
        with torch.set_grad_enabled(self.training):
            for k, step in enumerate(self.steps):
                self._forward(k, step)
        self.made.layouts = {n: map_tensors(v, layout_of) for n, v in self.values.items()}
        if self.training:
            self._backward()
        else:
            self.made.grads = [[None for t in tensors_in(r)] for r in self.roots]
        return self.made

    def _leaf(self, n: fx.Node) -> Any:
        if n not in self.made.with_grad:
            return self.values[n]
        return map_tensors(self.values[n], leaf_of)

    def _forward(self, k: int, step: Step) -> None:
        args = [self._leaf(n) for n in step.inputs]
        self.made.inputs.append([map_tensors(a, torch.Tensor.detach) for a in args])
        self.leaves.append({n: tensors_in(a) for n, a in zip(step.inputs, args) if n in self.made.with_grad})
        if step.mutates:
            args = [map_tensors(a, torch.clone) for a in args]
        before = torch.get_rng_state()
        outs = self.cpu.calls[k](*args)
        step.random = not torch.equal(before, torch.get_rng_state())
        self.roots.append([tensors_in(v) for v in outs])
        for n, v in zip(step.outputs, outs):
            self.values[n] = map_tensors(v, torch.Tensor.detach)
            if any(t.requires_grad for t in tensors_in(v)):
                self.made.with_grad.add(n)

    def _backward(self) -> None:
        given: dict[fx.Node, list[torch.Tensor | None]] = {}
        for k in reversed(range(len(self.steps))):
            step, tensors = self.steps[k], [t for v in self.roots[k] for t in v]
            if step.name == LOSS:
                grads = [torch.ones_like(t) for t in tensors]
            else:
                parts = zip(step.outputs, self.roots[k])
                grads = [g for n, v in parts for g in given.get(n, [None] * len(v))]
            self.made.grads.insert(0, [g if t.requires_grad else None for t, g in zip(tensors, grads)])
            ready = [(t, g) for t, g in zip(tensors, self.made.grads[0]) if g is not None]
            if ready:
                torch.autograd.backward([t for t, _ in ready], [g for _, g in ready])
            for n, leaves in self.leaves[k].items():
                new, old = [t.grad for t in leaves], given.get(n, [None] * len(leaves))
                self.made.gives[n, k] = [g is not None for g in new]
                given[n] = [a if b is None else b if a is None else a + b for a, b in zip(old, new)]


def record(traced: Traced, steps: list[Step], cpu: Space) -> Record:
    """What running the steps one by one shows."""
    return Recorder(traced, steps, cpu).run()


class Unsplit:
    """Runs the unsplit module as users do, and keeps what came of it."""

    def __init__(self, traced: Traced, steps: list[Step], optimizer: str):
        self.traced, self.steps, self.optimizer = traced, steps, optimizer
        self.state = [(t, t.detach().clone()) for t in self._state()]
        self.attributes = Attributes(traced.module)
        self.kept: Outcome | None = None

    def _state(self) -> list[torch.Tensor]:
        """What a run may change: buffers, and parameters in a training step."""
        module = self.traced.module
        return [*module.buffers()] + ([*module.parameters()] if self.traced.mode == "training" else [])

    def reset(self) -> None:
        """The user's module as it was at first."""
        self.attributes.restore()
        with torch.no_grad():
            for t, before in self.state:
                (t if is_parameter(t) else t.detach_()).copy_(before)
        for p in self.traced.module.parameters():
            p.grad = None

    def outcome(self, space_of: Callable[[int], Space]) -> Outcome:
        """What the unsplit module comes to. space_of: where a step that draws random numbers is run."""
        if self.kept is not None:
            return self.kept
        random = any(s.random for s in self.steps)
        self.reset()
        forward = (lambda: self._stepwise(space_of)) if random else self._forward
        made = self._step(forward) if self.traced.mode == "training" else self._plain(forward)
        if not random:
            self.kept = made
        self.reset()
        return made

    def _forward(self) -> Any:
        args, kwargs = map_tensors((self.traced.args, self.traced.kwargs), torch.clone)
        return self.traced.module(*args, **kwargs)

    def check_trace(self) -> None:
        """Refuses a trace that does not do what the module does, random numbers being the same.

        For modules that draw some: others are compared with the module itself after each run.
        """
        traced, made = self.traced, []
        whole = lambda: traced.rebuild(traced.graph_module(*copied(traced.inputs)))  # noqa: E731
        with torch.random.fork_rng(devices=[]):
            for forward in (whole, self._forward):
                self.reset()
                torch.manual_seed(0)
                made.append(self._step(forward) if traced.mode == "training" else self._plain(forward))
        self.reset()
        found = made[0].differences(made[1])
        found.pop("parameters", None)  # Adam's first step has the sign of a rounding error
        kind = max(found, key=lambda k: found[k])
        if not found[kind] <= TRACE_TOLERANCE:
            raise Refusal("model", f"the operators do not compute what the module computes: {kind} differ by "
                                   f"{found[kind]:.2g} of the largest")

    def _plain(self, forward: Callable[[], Any]) -> Outcome:
        with torch.no_grad():
            return Outcome([t.detach().clone() for t in tensors_in(forward())])

    def _step(self, forward: Callable[[], Any]) -> Outcome:
        module = self.traced.module
        out = forward()
        loss = self.traced.loss(out)
        outputs = [t.detach().clone() for t in tensors_in(out)]
        loss.backward()
        grads = {n: p.grad.clone() for n, p in module.named_parameters() if p.grad is not None}
        make_optimizer(self.optimizer, [p for p in module.parameters() if p.requires_grad]).step()
        return Outcome(outputs, loss.detach().clone(), grads,
                       {n: p.detach().clone() for n, p in module.named_parameters()},
                       {n: b.detach().clone() for n, b in module.named_buffers()})

    def stepped(self, grads: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The parameters after the optimizer's step with these gradients."""
        module = self.traced.module
        self.reset()
        for n, p in module.named_parameters():
            p.grad = grads[n].detach().to(p.device) if n in grads else None
        make_optimizer(self.optimizer, [p for p in module.parameters() if p.requires_grad]).step()
        made = {n: p.detach().clone() for n, p in module.named_parameters()}
        self.reset()
        return made

    def _stepwise(self, space_of: Callable[[int], Space]) -> Any:
        """One autograd graph all the same; only steps that draw random numbers are run elsewhere, with
        their seeds.
        """
        values = bind_inputs(self.traced)
        for k, step in enumerate(self.steps):
            if step.name == LOSS:
                continue
            args = [values[n] for n in step.inputs]
            if step.mutates:
                args = [map_tensors(a, torch.clone) for a in args]
            values.update(zip(step.outputs, self._random(step, k, args, space_of(k)) if step.random
                              else step.module(*args)))
        return model_output(self.traced, values.__getitem__)

    def _random(self, step: Step, k: int, args: list, space: Space) -> tuple:
        if is_host(space.device):
            with seeded(step.name, space.device):
                return step.module(*args)
        if step.params:
            raise RuntimeError(f"'{step.name}' has parameters and draws random numbers: not on "
                               + str(space.device))
        with seeded(step.name, space.device):
            outs = space.calls[k](*(map_tensors(a, lambda t: t.to(space.device)) for a in args))
        return tuple(map_tensors(o, lambda t: t.to("cpu")) for o in outs)

    def time(self, device: torch.device, warmup: int, repeats: int) -> list[float]:
        """Seconds of runs of the module by itself on one device: forward, or a whole training step."""
        traced = self.traced
        module = traced.module if is_host(device) else copy.deepcopy(traced.module).to(device)
        training, loss = traced.mode == "training", loss_in(traced.loss, device)
        optimizer = make_optimizer(self.optimizer, [p for p in module.parameters() if p.requires_grad]) \
            if training else None
        samples = []
        for _ in range(warmup + repeats):
            args, kwargs = map_tensors((traced.args, traced.kwargs),
                                       lambda t: t.detach().to(device, copy=True))
            wait_for(device)
            start = time.perf_counter()
            with torch.set_grad_enabled(training):
                out = module(*args, **kwargs)
                if training:
                    optimizer.zero_grad(set_to_none=True)
                    loss(out).backward()
                    optimizer.step()
            wait_for(device)
            samples.append(time.perf_counter() - start)
        self.reset()
        return samples[warmup:]

