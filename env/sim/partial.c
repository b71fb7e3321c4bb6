/* Partial schedules: which operators stand where and when, and what memory they may take. Idle gaps of slots
 * are idle.h's. */
#include "partial.h"

#include "idle.h"
#include "ready.h"

#define NEVER INT64_MAX
/* More than any memory, and than all bytes of a graph; three of it still fit. Devices of a pool hold twice as
 * much together, workspaces aside. */
#define MOST_BYTES (INT64_C(1) << 61)

typedef struct timed {
	int64_t start_ns;
	int32_t topo;
} timed;

struct berth_partial {
	const berth_problem *p;
	bool single_slots;  /* every device has one slot: slot d is device d's */
	bool asks_nothing;  /* neither memory nor separation can refuse a device */
	int32_t *slot_off;  /* [n_devs+1] slots of all devices; no device has more than there are operators */
	berth_idle idle;    /* of all slots */
	int64_t *start_ns, *end_ns; /* [n_ops] */
	int64_t length_ns;
	int64_t *ready_ns; /* [n_devs] scratch */
	timed *by_start;   /* [n_ops] scratch */

	int32_t *coloc_dev;     /* [n_colocs] */
	double share;           /* of tensors that berth_partial_fits counts; below 0: fits everywhere */
	int64_t *dev_kept;      /* [n_devs] parameters, state, outputs */
	int64_t *dev_moving;    /* [n_devs] tensors */
	int64_t *dev_workspace; /* [n_devs] the largest */
	int32_t *dev_ops;       /* [n_devs] bound operators */
	bool *sep_dev_taken;    /* [n_seps][n_devs] an operator of the separation group is bound there */
	size_t words;           /* of a set of devices */
	uint64_t *tensor_on;    /* [n_tensors][words] devices that hold it */
	uint64_t *param_on;     /* [n_params][words] devices that hold it */
	int64_t *tensor_seen, *param_seen; /* stamps of berth_partial_fits */
	int64_t *coloc_most; /* [n_colocs] bytes that a group adds to a device at most, but for workspaces */
	int64_t stamp;
};

/* ---- set-up ---- */

static berth_status new_memory(berth_partial *part, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = part->p->g;
	size_t devs = (size_t)part->p->n_devs;
	BERTH_TRY_NEW(mem, part->p->n_colocs, err, part->coloc_dev);
	BERTH_TRY_NEW(mem, devs, err, part->dev_kept, part->dev_moving, part->dev_workspace, part->dev_ops);
	BERTH_TRY_NEW(mem, (size_t)g->n_seps * devs, err, part->sep_dev_taken);
	if (part->p->memory_free)
		return BERTH_OK;
	part->words = (devs + 63) / 64;
	BERTH_TRY_NEW(mem, (size_t)g->n_tensors * part->words, err, part->tensor_on);
	BERTH_TRY_NEW(mem, (size_t)g->n_params * part->words, err, part->param_on);
	BERTH_TRY_NEW(mem, g->n_tensors, err, part->tensor_seen);
	BERTH_TRY_NEW(mem, part->p->n_colocs, err, part->coloc_most);
	return BERTH_NEW(mem, part->param_seen, g->n_params, err);
}

static void find_most(const berth_partial *part)
{
	const berth_graph *g = part->p->g;
	BERTH_CLEAR(part->coloc_most, part->p->n_colocs);
	for (int32_t op = 0; op < part->p->n_ops; op++) {
		int64_t *most = &part->coloc_most[part->p->op_coloc[op]];
		*most += g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op];
		BERTH_EACH (t, g->op_tensor_off, op)
			*most += g->tensor_bytes[t];
		BERTH_EACH (i, g->op_param_off, op)
			*most += g->param_bytes[g->op_param[i]];
		BERTH_EACH (i, g->op_in_off, op)
			*most += g->tensor_bytes[g->in_tensor[i]];
		/* What is shared was counted once per user. */
		*most = *most < MOST_BYTES ? *most : MOST_BYTES;
	}
}

