/* The cost model "tarnawski" (Tarnawski et al. 2020, section 3 and appendix): accelerators of kind "acc"
 * beside a common memory in which CPUs, all other kinds, work. A tensor costs an accelerator c = bytes /
 * (bandwidth of its link to a CPU, else of its first link) once on the way in and once on the way out. Times
 * are doubles: the published program rounds nothing.
 *
 * Throughput: the largest load. Of an accelerator: its operator times, c of each tensor that it takes in,
 * and c of each of its tensors that somebody else takes; nothing overlaps. Of a CPU: its operator times.
 *
 * Latency of one sample: a CPU operator starts when its inputs exist; CPUs are as many as needed. An
 * accelerator works in visits: it takes in all inputs when the last of them exists, computes, moves out, and
 * all operators of the visit end together. Operators share a visit unless one needs, through another device,
 * what the other makes. Visits of one accelerator follow one another. The published program allows as many
 * visits as it is told (1 for contiguous placements); here each further visit pays its own way. Where joint
 * visits wait for each other in a circle, visits are cut in topological order instead.
 *
 * O((ops + edges) * accelerators) a run. */
#include "cost_model.h"

typedef struct tarnawski {
	const berth_problem *p;
	double *op_s;           /* [n_ops][n_devs] */
	double *dev_s_per_byte; /* [n_devs] of an accelerator's link; < 0: a CPU */
	const int32_t *op_dev;
	/* Blocks: visits and CPU operators. Everything in a block ends together. */
	int32_t n_blocks;
	int32_t *op_block;   /* [n_ops] */
	int32_t *visit;      /* [n_ops] number of its visit on its accelerator */
	int32_t *left;       /* [n_ops][n_devs] visits of each accelerator that its inputs say are over */
	int32_t *dev_visits; /* [n_devs] */
	int32_t *dev_base;   /* [n_devs] block of the first visit */
	int32_t *block_dev;  /* [n_ops] by block */
	int32_t *waits, *queue, *seen; /* [n_ops] by block */
	int32_t *off, *member;         /* [n_ops+2], [n_ops] operators by block */
	double *ready_s;               /* [n_ops] by block: inputs there */
	double *work_s;                /* [n_ops] by block: transfers and computing */
	double *end_s;                 /* [n_ops] by block */
	double *load_s;                /* [n_devs] */
	int32_t *taken_by;             /* [n_devs] tensor that was last taken in */
	int32_t *open_visit;           /* [n_devs] block that takes operators; -1 */
} tarnawski;

/* ---- set-up ---- */

/* Of the first link of dev to a CPU, else of its first link. */
static double link_bandwidth(const berth_system *s, int32_t dev)
{
	double first = INFINITY;
	for (int32_t l = s->n_links - 1; l >= 0; l--)
		if (s->link_from[l] == dev)
			first = s->link_bandwidth[l];
	for (int32_t l = 0; l < s->n_links; l++)
		if (s->link_from[l] == dev && strcmp(s->dev_kind[s->link_to[l]], "acc") != 0)
			return s->link_bandwidth[l];
	return first;
}

/* The measured time as it was given, else the compiled one. */
static double seconds_on(const berth_problem *p, int32_t op, int32_t dev)
{
	const berth_graph *g = p->g;
	double by_kind = NAN;
	BERTH_EACH (i, g->op_time_off, op) {
		if (strcmp(berth_graph_time_name(g, i), p->s->dev_name[dev]) == 0)
			return g->time_s[i];
		if (strcmp(berth_graph_time_name(g, i), p->s->dev_kind[dev]) == 0)
			by_kind = g->time_s[i];
	}
	return isnan(by_kind) ? (double)berth_op_time(p, op, dev) * 1e-9 : by_kind;
}

/* Below 0: dev is a CPU. */
static double s_per_byte(const berth_problem *p, int32_t dev)
{
	return strcmp(p->s->dev_kind[dev], "acc") == 0 ? 1 / link_bandwidth(p->s, dev) : -1;
}

