"""What users see of the module: models, machines, plans, and the functions that make them."""

import array
import contextlib
import ctypes
import json
import math
import os
import pickle

from . import _apart
from ._library import (MACHINE, MODEL, PROGRESS, VIEW, Cost, DeviceUse, MeasuredCost, Op, OpReason, Options,
                       open_library)

CODES = ("ok", "invalid", "memory", "io", "format", "infeasible", "limit", "interrupted", "unsupported")


class Error(Exception):
    """An error of the library: its message, and .code, one of CODES."""

    def __init__(self, err):
        super().__init__(err.msg.decode("utf-8", "replace"))
        self.code = CODES[err.code] if 0 <= err.code < len(CODES) else str(err.code)


_lib = open_library(Error)


def _text(b):
    return None if b is None else b.decode("utf-8", "replace")


def _bytes(text):
    return None if text is None else os.fspath(text).encode()


def _name(text):
    """A text that must be given: the library reads it without a look at NULL."""
    return os.fspath(text).encode()


class _Object:
    """Something that the library made and has to free."""

    _free = None

    def __init__(self, pointer):
        self._as_parameter_ = self._pointer = pointer

    def __del__(self):
        if getattr(self, "_pointer", None) and self._free:
            getattr(_lib, self._free)(self._pointer)
            self._pointer = None


def _make(function, *args):
    out = ctypes.c_void_p()
    function(*args, ctypes.byref(out))
    return out


def _array(kind, objects):
    return (ctypes.c_void_p * len(objects))(*[kind.from_param(one)._pointer for one in objects])


class Model(_Object):
    """Operators and the tensors between them: load() reads one, Draft makes one."""

    _free = "model_free"

    @classmethod
    def parse(cls, name, data):
        """A model from the bytes of a file."""
        return cls(_make(_lib.model_parse, _name(name), data, len(data)))

    @property
    def name(self):
        return _text(_lib.model_name(self))

    @property
    def ops(self):
        """Names of the operators, in the order of the file."""
        return [_text(_lib.model_op(self, i)) for i in range(_lib.model_count(self))]

    @property
    def warnings(self):
        return [_text(_lib.model_warning(self, i)) for i in range(_lib.model_warnings(self))]

    def index(self, op):
        """The number of an operator, from its name or its number."""
        i = _lib.model_find(self, _bytes(op)) if isinstance(op, str) else op
        if not 0 <= i < len(self):
            raise KeyError(op)
        return i

    def __len__(self):
        return _lib.model_count(self)

    def __repr__(self):
        return f"<berth.Model {self.name}: {len(self)} operators>"


class Machine(_Object):
    """Devices and the links between them: machine() reads one."""

    _free = "machine_free"

    @classmethod
    def parse(cls, name, data):
        """A machine from the bytes of a berth-system file."""
        return cls(_make(_lib.machine_parse, _name(name), data, len(data)))

    @property
    def name(self):
        return _text(_lib.machine_name(self))

    @property
    def devices(self):
        return [_text(_lib.machine_device(self, i)) for i in range(_lib.machine_count(self))]

    @property
    def warnings(self):
        return [_text(_lib.machine_warning(self, i)) for i in range(_lib.machine_warnings(self))]

    def change(self, changes):
        """A copy with changed figures, such as "gpu0.memory_bytes=2x"."""
        return Machine(_make(_lib.machine_change, self, _name(changes)))

    def __repr__(self):
        return f"<berth.Machine {self.name}: {', '.join(self.devices)}>"


class Draft(_Object):
    """A model made operator by operator. finish() gives the model and ends the draft."""

    _free = "draft_free"

    def __init__(self, name=""):
        super().__init__(_make(_lib.draft_new, _name(name)))
        self._index = {}

    def op(self, name, type=None, **figures):
        """Append an operator; figures are those of berth_op (flops, read_bytes, pin, ...). Its number."""
        index = ctypes.c_int32()
        values = {k: _bytes(v) if isinstance(v, str) else v for k, v in figures.items()}
        unknown = set(values) - {f[0] for f in Op._fields_}
        if unknown:
            raise TypeError(f"berth.Draft.op: no figure {sorted(unknown)[0]!r}")
        spec = Op(name=_name(name), type=_bytes(type), **values)
        _lib.draft_op(self, ctypes.byref(spec), ctypes.byref(index))
        self._index[name] = index.value
        return index.value

    def _number(self, op):
        return self._index[op] if isinstance(op, str) else op

    def edge(self, source, target, bytes, tensor=None):
        """One use of a tensor of the operator source by the operator target (names or numbers)."""
        _lib.draft_edge(self, self._number(source), self._number(target), bytes, _bytes(tensor))

    def time(self, op, seconds, device=None):
        """A measured time on a device, a kind, or (None) all others; math.nan: it cannot run there."""
        _lib.draft_time(self, self._number(op), _bytes(device), seconds)

    def forbid(self, op, device):
        _lib.draft_forbid(self, self._number(op), _name(device))

    def shared(self, name, bytes, ops):
        """A parameter that several operators share."""
        numbers = [self._number(op) for op in ops]
        _lib.draft_shared(self, _name(name), bytes, (ctypes.c_int32 * len(numbers))(*numbers), len(numbers))

    def finish(self):
        return Model(_make(_lib.draft_model, self))


