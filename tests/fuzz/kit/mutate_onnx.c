/* Models in protocol buffers ("Protocol Buffers: Encoding"; messages and fields of onnx.proto). The input is
 * taken apart into a tree of fields, the tree is changed, and written with the lengths that it then has. */
#include "mutate.h"

#include <string.h>

enum { MAX_FIELDS = 3000, MAX_DEPTH = 24, MAX_NEW_BYTES = 1 << 14 };

typedef enum message {
	BYTES,
	MODEL,
	GRAPH,
	NODE,
	ATTRIBUTE,
	TENSOR,
	VALUE,
	TYPE,
	TENSOR_TYPE,
	SHAPE,
	DIM,
	OPSET,
	FUNCTION,
	SPARSE,
	ENTRY
} message;

/* Which fields are messages. */
static const struct {
	message of;
	uint32_t number;
	message kind;
} schema[] = {
	{MODEL, 7, GRAPH},         {MODEL, 8, OPSET},       {MODEL, 14, ENTRY},     {MODEL, 25, FUNCTION},
	{GRAPH, 1, NODE},          {GRAPH, 5, TENSOR},      {GRAPH, 11, VALUE},     {GRAPH, 12, VALUE},
	{GRAPH, 13, VALUE},        {GRAPH, 15, SPARSE},     {NODE, 5, ATTRIBUTE},   {ATTRIBUTE, 5, TENSOR},
	{ATTRIBUTE, 6, GRAPH},     {ATTRIBUTE, 10, TENSOR}, {ATTRIBUTE, 11, GRAPH}, {ATTRIBUTE, 22, SPARSE},
	{TENSOR, 13, ENTRY},       {VALUE, 2, TYPE},        {TYPE, 1, TENSOR_TYPE}, {TYPE, 4, VALUE},
	{TENSOR_TYPE, 2, SHAPE},   {SHAPE, 1, DIM},         {FUNCTION, 7, NODE},    {FUNCTION, 9, OPSET},
	{FUNCTION, 11, ATTRIBUTE}, {SPARSE, 1, TENSOR},     {SPARSE, 2, TENSOR}};

/* What the reader knows by name: types of operators, attributes, domains. */
static const char *const words[] = {"Add",
                                    "And",
                                    "ArgMax",
                                    "Attention",
                                    "AveragePool",
                                    "BatchNormalization",
                                    "Cast",
                                    "Clip",
                                    "Concat",
                                    "ConcatFromSequence",
                                    "Constant",
                                    "ConstantOfShape",
                                    "Conv",
                                    "ConvInteger",
                                    "ConvTranspose",
                                    "CumSum",
                                    "DepthToSpace",
                                    "DequantizeLinear",
                                    "Dropout",
                                    "DynamicQuantizeLinear",
                                    "Einsum",
                                    "Expand",
                                    "EyeLike",
                                    "Flatten",
                                    "GRU",
                                    "Gather",
                                    "GatherElements",
                                    "GatherND",
                                    "Gemm",
                                    "GlobalAveragePool",
                                    "GridSample",
                                    "GroupNormalization",
                                    "Identity",
                                    "If",
                                    "InstanceNormalization",
                                    "LSTM",
                                    "LayerNormalization",
                                    "Loop",
                                    "LpPool",
                                    "MatMul",
                                    "MatMulInteger",
                                    "MatMulNBits",
                                    "MaxPool",
                                    "MaxUnpool",
                                    "NonMaxSuppression",
                                    "NonZero",
                                    "OneHot",
                                    "Optional",
                                    "OptionalGetElement",
                                    "Pad",
                                    "QLinearConv",
                                    "QLinearMatMul",
                                    "QuantizeLinear",
                                    "RNN",
                                    "Range",
                                    "ReduceMean",
                                    "ReduceSum",
                                    "Relu",
                                    "Reshape",
                                    "Resize",
                                    "RoiAlign",
                                    "RotaryEmbedding",
                                    "STFT",
                                    "Scan",
                                    "ScatterElements",
                                    "ScatterND",
                                    "SequenceAt",
                                    "SequenceConstruct",
                                    "SequenceEmpty",
                                    "SequenceInsert",
                                    "SequenceMap",
                                    "Shape",
                                    "Size",
                                    "Slice",
                                    "Softmax",
                                    "SpaceToDepth",
                                    "Split",
                                    "SplitToSequence",
                                    "Squeeze",
                                    "Sub",
                                    "TfIdfVectorizer",
                                    "Tile",
                                    "TopK",
                                    "Transpose",
                                    "Unique",
                                    "Unsqueeze",
                                    "Upsample",
                                    "Where",
                                    "com.microsoft",
                                    "MultiHeadAttention",
                                    "GroupQueryAttention",
                                    "FusedConv",
                                    "FusedMatMul",
                                    "QAttention",
                                    "SkipLayerNormalization",
                                    "axis",
                                    "axes",
                                    "perm",
                                    "to",
                                    "value",
                                    "value_ints",
                                    "kernel_shape",
                                    "strides",
                                    "pads",
                                    "dilations",
                                    "group",
                                    "auto_pad",
                                    "SAME_UPPER",
                                    "VALID",
                                    "keepdims",
                                    "shape",
                                    "transA",
                                    "transB",
                                    "equation",
                                    "ij,jk->ik",
                                    "num_heads",
                                    "hidden_size",
                                    "direction",
                                    "bidirectional",
                                    "then_branch",
                                    "else_branch",
                                    "body",
                                    "mode",
                                    "blocksize",
                                    "split",
                                    "num_outputs",
                                    "largest",
                                    "ceil_mode",
                                    "batch_dims",
                                    "new_axis",
                                    "exclusive",
                                    "output_shape",
                                    "location",
                                    "offset",
                                    "length",
                                    "noop_with_empty_axes",
                                    "ai.onnx"};

