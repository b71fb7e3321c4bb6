/* A graph taken piece by piece: operators, what is attached to them, edges. Each piece is checked as it
 * comes. */
#include "graph_build.h"

#define MAX_CUT_S 1e9
enum { MAX_ROWS = INT32_MAX / 4, MAX_DEVICES = GRAPH_MAX_DEVICES };

static const unsigned char op_width[OP_COLUMNS] = {sizeof(char *), 4, 4, 4, 4, 1, 8, 8, 8, 8, 8, 8, 8, 8,
                                                    1, 1, 8, 8, 8, 8, 8, 8, 8, 8};
static const unsigned char edge_width[EDGE_COLUMNS] = {4, 4, 8, sizeof(char *), 8};
static const unsigned char pair_width[PAIR_COLUMNS] = {4, 4, 8};
static const unsigned char word_width[] = {sizeof(char *)};
static const unsigned char param_width[PARAM_COLUMNS] = {sizeof(char *), 8};

static const char *op_name(const void *builder, int32_t op)
{
	const berth_builder *b = builder;
	return b->names ? b->names[op] : columns_text(&b->op, OP_NAME, (size_t)op);
}

static const char *param_name(const void *builder, int32_t param)
{
	return columns_text(&((const berth_builder *)builder)->param, PARAM_NAME, (size_t)param);
}

const char *graph_word(const graph_words *w, int32_t i)
{
	return columns_text(&w->word, 0, (size_t)i);
}

static const char *word_text(const void *words, int32_t i)
{
	return graph_word(words, i);
}

static void words_init(graph_words *w, berth_arena *tmp)
{
	columns_init(&w->word, tmp, word_width, 1);
	berth_name_index_init(&w->index, tmp, word_text, w);
}

berth_status berth_builder_new(berth_arena *tmp, const char *name, berth_builder **out, berth_err *err)
{
	berth_builder *b;
	BERTH_TRY_NEW(tmp, 1, err, b);
	b->tmp = b->texts = tmp;
	b->name = berth_arena_strdup(tmp, name ? name : "");
	BERTH_TRY(berth_got(b->name, err));
	columns_init(&b->op, tmp, op_width, OP_COLUMNS);
	columns_init(&b->edge, tmp, edge_width, EDGE_COLUMNS);
	columns_init(&b->time, tmp, pair_width, PAIR_COLUMNS);
	columns_init(&b->forbid, tmp, pair_width, PAIR_COLUMNS);
	columns_init(&b->use, tmp, pair_width, PAIR_COLUMNS);
	columns_init(&b->param, tmp, param_width, PARAM_COLUMNS);
	words_init(&b->types, tmp);
	words_init(&b->colocs, tmp);
	words_init(&b->seps, tmp);
	words_init(&b->devices, tmp);
	berth_name_index_init(&b->ops, tmp, op_name, b);
	berth_name_index_init(&b->params, tmp, param_name, b);
	*out = b;
	return BERTH_OK;
}

berth_status berth_builder_reserve(berth_builder *b, size_t n_ops, berth_err *err)
{
	b->borrows = true;
	return berth_name_index_reserve(&b->ops, n_ops, err);
}

berth_status berth_builder_texts(berth_builder *b, berth_arena *mem, berth_err *err)
{
	b->texts = mem;
	b->name = berth_arena_strdup(mem, b->name);
	return b->name ? BERTH_OK : berth_nomem(err);
}

static berth_status keep_text(berth_builder *b, const char **s, berth_err *err)
{
	if (!b->borrows && *s && !(*s = berth_arena_strdup(b->texts, *s)))
		return berth_nomem(err);
	return BERTH_OK;
}

/* *index = that of the word; -1 for NULL. */
static berth_status intern(berth_builder *b, graph_words *w, const char *word, int32_t *index, berth_err *err)
{
	size_t row = w->word.n_rows;
	*index = word ? berth_name_index_get(&w->index, word) : -1;
	if (!word || *index >= 0)
		return BERTH_OK;
	if (row == MAX_ROWS)
		return berth_fail(err, BERTH_EFORMAT, "more than %d types, groups or devices", MAX_ROWS);
	if (w == &b->devices && row == MAX_DEVICES)
		return berth_fail(err, BERTH_EFORMAT, "more than %d names of devices", MAX_DEVICES);
	BERTH_TRY(keep_text(b, &word, err));
	BERTH_TRY(columns_add(&w->word, err));
	BERTH_TRY(columns_set_text(&w->word, 0, row, word, err));
	return berth_name_index_add(&w->index, index, err);
}

/* ---- operators ---- */

