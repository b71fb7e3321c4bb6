#!/usr/bin/python3
"""Large models as ONNX files without weights, so that they can be cut: the shapes are the true ones.

    large_models.py NAME[:key=value...] FILE    write one
    large_models.py BERTH --check               hold them against the graphs of the zoo, by this program

gpt2-xl (batch, seq), llama-7b, llama-70b (batch, seq, mode=prefill|decode), moe (batch, seq; Mixtral 8x7B where each
expert takes the same number of tokens), resnet152, inception-v3, vit (batch). layers=N is for language models and vit. Language models are
of 16 bits. With mode=decode one token is made; the keys and values of seq tokens are there and count as parameters.
train=1: logits of all tokens, as a training step needs them. tied=0: GPT-2's head has a table of its own."""
import inspect
import json
import subprocess
import struct
import sys
import tempfile

FLOAT, INT64, BOOL, HALF = 1, 7, 9, 10


def varint(x):
    x &= (1 << 64) - 1
    out = bytearray()
    while x > 127:
        out.append(x & 127 | 128)
        x >>= 7
    return bytes(out + bytes([x]))


def field(number, value):
    """A field of a message: a number, or bytes, or text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


class Model:
    """A graph that grows by operators; a value is its name, its shape stands in `shape`."""

    def __init__(self, elem=HALF):
        self.nodes, self.rest, self.shape, self.elem, self.scope = [], [], {}, elem, ""

    def name(self, text):
        return self.scope + text

    def weight(self, name, *shape):
        name = self.name(name)
        tensor = b"".join(field(1, d) for d in shape) + field(2, self.elem) + field(8, name)
        self.rest.append(field(5, tensor))
        self.shape[name] = list(shape)
        return name

    def ints(self, name, *values):
        name = self.name(name)
        self.rest.append(field(5, field(1, len(values)) + field(2, INT64) + field(8, name) +
                               field(9, struct.pack(f"<{len(values)}q", *values))))
        return name

    def number(self, name, value):
        name = self.name(name)
        data = struct.pack("<e" if self.elem == HALF else "<f", value)
        told = field(1, "value") + field(5, field(2, self.elem) + field(9, data)) + field(20, 4)
        self.nodes.append(field(1, field(2, name) + field(3, name) + field(4, "Constant") + field(5, told)))
        self.shape[name] = []
        return name

    def put(self, number, name, elem, shape):
        dims = b"".join(field(1, field(1, d)) for d in shape)
        self.rest.append(field(number, field(1, name) + field(2, field(1, field(1, elem) + field(2, dims)))))
        self.shape[name] = list(shape)
        return name

    def input(self, name, elem, *shape):
        return self.put(11, name, elem, shape)

    def output(self, value, elem=None):
        self.put(12, value, elem or self.elem, self.shape[value])

    def op(self, kind, name, takes, shape, **attributes):
        name = self.name(name)
        text = b"".join(field(1, t) for t in takes) + field(2, name) + field(3, name) + field(4, kind)
        for key, value in attributes.items():
            if isinstance(value, int):
                told = field(3, value) + field(20, 2)
            elif isinstance(value, str):
                told = field(4, value) + field(20, 3)
            else:
                told = b"".join(field(8, v) for v in value) + field(20, 7)
            text += field(5, field(1, key) + told)
        self.nodes.append(field(1, text))
        self.shape[name] = list(shape)
        return name

    def write(self, path):
        graph = b"".join(self.nodes) + field(2, "model") + b"".join(self.rest)
        with open(path, "wb") as file:
            file.write(field(1, 8) + field(2, "berth") + field(7, graph) + field(8, field(2, 23)))

    # ---- layers ----

    def same(self, kind, name, *takes, **attributes):
        return self.op(kind, name, takes, self.shape[takes[0]], **attributes)

    def matmul(self, name, a, b):
        return self.op("MatMul", name, [a, b], self.shape[a][:-1] + self.shape[b][-1:])

    def linear(self, name, x, columns, bias=True):
        y = self.matmul(name, x, self.weight(name + ".weight", self.shape[x][-1], columns))
        return self.same("Add", name + ".add", y, self.weight(name + ".bias", columns)) if bias else y

    def reshape(self, name, x, *shape):
        return self.op("Reshape", name, [x, self.ints(name + ".shape", *shape)], shape)

    def transpose(self, name, x, *perm):
        return self.op("Transpose", name, [x], [self.shape[x][p] for p in perm], perm=perm)

    def part(self, name, x, start, end):
        """Columns of x."""
        takes = [x] + [self.ints(f"{name}.{i}", v) for i, v in enumerate((start, end, len(self.shape[x]) - 1))]
        return self.op("Slice", name, takes, self.shape[x][:-1] + [end - start])

    def layer_norm(self, name, x):
        columns = self.shape[x][-1]
        return self.same("LayerNormalization", name, x, self.weight(name + ".weight", columns), self.weight(name + ".bias", columns))

    def rms_norm(self, name, x):
        return self.same("RMSNormalization", name, x, self.weight(name + ".weight", self.shape[x][-1]))

    def gelu(self, name, x):
        return self.same("Gelu", name, x)

    def embedding(self, name, table, tokens):
        return self.op("Gather", name, [table, tokens], self.shape[tokens] + self.shape[table][1:], axis=0)

    def attend(self, q, k, v, groups, mask):
        """Scores of q [batch, heads, rows, size] with k [batch, heads / groups, size, seq], and what v makes of them."""
        batch, heads, rows, size = self.shape[q]
        seq = self.shape[k][3]
        if groups > 1:
            q = self.reshape("attn.queries", q, batch, heads // groups, groups * rows, size)
        a = self.matmul("attn.scores", q, k)
        a = self.same("Mul", "attn.scale", a, self.number("attn.factor", size ** -0.5))
        if groups > 1:
            a = self.reshape("attn.rows", a, batch, heads, rows, seq)
        if mask:
            a = self.op("Where", "attn.mask", [mask, a, self.number("attn.low", -65504.0)], self.shape[a])
        a = self.same("Softmax", "attn.softmax", a, axis=-1)
        if groups > 1:
            a = self.reshape("attn.weights", a, batch, heads // groups, groups * rows, seq)
        a = self.matmul("attn.context", a, v)
        if groups > 1:
            a = self.reshape("attn.heads", a, batch, heads, rows, size)
        a = self.transpose("attn.turn", a, 0, 2, 1, 3)
        return self.reshape("attn.join", a, batch, rows, heads * size)

    def heads(self, name, x, heads, *perm):
        batch, rows, columns = self.shape[x]
        return self.transpose(name + ".turn", self.reshape(name + ".heads", x, batch, rows, heads, columns // heads), *perm)


# ---- models ----


def transformer_block(m, x, heads, hidden, mask, attention_bias=True):
    """Layer of GPT-2 or of a vision transformer, queries, keys and values by a product each."""
    y = m.layer_norm("ln_1", x)
    q, k, v = (m.linear("attn." + w, y, hidden) for w in "qkv")
    y = m.attend(m.heads("attn.q", q, heads, 0, 2, 1, 3), m.heads("attn.k", k, heads, 0, 2, 3, 1), m.heads("attn.v", v, heads, 0, 2, 1, 3), 1, mask)
    x = m.same("Add", "attn.residual", x, m.linear("attn.proj", y, hidden))
    y = m.linear("mlp.fc", m.layer_norm("ln_2", x), 4 * hidden)
    return m.same("Add", "mlp.residual", x, m.linear("mlp.proj", m.gelu("mlp.gelu", y), hidden))


def gpt2_xl(batch=1, seq=128, layers=48, train=1, tied=1, hidden=1600, half=1):
    """Radford et al. 2019; the head shares the table of words, as long as it is tied. Heads have 64 columns."""
    m = Model(HALF if half else FLOAT)
    tokens = m.input("tokens", INT64, batch, seq)
    mask = m.input("mask", BOOL, 1, 1, seq, seq)
    x = m.embedding("wte", m.weight("wte.weight", 50257, hidden), tokens)
    x = m.same("Add", "wpe", x, m.weight("wpe.weight", seq, hidden))
    for i in range(layers):
        m.scope = f"h.{i}."
        x = transformer_block(m, x, hidden // 64, hidden, mask)
    m.scope = ""
    x = m.layer_norm("ln_f", x)
    if tied:
        table = m.op("Transpose", "head.table", ["wte.weight"], [hidden, 50257], perm=[1, 0])
        m.output(m.matmul("head", x, table))
    else:
        m.output(m.linear("head", x, 50257, False))
    return m


def rotate(m, name, x, angles):
    size = m.shape[x][-1]
    first, second = m.part(name + ".first", x, 0, size // 2), m.part(name + ".second", x, size // 2, size)
    turned = m.op("Concat", name + ".swapped", [m.same("Neg", name + ".neg", second), first], m.shape[x], axis=-1)
    return m.same("Add", name + ".rotated", m.same("Mul", name + ".cos", x, angles[0]), m.same("Mul", name + ".sin", turned, angles[1]))


def decoder_attention(m, x, heads, kv_heads, angles, mask, seq, decode):
    batch, _, hidden = m.shape[x]
    size = hidden // heads
    q = m.heads("attn.q", m.linear("attn.wq", x, hidden, False), heads, 0, 2, 1, 3)
    k = m.heads("attn.k", m.linear("attn.wk", x, kv_heads * size, False), kv_heads, 0, 2, 1, 3)
    v = m.heads("attn.v", m.linear("attn.wv", x, kv_heads * size, False), kv_heads, 0, 2, 1, 3)
    q, k = rotate(m, "attn.q", q, angles), rotate(m, "attn.k", k, angles)
    if decode:
        m.output(k)
        m.output(v)
        k, v = m.weight("attn.keys", batch, kv_heads, size, seq), m.weight("attn.values", batch, kv_heads, seq, size)
    else:
        k = m.transpose("attn.k.columns", k, 0, 1, 3, 2)
    return m.linear("attn.wo", m.attend(q, k, v, heads // kv_heads, None if decode else mask), hidden, False)


def gated(m, x, ffn, prefix=""):
    gate, up = m.linear(prefix + "w1", x, ffn, False), m.linear(prefix + "w3", x, ffn, False)
    gate = m.same("Mul", prefix + "silu", gate, m.same("Sigmoid", prefix + "sigmoid", gate))
    return m.linear(prefix + "w2", m.same("Mul", prefix + "gated", gate, up), m.shape[x][-1], False)


def experts(m, x, ffn, n, top):
    """Each expert takes its best tokens, as many as it gets in the mean (Zhou et al. 2022): all in three products."""
    batch, rows, hidden = m.shape[x]
    tokens, capacity = batch * rows, -(-batch * rows * top // n)
    flat = m.reshape("moe.rows", x, tokens, hidden)
    share = m.same("Softmax", "moe.softmax", m.linear("moe.router", flat, n, False), axis=-1)
    share = m.transpose("moe.by_expert", share, 1, 0)
    name = m.name("moe.top")
    text = field(1, share) + field(1, m.ints("moe.capacity", capacity)) + field(2, name) + field(2, name + ".at") + field(3, name) + field(4, "TopK")
    m.nodes.append(field(1, text))
    m.shape[name] = m.shape[name + ".at"] = [n, capacity]
    y = m.embedding("moe.gather", flat, name + ".at")
    gate, up = (m.matmul("moe." + w, y, m.weight(f"moe.{w}.weight", n, hidden, ffn)) for w in ("w1", "w3"))
    gate = m.same("Mul", "moe.silu", gate, m.same("Sigmoid", "moe.sigmoid", gate))
    y = m.matmul("moe.w2", m.same("Mul", "moe.gated", gate, up), m.weight("moe.w2.weight", n, ffn, hidden))
    y = m.same("Mul", "moe.weighed", y, m.reshape("moe.share", name, n, capacity, 1))
    at = m.reshape("moe.at", name + ".at", n, capacity, 1)
    zero = m.same("Mul", "moe.zero", flat, m.number("moe.nothing", 0.0))
    y = m.op("ScatterND", "moe.sum", [zero, at, y], [tokens, hidden], reduction="add")
    return m.reshape("moe.back", y, batch, rows, hidden)


def decoder(layers, hidden, heads, kv_heads, ffn, words, batch, seq, mode, train, n=0, top=0):
    """Touvron et al. 2023, Jiang et al. 2024."""
    m, decode = Model(), mode == "decode"
    rows = 1 if decode else seq
    tokens = m.input("tokens", INT64, batch, rows)
    mask = None if decode else m.input("mask", BOOL, 1, 1, seq, seq)
    angles = [m.input(w, m.elem, rows, hidden // heads) for w in ("cos", "sin")]
    x = m.embedding("embed", m.weight("embed.weight", words, hidden), tokens)
    for i in range(layers):
        m.scope = f"layers.{i}."
        y = decoder_attention(m, m.rms_norm("attn_norm", x), heads, kv_heads, angles, mask, seq, decode)
        x = m.same("Add", "attn.residual", x, y)
        y = m.rms_norm("ffn_norm", x)
        y = experts(m, y, ffn, n, top) if n else gated(m, y, ffn)
        x = m.same("Add", "ffn.residual", x, y)
    m.scope = ""
    x = m.rms_norm("norm", x)
    if not train and not decode:
        x = m.op("Gather", "last", [x, m.ints("last.at", seq - 1)], [batch, 1, hidden], axis=1)
    m.output(m.linear("output", x, words, False))
    return m


def llama_7b(batch=1, seq=512, mode="prefill", layers=32, train=0):
    return decoder(layers, 4096, 32, 32, 11008, 32000, batch, seq, mode, train)


def llama_70b(batch=1, seq=512, mode="prefill", layers=80, train=0):
    return decoder(layers, 8192, 64, 8, 28672, 32000, batch, seq, mode, train)


def moe(batch=1, seq=512, mode="prefill", layers=32, train=0):
    return decoder(layers, 4096, 32, 8, 14336, 32000, batch, seq, mode, train, 8, 2)


def convolution(m, name, x, channels, kernel, stride, pad):
    """With its normalisation folded in."""
    n, before, height, _ = m.shape[x]
    size = (height + 2 * pad - kernel) // stride + 1
    takes = [x, m.weight(name + ".weight", channels, before, kernel, kernel), m.weight(name + ".bias", channels)]
    return m.op("Conv", name, takes, [n, channels, size, size], kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pad] * 4)


def resnet152(batch=1):
    """He et al. 2016."""
    m = Model(FLOAT)
    x = convolution(m, "conv1", m.input("image", FLOAT, batch, 3, 224, 224), 64, 7, 2, 3)
    x = m.op("MaxPool", "pool", [m.same("Relu", "relu", x)], [batch, 64, 56, 56], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, blocks in enumerate((3, 8, 36, 3)):
        for i in range(blocks):
            m.scope = f"layer{stage + 1}.{i}."
            width, stride = 64 << stage, 2 if stage and not i else 1
            y = m.same("Relu", "relu1", convolution(m, "conv1", x, width, 1, 1, 0))
            y = m.same("Relu", "relu2", convolution(m, "conv2", y, width, 3, stride, 1))
            y = convolution(m, "conv3", y, 4 * width, 1, 1, 0)
            if not i:
                x = convolution(m, "downsample", x, 4 * width, 1, stride, 0)
            x = m.same("Relu", "relu3", m.same("Add", "add", y, x))
    m.scope = ""
    x = m.op("GlobalAveragePool", "avgpool", [x], [batch, 2048, 1, 1])
    m.output(m.linear("fc", m.reshape("flatten", x, batch, 2048), 1000))
    return m


def vit(batch=1, layers=12):
    """Dosovitskiy et al. 2021, the base size; the mean of all patches is classified, and there is no class token."""
    m = Model(FLOAT)
    x = convolution(m, "conv_proj", m.input("image", FLOAT, batch, 3, 224, 224), 768, 16, 16, 0)
    x = m.transpose("patches", m.reshape("rows", x, batch, 768, 196), 0, 2, 1)
    x = m.same("Add", "position", x, m.weight("position.weight", 196, 768))
    for i in range(layers):
        m.scope = f"layers.{i}."
        x = transformer_block(m, x, 12, 768, None)
    m.scope = ""
    x = m.op("ReduceMean", "mean", [m.layer_norm("ln", x), m.ints("mean.axes", 1)], [batch, 768], keepdims=0)
    m.output(m.linear("head", x, 1000))
    return m


# Inception-v3 (Szegedy et al. 2016): modules of branches, a branch a list of cells: channels and kernel; with
# s of stride 2, with v without padding. "max" and "avg" are 3 x 3 pooling. A list in a list is branches that
# follow.
POOL = lambda channels: ["avg", (channels, 1, 1)]
A = lambda pool: [[(64, 1, 1)], [(48, 1, 1), (64, 5, 5)], [(64, 1, 1), (96, 3, 3), (96, 3, 3)], POOL(pool)]
C = lambda n: [[(192, 1, 1)], [(n, 1, 1), (n, 1, 7), (192, 7, 1)], [(n, 1, 1), (n, 7, 1), (n, 1, 7), (n, 7, 1), (192, 1, 7)], POOL(192)]
B = [[(384, 3, 3, "s")], [(64, 1, 1), (96, 3, 3), (96, 3, 3, "s")], ["max"]]
D = [[(192, 1, 1), (320, 3, 3, "s")], [(192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3, "s")], ["max"]]
E = [[(320, 1, 1)], [(384, 1, 1), [[(384, 1, 3)], [(384, 3, 1)]]], [(448, 1, 1), (384, 3, 3), [[(384, 1, 3)], [(384, 3, 1)]]], POOL(192)]
INCEPTION = [[[(32, 3, 3, "s"), (32, 3, 3, "v"), (64, 3, 3), "max", (80, 1, 1), (192, 3, 3, "v"), "max"]],
             A(32), A(64), A(64), B, C(128), C(160), C(160), C(192), D, E, E]


def cell(m, name, x, what):
    if isinstance(what, str):
        n, channels, size, _ = m.shape[x]
        stride, pad = (2, 0) if what == "max" else (1, 1)
        size = (size + 2 * pad - 3) // stride + 1
        kind = "MaxPool" if what == "max" else "AveragePool"
        return m.op(kind, name, [x], [n, channels, size, size], kernel_shape=[3, 3], strides=[stride] * 2, pads=[pad] * 4)
    channels, height, width, *form = what
    n, before, size, _ = m.shape[x]
    stride = 2 if form == ["s"] else 1
    pads = [0, 0] if form else [height // 2, width // 2]
    size = (size + 2 * pads[0] - height) // stride + 1
    takes = [x, m.weight(name + ".weight", channels, before, height, width), m.weight(name + ".bias", channels)]
    y = m.op("Conv", name, takes, [n, channels, size, size], kernel_shape=[height, width], strides=[stride] * 2, pads=pads * 2)
    return m.same("Relu", name + ".relu", y)


def module(m, name, x, branches):
    ends = []
    for i, branch in enumerate(branches):
        y = x
        for k, what in enumerate(branch):
            at = f"{name}.{i}.{k}"
            y = module(m, at, y, what) if isinstance(what, list) else cell(m, at, y, what)
        ends.append(y)
    if len(ends) == 1:
        return ends[0]
    n, _, size, _ = m.shape[ends[0]]
    return m.op("Concat", name, ends, [n, sum(m.shape[e][1] for e in ends), size, size], axis=1)


def inception_v3(batch=1):
    m = Model(FLOAT)
    x = m.input("image", FLOAT, batch, 3, 299, 299)
    for i, branches in enumerate(INCEPTION):
        x = module(m, f"mixed{i}", x, branches)
    x = m.op("GlobalAveragePool", "avgpool", [x], [batch, 2048, 1, 1])
    m.output(m.linear("fc", m.reshape("flatten", x, batch, 2048), 1000))
    return m


MODELS = {"inception-v3": inception_v3, "gpt2-xl": gpt2_xl, "llama-7b": llama_7b, "llama-70b": llama_70b, "moe": moe, "resnet152": resnet152, "vit": vit}
# beside the graph of the zoo
ZOO = [("gpt2-xl", "gpt2-xl:dtype=f16"), ("llama-7b", "llama"), ("llama-7b:train=1:batch=2", "llama:training=1:batch=2"),
       ("llama-7b:mode=decode:batch=4", "llama:mode=decode:batch=4"),
       ("llama-70b", "llama:layers=80:hidden=8192:heads=64:kv-heads=8:ffn=28672"),
       ("llama-70b:mode=decode", "llama:layers=80:hidden=8192:heads=64:kv-heads=8:ffn=28672:mode=decode"),
       ("moe", "moe"), ("resnet152", "resnet152"), ("inception-v3:batch=4", "inception-v3:batch=4"), ("vit", "vit")]


class BadWord(Exception):
    """A model, or a word of one, that there is none of."""


def build(spec):
    name, *words = spec.split(":")
    if name not in MODELS:
        raise BadWord(f"unknown model '{name}'; known: {', '.join(MODELS)}")
    known = inspect.signature(MODELS[name]).parameters
    given = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in known:
            raise BadWord(f"{name} has no '{key}'; it has: {', '.join(known)}")
        if key == "mode" and value not in ("prefill", "decode"):
            raise BadWord(f"mode is '{value}'; expected prefill or decode")
        if key != "mode" and not value.isdecimal():
            raise BadWord(f"{key} is '{value}'; expected a whole number")
        given[key] = value if key == "mode" else int(value)
    return MODELS[name](**given)


def shown(berth, model, *words):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([berth, "show", model, *words, "-q", "-o", out.name], check=True)
        with open(out.name, encoding="utf-8") as file:
            graph = json.load(file)
    parameters = sum(o.get("param_bytes", 0) for o in graph["ops"]) + sum(p["bytes"] for p in graph.get("params", []))
    # the cache is state there and parameters here
    state = sum(o.get("state_bytes", 0) for o in graph["ops"]) if "mode=decode" in model else 0
    return sum(o.get("macs", 0) for o in graph["ops"]), parameters + state


def check(berth):
    worst = 0
    for spec, zoo in ZOO:
        with tempfile.NamedTemporaryFile(suffix=".onnx") as out:
            build(spec).write(out.name)
            ours = shown(berth, out.name, *(["--training"] if "train=1" in spec else []))
        theirs = shown(berth, "zoo:" + zoo)
        differ = [100 * (a / b - 1) for a, b in zip(ours, theirs)]
        worst = max([worst] + [abs(d) for d in differ])
        print(f"{spec}: {ours[0] / 1e9:.2f} GMAC ({differ[0]:+.2f} %), parameters {ours[1] / 2**20:.0f} MiB ({differ[1]:+.2f} %)", flush=True)
    sys.exit(f"more than 1 % beside the zoo: {worst:.2f} %" if worst > 1 else 0)


if __name__ == "__main__":
    if {"--help", "-h"} & set(sys.argv[1:]):
        print(__doc__)
    elif sys.argv[2:] == ["--check"]:
        check(sys.argv[1])
    elif len(sys.argv) != 3:
        sys.exit("large_models.py: expected NAME[:key=value...] and FILE (--help says more)")
    else:
        try:
            build(sys.argv[1]).write(sys.argv[2])
        except (BadWord, OSError) as bad:
            sys.exit(f"large_models.py: {bad}")
