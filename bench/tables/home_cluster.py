#!/usr/bin/python3
"""prima.cpp's home cluster: berth's plans for its models beside what its authors measured. The table in
docs/clusters.md, "Layers held singly". berth has to be in PATH.

    home_cluster.py             the table
    home_cluster.py --system    the system file

Devices, memory left, rates of disks and milliseconds a token are those of Li et al. (arXiv 2504.08791, tables 2
and 3; ICLR 2026; those of prima.cpp with device selection, as its repository tells them). Speeds of devices are
not told there: they are the catalogue's, CPUs by their numbers of cores, of the Kirin 9000 a datasheet's. Wi-Fi
(320 Mbit/s, 3 ms) and PCIe (12 GB/s, 10 us) are assumed. Nothing is fitted.
"""
import json
import math
import subprocess
import sys
import tempfile

GIB = 1 << 30
# Of each computer: CPU, memory left, bytes a second of its disk; GPU, its memory left. D1 shares one memory.
COMPUTERS = {
    "d1": ({"like": "apple-m1-gpu"}, 2.4, 0.72e9, None, 0),
    "d2": ({"like": "intel-core-i9-9900k"}, 4.1, 2.98e9, {"like": "nvidia-rtx-3070-laptop"}, 8),
    "d3": ({"like": "intel-core-i9-12900k"}, 9.7, 3.17e9, {"like": "nvidia-rtx-2080-ti"}, 11),
    "d4": ({"peak_flops": 2.4e11, "mem_bandwidth": 4.4e10, "op_overhead_s": 1e-6}, 1.9, 1.37e9, None, 0),
}
# Words of zoo:llama; milliseconds a token of llama.cpp on D3 alone, exo, dllama, prima.cpp.
MODELS = {
    "Llama 3 8B": ("layers=32:hidden=4096:heads=32:kv-heads=8:ffn=14336:vocab=128256", "15", "263", "459", "15"),
    "Llama 1 30B": ("layers=60:hidden=6656:heads=52:kv-heads=52:ffn=17920:vocab=32000", "202", "", "", "72"),
    "Llama 1 65B": ("layers=80:hidden=8192:heads=64:kv-heads=64:ffn=22016:vocab=32000", "8807", "", "", "569"),
    "Llama 3 70B": ("layers=80:hidden=8192:heads=64:kv-heads=8:ffn=28672:vocab=128256", "10120",
                    "no memory", "no memory", "674"),
}


def link(a, b, latency_s, bandwidth):
    return {"from": a, "to": b, "latency_s": latency_s, "bandwidth": bandwidth, "both_ways": True}


def system(computers):
    """A CPU and a GPU of one computer are hosts of their own: --serve takes equal devices of a host."""
    devices, links, wifi = [], [], []
    for name in computers:
        cpu, ram, disk, gpu, vram = COMPUTERS[name]
        own = [name + "-cpu"] + [name + "-gpu"] * (gpu is not None)
        devices.append({"name": own[0], "host": name, "memory_bytes": int(ram * GIB), **cpu})
        devices.append({"name": "disk-" + name, "host": name, "memory_bytes": 256 * GIB})
        links.append(link("disk-" + name, own[0], 1e-4, disk))
        if gpu:
            devices.append({"name": own[1], "host": own[1], "memory_bytes": vram * GIB, **gpu})
            links.append(link(*own, 1e-5, 1.2e10))
        links += [link(a, b, 3e-3, 4e7) for a in own for b in wifi]
        wifi += own
    return {"format": "berth-system", "version": 1, "name": "home", "devices": devices, "links": links}


def ask(path, words, goal, *more):
    command = ["berth", "configure", "zoo:llama:mode=decode:seq=1024:dtype=f16:weights=q4_k:" + words, "--on", path,
               "--serve", "1", "--goal", goal, "--json", "-q", *more]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 3):
        sys.exit(f"home_cluster.py: {' '.join(command)}: exit code {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def quickest(path, words):
    """The quickest way of a token that berth found: (seconds, its stages, below which none is). Each limit is 5 %
    below what was found last, until none is found, or can be."""
    least_s = ask(path, words, "throughput:latency<=1us", "--time", "1us")["short"]["least"]
    goal, best_s, stages = "throughput", math.inf, []
    while best_s > 1.05 * least_s:
        plan = ask(path, words, goal)
        if not plan["feasible"]:
            break
        ways = [(g["latency_s"], g["stages"]) for g in plan["groups"]]
        ways += [(plan["layout_latency_s"], plan["layout"])] if plan["layout_per_s"] else []
        best_s, stages = min(ways + [(best_s, stages)], key=lambda way: way[0])
        goal = f"throughput:latency<={0.95 * best_s:.6g}s"
    return best_s, stages, least_s


def main():
    if sys.argv[1:] == ["--system"]:
        print(json.dumps(system(list(COMPUTERS)), indent=1))
        return
    heads = ["model", "llama.cpp on D3", "D3 alone, predicted", "exo", "dllama", "prima.cpp", "all, predicted",
             "no plan below", "layers of nodes", "read from disks"]
    print("| " + " | ".join(heads) + " |\n|---|" + "---:|" * 7 + "---|---:|")
    with tempfile.TemporaryDirectory() as top:
        for name, computers in ("all", list(COMPUTERS)), ("d3", ["d3"]):
            with open(f"{top}/{name}.json", "w", encoding="utf-8") as file:
                json.dump(system(computers), file)
        for model, (words, llama, *others) in MODELS.items():
            alone_s, _, _ = quickest(f"{top}/d3.json", words)
            best_s, stages, least_s = quickest(f"{top}/all.json", words)
            layers = ", ".join(f"{s['server']} {s['layers']}" for s in stages)
            read = sum(s.get("disk_bytes", 0) for s in stages)
            cells = [model, llama, f"{1e3 * alone_s:.0f}", *others, f"{1e3 * best_s:.0f}", f"{1e3 * least_s:.0f}",
                     layers, f"{read / 1e9:.1f} GB" if read else ""]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
