"""Standard output for answers alone."""
import os
import sys
from typing import TextIO


def own_output() -> TextIO:
    """What was standard output. Whatever else writes there, a module's print, writes to standard error."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out