static berth_status new_scratch(const berth_problem *p, berth_arena *mem, void **out, berth_err *err)
{
	size_t ops = (size_t)p->n_ops, devs = (size_t)p->n_devs;
	tarnawski *t;
	BERTH_TRY_NEW(mem, 1, err, t);
	t->p = p;
	BERTH_TRY_NEW(mem, ops * devs, err, t->op_s);
	BERTH_TRY_NEW(mem, devs, err, t->dev_s_per_byte);
	BERTH_TRY_NEW(mem, ops, err, t->op_block, t->visit);
	BERTH_TRY_NEW(mem, ops * devs, err, t->left);
	BERTH_TRY_NEW(mem, devs, err, t->dev_visits, t->dev_base);
	BERTH_TRY_NEW(mem, ops, err, t->block_dev, t->waits, t->queue, t->seen);
	BERTH_TRY_NEW(mem, ops + 2, err, t->off);
	BERTH_TRY_NEW(mem, ops, err, t->member, t->ready_s, t->work_s, t->end_s);
	BERTH_TRY_NEW(mem, devs, err, t->load_s, t->taken_by, t->open_visit);
	for (int32_t d = 0; d < p->n_devs; d++) {
		t->dev_s_per_byte[d] = s_per_byte(p, d);
		for (int32_t op = 0; op < p->n_ops; op++)
			t->op_s[(size_t)op * devs + (size_t)d] = seconds_on(p, op, d);
	}
	*out = t;
	return BERTH_OK;
}

static bool is_acc(const tarnawski *t, int32_t dev)
{
	return t->dev_s_per_byte[dev] >= 0;
}

static double op_seconds(const tarnawski *t, int32_t op)
{
	return t->op_s[berth_cell(t->p, op, t->op_dev[op])];
}

static double cost(const tarnawski *t, int32_t tensor, int32_t dev)
{
	return (double)t->p->g->tensor_bytes[tensor] * t->dev_s_per_byte[dev];
}

/* ---- throughput ---- */

static double largest_load(tarnawski *t)
{
	const berth_problem *p = t->p;
	double most = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		t->load_s[d] = 0;
		t->taken_by[d] = -1;
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		t->load_s[t->op_dev[op]] += op_seconds(t, op);
	for (int32_t x = 0; x < p->g->n_tensors; x++) {
		/* Transfers of tensor x between devices, onto their loads. */
		const berth_graph *g = t->p->g;
		int32_t home = t->op_dev[g->tensor_producer[x]];
		bool leaves = false;
		BERTH_EACH (e, g->tensor_use_off, x) {
			int32_t to = t->op_dev[g->edge_consumer[e]];
			if (to == home)
				continue;
			leaves = true;
			if (is_acc(t, to) && t->taken_by[to] != x)
				t->load_s[to] += cost(t, x, to);
			t->taken_by[to] = x;
		}
		if (leaves && is_acc(t, home))
			t->load_s[home] += cost(t, x, home);
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		most = fmax(most, t->load_s[d]);
	return most;
}

/* ---- visits ---- */

/* The fewest visits: an operator's is the least number that its inputs allow. */
static void join_visits(tarnawski *t)
{
	const berth_problem *p = t->p;
	const berth_graph *g = p->g;
	size_t devs = (size_t)p->n_devs;
	BERTH_CLEAR(t->left, (size_t)p->n_ops * devs);
	BERTH_CLEAR(t->dev_visits, devs);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k], dev = t->op_dev[op];
		int32_t *left = t->left + (size_t)op * devs;
		t->visit[op] = 0;
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t from = g->tensor_producer[g->in_tensor[i]], home = t->op_dev[from];
			const int32_t *before = t->left + (size_t)from * devs;
			for (size_t d = 0; d < devs; d++)
				left[d] = before[d] > left[d] ? before[d] : left[d];
			if (home == dev)
				t->visit[op] = t->visit[from] > t->visit[op] ? t->visit[from] : t->visit[op];
			else if (is_acc(t, home) && t->visit[from] + 1 > left[home])
				left[home] = t->visit[from] + 1;
		}
		t->visit[op] = left[dev] > t->visit[op] ? left[dev] : t->visit[op];
		if (is_acc(t, dev) && t->visit[op] + 1 > t->dev_visits[dev])
			t->dev_visits[dev] = t->visit[op] + 1;
	}
}

