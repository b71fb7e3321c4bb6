#!/usr/bin/env python3
"""Tiny language models as GGUF files that llama.cpp loads and runs: tiny_gguf.py FOLDER [NAME...]

Random weights, a vocabulary of bytes. Each shape is one that a planner of memory must get right.
"""

import random
import struct
import sys

U32, F32_VALUE, I32, TEXT, ARRAY = 4, 6, 5, 8, 9
F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8
BLOCK = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), Q8_0: (32, 34)}
TOKENS = 3 + 256
ALIGN = 32

USUAL = dict(arch="llama", layers=6, hidden=64, heads=4, kv=4, ffn=128, vocab=TOKENS, type=F32, experts=0,
             top=0, tied=False, context=512, bias=False, wide_norms=False, window=0, parts=1, head=0)

SHAPES = {
    "dense": dict(),
    "gqa": dict(heads=8, kv=2, hidden=128, ffn=256, type=F16),
    "moe": dict(kv=2, experts=4, top=2),
    "tied": dict(tied=True, kv=2, vocab=1024),
    "long": dict(kv=2, context=16384, layers=4),
    "quantised": dict(hidden=128, ffn=256, kv=2, type=Q4_0),
    "q8": dict(hidden=256, ffn=512, heads=8, kv=4, type=Q8_0, layers=8),
    "biases": dict(arch="qwen2", bias=True, kv=2, layers=5),
    "windows": dict(arch="gemma2", wide_norms=True, tied=True, window=64, heads=4, kv=2, head=16, context=1024),
    "wide": dict(hidden=512, heads=8, kv=8, ffn=1024, vocab=8192, type=F16, layers=4),
    "split": dict(parts=3, kv=2),
}

# Shapes of larger models, written without weights: plans need the header alone, llama.cpp measures without
# allocating.
LARGE = {
    "dense-12": dict(hidden=2048, heads=16, kv=16, ffn=5632, vocab=16000, type=F16, layers=12, context=8192),
    "gqa-12": dict(hidden=2048, heads=16, kv=4, ffn=5632, vocab=12000, type=Q8_0, layers=12, context=8192),
    "moe-12": dict(hidden=1024, heads=16, kv=4, ffn=1792, vocab=16000, type=Q4_0, layers=12, context=8192,
                   experts=8, top=2),
    "tied-12": dict(hidden=1024, heads=16, kv=4, ffn=2816, vocab=24000, type=F16, layers=12, context=8192, tied=True),
    "biases-10": dict(arch="qwen2", bias=True, hidden=1536, heads=12, kv=2, ffn=4096, vocab=16000, type=Q4_0,
                      layers=10, context=32768),
    "windows-12": dict(arch="gemma2", wide_norms=True, tied=True, window=1024, heads=8, kv=4, head=128, hidden=1024,
                       ffn=4096, vocab=24000, type=Q8_0, layers=12, context=8192),
    "7b-q4_0": dict(layers=32, hidden=4096, heads=32, kv=32, ffn=11008, vocab=32000, type=Q4_0, context=4096),
    "8b-q8_0": dict(layers=32, hidden=4096, heads=32, kv=8, ffn=14336, vocab=128256, type=Q8_0, context=131072),
    "9b-q8_0": dict(arch="gemma2", wide_norms=True, tied=True, window=4096, heads=16, kv=8, head=256, layers=42,
                    hidden=3584, ffn=14336, vocab=256000, type=Q8_0, context=8192),
    "8x7b-q4_0": dict(layers=32, hidden=4096, heads=32, kv=8, ffn=14336, vocab=32000, type=Q4_0, context=32768,
                      experts=8, top=2),
    "128x0.7b-q4_0": dict(arch="qwen3moe", layers=48, hidden=2048, heads=32, kv=4, head=128, ffn=768,
                          vocab=151936, type=Q4_0, context=40960, experts=128, top=8),
    "70b-q4_0": dict(layers=80, hidden=8192, heads=64, kv=8, ffn=28672, vocab=128256, type=Q4_0, context=131072),
}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def number(name, value):
    return key(name, U32, struct.pack("<I", value))


def array(name, kind, items):
    return key(name, ARRAY, struct.pack("<IQ", kind, len(items)) + b"".join(items))


def vocabulary(size):
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + [f"t{i}" for i in range(TOKENS, size)]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (size - TOKENS)
    return [key("tokenizer.ggml.model", TEXT, text("llama")),
            array("tokenizer.ggml.tokens", TEXT, [text(n) for n in names]),
            array("tokenizer.ggml.scores", F32_VALUE, [struct.pack("<f", -i) for i in range(size)]),
            array("tokenizer.ggml.token_type", I32, [struct.pack("<i", k) for k in kinds]),
            number("tokenizer.ggml.bos_token_id", 1), number("tokenizer.ggml.eos_token_id", 2),
            number("tokenizer.ggml.unknown_token_id", 0)]


def keys(m, name):
    a = m["arch"] + "."
    head = m["head"] or m["hidden"] // m["heads"]
    out = [key("general.architecture", TEXT, text(m["arch"])), key("general.name", TEXT, text(name)),
           number("general.alignment", ALIGN), number(a + "block_count", m["layers"]),
           number(a + "context_length", m["context"]), number(a + "embedding_length", m["hidden"]),
           number(a + "feed_forward_length", m["ffn"]), number(a + "attention.head_count", m["heads"]),
           number(a + "attention.head_count_kv", m["kv"]), number(a + "vocab_size", m["vocab"]),
           number(a + "rope.dimension_count", head),
           key(a + "attention.layer_norm_rms_epsilon", F32_VALUE, struct.pack("<f", 1e-5))]
    if m["head"]:
        out += [number(a + "attention.key_length", head), number(a + "attention.value_length", head)]
    if m["experts"]:
        out += [number(a + "expert_count", m["experts"]), number(a + "expert_used_count", m["top"])]
    if m["window"]:
        out += [number(a + "attention.sliding_window", m["window"])]
    return out + vocabulary(m["vocab"])


