"""Names that a terminal would obey, or that a person would not see: a class each."""

CLASSES = [
    "\x1b[31mred\x1b[2J",            # escape sequences: colours, the screen
    "\x1b]0;title\x07\x1b]8;;x\x1b\\",  # the title of the window, a link
    "\x9b31m\x85\x90",               # controls of C1
    "one\nberth: warning: two",      # a line that looks like one of ours
    "over\rwritten\b\b\x00"[:-1],    # back to the start of the line
    "tab\tand\vdel\x7f",
    "abc\u202egnp.exe\u202d",        # directions
    "\u2066iso\u2069\u200e\u200f\u061c",
    "zero\u200b\u200d\u2060\ufeffwidth",
    "tag\U000e0041\U000e007f\ufe0f",
    "line\u2028and\u2029paragraph",
    "soft\u00adhyphen\u3164",
    "%s%n%5$x\\x1b",
    "Gr\u00fc\u00dfe \u6f22\u5b57 \U0001f600",  # nothing is wrong with these
]


def name(what, i):
    return f"{what}{i}{CLASSES[i % len(CLASSES)]}"


DEVICES = [name("dev", 0), name("dev", 3), name("dev", 6)]
