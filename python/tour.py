#!/usr/bin/env python3
"""A tour of the module: place a model, see where the time goes, ask what another machine would bring.

Run it with PYTHONPATH at this folder, beside a build of berth or an installed one.
"""

import berth

# %% A model and a machine. Files work as well: berth.load("model.onnx"), berth.machine("machine.json").
model = berth.load("zoo:bert-base:seq=128")
machine = berth.machine("system:cpu+2gpu")
print(model, machine, sep="\n")

# %% A plan, with a bound that no plan can beat.
plan = berth.place(model, machine, evaluations=1000, bound="strong")
print(plan, f"gap {plan.gap:.1%}")
for device, use in plan.use.items():
    print(f"{device:6} {use['operators']:4} operators, busy {use['busy_s'] * 1e3:.2f} ms,"
          f" {use['peak_bytes'] / 2**30:.2f} GiB at most")

# %% Rows for a data frame: pandas.DataFrame(plan.rows()).
for row in plan.rows()[:3]:
    print(row)

# %% Where the time goes, and why one operator stands where it does.
for cause in plan.explain():
    print(f"{cause['seconds'] * 1e3:8.3f} ms  {cause['what']}")
print(plan.explain(model.ops[-1])["value_on"])

# %% Methods side by side, at equal budgets.
for row in berth.compare(model, machine, ["berth", "anneal", "heft", "single"], evaluations=300):
    print(f"{row['method']:8} {row['value'] * 1e3:.3f} ms, gap {row['gap']:.1%}")

# %% Two objectives at once.
for point in berth.pareto(model, machine, "energy", most=4, evaluations=500):
    print(f"{point.cost['latency_s'] * 1e3:.3f} ms, {point.cost['energy_j']:.3f} J")

# %% What if the second GPU had twice the memory bandwidth? The old plan there, and a new one.
faster = machine.change("gpu1.mem_bandwidth=2x")
same = berth.Plan.new(model, faster, plan.devices, plan.order)
anew = berth.place(model, faster, start=same, evaluations=500)
print(f"as it is {same.value * 1e3:.3f} ms, placed anew {anew.value * 1e3:.3f} ms")
