"""Cases of workers.py that no run of a plan on two CPUs comes to: values of accelerators, slow links, workers
that say nothing or nonsense, strangers.
"""
import json
import os
import runpy
import socket
import sys
import threading
import time

import torch
from berth_torch.crew import LEAD_S, Crew, Member
from berth_torch.devices import Device, Refusal, parse_devices
from berth_torch.engine import Engine
from berth_torch.gloo import GlooPost, open_store
from berth_torch.moves import Move
from berth_torch.nursery import fork_child
from berth_torch.wire import Channel, host_id

LIMIT_S = 10.0
OPTIONS = {"threads": 1, "clock": "wall", "tf32": False}
PROGRAM = os.path.join(os.path.dirname(__file__), "..", "..", "engines", "torch", "berth-engine-torch")


# ---- values of accelerators ----


class Late:
    """The event behind a copy, which takes its time, or fails."""

    def __init__(self, fails):
        self.fails = fails

    def synchronize(self):
        time.sleep(0.02)
        if self.fails:
            raise RuntimeError("the copy failed")


class LatePost(GlooPost):
    """Of a device whose values are copied to the CPU behind its work, as those of an accelerator are."""

    fails = False

    def _copied_out(self, src, value):
        return value, Late(self.fails)


def outlet(tests):
    """What an accelerator sends last comes, though the run ends; what it cannot copy is told."""
    store = open_store("127.0.0.1")
    posts = [LatePost([Device("gpu0", torch.device("mps"), here=k == 0),
                       Device("cpu0", torch.device("cpu"), here=k == 1)], LIMIT_S, [0, 1], k) for k in (0, 1)]
    joining = threading.Thread(target=posts[1].join, args=(("127.0.0.1", store.port), "127.0.0.1", "late"))
    joining.start()
    posts[0].join(("127.0.0.1", store.port), "127.0.0.1", "late")
    joining.join()
    for fails, wanted in ((False, 1.0), (True, 0.0), (False, 1.0)):
        for p in posts:
            p.fails = fails
            p.open([Move(0, 1, "x", torch.empty(4, device="meta"))])
        posts[0].send(0, 1, "x", torch.ones(4))
        try:
            posts[0].close()
            told = ""
        except RuntimeError as why:
            told = str(why)
        got = posts[1].receive(1, "x", "x").tolist()
        posts[1].close()
        tests.expect("the last value of an accelerator", got == [wanted] * 4, str(got))
        tests.expect("a copy that fails is told", told == ("the copy failed" if fails else ""), told)
        tests.expect("nobody is stopped behind it", not posts[0].failed.is_set())


def all_cases(tests):
    for case in (outlet,):
        case(tests)
