"""What is run with faults: every verb in its main forms, on inputs as small as they can be."""
import dataclasses
import pathlib
import shlex
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


@dataclasses.dataclass
class Case:
    name: str
    args: str  # words after the program
    writes: tuple = ()  # files that it writes
    before: tuple = ()  # of the made inputs: those that it finds under these names, and may replace
    resume: str = ""  # words that bring a file that is neither old nor new to the same end
    scratch: tuple = ()  # files that may be left over
    program: str = "berth"
    ends: tuple = (0,)  # its exit code
    slow: bool = False  # no part of samples
    needs: tuple = ()  # inputs that its words do not name as they are called

    @property
    def verb(self):
        return {"berth": self.args.split()[0], "place": "berth.h", "python3": "import berth"}[self.program]

    def words(self):
        return shlex.split(self.args)


def make_method(folder):
    """A method of a user's own, mine.so."""
    subprocess.run(["cc", "-std=c11", "-O1", "-shared", "-fPIC", "-I", SOURCE / "include", "-o", folder / "mine.so",
                    SOURCE / "tests/examples/mine.c"], check=True)


GRAPH = """{"format":"berth-graph","version":1,"name":"tiny","ops":[{"name":"in","type":"Input","flops":0,"write_bytes":40000},
{"name":"conv","type":"Conv","flops":2e9,"write_bytes":400000,"param_bytes":5000},{"name":"side","type":"Conv","flops":1e9},
{"name":"relu","type":"Relu","flops":1e5},{"name":"sum","type":"Add","flops":1e6}],
"edges":[{"from":"in","to":"conv","bytes":40000},{"from":"in","to":"side","bytes":40000},
{"from":"conv","to":"relu","bytes":400000},{"from":"relu","to":"sum","bytes":400000},{"from":"side","to":"sum","bytes":4000}]}
"""
DUO = """{"format":"berth-system","version":1,"name":"duo","contention":false,
"devices":[{"name":"cpu0","peak_flops":1e11},{"name":"cpu1","peak_flops":5e10}],
"links":[{"from":"cpu0","to":"cpu1","latency_s":5e-6,"bandwidth":2e10,"both_ways":true}]}
"""
MAX_LOAD = """{"format":"berth-system","version":1,"name":"max-load","cost_model":"tarnawski","devices":[
{"name":"acc0","kind":"acc","memory_bytes":1000000000},{"name":"acc1","kind":"acc","memory_bytes":1000000000},{"name":"cpu0","kind":"cpu"}],
"links":[{"from":"acc0","to":"cpu0","bandwidth":1e9,"both_ways":true},{"from":"acc1","to":"cpu0","bandwidth":1e9,"both_ways":true}]}
"""
TIMED = """{"format":"berth-graph","version":1,"name":"timed","ops":[
{"name":"a","time_s":{"acc":1e-3,"cpu":5e-3}},{"name":"b","time_s":{"acc":2e-3,"cpu":9e-3}},{"name":"c","time_s":{"acc":1e-3,"cpu":4e-3}}],
"edges":[{"from":"a","to":"b","bytes":8},{"from":"b","to":"c","bytes":8}]}
"""
DOT = 'digraph tiny { a [weight=2]; b [weight=3]; c [weight=1]; a -> b [weight=4]; a -> c [weight=1]; b -> c; }\n'
LAYERS = """{"format":"berth-graph","version":1,"name":"layered","ops":[{"name":"layers.0.a","flops":1e8},
{"name":"layers.0.b","flops":1e8},{"name":"layers.1.a","flops":1e8},{"name":"layers.1.b","flops":1e8}],
"edges":[{"from":"layers.0.a","to":"layers.0.b","bytes":8},{"from":"layers.0.b","to":"layers.1.a","bytes":8},
{"from":"layers.1.a","to":"layers.1.b","bytes":8}]}
"""
TWO = """{"format":"berth-system","version":1,"name":"two","devices":[{"name":"a","peak_flops":1e11},{"name":"b","peak_flops":5e10}],
"links":[{"from":"a","to":"b","latency_s":1e-6,"bandwidth":1e10,"both_ways":true}]}
"""

POOL = """{"format":"berth-system","version":1,"name":"pool","devices":[{"name":"a","peak_flops":1e11},{"name":"b","peak_flops":5e10}],
"links":[{"from":"a","to":"b","bandwidth":1e10,"both_ways":true}],"memory_pools":[{"name":"ram","bytes":1000000000,"bandwidth":1e10,"devices":["a","b"]}]}
"""

