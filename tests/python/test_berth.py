"""The module berth over the shared library: test_berth.py HEADER CC"""

import contextlib
import ctypes
import fcntl
import gc
import math
import mmap
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import berth
from berth import _apart, _berth, _library

HEADER, CC = sys.argv[1:3]
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(HEADER)))

# a -> b: a takes 1 s on x and 2 s on y, b the reverse; the link takes 0.1 s.
DUO = (b'{"format":"berth-system","version":1,"name":"duo","devices":[{"name":"x","memory_bytes":50},'
       b'{"name":"y"}],"links":[{"from":"x","to":"y","bandwidth":10,"both_ways":true}]}')


def draft():
    d = berth.Draft("two")
    d.op("a")
    d.op("b", "Gemm", param_bytes=100)
    for op, on_x, on_y in (("a", 1, 2), ("b", 2, 1)):
        d.time(op, on_x, "x")
        d.time(op, on_y, "y")
    d.edge("a", "b", 1)
    return d


class Signatures(unittest.TestCase):
    """What the module believes of the header."""

    def setUp(self):
        with open(HEADER) as f:
            self.text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)

    def test_functions(self):
        declared = {}
        for name, args in re.findall(r"BERTH_API[^;]*?\bberth_(\w+)\(([^;]*)\);", self.text):
            args = [a.strip() for a in args.split(",")]
            declared[name] = 0 if args == ["void"] else len(args)
        known = {name: len(takes) + (result is _library.STATUS)
                 for name, (result, takes) in _library.FUNCTIONS.items()}
        self.assertEqual(declared, known)

    def test_structs(self):
        pairs = {"berth_err": _library.Err, "berth_options": _library.Options, "berth_op": _library.Op,
                 "berth_cost": _library.Cost, "berth_device_use": _library.DeviceUse,
                 "berth_op_reason": _library.OpReason, "berth_measured_cost": _library.MeasuredCost,
                 "berth_view": _library.View}
        lines = ["#include <stdio.h>", '#include "%s"' % HEADER, "int main(void) {"]
        for c, kind in pairs.items():
            lines.append(f'printf("%zu\\n", sizeof({c}));')
            lines += [f'printf("%zu\\n", offsetof({c}, {name}));' for name, _ in kind._fields_]
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "s.c"), os.path.join(folder, "s")
            with open(source, "w") as f:
                f.write("\n".join(lines + ["return 0; }\n"]))
            subprocess.run([CC, "-o", program, source], check=True)
            said = [int(n) for n in subprocess.check_output([program]).split()]
        mine = []
        for kind in pairs.values():
            mine += [ctypes.sizeof(kind)] + [getattr(kind, name).offset for name, _ in kind._fields_]
        self.assertEqual(said, mine)


