/* PEFT: H. Arabnejad, J. G. Barbosa, "List scheduling algorithm for heterogeneous systems by an optimistic
 * cost table", IEEE TPDS 25(3), 2014. Ready operators go by the mean of their row of the table over the
 * devices that can run them. Each goes to the device where its finish plus the table's entry is least, in
 * idle gaps too. O(edges * devs^2). Memory is kept as offer_schedule.h says. */
#include "ceft.h"
#include "list.h"
#include "method.h"
#include "offer_schedule.h"

typedef struct peft {
	const berth_problem *p;
	int64_t *tail_ns; /* [n_ops][n_devs] the optimistic cost table */
	int64_t *op_key;  /* [n_ops] */
} peft;

static int64_t score(void *ctx, berth_partial *part, int32_t op, int32_t dev, int64_t start_ns,
                     int64_t end_ns)
{
	const peft *x = ctx;
	(void)part;
	(void)start_ns;
	return end_ns + x->tail_ns[(size_t)op * (size_t)x->p->n_devs + (size_t)dev];
}

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	peft *x = ctx;
	return berth_list_schedule(part, x->p, x->op_key, true, NULL, score, x, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	peft x = {.p = s->p};
	size_t devs = (size_t)s->p->n_devs;
	BERTH_TRY(BERTH_NEW(tmp, x.tail_ns, (size_t)s->p->n_ops * devs, err));
	BERTH_TRY(BERTH_NEW(tmp, x.op_key, s->p->n_ops, err));
	berth_ceft_tails(s->p, NULL, x.tail_ns);
	for (int32_t op = 0; op < s->p->n_ops; op++) {
		int64_t sum = 0, n = 0;
		for (int32_t d = 0; d < s->p->n_devs; d++)
			if (berth_op_legal(s->p, op, d)) {
				sum += x.tail_ns[(size_t)op * devs + (size_t)d];
				n++;
			}
		x.op_key[op] = n ? sum / n : 0;
	}
	return berth_offer_schedule(s, schedule, &x, tmp, err);
}

const berth_method berth_method_peft = {
	"peft", "Predict earliest finish time by an optimistic cost table (Arabnejad, Barbosa 2014).", false,
	run, NULL};
