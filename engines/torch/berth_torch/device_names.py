"""Names in generated code that stand for devices of a plan, whatever these are called."""
from typing import Collection, Dict, Iterable


def variables_of(devices: Iterable[str], taken: Collection[str]) -> Dict[str, str]:
    """A variable for each device: a prefix keeps it off keywords, and none is one of those taken."""
    made: Dict[str, str] = {}
    used = set(taken)
    for name in devices:
        word = "on_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        while word in used:
            word += "_"
        used.add(word)
        made[name] = word
    return made