berth_status berth_partial_new(const berth_problem *p, berth_arena *mem, berth_partial **out, berth_err *err)
{
	berth_partial *part;
	BERTH_TRY_NEW(mem, 1, err, part);
	part->p = p;
	part->share = 1;
	BERTH_TRY_NEW(mem, (size_t)p->n_devs + 1, err, part->slot_off);
	for (int32_t d = 0; d < p->n_devs; d++) {
		int32_t slots = p->s->dev_slots[d];
		int32_t most = p->n_ops > 0 ? p->n_ops : 1;
		part->slot_off[d + 1] = part->slot_off[d] + (slots < most ? slots : most);
	}
	part->single_slots = part->slot_off[p->n_devs] == p->n_devs;
	part->asks_nothing = p->memory_free && p->g->n_seps == 0;
	BERTH_TRY(berth_idle_new(part->slot_off[p->n_devs], (size_t)p->n_ops, mem, &part->idle, err));
	BERTH_TRY_NEW(mem, p->n_ops, err, part->start_ns, part->end_ns);
	BERTH_TRY_NEW(mem, p->n_devs, err, part->ready_ns);
	BERTH_TRY_NEW(mem, p->n_ops, err, part->by_start);
	BERTH_TRY(new_memory(part, mem, err));
	if (!p->memory_free)
		find_most(part);
	berth_partial_reset(part);
	*out = part;
	return BERTH_OK;
}

void berth_partial_reset(berth_partial *part)
{
	const berth_problem *p = part->p;
	size_t ops = (size_t)p->n_ops, devs = (size_t)p->n_devs;
	berth_idle_reset(&part->idle);
	part->length_ns = 0;
	memset(part->start_ns, -1, ops * sizeof *part->start_ns);
	memset(part->end_ns, -1, ops * sizeof *part->end_ns);
	memset(part->coloc_dev, -1, (size_t)p->n_colocs * sizeof *part->coloc_dev);
	BERTH_CLEAR(part->dev_kept, devs);
	BERTH_CLEAR(part->dev_moving, devs);
	BERTH_CLEAR(part->dev_workspace, devs);
	BERTH_CLEAR(part->dev_ops, devs);
	BERTH_CLEAR(part->sep_dev_taken, (size_t)p->g->n_seps * devs);
	if (p->memory_free)
		return;
	BERTH_CLEAR(part->tensor_on, (size_t)p->g->n_tensors * part->words);
	BERTH_CLEAR(part->param_on, (size_t)p->g->n_params * part->words);
}

/* ---- memory ---- */

static bool in_set(const uint64_t *set, int32_t dev)
{
	return set[dev / 64] >> (dev % 64) & 1;
}

/* Bytes that the set of holders grows by on dev. */
static int64_t hold(uint64_t *set, int32_t dev, int64_t bytes)
{
	if (in_set(set, dev))
		return 0;
	set[dev / 64] |= UINT64_C(1) << (dev % 64);
	return bytes;
}

/* What stays on a device, and what comes and goes. */
typedef struct load {
	int64_t kept, moving;
} load;

static load own_load(const berth_graph *g, int32_t op)
{
	load own = {g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op], 0};
	BERTH_EACH (t, g->op_tensor_off, op)
		own.moving += g->tensor_bytes[t];
	return own;
}

static int64_t workspaces(const berth_partial *part, int32_t dev, int64_t largest, int64_t n_ops)
{
	int64_t slots = part->p->s->dev_slots[dev], n = slots < n_ops ? slots : n_ops;
	return n && largest > MOST_BYTES / n ? MOST_BYTES : largest * n;
}

static int64_t add_workspaces(int64_t sum, int64_t more)
{
	return more < MOST_BYTES - sum ? sum + more : MOST_BYTES;
}

/* Memory of an operator whose colocation group was just bound to dev, with the copies between it and
 * operators bound before. */
