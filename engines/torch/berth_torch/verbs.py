"""What the verbs of berth-engine-torch that answer once have in common."""
import os
import sys
from typing import Callable, List

from .devices import Refusal
from .spec import SpecError, UsageError, one_line


class Shown(BaseException):
    """Help was printed: there is nothing else to do."""


def told(what: object, code: int) -> int:
    """Say it on standard error, in one line without control characters."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(what))
    print(f"berth-engine-torch: {text}", file=sys.stderr)
    return code


def code_of(words: List[str], answer: Callable[[], None]) -> int:
    """Exit code of a verb with these words, which answers by answer(): what that raises is told. A process
    that the module has forked ends here.
    """
    process = os.getpid()
    code = 0
    try:
        answer()
    except Shown:
        pass
    except UsageError as error:
        code = told(error, 2)
    except (SpecError, Refusal) as error:
        code = told(error, 4)
    except MemoryError:
        code = told("out of memory", 1)
    except OSError as error:
        code = told(error, 5)
    except BaseException as error:
        code = told(f"{' '.join(words[:1])}: {one_line(error)}", 4)
    finally:
        if os.getpid() != process:
            os._exit(0)
    return code
