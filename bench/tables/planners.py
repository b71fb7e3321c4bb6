#!/usr/bin/python3
"""Planners of other projects for training by pipelines beside berth's search: the table in docs/clusters.md,
"Training by pipelines".

    planners.py SAILOR [CLUSTER...]     SAILOR: a checkout of github.com/eth-easl/sailor (made for commit cf2c8e3),
                                        which collects them with profiles; berth-bench has to be in PATH

Each plans OPT-350M with 1,024 samples in a step, as that project's own runs do. Of its plans, in its own order,
the first counts that fits by Sailor's count of memory. Judge (a) is Sailor's simulator, judge (b) berth's model
of pipelines from the same profiles. berth's plans come from `berth-bench pipelines FILE`: for (b) one search with
all batches; (a) knows one batch for all replicas, so it has the best of a search for each, by links of a whole
host and of one GPU. What counts for (a) fits by Sailor's count, too.

Needed: numpy, scipy, torch and tqdm for Python, g++, pybind11, jsoncpp and METIS. SAILOR is copied, as programs
are built in it. CPU time is that of a search, without reading and building. A planner that fails, or is stopped
(SIGTERM, or after an hour of CPU time), has a row that says so, with the CPU time of all it did. Not run: Aceso
(its profiles are not in every copy of that repository), Atlas (for regions), Oobleck (named there, but not there).
"""
import ctypes
import importlib
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import types

CLUSTERS = {  # hosts of 4 GPUs, in one zone
    "32 A100": {"A100-40": 32},
    "128 A100": {"A100-40": 128},
    "32 A100, 96 V100": {"A100-40": 32, "V100-16": 96},
    "128 A100, 384 V100": {"A100-40": 128, "V100-16": 384},
}
ZONE, PER_HOST, MODEL = "us-central1-a", 4, "OPT-350"
ALIKE = ["Varuna", "Piper", "Galvatron", "DTFM"]  # for GPUs of one kind
UNLIKE = ["AMP", "FlashFlex", "Metis", "Sailor"]
BATCHES, WIDTHS = [1, 2, 4, 8], [1, 2, 4]
LIMIT_S, METIS_S = 3600, 60  # CPU seconds of a planner with all that it reads; when Metis stops by itself


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Home:
    """The copy, and what its simulator reads."""

    def __init__(self, top):
        self.top = top
        self.planner = f"{top}/sailor/sailor/Planner"
        self.base = f"{self.planner}/baselines"
        self.training_file = f"{self.planner}/simulations/configs/training_config_opt_350.json"
        self.training = load(self.training_file)
        self.memory = load(f"{self.planner}/llm_info.json")
        self.profiles = load(f"{self.planner}/simulations/profiles_tmp.json")
        self.providers = f"{top}/sailor/sailor/providers"
        os.environ["SAILOR_PATH"] = top
        sys.path[:0] = [f"{top}/sailor", f"{top}/lib"]
        stand_in("pandas")  # for traces, which are not read

    def simulator(self):
        from sailor.Planner.simulations.runtime_simulator import Simulator
        return Simulator(self.top, self.training, self.memory, False, self.profiles, ZONE)

    def config(self, gpu):
        return load(f"{self.planner}/simulations/configs/basic_cluster_config.json")[gpu]


def build(home):
    """Their libraries, as their own files do it, for this Python."""
    lib = f"{home.top}/lib"
    os.mkdir(lib)
    flags = ["g++", "-O3", "-shared", "-fPIC", f"-I{sysconfig.get_paths()['include']}"]
    cpp = f"{home.planner}/sailor_planner/cpp_src"
    names = "planner", "planner_utils", "training", "utils/read_json", "utils/network_utils"
    subprocess.run([*flags, *(f"{cpp}/{name}.cpp" for name in names), "-ljsoncpp", "-o", f"{lib}/libplanner.so"],
                   check=True)
    core = f"{home.base}/Galvatron/csrc"
    subprocess.run([*flags, f"{core}/dp_core.cpp", "-o", f"{core}/galvatron_dp_core.so"], check=True)


# ---- the planners, in a process of their own ----

def stand_in(name, **what):
    module = types.ModuleType(name)
    module.__dict__.update(what)
    sys.modules[name] = module
    return module


