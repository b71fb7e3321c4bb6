"""What a module holds beside its tensors' numbers: attributes, its buffers and parameters among them."""
from typing import Any, List, Tuple

import torch


class Attributes:
    """The attributes of a module and of all inside it as they are now, lists and dicts among them included.

    The constants that torch.fx notes in a module may stay.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self.kept: List[Tuple[torch.nn.Module, dict]] = []
        self.inner: List[Tuple[Any, Any]] = []
        for part in module.modules():
            self.kept.append((part, dict(vars(part))))
            held = [v for v in vars(part).values() if isinstance(v, (dict, list, set))]
            self.inner += [(v, list(v.items()) if isinstance(v, dict) else list(v)) for v in held]

    def restore(self, constants: bool = True) -> None:
        """All of it as it was; with or without the constants."""
        for part, before in self.kept:
            noted = {k: v for k, v in vars(part).items() if constants and k.startswith("_tensor_constant")}
            vars(part).clear()
            vars(part).update({**noted, **before})
        for held, before in self.inner:
            held.clear()
            held.extend(before) if isinstance(held, list) else held.update(before)
