"""The shared library as ctypes sees it: where it is, and the signatures of the functions that are used."""

import ctypes
import glob
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_uint8, c_uint64, c_void_p)


class Err(Structure):
    _fields_ = [("code", c_int), ("msg", ctypes.c_char * 512)]


PROGRESS = CFUNCTYPE(c_int, c_void_p, c_int64, c_double)
TEXTS = POINTER(c_char_p)


class Options(Structure):
    _fields_ = [("method", c_char_p), ("objective", c_char_p), ("policy", c_char_p), ("seed", c_uint64),
                ("evaluations", c_int64), ("time_s", c_double), ("threads", c_int32), ("bound", c_char_p),
                ("start", c_void_p), ("resume", c_bool), ("pin", TEXTS), ("forbid", TEXTS), ("colocate", TEXTS),
                ("granularity", c_char_p), ("max_cuts", c_int32), ("progress", PROGRESS),
                ("progress_ctx", c_void_p), ("walks", c_int32)]


class Op(Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("flops", c_double), ("read_bytes", c_int64),
                ("write_bytes", c_int64), ("param_bytes", c_int64), ("state_bytes", c_int64),
                ("workspace_bytes", c_int64), ("output_bytes", c_int64), ("colocate", c_char_p),
                ("separate", c_char_p), ("pin", c_char_p), ("backward", c_bool), ("dtype", c_char_p), ("dims", c_char_p)]


class Cost(Structure):
    _fields_ = [("latency_s", c_double), ("throughput_per_s", c_double), ("energy_j", c_double),
                ("edp", c_double)]


class DeviceUse(Structure):
    _fields_ = [("operators", c_int32), ("busy_s", c_double), ("load_s", c_double), ("peak_bytes", c_int64),
                ("limit_bytes", c_int64), ("sent_bytes", c_int64)]


class OpReason(Structure):
    _fields_ = [("device", c_int32), ("ready_s", c_double), ("start_s", c_double), ("end_s", c_double),
                ("slack_s", c_double), ("best_other", c_int32)]


class MeasuredCost(Structure):
    _fields_ = [("latency_s", c_double), ("low_s", c_double), ("high_s", c_double), ("runs", c_int32),
                ("max_difference", c_double)]


# berth_view: of each field its kind, and of arrays their sizes.
_OPS, _DEVS, _LINKS = ("n_ops",), ("n_devs",), ("n_links",)
VIEW = [(name, c_int32, None) for name in ("n_ops", "n_devs", "n_types", "n_groups", "n_tensors", "n_edges",
                                           "n_sizes", "n_links", "n_blocks")] + [
    ("op_name", c_char_p, _OPS), ("type_name", c_char_p, ("n_types",)), ("op_type", c_int32, _OPS),
    ("op_flops", c_double, _OPS), ("op_read_bytes", c_int64, _OPS), ("op_write_bytes", c_int64, _OPS),
    ("op_param_bytes", c_int64, _OPS), ("op_state_bytes", c_int64, _OPS), ("op_workspace_bytes", c_int64, _OPS),
    ("op_output_bytes", c_int64, _OPS), ("op_dev_time_ns", c_int64, ("n_ops", "n_devs")),
    ("op_dev_legal", c_uint8, ("n_ops", "n_devs")), ("op_rank_ns", c_int64, _OPS), ("topo_op", c_int32, _OPS),
    ("rank_op", c_int32, _OPS), ("op_group", c_int32, _OPS), ("group_off", c_int32, ("n_groups+1",)),
    ("group_op", c_int32, _OPS), ("op_apart", c_int32, _OPS), ("op_block", c_int32, _OPS), ("max_cuts", c_int32, None),
    ("op_tensor_off", c_int32, ("n_ops+1",)), ("tensor_producer", c_int32, ("n_tensors",)),
    ("tensor_edge_off", c_int32, ("n_tensors+1",)), ("edge_consumer", c_int32, ("n_edges",)),
    ("op_in_off", c_int32, ("n_ops+1",)), ("in_tensor", c_int32, ("n_edges",)), ("tensor_bytes", c_int64, ("n_tensors",)),
    ("tensor_size", c_int32, ("n_tensors",)), ("size_pair_ns", c_int64, ("n_sizes", "n_devs", "n_devs")),
    ("dev_name", c_char_p, _DEVS), ("dev_kind", c_char_p, _DEVS), ("dev_limit_bytes", c_int64, _DEVS),
    ("dev_slots", c_int32, _DEVS), ("dev_contiguous", c_bool, _DEVS), ("dev_idle_w", c_double, _DEVS),
    ("dev_busy_w", c_double, _DEVS), ("link_from", c_int32, _LINKS), ("link_to", c_int32, _LINKS),
    ("link_bandwidth", c_double, _LINKS), ("link_latency_s", c_double, _LINKS)]