class Plan(_Object):
    """Which device runs which operator of .model on .machine."""

    _free = "plan_free"

    def __init__(self, pointer, model, machine, owner=None):
        super().__init__(pointer)
        self.model, self.machine, self._owner = model, machine, owner
        if owner is not None:
            self._free = None

    @classmethod
    def new(cls, model, machine, devices, order=None):
        """A plan from a device a operator: a list, or a dict by names. Devices are names or numbers."""
        names = machine.devices
        if isinstance(devices, dict):
            devices = [devices[op] for op in model.ops]
        n = len(model)
        if len(devices) != n or (order is not None and len(order) != n):
            raise ValueError(f"berth.Plan.new: the model has {n} operators")
        rows = (ctypes.c_int32 * n)(*[names.index(d) if isinstance(d, str) else d for d in devices])
        turns = None if order is None else (ctypes.c_int32 * n)(*[model.index(op) for op in order])
        return cls(_make(_lib.plan_new, model, machine, rows, turns), model, machine)

    @classmethod
    def read(cls, path, model, machine):
        return cls(_make(_lib.plan_read, _name(path), model, machine), model, machine)

    def write(self, path):
        _lib.plan_write(self, _name(path))

    feasible = property(lambda self: bool(_lib.plan_feasible(self)))
    status = property(lambda self: _text(_lib.plan_status(self)))
    method = property(lambda self: _text(_lib.plan_method(self)))
    objective = property(lambda self: _text(_lib.plan_objective(self)))
    value = property(lambda self: _lib.plan_value(self))
    lower_bound = property(lambda self: _lib.plan_lower_bound(self))
    gap = property(lambda self: self.value / self.lower_bound - 1 if self.lower_bound > 0 else math.nan)
    evaluations = property(lambda self: _lib.plan_evaluations(self))

    @property
    def violations(self):
        return [_text(_lib.plan_violation(self, i)) for i in range(_lib.plan_violations(self))]

    @property
    def devices(self):
        """The device of every operator, in the order of the file."""
        names = self.machine.devices
        return [names[_lib.plan_device(self, i)] for i in range(len(self.model))]

    def device_of(self, op):
        name = _lib.plan_device_of(self, _name(op))
        if name is None:
            raise KeyError(op)
        return _text(name)

    def _starts(self):
        order = (ctypes.c_int32 * len(self.model))()
        _lib.plan_order(self, order)
        return list(order)

    @property
    def order(self):
        """The operators as they start."""
        names = self.model.ops
        return [names[i] for i in self._starts()]

    @property
    def cost(self):
        """latency_s, throughput_per_s, energy_j, edp; nan where not known."""
        return _figures(_lib.plan_cost, Cost, self)

    @property
    def use(self):
        """What the plan takes of each device, by name: operators, busy_s, load_s, peak_bytes, ..."""
        names = self.machine.devices
        return {name: _figures(_lib.plan_device_use, DeviceUse, self, i) for i, name in enumerate(names)}

    def explain(self, op=None):
        """Where the latency goes (a list of dicts); of one operator, why it runs where it does."""
        if op is not None:
            return self._explain_op(self.model.index(op))
        account = _make(_lib.plan_explain, self)
        try:
            rows = [{"what": "computing", "seconds": _lib.account_compute(account), "times": None}]
            for i in range(_lib.account_count(account)):
                seconds, times = ctypes.c_double(), ctypes.c_int32()
                what = _lib.account_lost(account, i, ctypes.byref(seconds), ctypes.byref(times))
                rows.append({"what": _text(what), "seconds": seconds.value, "times": times.value})
            return rows
        finally:
            _lib.account_free(account)

    def _explain_op(self, i):
        names = self.machine.devices
        value = (ctypes.c_double * len(names))()
        told = _figures(_lib.plan_explain_op, OpReason, self, i, last=(value,))
        told["op"] = self.model.ops[i]
        told["device"] = names[told["device"]]
        told["best_other"] = names[told["best_other"]] if told["best_other"] >= 0 else None
        told["value_on"] = dict(zip(names, value))
        return told

    def rows(self):
        """A row an operator: op, device, start_s, end_s. pandas.DataFrame(plan.rows()) is a data frame."""
        rows, start, end = [], ctypes.c_double(), ctypes.c_double()
        for i, (op, device) in enumerate(zip(self.model.ops, self.devices)):
            _lib.plan_op_times(self, i, ctypes.byref(start), ctypes.byref(end))
            rows.append({"op": op, "device": device, "start_s": start.value, "end_s": end.value})
        return rows

    def to_dict(self):
        """The plan with its figures, as plain Python objects; keys as in `berth place --json`."""
        return {"graph": self.model.name, "system": self.machine.name, "objective": self.objective,
                "method": self.method, "value": self.value, "lower_bound": self.lower_bound, "gap": self.gap,
                "status": self.status, "feasible": self.feasible, "violations": self.violations,
                "evaluations": self.evaluations, "placement": dict(zip(self.model.ops, self.devices))}

    def trace(self, path):
        """Write the simulated timeline for chrome://tracing or Perfetto."""
        _lib.plan_trace(self, _name(path))

    def export(self, target, path, file=None, devices=None):
        """Write it for the program that is to run it; targets() lists them, file is the model's. devices is
        what the target calls them, by their names: {"gpu0": "CUDAExecutionProvider"}."""
        names = self.machine.devices
        unknown = set(devices or ()) - set(names)
        if unknown:
            raise KeyError(sorted(unknown)[0])
        theirs = devices and (ctypes.c_char_p * len(names))(*[_bytes(devices.get(name)) for name in names])
        _lib.plan_export(self, _name(target), _bytes(file), theirs, _name(path))

    def measure(self, file, engine=None, runs=0):
        """Run it for real by an engine: latency_s, low_s, high_s, runs, max_difference."""
        return _figures(_lib.plan_measure, MeasuredCost, self, _name(file), _bytes(engine), runs)

    def __repr__(self):
        pair = f"{self.model.name} on {self.machine.name}"
        return f"<berth.Plan of {pair}: {self.objective} {self.value:.4g}, {self.status}>"


