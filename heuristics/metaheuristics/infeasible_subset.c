/* Infeasible subsets; see infeasible_subset.h. They are made minimal as by U. Junker, "QuickXplain", AAAI
 * 2004: halves of the rules are proven against each other. */
#include "infeasible_subset.h"

#include "bounds.h"
#include "constraints.h"
#include "cost_model.h"

enum { MOST_SUBSETS_DEVS = 12, MOST_SINGLES = 400, MOST_PAIRS = 60 };

typedef struct finder {
	const berth_problem *p;
	const berth_objective *o;
	berth_arena *tmp;
	berth_rule *rule; /* [n] all rules */
	int32_t n;
	bool *on;        /* [n] those that a proof may use */
	bool *proven_on; /* [n] of the latest proof that was found */
	const berth_patience *until;
	bool over; /* and so no more proofs */
	berth_err *err;
} finder;

/* ---- the rules of a problem ---- */

static berth_status add(finder *f, size_t *cap, berth_rule rule)
{
	return BERTH_PUSH(f->tmp, f->rule, f->n, cap, f->err, rule);
}

static bool is_limited(const berth_problem *p, int32_t op)
{
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_time(p, op, d) < 0)
			return true;
	return false;
}

static berth_status list_op(finder *f, size_t *cap, int32_t op)
{
	const berth_graph *g = f->p->g;
	if (is_limited(f->p, op))
		BERTH_TRY(add(f, cap, (berth_rule){BERTH_VIOLATION_CANNOT_RUN, op, -1, -1, -1, -1}));
	if (g->op_pin[op])
		BERTH_TRY(add(f, cap,
		              (berth_rule){BERTH_VIOLATION_PIN, op,
		                           berth_system_find_dev(f->p->s, g->op_pin[op]), -1, -1, -1}));
	BERTH_EACH (i, g->op_forbid_off, op) {
		int32_t dev = berth_system_find_dev(f->p->s, g->forbid_dev[i]);
		if (dev >= 0)
			BERTH_TRY(add(f, cap, (berth_rule){BERTH_VIOLATION_FORBID, op, dev, -1, -1, -1}));
	}
	return BERTH_OK;
}

static berth_status list_rules(finder *f)
{
	const berth_problem *p = f->p;
	size_t cap = 0;
	for (int m = 0; m < BERTH_N_METRICS && f->o; m++)
		if (f->o->limits[m])
			BERTH_TRY(add(f, &cap, (berth_rule){BERTH_VIOLATION_LIMIT, -1, -1, -1, m, -1}));
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (p->s->dev_memory_bytes[d] >= 0)
			BERTH_TRY(add(f, &cap, (berth_rule){BERTH_VIOLATION_MEMORY, -1, d, -1, -1, -1}));
		if (p->s->dev_contiguous[d])
			BERTH_TRY(add(f, &cap, (berth_rule){BERTH_VIOLATION_CONTIGUITY, -1, d, -1, -1, -1}));
	}
	for (int32_t q = 0; q < p->n_pools; q++)
		if (p->s->pool_bytes[q] >= 0)
			BERTH_TRY(add(f, &cap, (berth_rule){BERTH_VIOLATION_POOL, -1, -1, -1, -1, q}));
	if (p->max_cuts >= 0)
		BERTH_TRY(add(f, &cap, (berth_rule){BERTH_VIOLATION_CUTS, -1, -1, -1, -1, -1}));
	for (int32_t i = 0; i < p->g->n_seps; i++)
		BERTH_TRY(add(f, &cap, (berth_rule){BERTH_VIOLATION_SEPARATION, -1, -1, i, -1, -1}));
	for (int32_t i = 0; i < p->g->n_coloc_names; i++)
		BERTH_TRY(add(f, &cap, (berth_rule){BERTH_VIOLATION_COLOCATION, -1, -1, i, -1, -1}));
	for (int32_t op = 0; op < p->n_ops; op++)
		BERTH_TRY(list_op(f, &cap, op));
	BERTH_TRY_NEW(f->tmp, f->n, f->err, f->proven_on);
	return BERTH_NEW(f->tmp, f->on, f->n, f->err);
}

/* ---- a problem with fewer rules ---- */

#define COPY(to, from, n)                                                                                    \
	do {                                                                                                 \
		BERTH_TRY(BERTH_NEW(mem, (to), (n), err));                                                   \
		if ((n) > 0)                                                                                 \
			BERTH_COPY((to), (from), n);                                    \
	} while (0)

