"""What the user names: FILE.py:FACTORY[:mode=training][:optimizer=adam][:leaf=CLASS], and what it makes."""
import difflib
import importlib.util
import inspect
import os
import sys
import traceback
from dataclasses import dataclass, field
from types import FunctionType, TracebackType
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import torch

MODES = ("inference", "training")
OPTIMIZERS = ("sgd", "momentum", "adam")
WORDS = ("mode", "optimizer", "leaf")
OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
TORCH_FOLDER = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


class UsageError(Exception):
    """The text of the spec is wrong."""


class SpecError(Exception):
    """The module cannot be used; the text tells where and why."""


@dataclass
class Spec:
    """The words of a spec, taken apart."""

    text: str
    path: str
    factory: str
    mode: str = "inference"
    optimizer: str = "adam"
    leaves: List[str] = field(default_factory=list)
    gradients: bool = False  # trace as with gradients, whatever the mode

    @property
    def training(self) -> bool:
        """Is a whole training step asked for?"""
        return self.mode == "training"


@dataclass
class Loaded:
    """What a factory gave: a module in its mode, its example inputs, and the loss (None: the default)."""

    module: torch.nn.Module
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    loss: Optional[Callable[[Any], torch.Tensor]]


def nearest(word: str, known: List[str]) -> str:
    """A hint to the known word that is most like this one, or nothing."""
    close = difflib.get_close_matches(word, known, 1)
    return f" (nearest: '{close[0]}')" if close else ""


def parse_spec(text: str, leaves: Tuple[str, ...] = ()) -> Spec:
    """Take a spec apart. Raises UsageError."""
    path, sep, rest = text.partition(".py:")
    if not sep or not rest:
        raise UsageError(f"'{text}': FILE.py:FACTORY was expected")
    factory, *words = rest.split(":")
    if not factory.isidentifier():
        raise UsageError(f"'{text}': '{factory}' is no name of a function")
    spec = Spec(text, path + ".py", factory, leaves=list(leaves))
    once: Set[str] = set()
    for word in words:
        key = word.partition("=")[0]
        if key in once:
            raise UsageError(f"'{text}': {key} is given twice")
        set_word(spec, word)
        once |= {key} - {"leaf"}
    if "optimizer" in once and "mode" not in once:
        raise UsageError(f"'{text}': optimizer is of a training step; give mode=training, too")
    return spec


def set_word(spec: Spec, word: str) -> None:
    """One KEY=VALUE behind the factory."""
    key, sep, value = word.partition("=")
    if not sep or not value:
        raise UsageError(f"'{spec.text}': KEY=VALUE was expected instead of '{word}'")
    if key == "leaf":
        spec.leaves.append(value)
    elif key == "mode":
        spec.mode = one_of(spec, key, value, MODES)
    elif key == "optimizer":
        spec.optimizer = one_of(spec, key, value, OPTIMIZERS)
    else:
        raise UsageError(f"'{spec.text}': unknown word '{key}'{nearest(key, list(WORDS))}; there are "
                         + ", ".join(WORDS))


def one_of(spec: Spec, key: str, value: str, known: Tuple[str, ...]) -> str:
    """The value, if it is known."""
    if value not in known:
        raise UsageError(f"'{spec.text}': {key} is one of {', '.join(known)}, not '{value}'"
                         + nearest(value, list(known)))
    return value


def is_users(path: str) -> bool:
    """Is this file neither torch's nor ours nor Python's own?"""
    path = os.path.abspath(path) if not path.startswith("<") else path
    return not (path.startswith((OWN_FOLDER, TORCH_FOLDER, "<")) or os.sep + "importlib" + os.sep in path)


def shown(path: str) -> str:
    """A file's name as short as it is clear."""
    short = os.path.relpath(path)
    return path if short.startswith("..") else short


def where(tb: Optional[TracebackType]) -> Optional[str]:
    """FILE:LINE of the innermost frame in a file of the user's, or None."""
    frames = [f for f in traceback.extract_tb(tb) if is_users(f.filename)]
    return f"{shown(frames[-1].filename)}:{frames[-1].lineno}" if frames else None


