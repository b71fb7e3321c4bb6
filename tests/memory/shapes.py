"""Input files of every format that take much memory to read, honest and hostile: each grows with its size.

    shapes.py NAME BYTES    write one to standard output
"""
import hashlib
import struct
import sys


def json_list(head, item, tail, size):
    """head, then item(0), item(1), ... with commas until size bytes are full, then tail."""
    yield head
    at, i = len(head), 0
    while at < size:
        part = ("," if i else "") + item(i)
        yield part
        at += len(part)
        i += 1
    yield tail


GRAPH = '{"format":"berth-graph","version":1,'
SYSTEM = '{"format":"berth-system","version":1,'
PLAN = '{"format":"berth-placement","version":1,'


def graph(ops, edges, size, rest="", edge_share=0.5):
    yield from json_list(GRAPH + rest + '"ops":[', ops, "]", size * (1 - edge_share) if edges else size)
    if edges:
        yield from json_list(',"edges":[', edges, "]", size * edge_share)
    yield "}"


def in_op(text, item, tail, size):
    return json_list(GRAPH + '"ops":[{"name":"a",' + text, item, tail + "}]}", size)


def star(size):
    n = size // 2 // len('{"name":"n100000"},')
    return graph(lambda i: f'{{"name":"n{i}"}}', lambda i: f'{{"from":"n0","to":"n{1 + i % (n - 1)}","bytes":1}}', size)


def chain(size):
    n = size // len('{"name":"1000000"},{"from":"1000000","to":"1000001","bytes":1},')
    yield from (GRAPH + '"ops":[' + ",".join(f'{{"name":"{i}"}}' for i in range(n)) + '],"edges":[',
                ",".join(f'{{"from":"{i}","to":"{i + 1}","bytes":1}}' for i in range(n - 1)), "]}")


def times(size):
    item = lambda i: f'{{"name":"n{i}","time_s":{{"cpu":1,"gpu":2}}}}'
    return graph(item, None, size)


def lines(item, size):
    at, i = 0, 0
    while at < size:
        part = item(i)
        yield part
        at += len(part)
        i += 1


LETTERS = "bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ0123456789"  # no word of DOT is made of these


def short(i):
    """The shortest names."""
    text = ""
    while i or not text:
        text += LETTERS[i % len(LETTERS)]
        i //= len(LETTERS)
    return text


def dot(item, size, head="digraph g {\n", tail="}\n"):
    yield head
    yield from lines(item, size)
    yield tail


def stg(item, size, per):
    n = size // per
    yield f"{n}\n"
    for i in range(n + 2):
        yield item(i, n)


def dax(item, size, tail="</adag>"):
    yield "<adag>"
    yield from lines(item, size)
    yield tail


def tarnawski(node, edge, size):
    yield '{"maxSizePerFPGA":1e9,"maxFPGAs":2,"maxCPUs":1,"nodes":['
    yield from json_list("", node, "]", size / 2 if edge else size)
    yield from json_list(',"edges":[', edge, "]}", size / 2) if edge else [',"edges":[]}']


NODE = '{{"id":{0},"supportedOnFpga":1,"cpuLatency":1,"fpgaLatency":1,"isBackwardNode":0,"size":1}}'


def gguf_text(s):
    return struct.pack("<Q", len(s)) + s


def gguf_head(n_tensors, n_keys):
    return b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_keys)


def gguf_keys(size):
    n = size // 26
    yield gguf_head(0, n)
    for i in range(n):
        yield gguf_text(b"%08d" % i) + struct.pack("<IB", 7, 1)


