"""Small modules for the tests of PyTorch."""
import dataclasses
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def resnet18():
    """torchvision's ResNet-18."""
    import torchvision
    return torchvision.models.resnet18(weights=None), (torch.randn(1, 3, 64, 64),)


class Block(nn.Module):
    """A block of a transformer, attention written out."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = (p.reshape(b, t, self.heads, -1).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
        weights = torch.softmax(q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5, -1)
        return self.out((self.drop(weights) @ v).transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Transformer(nn.Module):
    """A language model whose last product has the weights of its embedding."""

    def __init__(self, words=500, width=64, heads=4, blocks=3):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.place = nn.Parameter(torch.randn(64, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids) + self.place[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def transformer():
    return Transformer(), (torch.randint(0, 500, (2, 32)),)


def large():
    """The same with more of everything: activations of some 100 MB in training."""
    return Transformer(4000, 384, 6, 4), (torch.randint(0, 4000, (8, 64)),)


def tied():
    model, args = transformer()
    targets = torch.randint(0, 500, (2, 32))
    return model, args, {}, lambda out: F.cross_entropy(out.flatten(0, 1), targets.flatten())


class Tagger(nn.Module):
    """Two LSTM layers over an embedding."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(200, 32)
        self.lstm1 = nn.LSTM(32, 48, batch_first=True)
        self.lstm2 = nn.LSTM(48, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, 11)

    def forward(self, ids):
        x, _ = self.lstm1(self.embed(ids))
        x, (h, _) = self.lstm2(x)
        return {"tags": self.out(x), "state": h}


def lstm():
    return Tagger(), (torch.randint(0, 200, (3, 12)),)


class Mixed(nn.Module):
    """Dropout, batch norm, operations in place, keyword inputs."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.relu, self.drop = nn.ReLU(inplace=True), nn.Dropout(0.3)
        self.out = nn.Linear(8, 5)

    def forward(self, image, *, scale=None, bias=None):
        x = self.relu(self.bn1(self.conv1(image)))
        y = self.bn2(self.conv2(x))
        y += x
        y = self.drop(self.relu(y)).mean((2, 3))
        y = self.out(y)
        if scale is not None:
            y = y * scale
        return y.add_(bias), y


def mixed():
    return Mixed(), (torch.randn(4, 3, 16, 16),), {"bias": torch.randn(5), "scale": 2.0}


class Branches(nn.Module):
    """Two ways that meet: with some orders the parts of one are run before, between and behind the other."""

    def __init__(self):
        super().__init__()
        self.long, self.longer, self.short = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        return self.short(x) + self.longer(self.long(x))


def branches():
    return Branches(), (torch.randn(2, 4),)


def encoder():
    """torch.nn's own encoder."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.TransformerEncoder(layer, 2), (torch.randn(2, 10, 32),)


def resnet18_224():
    """At the size for which its operations are published."""
    model, _ = resnet18()
    return model, (torch.randn(1, 3, 224, 224),)


class Dynamic(nn.Module):
    """Code that depends on shapes: loops, branches, factories, random numbers."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(8, 8)
        self.scale = 0.5

    def forward(self, x):
        assert isinstance(x, torch.Tensor) and x.dim() == 3, "three dimensions are expected"
        b, t, d = x.shape
        state = torch.zeros(b, d, dtype=x.dtype, device=x.device)
        noise = torch.randn(b, 1)
        states = []
        for i in range(x.size(1)):
            state = torch.tanh(self.step(state + x[:, i]))
            states.append(state)
        y = torch.stack(states, 1)
        if len(x) > 1:
            y = y + noise[:, None] * self.scale
        places = torch.arange(t).unsqueeze(0).expand(b, t)
        return y, {"last": state, "places": places, "count": b}


def dynamic():
    return Dynamic(), (torch.randn(3, 4, 8),)


class Aliased(nn.Module):
    """Operations in place that others see: views, slices, buffers."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)
        self.register_buffer("seen", torch.zeros(6))

    def forward(self, x):
        y = self.a(x)
        view = y[:, :3]
        z = self.b(x)
        y.mul_(2)
        out = torch.zeros_like(z)
        out[:, 1:3] = z[:, 1:3]
        self.seen.add_(z.detach().mean(0))
        return view + z[:, :3], out, z + self.seen


def aliased():
    return Aliased(), (torch.randn(2, 6),)


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a module may give."""

    values: torch.Tensor
    places: tuple
    note: str = "no tensor"


class Tables(nn.Module):
    """A table that all layers look at, plain tensors, a parameter taken apart, a dataclass."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(10, 4))
        self.plain = torch.ones(4)
        self.weights = nn.Parameter(torch.randn(2, 4, 4))
        self.extra = nn.ParameterList([nn.Parameter(torch.randn(4)) for _ in range(2)])

    def forward(self, x):
        for i in range(2):
            x = x @ self.weights[i].t() + self.table[: x.shape[0]] * self.plain + self.extra[i]
        return Answer(x, (x.argmax(-1),))