def _figures(function, kind, *args, last=()):
    out = kind()
    function(*args, ctypes.byref(out), *last)
    return {name: getattr(out, name) for name, _ in kind._fields_}


def _texts(given):
    """A list of texts, or one text, as C has it: ended by NULL."""
    texts = [given] if isinstance(given, str) else list(given)
    return (ctypes.c_char_p * (len(texts) + 1))(*map(_name, texts), None)


def _options(progress=None, start=None, pin=(), forbid=(), colocate=(), **words):
    """berth_options from keywords. progress(evaluations, value) may return True to stop."""
    known = {f[0] for f in Options._fields_}
    unknown = set(words) - known
    if unknown:
        raise TypeError(f"berth: no option {sorted(unknown)[0]!r}; there are {', '.join(sorted(known))}")
    texts = {name for name, kind in Options._fields_ if kind is ctypes.c_char_p}
    o = Options(**{k: _bytes(v) if k in texts else v for k, v in words.items()})
    o.pin, o.forbid, o.colocate = _texts(pin), _texts(forbid), _texts(colocate)
    if start is not None:
        if not isinstance(start, Plan):
            raise TypeError(f"berth: start is a plan (Plan.new makes one of devices), not {start!r}")
        o.start = start._pointer
    o.raised = None

    def listen(ctx, evaluations, value):
        try:
            return bool(progress(evaluations, value))
        except BaseException as e:  # Ctrl-C, too; _searching raises it again
            o.raised = e
            return True

    if progress is not None:
        o.progress = PROGRESS(listen)
    return o


@contextlib.contextmanager
def _searching(options):
    """The options of a search. What progress raises ends the search, and is raised here."""
    o = _options(**options)
    try:
        yield o
    finally:
        if o.raised is not None:
            raise o.raised


def version():
    return _text(_lib.version())


def methods():
    """All methods: name and source."""
    return {_text(_lib.method_name(i)): _text(_lib.method_about(i)) for i in range(_lib.method_count())}


