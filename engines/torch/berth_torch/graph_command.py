"""berth-engine-torch graph SPEC [--leaf CLASS]... [-o FILE]: the graph of a module as JSON.

The module's own words go to standard error. Exit codes are berth's: 2 wrong usage, 4 a module that cannot be
used, 5 a file that cannot be written, 1 out of memory.
"""
import argparse
import json
import os
import sys
from typing import List, NoReturn, TextIO

from .spec import SpecError, UsageError


class Parser(argparse.ArgumentParser):
    """Tells what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        raise UsageError(message)


def own_stdout() -> TextIO:
    """The standard output for the document alone: whatever else writes there writes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(kept, "w", encoding="utf-8")


def arguments(words: List[str]) -> argparse.Namespace:
    """The command line."""
    parser = Parser(prog="berth-engine-torch graph", description="The berth-graph JSON of a PyTorch module.")
    parser.add_argument("spec", metavar="FILE.py:FACTORY[:mode=training][:optimizer=adam]")
    parser.add_argument("--leaf", action="append", default=[], metavar="CLASS",
                        help="keep modules of this class whole, as one operator each")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write there instead of standard output")
    return parser.parse_args(words)


def write(args: argparse.Namespace, stdout: TextIO) -> None:
    """Trace, measure, write."""
    from .graph import make_graph
    from .trace import trace
    document = make_graph(trace(args.spec, args.leaf))
    text = json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        stdout.write(text)
        stdout.flush()


def main(words: List[str]) -> int:
    """Exit code of the verb."""
    process = os.getpid()
    code = 0
    try:
        args = arguments(words)
        write(args, own_stdout())
    except UsageError as error:
        code = told(error, 2)
    except SpecError as error:
        code = told(error, 4)
    except MemoryError:
        code = told("out of memory", 1)
    except OSError as error:
        code = told(error, 5)
    finally:
        if os.getpid() != process:
            os._exit(0)
    return code


def told(what: object, code: int) -> int:
    """Say it on standard error."""
    print(f"berth-engine-torch: {what}", file=sys.stderr)
    return code