static berth_status check_figure(const char *op, const char *what, double x, berth_err *err)
{
	if (!isfinite(x) || x < 0)
		return berth_fail(err, BERTH_EFORMAT,
		                  "operator '%s': %s is %g; expected a finite number, 0 or more", op, what,
		                  x);
	return BERTH_OK;
}

static berth_status check_bytes(const char *op, const char *what, int64_t x, berth_err *err)
{
	if (x < 0 || x > GRAPH_MAX_BYTES)
		return berth_fail(err, BERTH_EFORMAT, "operator '%s': %s is %lld; expected 0 to 2^53", op,
		                  what, (long long)x);
	return BERTH_OK;
}

static berth_status check_spec(const berth_op_spec *s, const char *name, berth_err *err)
{
	if (!name || !*name)
		return berth_fail(err, BERTH_EFORMAT, "an operator has an empty name");
	BERTH_TRY(check_figure(name, "flops", s->flops, err));
	BERTH_TRY(check_figure(name, "macs", s->macs, err));
	BERTH_TRY(check_bytes(name, "read_bytes", s->read_bytes, err));
	BERTH_TRY(check_bytes(name, "write_bytes", s->write_bytes, err));
	BERTH_TRY(check_bytes(name, "param_bytes", s->param_bytes, err));
	BERTH_TRY(check_bytes(name, "state_bytes", s->state_bytes, err));
	BERTH_TRY(check_bytes(name, "workspace_bytes", s->workspace_bytes, err));
	BERTH_TRY(check_bytes(name, "output_bytes", s->output_bytes, err));
	return graph_check_dims(name, s, err);
}

static berth_status put_word(berth_builder *b, graph_words *w, int column, size_t op, const char *word,
                             berth_err *err)
{
	int32_t index;
	BERTH_TRY(intern(b, w, word, &index, err));
	return columns_set_int(&b->op, column, op, index + 1, err);
}

/* All of the spec but the name. */
static berth_status put_spec(berth_builder *b, size_t op, const berth_op_spec *s, berth_err *err)
{
	unsigned char backward = s->backward, dtype = s->dtype == BERTH_F32 ? 0 : (unsigned char)s->dtype;
	BERTH_TRY(put_word(b, &b->types, OP_TYPE, op, s->type, err));
	BERTH_TRY(put_word(b, &b->colocs, OP_COLOC, op, s->colocate, err));
	BERTH_TRY(put_word(b, &b->seps, OP_SEP, op, s->separate, err));
	BERTH_TRY(put_word(b, &b->devices, OP_PIN, op, s->pin, err));
	BERTH_TRY(columns_set_byte(&b->op, OP_BACKWARD, op, backward, err));
	BERTH_TRY(columns_set_double(&b->op, OP_FLOPS, op, s->flops, err));
	BERTH_TRY(columns_set_double(&b->op, OP_MACS, op, s->macs, err));
	BERTH_TRY(columns_set_long(&b->op, OP_READ, op, s->read_bytes, err));
	BERTH_TRY(columns_set_long(&b->op, OP_WRITE, op, s->write_bytes, err));
	BERTH_TRY(columns_set_long(&b->op, OP_PARAM, op, s->param_bytes, err));
	BERTH_TRY(columns_set_long(&b->op, OP_STATE, op, s->state_bytes, err));
	BERTH_TRY(columns_set_long(&b->op, OP_WORKSPACE, op, s->workspace_bytes, err));
	BERTH_TRY(columns_set_long(&b->op, OP_OUTPUT, op, s->output_bytes, err));
	BERTH_TRY(columns_set_byte(&b->op, OP_DTYPE, op, dtype, err));
	BERTH_TRY(columns_set_byte(&b->op, OP_DIMS, op, (unsigned char)s->dims.kind, err));
	for (int i = 0; berth_dims_key(s->dims.kind, i); i++)
		BERTH_TRY(columns_set_long(&b->op, OP_DIMS + 1 + i, op, s->dims.at[i], err));
	return BERTH_OK;
}

berth_status berth_builder_op(berth_builder *b, const berth_op_spec *spec, int32_t *op, berth_err *err)
{
	size_t row = b->op.n_rows;
	const char *name = spec->name;
	BERTH_TRY(check_spec(spec, name, err));
	if (row == MAX_ROWS)
		return berth_fail(err, BERTH_EFORMAT, "more than %d operators", MAX_ROWS);
	if (berth_name_index_get(&b->ops, name) >= 0)
		return berth_fail(err, BERTH_EFORMAT, "two operators are named '%s'; names must be unique",
		                  name);
	BERTH_TRY(columns_add(&b->op, err));
	BERTH_TRY(keep_text(b, &name, err));
	BERTH_TRY(columns_set_text(&b->op, OP_NAME, row, name, err));
	BERTH_TRY(put_spec(b, row, spec, err));
	return berth_name_index_add(&b->ops, op, err);
}