typedef struct field {
	uint32_t number, wire;
	uint64_t value;    /* of a varint or fixed field */
	const uint8_t *at; /* content of bytes */
	size_t n;
	message of, kind;            /* the message that it is in; what is in it */
	int32_t parent, child, next; /* -1: none */
} field;

typedef struct tree {
	field f[MAX_FIELDS];
	int32_t n;
	uint8_t room[MAX_NEW_BYTES]; /* contents that are new */
	size_t used;
	mutate_rng r;
} tree;

/* ---- taking apart ---- */

static message kind_of(message of, uint32_t number)
{
	for (size_t i = 0; i < sizeof schema / sizeof *schema; i++)
		if (schema[i].of == of && schema[i].number == number)
			return schema[i].kind;
	return BYTES;
}

static bool varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
	*out = 0;
	for (int shift = 0; *p < end && shift < 64; shift += 7) {
		uint8_t c = *(*p)++;
		*out |= (uint64_t)(c & 127) << shift;
		if (c < 128)
			return true;
	}
	return false;
}

static bool take_apart(tree *t, const uint8_t *p, size_t n, message of, int32_t parent, int depth);

static bool content(field *f, const uint8_t **p, const uint8_t *end)
{
	size_t width = f->wire == 1 ? 8 : 4;
	uint64_t n;
	if (f->wire == 0)
		return varint(p, end, &f->value);
	if (f->wire == 2) {
		if (!varint(p, end, &n) || n > (uint64_t)(end - *p))
			return false;
		f->at = *p;
		f->n = (size_t)n;
		*p += n;
		return true;
	}
	if ((f->wire != 1 && f->wire != 5) || (size_t)(end - *p) < width)
		return false;
	memcpy(&f->value, *p, width);
	*p += width;
	return true;
}

/* The fields of a message as children of parent; false, with some of them there: it is none. */
static bool take_apart(tree *t, const uint8_t *p, size_t n, message of, int32_t parent, int depth)
{
	const uint8_t *end = p + n;
	int32_t last = -1;
	while (p < end) {
		uint64_t tag;
		if (t->n == MAX_FIELDS / 2 || !varint(&p, end, &tag))
			return false;
		int32_t i = t->n;
		field *f = &t->f[i];
		*f = (field){.number = (uint32_t)(tag >> 3),
		             .wire = tag & 7,
		             .of = of,
		             .parent = parent,
		             .child = -1,
		             .next = -1};
		if (!content(f, &p, end))
			return false;
		t->n++;
		*(last >= 0 ? &t->f[last].next : &t->f[parent].child) = i;
		last = i;
		message kind = f->wire == 2 ? kind_of(of, f->number) : BYTES;
		if (kind != BYTES && depth < MAX_DEPTH && take_apart(t, f->at, f->n, kind, i, depth + 1))
			t->f[i].kind = kind;
		else
			t->f[i].child = -1;
	}
	return true;
}