def stand_in_pymetis():
    """What FlashFlex uses of pymetis, by METIS itself."""
    metis = ctypes.CDLL("libmetis.so.5")

    class Options:
        def __init__(self, **_):
            self.values = (ctypes.c_int32 * 40)(*[-1] * 40)

    def part_graph(nparts, xadj, adjncy, vweights=None, eweights=None, options=None, recursive=None, **_):
        def ints(x):
            return None if x is None else (ctypes.c_int32 * len(x))(*[int(v) for v in x])

        def weights(x):  # pymetis has 64 bits for them
            return None if x is None else ints([max(1, v * 1e6 / max(x)) for v in x])
        n = len(xadj) - 1
        one, cut, part = ctypes.c_int32(1), ctypes.c_int32(0), (ctypes.c_int32 * n)()
        if nparts == 1:
            return 0, list(part)
        call = metis.METIS_PartGraphRecursive if recursive or nparts <= 8 else metis.METIS_PartGraphKway
        call(ctypes.byref(ctypes.c_int32(n)), ctypes.byref(one), ints(xadj), ints(adjncy), weights(vweights), None,
             weights(eweights), ctypes.byref(ctypes.c_int32(nparts)), None, None, None, ctypes.byref(cut), part)
        return cut.value, list(part)

    stand_in("pymetis", Options=Options, part_graph=part_graph)


def stand_in_galvatron(home):
    """Its search alone: the package would bring in all of Megatron."""
    stand_in("transformers", GPT2Config=object)
    name = "sailor.Planner.baselines.Galvatron.core"
    core = stand_in(name, __path__=[f"{home.base}/Galvatron/core"])
    for module, names in (("cost_model", ["MemoryCostModel", "TimeCostModel"]), ("dynamic_programming", ["DpOnModel"])):
        part = importlib.import_module(f"{name}.{module}")
        for each in names:
            setattr(core, each, getattr(part, each))


def make_planner(home, name, gpu):
    profiles = f"{home.base}/{name}/profiles/{MODEL}"
    where = {"Sailor": "sailor.Planner.sailor_planner.cpp_src.planner"}
    if name == "Galvatron":
        stand_in_galvatron(home)
    if name == "FlashFlex":
        stand_in_pymetis()
    system = os.system
    if name == "Sailor":  # its library is built
        os.system = lambda _: 0
    module = importlib.import_module(where.get(name, f"sailor.Planner.baselines.{name}.{name.lower()}_planner"))
    if name == "Metis":  # it stops after 300 s of its clock, which others may share
        module.time, module.TIME_BUDGET_SEC = types.SimpleNamespace(time=time.process_time), METIS_S
    words = {
        "Varuna": (f"{profiles}/{gpu}/profile_{PER_HOST}.json", "throughput"),
        "Piper": (f"{profiles}/{gpu}/profile.json",),
        "Galvatron": (home.training_file, f"{profiles}/{gpu}", "throughput"),
        "DTFM": ("", home.training_file, home.memory, False),
        "AMP": (profiles, "throughput"),
        "FlashFlex": (f"{home.base}/FlashFlex/src/machine_amounts.json",),
        "Metis": (profiles, home.training_file),
        "Sailor": (f"{home.planner}/sailor_planner/profiles/{MODEL}/", home.training_file,
                   f"{home.planner}/sailor_planner/dummy_quotas_dict.json", "throughput", False)}
    planner = getattr(module, f"{name}Planner")(*words[name])
    os.system = system
    return planner


def cluster_for(home, name, gpus):
    """The cluster as that planner takes it (simulations/simulator.py)."""
    if name == "Sailor":
        return {**{f"{gpu}_{ZONE}": n for gpu, n in gpus.items()}, "max_cost": 0.0, "min_throughput": 0.0}
    if name == "DTFM":
        return {**{f"{gpu}_{ZONE}": n for gpu, n in gpus.items()}, "gpu_types": list(gpus),
                "gpus_per_node": {gpu: PER_HOST for gpu in gpus}}
    each = {gpu: {"num_nodes": n // PER_HOST, **home.config(gpu)} for gpu, n in gpus.items()}
    if name in UNLIKE:
        return {**each, "zone": ZONE}
    (gpu, of), = each.items()
    return {"gpu_type": gpu, **of, "zone": ZONE}


def plan_one(home, name, cluster, out):
    gpus = CLUSTERS[cluster]
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 10))  # SIGXCPU, then SIGKILL
    os.chdir(tempfile.mkdtemp(dir=home.top))
    planner = make_planner(home, name, next(iter(gpus)))

    def seconds():
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(u.ru_utime + u.ru_stime for u in used)
    before = seconds()
    plans = planner.get_sorted_plans(cluster_config=cluster_for(home, name, gpus), training_config=home.training)
    done = {"cpu_s": seconds() - before, "plans": len(plans)}
    simulator = home.simulator()
    for plan in plans:
        if simulator.check_config_fits(plan):
            done["per_s"] = home.training["global_batch_size"] / simulator.simulate_iteration_time(plan)[0]
            done["plan"] = as_written(home, plan)
            break
    with open(out, "w", encoding="utf-8") as file:
        json.dump(done, file)