def load(spec):
    """A model from a file or "zoo:NAME"."""
    return Model(_make(_lib.model_load, _name(spec)))


def machine(spec):
    """A machine from a file or "system:NAME"."""
    return Machine(_make(_lib.machine_load, _name(spec)))


def place(model, machine, **options):
    """Search for a plan. Options: method, objective, policy, seed, evaluations, time_s, threads, walks,
    bound, start, pin, forbid, colocate (lists of "OPS=DEVICE", "OPS"), granularity, max_cuts, progress."""
    with _searching(options) as o:
        return Plan(_make(_lib.place, model, machine, ctypes.byref(o)), model, machine)


def lower_bound(model, machine, **options):
    """No plan has less. Options: objective, bound."""
    out = ctypes.c_double()
    _lib.lower_bound(model, machine, ctypes.byref(_options(**options)), ctypes.byref(out))
    return out.value


class _Front(_Object):
    _free = "front_free"


def pareto(model, machine, against, most=64, **options):
    """Plans of which none is better than another in both the objective and `against`."""
    with _searching(options) as o:
        front = _Front(_make(_lib.pareto_front, model, machine, ctypes.byref(o), _name(against), most))
    return [Plan(ctypes.c_void_p(_lib.front_plan(front, i)), model, machine, front)
            for i in range(_lib.front_count(front))]


class _Rows:
    """Figures by rows: rows[i][j]. rows.array is all of them, as numpy.asarray takes them."""

    def __init__(self, flat, shape):
        self.array, self._flat, self._shape = flat.cast("B").cast(flat.format, shape), flat, shape

    def __len__(self):
        return self._shape[0]

    def __getitem__(self, i):
        n = len(self._flat) // len(self)
        i = range(len(self))[i]
        row = self._flat[i * n:i * n + n]
        return row if len(self._shape) == 2 else _Rows(row, self._shape[1:])


class View:
    """berth_view, to be read: names are tuples of texts, figures are memoryviews of the library's own memory, which
    numpy.asarray takes, and rows of them. What there is none of is None."""

    def __init__(self, owner, raw):
        for name, kind, sizes in VIEW:
            self.__dict__[name] = self._figures(owner, getattr(raw, name), kind, sizes) if sizes else getattr(raw, name)

    def _figures(self, owner, pointer, kind, sizes):
        shape = [getattr(self, size) + int(more or 0) for size, _, more in (s.partition("+") for s in sizes)]
        if not pointer or 0 in shape:
            return None
        whole = ctypes.cast(pointer, ctypes.POINTER(kind * math.prod(shape))).contents
        if kind is ctypes.c_char_p:
            return tuple(map(_text, whole))
        whole._owner = owner  # the memory is its, and each array keeps it
        flat = pickle.PickleBuffer(whole).raw().toreadonly().cast(kind._type_)
        return flat if len(shape) == 1 else _Rows(flat, shape)

    def __setattr__(self, name, value):
        raise AttributeError(f"berth.View: {name} cannot be set: a view is read")


class _Held(_Object):
    """The library's evaluator, which borrows model and machine: what views keep, as an Evaluator keeps its view."""

    _free = "evaluator_free"

    def __init__(self, pointer, *borrowed):
        super().__init__(pointer)
        self._borrowed = borrowed