/* Copies whose rules can be taken away. */
static berth_status copies(const berth_problem *p, berth_arena *mem, berth_graph *g, berth_system *s,
                           berth_err *err)
{
	*g = *p->g;
	*s = *p->s;
	COPY(g->op_pin, p->g->op_pin, p->n_ops);
	COPY(g->op_coloc_name, p->g->op_coloc_name, p->n_ops);
	COPY(g->op_sep, p->g->op_sep, p->n_ops);
	COPY(g->forbid_dev, p->g->forbid_dev, p->g->n_forbids);
	COPY(s->dev_memory_bytes, p->s->dev_memory_bytes, p->n_devs);
	COPY(s->dev_contiguous, p->s->dev_contiguous, p->n_devs);
	COPY(s->pool_bytes, p->s->pool_bytes, p->n_pools);
	return BERTH_OK;
}

static void drop_group(int32_t *op_group, int32_t n_ops, int32_t group)
{
	for (int32_t op = 0; op < n_ops; op++)
		if (op_group[op] == group)
			op_group[op] = -1;
}

static void drop(const berth_rule *r, berth_graph *g, berth_system *s)
{
	switch (r->kind) {
	case BERTH_VIOLATION_PIN:
		g->op_pin[r->op] = NULL;
		return;
	case BERTH_VIOLATION_FORBID:
		BERTH_EACH (i, g->op_forbid_off, r->op)
			if (strcmp(g->forbid_dev[i], s->dev_name[r->dev]) == 0)
				g->forbid_dev[i] = ""; /* no device is called so */
		return;
	case BERTH_VIOLATION_COLOCATION:
		drop_group(g->op_coloc_name, g->n_ops, r->group);
		return;
	case BERTH_VIOLATION_SEPARATION:
		drop_group(g->op_sep, g->n_ops, r->group);
		return;
	case BERTH_VIOLATION_CONTIGUITY:
		s->dev_contiguous[r->dev] = false;
		return;
	case BERTH_VIOLATION_CUTS:
		g->op_block = NULL;
		return;
	case BERTH_VIOLATION_MEMORY:
		s->dev_memory_bytes[r->dev] = -1;
		return;
	case BERTH_VIOLATION_POOL:
		s->pool_bytes[r->pool] = -1;
		return;
	default:
		return;
	}
}

berth_status berth_rule_drop(const berth_problem *p, const berth_rule *rule, berth_arena *mem, berth_graph *g,
                             berth_system *s, berth_err *err)
{
	BERTH_TRY(copies(p, mem, g, s, err));
	drop(rule, g, s);
	return BERTH_OK;
}

/* p with only the rules that are on; an operator whose CANNOT_RUN is off runs everywhere, at once. */
static berth_status restricted(const finder *f, berth_problem *q, berth_graph *g, berth_system *s)
{
	berth_arena *mem = f->tmp;
	berth_err *err = f->err;
	size_t n = (size_t)f->p->n_devs;
	BERTH_TRY(copies(f->p, mem, g, s, err));
	*q = *f->p;
	q->g = g;
	q->s = s;
	q->n_colocs = q->n_pieces = 0;
	COPY(q->op_dev_time_ns, f->p->op_dev_time_ns, (size_t)f->p->n_ops * n);
	for (int32_t i = 0; i < f->n; i++) {
		if (f->on[i])
			continue;
		drop(&f->rule[i], g, s);
		for (size_t d = 0; f->rule[i].kind == BERTH_VIOLATION_CANNOT_RUN && d < n; d++) {
			int64_t *ns = &q->op_dev_time_ns[(size_t)f->rule[i].op * n + d];
			*ns = *ns < 0 ? 0 : *ns;
		}
	}
	return berth_constraints_compile(q, mem, mem, err);
}

/* ---- proofs ---- */

static bool lacks_device(const berth_problem *q)
{
	for (int32_t op = 0; op < q->n_ops; op++) {
		bool any = false;
		for (int32_t d = 0; d < q->n_devs; d++)
			any |= berth_op_legal(q, op, d);
		if (!any)
			return true;
	}
	return false;
}

/* What stays on the operator's device to the end of the run, and what is there beside it while it runs.
 * Without memory over time, parameters and state alone count. */
static int64_t output_bytes(const berth_problem *q, int32_t op)
{
	return q->s->cost_model->memory_over_time ? q->g->op_output_bytes[op] : 0;
}

static int64_t kept_bytes(const berth_problem *q, int32_t op)
{
	return q->g->op_param_bytes[op] + q->g->op_state_bytes[op] + output_bytes(q, op);
}