static void count_op(berth_partial *part, int32_t op, int32_t dev)
{
	const berth_graph *g = part->p->g;
	load own = own_load(g, op);
	BERTH_EACH (i, g->op_param_off, op)
		own.kept += hold(part->param_on + (size_t)g->op_param[i] * part->words, dev,
		                 g->param_bytes[g->op_param[i]]);
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = berth_partial_dev(part, g->tensor_producer[t]);
		if (home >= 0 && home != dev)
			own.moving +=
				hold(part->tensor_on + (size_t)t * part->words, dev, g->tensor_bytes[t]);
	}
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = berth_partial_dev(part, g->edge_consumer[e]);
			if (to >= 0 && to != dev)
				part->dev_moving[to] += hold(part->tensor_on + (size_t)t * part->words, to,
				                             g->tensor_bytes[t]);
		}
	part->dev_kept[dev] += own.kept;
	part->dev_moving[dev] += own.moving;
	if (g->op_workspace_bytes[op] > part->dev_workspace[dev])
		part->dev_workspace[dev] = g->op_workspace_bytes[op];
}

/* Does no operator of the colocation group's separation groups stand on dev? */
static bool is_separated(const berth_partial *part, int32_t coloc, int32_t dev)
{
	const berth_problem *p = part->p;
	for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1] && p->g->n_seps; i++) {
		int32_t sep = p->g->op_sep[p->coloc_op[i]];
		if (sep >= 0 && part->sep_dev_taken[berth_cell(p, sep, dev)])
			return false;
	}
	return true;
}

void berth_partial_bind(berth_partial *part, int32_t coloc, int32_t dev)
{
	const berth_problem *p = part->p;
	part->coloc_dev[coloc] = dev;
	part->dev_ops[dev] += p->coloc_off[coloc + 1] - p->coloc_off[coloc];
	if (part->asks_nothing)
		return;
	for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1] && p->g->n_seps; i++) {
		int32_t sep = p->g->op_sep[p->coloc_op[i]];
		if (sep >= 0)
			part->sep_dev_taken[berth_cell(p, sep, dev)] = true;
	}
	if (p->memory_free)
		return;
	BERTH_EACH (i, p->coloc_off, coloc)
		count_op(part, p->coloc_op[i], dev);
}

int32_t berth_partial_dev(const berth_partial *part, int32_t op)
{
	return part->coloc_dev[part->p->op_coloc[op]];
}

static int64_t bound_workspaces(const berth_partial *part, int32_t dev)
{
	return workspaces(part, dev, part->dev_workspace[dev], part->dev_ops[dev]);
}

int64_t berth_partial_bytes(const berth_partial *part, int32_t dev)
{
	return part->dev_kept[dev] + part->dev_moving[dev] + bound_workspaces(part, dev);
}

int64_t berth_partial_pool_bytes(const berth_partial *part, int32_t dev)
{
	int32_t pool = berth_dev_pool(part->p, dev);
	int64_t sum = 0, all = 0;
	for (int32_t d = 0; d < part->p->n_devs && pool >= 0; d++)
		if (berth_dev_pool(part->p, d) == pool) {
			sum += part->dev_kept[d] + part->dev_moving[d];
			all = add_workspaces(all, bound_workspaces(part, d));
		}
	return sum + all;
}

int64_t berth_partial_room(const berth_partial *part, int32_t dev)
{
	int64_t memory = part->p->dev_limit_bytes[dev], pool = berth_dev_pool_bytes(part->p, dev);
	int64_t room = INT64_MAX;
	if (part->p->memory_free)
		return room;
	if (memory >= 0)
		room = memory - berth_partial_bytes(part, dev);
	if (pool >= 0 && pool - berth_partial_pool_bytes(part, dev) < room)
		room = pool - berth_partial_pool_bytes(part, dev);
	return room;
}