class Evaluator(_Object):
    """What placements of a model on a machine are worth, for a method of your own. Options are those of place();
    evaluations and time_s limit it where they are given. Placements are sequences of device numbers, quickest
    as those that placement() makes. The best is kept."""

    class Over(Exception):
        """The budget is used up: value() and near() raise it. compare() then takes the best so far."""

    def __init__(self, model, machine, **options):
        options = {k: v for k, v in options.items() if k not in ("progress", "policy")}
        new = _make(_lib.evaluator_new, model, machine, ctypes.byref(_options(**options)))
        super().__init__(new)
        self._held = _Held(new, model, machine)
        self.model, self.machine, self.seed = model, machine, _lib.evaluator_seed(self)
        self.view = View(self._held, _lib.evaluator_view(self).contents)
        self._row = ctypes.c_int32 * len(model)

    left = property(lambda self: _lib.evaluator_left(self))

    @property
    def faults(self):
        """(placements and orders that were none, evaluations that were asked for beyond the budget)"""
        illegal, beyond = ctypes.c_int64(), ctypes.c_int64()
        _lib.evaluator_faults(self, ctypes.byref(illegal), ctypes.byref(beyond))
        return illegal.value, beyond.value

    def placement(self, devices=None):
        """An array of device numbers, all 0 where nothing is given."""
        return self._row() if devices is None else self._row.from_buffer_copy(self._as_row(devices))

    def _told(self, value):
        if value == math.inf and self.left == 0:
            raise Evaluator.Over
        return value

    def _as_row(self, numbers):
        """A number an operator, as C has them."""
        if isinstance(numbers, self._row):
            return numbers
        try:
            row = array.array("i", list(numbers))
        except OverflowError as e:
            raise ValueError(f"berth.Evaluator: no device or operator has such a number: {e}") from None
        if len(row) != len(self.model):
            raise ValueError(f"berth.Evaluator: {len(row)} numbers, but the model has {len(self.model)} operators")
        return self._row.from_buffer(row)

    def _value(self, devices, order, excess):
        order = None if order is None else self._as_row(order)
        return self._told(_lib.evaluator_value(self._pointer, self._as_row(devices), order, excess))

    def value(self, devices, order=None):
        """The objective's value; inf: it breaks a rule, a limit or memory, or is no placement."""
        return self._value(devices, order, None)

    def near(self, base, devices):
        """The same, quicker, for a placement that differs little from base, while base stays the same."""
        return self._told(_lib.evaluator_near(self._pointer, self._as_row(base), self._as_row(devices), None))

    def score(self, devices, order=None):
        """(excess, value): less is better; by how much it breaks rules, limits and memory comes first."""
        excess = ctypes.c_double()
        value = self._value(devices, order, ctypes.byref(excess))
        return excess.value, value

    @property
    def best(self):
        """The best so far as a Plan, which stands until the next call."""
        return Plan(_make(_lib.evaluator_plan, self), self.model, self.machine, self)

    def clear(self, memory=1.0):
        """Begin the schedule anew (berth_schedule_clear)."""
        _lib.schedule_clear(self, memory)

    def _check(self, op, device):
        for what, i, n in (("operator", op, self.view.n_ops), ("device", device, self.view.n_devs)):
            if not 0 <= i < n:
                raise IndexError(f"berth.Evaluator: no {what} {i}: there are {n}, from 0 on")

    def finish(self, op, device):
        """When op would end there at the earliest, ns; None: it may not stand there now."""
        self._check(op, device)
        end = _lib.schedule_finish(self._pointer, op, device)
        return None if end == 2**63 - 1 else end

    def put(self, op, device):
        """Put it there; its end, or None."""
        self._check(op, device)
        end = _lib.schedule_put(self._pointer, op, device)
        return None if end == 2**63 - 1 else end

    def take(self):
        """(devices, order) of a schedule in which all operators stand; else None."""
        devices, order = self._row(), self._row()
        return (devices, order) if _lib.schedule_take(self, devices, order) else None


class _NoPlacement(_apart.Failed):
    """A method that valued none; .counts is what it asked for all the same."""

    def __init__(self, illegal, beyond):
        super().__init__(f"valued no placement ({illegal} of its placements and orders were none)")
        self.counts = {"illegal": illegal, "beyond": beyond}


def _run_own(method, model, machine, options):
    """A function of the user's as a method, in a process of its own; the plan, and its evaluations."""
    if not options.get("time_s"):
        options = dict(options, evaluations=options.get("evaluations") or 10000)  # as place() has it

    def work(begin):
        evaluator, ended = Evaluator(model, machine, **dict(options, bound="fast")), 0
        begin()
        try:
            method(evaluator)
        except Evaluator.Over:
            ended = 1  # so it learns that the budget is over
        illegal, beyond = evaluator.faults
        try:
            best = evaluator.best
        except Error:
            return None, None, 0, illegal, beyond - ended
        return ([_lib.plan_device(best, i) for i in range(len(model))], best._starts(), best.evaluations, illegal,
                beyond - ended)
    told = _apart.run(work, _apart.patience(**options))
    again = Evaluator(model, machine, **dict(options, evaluations=2, time_s=0))  # its word is not taken for it
    try:
        devices, order, evaluations, illegal, beyond = told
        if devices is None:
            raise _NoPlacement(int(illegal), int(beyond))
        again.score(devices)
        again.score(devices, order)
        return again.best, max(1, min(int(evaluations), options.get("evaluations") or 2**63)), int(illegal), int(beyond)
    except (TypeError, ValueError, OverflowError):
        raise _apart.Failed("wrote over its answer") from None


