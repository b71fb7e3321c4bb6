"""What these tests begin with: PyTorch, and berth's package for it in the path. Where this Python has no PyTorch
the program ends here, with exit code 77.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "engines", "torch"))

try:
    import torch  # noqa: F401
except ImportError:
    print(f"skipped: no PyTorch for this Python, which {os.path.basename(sys.argv[0])} needs (scripts/setup torch)")
    sys.exit(77)
