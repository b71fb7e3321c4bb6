#!/usr/bin/python3
"""Traced modules and their graphs against independent counts, and what is said of modules that cannot be used.

usage: modules.py [BERTH]      with BERTH: one module through the program, too

Exit code 1 where something is wrong, 77 without PyTorch.
"""
import collections
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from needed import HERE  # noqa: E402  (first of all: PyTorch may be missing)

import torch  # noqa: E402
from berth_torch.devices import Refusal  # noqa: E402
from berth_torch.dims import macs_of_dims  # noqa: E402
from berth_torch.flops import Counter  # noqa: E402
from berth_torch.graph import make_graph  # noqa: E402
from berth_torch.measure import storage_size  # noqa: E402
from berth_torch.nursery import checked  # noqa: E402
from berth_torch.placed import compile_steps  # noqa: E402
from berth_torch.spec import SpecError, UsageError  # noqa: E402
from berth_torch.trace import trace  # noqa: E402
from berth_torch.tracer import storage_of, tensors_in  # noqa: E402
from berth_torch.unsplit import Unsplit  # noqa: E402

try:
    import torchvision  # noqa: F401
    MODELS = ["resnet18"]
except ImportError:
    print("skipped: resnet18 (no torchvision)")
    MODELS = []
MODELS += ["transformer", "tied", "lstm", "mixed", "encoder", "dynamic", "aliased", "tables", "custom", "twice", "quiet", "named"]
os.chdir(os.path.join(HERE, "..", ".."))
failures = []


def check(ok, what):
    """Note what is wrong."""
    if not ok:
        failures.append(what)
        print("WRONG:", what)


def tensors_of(module):
    """Bytes of all parameters, buffers and plain tensors, each once."""
    plain = [t for m in module.modules() for t in vars(m).values() if isinstance(t, torch.Tensor)]
    found = {id(t): t for t in [*module.parameters(), *module.buffers(), *plain]}
    return sum(t.numel() * t.element_size() for t in found.values())


def check_order(name, graph):
    """Names are unique, edges known, and there is no cycle; each operator comes to an end that counts."""
    names = [op["name"] for op in graph["ops"]]
    check(len(set(names)) == len(names), f"{name}: names twice")
    after, before = collections.defaultdict(set), collections.defaultdict(set)
    for e in graph["edges"]:
        check(e["from"] in names and e["to"] in names, f"{name}: edge {e}")
        after[e["from"]].add(e["to"])
        before[e["to"]].add(e["from"])
    ready, done = [n for n in names if not before[n]], []
    while ready:
        done.append(ready.pop())
        for n in after[done[-1]]:
            before[n].discard(done[-1])
            if not before[n]:
                ready.append(n)
    check(len(done) == len(names), f"{name}: a cycle")
    for op in graph["ops"]:
        ends = op.get("output_bytes") or op.get("backward")
        check(ends or after[op["name"]], f"{name}: nobody needs '{op['name']}'")


def check_bytes(name, graph, traced):
    """Parameters and buffers, each once."""
    total = sum(op.get("param_bytes", 0) for op in graph["ops"]) + sum(p["bytes"] for p in graph.get("params", []))
    check(total == tensors_of(traced.module), f"{name}: {total} bytes of parameters, not {tensors_of(traced.module)}")


UNSHAPED = {"lstm": {"lstm1", "lstm2"},  # several unlike products in one
            "encoder": {"layers.0.self_attn", "layers.1.self_attn"}}


def check_shapes(name, graph, unshaped):
    """The shape of an operator is all of its work."""
    for op in graph["ops"]:
        dims, work = op.get("dims", {}), op.get("macs", 0)
        if op["name"].split("/")[0] in unshaped and work:
            check("dims" not in op, f"{name}: '{op['name']}' is of one shape")
        elif work:
            check(macs_of_dims(dims) == work if "b" in dims else False, f"{name}: '{op['name']}' has {dims} for {work} MACs")
        elif op.get("read_bytes", 0) + op.get("write_bytes", 0):
            check(dims.get("rows", 0) * dims.get("width", 0) > 0, f"{name}: '{op['name']}' has no rows")


