"""berth-engine-torch place SPEC: a plan of a module as a Python file, for `berth export --to torch`.

On standard input a JSON object: {"graph": name, "system": name, "devices": {name: of torch}, "placement":
{operator: name}}. On standard output a line with another: {"file": text, "notes": [text]}. The file is run
beside the unsplit module before that, by a process of its own. Exit codes as of `graph`; 4 for a plan that
cannot be written.
"""
import json
import os
import sys
from typing import Any, Dict, Iterable, List

from .devices import Refusal
from .output import own_output
from .spec import SpecError, UsageError, load, one_line, parse_spec
from .verbs import code_of


class Checker:
    """A process that waits for a file to check. It begins before anything is computed here."""

    def __init__(self) -> None:
        mine, theirs = os.pipe()
        back, answer = os.pipe()
        sys.stdout.flush()
        self.process = os.fork()
        if self.process == 0:
            os.close(theirs)
            os.close(back)
            self.live(mine, answer)
        os.close(mine)
        os.close(answer)
        self.ask, self.back = theirs, back

    @staticmethod
    def live(asked: int, answer: int) -> None:
        """The process itself."""
        from .lifetime import end_with_parent
        end_with_parent()
        os.dup2(2, 1)  # what the module prints is no answer
        try:
            with os.fdopen(asked, encoding="utf-8") as file:
                text = file.read()
            if text:
                from .placed_check import check_file
                told = {"text": check_file(**json.loads(text)).text()}
        except (Refusal, SpecError) as why:
            told = {"refused": str(why)}
        except BaseException as why:
            told = {"refused": f"the check of the file failed: {one_line(why)}"}
        if text:
            with os.fdopen(answer, "w", encoding="utf-8") as file:
                json.dump(told, file)
        os._exit(0)

    def check(self, **task: Any) -> str:
        """What was compared. Raises Refusal."""
        with os.fdopen(self.ask, "w", encoding="utf-8") as file:
            json.dump(task, file)
        with os.fdopen(self.back, encoding="utf-8") as file:
            text = file.read()
        os.waitpid(self.process, 0)
        told = json.loads(text) if text else {"refused": "the process that checks the file died"}
        if "refused" in told:
            raise Refusal("model", told["refused"])
        return str(told["text"])


def forward_places(names: Dict[str, str], operators: List[str]) -> Dict[str, str]:
    """The device of each operator of the forward pass; backward passes and updates stand beside it.
    Raises Refusal."""
    for name, device in names.items():
        base = next((name[:-len(end)] for end in ("/grad", "/update") if name.endswith(end)), name)
        if name not in operators and base in operators and names.get(base) != device:
            raise Refusal("model", f"'{name}' is on {device}, and '{base}' on {names.get(base)}: PyTorch runs a "
                                   "backward pass and an update where the forward pass was")
    return {name: device for name, device in names.items() if name in operators or name == "loss"}


def check_devices(words: Iterable[str]) -> None:
    """Raises UsageError for what this PyTorch has no kind of device for."""
    import torch
    for word in words:
        try:
            torch.device(word)
        except RuntimeError as why:
            raise UsageError(f"'{word}' is no device of PyTorch {torch.__version__}: {one_line(why)}") from why


def make(spec_text: str, asked: Dict[str, Any], checker: Checker) -> Dict[str, Any]:
    """The answer. Raises UsageError, SpecError, Refusal."""
    from .placed_file import Placed, write_placed
    from .trace import trace_loaded
    check_devices(asked["devices"].values())
    spec = parse_spec(spec_text)
    loaded = load(spec)
    operators = [op.name for op in trace_loaded(loaded, spec).ops]
    place = forward_places(asked["placement"], operators)
    used = {d: t for d, t in asked["devices"].items() if d in place.values()}
    made = write_placed(loaded, spec, Placed(asked["graph"], asked["system"], used, place))
    told = checker.check(text=made.text, spec_text=spec_text, devices=used, both=made.both_modes,
                         returned=place.get("loss") if spec.training else None)
    module = os.path.basename(spec.path)
    notes = [told, f"it imports {module}: keep it beside that file, or have that file's folder in PYTHONPATH"]
    if not made.both_modes:
        notes.append(f"it is for {spec.mode} alone: in the other mode the module's code goes another way")
    if made.changed:
        more = ", ..." if len(made.changed) > 3 else ""
        notes.append(f"forward sets {', '.join(made.changed[:3])}{more}: that of the file does not")
    return {"file": made.text, "notes": notes}


def answer(words: List[str], checker: Checker) -> None:
    """Read what is asked, and write the answer."""
    if len(words) != 1:
        raise UsageError("place: one FILE.py:FACTORY was expected")
    out = own_output()
    out.write(json.dumps(make(words[0], json.load(sys.stdin), checker)) + "\n")
    out.flush()


def main(words: List[str]) -> int:
    """Exit code of the verb."""
    words, checker = [w for w in words if w != "--"], Checker()
    return code_of(words, lambda: answer(words, checker))


__all__ = ["main"]