class View(Structure):
    _fields_ = [(name, POINTER(kind) if sizes else kind) for name, kind, sizes in VIEW]


OBJECT, OUT, INDICES = c_void_p, POINTER(c_void_p), POINTER(c_int32)


class MODEL(c_void_p):
    """What users give: C would take anything for an address."""

    what, free = "model (load() reads one)", "model_free"

    @classmethod
    def from_param(cls, value):
        if getattr(value, "_free", None) != cls.free:
            raise TypeError(f"berth: expected a {cls.what}, not {value!r}")
        return value


class MACHINE(MODEL):
    what, free = "machine (machine() reads one)", "machine_free"


ERR = POINTER(Err)

# Of every function: what it returns and what it takes. Those that return STATUS take an Err last.
STATUS = "status"
FUNCTIONS = {
    "version": (c_char_p, []),
    "model_load": (STATUS, [c_char_p, OUT]),
    "model_parse": (STATUS, [c_char_p, c_char_p, c_size_t, OUT]),
    "model_free": (None, [OBJECT]),
    "model_name": (c_char_p, [OBJECT]),
    "model_count": (c_int32, [OBJECT]),
    "model_op": (c_char_p, [OBJECT, c_int32]),
    "model_find": (c_int32, [OBJECT, c_char_p]),
    "model_warnings": (c_int32, [OBJECT]),
    "model_warning": (c_char_p, [OBJECT, c_int32]),
    "machine_load": (STATUS, [c_char_p, OUT]),
    "machine_parse": (STATUS, [c_char_p, c_char_p, c_size_t, OUT]),
    "machine_change": (STATUS, [OBJECT, c_char_p, OUT]),
    "machine_free": (None, [OBJECT]),
    "machine_name": (c_char_p, [OBJECT]),
    "machine_count": (c_int32, [OBJECT]),
    "machine_device": (c_char_p, [OBJECT, c_int32]),
    "machine_warnings": (c_int32, [OBJECT]),
    "machine_warning": (c_char_p, [OBJECT, c_int32]),
    "method_count": (c_int32, []),
    "method_name": (c_char_p, [c_int32]),
    "method_about": (c_char_p, [c_int32]),
    "place": (STATUS, [MODEL, MACHINE, POINTER(Options), OUT]),
    "lower_bound": (STATUS, [MODEL, MACHINE, POINTER(Options), POINTER(c_double)]),
    "pareto_front": (STATUS, [MODEL, MACHINE, POINTER(Options), c_char_p, c_int32, OUT]),
    "front_free": (None, [OBJECT]),
    "front_count": (c_int32, [OBJECT]),
    "front_plan": (OBJECT, [OBJECT, c_int32]),
    "front_evaluations": (c_int64, [OBJECT]),
    "plan_free": (None, [OBJECT]),
    "plan_new": (STATUS, [MODEL, MACHINE, INDICES, INDICES, OUT]),
    "plan_read": (STATUS, [c_char_p, MODEL, MACHINE, OUT]),
    "plan_write": (STATUS, [OBJECT, c_char_p]),
    "plan_device": (c_int32, [OBJECT, c_int32]),
    "plan_device_of": (c_char_p, [OBJECT, c_char_p]),
    "plan_feasible": (c_bool, [OBJECT]),
    "plan_status": (c_char_p, [OBJECT]),
    "plan_method": (c_char_p, [OBJECT]),
    "plan_objective": (c_char_p, [OBJECT]),
    "plan_value": (c_double, [OBJECT]),
    "plan_lower_bound": (c_double, [OBJECT]),
    "plan_evaluations": (c_int64, [OBJECT]),
    "plan_cost": (STATUS, [OBJECT, POINTER(Cost)]),
    "plan_device_use": (STATUS, [OBJECT, c_int32, POINTER(DeviceUse)]),
    "plan_op_times": (None, [OBJECT, c_int32, POINTER(c_double), POINTER(c_double)]),
    "plan_order": (STATUS, [OBJECT, INDICES]),
    "plan_violations": (c_int32, [OBJECT]),
    "plan_violation": (c_char_p, [OBJECT, c_int32]),
    "plan_explain": (STATUS, [OBJECT, OUT]),
    "account_free": (None, [OBJECT]),
    "account_compute": (c_double, [OBJECT]),
    "account_count": (c_int32, [OBJECT]),
    "account_lost": (c_char_p, [OBJECT, c_int32, POINTER(c_double), POINTER(c_int32)]),
    "plan_explain_op": (STATUS, [OBJECT, c_int32, POINTER(OpReason), POINTER(c_double)]),
    "plan_trace": (STATUS, [OBJECT, c_char_p]),
    "plan_measure": (STATUS, [OBJECT, c_char_p, c_char_p, c_int32, POINTER(MeasuredCost)]),
    "plan_export": (STATUS, [OBJECT, c_char_p, c_char_p, TEXTS, c_char_p]),
    "export_count": (c_int32, []),
    "export_name": (c_char_p, [c_int32]),
    "export_about": (c_char_p, [c_int32]),
    "evaluator_new": (STATUS, [MODEL, MACHINE, POINTER(Options), OUT]),
    "evaluator_free": (None, [OBJECT]),
    "evaluator_view": (POINTER(View), [OBJECT]),
    "evaluator_seed": (c_uint64, [OBJECT]),
    "evaluator_left": (c_int64, [OBJECT]),
    "evaluator_faults": (None, [OBJECT, POINTER(c_int64), POINTER(c_int64)]),
    "evaluator_value": (c_double, [OBJECT, INDICES, INDICES, POINTER(c_double)]),
    "evaluator_near": (c_double, [OBJECT, INDICES, INDICES, POINTER(c_double)]),
    "evaluator_plan": (STATUS, [OBJECT, OUT]),
    "schedule_clear": (None, [OBJECT, c_double]),
    "schedule_finish": (c_int64, [OBJECT, c_int32, c_int32]),
    "schedule_put": (c_int64, [OBJECT, c_int32, c_int32]),
    "schedule_take": (c_bool, [OBJECT, INDICES, INDICES]),
    "document_text": (c_char_p, [OBJECT]),
    "document_free": (None, [OBJECT]),
    "task_compare": (STATUS, [MODEL, MACHINE, POINTER(Options), TEXTS, c_int32, OUT]),
    "task_configure": (STATUS, [OUT, POINTER(c_int64), c_int32, MACHINE, c_char_p, POINTER(Options), OUT]),
    "task_copies": (STATUS, [MODEL, MACHINE, c_int32, c_int32, POINTER(Options), OUT]),
    "task_split": (STATUS, [c_char_p, MACHINE, POINTER(Options), c_char_p, c_char_p, OUT]),
    "draft_new": (STATUS, [c_char_p, OUT]),
    "draft_free": (None, [OBJECT]),
    "draft_op": (STATUS, [OBJECT, POINTER(Op), INDICES]),
    "draft_edge": (STATUS, [OBJECT, c_int32, c_int32, c_int64, c_char_p]),
    "draft_time": (STATUS, [OBJECT, c_int32, c_char_p, c_double]),
    "draft_forbid": (STATUS, [OBJECT, c_int32, c_char_p]),
    "draft_shared": (STATUS, [OBJECT, c_char_p, c_int64, INDICES, c_int32]),
    "draft_model": (STATUS, [OBJECT, OUT]),
    "policy_train": (STATUS, [OUT, c_int32, OUT, c_int32, POINTER(Options), c_char_p]),
}