static const char *word_of(const berth_builder *b, const graph_words *w, int column, int32_t op)
{
	int32_t i = columns_int(&b->op, column, (size_t)op);
	return i ? graph_word(w, i - 1) : NULL;
}

void berth_builder_get(const berth_builder *b, int32_t op, berth_op_spec *out)
{
	size_t row = (size_t)op;
	*out = (berth_op_spec){.name = op_name(b, op),
	                       .type = word_of(b, &b->types, OP_TYPE, op),
	                       .colocate = word_of(b, &b->colocs, OP_COLOC, op),
	                       .separate = word_of(b, &b->seps, OP_SEP, op),
	                       .pin = word_of(b, &b->devices, OP_PIN, op),
	                       .backward = columns_byte(&b->op, OP_BACKWARD, row) != 0,
	                       .flops = columns_double(&b->op, OP_FLOPS, row),
	                       .macs = columns_double(&b->op, OP_MACS, row),
	                       .read_bytes = columns_long(&b->op, OP_READ, row),
	                       .write_bytes = columns_long(&b->op, OP_WRITE, row),
	                       .param_bytes = columns_long(&b->op, OP_PARAM, row),
	                       .state_bytes = columns_long(&b->op, OP_STATE, row),
	                       .workspace_bytes = columns_long(&b->op, OP_WORKSPACE, row),
	                       .output_bytes = columns_long(&b->op, OP_OUTPUT, row),
	                       .dtype = (berth_precision)columns_byte(&b->op, OP_DTYPE, row),
	                       .dims = graph_dims(b, row)};
}

berth_status berth_builder_set(berth_builder *b, int32_t op, const berth_op_spec *spec, berth_err *err)
{
	BERTH_TRY(check_spec(spec, op_name(b, op), err));
	return put_spec(b, (size_t)op, spec, err);
}

int32_t berth_builder_find(const berth_builder *b, const char *name)
{
	return berth_name_index_get(&b->ops, name);
}

/* ---- what is attached to them ---- */

/* One more time or forbidden device of op: they come operator by operator. */
static berth_status check_many(const berth_builder *b, const columns *list, int32_t op, const char *what,
                               berth_err *err)
{
	size_t row = list->n_rows;
	if (row < MAX_DEVICES || columns_int(list, PAIR_AT, row - MAX_DEVICES) != op)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "operator '%s' has more than %d %s", op_name(b, op),
	                  MAX_DEVICES, what);
}

static berth_status attach(columns *list, int32_t at, int32_t what, double seconds, berth_err *err)
{
	size_t row = list->n_rows;
	if (row == MAX_ROWS)
		return berth_fail(err, BERTH_EFORMAT, "more than %d attributes of one kind", MAX_ROWS);
	BERTH_TRY(columns_add(list, err));
	BERTH_TRY(columns_set_int(list, PAIR_AT, row, at, err));
	BERTH_TRY(columns_set_int(list, PAIR_WHAT, row, what, err));
	return columns_set_double(list, PAIR_SECONDS, row, seconds, err);
}

berth_status berth_builder_time(berth_builder *b, int32_t op, const char *key, double seconds, berth_err *err)
{
	int32_t index;
	if (!isnan(seconds) && !(seconds >= 0 && seconds <= BERTH_MOST_OP_S))
		return berth_fail(err, BERTH_EFORMAT,
		                  "operator '%s': time_s of '%s' is %g; expected 0 to %g seconds",
		                  op_name(b, op), key, seconds, BERTH_MOST_OP_S);
	BERTH_TRY(check_many(b, &b->time, op, "times", err));
	BERTH_TRY(intern(b, &b->devices, key, &index, err));
	return attach(&b->time, op, index, seconds, err);
}

berth_status berth_builder_forbid(berth_builder *b, int32_t op, const char *device, berth_err *err)
{
	int32_t index;
	BERTH_TRY(check_many(b, &b->forbid, op, "forbidden devices", err));
	BERTH_TRY(intern(b, &b->devices, device, &index, err));
	return attach(&b->forbid, op, index, 0, err);
}

berth_status berth_builder_param(berth_builder *b, const char *name, int64_t bytes, int32_t *param,
                                 berth_err *err)
{
	size_t row = b->param.n_rows;
	if (bytes < 0 || bytes > GRAPH_MAX_BYTES)
		return berth_fail(err, BERTH_EFORMAT, "parameter '%s': %lld bytes; expected 0 to 2^53", name,
		                  (long long)bytes);
	if (row == MAX_ROWS)
		return berth_fail(err, BERTH_EFORMAT, "more than %d parameters", MAX_ROWS);
	if (berth_name_index_get(&b->params, name) >= 0)
		return berth_fail(err, BERTH_EFORMAT, "two parameters are named '%s'; names must be unique",
		                  name);
	BERTH_TRY(columns_add(&b->param, err));
	BERTH_TRY(keep_text(b, &name, err));
	BERTH_TRY(columns_set_text(&b->param, PARAM_NAME, row, name, err));
	BERTH_TRY(columns_set_long(&b->param, PARAM_BYTES, row, bytes, err));
	return berth_name_index_add(&b->params, param, err);
}

