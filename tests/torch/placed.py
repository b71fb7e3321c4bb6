#!/usr/bin/python3
"""Plans of modules as Python files: written, and run beside the unsplit module.

usage: placed.py [--plans N] [--seed N] [--mode MODE]... [MODEL...]

Plans are drawn as in plans.py, on cpu0, gpu0 and gpu1, operators that share parameters together. Each file
has to pass the check that `berth export --to torch` makes: outputs, gradients and a step as the unsplit
module's, in both modes where the file says so, checkpoints both ways, no operation with tensors of two
devices. And the check has to refuse files from which one `.to()` was taken out. Exit code 1 where that is not
so, 77 without PyTorch.
"""
import argparse
import os
import random
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True

from needed import HERE  # noqa: E402  (first of all: PyTorch may be missing)

import torch  # noqa: E402
from berth_torch.devices import Refusal  # noqa: E402
from berth_torch.parameters import Groups, parameters_of  # noqa: E402
from berth_torch.place_command import Checker, make  # noqa: E402
from berth_torch.placed_check import Check, check_file, run_text, run_there  # noqa: E402
from berth_torch.placed_file import Placed, write_placed  # noqa: E402
from berth_torch.spec import UsageError, load, parse_spec  # noqa: E402
from berth_torch.trace import trace_loaded  # noqa: E402

MODELS = ["tied", "lstm", "mixed", "dynamic", "aliased", "tables", "custom", "quiet"]
ALONE = ("custom",)  # of one mode: autograd.Function draws another graph in the other one
DEVICES = {"cpu0": "cpu", "gpu0": "cuda:0", "gpu1": "cuda:1"}
wrong = []


def check(ok, what):
    """Note what is wrong."""
    if not ok:
        wrong.append(what)
        print("WRONG:", what, flush=True)


def fresh(text):
    """A module loaded anew, its file run anew."""
    sys.modules.pop("models", None)
    spec = parse_spec(text)
    return spec, load(spec)


def draw(traced, rng, training):
    """Devices of the operators, by name."""
    n, names = len(traced.ops), list(DEVICES)
    way = rng.randrange(3)
    if way == 0:
        place = [rng.choice(names) for _ in range(n)]
    elif way == 1:
        cuts = sorted(rng.randrange(n + 1) for _ in range(rng.randrange(1, 4)))
        place = [names[sum(k >= c for c in cuts) % 3] for k in range(n)]
    else:
        place = [names[k % 2] for k in range(n)]
    groups = Groups(n)
    for p in parameters_of(traced):
        groups.join(p.users)
    made = {op.name: place[groups.find(k)] for k, op in enumerate(traced.ops)}
    return dict(made, loss=rng.choice(names)) if training else made


def written(text, place):
    """The file of a plan."""
    spec, loaded = fresh(text)
    used = {d: t for d, t in DEVICES.items() if d in place.values()}
    return write_placed(loaded, spec, Placed("graph", "system", used, place)), used


def checked(text, file, used, both, returned):
    """The check's figures; None: it refuses the file."""
    sys.modules.pop("models", None)
    try:
        return check_file(file, text, used, both, returned), ""
    except Refusal as why:
        return None, str(why)


def border_told(text, file, used, place):
    """What is said of the borders of a file."""
    sys.modules.pop("models", None)
    spec = parse_spec(text)
    try:
        Check(file, spec, used, False, place.get("loss")).borders(spec.training)
        return "nothing"
    except Refusal as why:
        return str(why)


def without_moves(file):
    """The file without one `.to()` of forward, for each of them that changes the device."""
    head, body = file[:file.index("def forward")], file[file.index("def forward"):file.index("def build")]
    tail = file[file.index("def build"):]
    for found in re.finditer(r"(?:tuple\(t)?\.to\(\w+(?:, copy=True)?\)(?: for t in \w+\))?", body):
        line = body[body.rindex("\n", 0, found.start()):found.start()]
        if "tuple(t" not in found.group():
            yield line.strip() + found.group(), head + body[:found.start()] + body[found.end():] + tail