def as_written(home, plan):
    """The plan's pipelines, whatever form its planner gave it."""
    from sailor.Planner.simulations.runtime_simulator import convert_homogeneous
    made = convert_homogeneous(plan, home.training)
    return {"mbs": int(made.mbs), "pipelines": [
        {"layers": [[int(l) for l in stage] for stage in p.layers_per_stage],
         "stages": [[[[vm.gpu_type for vm in t.vm_list], int(t.tmp)] for t in stage] for stage in p.tmp_configs]}
        for p in made.pipeline_list]}


# ---- berth's model ----

def bandwidth(curve, size):
    at = math.log2(size / 1e6)
    return 1e9 * sum(c * at ** (len(curve) - 1 - i) for i, c in enumerate(curve))


def hop(curve):
    """Latency and seconds a byte by two sizes of the curve: a sample's message, and sixteen times as much."""
    small, large = 2 ** 23, 2 ** 27
    at = [size / bandwidth(curve, size) for size in (small, large)]
    byte_s = (at[1] - at[0]) / (large - small)
    return max(at[0] - byte_s * small, 0), byte_s


class Model:
    """A cluster's tables for `berth-bench pipelines FILE`."""

    def __init__(self, home, gpus):
        self.home, self.gpus = home, list(gpus)
        self.n = gpus
        self.layers = home.training["num_all_layers"]
        self.samples = home.training["global_batch_size"]
        self.info = home.memory[MODEL]

    def floats(self, key, width=1):
        return [self.info[str(width)][str(l)][key] for l in range(self.layers)]

    def times(self, gpu, batch, width):
        rows = self.home.profiles[MODEL][gpu].get(str(batch), {}).get(str(width))
        return [[row[i] for row in rows.values()] for i in range(3)] if rows else [[1e6] * self.layers] * 3

    def task(self, batches, plans, count=str(PER_HOST)):
        inter = load(f"{self.home.providers}/multizone_bandwidths_het.json")[ZONE]
        intra = load(f"{self.home.providers}/intra_node_bandwidths.json")
        # of what a layer keeps, the width counts that keeps most
        kept = [[w * f for f in self.floats("act_mem_floats", w)] for w in WIDTHS]
        kept = [max(each) for each in zip(*kept)]
        words = [self.samples, self.layers, len(batches), len(self.gpus), *batches]
        words += [4 * f for f in self.floats("params_floats")] + [24 * f for f in self.floats("params_floats")]
        for batch in batches:
            words += [4 * batch * f for f in kept] + [4 * batch * f for f in self.floats("act_output_floats")]
        for gpu in self.gpus:
            room = int(gpu.split("-")[1]) * 2 ** 30 - 3 * 10 ** 9  # beside what its engine takes
            words += [self.n[gpu], PER_HOST, len(WIDTHS), room, *hop(intra[gpu][str(PER_HOST)][0])]
            for batch in batches:
                for width in WIDTHS:
                    for column in self.times(gpu, batch, width):
                        words += column
        for a in self.gpus:
            for b in self.gpus:
                words += hop(inter[a][count][ZONE][b][count][0])
        words.append(len(plans))
        for plan in plans:
            words += plan
        return " ".join(repr(w) for w in words) + "\n"

    def to_words(self, plan, batches):
        """Their plan as berth's; None: several pipelines, replicas over hosts, or stages with more or fewer."""
        if len(plan["pipelines"]) > 1 or plan["mbs"] not in batches:
            return None
        pipeline = plan["pipelines"][0]
        replicas = {len(stage) for stage in pipeline["stages"]}
        if len(replicas) > 1:
            return None
        micro = plan["mbs"] * replicas.pop()
        words = [len(pipeline["stages"]), math.ceil(self.samples / micro), micro]
        for layers, stage in zip(pipeline["layers"], pipeline["stages"]):
            parts = {}
            for kinds, width in stage:
                if len(kinds) > 1 or width > PER_HOST:
                    return None
                key = self.gpus.index(kinds[0]), WIDTHS.index(width), batches.index(plan["mbs"])
                parts[key] = parts.get(key, 0) + 1
            words += [layers[0], layers[-1] + 1, len(parts)]
            for key, n in sorted(parts.items()):
                words += [*key, n]
        return words

    def from_words(self, words, batches):
        """A plan of berth's as Sailor's; None: replicas of unlike batches, which that does not know."""
        at = iter(int(w) for w in words)
        n_stages, _, _ = next(at), next(at), next(at)
        layers, stages, used = [], [], set()
        for _ in range(n_stages):
            first, last, n_parts = next(at), next(at), next(at)
            layers.append(list(range(first, last)))
            stage = []
            for _ in range(n_parts):
                kind, width, batch, n = next(at), WIDTHS[next(at)], next(at), next(at)
                used.add(batches[batch])
                stage += [([(self.gpus[kind], width, ZONE)], width)] * n
            stages.append(stage)
        if len(used) > 1 or len({len(stage) for stage in stages}) > 1:
            return None
        return {"mbs": used.pop(), "pipeline_list": [{"num_stages": n_stages, "layers_per_stage": layers,
                                                      "tmp_per_stage": stages, "dp": [len(s) for s in stages]}]}