def _path():
    """The one library: the variable's; of an installed module that of its installation; else what was
    built in the checkout: in build/, in build/gcc/ (scripts/test), or the newest of build-NAME/."""
    here = os.path.dirname(os.path.realpath(__file__))  # a link to the module leads to the module's own place
    try:
        from ._installed import LIBRARY as path
    except ImportError:
        top = os.path.join(glob.escape(os.path.join(here, "../..")), "build")
        built = [p for at in ("", "/gcc", "-*")
                 for p in sorted(glob.glob(f"{top}{at}/libberth.so.0"), key=os.path.getmtime, reverse=True)]
        path = built[0] if built else "../../build/libberth.so.0"
    return os.environ.get("BERTH_LIBRARY") or os.path.normpath(os.path.join(here, path))


def _open():
    path = _path()
    if not os.environ.get("BERTH_LIBRARY") and not os.path.exists(path):
        raise ImportError(f"berth: {path} is not there: build berth into build/ (README.md, \"To build only\"), "
                          "or set BERTH_LIBRARY to the path of libberth.so.0")
    return ctypes.CDLL(path)


class _Library:
    """Functions by their names without berth_. Those with a status raise what `fail` makes of an Err."""

    def __init__(self, fail):
        lib = _open()
        for name, (result, takes) in FUNCTIONS.items():
            f = getattr(lib, "berth_" + name)
            f.restype = c_int if result is STATUS else result
            f.argtypes = takes + [ERR] if result is STATUS else takes
            setattr(self, name, self._checked(f, fail) if result is STATUS else f)

    @staticmethod
    def _checked(f, fail):
        def call(*args):
            err = Err()
            try:
                failed = f(*args, ctypes.byref(err))
            except ctypes.ArgumentError as e:  # "argument 1: TypeError: ..."
                raise TypeError(str(e).rpartition("Error: ")[2]) from None
            if failed:
                raise fail(err)
        return call


def open_library(fail):
    return _Library(fail)