def check_same(name, traced):
    """The traced module gives what the module gives, and tracing left no trace in it."""
    module = traced.module
    before = copy.deepcopy(module.state_dict())
    torch.manual_seed(1)
    with torch.no_grad():
        ours = traced.rebuild(traced.graph_module(*[t.clone() for t in traced.inputs]))
    module.load_state_dict(before)
    torch.manual_seed(1)
    with torch.no_grad():
        theirs = module(*copy.deepcopy(traced.args), **copy.deepcopy(traced.kwargs))
    module.load_state_dict(before)
    check(type(ours) is type(theirs), f"{name}: gives {type(ours).__name__}, not {type(theirs).__name__}")
    pairs = list(zip(tensors_in(ours), tensors_in(theirs)))
    check(len(pairs) == len(tensors_in(theirs)) > 0, f"{name}: {len(pairs)} outputs")
    for a, b in pairs:
        check(torch.allclose(a.double(), b.double(), rtol=1e-5, atol=1e-6), f"{name}: another output")


def gradients(traced, run):
    """Of the loss, by name."""
    before = copy.deepcopy(traced.module.state_dict())
    torch.manual_seed(1)
    traced.loss(run()).backward()
    found = {n: p.grad for n, p in traced.module.named_parameters() if p.grad is not None}
    traced.module.zero_grad(set_to_none=True)
    traced.module.load_state_dict(before)
    return found


def check_gradients(name, traced):
    """The traced module's gradients are the module's."""
    args, kwargs = copy.deepcopy((traced.args, traced.kwargs))
    ours = gradients(traced, lambda: traced.rebuild(traced.graph_module(*[t.clone() for t in traced.inputs])))
    theirs = gradients(traced, lambda: traced.module(*args, **kwargs))
    check(ours.keys() == theirs.keys(), f"{name}: gradients of {sorted(ours)}, not {sorted(theirs)}")
    for n in ours.keys() & theirs.keys():
        check(torch.allclose(ours[n], theirs[n], rtol=1e-4, atol=1e-5), f"{name}: another gradient of {n}")


def check_kept(name, graph, traced):
    """What autograd keeps of the whole module, without parameters, within 2 %."""
    ours = {(e["from"], e["tensor"]): e["bytes"] for e in graph["edges"]
            if e["to"].endswith("/grad") and not e["from"].endswith("/grad")}
    resident = {storage_of(t) for t in [*traced.module.parameters(), *traced.module.buffers()]}
    held, memory = [], {}

    def pack(t):
        held.append(t)
        memory[storage_of(t)] = storage_size(t)
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        loss = traced.loss(traced.module(*traced.args, **traced.kwargs))
    theirs = sum(size for at, size in memory.items() if at not in resident)
    check(loss.requires_grad, f"{name}: no loss")
    check(abs(sum(ours.values()) - theirs) <= 0.02 * theirs, f"{name}: keeps {sum(ours.values())}, not {theirs} bytes")


def check_state(name, graph, traced):
    """Gradients and Adam's state are three copies of what is trained; each parameter is updated once."""
    trained = sum(p.numel() * p.element_size() for p in traced.module.parameters() if p.requires_grad)
    state = sum(op.get("state_bytes", 0) for op in graph["ops"])
    check(state == 3 * trained, f"{name}: {state} bytes of state, not {3 * trained}")
    written = sum(op["write_bytes"] for op in graph["ops"] if op["type"] == "OptimizerUpdate")
    check(written == 3 * trained, f"{name}: updates write {written} bytes, not {3 * trained}")
    check(all(p.grad is None for p in traced.module.parameters()), f"{name}: gradients were left")


def one_model(model, mode):
    """All that holds for every model."""
    name = f"{model}, {mode}"
    traced = trace(f"tests/torch/models.py:{model}:mode={mode}")
    graph = make_graph(traced)
    check_order(name, graph)
    check_bytes(name, graph, traced)
    check_shapes(name, graph, UNSHAPED.get(model, ()))
    check_same(name, traced)
    if mode == "training":
        check_gradients(name, traced)
        check_kept(name, graph, traced)
        if model != "quiet":  # its teacher is never updated
            check_state(name, graph, traced)
    return graph


