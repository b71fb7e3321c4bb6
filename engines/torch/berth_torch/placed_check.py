"""An exported file against the unsplit module: run beside it before anything is written."""
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Dict, List, Optional, Tuple

import torch

from .devices import Refusal, torch_spaces
from .optimizers import make_optimizer
from .spec import Loaded, Spec, load, one_line, parse_spec
from .tags import Borders, Tag, TwoDevices
from .trace import copied, default_loss
from .tracer import is_tensor, tensors_in
from .structure import flatten
from .unsplit import Outcome
from .values import map_tensors

TOLERANCE = 1e-5  # on the CPU: sums in another order
ELSEWHERE = 1e-3  # by the kernels of another device
NAME = "<written file>"


@dataclass
class Checked:
    """What was compared. worst: the largest relative difference. operations: that were watched at borders,
    and copies between devices. there: what came of the devices themselves, as words; empty: all are the CPU."""

    modes: List[str]
    worst: float
    operations: int
    moves: int
    there: str

    def text(self) -> str:
        """As a sentence."""
        modes = " and ".join(self.modes)
        told = (f"checked on the CPU, in {modes}: outputs, gradients and a step of the optimizer as the "
                f"unsplit module's (largest difference {self.worst:.2g}), state_dict loads both ways, none of "
                f"{self.operations} operations takes tensors of two devices")
        return f"{told}; {self.there}" if self.there else told


def run_there(devices: List[str], modes: List[bool], known: List[str]) -> Tuple[bool, str]:
    """Is the file run on its devices, too? And what is said of that. known: devices of this PyTorch."""
    used = sorted(set(devices))
    missing = [d for d in used if d not in known]
    if used == ["cpu"]:
        return False, ""
    if missing:
        return False, f"not run on {', '.join(missing)}, which this PyTorch does not have"
    if False not in modes:
        return False, f"not run on {', '.join(used)}: in training each device draws random numbers of its own"
    return True, f"in evaluation on {', '.join(used)}, too, within {ELSEWHERE:g}"


def run_text(text: str) -> ModuleType:
    """The text of a file, run as a module."""
    made = ModuleType("berth_placed_file")
    exec(compile(text, NAME, "exec"), vars(made))  # pylint: disable=exec-used
    return made


def inputs_of(loaded: Loaded) -> Any:
    """Example inputs in memory of their own."""
    tensors, rebuild = flatten((loaded.args, loaded.kwargs), is_tensor)
    return rebuild(copied(tensors)) if tensors else (loaded.args, loaded.kwargs)


def step(module: torch.nn.Module, loaded: Loaded, training: bool, optimizer: str,
         given: Optional[Dict[str, torch.Tensor]] = None) -> Outcome:
    """Forward, backward, and a step of the optimizer, with the same random numbers each time. given: gradients
    that the optimizer takes in place of the module's, by name: the first step of Adam has the sign of a
    rounding error."""
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
        update(module, made.grads if given is None else given, optimizer)
    made.loss = loss.detach().to("cpu")
    made.params = {n: p.detach().clone() for n, p in module.named_parameters()}
    made.buffers = {n: b.detach().clone() for n, b in module.named_buffers()}
    return made


def update(module: torch.nn.Module, grads: Dict[str, torch.Tensor], optimizer: str) -> None:
    """A step of the optimizer, of that name, with these gradients."""
    trained = {n: p for n, p in module.named_parameters() if p.requires_grad}
    for n, p in trained.items():
        p.grad = grads[n].to(p.device, copy=True) if n in grads else None
    if trained:
        make_optimizer(optimizer, list(trained.values())).step()


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

    def __init__(self, text: str, spec: Spec, devices: Dict[str, str], both: bool,
                 returned: Optional[str]) -> None:
        training = spec.training
        self.loaded, self.returned, self.optimizer = load(spec), returned, spec.optimizer
        self.text, self.file = text, run_text(text)
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
        ours = step(module, self.loaded, training, self.optimizer)
        theirs = step(own, self.loaded, training, self.optimizer, ours.grads)
        own.load_state_dict(state)
        found = ours.differences(theirs)
        kind = max(found, key=lambda k: found[k])
        if not found[kind] <= limit:
            raise Refusal("model", "the written file does not compute what the module computes: "
                                   f"{kind} differ by {found[kind]:.2g} of the largest")
        return found[kind]

    def borders(self, training: bool) -> Borders:
        """All operations under names of devices. Raises Refusal."""
        watch = Borders(NAME, self.text, self.devices)
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
        on_them, there = run_there(list(self.devices.values()), self.modes, torch_spaces())
        if on_them:
            self.loaded.module.load_state_dict(state)
            self.compare(self.devices, False, ELSEWHERE)
        names = ["training" if m else "evaluation" for m in self.modes]
        return Checked(names, worst, watched[0].operations, watched[0].moves, there)


def check_file(text: str, spec_text: str, devices: Dict[str, str], both: bool,
               returned: Optional[str]) -> Checked:
    """Run the text of a file beside the module. Raises Refusal, SpecError."""
    spec = parse_spec(spec_text)
    try:
        return Check(text, spec, devices, both, returned).run()
    except (Refusal, MemoryError):
        raise
    except Exception as why:
        raise Refusal("model", f"the written file does not run: {one_line(why)}") from why


__all__ = ["Checked", "check_file"]