/* ---- writing ---- */

typedef struct out {
	uint8_t *p;
	size_t n, max;
	bool full;
} out;

static void put(out *o, const void *p, size_t n)
{
	o->full |= n > o->max - o->n;
	if (o->full)
		return;
	if (n)
		memcpy(o->p + o->n, p, n);
	o->n += n;
}

static void put_varint(out *o, uint64_t x)
{
	uint8_t buf[10];
	size_t n = 0;
	do {
		buf[n++] = (uint8_t)((x & 127) | (x > 127 ? 128 : 0));
		x >>= 7;
	} while (x);
	put(o, buf, n);
}

static void put_fields(const tree *t, int32_t i, out *o, int depth)
{
	for (; i >= 0 && !o->full; i = t->f[i].next) {
		const field *f = &t->f[i];
		put_varint(o, (uint64_t)f->number << 3 | f->wire);
		if (f->wire == 0)
			put_varint(o, f->value);
		else if (f->wire != 2)
			put(o, &f->value, f->wire == 1 ? 8 : 4);
		else if (f->kind == BYTES || depth == 2 * MAX_DEPTH) {
			put_varint(o, f->n);
			put(o, f->at, f->n);
		} else {
			out inner = {o->p + o->n, 0, o->max - o->n, false};
			uint8_t head[16];
			out length = {head, 0, sizeof head, false};
			put_fields(t, f->child, &inner, depth + 1);
			put_varint(&length, inner.n);
			o->full |= inner.full || inner.n + length.n > o->max - o->n;
			if (o->full)
				return;
			memmove(o->p + o->n + length.n, o->p + o->n, inner.n);
			memcpy(o->p + o->n, head, length.n);
			o->n += inner.n + length.n;
		}
	}
}

/* ---- changing ---- */

static int32_t any(tree *t)
{
	return 1 + (int32_t)mutate_below(&t->r, (size_t)t->n - 1);
}

/* What points to field i. NULL: it is not in the tree any more. */
static int32_t *link_to(tree *t, int32_t i)
{
	int32_t *p = &t->f[t->f[i].parent].child;
	while (*p >= 0 && *p != i)
		p = &t->f[*p].next;
	return *p == i ? p : NULL;
}

static int32_t copied(tree *t, int32_t i, int32_t parent)
{
	if (t->n == MAX_FIELDS)
		return -1;
	int32_t to = t->n++;
	t->f[to] = t->f[i];
	t->f[to].parent = parent;
	t->f[to].child = t->f[to].next = -1;
	int32_t *last = &t->f[to].child;
	for (int32_t c = t->f[i].child; c >= 0; c = t->f[c].next) {
		*last = copied(t, c, to);
		if (*last < 0)
			break;
		last = &t->f[*last].next;
	}
	return to;
}

static bool drop(tree *t)
{
	int32_t i = any(t), *p = link_to(t, i);
	if (p)
		*p = t->f[i].next;
	return p != NULL;
}

static bool copy_behind(tree *t)
{
	int32_t i = any(t), to = link_to(t, i) ? copied(t, i, t->f[i].parent) : -1;
	if (to < 0)
		return false;
	t->f[to].next = t->f[i].next;
	t->f[i].next = to;
	return true;
}

static bool swap_siblings(tree *t)
{
	int32_t i = any(t), k = t->f[i].next, *p = link_to(t, i);
	if (!p || k < 0)
		return false;
	t->f[i].next = t->f[k].next;
	t->f[k].next = i;
	*p = k;
	return true;
}

/* A field of the same message or with the same contents, in the place of another. */
static bool put_over(tree *t)
{
	int32_t to = any(t), from = -1;
	for (int n = 0; n < 24 && from < 0; n++) {
		int32_t k = any(t);
		if (k != to && t->f[k].of == t->f[to].of && t->f[k].wire == t->f[to].wire &&
		    t->f[k].kind == t->f[to].kind)
			from = k;
	}
	int32_t *p = link_to(t, to), n = from >= 0 && p ? copied(t, from, t->f[to].parent) : -1;
	if (n < 0)
		return false;
	if (mutate_below(&t->r, 3))
		t->f[n].number = t->f[to].number;
	t->f[n].next = t->f[to].next;
	*p = n;
	return true;
}