def macs(graph, backward):
    """Multiply-accumulates of one pass."""
    return sum(op.get("macs", 0) for op in graph["ops"] if op.get("backward", False) == backward)


def transformer_macs(batch=2, tokens=32, words=500, width=64, blocks=3):
    """By hand: four products of the attention's width, two of the feed-forward part, scores, sums, and the head."""
    block = 12 * width * width + 2 * tokens * width
    return batch * tokens * (blocks * block + width * words)


def counted(graphs):
    """Figures of single models against counts by hand."""
    t = graphs["transformer", "inference"]
    head = [op for op in t["ops"] if op["name"] == "head"]
    check([op.get("dims") for op in head] == [{"b": 1, "m": 64, "n": 500, "k": 64}], f"transformer: {head}")
    check(macs(t, False) == transformer_macs(), f"transformer: {macs(t, False)} MACs, not {transformer_macs()}")
    tied = graphs["tied", "training"]
    shared = {p["name"]: p["ops"] for p in tied["params"]}
    check(shared == {"embed.weight": ["embed", "head"]}, f"tied: shares {shared}")
    groups = {op["name"]: op.get("colocate") for op in tied["ops"]}
    check({groups[n] for n in ("embed", "head", "head/grad", "embed.weight/update")} == {"embed"}, "tied: groups")
    check(macs(tied, True) == 2 * macs(tied, False), "tied: two products backward for each one forward")
    lstm = graphs["lstm", "inference"]
    steps = 3 * 12 * 4 * 48
    by_hand = steps * (32 + 48) + 2 * steps * (48 + 48) + 3 * 12 * 96 * 11
    check(macs(lstm, False) == by_hand, f"lstm: {macs(lstm, False)} MACs, not {by_hand}")
    names = [op["name"] for op in graphs["mixed", "training"]["ops"]]
    check("drop" in names and "bn1/grad" in names and "bn2/update" in names, f"mixed: {names}")


def counted_shapes():
    """Single operations, with the precision that they run in."""
    a, b, x = torch.ones(2, 3).bfloat16(), torch.ones(3, 4).bfloat16(), torch.ones(2, 4, 5, 5, dtype=torch.float64)
    conv = {"b": 2, "in": 4, "out": 6, "pixels": 25, "taps": 9, "stride": 2, "groups": 2, "dilation": 1}
    for run, dims, precision in (
            (lambda: a @ b, {"b": 1, "m": 2, "n": 4, "k": 3}, "bf16"),
            (lambda: (a @ b, a @ b), {"b": 2, "m": 2, "n": 4, "k": 3}, "bf16"),
            (lambda: (a @ b, b.t() @ b), None, "bf16"),
            (lambda: a.relu(), {"rows": 2, "width": 3}, "bf16"),
            (lambda: x.float().mean((2, 3)), {"rows": 40, "width": 5}, None),
            (lambda: torch.conv_transpose2d(x, x.new_ones(4, 3, 3, 3), stride=2, groups=2), conv, "f64")):
        with Counter() as counter:
            run()
        found = counter.seen.dims(counter.macs), counter.seen.precision()
        check(found == (dims, precision), f"shape {found}, not {dims, precision}")


def counted_resnet():
    """ResNet-18 at 224 pixels has 1.814 GMAC (He et al. 2016, and torchvision's own page)."""
    graph = make_graph(trace("tests/torch/models.py:resnet18_224"))
    check(abs(macs(graph, False) / 1.814e9 - 1) < 1e-3, f"resnet18: {macs(graph, False)} MACs")


