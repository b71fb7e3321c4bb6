#!/usr/bin/env python3
"""Tiny model folders as transformers has them, headers without weights: tiny_folder.py FOLDER [NAME...]"""

import json
import os
import struct
import sys

LLAMA = dict(architectures=["LlamaForCausalLM"], hidden_size=64, intermediate_size=128, num_hidden_layers=3,
             num_attention_heads=4, num_key_value_heads=2, vocab_size=259, max_position_embeddings=512,
             tie_word_embeddings=False)
GPT2 = dict(architectures=["GPT2LMHeadModel"], n_embd=64, n_layer=2, n_head=4, n_positions=128, vocab_size=259)

MODELS = {
    "llama": LLAMA,
    "tied": {**LLAMA, "tie_word_embeddings": True, "architectures": ["Qwen2ForCausalLM"], "sliding_window": None},
    "mixtral": {**LLAMA, "architectures": ["MixtralForCausalLM"], "num_local_experts": 4, "num_experts_per_tok": 2},
    "parts": LLAMA,
    "gpt2": GPT2,
    "phi3": {**LLAMA, "architectures": ["Phi3ForCausalLM"], "sliding_window": 32},
    "gemma2": {**LLAMA, "architectures": ["Gemma2ForCausalLM"], "sliding_window": 32, "head_dim": 32,
               "tie_word_embeddings": True},
}


def llama_layer(c):
    hidden, ffn = c["hidden_size"], c["intermediate_size"]
    head = c.get("head_dim") or hidden // c["num_attention_heads"]
    q, kv = c["num_attention_heads"] * head, c["num_key_value_heads"] * head
    kind = c["architectures"][0]
    out = {"input_layernorm.weight": [hidden], "post_attention_layernorm.weight": [hidden],
           "self_attn.o_proj.weight": [hidden, q]}
    if kind == "Phi3ForCausalLM":
        out.update({"self_attn.qkv_proj.weight": [q + 2 * kv, hidden], "mlp.gate_up_proj.weight": [2 * ffn, hidden],
                    "mlp.down_proj.weight": [hidden, ffn]})
        return out
    out.update({"self_attn.q_proj.weight": [q, hidden], "self_attn.k_proj.weight": [kv, hidden],
                "self_attn.v_proj.weight": [kv, hidden]})
    if kind == "Qwen2ForCausalLM":
        out.update({f"self_attn.{n}_proj.bias": [d] for n, d in (("q", q), ("k", kv), ("v", kv))})
    if kind == "Gemma2ForCausalLM":
        out.update({f"{n}_feedforward_layernorm.weight": [hidden] for n in ("pre", "post")})
    if kind == "MixtralForCausalLM":
        out["block_sparse_moe.gate.weight"] = [c["num_local_experts"], hidden]
        for e in range(c["num_local_experts"]):
            out.update({f"block_sparse_moe.experts.{e}.{n}.weight": d
                        for n, d in (("w1", [ffn, hidden]), ("w2", [hidden, ffn]), ("w3", [ffn, hidden]))})
    else:
        out.update({"mlp.gate_proj.weight": [ffn, hidden], "mlp.up_proj.weight": [ffn, hidden],
                    "mlp.down_proj.weight": [hidden, ffn]})
    return out


def tensors(c):
    if "n_embd" in c:
        n = c["n_embd"]
        out = {"wte.weight": [c["vocab_size"], n], "wpe.weight": [c["n_positions"], n], "ln_f.weight": [n],
               "ln_f.bias": [n]}
        layer = {"attn.bias": [1, 1, 128, 128]}
        for name, shape in (("ln_1", [n]), ("ln_2", [n]), ("attn.c_attn", [n, 3 * n]), ("attn.c_proj", [n, n]),
                            ("mlp.c_fc", [n, 4 * n]), ("mlp.c_proj", [4 * n, n])):
            layer.update({name + ".weight": shape, name + ".bias": shape[-1:]})
        prefix, layers = "h", c["n_layer"]
    else:
        out = {"model.embed_tokens.weight": [c["vocab_size"], c["hidden_size"]], "model.norm.weight": [c["hidden_size"]]}
        if not c["tie_word_embeddings"]:
            out["lm_head.weight"] = out["model.embed_tokens.weight"]
        layer, prefix, layers = llama_layer(c), "model.layers", c["num_hidden_layers"]
    for i in range(layers):
        out.update({f"{prefix}.{i}.{n}": shape for n, shape in layer.items()})
    return out


def write_file(path, shapes, dtype, width):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        size = width
        for d in shape:
            size *= d
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)


def write(folder, name):
    """The names of the model's parameters."""
    config, path = MODELS[name], f"{folder}/{name}"
    shapes = tensors(config)
    os.makedirs(path, exist_ok=True)
    with open(path + "/config.json", "w") as out:
        json.dump(config, out)
    dtype, width = ("F32", 4) if name == "gpt2" else ("BF16", 2)
    if name != "parts":
        write_file(path + "/model.safetensors", shapes, dtype, width)
        return shapes
    names = list(shapes)
    half = [names[:len(names) // 2], names[len(names) // 2:]]
    files = [f"model-0000{i + 1}-of-00002.safetensors" for i in range(2)]
    for file, part in zip(files, half):
        write_file(f"{path}/{file}", {n: shapes[n] for n in part}, dtype, width)
    with open(path + "/model.safetensors.index.json", "w") as out:
        json.dump({"metadata": {"total_size": 1}, "weight_map": {n: f for f, p in zip(files, half) for n in p}}, out)
    return shapes


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for model in sys.argv[2:] or MODELS:
        write(sys.argv[1], model)
