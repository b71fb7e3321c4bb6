/* What a plan takes in both uses of a model: the graphs of reading and answering, read once more from its
 * file, and placements of the plan's graph on them, by the names of operators. */
#include "llama_uses.h"

#include "array.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 512 };

static berth_status read_graph(const berth_export_source *x, berth_gguf_options opt, bool decode,
                               llama_uses *u, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                               berth_err *err)
{
	opt.decode = decode;
	opt.chunk = decode ? 0 : opt.chunk ? opt.chunk : CHUNK;
	berth_read_report r;
	BERTH_TRY(berth_gguf_graph(x->model, &opt, mem, tmp, out, &r, err));
	for (int32_t i = 0; i < r.n_dims; i++)
		if (!decode && strcmp(r.dim_name[i], "context") == 0)
			u->chunk = opt.chunk < r.dim_value[i] ? opt.chunk : r.dim_value[i];
	u->batch = opt.batch;
	return BERTH_OK;
}

/* The operator of `in` of each operator's name; -1: none. */
static berth_status find_names(const berth_graph *g, const berth_graph *in, int32_t *op, berth_arena *tmp,
                               berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_strmap names;
	BERTH_TRY(berth_graph_names(in, tmp, &names, err));
	for (int32_t i = 0; i < g->n_ops; i++)
		op[i] = berth_strmap_get(&names, g->op_name[i]);
	return BERTH_OK;
}

berth_status llama_uses_open(const berth_export_source *x, berth_arena *mem, berth_arena *tmp,
                             llama_uses *out, berth_err *err)
{
	berth_gguf_options opt;
	const berth_read_options *r = x->read;
	*out = (llama_uses){0};
	BERTH_TRY(berth_gguf_options_read(x->model->name, r ? r->dim : NULL, r ? r->n_dims : 0, mem, &opt,
	                                  err));
	BERTH_TRY(read_graph(x, opt, true, out, mem, tmp, &out->answer_g, err));
	BERTH_TRY(read_graph(x, opt, false, out, mem, tmp, &out->read_g, err));
	BERTH_TRY(berth_problem_new(&out->answer_g, x->s, mem, tmp, &out->answer, err));
	BERTH_TRY(berth_problem_new(&out->read_g, x->s, mem, tmp, &out->read, err));
	BERTH_TRY_NEW(mem, out->read_g.n_ops, err, out->twin, out->read_op);
	BERTH_TRY_NEW(mem, out->answer_g.n_ops, err, out->answer_op);
	BERTH_TRY(find_names(&out->read_g, &out->answer_g, out->twin, tmp, err));
	BERTH_TRY(find_names(&out->read_g, x->g, out->read_op, tmp, err));
	return find_names(&out->answer_g, x->g, out->answer_op, tmp, err);
}

/* Seconds of a placement of the plan's graph on p's, one operator after the other. An operator that the plan
 * does not have goes with what it takes. */
static berth_status serial_s(const berth_problem *p, const int32_t *plan_op, const int32_t *op_dev,
                             berth_arena *tmp, double *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	const berth_graph *g = p->g;
	int32_t *dev;
	BERTH_TRY_NEW(tmp, p->n_ops, err, dev);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k], first = g->op_in_off[op];
		dev[op] = plan_op[op] >= 0                ? op_dev[plan_op[op]]
		          : first < g->op_in_off[op + 1] ? dev[g->tensor_producer[g->in_tensor[first]]]
		                                          : 0;
		if (berth_op_time(p, op, dev[op]) < 0) {
			*out = NAN;
			return BERTH_OK;
		}
	}
	*out = berth_export_serial(p, dev);
	return BERTH_OK;
}

berth_status llama_uses_rates(const llama_uses *u, const int32_t *op_dev, berth_arena *tmp, double *answered,
                              double *read, berth_err *err)
{
	double seconds;
	BERTH_TRY(serial_s(&u->answer, u->answer_op, op_dev, tmp, &seconds, err));
	*answered = (double)u->batch / seconds;
	BERTH_TRY(serial_s(&u->read, u->read_op, op_dev, tmp, &seconds, err));
	*read = (double)(u->batch * u->chunk) / seconds;
	return BERTH_OK;
}

berth_status llama_uses_seconds(const llama_uses *u, const berth_uses *weights, const int32_t *op_dev,
                                berth_arena *tmp, double *seconds, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_problem mixed = u->answer;
	BERTH_TRY(berth_uses_mix(weights, &mixed, &u->read, u->twin, u->chunk, tmp, err));
	return serial_s(&mixed, u->answer_op, op_dev, tmp, seconds, err);
}