def layer(m, i):
    hidden, ffn, t = m["hidden"], m["ffn"], m["type"]
    head = m["head"] or hidden // m["heads"]
    q, kv = m["heads"] * head, m["kv"] * head
    out = [("attn_norm", F32, [hidden]), ("attn_q", t, [hidden, q]), ("attn_k", t, [hidden, kv]),
           ("attn_v", t, [hidden, kv]), ("attn_output", t, [q, hidden]), ("ffn_norm", F32, [hidden])]
    if m["wide_norms"]:
        out += [("post_attention_norm", F32, [hidden]), ("post_ffw_norm", F32, [hidden])]
    if m["experts"]:
        n = m["experts"]
        out += [("ffn_gate_inp", F32, [hidden, n]), ("ffn_gate_exps", t, [hidden, ffn, n]),
                ("ffn_up_exps", t, [hidden, ffn, n]), ("ffn_down_exps", t, [ffn, hidden, n])]
    else:
        out += [("ffn_gate", t, [hidden, ffn]), ("ffn_up", t, [hidden, ffn]), ("ffn_down", t, [ffn, hidden])]
    out = [(f"blk.{i}.{n}.weight", kind, dims) for n, kind, dims in out]
    if m["bias"]:
        out += [(f"blk.{i}.attn_{n}.bias", F32, [size]) for n, size in (("q", q), ("k", kv), ("v", kv))]
    return out


def tensors(m):
    out = [("token_embd.weight", m["type"], [m["hidden"], m["vocab"]]), ("output_norm.weight", F32, [m["hidden"]])]
    if not m["tied"]:
        out.append(("output.weight", m["type"], [m["hidden"], m["vocab"]]))
    for i in range(m["layers"]):
        out += layer(m, i)
    return out


def size_of(kind, dims):
    elements = 1
    for d in dims:
        elements *= d
    return elements // BLOCK[kind][0] * BLOCK[kind][1]


def weights(name, kind, dims, rng):
    """Small numbers; norms near 1. Blocks of quantised types begin with their scale."""
    size = size_of(kind, dims)
    if "norm" in name:
        return struct.pack("<f", 1.0) * (size // 4)
    if kind in (F32, F16):
        few = [struct.pack("<f" if kind == F32 else "<e", rng.gauss(0, 0.05)) for _ in range(997)]
        width = len(few[0])
        return (b"".join(few) * (size // (997 * width) + 1))[:size]
    block = BLOCK[kind][1]
    few = b"".join(struct.pack("<e", 0.01) + rng.randbytes(block - 2) for _ in range(97))
    return (few * (size // len(few) + 1))[:size]


def write_file(path, pairs, list_of_tensors, rng):
    records, data = [], []
    at = 0
    for name, kind, dims in list_of_tensors:
        records.append(text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims) +
                       struct.pack("<IQ", kind, at))
        piece = weights(name, kind, dims, rng)
        piece += b"\0" * (-len(piece) % ALIGN)
        data.append(piece)
        at += len(piece)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(list_of_tensors), len(pairs)) + b"".join(pairs) + b"".join(records)
    with open(path, "wb") as out:
        out.write(header + b"\0" * (-len(header) % ALIGN) + b"".join(data))


def write_header(folder, name):
    """A file of full size without weights: a hole behind the header. The path."""
    m = {**USUAL, **LARGE[name]}
    path, at, records, pairs = f"{folder}/{name}.gguf", 0, [], keys(m, name)
    for tensor, kind, dims in tensors(m):
        sizes = b"".join(struct.pack("<Q", d) for d in dims)
        records.append(text(tensor) + struct.pack("<I", len(dims)) + sizes + struct.pack("<IQ", kind, at))
        at += -(-size_of(kind, dims) // ALIGN) * ALIGN
    header = b"GGUF" + struct.pack("<IQQ", 3, len(records), len(pairs)) + b"".join(pairs + records)
    header += b"\0" * (-len(header) % ALIGN)
    with open(path, "wb") as out:
        out.write(header)
        out.truncate(len(header) + at)
    return path


def write(folder, name):
    """The path of the file, of the first one where there are several."""
    m = {**USUAL, **SHAPES[name]}
    rng = random.Random(name)
    all_tensors, n = tensors(m), m["parts"]
    if n == 1:
        path = f"{folder}/{name}.gguf"
        write_file(path, keys(m, name), all_tensors, rng)
        return path
    each = -(-len(all_tensors) // n)
    for i in range(n):
        pairs = keys(m, name) if i == 0 else []
        pairs += [key("split.no", 2, struct.pack("<H", i)), key("split.count", 2, struct.pack("<H", n)),
                  key("split.tensors.count", I32, struct.pack("<i", len(all_tensors)))]
        write_file(f"{folder}/{name}-{i + 1:05d}-of-{n:05d}.gguf", pairs, all_tensors[i * each:(i + 1) * each], rng)
    return f"{folder}/{name}-00001-of-{n:05d}.gguf"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for shape in sys.argv[2:] or SHAPES:
        print(write(sys.argv[1], shape))
