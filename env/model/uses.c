/* Weights of the uses of a language model, and operator times mixed by them. */
#include "uses.h"

#include "array.h"
#include "text.h"

#include <math.h>
#include <string.h>

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

/* Operators of p are in the order of the program, and so are those of read. */
static void add_reading(const berth_problem *read, const int32_t *twin, double share, double *sum)
{
	int32_t last = 0;
	for (int32_t k = 0; k < read->n_ops; k++) {
		int32_t op = read->g->topo_op[k];
		last = twin[op] >= 0 ? twin[op] : last;
		for (int32_t d = 0; d < read->n_devs; d++) {
			double *at = &BERTH_ROW(sum, last, read->n_devs)[d];
			int64_t ns = berth_op_time(read, op, d);
			*at = ns < 0 ? NAN : *at + share * (double)ns;
		}
	}
}

berth_status berth_uses_mix(const berth_uses *u, berth_problem *p, const berth_problem *read,
                            const int32_t *twin, int64_t chunk, berth_arena *mem, berth_err *err)
{
	double *sum;
	int64_t *mixed;
	size_t n = (size_t)p->n_ops * (size_t)p->n_devs;
	if (!(u->read > 0))
		return BERTH_OK;
	BERTH_TRY_NEW(mem, n, err, sum, mixed);
	for (size_t i = 0; i < n; i++)
		sum[i] = p->op_dev_time_ns[i] < 0 ? NAN : u->answer * (double)p->op_dev_time_ns[i];
	add_reading(read, twin, u->read / (double)chunk, sum);
	for (size_t i = 0; i < n; i++)
		mixed[i] = isnan(sum[i]) ? -1 : llround(sum[i]);
	p->op_dev_time_ns = mixed;
	return BERTH_OK;
}