static int64_t passing_bytes(const berth_problem *q, int32_t op)
{
	const berth_graph *g = q->g;
	int64_t bytes = g->op_workspace_bytes[op];
	if (!q->s->cost_model->memory_over_time)
		return 0;
	BERTH_EACH (t, g->op_tensor_off, op)
		bytes += g->tensor_bytes[t];
	BERTH_EACH (i, g->op_in_off, op)
		bytes += g->tensor_bytes[g->in_tensor[i]];
	return bytes;
}

/* Bytes that dev holds at least while op runs there: parameters and state of its colocation group, and what
 * passes. */
static int64_t around_bytes(const berth_problem *q, int32_t op)
{
	const berth_graph *g = q->g;
	int32_t coloc = q->op_coloc[op];
	int64_t bytes = passing_bytes(q, op) + output_bytes(q, op);
	BERTH_EACH (i, q->coloc_off, coloc)
		bytes += g->op_param_bytes[q->coloc_op[i]] + g->op_state_bytes[q->coloc_op[i]];
	BERTH_EACH (i, g->op_param_off, op)
		bytes += g->param_bytes[g->op_param[i]];
	return bytes;
}

static bool holds(const berth_problem *q, int32_t k, int64_t bytes)
{
	return berth_limit_bytes(q, k) < 0 || bytes <= berth_limit_bytes(q, k);
}

/* Is k the device dev, or its pool? */
static bool limits(const berth_problem *q, int32_t k, int32_t dev)
{
	return k == dev || (berth_dev_pool(q, dev) >= 0 && k == q->n_devs + berth_dev_pool(q, dev));
}

/* Do dev and its pool hold so many bytes? The limit of `free` is not asked for. */
static bool dev_holds(const berth_problem *q, int32_t dev, int64_t bytes, int32_t free)
{
	int32_t pool = berth_dev_pool(q, dev);
	return (dev == free || holds(q, dev, bytes)) &&
	       (pool < 0 || q->n_devs + pool == free || holds(q, q->n_devs + pool, bytes));
}

/* Does an operator find no device that can hold what it needs around it? Raises *least of k to what it would
 * need, where devices that k limits are its only hope. */
static bool lacks_room(const berth_problem *q, int32_t k, int64_t *least)
{
	bool lacks = false;
	for (int32_t op = 0; op < q->n_ops; op++) {
		int64_t bytes = around_bytes(q, op);
		bool elsewhere = false, here = false, somewhere = false;
		for (int32_t d = 0; d < q->n_devs && !elsewhere; d++) {
			if (!berth_op_legal(q, op, d))
				continue;
			bool there = dev_holds(q, d, bytes, -1);
			somewhere |= there;
			elsewhere = there && !limits(q, k, d);
			here |= limits(q, k, d) && dev_holds(q, d, bytes, k);
		}
		lacks |= !somewhere;
		if (here && !elsewhere && least && bytes > *least)
			*least = bytes;
	}
	return lacks;
}

/* The devices where op is legal and there is room for what it needs around it, whatever the limit of k. */
static size_t could_stand(const berth_problem *q, int32_t op, int32_t k)
{
	int64_t bytes = around_bytes(q, op);
	size_t mask = 0;
	for (int32_t d = 0; d < q->n_devs; d++)
		mask |= (size_t)(berth_op_legal(q, op, d) && dev_holds(q, d, bytes, k)) << d;
	return mask;
}