class Own(unittest.TestCase):
    """Methods of users' own."""

    def setUp(self):
        self.model, self.machine = draft().finish(), berth.Machine.parse("duo", DUO)

    def test_view(self):
        v = berth.Evaluator(self.model, self.machine, pin="b=y").view
        self.assertEqual([list(row) for row in v.op_dev_time_ns], [[10**9, 2 * 10**9], [2 * 10**9, 10**9]])
        self.assertEqual([list(row) for row in v.op_dev_legal], [[1, 1], [0, 1]])
        self.assertEqual((v.op_name, v.dev_name, v.type_name), (("a", "b"), ("x", "y"), ("Gemm",)))
        self.assertEqual((list(v.dev_limit_bytes), list(v.op_param_bytes)), ([50, -1], [0, 100]))
        self.assertEqual((list(v.in_tensor), list(v.op_in_off), list(v.edge_consumer)), ([0], [0, 0, 1], [1]))
        self.assertEqual(v.size_pair_ns[v.tensor_size[0]][0][1], 10**8)
        self.assertEqual((v.op_block, v.n_blocks, v.n_links, list(v.link_to)), (None, 0, 2, [1, 0]))
        self.assertEqual((v.op_dev_time_ns[-1].tolist(), v.size_pair_ns.array.shape), ([2 * 10**9, 10**9], (1, 2, 2)))
        self.assertEqual((len(v.op_dev_legal), v.op_dev_legal.array[1, 0], v.dev_contiguous[0]), (2, 0, False))

    def test_view_is_read(self):
        v = berth.Evaluator(self.model, self.machine).view
        for row in (v.op_flops, v.op_dev_time_ns[0], v.size_pair_ns[0][0], v.dev_contiguous, v.op_dev_time_ns.array[0:1], v.op_name,
                    v.op_dev_legal, v.size_pair_ns[0]):
            with self.assertRaises(TypeError):
                row[0] = 0
        with self.assertRaises(AttributeError):
            v.n_ops = 1
        with self.assertRaises(IndexError):
            v.op_dev_legal[2]

    def test_values(self):
        model, machine = berth.load("zoo:inception-v3"), berth.machine("system:cpu+2gpu")
        e = berth.Evaluator(model, machine)
        base = e.placement()
        for i in range(40):
            moved = e.placement(base)
            moved[i * 7 % len(model)] = i % 3
            plan = berth.Plan.new(model, machine, list(moved))
            self.assertEqual((e.near(base, moved), e.value(moved)), (plan.value, plan.value))
            self.assertEqual(e.value(moved, plan._starts()), plan.value)
            base = moved if i % 3 == 0 else base
        self.assertEqual(e.best.evaluations, 120)
        self.assertLessEqual(e.best.value, plan.value)

    def test_limits(self):
        e = berth.Evaluator(self.model, self.machine, evaluations=3)
        self.assertEqual(e.value([0, 0]), math.inf)  # b's parameters are too much for x
        self.assertGreater(e.score([0, 0])[0], 0)
        for bad in ([0, 2], [-1, 0]):
            self.assertEqual(e.score(bad), (math.inf, math.inf))
        self.assertEqual(e.value([0, 1], [1, 0]), math.inf)  # no order
        self.assertEqual((e.left, e.value([0, 1]), e.left), (1, 2.1, 0))
        with self.assertRaises(berth.Evaluator.Over):
            e.value([1, 1])
        self.assertEqual((e.best.devices, e.best.value), (["x", "y"], 2.1))
        self.assertEqual(e.faults, (3, 1))
        with self.assertRaises(berth.Error):
            berth.Evaluator(self.model, self.machine).best

    def test_schedule(self):
        e = berth.Evaluator(self.model, self.machine)
        self.assertIsNone(e.finish(1, 0))  # a has no time yet
        self.assertEqual((e.finish(0, 0), e.put(0, 0), e.put(0, 1)), (10**9, 10**9, None))
        self.assertEqual((e.finish(1, 0), e.finish(1, 1), e.take()), (None, 21 * 10**8, None))
        for call in (e.finish, e.put):
            for bad in ((10**6, 0), (-1, 0), (0, 77), (2**32, 0), (1, -1)):
                with self.assertRaises(IndexError):
                    call(*bad)
        e.put(1, 1)
        self.assertEqual([list(x) for x in e.take()], [[0, 1], [0, 1]])
        e.clear(0)
        self.assertIsNone(e.take())

    def test_compare(self):
        def good(e):
            while True:
                e.value([0, 1])

        def dies(e):
            os.kill(os.getpid(), 11)

        def leaves(e):
            os._exit(0)

        def loops(e):
            while True:
                pass

        def wrong(e):
            e.value([0, 7])

        def raises(e):
            raise ValueError("no idea")

        own = [good, dies, leaves, wrong, raises]
        rows = {r["method"]: r for r in berth.compare([self.model], [self.machine], ["heft"] + own, evaluations=20)}
        self.assertEqual((rows["good"]["value"], rows["good"]["evaluations"]), (2.1, 20))
        self.assertEqual(rows["good"]["plan"].devices, ["x", "y"])
        self.assertEqual((rows["good"]["status"], rows["good"]["note"], rows["good"]["beyond"]), ("optimal", None, 0))
        for name, words in (("dies", "crashed: signal 11"), ("leaves", "ended its process"),
                            ("wrong", "wrong valued no placement (1 of"), ("raises", "ValueError: no idea")):
            self.assertIn(words, rows[name]["note"])
            self.assertEqual(rows[name]["status"], "error")
            self.assertTrue(math.isnan(rows[name]["value"]))
        self.assertEqual(rows["wrong"]["illegal"], 1)
        late = berth.compare(self.model, self.machine, [loops, "heft"], time_s=0.1)
        self.assertIn("did not return within 1.1 s", late[1]["note"])
        self.assertEqual(late[1]["status"], "limit")
        self.assertEqual((late[0]["method"], late[0]["graph"], late[0]["system"]), ("heft", "two", "duo"))
        with self.assertRaises(berth.Error):
            berth.compare(self.model, self.machine, ["hef"])
        for one in ("heft", good):
            self.assertEqual(len(berth.compare(self.model, self.machine, one, evaluations=20)), 1)
        for words, given in (("'zoo:alexnet' is no model: berth.load", ("zoo:alexnet", self.machine, "heft")),
                             ("3 is no machine: berth.machine", ([self.model], [3], "heft")),
                             ("3 is no method: a name", (self.model, self.machine, ["heft", 3])),
                             ("None is no method", (self.model, self.machine, None))):
            with self.assertRaisesRegex(TypeError, words):
                berth.compare(*given)

    def test_faults(self):
        def greedy(e):
            for i in range(7):
                with contextlib.suppress(berth.Evaluator.Over):
                    e.value([0, i % 2 * 5 + 1])

        row = self.one(greedy, evaluations=2)
        self.assertEqual((row["value"], row["evaluations"], row["illegal"], row["beyond"]), (2.1, 2, 3, 2))

    def one(self, method, **options):
        return berth.compare(self.model, self.machine, [method], **options)[0]

    def test_view_outlives(self):
        freed = []
        free = _berth._lib.evaluator_free
        gc.collect()  # what earlier tests left
        with mock.patch.object(_berth._lib, "evaluator_free", lambda e: freed.append(free(e))):
            row = berth.Evaluator(self.model, self.machine).view.op_dev_time_ns[0]
            gc.collect()
            self.assertEqual((freed, list(row)), ([], [10**9, 2 * 10**9]))
            del row
            self.assertEqual(freed, [None])

    def test_rows(self):
        e = berth.Evaluator(self.model, self.machine)
        for bad in ([0], [0, 1, 1], [2**32, 1], [0, -2**31 - 1]):
            for call in (e.value, e.score, e.placement, lambda row: e.value([0, 1], row),
                         lambda row: e.near([0, 1], row), lambda row: e.near(row, [0, 1])):
                with self.assertRaises(ValueError):
                    call(bad)
        self.assertEqual((e.best.evaluations if e.value([0, 1]) else 0, list(e.placement())), (1, [0, 0]))

    def test_misfit(self):
        def misfit(e):
            e.value([0, 0])

        rows = berth.compare(self.model, self.machine, [misfit, "heft"], evaluations=20)
        self.assertEqual([(r["method"], r["plan"].feasible, r["evaluations"]) for r in rows],
                         [("heft", True, rows[0]["evaluations"]), ("misfit", False, 1)])

    def test_patience(self):
        """It runs from when the evaluator stands: making one takes 1000 s here, by a clock of the test's own."""
        clock, here = memoryview(mmap.mmap(-1, 8)).cast("q"), os.getpid()
        asked = []

        class Slow(berth.Evaluator):
            def __init__(self, *args, **options):
                if os.getpid() != here:
                    clock[0] = 1000
                    time.sleep(0.2)
                super().__init__(*args, **options)

        def now():
            while asked and not clock[0]:
                pass
            asked.append(1)
            return clock[0]

        with mock.patch.object(_berth, "Evaluator", Slow), mock.patch.object(_apart.time, "monotonic", now):
            self.assertEqual(self.one(lambda e: e.value([0, 1]), evaluations=1)["value"], 2.1)

    def test_children(self):
        """What a method starts neither holds up its answer nor outlives it."""
        for end, words in ((lambda: None, "optimal"), (lambda: os.kill(os.getpid(), 11), "crashed: signal 11")):
            come, out = os.pipe()

            def starts(e):
                e.value([0, 1])
                if os.fork() == 0:
                    time.sleep(70)
                    os.write(out, b"still there")
                    os._exit(0)
                end()

            row = self.one(starts, evaluations=1)
            os.close(out)
            self.assertIn(words, row["note"] or row["status"])
            self.assertEqual(os.read(come, 9), b"")
            os.close(come)

    def test_ends_with_program(self):
        """And what the method started, which it would not outlive either, ends with it."""
        code = ("import berth, os, time\n"
                "def method(e):\n    os.fork() and os.write(1, b'on')\n    time.sleep(20)\n    os.write(1, b'alone')\n"
                "berth.compare(berth.load('zoo:alexnet'), berth.machine('system:edge'), [method], evaluations=1)")
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as program:
            self.assertEqual(program.stdout.read(2), b"on")
            program.terminate()
            self.assertEqual(program.stdout.read(), b"")

    def test_signals_to_group(self):
        def calls(e):
            e.value([0, 1])
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)
            time.sleep(0.2)

        row = self.one(calls, evaluations=1)
        self.assertEqual((row["note"], row["value"]), (None, 2.1))

    def test_terminal(self):
        """Neither it nor another input is a method's to read, or to wait for."""
        code = ("import berth\ndef method(e):\n    input()\n"
                "print(berth.compare(berth.load('zoo:alexnet'), berth.machine('system:edge'), [method], "
                "evaluations=1)[0]['note'])")
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(sys.executable, [sys.executable, "-c", code])
        told = b""
        with contextlib.suppress(OSError):  # so it ends
            while more := os.read(terminal, 1000):
                told += more
        os.close(terminal)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertIn(b"method failed: EOFError", told)
        silent, held = os.pipe()  # an input that does not end
        told = subprocess.run([sys.executable, "-c", code], stdin=silent, stdout=subprocess.PIPE, check=True).stdout
        self.assertIn(b"method failed: EOFError", told)
        os.close(silent)
        os.close(held)

    def test_answers(self):
        """What stands in the pipe of an answer is not believed, whatever its descriptor."""
        pipe, most = os.pipe, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        ends = []

        def high():
            ends[:] = pipe()
            if 1100 <= most:
                for i, fd in enumerate(ends):
                    ends[i] = fcntl.fcntl(fd, fcntl.F_DUPFD, 1030)
                    os.close(fd)
            return ends

        def writes(e):
            e.value([0, 1])
            if text:
                os.write(ends[1], text)
                os._exit(0)

        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        with mock.patch.object(os, "pipe", high):
            for text in (b"junk\n", b"7\n", b"[true, 7]\n", b"\xff\n", b"[true, [[0], [0, 1], 1, 0, 0]]\n", b"\x80\x04\n",
                         b'[true, [[0, 1], [0, 1], "x", 0, 0]]\n', b"[true, [[0, 1], [0, 4294967297], 1, 0, 0]]\n",
                         b'[true, [[0, 1], [0, 1], 1, 0, "x"]]\n', b"[true, [[0, 1], [0, 1], 1]]\n",
                         b"[true, [[0, 1], [0, 1], Infinity, 0, 0]]\n"):
                self.assertIn("wrote over its answer", self.one(writes, evaluations=1)["note"], text)
            text = b"[true, [[0, 1], [0, 1], 99, 0, 0]]\n"
            self.assertEqual(self.one(writes, evaluations=3)["evaluations"], 3)
            text = b""
            self.assertEqual(self.one(writes, evaluations=3)["value"], 2.1)

    def test_codes(self):
        self.assertEqual([berth.Error(_library.Err(code=code)).code for code in (1, -1, 99)],
                         ["invalid", "-1", "99"])