GPUS = """{"format":"berth-system","version":1,"name":"two-gpus","devices":[{"name":"gpu0","kind":"gpu","peak_flops":1e13,"memory_bytes":8000000000},
{"name":"gpu1","kind":"gpu","peak_flops":1e13,"memory_bytes":8000000000}],"links":[{"from":"gpu0","to":"gpu1","bandwidth":1e10,"both_ways":true}]}
"""

INPUTS = {"net.py": "", "two-gpus.json": GPUS, "pool.json": POOL, "w.data": "aaaabbbbccccdddd", "tiny.json": GRAPH, "duo.json": DUO, "tiny.dot": DOT, "layers.json": LAYERS, "two.json": TWO, "max-load.json": MAX_LOAD, "timed.json": TIMED, "what-if": "cpu0.peak_flops=2x\n"}
COPIED = {"beside.onnx": "tests/fuzz/corpus/onnx/external.onnx", "tiny.onnx": "tests/fuzz/corpus/onnx/conv.onnx", "loop.onnx": "tests/fuzz/corpus/onnx/loop.onnx",
          "tiny.gguf": "tests/fuzz/corpus/gguf/phi-3-mini.gguf"}
FOLDERS = ("llama",)  # of tests/export/tiny_folder.py
ENGINE = f"--engine '{SOURCE}/tests/engines/steady.py log none 0'"
TRAIN = "train tiny.json --on duo.json --evaluations 200 --seed 3 --threads 1"
MEASURED = f"train tiny.json --on duo.json --env measured --evaluations 60 --runs 60 --seed 5 --threads 1 {ENGINE}"

LAYERED = "zoo:llama:layers=2:hidden=64:ffn=64:heads=2:kv-heads=2:vocab=64"

# Made by fault-free runs, in this order: inputs of later ones.
MADE = (
    ("plan.json", "place tiny.json --on duo.json --method heft -o plan.json"),
    ("old.json", "place tiny.json --on duo.json --method round-robin -o old.json"),
    ("onnx.json", "place tiny.onnx --on duo.json --method round-robin -o onnx.json"),
    ("theirs.csv", "export plan.json --model tiny.json --on duo.json --to csv --force -q -o theirs.csv"),
    ("proof.json", "place tiny.json --on duo.json --method heft --bound strong --certificate proof.json"),
    ("llama.json", "place tiny.gguf:mode=decode --on system:edge --threads 1 --method heft -o llama.json"),
    ("folder.json", "place llama --on duo.json --for none --threads 1 --method single -o folder.json"),
    ("vllm.json", "place llama --on two-gpus.json --threads 1 --method single -o vllm.json"),
    ("net.json", "place net.py:good --on duo.json --threads 1 --method heft -o net.json"),
    ("words.json", "place tiny.onnx --on duo.json --for ort --times roofline --threads 1 --method heft -o words.json"),
    ("whole", f"{TRAIN} -o whole"),
    ("half", f"{TRAIN.replace('200', '100')} -o half"),
    ("ended", f"{MEASURED} -o ended"),
    ("old.html", "place tiny.json --on duo.json --method single -o p --report old.html"),
)

PLACE = "place tiny.json --on duo.json --threads 1 --evaluations 30"


def simple(name, args, *writes, **more):
    return Case(name, args, writes, **more)


CASES = [
    simple("help", "--help"),
    simple("place-help", "place --help"),
    simple("methods", "methods"),
    simple("methods-json", "methods --json"),
    simple("zoo", "zoo"),
    simple("zoo-json", "zoo --json"),
    simple("systems", "systems"),
    simple("systems-json", "systems --json"),
    simple("place", f"{PLACE} --method heft -o p.json", "p.json"),
    simple("place-again", f"{PLACE} --method heft -o p.json", "p.json", before=(("old.json", "p.json"),)),
    simple("place-report", f"{PLACE} --method heft -o p.json --report p.html", "p.json", "p.html", before=(("old.html", "p.html"),)),
    simple("place-json", f"{PLACE} --method anneal --json"),
    simple("place-berth", f"{PLACE} -o p.json", "p.json"),
    simple("place-policy", f"{PLACE} --policy whole -o p.json", "p.json"),
    simple("place-cem", f"{PLACE} --method cem -o p.json", "p.json"),
    simple("place-doppler", f"{PLACE} --method doppler -o p.json", "p.json"),
    simple("place-hsdag", f"{PLACE} --method hsdag -o p.json", "p.json"),
    simple("place-pbqp", f"{PLACE} --method pbqp -o p.json", "p.json"),
    simple("place-ip", "place timed.json --on max-load.json --threads 1 --method ip --objective throughput --nodes 20 -o p.json", "p.json"),
    simple("place-milp", f"{PLACE} --method milp --nodes 20 --write-model m.lp -o p.json", "p.json", "m.lp"),
    simple("place-scotch", f"{PLACE} --method scotch -o p.json", "p.json"),
    simple("place-metis", f"{PLACE} --method metis -o p.json", "p.json"),
    simple("place-strong", f"{PLACE} --method heft --bound strong -o p.json", "p.json"),
    simple("place-split", "place tiny.json --on duo.json --threads 1 --method split -o p.json", "p.json"),
    simple("place-pareto", f"{PLACE} --pareto latency,memory -o p-%d.json", "p-1.json"),
    simple("place-rules", "place tiny.json --on duo.json --threads 1 --method heft --pin conv=cpu0 --colocate side,sum -o p.json", "p.json"),
    simple("place-layers", "place layers.json --on duo.json --threads 1 --method heft --granularity block -o p.json", "p.json"),
    simple("place-training", f"{PLACE} --method heft --training -o p.json", "p.json"),
    simple("place-onnx", "place tiny.onnx --on duo.json --threads 1 --method heft -o p.json", "p.json"),
    simple("place-onnx-loop", "place loop.onnx --on duo.json --threads 1 --method heft -o p.json", "p.json"),
    simple("place-gguf", "place tiny.gguf --on system:edge --threads 1 --method heft -o p.json", "p.json"),
    simple("place-dot", "place tiny.dot --on duo.json --threads 1 --method heft -o p.json", "p.json"),
    simple("place-zoo", "place zoo:alexnet --on system:edge --threads 1 --method heft -o p.json", "p.json"),
    simple("place-two", "place tiny.json tiny.dot --on duo.json --threads 1 --method heft -o p.json", "p.json"),
    simple("place-threads", "place tiny.json --on duo.json --threads 2 --method anneal --evaluations 30 -o p.json", "p.json"),
    simple("train", f"{TRAIN} -o new --log log.json", "new", "log.json", resume=f"{TRAIN} --resume -o new", scratch=("new.older",)),
    simple("train-again", f"{TRAIN} -o new --report r.html", "new", "r.html", before=(("half", "new"),), resume=f"{TRAIN} --resume -o new", scratch=("new.older",)),
    simple("train-resume", f"{TRAIN} --resume -o new --json", "new", before=(("half", "new"),), resume=f"{TRAIN} --resume -o new", scratch=("new.older",)),
    simple("train-measured-ended", f"{MEASURED} --resume -o new --json", "new", before=(("ended", "new"),), scratch=("new.measured", "new.older")),
    simple("train-measured", f"{MEASURED} -o new --placement p.json", "new", "p.json", resume=f"{MEASURED} --resume -o new", scratch=("new.measured", "new.older")),
    simple("compare", "compare tiny.json --on duo.json --methods heft,anneal --evaluations 20 --seeds 2 --threads 1 --report c.html", "c.html"),
    simple("compare-csv", "compare tiny.json layers.json --on duo.json --methods heft,anneal --evaluations 20 --threads 1 --format csv"),
    simple("compare-json", "compare tiny.json --on duo.json --methods heft,cpop --threads 1 --json"),
    simple("compare-fidelity", f"compare tiny.json --on duo.json --fidelity --placements 3 --threads 1 {ENGINE}"),
    simple("simulate", "simulate tiny.json --on duo.json --placement plan.json --trace t.json --json", "t.json"),
    simple("simulate-set", "simulate tiny.json --on duo.json --placement plan.json --set cpu0.peak_flops=2x --threads 1 --evaluations 20"),
    simple("simulate-what-if", "simulate tiny.json --on duo.json --placement plan.json --what-if what-if --threads 1 --evaluations 20"),
    simple("show-graph", "show tiny.json --on duo.json"),
    simple("show-json", "show tiny.json --json"),
    simple("show-dot", "show tiny.json --placement plan.json --on duo.json --dot g.dot", "g.dot"),
    simple("show-out", "show tiny.onnx -o g.json", "g.json", before=(("old.json", "g.json"),)),
    simple("show-op", "show tiny.json --op conv"),
    simple("show-when", "show tiny.json --placement plan.json --on duo.json --op conv"),
    simple("show-blocks", "show layers.json --granularity layer"),
    simple("show-system", "show duo.json"),
    simple("show-system-out", "show system:edge -o e.json", "e.json"),
    simple("show-placement", "show plan.json"),
    simple("show-policy", "show whole"),
    simple("show-policy-json", "show whole --json"),
    simple("export-onnx", "export onnx.json --model tiny.onnx --on duo.json --to ort:onnx --force -o e.onnx", "e.onnx"),
    simple("export-ort", "export onnx.json --model tiny.onnx --on duo.json --to ort --device cpu0=CPUExecutionProvider --device cpu1=CUDAExecutionProvider --force --json -o e.onnx", "e.onnx"),
    simple("export-csv", "export plan.json --model tiny.json --on duo.json --to csv --force -o e.csv", "e.csv"),
    simple("export-trace", "export plan.json --model tiny.json --on duo.json --to trace --force -o e.json", "e.json"),
    simple("import-plan", "import-plan theirs.csv --model tiny.json --on duo.json -o p.json", "p.json"),
    simple("split", "split tiny.onnx --parts 2 -o halves.onnx", "halves.onnx"),
    simple("split-search", "split tiny.onnx --on duo.json --method heft --evaluations 20 --threads 1 -o found.onnx --plan p.json", "found.onnx", "p.json"),
    simple("compare-placement", "compare tiny.json --on duo.json --methods heft --placement plan.json --for ort --threads 1"),
    simple("measure", f"measure tiny.json --on duo.json --placement plan.json --repeats 3 --operators --report m.html {ENGINE}", "m.html"),
    simple("measure-json", f"measure tiny.json --on duo.json --placement plan.json --repeats 3 --json --trace t.json {ENGINE}", "t.json"),
    simple("profile", f"profile tiny.json --on duo.json --repeats 2 -o g.json --system-out s.json --cache c.db {ENGINE}", "g.json", "s.json",
           scratch=("c.db", "c.db-journal")),
    simple("profile-system", "profile --system -o host.json", "host.json", slow=True),
    simple("configure", "configure tiny.json --on duo.json --training --json"),
    simple("adapt", f"adapt tiny.json --on two.json --steps 12 --slow b=0.5@4 --engine '{SOURCE}/tests/engines/moody.py'"),
    simple("place-certificate", f"{PLACE} --method heft --bound strong --certificate c.json -o p.json", "p.json", "c.json"),
    simple("check-certificate", "check-certificate proof.json --graph tiny.json --on duo.json"),
    simple("place-compress", f"{PLACE} --method heft --compress 4x -o p.json", "p.json"),
    simple("place-pools", "place tiny.json --on pool.json --threads 1 --method heft -o p.json", "p.json"),
    simple("place-host", "place tiny.json --on host:gpu=t4,cpu=epyc-7742 --threads 1 --method heft -o p.json", "p.json"),
    simple("place-calibrate", "place zoo:alexnet --on system:edge --threads 1 --method heft --calibrate zoo:alexnet=9ms@gpu0 -o p.json", "p.json"),
    simple("place-replicas", "place tiny.json --on duo.json --replicas 2 --objective throughput --threads 1 --evaluations 20 -o p.json", "p.json"),
    simple("show-times", "show tiny.onnx --on system:edge --times"),
    simple("show-fuse", "show tiny.onnx --fuse -o g.json", "g.json"),
    simple("show-unsandboxed", "show tiny.onnx --no-sandbox"),
    simple("devices", "devices t4"),
    simple("train-fine", f"{TRAIN} --fine-tune --policy whole -o new", "new", resume=f"{TRAIN} --fine-tune --policy whole --resume -o new", scratch=("new.older",)),
    simple("split-data", "split beside.onnx --cut y=columns:1,1 --data new.bin -o out.onnx", "out.onnx", "new.bin", needs=("w.data",)),
    simple("export-llama", "export llama.json --model tiny.gguf:mode=decode --on system:edge --to llama.cpp --device gpu0=CUDA0 --device npu0=CUDA1 --force -o line", "line", needs=("tiny.gguf",)),
    simple("configure-serve", "configure layers.json --serve 1 --on duo.json --json"),
    simple("place-walks", f"{PLACE} --method anneal --walks 2 -o p.json", "p.json"),
    simple("place-for", "place tiny.onnx --on duo.json --for ort --threads 1 --method heft -o p.json", "p.json"),
    simple("place-folder", "place llama --on duo.json --for none --threads 1 --method heft -o p.json", "p.json"),
    simple("place-use", "place tiny.gguf --on system:edge --use answer:0.8,read:0.2 --threads 1 --method heft --evaluations 10 -o p.json", "p.json"),
    simple("profile-quick", f"profile tiny.json --on duo.json --quick 5 --system-out s.json {ENGINE}", "s.json"),
    simple("export-accelerate", "export folder.json --model llama --on duo.json --to accelerate --device cpu0=0 --device cpu1=cpu --force -o map.json", "map.json", needs=("llama",)),
    simple("export-vllm", "export vllm.json --model llama --on two-gpus.json --to vllm --force -o line", "line", needs=("llama",)),
    simple("place-module", "place net.py:good --on duo.json --threads 1 --method heft -o p.json", "p.json", needs=("net.py",)),
    simple("export-torch", "export net.json --model net.py:good --on duo.json --to torch --device cpu0=cpu --device cpu1=cuda:0 --force -o placed.py", "placed.py", needs=("net.py",)),
    simple("export-openvino", "export onnx.json --model tiny.onnx --on duo.json --to openvino --device cpu0=CPU --device cpu1=GPU.1 --force -o e.json", "e.json"),
    simple("compare-words", "compare tiny.onnx --on duo.json --methods heft --placement words.json --threads 1"),
    simple("configure-out", "configure tiny.json --on duo.json --training -o p.json", "p.json"),
    simple("configure-batches", "configure zoo:alexnet --serve 2 --on duo.json --batches 1,4 --steps duo:9=1ms --json"),
    simple("configure-pipelines", f"configure {LAYERED} --training --on duo.json --pipelines 4 --batches 1,2 --json"),
    simple("configure-requests", f"configure {LAYERED} --serve 1 --on duo.json --requests 0.7:16+4,0.3:8+8 --json"),
    simple("simulate-for", "simulate tiny.onnx --on duo.json --placement onnx.json --for ort --json"),
    simple("place-own", f"{PLACE} --method ./mine.so -o p.json", "p.json", needs=("mine.so",)),
    simple("compare-own", "compare tiny.json --on duo.json --methods heft,./mine.so --evaluations 20 --threads 1", needs=("mine.so",)),
    simple("compare-folder", "compare tiny.json --on duo.json --methods heft --placement ours=. --threads 1 --format latex", needs=("plan.json",)),
    simple("compare-policies", "compare tiny.json --on duo.json --methods policy --policy a=whole,b=half --evaluations 20 --threads 1", needs=("whole", "half")),
    Case("api", "p.json", ("p.json",), program="place"),
    Case("module", f"{SOURCE}/tests/faults/module.py tiny.json duo.json p.json", ("p.json",), program="python3"),
]

