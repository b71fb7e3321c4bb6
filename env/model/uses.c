/* Weights of the uses of a language model, and operator times mixed by them. */
#include "uses.h"

static const char expected[] = "expected weights of 0 and more, as in answer:0.8,read:0.2";

static berth_status refuse(const char *text, berth_err *err)
{
	return berth_fail(err, BERTH_EINVAL, "uses '%.80s'; %s", text, expected);
}

berth_status berth_uses_parse(const char *text, berth_uses *out, berth_err *err)
{
	double weight[2] = {0, 0};
	static const char *const name[] = {"answer:", "read:"};
	*out = (berth_uses){.answer = 1};
	for (const char *at = text; at && *at;) {
		size_t n = strcspn(at, ",");
		int which = strncmp(at, name[0], strlen(name[0])) == 0 ? 0 : 1;
		size_t head = strlen(name[which]);
		const char *end = at;
		if (strncmp(at, name[which], head) == 0)
			weight[which] = berth_text_number(at + head, &end);
		if (end != at + n || !(weight[which] >= 0))
			return refuse(text, err);
		at += n + (at[n] == ',');
	}
	double sum = weight[0] + weight[1];
	if (!text)
		return BERTH_OK;
	if (!(sum > 0) || isinf(sum))
		return refuse(text, err);
	*out = (berth_uses){weight[0] / sum, weight[1] / sum};
	return BERTH_OK;
}

/* Nanoseconds of each operator on each device [n_ops][n_devs]: as times, or as loads of memory pools.
 * Operators of p are in the order of the program, and so are those of read. Negative: cannot run. */
static void mix_table(const berth_uses *u, double share, const int64_t *of_p, size_t n,
                      const berth_problem *read, const int64_t *of_read, const int32_t *twin, double *sum)
{
	int32_t last = 0;
	for (size_t i = 0; i < n; i++)
		sum[i] = of_p[i] < 0 ? NAN : u->answer * (double)of_p[i];
	for (int32_t k = 0; k < read->n_ops; k++) {
		int32_t op = read->g->topo_op[k];
		last = twin[op] >= 0 ? twin[op] : last;
		for (int32_t d = 0; d < read->n_devs; d++) {
			double *at = &BERTH_ROW(sum, last, read->n_devs)[d];
			int64_t ns = BERTH_ROW(of_read, op, read->n_devs)[d];
			*at = ns < 0 ? NAN : *at + share * (double)ns;
		}
	}
}

/* What a mean token loads memory pools with: no longer than it takes. sum: [n] ns of the whole pool. */
static berth_status mix_loads(berth_problem *p, const double *sum, berth_arena *mem, berth_err *err)
{
	size_t n = (size_t)p->n_ops * (size_t)p->n_devs;
	BERTH_TRY_NEW(mem, n, err, p->op_dev_pool_ns, p->op_dev_demand);
	for (size_t i = 0; i < n; i++) {
		int32_t pool = berth_dev_pool(p, (int32_t)(i % (size_t)p->n_devs));
		double time = (double)p->op_dev_time_ns[i];
		if (pool < 0 || !(time > 0))
			continue;
		p->op_dev_pool_ns[i] = (int64_t)floor(fmin(sum[i], time));
		p->op_dev_demand[i] = p->pool_rate[pool] * fmin(sum[i] / time, 1);
	}
	return BERTH_OK;
}

berth_status berth_uses_mix(const berth_uses *u, berth_problem *p, const berth_problem *read,
                            const int32_t *twin, int64_t chunk, berth_arena *mem, berth_err *err)
{
	double *sum, share = u->read / (double)chunk;
	int64_t *mixed;
	size_t n = (size_t)p->n_ops * (size_t)p->n_devs;
	if (!(u->read > 0))
		return BERTH_OK;
	BERTH_TRY_NEW(mem, n, err, sum, mixed);
	mix_table(u, share, p->op_dev_time_ns, n, read, read->op_dev_time_ns, twin, sum);
	for (size_t i = 0; i < n; i++)
		mixed[i] = isnan(sum[i]) ? -1 : llround(sum[i]);
	p->op_dev_time_ns = mixed;
	if (!p->n_pools)
		return BERTH_OK;
	mix_table(u, share, p->op_dev_pool_ns, n, read, read->op_dev_pool_ns, twin, sum);
	return mix_loads(p, sum, mem, err);
}