BAD = [
    ("gate", "tests/torch/bad_modules.py:20: 'first' (Gate) cannot be traced: the way through its code depends on the "
     "values of a tensor; the word leaf=Gate keeps it whole"),
    ("item", "tests/torch/bad_modules.py:43: '0' (Item) cannot be traced: the way through its code depends on the "
     "values of a tensor; the word leaf=Item keeps it whole"),
    ("opaque", "tests/torch/bad_modules.py:51: '1' (Opaque) cannot be traced: "),
    ("shapes", "tests/torch/bad_modules.py:19: 'first' (Gate) failed on the example inputs: RuntimeError: mat1 and mat2 "
     "shapes cannot be multiplied (3x5 and 4x4)"),
    ("no_inputs", "tests/torch/bad_modules.py: the module (Net) failed without inputs (no_inputs() "
     "returned a module without args): TypeError: "),
    ("raises", "tests/torch/bad_modules.py:67: raises() failed: ZeroDivisionError: division by zero"),
    ("reads", "tests/torch/bad_modules.py:71: reads() failed: FileNotFoundError: [Errno 2] No such file or directory: "
     "'no/such/weights.pt'"),
    ("leaves", "tests/torch/bad_modules.py:75: leaves() failed: SystemExit: 3"),
    ("wrong", "tests/torch/bad_modules.py: wrong() returned int; a module, (module, args), (module, args, kwargs) or "
     "(module, args, kwargs, loss) was expected"),
    ("many", "tests/torch/bad_modules.py: many() returned 5 values; a module, (module, args), (module, args, kwargs) "
     "or (module, args, kwargs, loss) was expected"),
    ("dict_args", "tests/torch/bad_modules.py: dict_args(): args is dict, not a tuple; a module, (module, args), "),
    ("empty", "tests/torch/bad_modules.py: the module computes nothing"),
    ("no_loss:mode=training", "tests/torch/bad_modules.py: the loss of no_loss() is a tensor of shape (3, 4); one "
     "number was expected"),
    ("loss_fails:mode=training", "tests/torch/bad_modules.py:99: the loss failed: RuntimeError: "),
    ("whole_numbers:mode=training", "tests/torch/bad_modules.py: the loss of whole_numbers() depends on no parameter; "
     "there is nothing to train"),
    ("frozen:mode=training", "tests/torch/bad_modules.py: the loss of frozen() depends on no parameter; there is "
     "nothing to train"),
    ("autocast", "tests/torch/bad_modules.py:137: '0' (Around) cannot be traced: autocast and inference_mode do not reach into "
     "operators; the word leaf=Around keeps it whole"),
    ("hook:mode=training", "tests/torch/bad_modules.py:143: '0' (Around) cannot be traced: a gradient's hook (register_hook) has no "
     "place between operators; the word leaf=Around keeps it whole"),
    ("normal", "tests/torch/bad_modules.py:149: '0' (Around) cannot be traced: random numbers are drawn here or before by what is no "
     "operator; "),
    ("other_random", "tests/torch/bad_modules.py:153: '0' (Around) cannot be traced: random numbers are drawn here or before that are "
     "not torch's; "),
    ("assigns", "tests/torch/bad_modules.py: forward assigns the buffer '0.mean'; "),
    ("writes", "tests/torch/bad_modules.py:165: '0' (Around) cannot be traced: it writes into a tensor that is neither computed nor a "
     "buffer; "),
    ("forbids", "tests/torch/bad_modules.py:173: forbids() failed: Own: one line another"),
    ("unreadable", "tests/torch/bad_modules.py: the module has a part of the name 'a\\n\\udcff'; "),
    ("value", "tests/torch/bad_modules.py: 'value' is no function, but int; a function without arguments was "
     "expected"),
    ("Net", "tests/torch/bad_modules.py: 'Net' is no function, but a class; a function without arguments was "),
    ("made", "tests/torch/bad_modules.py: 'made' is no function, but Linear; a function without arguments was "),
    ("gat", "tests/torch/bad_modules.py has no 'gat' (nearest: 'gate')"),
    ("zzz", "tests/torch/bad_modules.py has no 'zzz'; its functions are gate, item, opaque, shapes, no_inputs, ..."),
    ("gate:leaf=Gat", "tests/torch/bad_modules.py: the module has no part of class 'Gat' (nearest: 'Gate')"),
    ("gate:leaf=Net", "tests/torch/bad_modules.py: 'Net' is the whole module; kept whole, nothing could be placed"),
    ("gate:leef=Gate", "'tests/torch/bad_modules.py:gate:leef=Gate': unknown word 'leef' (nearest: 'leaf'); there are "
     "mode, optimizer, leaf"),
    ("gate:optimizer=sgd", "'tests/torch/bad_modules.py:gate:optimizer=sgd': optimizer is of a training step; give "
     "mode=training, too"),
    ("gate:mode=training:mode=training", "'tests/torch/bad_modules.py:gate:mode=training:mode=training': mode is given "
     "twice"),
    ("gate:mode=train", "'tests/torch/bad_modules.py:gate:mode=train': mode is one of inference, training, not 'train' "
     "(nearest: 'training')"),
]


