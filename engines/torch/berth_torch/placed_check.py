"""An exported file against the unsplit module: run beside it before anything is written."""
import importlib.util
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Dict, List, Optional

import torch

from .devices import Refusal, torch_spaces
from .spec import Loaded, Spec, load, one_line, parse_spec
from .tags import Borders, Tag, TwoDevices
from .trace import copied, default_loss
from .tracer import is_tensor, tensors_in
from .structure import flatten
from .unsplit import Outcome
from .values import map_tensors

TOLERANCE = 1e-5  # on the CPU: sums in another order
ELSEWHERE = 1e-3  # by the kernels of another device


@dataclass
class Checked:
    """What was compared. worst: the largest relative difference. operations: that were watched at borders,
    and copies between devices."""

    modes: List[str]
    worst: float
    operations: int
    moves: int
    missing: List[str]

    def text(self) -> str:
        """As a sentence."""
        modes = " and ".join(self.modes)
        told = (f"checked on the CPU, in {modes}: outputs, gradients and a step of the optimizer as the "
                f"unsplit module's (largest difference {self.worst:.2g}), state_dict loads both ways, none of "
                f"{self.operations} operations takes tensors of two devices")
        if self.missing:
            told += f"; not run on {', '.join(self.missing)}, which this PyTorch does not have"
        return told


def load_file(path: str) -> ModuleType:
    """The written file, run."""
    spec = importlib.util.spec_from_file_location("berth_placed_file", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def inputs_of(loaded: Loaded) -> Any:
    """Example inputs in memory of their own."""
    tensors, rebuild = flatten((loaded.args, loaded.kwargs), is_tensor)
    return rebuild(copied(tensors)) if tensors else (loaded.args, loaded.kwargs)


def step(module: torch.nn.Module, loaded: Loaded, training: bool) -> Outcome:
    """Forward, backward, and a step of plain gradient descent, with the same random numbers each time."""
    module.train(training)
    torch.manual_seed(0)
    args, kwargs = inputs_of(loaded)
    out = map_tensors(module(*args, **kwargs), lambda t: t.to("cpu"))
    made = Outcome([t.detach().clone() for t in tensors_in(out)])
    loss = (loaded.loss or default_loss)(out)
    if loss.requires_grad:
        module.zero_grad(set_to_none=True)
        loss.backward()
        made.grads = {n: p.grad.clone() for n, p in module.named_parameters() if p.grad is not None}
        torch.optim.SGD(module.parameters(), lr=0.01).step()
    made.loss = loss.detach().to("cpu")
    made.params = {n: p.detach().clone() for n, p in module.named_parameters()}
    made.buffers = {n: b.detach().clone() for n, b in module.named_buffers()}
    return made


def check_state(a: torch.nn.Module, b: torch.nn.Module) -> None:
    """state_dict of each in the other. Raises Refusal."""
    if list(a.state_dict()) != list(b.state_dict()):
        raise Refusal("model", "state_dict has other names in the written file")
    for one, other in ((a, b), (b, a)):
        one.load_state_dict({k: v.clone() for k, v in other.state_dict().items()}, strict=True)


def check_types(a: Any, b: Any) -> None:
    """What is returned is of one kind."""
    if type(a) is not type(b):
        raise Refusal("model", f"the written file returns {type(b).__name__}, the module {type(a).__name__}")


class Check:
    """Compares one file. devices: of the plan, with what torch calls them. returned: the one that all that
    the module returns has to be on; None: any."""

    def __init__(self, path: str, spec: Spec, devices: Dict[str, str], both: bool,
                 returned: Optional[str]) -> None:
        training = spec.training
        self.loaded, self.returned = load(spec), returned
        self.file = load_file(path)
        self.devices, self.modes = devices, [training, not training] if both else [training]

    def built(self, devices: Dict[str, str]) -> torch.nn.Module:
        """The placed module with the weights of the unsplit one."""
        torch.manual_seed(0)
        module = self.file.build(devices)
        module.load_state_dict(self.loaded.module.state_dict(), strict=True)
        return module

    def compare(self, devices: Dict[str, str], training: bool, limit: float) -> float:
        """The largest difference of a step. Raises Refusal above the limit."""
        module, own = self.built(devices), self.loaded.module
        state = {k: v.clone() for k, v in own.state_dict().items()}
        theirs, ours = step(own, self.loaded, training), step(module, self.loaded, training)
        own.load_state_dict(state)
        found = ours.differences(theirs)
        kind = max(found, key=lambda k: found[k])
        if not found[kind] <= limit:
            raise Refusal("model", "the written file does not compute what the module computes: "
                                   f"{kind} differ by {found[kind]:.2g} of the largest")
        return found[kind]

    def borders(self, training: bool) -> Borders:
        """All operations under names of devices. Raises Refusal."""
        watch = Borders(self.file.__file__, self.devices)
        with watch:
            module = self.built({d: Tag(d) for d in self.devices})
            for t in self.loaded.module.state_dict().values():
                watch.alive.append(t)
            args, kwargs = inputs_of(self.loaded)
            module.train(training)
            watch.operations = watch.moves = 0
            try:
                out = module(*args, **kwargs)
            except TwoDevices as why:
                raise Refusal("model", f"the written file: {why}") from why
        at = {str(watch.tag(t)) for t in tensors_in(out)}
        if self.returned is not None and at - {self.returned}:
            raise Refusal("model", f"the written file returns tensors of {', '.join(sorted(at))}")
        module.train(training)
        self.loaded.module.train(training)
        args, kwargs = inputs_of(self.loaded)
        with torch.no_grad():
            check_types(self.loaded.module(*args, **kwargs), out)
        return watch

    def run(self) -> Checked:
        """All of it."""
        check_state(self.loaded.module, self.built({d: "cpu" for d in self.devices}))
        state = {k: v.clone() for k, v in self.loaded.module.state_dict().items()}
        worst = max(self.compare({d: "cpu" for d in self.devices}, m, TOLERANCE) for m in self.modes)
        watched = [self.borders(m) for m in self.modes]
        missing = sorted({d for d in self.devices.values() if d not in torch_spaces()})
        if not missing and set(self.devices.values()) != {"cpu"} and False in self.modes:
            self.loaded.module.load_state_dict(state)
            self.compare(self.devices, False, ELSEWHERE)
        names = ["training" if m else "evaluation" for m in self.modes]
        return Checked(names, worst, watched[0].operations, watched[0].moves, missing)


def check_file(path: str, spec_text: str, devices: Dict[str, str], both: bool,
               returned: Optional[str]) -> Checked:
    """Run the file at path beside the module. Raises Refusal, SpecError."""
    spec = parse_spec(spec_text)
    try:
        return Check(path, spec, devices, both, returned).run()
    except (Refusal, MemoryError):
        raise
    except Exception as why:
        raise Refusal("model", f"the written file does not run: {one_line(why)}") from why


__all__ = ["Checked", "check_file"]
