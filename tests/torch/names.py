#!/usr/bin/env python3
"""Variables of devices: names that Python takes, unlike each other and unlike what the file has already."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "engines", "torch"))
sys.dont_write_bytecode = True
from berth_torch.device_names import variables_of  # noqa: E402

NAMES = ["class", "None", "x", "self", "torch", "dict", "F", "print", "a'b\"c", "a\"b'c", "a b", "a-b", "a_b", "", "3", "\u00e9",
         "gpu0", "on_gpu0", "\n"]
TAKEN = {"x", "on_x", "on_class", "self", "torch"}

made = variables_of(NAMES, TAKEN)
assert list(made) == NAMES
assert len(set(made.values())) == len(NAMES), made
assert not TAKEN & set(made.values()), made
scope = {}
for word in made.values():
    exec(f"{word} = {word!r}", scope)  # Python takes it as a variable
assert all(scope[word] == word for word in made.values())
assert variables_of(["gpu0"], ()) == {"gpu0": "on_gpu0"}