def _compare_one(model, machine, method, options):
    name = method if isinstance(method, str) else getattr(method, "__name__", repr(method))
    row = {"graph": model.name, "system": machine.name, "method": name, "value": math.nan, "gap": math.nan,
           "evaluations": 0, "illegal": 0, "beyond": 0, "note": None, "plan": None}
    try:
        if callable(method):
            plan, *counts = _run_own(method, model, machine, options)
            row.update(zip(("evaluations", "illegal", "beyond"), counts))
        else:
            plan = place(model, machine, method=method, **options)
            row["evaluations"] = plan.evaluations
    except _apart.Failed as e:
        return dict(row, status=e.status, note=f"{name} {e}", **getattr(e, "counts", {}))
    except Error as e:
        if e.code not in ("limit", "unsupported") and "/" not in name:
            raise
        return dict(row, status=e.code if e.code in ("limit", "unsupported") else "error", note=str(e))
    return dict(row, value=plan.value, gap=plan.gap, status=plan.status, plan=plan)


def _each(given, fits, what):
    """A list of them, or one."""
    given = list(given) if isinstance(given, (list, tuple)) else [given]
    for one in given:
        if not fits(one):
            raise TypeError(f"berth.compare: {one!r} is no {what}")
    return given


def compare(models, machines, methods, **options):
    """A row a method on each model and machine (of each one, or a list), best first: graph, system, method, value,
    gap, status, evaluations, illegal, beyond, note, plan. Options are those of place() but method. A method is a name, the path of a shared object ("./mine.so"), or
    a function of an Evaluator, which is run in a process of its own, with the same budget. status is the plan's
    (optimal, feasible, limit, infeasible); of a method without one, whose value is nan, it is limit (it took too
    long), unsupported or error, and note says why. Of functions, illegal counts placements and orders that were
    none, and beyond what it went on asking for when the budget was over."""
    models = _each(models, lambda x: isinstance(x, Model), "model: berth.load() reads one")
    machines = _each(machines, lambda x: isinstance(x, Machine), "machine: berth.machine() reads one")
    methods = _each(methods, lambda x: isinstance(x, str) or callable(x), "method: a name, a path or a function is one")
    rows = []
    for model in models:
        for machine in machines:
            some = [_compare_one(model, machine, method, options) for method in methods]
            rows += sorted(some, key=lambda r: (r["plan"] is None, r["plan"] and not r["plan"].feasible, r["value"]))
    return rows


class _Document(_Object):
    _free = "document_free"


def _answer(task, *args, options, behind=()):
    """What a task answers, as plain Python objects."""
    with _searching(options) as o:
        document = _Document(_make(task, *args, ctypes.byref(o), *behind))
    return json.loads(_text(_lib.document_text(document)))


def compare_seeds(model, machine, methods=None, seeds=1, **options):
    """Methods side by side, each with so many seeds: a dict, whose keys berth.h tells (berth_task_compare).
    methods None: those of `berth compare`."""
    names = None if methods is None else _texts(methods)
    return _answer(_lib.task_compare, model, machine, options=options, behind=(names, seeds))


def configure(models, batches, machine, goal="time", **options):
    """Which hosts and devices of a cluster train together: models are one training step at each batch, which
    rise. A dict (berth_task_configure)."""
    steps = _array(MODEL, models)
    samples = (ctypes.c_int64 * len(models))(*batches)
    return _answer(_lib.task_configure, steps, samples, len(models), machine, _name(goal), options=options)


def copies(model, machine, least=0, most=0, **options):
    """So many copies of the model at once that samples a second are the most. A dict (berth_task_copies)."""
    return _answer(_lib.task_copies, model, machine, least, most, options=options)


def split(file, machine, cut, plan=None, **options):
    """Cut operators of the ONNX model for the machine, by a search; cut is the new model's file, plan its
    placement's. A dict (berth_task_split)."""
    return _answer(_lib.task_split, _name(file), machine, options=options, behind=(_name(cut), _bytes(plan)))


def targets():
    """What plans can be exported to: name and what it is."""
    return {_text(_lib.export_name(i)): _text(_lib.export_about(i)) for i in range(_lib.export_count())}


def train(models, machines, path, **options):
    """Train a policy on every model on every machine and write it to path. Options: objective, seed,
    evaluations, threads, resume, progress."""
    models, machines = _array(MODEL, models), _array(MACHINE, machines)
    with _searching(options) as o:
        _lib.policy_train(models, len(models), machines, len(machines), ctypes.byref(o), _name(path))
