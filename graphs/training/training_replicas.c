/* Parameters that pieces of operators share, and updates of all parameters.
 *
 * Pieces of one operator that were cut along the batch, or any other axis that its weights do not have, use
 * the same weights. Each piece, or each run of pieces (berth_training_options.replicas), has a copy of them,
 * with an optimiser state of its own: a replica. Within a replica gradients add up in the state. Between
 * replicas they are summed in shares: of R replicas the i-th sums the i-th share of all R gradients and hands
 * it to the others' updates. What a replica sends is 2 (R - 1) / R of the parameter's bytes, as in any
 * all-reduce that sends no more than it must (Patarasu & Yuan, "Bandwidth optimal all-reduce algorithms for
 * clusters of workstations", JPDC 2009), without the order of a ring. */
#include "training_work.h"

/* ---- replicas by the names of pieces ---- */

/* Numbers of the pieces that the name tells, the last one by replicas; 0: none. */
static int64_t replica_of(char *name, int32_t replicas)
{
	int32_t of;
	size_t len;
	int32_t i = berth_piece_number(name, &of, &len);
	if (!i)
		return 0;
	int64_t r = replicas && replicas < of ? (int64_t)(i - 1) * replicas / of : i - 1;
	for (int64_t times = 1000; times < INT64_C(1) << 50; times *= 1000) {
		name[len] = '\0';
		i = berth_piece_number(name, NULL, &len);
		if (!i)
			break;
		r += times * i;
	}
	return r;
}

/* Does each of its inputs come from a piece, or a share of a sum? */
static bool takes_pieces(const berth_graph *g, int32_t op)
{
	bool all = g->op_in_off[op] < g->op_in_off[op + 1];
	for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1] && all; k++)
		all = berth_piece_is_part(g->op_name[g->tensor_producer[g->in_tensor[k]]]);
	return all;
}

/* A join of pieces that leaves the graph. Losses take the pieces. Other models have such names, too: it must
 * be what such a join is. */
static bool is_last_join(const berth_graph *g, int32_t op)
{
	const char *type = training_type_of(g, op);
	return berth_piece_is_join(g->op_name[op]) && type && strcmp(type, "Concat") == 0 &&
	       !berth_graph_has_weights(g, op) && g->op_output_bytes[op] > 0 &&
	       g->op_tensor_off[op] == g->op_tensor_off[op + 1] && takes_pieces(g, op);
}

berth_status training_name_replicas(trainer *t)
{
	int32_t n = 0;
	for (int32_t op = 0; op < t->g->n_ops; op++) {
		char *name = berth_arena_strdup(t->tmp, t->g->op_name[op]),
		     *again = berth_arena_strdup(t->tmp, t->g->op_name[op]);
		if (!name || !again)
			return berth_nomem(t->err);
		t->op_piece[op] = replica_of(name, 0);
		t->op_replica[op] = replica_of(again, t->opt->replicas);
		t->op_new[op] = is_last_join(t->g, op) ? -1 : n++;
	}
	return BERTH_OK;
}

/* ---- updates ---- */

static berth_status add_update(trainer *t, int32_t op, const char *base, const char *what, int64_t bytes,
                               int32_t *update)
{
	/* reads weights, gradient and state; writes weights and state */
	int64_t copies = training_optimizer_copies(t);
	berth_op_spec s = {.type = "OptimizerUpdate",
	                   .backward = true,
	                   .flops = (double)(bytes / t->opt->elem_bytes),
	                   .read_bytes = (copies + 1) * bytes,
	                   .write_bytes = copies * bytes,
	                   .dims = training_rows(t, op, bytes),
	                   .colocate = training_group_of(t, op)};
	return training_derive_light(t, op, base, what, s, update);
}

/* The gradient lies in the state: no bytes move. */
static berth_status gradient_edge(trainer *t, int32_t op, int32_t to)
{
	return berth_builder_edge(t->b, t->op_update_of[op], to, 0, t->op_update_tensor[op], t->err);
}

/* Of all gradients of the copy that `user` holds. */
static berth_status gradient_edges(trainer *t, int32_t param, int32_t user, int32_t to)
{
	const berth_graph *g = t->g;
	BERTH_EACH (i, g->param_op_off, param) {
		int32_t op = g->param_op[i];
		if (t->op_update_of[op] >= 0 && t->op_replica[op] == t->op_replica[user])
			BERTH_TRY(gradient_edge(t, op, to));
	}
	return BERTH_OK;
}

/* ---- all-reduce ---- */

typedef struct reduction {
	int32_t param, n; /* n copies */
	int32_t *user;    /* [n] */
	int32_t *ready;   /* [n] the copy's gradient is complete, as shares for the others */
	int32_t *sum;     /* [n] of a share */
} reduction;

