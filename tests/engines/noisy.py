#!/usr/bin/python3
"""The example engine with made-up times: every other run takes twice as long, where fewer than 84 are asked for at once."""
import importlib.util
import os

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../engines/example.py")
spec = importlib.util.spec_from_file_location("example", path)
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
run = example.Engine.run


def noisy_run(self, q):
    n, answer = q["repeats"], run(self, q)
    answer["wall_s"] = [1e-5 * (1 + (i % 2 if n < 84 else 0)) for i in range(n)]
    for segment in answer["segments"]:
        segment.update(start_s=[0.0] * n, end_s=[1e-6] * n, cpu_s=[1e-6] * n)
    return answer


example.Engine.run = noisy_run
example.main()