static void number_blocks(tarnawski *t)
{
	const berth_problem *p = t->p;
	t->n_blocks = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		t->dev_base[d] = t->n_blocks;
		for (int32_t v = 0; v < t->dev_visits[d]; v++)
			t->block_dev[t->n_blocks++] = d;
	}
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t d = t->op_dev[op];
		if (is_acc(t, d)) {
			t->op_block[op] = t->dev_base[d] + t->visit[op];
		} else {
			t->block_dev[t->n_blocks] = d;
			t->op_block[op] = t->n_blocks++;
		}
	}
}

/* ---- latency ---- */

/* Work of all blocks, and how many edges (and visits before) each waits for. */
static void fill_blocks(tarnawski *t)
{
	const berth_problem *p = t->p;
	const berth_graph *g = p->g;
	for (int32_t b = 0; b < t->n_blocks; b++) {
		t->work_s[b] = t->ready_s[b] = t->end_s[b] = 0;
		t->waits[b] = b > 0 && b > t->dev_base[t->block_dev[b]] && is_acc(t, t->block_dev[b]);
		t->seen[b] = -1;
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		t->work_s[t->op_block[op]] += op_seconds(t, op);
	for (int32_t x = 0; x < g->n_tensors; x++) {
		int32_t home = t->op_block[g->tensor_producer[x]];
		bool leaves = false;
		BERTH_EACH (e, g->tensor_use_off, x) {
			int32_t b = t->op_block[g->edge_consumer[e]];
			if (b == home)
				continue;
			leaves = true;
			t->waits[b]++;
			if (t->seen[b] != x && is_acc(t, t->block_dev[b]))
				t->work_s[b] += cost(t, x, t->block_dev[b]);
			t->seen[b] = x;
		}
		if (leaves && is_acc(t, t->block_dev[home]))
			t->work_s[home] += cost(t, x, t->block_dev[home]);
	}
}

static void let_go(tarnawski *t, int32_t from, int32_t to, int32_t *n)
{
	t->ready_s[to] = fmax(t->ready_s[to], t->end_s[from]);
	if (--t->waits[to] == 0)
		t->queue[(*n)++] = to;
}

/* Consumers of the operators of a block. */
static void let_consumers_go(tarnawski *t, int32_t op, int32_t *n)
{
	const berth_graph *g = t->p->g;
	int32_t b = t->op_block[op];
	BERTH_EACH_USE (e, g, op)
		if (t->op_block[g->edge_consumer[e]] != b)
			let_go(t, b, t->op_block[g->edge_consumer[e]], n);
}

/* Ends of all blocks; NAN where visits wait for each other. */
static double run_blocks(tarnawski *t)
{
	int32_t n = 0;
	double latency = 0;
	fill_blocks(t);
	/* Operators by block, ascending: member[off[b]] .. member[off[b + 1]]. */
	BERTH_CLEAR(t->off, t->n_blocks + 2);
	for (int32_t op = 0; op < t->p->n_ops; op++)
		t->off[t->op_block[op] + 2]++;
	for (int32_t b = 0; b < t->n_blocks; b++)
		t->off[b + 2] += t->off[b + 1];
	for (int32_t op = 0; op < t->p->n_ops; op++)
		t->member[t->off[t->op_block[op] + 1]++] = op;
	for (int32_t b = 0; b < t->n_blocks; b++)
		if (t->waits[b] == 0)
			t->queue[n++] = b;
	for (int32_t i = 0; i < n; i++) {
		int32_t b = t->queue[i], dev = t->block_dev[b];
		t->end_s[b] = t->ready_s[b] + t->work_s[b];
		latency = fmax(latency, t->end_s[b]);
		BERTH_EACH (k, t->off, b)
			let_consumers_go(t, t->member[k], &n);
		if (is_acc(t, dev) && b + 1 < t->dev_base[dev] + t->dev_visits[dev])
			let_go(t, b, b + 1, &n);
	}
	return n == t->n_blocks ? latency : NAN;
}

static double latency(tarnawski *t)
{
	join_visits(t);
	number_blocks(t);
	double s = run_blocks(t);
	if (!isnan(s))
		return s;
	/* Visits cut in topological order. A visit takes operators until somebody needs what it makes.
	 * Visits can run in the order in which they close. */
	const berth_problem *p = t->p;
	const berth_graph *g = p->g;
	for (int32_t d = 0; d < p->n_devs; d++) {
		t->dev_visits[d] = 0;
		t->open_visit[d] = 0; /* number of the open visit; below dev_visits where there is one */
	}
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k], dev = t->op_dev[op];
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t from = g->tensor_producer[g->in_tensor[i]], home = t->op_dev[from];
			if (home == dev || !is_acc(t, home) || t->visit[from] < t->open_visit[home])
				continue;
			/* all close, so that none waits for a later one */
			for (int32_t d = 0; d < p->n_devs; d++)
				t->open_visit[d] = t->dev_visits[d];
		}
		t->visit[op] = t->open_visit[dev];
		if (is_acc(t, dev) && t->dev_visits[dev] <= t->open_visit[dev])
			t->dev_visits[dev] = t->open_visit[dev] + 1;
	}
	number_blocks(t);
	return run_blocks(t);
}