def ours(home, model, theirs):
    """Their plans by (b); berth's best by (a) and by (b), and CPU seconds of all its searches."""
    asked = [(BATCHES, str(PER_HOST))] + [([b], count) for b in BATCHES for count in ("1", str(PER_HOST))]
    known = [t for t in theirs if t]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        for i, (batches, count) in enumerate(asked):
            file.write(model.task(batches, known if i == 0 else [], count))
        file.flush()
        told = subprocess.run(["berth-bench", "pipelines", file.name], check=True, stdout=subprocess.PIPE, text=True)
    lines = told.stdout.split("\n")
    values = iter(lines)
    by_b = [model.samples / float(next(values)) if t else None for t in theirs]
    found = [line.split() for line in lines[len(known):len(known) + len(asked)]]
    simulator, best = home.simulator(), 0
    for words, (batches, _) in zip(found, asked):
        plan = model.from_words(words[2:], batches) if words[2] != "0" else None
        if plan and simulator.check_config_fits(plan):
            best = max(best, model.samples / simulator.simulate_iteration_time(plan)[0])
    return by_b, best, model.samples / float(found[0][0]), sum(float(words[1]) for words in found)


def main(argv):
    if len(argv) < 2 or argv[1].startswith("-"):
        sys.exit(__doc__)
    if argv[2:3] == ["--one"]:
        plan_one(Home(argv[1]), *argv[3:6])
        return
    if not os.path.isdir(f"{argv[1]}/sailor/Planner/baselines"):
        print(f"skipped: '{argv[1]}' is no checkout of github.com/eth-easl/sailor: give one", file=sys.stderr)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as top:
        for part in ("Planner", "providers", "profiling"):
            shutil.copytree(f"{argv[1]}/sailor/{part}", f"{top}/sailor/sailor/{part}",
                            ignore=shutil.ignore_patterns("Aceso"))
        home = Home(top)
        build(home)
        print("| cluster | planner | samples/s by Sailor's simulator | by berth's model | CPU time |")
        print("|---|---|---:|---:|---:|")
        for cluster in argv[2:] or CLUSTERS:
            row(home, cluster)


def row(home, cluster):
    gpus, done = CLUSTERS[cluster], {}
    for name in UNLIKE + (ALIKE if len(gpus) == 1 else []):
        out = f"{home.top}/out.json"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run([sys.executable, os.path.abspath(__file__), home.top, "--one", name, cluster, out],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if os.path.exists(out):
            done[name] = load(out)
            os.remove(out)
        else:
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
            stopped = -run.returncode in (signal.SIGXCPU, signal.SIGTERM)
            done[name] = {"ended": f"not ended in {cpu_s:.0f} CPU s" if stopped else "failed"}
            last = (run.stderr.strip().split("\n") or [""])[-1]
            print(f"{name} on {cluster}: exit code {run.returncode}: {last[:200]}", file=sys.stderr)
    print_rows(home, cluster, done)


def print_rows(home, cluster, done):
    model = Model(home, CLUSTERS[cluster])
    theirs = [model.to_words(d["plan"], BATCHES) if "plan" in d else None for d in done.values()]
    said, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")  # their simulator talks
    by_b, best_a, best_b, cpu_s = ours(home, model, theirs)
    sys.stdout = said
    rows = [(name, d.get("per_s"), b, d.get("ended") or f"{d['cpu_s']:.1f} s")
            for (name, d), b in zip(done.items(), by_b)]
    for name, a, b, took in rows + [("berth", best_a, best_b, f"{cpu_s:.1f} s")]:
        cells = [f"{x:.1f}" if x else "" for x in (a, b)] + [took]
        print(f"| {cluster} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv)
