/* The table of operators: one row a type, sorted by type (capitals first, as strcmp sorts). A type stands
 * once; com.microsoft types have names of their own, or mean the same as in the default domain. Sources: the
 * operator documents of ONNX (Operators.md) and of ONNX Runtime's contributed operators. */
#include "onnx.h"
#include "onnx_infer.h"

static const onnx_op table[] = {
	FOLDS(Abs, same, unary, 0),
	SHAPE(Acos, same), SHAPE(Acosh, same), SHAPE(Adagrad, optimiser), SHAPE(Adam, optimiser),
	FOLDS(Add, binary, binary, ONNX_MIXER),
	SHAPE(AffineGrid, affine_grid),
	FOLDS(And, compare, binary, 0),
	SHAPE(ArgMax, arg), SHAPE(ArgMin, arg), SHAPE(Asin, same), SHAPE(Asinh, same), SHAPE(Atan, same),
	SHAPE(Atanh, same),
	COUNTS(Attention, attention, attention, 0, 0),
	SHAPE(AveragePool, pool),
	HOLDS(BatchNormalization, batch_norm, SLOTS(1, 4), 0),
	HOLDS(Bernoulli, cast, 0, ONNX_RANDOM),
	SHAPE(BitCast, cast), SHAPE(BitShift, binary), SHAPE(BitwiseAnd, binary), SHAPE(BitwiseNot, same),
	SHAPE(BitwiseOr, binary), SHAPE(BitwiseXor, binary), SHAPE(BlackmanWindow, window),
	FOLDS(Cast, cast, cast, ONNX_CARRIER),
	FOLDS(CastLike, cast_like, cast, ONNX_CARRIER),
	COUNTS(CausalConvWithState, causal_conv, causal_conv, SLOTS(1, 2), 0),
	FOLDS(Ceil, same, unary, 0),
	SHAPE(Celu, same), SHAPE(CenterCropPad, center_crop_pad), SHAPE(Clip, same),
	SHAPE(Col2Im, col2im), SHAPE(Compress, compress),
	FOLDS(Concat, concat, concat, ONNX_MIXER),
	SHAPE(ConcatFromSequence, concat_from_sequence),
	FOLDS(Constant, constant, constant, 0),
	FOLDS(ConstantOfShape, constant_of_shape, constant_of_shape, 0),
	COUNTS(Conv, conv, conv, SLOTS(1, 2), 0),
	COUNTS(ConvInteger, conv_integer, conv, S(1) | S(3), 0),
	COUNTS(ConvTranspose, conv_transpose, conv_transpose, SLOTS(1, 2), 0),
	SHAPE(Cos, same), SHAPE(Cosh, same), SHAPE(CumProd, same), SHAPE(CumSum, same), SHAPE(DFT, dft),
	COUNTS(DeformConv, conv, conv, S(1) | S(3), 0),
	SHAPE(DepthToSpace, depth_to_space),
	HOLDS(DequantizeLinear, dequantize, SLOTS(1, 2), ONNX_CARRIER),
	SHAPE(Det, det),
	FOLDS(Div, binary, binary, ONNX_MIXER),
	SHAPE(Dropout, dropout), SHAPE(DynamicQuantizeLinear, dynamic_quantize),
	COUNTS(Einsum, einsum, einsum, 0, ONNX_MIXER),
	SHAPE(Elu, same),
	FOLDS(Equal, compare, binary, 0),
	SHAPE(Erf, same), SHAPE(Exp, same),
	FOLDS(Expand, expand, expand, ONNX_CARRIER),
	SHAPE(EyeLike, cast),
	FOLDS(Flatten, flatten, copy, ONNX_CARRIER),
	FOLDS(Floor, same, unary, 0),
	COUNTS(GRU, recurrent, recurrent, SLOTS(1, 3), 0),
	FOLDS(Gather, gather, gather, ONNX_WIDE),
	SHAPE(GatherElements, gather_elements), SHAPE(GatherND, gather_nd), SHAPE(Gelu, same),
	COUNTS(Gemm, gemm, gemm, SLOTS(1, 2), 0),
	SHAPE(GlobalAveragePool, global_pool), SHAPE(GlobalLpPool, global_pool),
	SHAPE(GlobalMaxPool, global_pool),
	FOLDS(Greater, compare, binary, 0),
	FOLDS(GreaterOrEqual, compare, binary, 0),
	SHAPE(GridSample, grid_sample),
	HOLDS(GroupNormalization, same, SLOTS(1, 2), 0),
	SHAPE(HammingWindow, window), SHAPE(HannWindow, window), SHAPE(HardSigmoid, same),
	SHAPE(HardSwish, same), SHAPE(Hardmax, same),
	FOLDS(Identity, same, copy, ONNX_CARRIER),
	SHAPE(If, if), SHAPE(ImageDecoder, image_decoder), SHAPE(ImageScaler, same),
	HOLDS(InstanceNormalization, same, SLOTS(1, 2), 0),
	SHAPE(IsInf, bool_same), SHAPE(IsNaN, bool_same), SHAPE(LRN, same),
	COUNTS(LSTM, recurrent, recurrent, SLOTS(1, 3) | S(7), 0),
	HOLDS(LayerNormalization, layer_norm, SLOTS(1, 2), 0),
	SHAPE(LeakyRelu, same),
	FOLDS(Less, compare, binary, 0),
	FOLDS(LessOrEqual, compare, binary, 0),
	COUNTS(LinearAttention, linear_attention, linear_attention, 0, 0),
	SHAPE(Log, same), SHAPE(LogSoftmax, same), SHAPE(Loop, loop), SHAPE(LpNormalization, same),
	SHAPE(LpPool, pool),
	COUNTS(MatMul, matmul, matmul, 0, ONNX_MIXER),
	COUNTS(MatMulInteger, matmul_integer, matmul, S(1) | S(3), 0),
	FOLDS(Max, variadic, binary, ONNX_MIXER),
	SHAPE(MaxPool, pool), SHAPE(MaxRoiPool, max_roi_pool), SHAPE(MaxUnpool, max_unpool),
	HOLDS(Mean, variadic, 0, ONNX_MIXER),
	SHAPE(MeanVarianceNormalization, same), SHAPE(MelWeightMatrix, mel),
	FOLDS(Min, variadic, binary, ONNX_MIXER),
	SHAPE(Mish, same),
	FOLDS(Mod, binary, binary, 0),
	SHAPE(Momentum, optimiser),
	FOLDS(Mul, binary, binary, ONNX_MIXER),
	HOLDS(Multinomial, multinomial, 0, ONNX_RANDOM),
	FOLDS(Neg, same, unary, 0),
	HOLDS(NegativeLogLikelihoodLoss, loss, S(2), 0),
	SHAPE(NonMaxSuppression, nms),
	FOLDS(NonZero, nonzero, nonzero, 0),
	FOLDS(Not, bool_same, unary, 0),
	SHAPE(OneHot, one_hot), SHAPE(Optional, same), SHAPE(OptionalGetElement, same),
	SHAPE(OptionalHasElement, yes_or_no),
	FOLDS(Or, compare, binary, 0),
	HOLDS(PRelu, same, S(1), 0),
	SHAPE(Pad, pad),
	FOLDS(Pow, binary, binary, ONNX_MIXER),
	COUNTS(QLinearConv, qlinear_conv, qlinear_conv, SLOTS(1, 8), 0),
	COUNTS(QLinearMatMul, qlinear_matmul, matmul, SLOTS(1, 2) | SLOTS(4, 7), 0),
	HOLDS(QuantizeLinear, quantize, SLOTS(1, 2), ONNX_CARRIER),
	HOLDS(RMSNormalization, same, S(1), 0),
	COUNTS(RNN, recurrent, recurrent, SLOTS(1, 3), 0),
	HOLDS(RandomNormal, random, 0, ONNX_RANDOM),
	HOLDS(RandomNormalLike, cast, 0, ONNX_RANDOM),
	HOLDS(RandomUniform, random, 0, ONNX_RANDOM),
	HOLDS(RandomUniformLike, cast, 0, ONNX_RANDOM),
	FOLDS(Range, range, range, 0),
	FOLDS(Reciprocal, same, unary, 0),
	SHAPE(ReduceL1, reduce), SHAPE(ReduceL2, reduce), SHAPE(ReduceLogSum, reduce),
	SHAPE(ReduceLogSumExp, reduce),
	FOLDS(ReduceMax, reduce, reduce, 0),
	SHAPE(ReduceMean, reduce),
	FOLDS(ReduceMin, reduce, reduce, 0),
	FOLDS(ReduceProd, reduce, reduce, 0),
	FOLDS(ReduceSum, reduce, reduce, 0),
	SHAPE(ReduceSumSquare, reduce), SHAPE(RegexFullMatch, bool_same), SHAPE(Relu, same),
	FOLDS(Reshape, reshape, copy, ONNX_CARRIER),
	SHAPE(Resize, resize), SHAPE(ReverseSequence, same), SHAPE(RoiAlign, roi_align),
	SHAPE(RotaryEmbedding, same),
	FOLDS(Round, same, unary, 0),
	SHAPE(STFT, stft), SHAPE(Scan, scan), SHAPE(Scatter, same), SHAPE(ScatterElements, same),
	SHAPE(ScatterND, same), SHAPE(Selu, same), SHAPE(SequenceAt, same),
	SHAPE(SequenceConstruct, sequence_construct), SHAPE(SequenceEmpty, sequence_empty),
	SHAPE(SequenceErase, same), SHAPE(SequenceInsert, sequence_insert), SHAPE(SequenceLength, size),
	SHAPE(SequenceMap, sequence_map),
	FOLDS(Shape, shape, shape, 0),
	SHAPE(Shrink, same), SHAPE(Sigmoid, same),
	FOLDS(Sign, same, unary, 0),
	HOLDS(SimplifiedLayerNormalization, layer_norm, S(1), 0),
	SHAPE(Sin, same), SHAPE(Sinh, same),
	FOLDS(Size, size, size, 0),
	FOLDS(Slice, slice, slice, ONNX_CARRIER),
	SHAPE(Softmax, same),
	HOLDS(SoftmaxCrossEntropyLoss, cross_entropy, S(2), 0),
	SHAPE(Softplus, same), SHAPE(Softsign, same), SHAPE(SpaceToDepth, space_to_depth),
	FOLDS(Split, split, split, ONNX_CARRIER),
	SHAPE(SplitToSequence, split_to_sequence),
	FOLDS(Sqrt, same, unary, 0),
	FOLDS(Squeeze, squeeze, copy, ONNX_CARRIER),
	SHAPE(StringConcat, binary), SHAPE(StringNormalizer, string_normalizer),
	SHAPE(StringSplit, string_split),
	FOLDS(Sub, binary, binary, ONNX_MIXER),
	HOLDS(Sum, variadic, 0, ONNX_MIXER),
	SHAPE(SwiGLU, same), SHAPE(Swish, same), SHAPE(Tan, same), SHAPE(Tanh, same),
	SHAPE(TensorScatter, same), SHAPE(TfIdfVectorizer, tf_idf), SHAPE(ThresholdedRelu, same),
	FOLDS(Tile, tile, tile, 0),
	SHAPE(TopK, topk),
	FOLDS(Transpose, transpose, transpose, ONNX_CARRIER),
	SHAPE(Trilu, same), SHAPE(Unique, unique),
	FOLDS(Unsqueeze, unsqueeze, copy, ONNX_CARRIER),
	SHAPE(Upsample, upsample),
	FOLDS(Where, where, where, ONNX_MIXER),
	FOLDS(Xor, compare, binary, 0),
};

static int compare_type(const void *key, const void *row)
{
	return strcmp(key, ((const onnx_op *)row)->type);
}

const onnx_op *onnx_op_find(const char *domain, const char *type)
{
	bool microsoft = strcmp(domain, "com.microsoft") == 0;
	const onnx_op *own = microsoft ? onnx_microsoft_find(type) : NULL;
	if (own || (*domain && !microsoft && strcmp(domain, "ai.onnx.preview.training") != 0))
		return own;
	return bsearch(type, table, sizeof table / sizeof *table, sizeof *table, compare_type);
}

const onnx_op *onnx_op_table(size_t *n)
{
	*n = sizeof table / sizeof *table;
	return table;
}

berth_status berth_onnx_types(berth_arena *mem, const char ***type, int32_t *n, berth_err *err)
{
	size_t n_more;
	const onnx_op *more = onnx_microsoft_table(&n_more);
	const char **list;
	int32_t k = 0;
	BERTH_TRY_NEW(mem, sizeof table / sizeof *table + n_more, err, list);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		list[k++] = table[i].type;
	for (size_t i = 0; i < n_more; i++)
		list[k++] = more[i].type;
	*type = list;
	*n = k;
	return BERTH_OK;
}
