"""Training in one process without berth, to compare with."""
from berth_torch.optimizers import make_optimizer
from berth_torch.spec import load, parse_spec
from berth_torch.trace import trace_loaded


def plain_losses(text, steps):
    """The loss before each step of a plain loop in one process."""
    spec = parse_spec(text)
    loaded = load(spec)
    traced = trace_loaded(loaded, spec)
    optimizer = make_optimizer(spec.optimizer, list(loaded.module.parameters()))
    losses = []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = traced.loss(loaded.module(*loaded.args, **loaded.kwargs))
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses
