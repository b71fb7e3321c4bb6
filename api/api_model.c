/* Models: from files, from bytes, and operator by operator. */
#include "api.h"

typedef berth_status model_maker(const void *from, berth_model *m, berth_arena *tmp, berth_err *err);

/* A new model that make fills. */
static berth_status new_model(model_maker *make, const void *from, berth_model **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_model *m = calloc(1, sizeof *m);
	BERTH_TRY(berth_got(m, err));
	berth_status st = make(from, m, &tmp, err);
	berth_arena_free(&tmp);
	GIVE(st, m, berth_model_free, out);
}

static berth_status load(const void *from, berth_model *m, berth_arena *tmp, berth_err *err)
{
	return berth_graph_load(from, NULL, &m->mem, tmp, &m->g, &m->report, err);
}

berth_status berth_model_load(const char *spec, berth_model **out, berth_err *err)
{
	return new_model(load, spec, out, err);
}

static berth_status parse(const void *from, berth_model *m, berth_arena *tmp, berth_err *err)
{
	const berth_content *c = from;
	return berth_graph_parse(c->name, c->data, c->size, NULL, &m->mem, tmp, &m->g, &m->report, err);
}

berth_status berth_model_parse(const char *name, const void *data, size_t size, berth_model **out,
                               berth_err *err)
{
	const berth_content from = {.name = name, .data = data, .size = size};
	return new_model(parse, &from, out, err);
}

void berth_model_free(berth_model *m)
{
	if (m)
		berth_arena_free(&m->mem);
	free(m);
}

const char *berth_model_name(const berth_model *m)
{
	return m->g.name;
}

int32_t berth_model_count(const berth_model *m)
{
	return m->g.n_ops;
}

const char *berth_model_op(const berth_model *m, int32_t op)
{
	return m->g.op_name[op];
}

int32_t berth_model_find(const berth_model *m, const char *name)
{
	return berth_graph_find(&m->g, name);
}

int32_t berth_model_warnings(const berth_model *m)
{
	return m->report.n_warnings;
}

const char *berth_model_warning(const berth_model *m, int32_t i)
{
	return m->report.warning[i];
}

/* ---- drafts ---- */

struct berth_draft {
	berth_arena mem;
	berth_builder *b;
};

berth_status berth_draft_new(const char *name, berth_draft **out, berth_err *err)
{
	berth_draft *d = calloc(1, sizeof *d);
	BERTH_TRY(berth_got(d, err));
	berth_status st = berth_builder_new(&d->mem, name ? name : "", &d->b, err);
	GIVE(st, d, berth_draft_free, out);
}

void berth_draft_free(berth_draft *d)
{
	if (d)
		berth_arena_free(&d->mem);
	free(d);
}

/* What is wrong with a draft is a wrong argument: there is no file. */
static berth_status said(berth_status st, berth_err *err)
{
	return st == BERTH_EFORMAT ? berth_fail_in(err, BERTH_EINVAL, "draft: ") : st;
}

/* A draft takes no more once it is a model. */
static berth_status check_open(const berth_draft *d, berth_err *err)
{
	return d->b ? BERTH_OK : berth_fail(err, BERTH_EINVAL, "draft: it was made a model already");
}

berth_status berth_draft_op(berth_draft *d, const berth_op *op, int32_t *index, berth_err *err)
{
	berth_op_spec spec = {.name = op->name,
	                      .type = op->type,
	                      .flops = op->flops,
	                      .read_bytes = op->read_bytes,
	                      .write_bytes = op->write_bytes,
	                      .param_bytes = op->param_bytes,
	                      .state_bytes = op->state_bytes,
	                      .workspace_bytes = op->workspace_bytes,
	                      .output_bytes = op->output_bytes,
	                      .colocate = op->colocate,
	                      .separate = op->separate,
	                      .pin = op->pin,
	                      .backward = op->backward};
	BERTH_TRY(check_open(d, err));
	if (!spec.name)
		return berth_fail(err, BERTH_EINVAL, "draft: an operator without a name");
	if (op->dtype)
		BERTH_TRY(said(berth_precision_find(op->dtype, &spec.dtype, err), err));
	if (op->dims)
		BERTH_TRY(said(berth_dims_parse(op->dims, &spec.dims, err), err));
	return said(berth_builder_op(d->b, &spec, index, err), err);
}

/* Is op an operator of the draft? */
static berth_status check_op(const berth_draft *d, int32_t op, berth_err *err)
{
	int32_t n = d->b ? berth_builder_ops(d->b) : 0;
	BERTH_TRY(check_open(d, err));
	return op >= 0 && op < n
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL, "draft: %d is no operator; there are %d so far",
	                            (int)op, (int)n);
}

berth_status berth_draft_edge(berth_draft *d, int32_t from, int32_t to, int64_t bytes, const char *tensor,
                              berth_err *err)
{
	BERTH_TRY(check_op(d, from, err));
	BERTH_TRY(check_op(d, to, err));
	return said(berth_builder_edge(d->b, from, to, bytes, tensor, err), err);
}

berth_status berth_draft_time(berth_draft *d, int32_t op, const char *device, double seconds, berth_err *err)
{
	BERTH_TRY(check_op(d, op, err));
	return said(berth_builder_time(d->b, op, device ? device : "*", seconds, err), err);
}

berth_status berth_draft_forbid(berth_draft *d, int32_t op, const char *device, berth_err *err)
{
	BERTH_TRY(check_op(d, op, err));
	return said(berth_builder_forbid(d->b, op, device, err), err);
}

berth_status berth_draft_shared(berth_draft *d, const char *name, int64_t bytes, const int32_t *op, int32_t n,
                                berth_err *err)
{
	int32_t param;
	BERTH_TRY(check_open(d, err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(check_op(d, op[i], err));
	BERTH_TRY(said(berth_builder_param(d->b, name, bytes, &param, err), err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(said(berth_builder_param_use(d->b, param, op[i], err), err));
	return BERTH_OK;
}

static berth_status finish(const void *from, berth_model *m, berth_arena *tmp, berth_err *err)
{
	berth_builder *const *b = from;
	(void)tmp;
	return said(berth_builder_finish(*b, &m->mem, &m->g, err), err);
}

berth_status berth_draft_model(berth_draft *d, berth_model **out, berth_err *err)
{
	berth_builder *b = d->b;
	BERTH_TRY(check_open(d, err));
	d->b = NULL;
	return new_model(finish, &b, out, err);
}