static int64_t share(const trainer *t, const reduction *r, int32_t i)
{
	int64_t bytes = t->g->param_bytes[r->param], n = r->n;
	return bytes / n + (i < bytes % n);
}

/* "NAME/what i of n". */
static berth_status derive(trainer *t, const reduction *r, int32_t i, const char *what, berth_op_spec s,
                           int32_t *out)
{
	const char *numbered = berth_arena_printf(t->tmp, "%s %d of %d", what, (int)i + 1, (int)r->n);
	BERTH_TRY(berth_got(numbered, t->err));
	s.backward = true;
	s.colocate = training_group_of(t, r->user[i]);
	return training_derive_light(t, r->user[i], t->g->param_name[r->param], numbered, s, out);
}

/* The gradient of a copy is complete: what gives it, or a step behind all that add to it. */
static berth_status add_ready(trainer *t, reduction *r, int32_t i)
{
	int32_t n = 0, op = r->user[i];
	const berth_graph *g = t->g;
	BERTH_EACH (k, g->param_op_off, r->param)
		n += t->op_update_of[g->param_op[k]] >= 0 &&
		     t->op_replica[g->param_op[k]] == t->op_replica[op];
	r->ready[i] = t->op_update_of[op];
	if (n == 1)
		return BERTH_OK;
	berth_op_spec s = {.type = "GradSum"};
	BERTH_TRY(derive(t, r, i, "grad_sum", s, &r->ready[i]));
	return gradient_edges(t, r->param, op, r->ready[i]);
}

static berth_status add_reduction(trainer *t, reduction *r)
{
	int32_t update;
	const char *what;
	BERTH_TRY_NEW(t->tmp, r->n, t->err, r->ready, r->sum);
	for (int32_t i = 0; i < r->n; i++)
		BERTH_TRY(add_ready(t, r, i));
	for (int32_t i = 0; i < r->n; i++) {
		int64_t bytes = share(t, r, i);
		berth_op_spec s = {.type = "AllReduce",
		                   .flops = (double)(bytes / t->opt->elem_bytes) * (r->n - 1),
		                   .read_bytes = bytes * r->n,
		                   .write_bytes = bytes,
		                   .dims = BERTH_DIMS(ROWS, bytes / t->opt->elem_bytes, r->n)};
		BERTH_TRY(derive(t, r, i, "all_reduce", s, &r->sum[i]));
		for (int32_t k = 0; k < r->n; k++) {
			const char *name = berth_arena_printf(t->tmp, "%s/share %d",
			                                      t->g->param_name[r->param], (int)i + 1);
			BERTH_TRY(berth_got(name, t->err));
			BERTH_TRY(berth_builder_edge(t->b, r->ready[k], r->sum[i], k == i ? 0 : bytes, name,
			                             t->err));
		}
	}
	for (int32_t i = 0; i < r->n; i++) {
		if (!(what = berth_arena_printf(t->tmp, "update %d of %d", (int)i + 1, (int)r->n)))
			return berth_nomem(t->err);
		BERTH_TRY(add_update(t, r->user[i], t->g->param_name[r->param], what,
		                     t->g->param_bytes[r->param], &update));
		for (int32_t k = 0; k < r->n; k++)
			BERTH_TRY(berth_builder_edge(t->b, r->sum[k], update, share(t, r, k), NULL, t->err));
	}
	return BERTH_OK;
}

berth_status training_update(trainer *t)
{
	const berth_graph *g = t->g;
	int32_t update;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (t->op_update_of[op] >= 0 && g->op_param_bytes[op] > 0) {
			BERTH_TRY(add_update(t, op, g->op_name[op], "update", g->op_param_bytes[op],
			                     &update));
			BERTH_TRY(gradient_edge(t, op, update));
		}
	for (int32_t p = 0; p < g->n_params; p++) {
		reduction r = {.param = p};
		BERTH_TRY_NEW(t->tmp, g->param_op_off[p + 1] - g->param_op_off[p], t->err, r.user);
		/* The first active user of each copy that active users of the parameter hold, in the order of
		 * users. O(users * copies). */
		int32_t *user = r.user;
		int32_t n = 0;
		BERTH_EACH (i, g->param_op_off, p) {
			int32_t op = g->param_op[i], k = 0;
			while (k < n && t->op_replica[user[k]] != t->op_replica[op])
				k++;
			if (t->op_update_of[op] >= 0 && k == n)
				user[n++] = op;
		}
		r.n = n;
		if (r.n > 1)
			BERTH_TRY(add_reduction(t, &r));
		if (r.n != 1)
			continue;
		BERTH_TRY(add_update(t, r.user[0], g->param_name[p], "update", g->param_bytes[p], &update));
		BERTH_TRY(gradient_edges(t, p, r.user[0], update));
	}
	return BERTH_OK;
}
