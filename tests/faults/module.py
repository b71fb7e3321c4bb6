"""A user's program over the Python module: module.py GRAPH SYSTEM PLAN. A graph is read, placed, simulated and told, and the plan is
written and read back. Exit codes are those of berth."""
import sys

import berth

EXIT = {"memory": 1, "invalid": 2, "infeasible": 3, "format": 4, "io": 5}


def main(graph, system, path):
    model, machine = berth.load(graph), berth.machine(system)
    plan = berth.place(model, machine, method="anneal", evaluations=30, threads=1)
    plan.write(path)
    read = berth.Plan.read(path, model, machine)
    simulated = berth.Plan.new(model, machine, read.devices, read.order)
    print(model.name, machine.name, plan.method, plan.value, read.cost, simulated.value, simulated.use)
    print(simulated.explain(), simulated.explain(model.ops[1]), machine.change("cpu0.peak_flops=2x"))


try:
    main(*sys.argv[1:])
except berth.Error as why:
    print(why, file=sys.stderr)
    sys.exit(EXIT.get(why.code, 9))