/* A field of a message moves to another message of its kind: operators into bodies. */
static bool put_into(tree *t)
{
	int32_t from = any(t), to = -1;
	for (int n = 0; n < 40 && to < 0; n++) {
		int32_t k = any(t);
		if (t->f[k].kind != BYTES && t->f[k].kind == t->f[from].of && link_to(t, k))
			to = k;
	}
	int32_t n = to >= 0 ? copied(t, from, to) : -1;
	if (n < 0)
		return false;
	t->f[n].next = t->f[to].child;
	t->f[to].child = n;
	return true;
}

static bool change_number(tree *t)
{
	for (int n = 0; n < 16; n++) {
		field *f = &t->f[any(t)];
		if (f->wire == 2)
			continue;
		f->value =
			mutate_below(&t->r, 3) ? mutate_number(&t->r) : f->value + mutate_below(&t->r, 3) - 1;
		return true;
	}
	return false;
}

static bool new_content(tree *t, field *f, const void *p, size_t n)
{
	if (n > sizeof t->room - t->used)
		return false;
	if (n)
		memcpy(t->room + t->used, p, n);
	f->at = t->room + t->used;
	f->n = n;
	t->used += n;
	return true;
}

static bool change_bytes(tree *t)
{
	uint8_t part[256];
	for (int n = 0; n < 16; n++) {
		field *f = &t->f[any(t)];
		if (f->wire != 2 || f->kind != BYTES || f->n > sizeof part / 2)
			continue;
		if (mutate_below(&t->r, 2)) {
			const char *w = words[mutate_below(&t->r, sizeof words / sizeof *words)];
			return new_content(t, f, w, strlen(w));
		}
		memcpy(part, f->at, f->n);
		return new_content(t, f, part, LLVMFuzzerMutate(part, f->n, sizeof part));
	}
	return false;
}

/* Words of operators: inputs, outputs, types. */
static bool change_type(tree *t)
{
	for (int n = 0; n < 24; n++) {
		field *f = &t->f[any(t)];
		if (f->of != NODE || f->number != 4)
			continue;
		const char *w = words[mutate_below(&t->r, sizeof words / sizeof *words)];
		return new_content(t, f, w, strlen(w));
	}
	return false;
}

static bool add_number(tree *t)
{
	int32_t to = any(t), n = t->n;
	if (t->f[to].kind == BYTES || n == MAX_FIELDS)
		return false;
	t->n++;
	t->f[n] = (field){.number = 1 + (uint32_t)mutate_below(&t->r, 16),
	                  .value = mutate_number(&t->r),
	                  .of = t->f[to].kind,
	                  .parent = to,
	                  .child = -1,
	                  .next = t->f[to].child};
	t->f[to].child = n;
	return true;
}

size_t mutate_onnx(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static bool (*const change[])(tree * t) = {drop,         copy_behind,  swap_siblings, put_over,
	                                           put_over,     put_into,     change_number, change_number,
	                                           change_bytes, change_bytes, change_type,   add_number};
	static tree t; /* large; a fuzzer has one thread */
	static uint8_t text[1 << 20];
	t.r = mutate_seed(seed);
	t.n = 1;
	t.used = 0;
	t.f[0] = (field){.wire = 2, .kind = MODEL, .parent = 0, .child = -1, .next = -1};
	take_apart(&t, data, size, MODEL, 0, 0);
	if (t.n < 2 || mutate_below(&t.r, 10) == 0)
		return LLVMFuzzerMutate(data, size, max);
	for (size_t left = 1 + mutate_below(&t.r, 4); left > 0; left--)
		for (int tries = 0; tries < 6; tries++)
			if (change[mutate_below(&t.r, sizeof change / sizeof *change)](&t))
				break;
	out o = {text, 0, max < sizeof text ? max : sizeof text, false};
	put_fields(&t, t.f[0].child, &o, 0);
	if (o.full || !o.n)
		return LLVMFuzzerMutate(data, size, max);
	memcpy(data, text, o.n);
	return o.n;
}