def tables():
    return Tables(), (torch.randn(5, 4),)


class Scaled(nn.Module):
    """A factor of no dimensions."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        x = self.a(x)
        scale = x.mean()
        return self.b(x) * scale


def scaled():
    return Scaled(), (torch.randn(2, 8),)


class Tempered(nn.Module):
    """Numbers and a text that are attributes, in the module and in a part; a count; a name that the file has."""

    class Part(nn.Module):
        """Scales by an attribute."""

        def __init__(self):
            super().__init__()
            self.a, self.b, self.factor, self.unused = nn.Linear(8, 8), nn.Linear(8, 8), 2.0, 1

        def forward(self, x):
            return self.b(self.a(x) * self.factor)

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([self.Part(), self.Part()])
        self.temperature, self.way, self.calls, self.placed_on = 0.5, "up", 0, None

    def forward(self, x):
        self.calls += 1
        for part in self.parts:
            x = part(x)
        return x / self.temperature if self.way == "up" else x


def tempered():
    return Tempered(), (torch.randn(2, 8),)


class Cube(torch.autograd.Function):
    """A function with a backward pass of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 3 * x * x * grad


class Breakable(torch.autograd.Function):
    """Raises where the file is there that BERTH_TEST_BREAKS names."""

    @staticmethod
    def forward(ctx, x):
        if os.path.exists(os.environ.get("BERTH_TEST_BREAKS", "")):
            raise ValueError("it broke")
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Fragile(nn.Module):
    """Layers with that function between them."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        return self.c(self.b(Breakable.apply(self.a(x))).relu())


def fragile():
    return Fragile(), (torch.randn(3, 6),)


class Custom(nn.Module):
    """That function, a product that is computed again in the backward pass, a number made a tensor."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        y = Cube.apply(self.a(x)) / torch.sqrt(torch.tensor(float(x.shape[1])))
        return checkpoint(self.b, y)


def custom():
    return Custom(), (torch.randn(3, 6),)


class Twice(nn.Module):
    """One layer called twice, and frozen weights."""

    def __init__(self):
        super().__init__()
        self.layer, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8)
        self.fixed = nn.Linear(8, 8).requires_grad_(False)

    def forward(self, x):
        return self.fixed(self.norm(self.layer(self.norm(self.layer(x)).relu_())))


def twice():
    return Twice(), (torch.randn(4, 8),)


class Quiet(nn.Module):
    """Parts without gradients beside and between others, a sum in a constant, an input that is written into,
    tables made at first use."""

    def __init__(self):
        super().__init__()
        self.teacher, self.a, self.b, self.table = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6), None

    def forward(self, x):
        x += 1
        if self.table is None:
            self.table = torch.arange(x.shape[1], dtype=x.dtype).cos()
        with torch.no_grad():
            wanted, rest = self.teacher(x).split(3, -1)
        total = torch.zeros(4, 6)
        for part in (self.a, self.b):
            total += part(x) * self.table
        with torch.no_grad():
            share = self.teacher(total).softmax(-1)
        return total * share, total[:, :3] * wanted + total[:, 3:] * rest, total.argmax(-1) + 1


def quiet():
    return Quiet(), (torch.randn(4, 6),)


class Named(nn.Module):
    """Parts with the names of the graph's own operators, a parameter with that of an operator."""

    def __init__(self):
        super().__init__()
        self.mul = nn.Parameter(torch.ones(4))
        for name in ("loss", "loss/grad", "w/update", "w"):
            self.add_module(name, nn.Linear(4, 4))

    def forward(self, x):
        for part in self.children():
            x = part(x) * self.mul
        return x


def named():
    return Named(), (torch.randn(3, 4),)


def widened(value):
    """Floating-point tensors with twice the precision."""
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def __getattr__(name):
    """NAME_double: what NAME gives, in double precision."""
    factory = globals().get(name.removesuffix("_double"))
    if factory is None or not name.endswith("_double"):
        raise AttributeError(name)

    def made():
        module, args, *rest = factory()
        kwargs = {k: widened(v) for k, v in rest[0].items()} if rest else {}
        return (module.double(), tuple(widened(a) for a in args), kwargs, *rest[1:])

    return made


class Counted(nn.Module):
    """Gives sizes beside its tensor, of the input and of what it computes, and looks at one."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(8, 8)

    def forward(self, x):
        y = self.l(x) if x.size(1) > 3 else x
        return {"y": y, "rows": x.size(0) + 1, "shape": x.shape, "columns": y.size(1)}


def counted():
    return Counted(), (torch.randn(4, 8),)
