"""Pages that the tests look at: instances with hostile names, and every kind of page made of them."""
import json
import os
import re
import subprocess
import sys

# Names that must stay text: markup, quotes, direction marks, control characters, a name of 5000 letters.
HOSTILE = ["</script><img src=x onerror=pwned()>", "<!--<script>", "a\"b'c`d&amp;<b>bold</b>", "]]>\\u003c",
           "\u202egnp.elif\u2066", "tab\there\u0001\u007f\u0085", "\u2028line\u2029ends", "x" * 5000,
           "__proto__", "constructor", "javascript:pwned()//"]
DEVICE = ["cpu<0>&\"'", "gpu\u202e0</title>"]


def write(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)


def instances():
    """hostile.json on duo.json; plain.json on two.json, with the placement run.json, and on pair.json."""
    ops = [{"name": name, "type": "<i>" + name[:9], "flops": 1e6 * (i + 1), "param_bytes": 100}
           for i, name in enumerate(HOSTILE)]
    edges = [{"from": HOSTILE[i], "to": HOSTILE[i + 1], "bytes": 1000} for i in range(len(HOSTILE) - 1)]
    write("hostile.json", {"format": "berth-graph", "version": 1, "name": HOSTILE[0], "ops": ops,
                           "edges": edges})
    device = {"memory_bytes": 10 ** 6, "op_overhead_s": 1e-6, "idle_w": 1, "busy_w": 5}
    write("duo.json", {"format": "berth-system", "version": 1, "name": "duo" + HOSTILE[0], "devices": [
        {"name": DEVICE[0], "peak_flops": 1e9, **device},
        {"name": DEVICE[1], "peak_flops": 2e9, **device, "busy_w": 40}],
        "links": [{"from": DEVICE[0], "to": DEVICE[1], "bandwidth": 1e6, "both_ways": True,
                   "shared": "<u>bus</u>", "latency_s": 1e-6}]})
    ops = [{"name": "o%d" % i, "flops": 1e5 * (i + 1)} for i in range(8)]
    write("plain.json", {"format": "berth-graph", "version": 1, "name": "plain", "ops": ops,
                         "edges": [{"from": "o%d" % i, "to": "o%d" % (i + 1), "bytes": 100} for i in range(0,
                             7, 2)]})
    for name, devices in ("two", ("single", "double")), ("pair", ("cpu0", "cpu1")):
        write(name + ".json", {"format": "berth-system", "version": 1, "name": name, "devices": [
            {"name": d, "peak_flops": 1e9, "op_overhead_s": 1e-6, "memory_bytes": 10 ** 6} for d in devices],
            "links": [dict(zip(("from", "to"), devices), bandwidth=1e6, both_ways=True, latency_s=1e-6)]})
    write("run.json", {"placement": {"o%d" % i: ("single", "double")[i % 2] for i in range(8)}})


def large(n=100000):
    """large.json: n operators in blocks and layers, each on the other device than the one before."""
    names = ["block%d.layer%d.op%d" % (i // 5000, i // 500 % 10, i) for i in range(n)]
    with open("large.json", "w", encoding="utf-8") as file:
        file.write('{"format":"berth-graph","version":1,"name":"large","ops":[')
        file.write(",".join('{"name":"%s","flops":%d}' % (name, 10 ** 6 + i % 97) for i,
                            name in enumerate(names)))
        file.write('],"edges":[')
        file.write(",".join('{"from":"%s","to":"%s","bytes":100}' % pair for pair in zip(names, names[1:])))
        file.write("]}")


def berth(program, *words, exit=0):
    done = subprocess.run([program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != exit:
        sys.exit("berth %s: exit %d, expected %d\n%s" % (" ".join(words), done.returncode, exit, done.stderr))
    return done


def shown(program, *words, exit=0):
    """The document of --json of a run that writes a page, too."""
    return json.loads(berth(program, *words, "--json", "--quiet", exit=exit).stdout)


def kinds(program, source):
    """Write a page of each kind; {page: document of --json of the same run}."""
    on, search = ["--on", "duo.json"], ["--evaluations", "200"]
    example, steady = (os.path.join(source, *at) for at in (("engines", "example.py"),
                                                            ("tests", "engines", "steady.py log")))
    run = {
        "place": ["place", "hostile.json", *on, *search],
        "front": ["place", "hostile.json", *on, *search, "--pareto", "latency,energy"],
        "compare": ["compare", "hostile.json", "plain.json", *on, *search, "--seeds", "2", "--methods",
                    "heft,anneal,branch-and-bound"],
        "train": ["train", "hostile.json", "plain.json", *on, "--evaluations", "300", "-o", "p.safetensors"],
        "measure": ["measure", "plain.json", "--on", "two.json", "--placement", "run.json", "--repeats", "3",
                    "--operators", "--engine", example],
        "fidelity": ["compare", "plain.json", "--on", "pair.json", "--fidelity", "--placements", "9",
                     "--engine",
                     steady]}
    return {name + ".html": shown(program, *words, "--report", name + ".html") for name, words in run.items()}


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def document(path):
    """The page's JSON document."""
    return json.loads(re.search(r'<script type="application/json" id="document">(.*?)</script>', read(path),
                                re.S)[1])
