/* ONNX models to operator graphs. The file is mapped and walked in place. Weights are never copied, and
 * external data are never opened.
 *
 * What becomes an operator: every node that is not folded. A node is folded (dropped) when all its inputs
 * are constant, or when its result is known from static shapes alone (Shape, Size and what is computed from
 * them). Nodes with a body (If, Loop, Scan) and random ones stay. The call of a function that the model
 * defines is replaced by the function's nodes, named CALL/NODE. Graph inputs are not operators.
 *
 * Names: the node's name if it is not empty and unique, else its first output's name.
 *
 * Costs. FLOPs are 2 * MACs for Conv, ConvTranspose, Gemm, MatMul, Einsum, RNN, LSTM, GRU and their
 * quantised and fused forms. For the rest they are one per output element (macs 0). read_bytes counts each
 * distinct input tensor once, parameters and constants too. write_bytes counts all outputs, output_bytes the
 * graph outputs among them. A tensor of unknown shape counts 0 bytes, an unknown dimension 1. Both are
 * reported. A sequence and an optional value count as one of what they hold.
 *
 * A node with a body is one operator. It costs what its body does, times its trips. Trips of Loop are its
 * constant limit, those of Scan the length of its inputs. Where neither is known an option may give them,
 * else one trip is taken and reported. Of If, the branch counts that a constant condition takes, else the one
 * of more FLOPs.
 *
 * Parameters are float and quantised initializers (int32 ones only as bias of a quantised operator). Each
 * counts once, however many nodes alias or transpose it on its way to an operator. Used by one operator it is
 * part of its param_bytes, used by several it is a shared parameter. Integer constants (shapes, indices) are
 * no parameters. A float tensor of more than one element that folding makes from no parameter (Constant,
 * ConstantOfShape: the weights of stripped models) is one too. So is a folded tensor made of more than 64
 * parameters.
 *
 * Weights as graph inputs. Some exporters leave the initializers out, so that they look like graph inputs.
 * Where the file holds no float initializer of more than one element, a graph input is a parameter if
 *   - it is not the first one,
 *   - it has a float or quantised type and no symbolic dimension,
 *   - and each of its uses is a parameter's use.
 * Uses are followed through Identity, Cast, Transpose, Reshape, Flatten, Squeeze, Unsqueeze, Expand, Slice,
 * Split, QuantizeLinear and DequantizeLinear. A parameter's use is
 *   (a) a weight slot: Conv 1 and 2, Gemm 1 and 2, BatchNormalization 1 to 4, LSTM 1 to 3,
 *       LayerNormalization 1 and 2, Gather 0 from rank 2 on (an embedding) ... (the table of operators has
 *       them all); or MatMul with rank 1 or 2, or an elementwise operand of rank 0 or 1, where the other
 *       operand depends on an earlier graph input;
 *   (b) any operand of MatMul, Einsum, Concat, Where or an elementwise operator, but only for inputs listed
 *       after the first one that (a) alone makes a parameter: exporters list the data first. */
#pragma once

#include "graph_format.h"

/* Graph of the model in data[size]; file is the name shown in messages, and its stem the graph's name. opt
 * and report may be NULL. tmp is scratch, reset at exit. Fails: BERTH_EFORMAT (file, byte or node, what was
 * expected), BERTH_EINVAL (a bad option, a symbolic dimension that the model does not have), BERTH_ENOMEM.
 * Both arenas together take at most 4 * size + 16 MB, and 400 bytes for each node of 48 to 255 bytes (a
 * model that needs more is BERTH_EFORMAT; they must have one allocator). Time is O(bytes outside of
 * weights). */
berth_status berth_graph_parse_onnx(const char *file, const unsigned char *data, size_t size,
                                    const berth_read_options *opt, berth_arena *mem, berth_arena *tmp,
                                    berth_graph *out, berth_read_report *report, berth_err *err);

/* Types of operators that ONNX or com.microsoft have, as far as they are known here: [*n], in mem. Fails:
 * BERTH_ENOMEM. */
berth_status berth_onnx_types(berth_arena *mem, const char ***type, int32_t *n, berth_err *err);

extern const berth_format berth_format_onnx; /* any file that is no text */
