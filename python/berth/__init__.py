"""berth: which device runs which operator of a neural network.

A thin module over the shared library (libberth.so, by ctypes); the header berth.h says what each thing means.
Nothing is to be built. The library is that of the variable BERTH_LIBRARY, else that of the installation, else
the one in build/ of this checkout, and none from anywhere else.

    import berth
    model = berth.load("zoo:resnet50")
    machine = berth.machine("system:cpu+2gpu")
    plan = berth.place(model, machine, evaluations=2000)
    print(plan.value, plan.device_of("conv1"))
    plan.write("plan.json")

Errors of the library are raised as berth.Error, with its message; .code is one of berth.CODES.
"""

from ._berth import (CODES, Draft, Error, Evaluator, Machine, Model, Plan, compare, compare_seeds, configure, copies, load,
                     lower_bound, machine, methods, pareto, place, split, targets, train, version)

__all__ = ["CODES", "Draft", "Error", "Evaluator", "Machine", "Model", "Plan", "compare", "compare_seeds", "configure", "copies",
           "load", "lower_bound", "machine", "methods", "pareto", "place", "split", "targets", "train", "version"]
