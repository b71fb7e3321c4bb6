#!/usr/bin/python3
"""The example engine, but each start of it falls over at its run number N: dying.py N."""
import importlib.util
import os
import sys

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../engines/example.py")
spec = importlib.util.spec_from_file_location("example", path)
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
left = int(sys.argv[1])
run = example.Engine.run


def dying_run(self, q):
    global left
    left -= 1
    if left < 0:
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(9)
    return run(self, q)


example.Engine.run = dying_run
example.main()
