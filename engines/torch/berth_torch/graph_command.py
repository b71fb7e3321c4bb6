"""berth-engine-torch graph SPEC [--leaf CLASS]... [-o FILE]: the graph of a module as JSON.

The module's own words go to standard error. Exit codes are berth's: 2 wrong usage, 4 a module that cannot be
used, 5 a file that cannot be written, 1 out of memory.
"""
import argparse
import json
import os
from typing import List, NoReturn, Optional, TextIO

from .output import own_output
from .spec import UsageError
from .verbs import Shown, code_of


class Parser(argparse.ArgumentParser):
    """Tells what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        raise UsageError(message)

    def exit(self, status: int = 0, message: Optional[str] = None) -> NoReturn:
        """Behind --help."""
        raise Shown


def arguments(words: List[str]) -> argparse.Namespace:
    """The command line."""
    parser = Parser(prog="berth-engine-torch graph", description="The berth-graph JSON of a PyTorch module.")
    parser.add_argument("spec", metavar="FILE.py:FACTORY[:mode=training][:optimizer=adam]")
    parser.add_argument("--leaf", action="append", default=[], metavar="CLASS",
                        help="keep modules of this class whole, as one operator each")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write there instead of standard output")
    return parser.parse_args(words)


def write(args: argparse.Namespace, stdout: TextIO) -> None:
    """Trace, measure, write. The module's code may go to another folder meanwhile."""
    from .graph import make_graph
    from .spec import parse_spec
    from .trace import trace
    path = args.output and os.path.abspath(args.output)
    source = parse_spec(args.spec).path
    if path and os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise UsageError(f"-o {args.output} is the module's own file")
    document = make_graph(trace(args.spec, args.leaf))
    text = json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"
    if path:
        write_file(path, text)
    else:
        stdout.write(text)
        stdout.flush()


def write_file(path: str, text: str) -> None:
    """The whole file or none of it; into what is no plain file (a pipe), directly."""
    target = os.path.realpath(path)
    plain = os.path.isfile(target) or not os.path.exists(target)
    place = f"{target}.{os.getpid()}.new" if plain else target
    try:
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
        if plain:
            os.replace(place, target)
    except BaseException:
        if plain and os.path.exists(place):
            os.unlink(place)
        raise


def main(words: List[str]) -> int:
    """Exit code of the verb."""
    return code_of(words, lambda: write(arguments(words), own_output()))