class Use(unittest.TestCase):
    def setUp(self):
        self.model, self.machine = draft().finish(), berth.Machine.parse("duo", DUO)

    def test_what_is_not_one(self):
        """Nothing is taken for an address."""
        for wrong in (lambda: berth.place("zoo:resnet18", self.machine), lambda: berth.place(self.model, "system:edge"),
                      lambda: berth.place(self.machine, self.model), lambda: berth.Evaluator(self.model, self.model),
                      lambda: berth.place(self.model, self.machine, method=5), lambda: berth.configure([5], [1], self.machine),
                      lambda: berth.place(self.model, self.machine, policy=5), lambda: berth.train([self.machine], [self.machine], "x"),
                      lambda: berth.place(self.model, self.machine, start=[0, 0])):
            self.assertRaises(TypeError, wrong)
        with self.assertRaisesRegex(TypeError, "expected a machine"):
            berth.lower_bound(self.model, self.model)

    def test_place(self):
        plan = berth.place(self.model, self.machine)
        self.assertEqual((plan.value, plan.lower_bound, plan.status), (2.1, 2.1, "optimal"))
        self.assertEqual(plan.devices, ["x", "y"])
        self.assertEqual(plan.rows()[1], {"op": "b", "device": "y", "start_s": 1.1, "end_s": 2.1})
        self.assertEqual(plan.to_dict()["placement"], {"a": "x", "b": "y"})
        self.assertEqual(plan.use["y"]["peak_bytes"], 101)
        self.assertEqual(plan.order, ["a", "b"])
        self.assertTrue(math.isnan(plan.cost["energy_j"]))
        self.assertAlmostEqual(sum(row["seconds"] for row in plan.explain()), plan.value)
        told = plan.explain("a")
        self.assertEqual((told["device"], told["slack_s"], told["value_on"]["y"]), ("x", 0, 3.0))
        self.assertEqual(berth.lower_bound(self.model, self.machine, objective="throughput"), 1)

    def test_files(self):
        plan = berth.place(self.model, self.machine, method="heft")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            plan.write(path)
            again = berth.Plan.read(path, self.model, self.machine)
            self.assertEqual((again.devices, again.method), (plan.devices, "heft"))
            policy = os.path.join(folder, "policy")
            berth.train([self.model], [self.machine], policy, evaluations=40)
            learned = berth.place(self.model, self.machine, method="policy", policy=policy)
            self.assertTrue(learned.feasible)

    def test_own_plan(self):
        plan = berth.Plan.new(self.model, self.machine, {"a": "x", "b": "x"})
        self.assertFalse(plan.feasible)
        self.assertIn("'x' needs", plan.violations[0])
        roomy = berth.Plan.new(self.model, self.machine.change("x.memory_bytes=1000"), [0, 0], ["a", "b"])
        self.assertTrue(roomy.feasible)
        self.assertLessEqual(berth.place(self.model, roomy.machine, start=roomy, evaluations=1).value, 3)
        with self.assertRaises(ValueError):
            berth.Plan.new(self.model, self.machine, [0])

    def test_rules(self):
        plan = berth.place(self.model, self.machine, pin="b=y", forbid=["a=x"])
        self.assertEqual(plan.devices, ["y", "y"])
        self.assertEqual(len(set(berth.place(self.model, self.machine, colocate="*").devices)), 1)
        chain, four = berth.load("zoo:resnet18"), berth.machine("system:4gpu")
        layers = berth.place(chain, four, granularity="layer", max_cuts=-1, evaluations=50)
        self.assertEqual(len(set(layers.devices)), 1)
        for bad in ({"pin": "c=x"}, {"pin": "a=z"}, {"granularity": "atom"}):
            with self.assertRaises(berth.Error):
                berth.place(self.model, self.machine, **bad)

    def test_warnings(self):
        self.assertIn("peak_flops", " ".join(berth.Machine.parse("duo", DUO).warnings))
        self.assertEqual(berth.machine("system:edge").warnings, [])

    def test_compare(self):
        rows = berth.compare(self.model, self.machine, ["single", "berth", "heft"], evaluations=50)
        self.assertEqual(rows[-1]["method"], "single")
        self.assertIn("heft", berth.methods())
        self.assertIn("csv", berth.targets())

    def test_tasks(self):
        rows = berth.compare_seeds(self.model, self.machine, ["single", "heft"], seeds=2, evaluations=50)
        self.assertEqual([m["method"] for m in rows["methods"]], ["single", "heft"])
        self.assertEqual(len(rows["methods"][1]["rows"]), 2)
        four = berth.machine("system:4gpu")
        answer = berth.copies(berth.load("zoo:resnet18"), four, 2, 2, evaluations=50)
        self.assertEqual(len(answer["copies"]), 2)
        steps = [berth.load(f"zoo:resnet18:batch={n}:training=1") for n in (1, 2)]
        chosen = berth.configure(steps, [1, 2], berth.machine("system:hetero-cluster"), evaluations=20)
        self.assertEqual(chosen["goal"], "time")
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(SOURCE, "tests", "fixtures", "tagger.onnx")
            cut, plan = os.path.join(folder, "cut.onnx"), os.path.join(folder, "plan.json")
            told = berth.split(model, four, cut, plan, evaluations=200, method="local-search")
            self.assertLessEqual(told["value"], told["whole_value"])
            self.assertTrue(berth.Plan.read(plan, berth.load(cut), four).feasible)

    def test_export_names(self):
        plan = berth.place(self.model, self.machine)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.csv")
            plan.export("csv", path)
            with self.assertRaises(KeyError):
                plan.export("csv", path, devices={"z": "CUDA"})
            onnx = os.path.join(SOURCE, "tests", "fixtures", "tagger.onnx")
            model, two = berth.load(onnx), berth.machine("system:cpu+2gpu")
            berth.place(model, two, method="heft").export(
                "openvino", path, onnx, {d: "NPU" for d in two.devices})
            with open(path, "rb") as f:
                self.assertIn(b"NPU", f.read())

    def test_front_outlives_its_name(self):
        model, machine = berth.load("zoo:random:ops=20:seed=1"), berth.machine("system:cpu+2gpu")
        plan = berth.pareto(model, machine, "energy", most=3, evaluations=200)[0]
        self.assertTrue(plan.value > 0 and plan.feasible)

    def test_progress_stops(self):
        calls = []
        model, machine = berth.load("zoo:inception-v3"), berth.machine("system:cpu+2gpu")
        berth.place(model, machine, evaluations=2**40, progress=lambda n, v: calls.append(n) or len(calls) == 2)
        self.assertEqual(len(calls), 2)

    def test_progress_raises(self):
        def fail(evaluations, value):
            raise KeyboardInterrupt

        model, machine = berth.load("zoo:inception-v3"), berth.machine("system:cpu+2gpu")
        with self.assertRaises(KeyboardInterrupt):
            berth.place(model, machine, evaluations=2**40, progress=fail)

    def test_errors(self):
        for code, call in (("invalid", lambda: berth.load("zoo:resnet5")),
                           ("io", lambda: berth.load("no/such/file")),
                           ("format", lambda: berth.Machine.parse("m", b"{")),
                           ("invalid", lambda: berth.place(self.model, self.machine, method="hef")),
                           ("invalid", lambda: self.machine.change("z.slots=2")),
                           ("io", lambda: berth.place(self.model, self.machine).measure("f", "/no/engine"))):
            with self.assertRaises(berth.Error) as raised:
                call()
            self.assertEqual(raised.exception.code, code)
        with self.assertRaises(TypeError):
            berth.place(self.model, self.machine, evals=3)
        with self.assertRaises(KeyError):
            berth.place(self.model, self.machine).device_of("c")
        for call in (berth.load, berth.machine, self.machine.change, berth.place(self.model, self.machine).write,
                     lambda nothing: berth.place(self.model, self.machine, pin=[nothing])):
            with self.assertRaises(TypeError):
                call(None)

    def test_draft_refusals(self):
        d = draft()
        d.op("shaped", "MatMul", dtype="f16", dims="b=1,m=2,n=3,k=4", flops=48)
        with self.assertRaises(berth.Error):
            d.op("other", dims="b=1,m=2,n=3,k=4", flops=12)
        with self.assertRaises(berth.Error):
            d.op("a")
        d.edge("b", "a", 1)
        with self.assertRaises(berth.Error) as cycle:
            d.finish()
        self.assertEqual(cycle.exception.code, "invalid")
        with self.assertRaises(berth.Error):
            d.op("c")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
