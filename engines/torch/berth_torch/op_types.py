"""Types of operators: the names of ONNX where there is one, as berth's tables know those."""
from typing import Any

from torch import fx

MODULES = {
    "Conv1d": "Conv", "Conv2d": "Conv", "Conv3d": "Conv", "ConvTranspose1d": "ConvTranspose",
    "ConvTranspose2d": "ConvTranspose", "ConvTranspose3d": "ConvTranspose", "Linear": "Gemm",
    "Bilinear": "Gemm", "BatchNorm1d": "BatchNormalization", "BatchNorm2d": "BatchNormalization",
    "BatchNorm3d": "BatchNormalization", "SyncBatchNorm": "BatchNormalization",
    "LayerNorm": "LayerNormalization", "GroupNorm": "GroupNormalization", "RMSNorm": "RMSNormalization",
    "InstanceNorm1d": "InstanceNormalization", "InstanceNorm2d": "InstanceNormalization",
    "InstanceNorm3d": "InstanceNormalization", "LocalResponseNorm": "LRN", "ReLU": "Relu", "ReLU6": "Clip",
    "Hardtanh": "Clip", "LeakyReLU": "LeakyRelu", "PReLU": "PRelu", "ELU": "Elu", "SELU": "Selu",
    "CELU": "Celu", "GELU": "Gelu", "SiLU": "Swish", "Hardswish": "HardSwish", "Hardsigmoid": "HardSigmoid",
    "MaxPool1d": "MaxPool", "MaxPool2d": "MaxPool", "MaxPool3d": "MaxPool", "AvgPool1d": "AveragePool",
    "AvgPool2d": "AveragePool", "AvgPool3d": "AveragePool", "AdaptiveAvgPool1d": "GlobalAveragePool",
    "AdaptiveAvgPool2d": "GlobalAveragePool", "AdaptiveAvgPool3d": "GlobalAveragePool",
    "AdaptiveMaxPool2d": "GlobalMaxPool", "Embedding": "Gather", "EmbeddingBag": "Gather",
    "MultiheadAttention": "Attention", "Upsample": "Resize", "PixelShuffle": "DepthToSpace",
    "Dropout1d": "Dropout", "Dropout2d": "Dropout", "Dropout3d": "Dropout", "AlphaDropout": "Dropout",
    "ZeroPad2d": "Pad", "ConstantPad2d": "Pad", "ReflectionPad2d": "Pad",
}
FUNCTIONS = {
    "add": "Add", "iadd": "Add", "radd": "Add", "sub": "Sub", "isub": "Sub", "rsub": "Sub", "mul": "Mul",
    "imul": "Mul", "div": "Div", "truediv": "Div", "itruediv": "Div", "floordiv": "Div", "matmul": "MatMul",
    "bmm": "MatMul", "mm": "MatMul", "addmm": "Gemm", "baddbmm": "MatMul", "linear": "Gemm",
    "einsum": "Einsum", "conv1d": "Conv", "conv2d": "Conv", "conv3d": "Conv",
    "conv_transpose2d": "ConvTranspose", "relu": "Relu", "gelu": "Gelu", "silu": "Swish",
    "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "rsqrt": "Sqrt",
    "reciprocal": "Reciprocal", "erf": "Erf", "abs": "Abs", "neg": "Neg", "pow": "Pow", "sin": "Sin",
    "cos": "Cos", "softmax": "Softmax", "log_softmax": "LogSoftmax", "layer_norm": "LayerNormalization",
    "batch_norm": "BatchNormalization", "group_norm": "GroupNormalization", "dropout": "Dropout",
    "cat": "Concat", "concat": "Concat", "stack": "Concat", "split": "Split", "chunk": "Split",
    "reshape": "Reshape", "view": "Reshape", "flatten": "Flatten", "contiguous": "Transpose",
    "transpose": "Transpose", "permute": "Transpose", "t": "Transpose", "squeeze": "Squeeze",
    "unsqueeze": "Unsqueeze", "expand": "Expand", "repeat": "Tile", "embedding": "Gather",
    "gather": "Gather", "index_select": "Gather", "getitem": "Gather", "where": "Where",
    "masked_fill": "Where", "mean": "ReduceMean", "sum": "ReduceSum", "amax": "ReduceMax",
    "amin": "ReduceMin", "max": "ReduceMax", "min": "ReduceMin", "maximum": "Max", "minimum": "Min",
    "argmax": "ArgMax", "argmin": "ArgMin", "topk": "TopK", "cumsum": "CumSum", "clamp": "Clip",
    "clip": "Clip", "max_pool2d": "MaxPool", "avg_pool2d": "AveragePool",
    "adaptive_avg_pool2d": "GlobalAveragePool", "interpolate": "Resize", "pad": "Pad", "type_as": "Cast",
    "to": "Cast", "float": "Cast", "half": "Cast", "long": "Cast", "eq": "Equal", "lt": "Less",
    "gt": "Greater", "ge": "GreaterOrEqual", "le": "LessOrEqual", "logical_not": "Not", "arange": "Range",
    "zeros": "ConstantOfShape", "ones": "ConstantOfShape", "full": "ConstantOfShape",
    "randn": "RandomNormal", "rand": "RandomUniform", "setitem": "ScatterElements",
    "scaled_dot_product_attention": "Attention", "round": "Round", "floor": "Floor", "ceil": "Ceil",
    "sign": "Sign", "triu": "Trilu", "tril": "Trilu", "one_hot": "OneHot", "clone": "Identity",
}


def camel(name: str) -> str:
    """scatter_add as ScatterAdd."""
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_")) or "Function"


def function_name(target: Any) -> str:
    """The name of a function or method, without what marks it as one in place or as Python's own."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "function")
    return name.strip("_") or "function"


def type_of(node: fx.Node, graph_module: fx.GraphModule) -> str:
    """The type of what a node does."""
    if node.op != "call_module":
        name = function_name(node.target)
        return FUNCTIONS.get(name) or camel(name)
    cls = type(graph_module.get_submodule(str(node.target)))
    own = cls.__module__.startswith("torch.nn")
    return MODULES.get(cls.__name__, cls.__name__) if own else cls.__name__


__all__ = ["function_name", "type_of"]