def gguf_words(size):
    n = size // 9
    yield gguf_head(0, 1) + gguf_text(b"tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, n)
    for i in range(n):
        yield gguf_text(b"x")


def gguf_tensors(size):
    n = size // 40
    yield gguf_head(n, 0)
    for i in range(n):
        yield gguf_text(b"%08d" % i) + struct.pack("<IQIQ", 1, 32, 0, 128 * i)


def gguf_lie(size):
    yield gguf_head(1 << 60, 1 << 60) + gguf_text(b"a") + struct.pack("<IIQ", 9, 8, 1 << 60)
    yield b"\0" * size


def safetensors(header, size):
    text = "".join(header).encode()
    yield struct.pack("<Q", len(text)) + text


def signed(header, data=b""):
    """With the digest that a policy needs."""
    note = '{"__metadata__":{"sha256":"' + "0" * 64 + '"' + "".join(header)
    text = struct.pack("<Q", len(note)) + note.encode() + data
    at = text.index(b"0" * 64)
    yield text[:at] + hashlib.sha256(text).hexdigest().encode() + text[at + 64:]


def safetensors_lie(size):
    yield struct.pack("<Q", size) + b"{" + b" " * size


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def onnx(node, size):
    parts = list(lines(lambda i: field(1, node(i)), size))
    yield field(8, b"\x10\x0d") + field(7, b"".join(parts))


def onnx_lie(size):
    yield varint(7 << 3 | 2) + varint(1 << 40) + b"\x0a\0" * (size // 2)


def links(size):
    n = 256
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    yield from json_list(SYSTEM + '"devices":[', lambda i: f'{{"name":"{i}"}}', "]", 0)[:0] if False else []
    yield SYSTEM + '"devices":[' + ",".join(f'{{"name":"d{i}"}}' for i in range(n)) + '],"links":['
    pad = " " * max(0, size // len(pairs) - 42)
    yield ",".join(f'{{"from":"d{a}","to":"d{b}","bandwidth":1e9{pad}}}' for a, b in pairs)
    yield "]}"


PLANNED = 400000  # operators of the graph that plans are for


def plan(size):
    """For the graph `wide` of the same number of operators, as many as size bytes hold."""
    n = size // len('"n1000000":"gpu0","n1000000",')
    yield PLAN + '"order":[' + ",".join(f'"n{i}"' for i in range(n)) + '],"placement":{'
    yield ",".join(f'"n{i}":"gpu0"' for i in range(n)) + "}}"


def wide_of_plan(size):
    n = size // len('"n1000000":"gpu0","n1000000",')
    yield GRAPH + '"ops":[' + ",".join(f'{{"name":"n{i}"}}' for i in range(n)) + '],"edges":[]}'


def profile(size):
    item = lambda i: f'{{"cat":"Node","name":"n{i}_kernel_time","dur":1}}'
    return json_list("[", item, "]", size)


def blocks(size):
    return json_list('{"format":"berth-blocks","version":1,"blocks":[{"name":"x","ops":[',
                     lambda i: f'"n{i}"', "]}]}", size)


TINY = '"n0"'

# name: (how berth is asked, generator). In the question FILE stands for the file.
SHAPES = {
    "json-star": ("show FILE", star),
    "json-chain": ("show FILE", chain),
    "json-wide": ("show FILE", lambda n: graph(lambda i: f'{{"name":"n{i}"}}', None, n)),
    "json-short": ("show FILE", lambda n: graph(lambda i: f'{{"name":"{i:x}"}}', None, n)),
    "json-times": ("show FILE", times),
    "json-types": ("show FILE", lambda n: graph(lambda i: f'{{"name":"n{i}","type":"t{i}"}}', None, n)),
    "json-groups": ("show FILE", lambda n: graph(lambda i: f'{{"name":"n{i}","colocate":"t{i // 2}"}}', None, n)),
    "json-tensors": ("show FILE", lambda n: graph(
        lambda i: f'{{"name":"n{i}"}}',
        lambda i: f'{{"from":"n0","to":"n{1 + i % 100}","bytes":1,"tensor":"t{i}"}}', n, edge_share=0.9)),
    "json-same-edge": ("show FILE", lambda n: graph(
        lambda i: f'{{"name":"n{i}"}}', lambda i: '{"from":"n0","to":"n1","bytes":1}', n, edge_share=0.99)),
    "json-all-figures": ("show FILE", lambda n: graph(
        lambda i: f'{{"name":"n{i}","flops":1,"macs":1,"read_bytes":1,"write_bytes":1,"param_bytes":1}}', None, n)),
    "json-empty-objects": ("show FILE", lambda n: graph(lambda i: "{}", None, n)),
    "json-ones": ("show FILE", lambda n: graph(lambda i: "1", None, n)),
    "json-same-name": ("show FILE", lambda n: graph(lambda i: '{"name":"a"}', None, n)),
    "json-list": ("show FILE", lambda n: json_list("[", lambda i: "1", "]", n)),
    "json-list-objects": ("show FILE", lambda n: json_list("[", lambda i: "{}", "]", n)),
    "json-keys": ("show FILE", lambda n: json_list(GRAPH, lambda i: f'"k{i}":0', "}", n)),
    "json-unknown-keys": ("show FILE", lambda n: in_op("", lambda i: f'"k{i}":0', "", n)),
    "json-op-times": ("show FILE", lambda n: in_op('"time_s":{', lambda i: f'"k{i}":0', "}", n)),
    "json-op-forbids": ("show FILE", lambda n: in_op('"forbid":[', lambda i: f'"k{i}"', "]", n)),
    "json-op-forbids-one": ("show FILE", lambda n: in_op('"forbid":[', lambda i: '"k"', "]", n)),
    "json-param-uses": ("show FILE", lambda n: json_list(
        GRAPH + '"ops":[{"name":"a"}],"params":[{"name":"p","bytes":1,"ops":[', lambda i: '"a"', "]}]}", n)),
    "json-params": ("show FILE", lambda n: json_list(
        GRAPH + '"ops":[{"name":"a"}],"params":[', lambda i: f'{{"name":"p{i}","bytes":1,"ops":["a"]}}', "]}", n)),
    "json-edges-first": ("show FILE", lambda n: json_list(
        GRAPH + '"edges":[', lambda i: '{"from":"a","to":"b","bytes":1}', '],"ops":[{"name":"a"},{"name":"b"}]}', n)),
    "json-deep": ("show FILE", lambda n: iter([GRAPH + '"ops":' + "[" * n])),
    "json-deep-closed": ("show FILE", lambda n: json_list(
        GRAPH + '"ops":[', lambda i: "[" * 900 + "]" * 900, "]}", n)),
    "json-long-name": ("show FILE", lambda n: iter([GRAPH + '"ops":[{"name":"' + "a" * n + '"}],"edges":[]}'])),
    "json-long-names": ("show FILE", lambda n: graph(lambda i: f'{{"name":"{i}{"a" * 5000000}"}}', None, n)),
    "json-escapes": ("show FILE", lambda n: graph(lambda i: f'{{"name":"{i}{chr(92)}u0041"}}', None, n)),
    "json-not-closed": ("show FILE", lambda n: list(graph(lambda i: f'{{"name":"n{i}"}}', None, n))[:-2]),
    "json-blanks": ("show FILE", lambda n: iter([" " * n])),
    "json-last-wrong": ("show FILE", lambda n: json_list(
        GRAPH + '"ops":[', lambda i: f'{{"name":"n{i}"}}', ',{"name":1}],"edges":[]}', n)),
    "dot-star": ("show FILE", lambda n: dot(lambda i: f"a->{i}\n", n)),
    "dot-chain": ("show FILE", lambda n: dot(lambda i: f"{i}->{i + 1}\n", n)),
    "dot-nodes": ("show FILE", lambda n: dot(lambda i: f"{i};", n)),
    "dot-same-edge": ("show FILE", lambda n: dot(lambda i: "a->b;", n)),
    "dot-product": ("show FILE", lambda n: dot(lambda i: f"{i};", n, "digraph{{", "}->{a b}}")),
    "dot-square": ("show FILE", lambda n: dot(lambda i: f"{i};", n, "digraph{subgraph s{", "} subgraph s->subgraph s}")),
    "dot-deep": ("show FILE", lambda n: iter(["digraph g {", "{" * n])),
    "dot-attributes": ("show FILE", lambda n: dot(lambda i: f"a{i}=1,", n, "digraph g { a [", "z=1] }")),
    "dot-one-id": ("show FILE", lambda n: iter(["digraph g {", "a" * n, "}"])),
    "dot-short": ("show FILE", lambda n: dot(lambda i: f"{short(i)};", n)),
    "dot-short-path": ("show FILE", lambda n: dot(lambda i: f"->{short(i)}", n, "digraph g { a_", "}")),
    "dot-short-star": ("show FILE", lambda n: dot(lambda i: f"a_->{short(i)};", n)),
    "dot-path": ("show FILE", lambda n: dot(lambda i: f"->{i}", n, "digraph g { a", "}")),
    "stg-nodes": ("show FILE", lambda n: stg(lambda i, k: f"{i} 1 0\n", n, 12)),
    "stg-star": ("show FILE", lambda n: stg(lambda i, k: f"{i} 1 {0 if i == 0 else 1} {'' if i == 0 else 0}\n", n, 14)),
    "stg-join": ("show FILE", lambda n: stg(
        lambda i, k: f"{i} 1 0\n" if i <= k else f"{i} 1 {k} " + " ".join(map(str, range(1, k + 1))), n, 20)),
    "stg-lie": ("show FILE", lambda n: iter(["500000000\n", "0 1 0\n" * (n // 6)])),
    "dax-jobs": ("show FILE", lambda n: dax(lambda i: f'<job id="{i}"/>', n)),
    "dax-uses": ("show FILE", lambda n: dax(
        lambda i: f'<job id="{i}"><uses file="{i}" link="output"/><uses file="{i - 1}" link="input"/></job>', n)),
    "dax-children": ("show FILE", lambda n: dax(
        lambda i: '<child ref="b"><parent ref="a"/></child>' if i else '<job id="a"/><job id="b"/>', n)),
    "dax-entities": ("show FILE", lambda n: dax(lambda i: f'<job id="{i}&#65;&amp;"/>', n)),
    "dax-laughs": ("show FILE", lambda n: iter(
        ['<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">', '<!ENTITY a "&lol;&lol;">' * (n // 24), "]><adag/>"])),
    "dax-one-attribute": ("show FILE", lambda n: iter(['<adag><job id="', "a" * n, '"/></adag>'])),
    "tarnawski": ("show FILE", lambda n: tarnawski(
        NODE.format, lambda i: f'{{"sourceId":0,"destId":{1 + i},"cost":1}}', n)),
    "tarnawski-nodes": ("show FILE", lambda n: tarnawski(NODE.format, None, n)),
    "tarnawski-ones": ("show FILE", lambda n: tarnawski(lambda i: "1", None, n)),
    "tarnawski-colours": ("show FILE", lambda n: tarnawski(
        lambda i: NODE.format(i)[:-1] + f',"colorClass":{i}}}', None, n)),
    "gguf-keys": ("show FILE", gguf_keys),
    "gguf-words": ("show FILE", gguf_words),
    "gguf-tensors": ("show FILE", gguf_tensors),
    "gguf-lie": ("show FILE", gguf_lie),
    "onnx-nodes": ("show FILE", lambda n: onnx(lambda i: field(1, b"x") + field(2, b"x%d" % i), n)),
    "onnx-relu": ("show FILE", lambda n: onnx(
        lambda i: field(1, b"%d" % i) + field(2, b"%d" % (i + 1)) + field(4, b"Relu"), n)),
    "onnx-empty": ("show FILE", lambda n: onnx(lambda i: b"", n)),
    "onnx-lie": ("show FILE", onnx_lie),
    "system-links": ("show FILE", links),
    "system-devices": ("show FILE", lambda n: json_list(SYSTEM + '"devices":[', lambda i: f'{{"name":"{i}"}}', "]}", n)),
    "system-ones": ("show FILE", lambda n: json_list(SYSTEM + '"devices":[', lambda i: "1", "]}", n)),
    "system-empty-links": ("show FILE", lambda n: json_list(
        SYSTEM + '"devices":[{"name":"a"},{"name":"b"}],"links":[', lambda i: "{}", "]}", n)),
    "system-efficiency": ("show FILE", lambda n: json_list(
        SYSTEM + '"devices":[{"name":"a","efficiency":{', lambda i: f'"k{i}":1', "}}]}", n)),
    "system-runs": ("show FILE", lambda n: json_list(
        SYSTEM + '"devices":[{"name":"a","runs":[', lambda i: f'"k{i}"', "]}]}", n)),
    "system-pools": ("show FILE", lambda n: json_list(
        SYSTEM + '"devices":[{"name":"a"}],"memory_pools":[{"name":"p","bandwidth":1,"devices":[',
        lambda i: '"a"', "]}]}", n)),
    "system-keys": ("show FILE", lambda n: json_list(SYSTEM, lambda i: f'"k{i}":0', "}", n)),
    "plan": ("show FILE", plan),
    "plan-of-graph": ("simulate WIDE --on system:4gpu --placement FILE", plan),
    "plan-keys": ("simulate zoo:vgg16 --on system:4gpu --placement FILE",
                  lambda n: json_list('{"placement":{', lambda i: f'"k{i}":"gpu0"', "}}", n)),
    "plan-ones": ("simulate zoo:vgg16 --on system:4gpu --placement FILE",
                  lambda n: json_list('{"placement":{"a":[', lambda i: "1", "]}}", n)),
    "plan-sandbox": ("simulate zoo:vgg16 --on system:4gpu --placement FILE",
                     lambda n: json_list('{"placement":{"a":[', lambda i: "1", "]}}", n)),
    "plan-order": ("simulate zoo:vgg16 --on system:4gpu --placement FILE",
                   lambda n: json_list('{"placement":{},"order":[', lambda i: '"a"', "]}", n)),
    "plan-unknown": ("simulate zoo:vgg16 --on system:4gpu --placement FILE",
                     lambda n: json_list('{"placement":{"a":"gpu0"},"x":[', lambda i: "1", "]}", n)),
    "plan-deep": ("show FILE", lambda n: iter(['{"placement":', "[" * n])),
    "profile": ("show zoo:vgg16 --profile FILE", profile),
    "profile-ones": ("show zoo:vgg16 --profile FILE", lambda n: json_list("[", lambda i: "1", "]", n)),
    "profile-objects": ("show zoo:vgg16 --profile FILE", lambda n: json_list("[", lambda i: "{}", "]", n)),
    "profile-args": ("show zoo:vgg16 --profile FILE", lambda n: json_list('[{"args":{', lambda i: f'"k{i}":0', "}}]", n)),
    "blocks": ("show zoo:vgg16 --granularity FILE", blocks),
    "blocks-ones": ("show zoo:vgg16 --granularity FILE", lambda n: json_list(
        '{"format":"berth-blocks","version":1,"blocks":[', lambda i: "1", "]}", n)),
    "policy-metadata": ("show FILE", lambda n: safetensors(json_list(
        '{"__metadata__":{', lambda i: f'"k{i}":"v"', "}}", n), n)),
    "policy-tensors": ("show FILE", lambda n: safetensors(json_list(
        "{", lambda i: f'"t{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}', "}", n), n)),
    "policy-shape": ("show FILE", lambda n: safetensors(json_list(
        '{"t":{"dtype":"F32","shape":[', lambda i: "1", '],"data_offsets":[0,4]}}', n), n)),
    "policy-signed-notes": ("show FILE", lambda n: signed(json_list(",", lambda i: f'"{i:x}":""', "}}", n))),
    "policy-signed-tensors": ("show FILE", lambda n: signed(json_list(
        "},", lambda i: f'"{i:x}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}', "}", n))),
    "policy-signed-shape": ("show FILE", lambda n: signed(json_list(
        '},"t":{"dtype":"F32","shape":[', lambda i: "1", '],"data_offsets":[0,4]}}', n))),
    "policy-signed-data": ("show FILE", lambda n: signed(
        [f'}},"t":{{"dtype":"F32","shape":[{n // 4}],"data_offsets":[0,{n // 4 * 4}]}}}}'], b"\0" * (n // 4 * 4))),
    "policy-signed-note": ("show FILE", lambda n: signed([',"k":"' + "a" * n + '"}}'])),
    "policy-lie": ("show FILE", safetensors_lie),
    "what-if": ("simulate zoo:vgg16 --on system:4gpu --placement PLAN --what-if FILE",
                lambda n: lines(lambda i: "gpu0.bogus=2x\n", n)),
}


def write(name, size, out):
    for part in SHAPES[name][1](size):
        out.write(part.encode() if isinstance(part, str) else part)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), sys.stdout.buffer)
