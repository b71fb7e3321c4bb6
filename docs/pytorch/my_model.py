"""A small language model, its example inputs, and its loss."""
import torch
from torch import nn


class Model(nn.Module):
    """Words in, scores of the next word out; the last product has the embedding's weights."""

    def __init__(self, words=2000, width=128, layers=4):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.layers(self.embed(ids)))


def build():
    """What berth calls: the module, args, kwargs and the loss of what the module returns."""
    ids, wanted = torch.randint(2000, (2, 4, 64))
    return Model(), (ids,), {}, lambda scores: nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())
