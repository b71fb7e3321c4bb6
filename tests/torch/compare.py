#!/usr/bin/python3
"""One PPO update of berth's network against the same in PyTorch, one core each: losses of all epochs, CPU seconds of the
fastest of 11 repetitions, their ratio.
usage: compare.py BERTH-UPDATE   (needs Debian's python3-torch; berth-update stands in the build tree)
Ends with 1 where a loss differs by more than 1e-5."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
import torch  # noqa: E402

EPOCHS, CLIP, ENTROPY, REPETITIONS = 4, 0.2, 0.01, 11


def read(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = bytearray(f.read())
    dtype = {"F32": torch.float32, "I64": torch.int64}
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            out[name] = torch.frombuffer(data[a:b], dtype=dtype[t["dtype"]]).reshape(t["shape"]).clone()
    return out


def mean_messages(p, q, u, v, inv_in, inv_out):
    """Means over the neighbours of relu(p of the other end + q of the edge), both directions side by side."""
    h = p.shape[1] // 2
    m_in = torch.zeros(p.shape[0], h).index_add(0, v, torch.relu(p[u, :h] + q[:, :h])) * inv_in
    m_out = torch.zeros(p.shape[0], h).index_add(0, u, torch.relu(p[v, h:] + q[:, h:])) * inv_out
    return torch.cat([m_in, m_out], 1)


def inverse_degree(index, n):
    count = torch.zeros(n, 1).index_add(0, index, torch.ones(len(index), 1))
    return torch.where(count > 0, 1 / count.clamp(min=1), count)


def message_round(w, kind, r, h, x, u, v, inv):
    g = {k: w[f"{kind}_{k}"][r] for k in ("msg_w", "msg_u", "msg_b", "upd_w", "upd_m", "upd_b", "norm_g", "norm_b")}
    m = mean_messages(h @ g["msg_w"], x @ g["msg_u"] + g["msg_b"], u, v, *inv)
    y = h + torch.relu(h @ g["upd_w"] + m @ g["upd_m"] + g["upd_b"])
    return torch.nn.functional.layer_norm(y, y.shape[1:], g["norm_g"][0], g["norm_b"][0], 1e-5)


def pairs(w, c):
    """z[node][device][hidden]"""
    h = torch.relu(c["node"] @ w["node_w1"][0] + w["node_b1"][0]) @ w["node_w2"][0] + w["node_b2"][0]
    for r in range(w["node_msg_w"].shape[0]):
        h = message_round(w, "node", r, h, c["edge"], c["from"], c["to"], c["inv"])
    d = torch.relu(c["dev"] @ w["dev_w1"][0] + w["dev_b1"][0]) @ w["dev_w2"][0] + w["dev_b2"][0]
    d = message_round(w, "dev", 0, d, c["link"], c["dev_from"], c["dev_to"], c["dev_inv"])
    return (h @ w["score_node"][0])[:, None] + (d @ w["score_dev"][0] + w["score_b"][0])[None] + c["pair"] @ w["score_pair"][0]


def loss_one_shot(w, c):
    logits = (torch.relu(pairs(w, c)) @ w["score_v"][0] + c["pair"] @ w["score_skip"][0])[..., 0]
    logp = torch.log_softmax(logits, 1)
    return ppo(logp[torch.arange(logp.shape[0]), c["action"]], logp, c)


def loss_sequential(w, c):
    z = pairs(w, c).repeat(c["action"].shape[0], 1, 1)
    logits = (torch.relu(z + c["step"] @ w["step_x"][0]) @ w["step_v"][0] + c["step"] @ w["step_skip"][0])[..., 0]
    logp = torch.log_softmax(logits, 1)
    chosen = logp.gather(1, c["action"].reshape(-1, 1)).reshape(c["action"].shape)
    return ppo(chosen, logp, c)


def ppo(chosen, logp, c):
    ratio = torch.exp(torch.clamp(chosen - c["old_logp"], max=20))
    gain = torch.minimum(ratio * c["advantage"], torch.clamp(ratio, 1 - CLIP, 1 + CLIP) * c["advantage"])
    return -gain.mean() + ENTROPY * (logp.exp() * logp).sum(1).mean()


def context(t):
    c = {k[3:]: (v[0] if v.dim() == 3 and v.shape[0] == 1 else v) for k, v in t.items() if k.startswith("in.")}
    n, d = c["node"].shape[0], c["dev"].shape[0]
    c["action"], c["advantage"] = c["action"].reshape(-1, n), c["advantage"].reshape(-1, 1)
    c["inv"] = inverse_degree(c["to"], n), inverse_degree(c["from"], n)
    ends = [(a, b) for a in range(d) for b in range(d) if a != b]
    c["dev_from"], c["dev_to"] = torch.tensor(ends).T
    c["link"] = c["link"][c["dev_from"], c["dev_to"]]
    c["dev_inv"] = inverse_degree(c["dev_to"], d), inverse_degree(c["dev_from"], d)
    return c


def update(t, c, loss_of):
    w = {k: v.clone().requires_grad_() for k, v in t.items() if not k.startswith("in.")}
    adam = torch.optim.Adam(w.values(), lr=3e-4)
    losses, start = [], time.process_time()
    for _ in range(EPOCHS):
        adam.zero_grad(set_to_none=True)
        loss = loss_of(w, c)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([x for x in w.values() if x.grad is not None], 1)
        adam.step()
        losses.append(loss.item())
    return losses, time.process_time() - start


def main(program):
    torch.set_num_threads(1)
    same = True
    print("| form | berth, ms | PyTorch %s, ms | ratio | largest difference of a loss |" % torch.__version__)
    print("|---|---|---|---|---|")
    for form, loss_of in ("one-shot", loss_one_shot), ("sequential", loss_sequential):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "update.safetensors")
            ours = json.loads(subprocess.check_output([program, path, form, str(REPETITIONS)]))
            t = read(path)
        c = context(t)
        runs = [update(t, c, loss_of) for _ in range(REPETITIONS)]
        seconds = min(r[1] for r in runs)
        apart = max(abs(a - b) for a, b in zip(runs[0][0], ours["loss"]))
        same &= apart <= 1e-5
        print("| %s | %.1f | %.1f | %.1f | %.1e |" % (form, 1e3 * ours["seconds"], 1e3 * seconds, seconds / ours["seconds"], apart))
    return 0 if same else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