# Faults that were findings once: case, kind, name of the call, functions that it is made in (the first such
# call is meant), and for ever?
KEPT = (
    ("place-scotch", "sys", "pipe2", "berth_lp_solve", False),
    ("place-scotch", "sys", "fork", "berth_lp_solve", False),
    ("place-scotch", "sys", "poll", "berth_lp_solve", False),
    ("place-ip", "sys", "read", "berth_lp_solve berth_method_run", False),
    ("place-gguf", "sys", "fstat", "berth_file_map", False),
    ("place-gguf", "sys", "stat", "berth_file_there berth_graph_split", False),
    ("split-data", "sys", "fstat", "berth_beneath_open", False),
    ("profile-quick", "sys", "recv", "berth_steady_run", False),
    ("place-own", "sys", "read", "receive_all berth_method_run", False),
    ("place-own", "sys", "poll", "receive_all berth_method_named", False),
    ("place-for", "sys", "pipe2", "can_be_told", False),
    ("place-for", "sys-children", "write", "can_be_told", False),
    ("export-onnx", "alloc", "calloc", "berth_wire_list export_write_apart", True),
    ("export-accelerate", "alloc", "malloc", "map_parts berth_model_map", False),
    ("place", "eintr", "open", "berth_file_map", False),
    ("place-folder", "eintr", "open", "berth_beneath_open", False),
    ("place", "eintr", "fsync", "berth_placement_write", False),
    ("place", "sys", "flock", "berth_file_hold", True),
    ("place", "sys", "lstat", "berth_placement_write", True),
    ("train-again", "sys", "flock", "berth_file_lock_take", False),
    ("train-measured-ended", "sys", "open", "berth_policy_file_read train_measured_open", False),
    ("measure", "eintr", "waitpid", "berth_engine_stop", False),
    ("show-system", "alloc", "malloc", "libcjson:cJSON_ParseWithLengthOpts", False),
    ("place-scotch", "alloc-children", "realloc", "berth_library_open_blas", True),
    ("place-ip", "alloc", "malloc", "cli_say", True),
)