/* The sum of two sizes, or the lesser; below 0: no limit. */
static int64_t more_of(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

/* What the devices of the mask hold together, if k has the limit `own`. Below 0: there is no limit. */
static int64_t room_of(const berth_problem *q, size_t mask, int32_t k, int64_t own)
{
	int64_t room = 0;
	for (int32_t pool = -1; pool < q->n_pools; pool++) {
		int64_t members = 0;
		bool any = false;
		for (int32_t d = 0; d < q->n_devs; d++)
			if ((mask >> d & 1) && berth_dev_pool(q, d) == pool) {
				members = more_of(members, d == k ? own : berth_limit_bytes(q, d));
				any = true;
			}
		if (pool >= 0 && any) {
			int64_t b = q->n_devs + pool == k ? own : berth_limit_bytes(q, q->n_devs + pool);
			members = members < 0 || (b >= 0 && b < members) ? b : members;
		}
		room = more_of(room, members);
	}
	return room;
}

/* Do operators that can only stand on a set of devices keep more there than these have? mask_bytes is scratch
 * [2^devs]. Raises *least of k as above: with a limit x of k the devices have the lesser of what they have
 * with none, and x more than with 0. */
static bool lacks_total(const berth_problem *q, int32_t k, int64_t *least, int64_t *mask_bytes)
{
	bool lacks = false;
	/* mask_bytes out [2^devs]: what stays for good on devices of each set, as it can stand on no
	 * others. */
	const berth_graph *g = q->g;
	size_t n_masks = (size_t)1 << q->n_devs;
	BERTH_CLEAR(mask_bytes, n_masks);
	for (int32_t op = 0; op < q->n_ops; op++)
		mask_bytes[could_stand(q, op, k)] += kept_bytes(q, op);
	for (int32_t i = 0; i < g->n_params; i++) {
		size_t mask = 0;
		BERTH_EACH (u, g->param_op_off, i)
			mask |= could_stand(q, g->param_op[u], k);
		mask_bytes[mask] += g->param_bytes[i];
	}
	for (int32_t d = 0; d < q->n_devs; d++)
		for (size_t mask = 0; mask < n_masks; mask++)
			if (mask >> d & 1)
				mask_bytes[mask] += mask_bytes[mask ^ ((size_t)1 << d)];
	for (size_t mask = 1; mask < (size_t)1 << q->n_devs; mask++) {
		int64_t room = room_of(q, mask, -1, 0), most = room_of(q, mask, k, -1),
			least_room = room_of(q, mask, k, 0);
		lacks |= room >= 0 && mask_bytes[mask] > room;
		bool with_k = least_room >= 0 && (most < 0 || most > least_room);
		if (!with_k || (most >= 0 && mask_bytes[mask] > most))
			continue;
		if (least && mask_bytes[mask] - least_room > *least)
			*least = mask_bytes[mask] - least_room;
	}
	return lacks;
}

/* Stages are one more than cuts. Do the devices with the most memory, as many as there may be stages, have
 * too little together for what stays? */
static bool lacks_stages(const berth_problem *q)
{
	const berth_graph *g = q->g;
	int64_t need = 0, room = 0, last = INT64_MAX;
	int32_t from = q->n_devs;
	if (q->max_cuts < 0 || q->max_cuts + 1 >= q->n_devs)
		return false;
	for (int32_t op = 0; op < q->n_ops; op++)
		need += kept_bytes(q, op);
	for (int32_t i = 0; i < g->n_params; i++)
		need += g->param_bytes[i];
	for (int32_t k = 0; k <= q->max_cuts; k++) { /* devices by falling memory, equal ones by index */
		int32_t best = -1;
		for (int32_t d = 0; d < q->n_devs; d++) {
			int64_t here = berth_dev_most_bytes(q, d);
			bool left = here < last || (here == last && d > from);
			if (here < 0)
				return false;
			if (left && (best < 0 || here > berth_dev_most_bytes(q, best)))
				best = d;
		}
		last = berth_dev_most_bytes(q, best);
		from = best;
		room += last;
	}
	return need > room;
}

static berth_status memory_lacks(const berth_problem *q, int32_t k, int64_t *least, bool *out,
                                 berth_arena *tmp, berth_err *err)
{
	int64_t *mask_bytes;
	*out = lacks_room(q, k, least) || (k < 0 && lacks_stages(q));
	if (q->n_devs > MOST_SUBSETS_DEVS)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, (size_t)1 << q->n_devs, err, mask_bytes);
	*out |= lacks_total(q, k, least, mask_bytes);
	return BERTH_OK;
}

static berth_status limits_lack(const finder *f, const berth_problem *q, bool *out)
{
	berth_bounds b;
	if (!f->o)
		return BERTH_OK;
	berth_objective o = *f->o;
	memset(o.limits, 0, sizeof o.limits);
	for (int32_t i = 0; i < f->n; i++)
		if (f->on[i] && f->rule[i].kind == BERTH_VIOLATION_LIMIT)
			o.limits[f->rule[i].metric] = true;
	if (!berth_objective_has_limits(&o))
		return BERTH_OK;
	BERTH_TRY(berth_bounds_new(q, f->tmp, &b, f->err));
	return berth_bounds_limits_infeasible(q, &b, &o, f->tmp, out, f->err);
}