/* What op adds to dev. Tensors and parameters that the stamp has seen are counted already. */
static load added_load(berth_partial *part, int32_t op, int32_t dev)
{
	const berth_graph *g = part->p->g;
	load own = own_load(g, op);
	int32_t coloc = part->p->op_coloc[op];
	BERTH_EACH (i, g->op_param_off, op) {
		int32_t q = g->op_param[i];
		if (part->param_seen[q] != part->stamp &&
		    !in_set(part->param_on + (size_t)q * part->words, dev))
			own.kept += g->param_bytes[q];
		part->param_seen[q] = part->stamp;
	}
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], producer = g->tensor_producer[t],
			home = berth_partial_dev(part, producer);
		if (home >= 0 && home != dev && part->p->op_coloc[producer] != coloc &&
		    part->tensor_seen[t] != part->stamp &&
		    !in_set(part->tensor_on + (size_t)t * part->words, dev))
			own.moving += g->tensor_bytes[t];
		part->tensor_seen[t] = part->stamp;
	}
	return own;
}

void berth_partial_limit_memory(berth_partial *part, double share)
{
	part->share = share;
}

/* Bytes of other devices of dev's memory pool, if only a share of the tensors counts. *workspace: theirs; of
 * share 0 the largest at any of these and as given, as no more than one needs to be at a time. */
static int64_t pool_others(const berth_partial *part, int32_t dev, double share, int64_t *workspace)
{
	const berth_problem *p = part->p;
	int64_t sum = 0, all = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (d == dev || berth_dev_pool(p, d) != berth_dev_pool(p, dev))
			continue;
		sum += part->dev_kept[d] +
		       (share < 1 ? (int64_t)(share * (double)part->dev_moving[d]) : part->dev_moving[d]);
		all = add_workspaces(all, bound_workspaces(part, d));
		if (share <= 0 && part->dev_workspace[d] > *workspace)
			*workspace = part->dev_workspace[d];
	}
	*workspace = add_workspaces(*workspace, share > 0 ? all : 0);
	return sum;
}

/* Would the bound stay within dev's memory, and that of its pool, with this colocation group too, if only a
 * share of the tensors counts? */
static bool holds(berth_partial *part, int32_t coloc, int32_t dev, double share)
{
	const berth_problem *p = part->p;
	int64_t memory = p->dev_limit_bytes[dev], pool = berth_dev_pool_bytes(p, dev),
		kept = part->dev_kept[dev], moving = part->dev_moving[dev],
		workspace = part->dev_workspace[dev];
	if (p->memory_free || (memory < 0 && pool < 0))
		return true;
	int64_t n_ops = (int64_t)part->dev_ops[dev] + p->coloc_off[coloc + 1] - p->coloc_off[coloc];
	BERTH_EACH (i, p->coloc_off, coloc) {
		int64_t own = p->g->op_workspace_bytes[p->coloc_op[i]];
		workspace = own > workspace ? own : workspace;
	}
	/* Mostly there is room for more than it can be. */
	int64_t all = kept + moving + part->coloc_most[coloc] + workspaces(part, dev, workspace, n_ops);
	if (pool < 0 && all <= memory)
		return true;
	part->stamp++;
	BERTH_EACH (i, p->coloc_off, coloc) {
		load more = added_load(part, p->coloc_op[i], dev);
		kept += more.kept;
		moving += more.moving;
	}
	if (share < 1)
		moving = (int64_t)(share * (double)moving);
	workspace = workspaces(part, dev, workspace, share > 0 ? n_ops : 1);
	if (memory >= 0 && kept + moving + workspace > memory)
		return false;
	return pool < 0 || kept + moving + pool_others(part, dev, share, &workspace) + workspace <= pool;
}

bool berth_partial_holds(berth_partial *part, int32_t coloc, int32_t dev)
{
	return holds(part, coloc, dev, 1);
}

bool berth_partial_fits(berth_partial *part, int32_t coloc, int32_t dev)
{
	return is_separated(part, coloc, dev) && (part->share < 0 || holds(part, coloc, dev, part->share));
}