def bad_input():
    """Each is told by one message."""
    for spec, message in BAD:
        try:
            make_graph(trace("tests/torch/bad_modules.py:" + spec))
            check(False, f"{spec}: was taken")
        except (SpecError, UsageError) as error:
            check(str(error).startswith(message), f"{spec}: {error}")
    whole = make_graph(trace("tests/torch/bad_modules.py:gate:leaf=Gate"))
    kept = make_graph(trace("tests/torch/bad_modules.py:autocast:leaf=Around"))
    check([op["name"] for op in kept["ops"]] == ["0"], "autocast: kept whole")
    check([op["name"] for op in whole["ops"]] == ["first", "second", "out"], "gate: kept whole")


def compared_at_load():
    """A trace with random numbers that is not what the module is."""
    for spec, refused in (("bad_modules.py:replaces", True), ("models.py:mixed:mode=training", False)):
        traced = trace("tests/torch/" + spec)
        try:
            Unsplit(traced, compile_steps(traced), "sgd").check_trace()
            check(not refused, f"{spec}: was taken")
        except Refusal as error:
            check(refused and "do not compute what the module" in str(error), f"{spec}: {error}")


def sizes():
    """Numbers are no operators, though nobody but the output has them."""
    traced = trace("tests/torch/models.py:counted")
    check_same("counted", traced)
    check([op.name for op in traced.ops] == ["l"], f"counted: {[op.name for op in traced.ops]}")
    given = traced.rebuild(traced.graph_module(*traced.inputs))
    check((given["rows"], tuple(given["shape"]), given["columns"]) == (5, (4, 8), 8), f"counted: {given}")


def of_workers():
    """What a worker is started with: looked at without running it, words left to the engine."""
    bad = "tests/torch/bad_modules.py"
    check(checked(f"{bad}:gate:mode=training") == f"{bad}:gate", "a worker's words")
    for spec, told in (("nosuch.py:gate", "nosuch.py: No such file"), (f"{bad}:gat", "no 'gat' (nearest: 'gate')"),
                       (f"{bad}:gate:leef=Gate", "unknown word 'leef'")):
        try:
            check(False, f"a worker was started with {checked(spec)}")
        except UsageError as error:
            check(told in str(error), f"a worker: {error}")


def own_file():
    """The module's own file is not written over."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.py")
        shutil.copy("tests/torch/models.py", path)
        command = [sys.executable, "engines/torch/berth-engine-torch", "graph", path + ":tied", "-o", path]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        check(ran.returncode == 2 and "own file" in ran.stderr, f"-o: {ran.returncode}, {ran.stderr}")
        check(os.path.getsize(path) == os.path.getsize("tests/torch/models.py"), "-o: the module is gone")


def through_berth(berth):
    """A module that prints and forks: standard output has the one document. --training is mode=training."""
    values = []
    for words in (["tests/torch/bad_modules.py:talks:mode=training"], ["tests/torch/bad_modules.py:talks", "--training"]):
        command = [berth, "place", *words, "--on", "system:cpu+2gpu", "--evaluations", "50", "--bound", "fast", "--json"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        check(ran.returncode == 0, f"berth place: {ran.returncode}, {ran.stderr}")
        placed = json.loads(ran.stdout)
        check(placed["graph"] == "bad_modules:talks", f"berth place: {ran.stdout[:200]}")
        values.append(placed["value"])
    check(values[0] == values[1], f"--training: {values}")


def main():
    """All of it."""
    graphs = {(m, mode): one_model(m, mode) for m in MODELS for mode in ("inference", "training")}
    counted(graphs)
    counted_shapes()
    if "resnet18" in MODELS:
        counted_resnet()
    bad_input()
    compared_at_load()
    sizes()
    of_workers()
    own_file()
    if sys.argv[1:]:
        through_berth(sys.argv[1])
    print(f"{len(graphs)} graphs, {len(BAD)} modules that cannot be used: {len(failures)} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
