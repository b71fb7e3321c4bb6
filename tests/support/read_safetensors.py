"""Reads a safetensors file by the published layout alone and prints it: the digest's check, the notes, each tensor."""
import hashlib
import json
import struct
import sys

blob = open(sys.argv[1], "rb").read()
(length,) = struct.unpack("<Q", blob[:8])
header = json.loads(blob[8 : 8 + length].decode("utf-8"))
data = blob[8 + length :]
notes = header.pop("__metadata__")
digest = notes.pop("sha256")
zeroed = blob.replace(digest.encode(), b"0" * 64, 1)
print("digest", hashlib.sha256(zeroed).hexdigest() == digest, "aligned", (8 + length) % 8 == 0)
for key, value in notes.items():
    print("note", json.dumps(key), json.dumps(value))
end = 0
for name, t in header.items():
    code, size = {"F32": ("f", 4), "I64": ("q", 8), "U8": ("B", 1)}[t["dtype"]]
    first, last = t["data_offsets"]
    assert first == end and (last - first) % size == 0
    end = last
    print(name, t["dtype"], t["shape"], list(struct.unpack("<%d%s" % ((last - first) // size, code), data[first:last])))
assert end == len(data)