bool berth_partial_asks_nothing(const berth_partial *part)
{
	return part->asks_nothing;
}

int32_t berth_partial_roomiest(const berth_partial *part, int32_t coloc)
{
	int32_t best = -1;
	for (int32_t d = 0; d < part->p->n_devs; d++)
		if (berth_op_legal(part->p, part->p->coloc_op[part->p->coloc_off[coloc]], d) &&
		    (best < 0 || berth_partial_room(part, d) > berth_partial_room(part, best)))
			best = d;
	return best;
}

/* ---- times ---- */

/* As berth_partial_ready, inlined where it is called with a constant number of devices. */
static inline void fill_ready(const berth_partial *part, int32_t op, int64_t *restrict ready_ns, size_t n)
{
	const berth_problem *p = part->p;
	const berth_graph *g = p->g;
	for (size_t d = 0; d < n; d++)
		ready_ns[d] = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], producer = g->tensor_producer[t];
		int64_t end = part->end_ns[producer];
		const int64_t *move =
			p->class_pair_ns +
			((size_t)p->tensor_class[t] * n + (size_t)berth_partial_dev(part, producer)) * n;
		for (size_t d = 0; d < n; d++)
			ready_ns[d] = end + move[d] > ready_ns[d] ? end + move[d] : ready_ns[d];
	}
}

void berth_partial_ready(const berth_partial *part, int32_t op, int64_t *ready_ns)
{
	size_t n = (size_t)part->p->n_devs;
	if (n == 4)
		fill_ready(part, op, ready_ns, 4);
	else
		fill_ready(part, op, ready_ns, n);
}

void berth_partial_look_ahead(const berth_partial *part, int32_t op)
{
	const berth_problem *p = part->p;
	size_t n = (size_t)p->n_devs;
	BERTH_EACH (i, p->g->op_in_off, op) {
		int32_t t = p->g->in_tensor[i], dev = berth_partial_dev(part, p->g->tensor_producer[t]);
		__builtin_prefetch(p->class_pair_ns +
		                   ((size_t)p->tensor_class[t] * n + (size_t)(dev < 0 ? 0 : dev)) * n);
	}
}

/* After all that a slot has. */
static int64_t slot_end(const berth_partial *part, int32_t slot, int64_t ready_ns)
{
	int64_t tail = part->idle.gap[part->idle.tail[slot]].start_ns;
	return tail > ready_ns ? tail : ready_ns;
}

int64_t berth_partial_start(const berth_partial *part, int32_t op, int32_t dev, int64_t ready_ns,
                            bool insertion)
{
	int64_t best = NEVER, time = berth_op_time(part->p, op, dev);
	for (int32_t slot = part->slot_off[dev]; slot < part->slot_off[dev + 1] && best > ready_ns; slot++) {
		int64_t start = insertion ? berth_idle_start(&part->idle, slot, ready_ns, time)
		                          : slot_end(part, slot, ready_ns);
		if (start < best)
			best = start;
	}
	return best;
}

/* The gap of the device that holds [start, end], of the lowest slot that has one. */
static int32_t find_gap(const berth_partial *part, int32_t dev, int64_t start, int64_t end)
{
	int32_t i = -1;
	for (int32_t slot = part->slot_off[dev]; slot < part->slot_off[dev + 1] && i < 0; slot++)
		i = berth_idle_find(&part->idle, slot, start, end);
	return i;
}

int64_t berth_partial_place(berth_partial *part, int32_t op, int32_t dev, int64_t start_ns)
{
	int64_t end = start_ns + berth_op_time(part->p, op, dev);
	int32_t coloc = part->p->op_coloc[op];
	if (part->coloc_dev[coloc] < 0)
		berth_partial_bind(part, coloc, dev);
	berth_idle_take(&part->idle, find_gap(part, dev, start_ns, end), start_ns, end);
	part->start_ns[op] = start_ns;
	part->end_ns[op] = end;
	if (end > part->length_ns)
		part->length_ns = end;
	return end;
}