berth_status berth_builder_param_use(berth_builder *b, int32_t param, int32_t op, berth_err *err)
{
	return attach(&b->use, param, op, 0, err);
}

/* ---- edges ---- */

static berth_status check_edge(const berth_builder *b, int32_t from, int32_t to, int64_t bytes,
                               berth_err *err)
{
	if (bytes >= 0 && bytes <= GRAPH_MAX_BYTES)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "edge from '%s' to '%s': %lld bytes; expected 0 to 2^53",
	                  op_name(b, from), op_name(b, to), (long long)bytes);
}

static berth_status put_edge(berth_builder *b, size_t e, int64_t bytes, const char *tensor, berth_err *err)
{
	/* A copy of the tensor's name, the same one as long as edges of one tensor follow each other. */
	if (tensor && b->last_tensor && strcmp(tensor, b->last_tensor) == 0)
		tensor = b->last_tensor;
	else
		BERTH_TRY(keep_text(b, &tensor, err));
	b->last_tensor = tensor ? tensor : b->last_tensor;
	BERTH_TRY(columns_set_long(&b->edge, EDGE_BYTES, e, bytes, err));
	return columns_set_text(&b->edge, EDGE_TENSOR, e, tensor, err);
}

static berth_status add_edge(berth_builder *b, int32_t from, int32_t to, int64_t bytes, const char *tensor,
                             berth_err *err)
{
	size_t row = b->edge.n_rows;
	if (row == MAX_ROWS)
		return berth_fail(err, BERTH_EFORMAT, "more than %d edges", MAX_ROWS);
	BERTH_TRY(columns_add(&b->edge, err));
	BERTH_TRY(columns_set_int(&b->edge, EDGE_FROM, row, from, err));
	BERTH_TRY(columns_set_int(&b->edge, EDGE_TO, row, to, err));
	return put_edge(b, row, bytes, tensor, err);
}

berth_status berth_builder_edge(berth_builder *b, int32_t from, int32_t to, int64_t bytes, const char *tensor,
                                berth_err *err)
{
	BERTH_TRY(check_edge(b, from, to, bytes, err));
	return add_edge(b, from, to, bytes, tensor, err);
}

berth_status berth_builder_own_edge(berth_builder *b, int32_t from, int32_t to, int64_t bytes, berth_err *err)
{
	BERTH_TRY(check_edge(b, from, to, bytes, err));
	return add_edge(b, from, to, bytes | GRAPH_OWN, NULL, err);
}

void berth_builder_merge(berth_builder *b, berth_merge how)
{
	b->merge = how;
}

int32_t berth_builder_ops(const berth_builder *b)
{
	return (int32_t)b->op.n_rows;
}

int32_t berth_builder_edges(const berth_builder *b)
{
	return (int32_t)b->edge.n_rows;
}

berth_status berth_builder_set_edge(berth_builder *b, int32_t edge, int64_t bytes, const char *tensor,
                                    bool own, berth_err *err)
{
	size_t e = (size_t)edge;
	BERTH_TRY(check_edge(b, columns_int(&b->edge, EDGE_FROM, e), columns_int(&b->edge, EDGE_TO, e), bytes,
	                     err));
	return put_edge(b, e, own ? bytes | GRAPH_OWN : bytes, own ? NULL : tensor, err);
}

berth_status berth_builder_cut(berth_builder *b, double seconds, berth_err *err)
{
	size_t e = b->edge.n_rows - 1;
	if (seconds >= 0 && seconds < MAX_CUT_S)
		return columns_set_double(&b->edge, EDGE_CUT, e, seconds, err);
	return berth_fail(err, BERTH_EFORMAT, "edge from '%s' to '%s': a cut of %g s; expected 0 to %g",
	                  op_name(b, columns_int(&b->edge, EDGE_FROM, e)),
	                  op_name(b, columns_int(&b->edge, EDGE_TO, e)), seconds, MAX_CUT_S);
}

const char *graph_edge_tensor(const berth_builder *b, size_t e)
{
	const char *tensor = columns_text(&b->edge, EDGE_TENSOR, e);
	return columns_long(&b->edge, EDGE_BYTES, e) & GRAPH_OWN
	               ? op_name(b, columns_int(&b->edge, EDGE_TO, e))
	               : tensor;
}
