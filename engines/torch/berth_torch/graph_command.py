"""berth-engine-torch graph SPEC [--leaf CLASS]... [-o FILE]: the graph of a module as JSON.

The module's own words go to standard error. Exit codes are berth's: 2 wrong usage, 4 a module that cannot be
used, 5 a file that cannot be written, 1 out of memory.
"""
import argparse
import json
import os
import sys
from typing import List, NoReturn, TextIO

from .output import own_output
from .spec import SpecError, UsageError, one_line


class Parser(argparse.ArgumentParser):
    """Tells what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exit code 2."""
        raise UsageError(message)


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
    process = os.getpid()
    code = 0
    try:
        args = arguments(words)
        write(args, own_output())
    except UsageError as error:
        code = told(error, 2)
    except SpecError as error:
        code = told(error, 4)
    except MemoryError:
        code = told("out of memory", 1)
    except OSError as error:
        code = told(error, 5)
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:  # --help
            raise
        code = told(f"{' '.join(words[:1])}: {one_line(error)}", 4)
    finally:
        if os.getpid() != process:
            os._exit(0)
    return code


def told(what: object, code: int) -> int:
    """Say it on standard error, in one line without control characters."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(what))
    print(f"berth-engine-torch: {text}", file=sys.stderr)
    return code