static void try_dev(const berth_partial *part, int32_t op, int32_t dev, bool insertion, int32_t *best_dev,
                    int64_t *best_start, int64_t *best_end)
{
	int64_t start = berth_partial_start(part, op, dev, part->ready_ns[dev], insertion),
		end = start + berth_op_time(part->p, op, dev);
	if (*best_dev >= 0 && end >= *best_end)
		return;
	*best_dev = dev;
	*best_start = start;
	*best_end = end;
}

/* After everything that stands on a device of one slot. -1: no device is legal. */
static int32_t earliest_at_the_end(const berth_partial *part, int32_t op, int64_t *start_ns)
{
	const berth_problem *p = part->p;
	int32_t best = -1, n = p->n_devs;
	int64_t best_end = NEVER;
	const int64_t *time_ns = p->op_dev_time_ns + (size_t)op * (size_t)n;
	for (int32_t d = 0; d < n; d++) {
		int64_t start = slot_end(part, d, part->ready_ns[d]);
		if (berth_op_legal(p, op, d) && start + time_ns[d] < best_end) {
			best = d;
			best_end = start + time_ns[d];
			*start_ns = start;
		}
	}
	return best;
}

int32_t berth_partial_earliest(berth_partial *part, int32_t op, bool insertion, int64_t *start_ns)
{
	const berth_problem *p = part->p;
	int32_t best = -1, bound = berth_partial_dev(part, op), coloc = p->op_coloc[op];
	int64_t end = 0;
	berth_partial_ready(part, op, part->ready_ns);
	if (!insertion && bound < 0 && part->asks_nothing && part->single_slots &&
	    (best = earliest_at_the_end(part, op, start_ns)) >= 0)
		return best;
	for (int32_t d = 0; d < p->n_devs && bound < 0; d++)
		if (berth_op_legal(p, op, d) && (part->asks_nothing || berth_partial_fits(part, coloc, d)))
			try_dev(part, op, d, insertion, &best, start_ns, &end);
	if (best < 0)
		try_dev(part, op, bound >= 0 ? bound : berth_partial_roomiest(part, coloc), insertion, &best,
		        start_ns, &end);
	return best;
}

const int64_t *berth_partial_start_ns(const berth_partial *part)
{
	return part->start_ns;
}
const int64_t *berth_partial_end_ns(const berth_partial *part)
{
	return part->end_ns;
}
int64_t berth_partial_length_ns(const berth_partial *part)
{
	return part->length_ns;
}

void berth_partial_devs(const berth_partial *part, int32_t *op_dev)
{
	for (int32_t op = 0; op < part->p->n_ops; op++)
		op_dev[op] = berth_partial_dev(part, op);
}

/* ---- list scheduling ---- */

berth_status berth_partial_schedule(berth_partial *part, const int64_t *op_key, berth_arena *tmp,
                                    berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_ready ready;
	BERTH_TRY(berth_ready_new(part->p->g, tmp, &ready, err));
	berth_ready_start(&ready, op_key);
	for (int32_t op; (op = berth_ready_next(&ready)) >= 0;) {
		int64_t start;
		int32_t dev = berth_partial_earliest(part, op, true, &start);
		berth_partial_place(part, op, dev, start);
	}
	return BERTH_OK;
}

/* ---- order ---- */

static int compare_timed(const void *a, const void *b)
{
	const timed *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return BERTH_COMPARE(x->topo, y->topo);
}

void berth_partial_order(berth_partial *part, int32_t *order)
{
	const berth_problem *p = part->p;
	timed *list = part->by_start;
	for (int32_t op = 0; op < p->n_ops; op++)
		list[op] = (timed){part->start_ns[op], p->g->op_topo[op]};
	if (p->n_ops)
		qsort(list, (size_t)p->n_ops, sizeof *list, compare_timed);
	for (int32_t k = 0; k < p->n_ops; k++)
		order[k] = p->g->topo_op[list[k].topo];
}