def try_model(name, mode, args):
    """Some plans of one module."""
    text = f"{os.path.join(HERE, 'models.py')}:{name}:mode={mode}"
    rng = random.Random(f"{args.seed} {name} {mode}")
    traced = trace_loaded(*reversed(fresh(text)))
    worst, moves, taken_out, parts = 0.0, 0, 0, 0
    for i in range(args.plans):
        place = draw(traced, rng, mode == "training")
        file, used = written(text, place)
        told, why = checked(text, file.text, used, file.both_modes, place.get("loss"))
        check(told is not None, f"{name} {mode}, plan {i}: {why}")
        check(file.both_modes or name in ALONE, f"{name} {mode}, plan {i}: of one mode")
        if told is None:
            continue
        worst, moves, parts = max(worst, told.worst), moves + told.moves, parts + len(file.parts)
        for line, less in list(without_moves(file.text))[:args.taken_out]:
            taken_out += 1
            why = border_told(text, less, used, place)
            check("tensors of" in why, f"{name} {mode}: nobody misses '{line}': {why}")
    print(f"{name} {mode}: {args.plans} plans, {moves} copies between devices, {parts} parts called whole; largest "
          f"difference {worst:.2g}; {taken_out} files without one of them, all refused", flush=True)


def try_scalar():
    """A tensor of no dimensions crosses a border as any other; that of the CPU may stay where it is."""
    text = f"{os.path.join(HERE, 'models.py')}:scaled:mode=inference"
    names = [op.name for op in trace_loaded(*reversed(fresh(text))).ops]
    for home in ("gpu0", "cpu0"):
        place = {n: home if n in ("a", "mean") else "gpu1" for n in names}
        file, used = written(text, place)
        told, why = checked(text, file.text, used, file.both_modes, None)
        check(told is not None, f"a mean on {home}: {why}")
        said = [(line, border_told(text, less, used, place)) for line, less in without_moves(file.text)]
        told = [line for line, why in said if "tensors of" in why]
        check(len(said) == 3 and len(told) == (3 if home == "gpu0" else 2), f"a mean on {home}: {said}")


def try_check():
    """Changes of a file that the check has to see: of what is computed, and of what the optimizer does with
    it. What is said of devices."""
    text = f"{os.path.join(HERE, 'models.py')}:scaled:mode=training"
    names = [op.name for op in trace_loaded(*reversed(fresh(text))).ops]
    file, used = written(text, dict.fromkeys([*names, "loss"], "gpu0"))
    seen = []
    for kind in ("sgd", "momentum", "adam"):
        optimizers = vars(torch.optim)["Adam" if kind == "adam" else "SGD"]
        step, runs = optimizers.step, []
        optimizers.step = lambda self, *rest, runs=runs, step=step: (runs.append(self), step(self, *rest))[1]
        told, why = checked(f"{text}:optimizer={kind}", file.text, used, True, "gpu0")
        optimizers.step = step
        check(told is not None and len(runs) == 4, f"{kind}: {len(runs)} steps; {why}")
        seen.append(runs[0].defaults.get("momentum", "adam") if runs else None)
    check(seen == [0.0, 0.9, "adam"], f"optimizers: {seen}")
    told, why = checked(text, file.text.replace(" * ", " - "), used, True, "gpu0")
    check(told is None and "does not compute" in why, f"another operation: {why}")
    known = ["cpu", "cuda:0"]
    for devices, modes, runs, part in ((["cpu", "cpu"], [True, False], False, ""),
                                       (["cpu", "cuda:1"], [True, False], False, "does not have"),
                                       (["cpu", "cuda:0"], [True], False, "not run on cpu, cuda:0: in training"),
                                       (["cpu", "cuda:0"], [True, False], True, "in evaluation on cpu, cuda:0")):
        found = run_there(devices, modes, known)
        check(found[0] == runs and part in found[1] and bool(part) == bool(found[1]), f"{devices}: {found}")


def try_attributes():
    """Attributes that forward reads are held against their values, but for those of parts that are called
    whole; what it sets is told."""
    text = f"{os.path.join(HERE, 'models.py')}:tempered:mode=inference"
    names = [op.name for op in trace_loaded(*reversed(fresh(text))).ops]
    file, used = written(text, {n: "gpu0" if n.startswith("parts.0.a") else "cpu0" for n in names})
    told, why = checked(text, file.text, used, file.both_modes, None)
    check(told is not None, f"attributes: {why}")
    check(file.parts == ["parts.1"] and file.changed == ["self.calls"], f"{file.parts}, {file.changed}")
    for path, value in (("parts.0.factor", 3.0), ("parts.1.factor", 3.0), ("parts.0.unused", 2), ("temperature", 1.0),
                        ("way", "down"), ("calls", 7), ("placed_on", "cpu")):
        sys.modules.pop("models", None)
        model = run_text(file.text).build({d: "cpu" for d in used})
        at, _, name = path.rpartition(".")
        setattr(model.get_submodule(at), name, value)
        try:
            model(torch.ones(2, 8))
            said = ""
        except ValueError as error:
            said = str(error)
        wanted = path in ("parts.0.factor", "temperature", "way")
        check(bool(said) == wanted and (not wanted or f"{value!r}, and" in said), f"{path}: '{said}'")