def one_line(error: BaseException) -> str:
    """The first lines of an exception's text, as one of a moderate length, with its type."""
    words = " ".join(str(error).split())
    kind = type(error).__name__
    text = f"{kind}: {words}" if words else kind
    return text if len(text) <= 300 else text[:297] + "..."


def tell(spec: Spec, what: str, error: BaseException) -> SpecError:
    """A SpecError that says where in the user's files something was raised."""
    place = where(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{shown(error.filename)}:{error.lineno}"
        return SpecError(f"{place}: {error.msg}")
    return SpecError(f"{place or spec.path}: {what}: {one_line(error)}")


def import_file(spec: Spec) -> Any:
    """Run the user's file as a module whose folder can be imported from."""
    if not os.path.isfile(spec.path):
        raise SpecError(f"{spec.path}: no such file")
    folder = os.path.dirname(os.path.abspath(spec.path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.splitext(os.path.basename(spec.path))[0]
    found = importlib.util.spec_from_file_location(name, spec.path)
    if found is None or found.loader is None:
        raise SpecError(f"{spec.path}: Python cannot read it")
    made = importlib.util.module_from_spec(found)
    sys.modules.setdefault(name, made)
    try:
        found.loader.exec_module(made)
    except BaseException as error:
        raise tell(spec, "running the file failed", error) from error
    return made


def hint(word: str, file: Any) -> str:
    """What the file has that is most like this name; where nothing is, some of its own functions."""
    found = {k: v for k, v in vars(file).items() if callable(v) and not k.startswith("_")}
    own = [k for k, v in found.items() if isinstance(v, FunctionType) and v.__module__ == file.__name__]
    some = ", ".join(own[:5]) + (", ..." if len(own) > 5 else "")
    return nearest(word, list(found)) or (f"; its functions are {some}" if own else "; it defines no function")


def call_factory(spec: Spec) -> Any:
    """What the factory returns. A child that the file forks ends here."""
    process = os.getpid()
    file = import_file(spec)
    factory = getattr(file, spec.factory, None)
    if factory is None:
        raise SpecError(f"{spec.path} has no '{spec.factory}'{hint(spec.factory, file)}")
    is_class = inspect.isclass(factory) and issubclass(factory, torch.nn.Module)
    if is_class or isinstance(factory, torch.nn.Module) or not callable(factory):
        kind = "a class" if is_class else type(factory).__name__
        raise SpecError(f"{spec.path}: '{spec.factory}' is no function, but {kind}; a function without arguments "
                        "was expected that returns the module and its example inputs")
    torch.manual_seed(0)
    try:
        made = factory()
    except BaseException as error:
        raise tell(spec, f"{spec.factory}() failed", error) from error
    finally:
        if os.getpid() != process:
            os._exit(0)
    return made


def load(spec: Spec) -> Loaded:
    """Call the factory, look at what it gave, and put the module into its mode. Raises SpecError."""
    made = call_factory(spec)
    parts = made if isinstance(made, tuple) else (made,)
    wanted = "a module, (module, args), (module, args, kwargs) or (module, args, kwargs, loss) was expected"
    here = f"{spec.path}: {spec.factory}()"
    if not parts or len(parts) > 4 or not isinstance(parts[0], torch.nn.Module):
        kind = type(parts[0]).__name__ if parts else "nothing"
        raise SpecError(f"{here} returned {kind if len(parts) <= 4 else f'{len(parts)} values'}; {wanted}")
    module, args, kwargs, loss = (*parts, *(None,) * (4 - len(parts)))
    if isinstance(args, torch.Tensor):
        args = (args,)
    if args is not None and not isinstance(args, (tuple, list)):
        raise SpecError(f"{here}: args is {type(args).__name__}, not a tuple; {wanted}")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise SpecError(f"{here}: kwargs is {type(kwargs).__name__}, not a dict; {wanted}")
    if loss is not None and not callable(loss):
        raise SpecError(f"{here}: the loss is {type(loss).__name__}, not a function; {wanted}")
    module.train(spec.training)
    return Loaded(module, tuple(args or ()), dict(kwargs or {}), loss)