static void run(void *scratch, const int32_t *op_dev, berth_cost_run *out)
{
	tarnawski *t = scratch;
	t->op_dev = op_dev;
	out->load_s = largest_load(t);
	out->latency_ns = llround(latency(t) * 1e9);
	for (int32_t op = 0; op < t->p->n_ops; op++) {
		int32_t b = t->op_block[op];
		out->start_ns[op] = llround((t->end_s[b] - t->work_s[b]) * 1e9);
		out->end_ns[op] = llround(t->end_s[b] * 1e9);
	}
}

/* The longest path; and the load dual of operator times, as loads have transfers too, less what rounding to
 * nanoseconds may have added. */
static berth_status bounds(const berth_problem *p, int64_t work_ns, double load_ns, berth_arena *tmp,
                           berth_cost_bounds *out, berth_err *err)
{
	double path_s;
	(void)work_ns;
	/* The longest path by least times, without transfers. Every operator of a path waits for the one
	 * before it, or shares its visit, which lasts as long as both. */
	const berth_graph *g = p->g;
	double *end, longest = 0;
	BERTH_TRY_NEW(tmp, p->n_ops, err, end);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k];
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d))
				least = fmin(least, seconds_on(p, op, d));
		BERTH_EACH (i, g->op_in_off, op)
			end[op] = fmax(end[op], end[g->tensor_producer[g->in_tensor[i]]]);
		end[op] += isfinite(least) ? least : 0;
		longest = fmax(longest, end[op]);
	}
	path_s = longest;
	out->path_ns = out->latency_ns = llround(path_s * 1e9 * (1 - 1e-12)); /* as a run rounds */
	out->load_s = fmax((load_ns - p->n_ops) * 1e-9, 0);
	return BERTH_OK;
}

const berth_cost_model berth_cost_tarnawski = {.name = "tarnawski",
                                               .new_scratch = new_scratch,
                                               .run = run,
                                               .bounds = bounds,
                                               .op_seconds = seconds_on,
                                               .s_per_byte = s_per_byte};