/* Is it proven that no placement keeps the rules that are on? Not where the time is over. */
static berth_status prove(finder *f, bool *out)
{
	*out = false;
	f->over = f->over || berth_patience_over(f->until);
	if (f->over)
		return BERTH_OK;
	BERTH_SCRATCH(f->tmp);
	berth_problem q;
	berth_graph g;
	berth_system s;
	BERTH_TRY(restricted(f, &q, &g, &s));
	*out = lacks_device(&q);
	if (!*out && q.coupled)
		BERTH_TRY(berth_constraints_prove(&q, f->tmp, out, f->err));
	if (!*out)
		BERTH_TRY(memory_lacks(&q, -1, NULL, out, f->tmp, f->err));
	BERTH_TRY(*out ? BERTH_OK : limits_lack(f, &q, out));
	if (*out && f->n)
		BERTH_COPY(f->proven_on, f->on, f->n);
	return BERTH_OK;
}

/* ---- the smallest set ---- */

/* Leave on, of rules [first, end), as few as are needed with all others that are on. fresh: these may be
 * enough without any. */
static berth_status reduce(finder *f, int32_t first, int32_t end, bool fresh)
{
	bool proven = false;
	if (fresh) {
		BERTH_CLEAR(f->on + first, end - first);
		BERTH_TRY(prove(f, &proven));
		if (proven)
			return BERTH_OK;
		memset(f->on + first, 1, (size_t)(end - first) * sizeof *f->on);
	}
	if (end - first == 1 || f->over)
		return BERTH_OK;
	int32_t middle = first + (end - first) / 2;
	BERTH_TRY(reduce(f, middle, end, true));
	return reduce(f, first, middle, true);
}

static void only(finder *f, int32_t a, int32_t b)
{
	BERTH_CLEAR(f->on, f->n);
	f->on[a] = true;
	if (b >= 0)
		f->on[b] = true;
}

/* Single rules that are infeasible by themselves; then pairs. *smallest: all that are smaller than size were
 * tried. */
static berth_status try_smaller(finder *f, int32_t size, bool *found, bool *smallest)
{
	*found = false;
	*smallest = size <= 1 || (f->n <= MOST_SINGLES && (size <= 2 || (f->n <= MOST_PAIRS && size <= 3)));
	for (int32_t a = 0; a < f->n && size > 1 && f->n <= MOST_SINGLES && !f->over; a++) {
		only(f, a, -1);
		BERTH_TRY(prove(f, found));
		if (*found)
			return BERTH_OK;
	}
	for (int32_t a = 0; a < f->n && size > 2 && f->n <= MOST_PAIRS && !f->over; a++)
		for (int32_t b = a + 1; b < f->n && !f->over; b++) {
			only(f, a, b);
			BERTH_TRY(prove(f, found));
			if (*found)
				return BERTH_OK;
		}
	return BERTH_OK;
}

/* ---- words ---- */

static const char *group_text(const berth_problem *p, const int32_t *op_group, int32_t group,
                              berth_arena *mem)
{
	const char *text = "";
	int32_t n = 0;
	for (int32_t op = 0; op < p->n_ops && text; op++)
		if (op_group[op] == group && n++ < 3)
			text = berth_arena_printf(mem, "%s%s'%s'", text, n > 1 ? ", " : "",
			                          p->g->op_name[op]);
	return n > 3 && text ? berth_arena_printf(mem, "%s and %d more", text, n - 3) : text;
}

static const char *runs_text(const berth_problem *p, int32_t op, berth_arena *mem)
{
	const char *text = "";
	for (int32_t d = 0, n = 0; d < p->n_devs && text; d++)
		if (berth_op_time(p, op, d) >= 0)
			text = berth_arena_printf(mem, "%s%s'%s'", text, n++ ? ", " : "", p->s->dev_name[d]);
	return text && *text ? berth_arena_printf(mem, "only on %s", text) : "nowhere";
}