def try_names():
    """Files with names that Python or the written file has."""
    with tempfile.TemporaryDirectory() as folder:
        for name, ok in (("random", False), ("build", True)):
            path = os.path.join(folder, f"{name}.py")
            shutil.copy(os.path.join(HERE, "models.py"), path)
            text = f"{path}:scaled:mode=inference"
            place = dict.fromkeys([op.name for op in trace_loaded(*reversed(fresh(text))).ops], "cpu0")
            try:
                file, used = written(text, place)
                told, why = checked(text, file.text, used, file.both_modes, None)
            except Refusal as error:
                told, why = None, str(error)
            check((told is not None) == ok and (ok or "'import random' does not give" in why), f"{name}.py: {why}")


def try_refusals():
    """Tied weights and modules on two devices; unknown devices."""
    text = f"{os.path.join(HERE, 'models.py')}:tied:mode=inference"
    names = [op.name for op in trace_loaded(*reversed(fresh(text))).ops]
    for place, part in (({n: "gpu0" if n == "head" else "cpu0" for n in names}, "'embed.weight' is of 'embed' on cpu0"),
                        ({n: "cpu0" for n in names[1:]}, f"no device for '{names[0]}'")):
        try:
            written(text, place)
            check(False, f"a plan was written that should be refused: {part}")
        except Refusal as why:
            check(part in str(why), f"'{part}' is not told: {why}")


def try_command():
    """What the program asks for, with no folder for temporary files."""
    text = f"{os.path.join(HERE, 'models.py')}:scaled:mode=training"
    names = [op.name for op in trace_loaded(*reversed(fresh(text))).ops]
    place = {n: "gpu1" if n == "b" else "cpu0" for n in [*names, "loss"]}
    kept, tempfile.tempdir = tempfile.tempdir, os.path.join(HERE, "no such folder")
    try:
        made = make(text, {"graph": "g", "system": "s", "devices": DEVICES, "placement": place}, Checker())
        check("def forward" in made["file"] and "checked" in made["notes"][0], f"the program is told {made['notes']}")
    finally:
        tempfile.tempdir = kept
    try:
        make("no such file", {"devices": {"cpu0": "cpu", "gpu0": "processor"}}, None)
        check(False, "a device that PyTorch does not have was taken")
    except UsageError as why:
        check("'processor' is no device of PyTorch" in str(why), f"devices: {why}")


def try_use():
    """What a user does with a file: build, forward, backward, the optimizer's step, checkpoints."""
    text = f"{os.path.join(HERE, 'models.py')}:tied:mode=training"
    traced = trace_loaded(*reversed(fresh(text)))
    place = {op.name: "gpu0" if op.name.startswith("blocks.0") else "cpu0" for op in traced.ops}
    place["loss"] = "cpu0"
    file, used = written(text, place)
    check(file.parts == ["blocks.0", "blocks.1", "blocks.2"], f"called whole are {file.parts}")
    told, why = checked(text, file.text, used, file.both_modes, place["loss"])
    check(told is not None, why)
    made = run_text(file.text)
    model, (ids,) = made.build({d: "cpu" for d in used}), traced.args
    optimizer, losses = torch.optim.Adam(model.parameters()), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = traced.loss(model(ids))
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    check(losses[2] < losses[0], f"three steps of Adam: losses {losses}")
    check(model.head.weight is model.embed.weight, "weights are not tied any more")
    traced.module.load_state_dict(model.state_dict(), strict=True)
    try:
        made.build({"gpu7": "cpu"})
        check(False, "a device that the plan does not have was taken")
    except ValueError as why:
        check("gpu7" in str(why), f"build: {why}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plans", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", action="append")
    parser.add_argument("--taken-out", type=int, default=3, help="copies that are left out of a file, one by one")
    parser.add_argument("models", nargs="*", default=MODELS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    try_command()
    for i, name in enumerate(args.models):
        for mode in args.mode or [("training", "inference")[i % 2]]:
            try_model(name, mode, args)
    try_scalar()
    try_check()
    try_attributes()
    try_names()
    try_refusals()
    try_use()
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
