"""PyTorch modules for berth: traced into operators, described as a graph, and run under a placement."""