static const char *rule_text(const berth_problem *p, const berth_objective *o, const berth_rule *r,
                             berth_arena *mem)
{
	const berth_graph *g = p->g;
	const char *name = r->op >= 0 ? g->op_name[r->op] : "",
		   *dev = r->dev >= 0 ? p->s->dev_name[r->dev] : "", *text;
	char buf[64];
	switch (r->kind) {
	case BERTH_VIOLATION_CANNOT_RUN:
		text = runs_text(p, r->op, mem);
		return text ? berth_arena_printf(mem, "operator '%s' runs %s", name, text) : NULL;
	case BERTH_VIOLATION_PIN:
		return berth_arena_printf(mem, "operator '%s' is pinned to '%s'", name, dev);
	case BERTH_VIOLATION_FORBID:
		return berth_arena_printf(mem, "'%s' is forbidden to operator '%s'", dev, name);
	case BERTH_VIOLATION_COLOCATION:
		text = group_text(p, g->op_coloc_name, r->group, mem);
		return text ? berth_arena_printf(mem, "%s '%s' stands together: %s", berth_coloc_called(g),
		                                 g->coloc_name[r->group], text)
		            : NULL;
	case BERTH_VIOLATION_SEPARATION:
		text = group_text(p, g->op_sep, r->group, mem);
		return text ? berth_arena_printf(mem, "separation group '%s' stands apart: %s",
		                                 g->sep_name[r->group], text)
		            : NULL;
	case BERTH_VIOLATION_CONTIGUITY:
		return berth_arena_printf(mem, "the operators on '%s' are contiguous", dev);
	case BERTH_VIOLATION_CUTS:
		return berth_arena_printf(mem, "at most %d border%s between blocks %s", p->max_cuts,
		                          p->max_cuts == 1 ? "" : "s",
		                          p->max_cuts == 1 ? "is a cut" : "are cuts");
	case BERTH_VIOLATION_MEMORY:
		return berth_arena_printf(mem, "'%s' has %s of memory", dev,
		                          berth_text_bytes_exact(buf, p->dev_limit_bytes[r->dev]));
	case BERTH_VIOLATION_POOL:
		return berth_arena_printf(mem, "memory pool '%s' has %s", p->s->pool_name[r->pool],
		                          berth_text_bytes_exact(buf, p->s->pool_bytes[r->pool]));
	default:
		return berth_arena_printf(
			mem, "%s is at most %s", berth_metrics[r->metric].name,
			berth_metric_text((berth_metric)r->metric, o->most[r->metric], buf));
	}
}

/* ---- all of it ---- */

/* memory_bytes of which what is left after the margin is `usable`. */
static int64_t with_margin(const berth_system *s, int32_t dev, int64_t usable)
{
	double margin = s->dev_memory_margin[dev];
	return margin > 0 ? (int64_t)ceil((double)usable / (1 - margin)) : usable;
}

static berth_status find(finder *f, berth_arena *mem, berth_infeasible_subset *c)
{
	bool found = false;
	*c = (berth_infeasible_subset){0};
	BERTH_TRY(list_rules(f));
	int32_t n = f->p->n_devs + f->p->n_pools;
	BERTH_TRY_NEW(mem, n, f->err, c->least_bytes);
	for (int32_t k = 0; k < n; k++) {
		int64_t least = -1;
		bool lacks;
		BERTH_TRY(memory_lacks(f->p, k, &least, &lacks, f->tmp, f->err));
		c->least_bytes[k] = least >= 0 && k < f->p->n_devs ? with_margin(f->p->s, k, least) : least;
	}
	memset(f->on, 1, (size_t)f->n * sizeof *f->on);
	BERTH_TRY(prove(f, &c->proven));
	c->cut_short = f->over;
	if (!c->proven || !f->n)
		return BERTH_OK;
	BERTH_TRY(reduce(f, 0, f->n, false));
	bool *kept;
	int32_t size = 0;
	BERTH_TRY_NEW(f->tmp, f->n, f->err, kept);
	BERTH_COPY(kept, f->over ? f->proven_on : f->on, f->n);
	for (int32_t i = 0; i < f->n; i++)
		size += kept[i];
	BERTH_TRY(try_smaller(f, size, &found, &c->smallest));
	c->smallest &= !f->over;
	c->cut_short = f->over;
	if (found)
		c->smallest = true; /* singles come before pairs */
	else
		BERTH_COPY(f->on, kept, f->n);
	for (int32_t i = 0; i < f->n; i++)
		c->n += f->on[i];
	BERTH_TRY_NEW(mem, c->n, f->err, c->rule, c->message);
	for (int32_t i = 0, k = 0; i < f->n; i++) {
		if (!f->on[i])
			continue;
		c->rule[k] = f->rule[i];
		BERTH_TRY(berth_got(c->message[k++] = rule_text(f->p, f->o, &f->rule[i], mem), f->err));
	}
	return BERTH_OK;
}

berth_status berth_infeasible_subset_find(const berth_problem *p, const berth_objective *o,
                                          const berth_patience *until, berth_arena *mem, berth_arena *tmp,
                                          berth_infeasible_subset *out, berth_err *err)
{
	finder f = {.p = p, .o = o, .until = until, .tmp = tmp, .err = err};
	berth_infeasible_subset c;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(find(&f, mem, &c));
	*out = c;
	return BERTH_OK;
}
