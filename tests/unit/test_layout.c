/* Layouts against all layouts of small clusters, flows against linear programs over all paths, bounds above
 * both; a cluster and a whole number of it; what is refused. */
#include "fail_each.h"
#include "rng.h"
#include "search.h"
#include "serving.h"
#include "simplex.h"
#include "support.h"

#include <math.h>
#include <string.h>

enum { MOST_LAYERS = 6, MOST_NODES = 5, MOST_KINDS = 3, TABLE = (MOST_LAYERS + 1) * (MOST_LAYERS + 1) };

typedef struct instance {
	berth_layout_task x;
	berth_layout_kind kind[MOST_KINDS];
	double per_s[MOST_KINDS][TABLE], link[MOST_KINDS * MOST_KINDS];
	int32_t n_nodes, node_kind[MOST_NODES];
	berth_layout_group at[MOST_NODES]; /* of each node; from == to: holds nothing */
	double best;
} instance;

/* A node with more layers is slower than in proportion, as less memory is left; layers may be unlike. */
static void draw(instance *w, uint64_t seed, bool linked)
{
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_RANDOM);
	double weight[MOST_LAYERS];
	*w = (instance){.x = {.kind = w->kind, .link_per_s = linked ? w->link : NULL}};
	w->x.n_layers = 1 + (int32_t)berth_rng_below(&rng, MOST_LAYERS);
	w->n_nodes = 1 + (int32_t)berth_rng_below(&rng, linked ? MOST_NODES - 1 : MOST_NODES);
	w->x.n_kinds = 1 + (int32_t)berth_rng_below(&rng, MOST_KINDS);
	w->x.aligned = linked && berth_rng_below(&rng, 4) == 0;
	for (int32_t l = 0; l < w->x.n_layers; l++)
		weight[l] = seed % 2 ? 1 : 0.3 + berth_rng_unit(&rng);
	for (int32_t k = 0; k < w->x.n_kinds; k++) {
		double speed = 1 + 9 * berth_rng_unit(&rng), power = berth_rng_unit(&rng);
		double room = 1 + MOST_LAYERS * berth_rng_unit(&rng);
		w->kind[k] = (berth_layout_kind){.name = &"abc"[k], .now.per_s = w->per_s[k]};
		for (int32_t f = 0; f < w->x.n_layers; f++) {
			double sum = 0;
			for (int32_t t = f + 1; t <= w->x.n_layers; t++) {
				sum += weight[t - 1];
				w->per_s[k][f * (w->x.n_layers + 1) + t] =
					sum > room ? 0 : speed / pow(sum, 1 + power);
			}
		}
		for (int32_t o = 0; o < w->x.n_kinds; o++)
			w->link[k * w->x.n_kinds + o] = berth_rng_below(&rng, 4)
			                                        ? 6 * berth_rng_unit(&rng)
			                                        : berth_rng_below(&rng, 2) * 1e6;
	}
	for (int32_t i = 0; i < w->n_nodes; i++)
		w->node_kind[i] = (int32_t)berth_rng_below(&rng, (uint32_t)w->x.n_kinds);
	for (int32_t i = 0; i < w->n_nodes; i++)
		for (int32_t k = i; k > 0 && w->node_kind[k] < w->node_kind[k - 1]; k--) {
			int32_t swap = w->node_kind[k];
			w->node_kind[k] = w->node_kind[k - 1];
			w->node_kind[k - 1] = swap;
		}
	for (int32_t i = 0; i < w->n_nodes; i++)
		w->kind[w->node_kind[i]].n_nodes++;
}

static double rate_of(const instance *w, const berth_layout_group *g)
{
	return w->per_s[g->kind][g->from * (w->x.n_layers + 1) + g->to];
}

/* ---- the flow as a linear program: a column for each path ---- */

/* Rows: nodes, what each passes on to a kind, what each gets from one. */
enum { ROWS = MOST_NODES * (1 + 2 * MOST_KINDS) };

typedef struct paths {
	const instance *w;
	double a[ROWS][400], limit[ROWS];
	int32_t n_cols, node[MOST_NODES];
} paths;

static int32_t port_row(int32_t node, int32_t kind, bool gets)
{
	return MOST_NODES + 2 * (node * MOST_KINDS + kind) + gets;
}

static void add_paths(paths *p, int32_t depth, int32_t done)
{
	const instance *w = p->w;
	if (done == w->x.n_layers) {
		for (int32_t i = 0; i < depth; i++) {
			p->a[p->node[i]][p->n_cols] = 1;
			if (i > 0) {
				int32_t from = p->node[i - 1], to = p->node[i];
				p->a[port_row(from, w->node_kind[to], false)][p->n_cols] = 1;
				p->a[port_row(to, w->node_kind[from], true)][p->n_cols] = 1;
			}
		}
		p->n_cols++;
		return;
	}
	for (int32_t i = 0; i < w->n_nodes; i++) {
		const berth_layout_group *g = &w->at[i];
		if (w->x.aligned ? g->from != done || g->to <= done : g->from > done || g->to <= done)
			continue;
		p->node[depth] = i;
		add_paths(p, depth + 1, g->to);
	}
}

static double flow_by_paths(const instance *w, berth_arena *tmp)
{
	static paths p;
	double gain[400], x[400], value, *a;
	berth_err err;
	p = (paths){.w = w};
	add_paths(&p, 0, 0);
	if (p.n_cols == 0)
		return 0;
	BERTH_SCRATCH(tmp);
	assert_ok(BERTH_NEW(tmp, a, ROWS * p.n_cols, &err), &err);
	for (int32_t i = 0; i < w->n_nodes; i++) {
		p.limit[i] = w->at[i].to > w->at[i].from ? rate_of(w, &w->at[i]) : 0;
		for (int32_t k = 0, own = w->node_kind[i], n = w->x.n_kinds; k < n; k++) {
			p.limit[port_row(i, k, false)] = w->x.link_per_s ? w->link[own * n + k] : 1e6;
			p.limit[port_row(i, k, true)] = w->x.link_per_s ? w->link[k * n + own] : 1e6;
		}
	}
	for (int32_t c = 0; c < p.n_cols; c++) {
		gain[c] = 1;
		for (int32_t r = 0; r < ROWS; r++)
			a[r * p.n_cols + c] = p.a[r][c];
	}
	assert_ok(berth_simplex_max(ROWS, p.n_cols, a, p.limit, gain, tmp, x, &value, &err), &err);
	return value;
}

/* ---- all layouts ---- */

/* No flow is above the least rate of a layer, whatever the nodes from i on hold. */
static double still_possible(const instance *w, int32_t i)
{
	double least = INFINITY;
	for (int32_t l = 0; l < w->x.n_layers; l++) {
		double has = 0;
		for (int32_t n = 0; n < w->n_nodes; n++)
			if (n >= i)
				has += w->per_s[w->node_kind[n]][l * (w->x.n_layers + 1) + l + 1];
			else if (w->at[n].from <= l && l < w->at[n].to)
				has += rate_of(w, &w->at[n]);
		least = fmin(least, has);
	}
	return least;
}

static void try_all(instance *w, int32_t i, berth_arena *tmp)
{
	double possible = still_possible(w, i);
	if (possible <= w->best * (1 + 1e-9))
		return;
	if (i == w->n_nodes) {
		w->best = fmax(w->best, w->x.link_per_s ? flow_by_paths(w, tmp) : possible);
		return;
	}
	int32_t k = w->node_kind[i], L = w->x.n_layers,
		from = i > 0 && w->node_kind[i - 1] == k ? w->at[i - 1].from : 0;
	for (int32_t f = from; f < L; f++)
		for (int32_t t = f + 1; t <= L && w->per_s[k][f * (L + 1) + t] > 0; t++) {
			w->at[i] = (berth_layout_group){.kind = k, .from = f, .to = t, .n = 1};
			try_all(w, i + 1, tmp);
		}
	w->at[i] = (berth_layout_group){.kind = k, .from = L, .to = L, .n = 1}; /* nothing, as those behind it
	                                                                         */
	try_all(w, i + 1, tmp);
}

/* What comes to each group goes on from it, no node and no link has more than it can take, and layers follow.
 */
static void check_flow(const berth_layout_task *x, const berth_layers *l)
{
	double sum = 0;
	for (int32_t i = 0; i < l->n_groups; i++) {
		const berth_layout_group *g = &l->group[i];
		double in = 0, out = 0;
		for (int32_t w = 0; w < l->n_ways; w++) {
			in += l->way[w].to == i ? l->way[w].per_s : 0;
			out += l->way[w].from == i ? l->way[w].per_s : 0;
		}
		assert_near(in, out, 1e-5 * (1 + in));
		assert_near(in, g->per_s, 1e-5 * (1 + in));
		assert_true(in <=
		            (double)g->n * x->kind[g->kind].now.per_s[g->from * (x->n_layers + 1) + g->to] +
		                    1e-5);
	}
	for (int32_t w = 0; w < l->n_ways; w++) {
		const berth_layout_way *y = &l->way[w];
		int32_t done = y->from < 0 ? 0 : l->group[y->from].to;
		if (x->link_per_s && y->from >= 0 && y->to >= 0) {
			const berth_layout_group *a = &l->group[y->from], *b = &l->group[y->to];
			assert_true(y->per_s <=
			            (double)a->n * (double)b->n *
			                            x->link_per_s[a->kind * x->n_kinds + b->kind] +
			                    1e-5);
			assert_true(!x->aligned || b->from == done);
		}
		sum += y->to < 0 ? y->per_s : 0;
		if (y->to < 0)
			assert_int_equal(done, x->n_layers);
		else
			assert_true(l->group[y->to].from <= done && done < l->group[y->to].to);
	}
	assert_near(sum, l->per_s, 1e-5 * (1 + sum));
}

static void test_against_all(void **state)
{
	(void)state;
	int32_t n_best = 0, n_far = 0, n = 0, all = support_sampled(1000, BERTH_DEBUG ? 20 : 250, "clusters");
	for (uint64_t seed = 1; seed <= (uint64_t)all; seed++) {
		berth_arena mem = {0}, tmp = {0};
		berth_layers out;
		berth_err err;
		instance w;
		draw(&w, seed, seed % 4 == 0);
		assert_ok(berth_layout_search(&w.x, NULL, 2000, 1, &mem, &tmp, &out, &err), &err);
		check_flow(&w.x, &out);
		w.best = out.per_s * (1 - 1e-6); /* what flows: is there a layout with more? */
		try_all(&w, 0, &tmp);
		n_far += out.per_s < 0.98 * w.best;
		if (out.per_s < 0.96 * w.best || out.bound_per_s < w.best)
			fail_msg("seed %d: %.6g of %.6g, bound %.6g", (int)seed, out.per_s, w.best,
			         out.bound_per_s);
		n += w.best > 0;
		n_best += w.best > 0 && out.per_s >= w.best * (1 - 1e-5);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	assert_true(2 * n > all && n_best >= 0.98 * n && n_far <= all / 500);
}

/* ---- within a limit of a sample's time ---- */

enum { FEW_LAYERS = 3, FEW_NODES = 3, WAYS = 2 * FEW_LAYERS * (FEW_LAYERS + 1) / 2 + 1 };

typedef struct timed {
	berth_serving x[2];
	int64_t ns[2][2][FEW_LAYERS], bytes[FEW_LAYERS], state[FEW_LAYERS];
	int32_t n_nodes, node_kind[FEW_NODES], from[FEW_NODES], to[FEW_NODES], batch[FEW_NODES];
	double a[FEW_NODES * 5][64], best; /* nodes, what each passes on to a kind, what each gets from one */
	double step_s[2 * (FEW_LAYERS + 1)]; /* measured: by kind and how many layers; may fall with these */
	bool measured;
	int32_t n_cols;
} timed;

static const int64_t two_batches[2] = {1, 4};
static const char *const names[2] = {"a", "b"};

static void draw_timed(timed *w, uint64_t seed, bool measured)
{
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_RANDOM);
	*w = (timed){.n_nodes = 1 + (int32_t)berth_rng_below(&rng, FEW_NODES), .measured = measured};
	int32_t n_kinds = 1 + (int32_t)berth_rng_below(&rng, 2);
	for (int32_t l = 0; l < FEW_LAYERS; l++)
		w->bytes[l] = 1 + (int64_t)berth_rng_below(&rng, 3);
	for (int i = 0; i < 2; i++) {
		w->x[i] = (berth_serving){.n_blocks = FEW_LAYERS,
		                          .n_kinds = n_kinds,
		                          .block_bytes = w->bytes,
		                          .block_state_bytes = w->state};
		for (int32_t k = 0; k < n_kinds; k++) {
			for (int32_t l = 0; l < FEW_LAYERS; l++)
				w->ns[i][k][l] = i ? w->ns[0][k][l] + (int64_t)berth_rng_below(&rng, 2500)
				                   : 500 + (int64_t)berth_rng_below(&rng, 2000);
			w->x[i].kind[k] = (berth_server_kind){
				.name = names[k],
				.n_devs = 1,
				.dev = &names[k],
				.block_ns = w->ns[i][k],
				.outside_ns = 100 * (int64_t)berth_rng_below(&rng, 5),
				.memory_bytes = i ? w->x[0].kind[k].memory_bytes
			                          : 3 + (int64_t)berth_rng_below(&rng, 6)};
		}
		w->x[i].most_ns = i ? w->x[0].most_ns : 2000 + (int64_t)berth_rng_below(&rng, 9000);
		w->x[i].spans = true;
		for (int32_t k = 0; k < n_kinds; k++)
			for (int32_t o = 0; o < n_kinds; o++) {
				int64_t was = i ? w->x[0].link_ns[k][o] : 0;
				bool none = i ? was < 0 : berth_rng_below(&rng, 6) == 0;
				w->x[i].link_ns[k][o] =
					none ? -1 : was + 100 * (int64_t)berth_rng_below(&rng, 5);
				w->x[i].way_ns[k][o] = w->x[i].link_ns[k][o] / 2;
			}
	}
	for (int32_t n = 0; n < w->n_nodes; n++) {
		w->node_kind[n] = (int32_t)berth_rng_below(&rng, (uint32_t)n_kinds);
		w->x[0].kind[w->node_kind[n]].n_servers++;
		w->x[1].kind[w->node_kind[n]].n_servers++;
	}
	for (int32_t i = 0; i < 2 * (FEW_LAYERS + 1); i++)
		w->step_s[i] = (double)(500 + berth_rng_below(&rng, 6000)) / 1e9;
	for (int32_t l = 0; l < FEW_LAYERS; l++)
		w->state[l] = (int64_t)berth_rng_below(&rng, (uint32_t)w->bytes[l] + 1);
	for (int32_t k = 0; k < n_kinds && seed % 2; k++) {
		w->x[0].kind[k].disk_bytes = w->x[1].kind[k].disk_bytes = (int64_t)berth_rng_below(&rng, 7);
		w->x[0].kind[k].disk_byte_ns = w->x[1].kind[k].disk_byte_ns = 50 * berth_rng_below(&rng, 30);
	}
}

/* From one node to another; -1: no link. A measured time has it within. */
static int64_t way_ns(const timed *w, int32_t from, int32_t to)
{
	const berth_serving *x = &w->x[w->batch[from]];
	int32_t k = w->node_kind[from], o = w->node_kind[to];
	return berth_serving_link_ns(x, k, o) < 0 ? -1 : w->measured ? 0 : berth_serving_way_ns(x, k, o);
}

/* By the batch of node `by`. */
static double way_rate(const timed *w, int32_t by, int32_t from, int32_t to)
{
	int64_t ns = berth_serving_link_ns(&w->x[w->batch[by]], w->node_kind[from], w->node_kind[to]);
	return ns > 0 && !w->measured ? (double)two_batches[w->batch[by]] * 1e9 / (double)ns : 1e9;
}

/* Weights of node n that memory has no room for beside the state; -1: nor has the disk. */
static int64_t disk_bytes(const timed *w, int32_t n)
{
	const berth_server_kind *d = &w->x[0].kind[w->node_kind[n]];
	int64_t room = d->memory_bytes, weights = 0;
	for (int32_t l = w->from[n]; l < w->to[n]; l++) {
		room -= w->state[l];
		weights += w->bytes[l] - w->state[l];
	}
	return room < 0 || weights - room > d->disk_bytes ? -1 : berth_max(0, weights - room);
}

static int64_t step_ns(const timed *w, int32_t n)
{
	int64_t ns = 0;
	double byte_ns = w->x[0].kind[w->node_kind[n]].disk_byte_ns;
	if (w->measured && w->to[n] > w->from[n])
		return llround(1e9 * w->step_s[w->node_kind[n] * (FEW_LAYERS + 1) + w->to[n] - w->from[n]]);
	for (int32_t l = w->from[n]; l < w->to[n]; l++)
		ns += w->ns[w->batch[n]][w->node_kind[n]][l];
	return berth_max(ns, llround((double)disk_bytes(w, n) * byte_ns));
}

/* A column for each path that keeps the limit. */
static void add_timed(timed *w, const int32_t *node, int32_t depth, int32_t done, int64_t ns)
{
	int32_t longer[FEW_NODES];
	if (done == FEW_LAYERS && ns <= w->x[0].most_ns) {
		for (int32_t i = 0; i < depth; i++) {
			w->a[node[i]][w->n_cols] = 1;
			if (i > 0) {
				w->a[FEW_NODES + 4 * node[i - 1] + w->node_kind[node[i]]][w->n_cols] = 1;
				w->a[FEW_NODES + 4 * node[i] + 2 + w->node_kind[node[i - 1]]][w->n_cols] = 1;
			}
		}
		w->n_cols++;
	}
	for (int32_t n = 0; n < w->n_nodes && done < FEW_LAYERS; n++) {
		int64_t on_ns = depth > 0 ? way_ns(w, node[depth - 1], n) : 0;
		if (w->from[n] > done || w->to[n] <= done || on_ns < 0)
			continue;
		memcpy(longer, node, sizeof longer);
		longer[depth] = n;
		add_timed(w, longer, depth + 1, w->to[n], ns + step_ns(w, n) + on_ns);
	}
}

static void try_timed(timed *w, int32_t n, berth_arena *tmp)
{
	if (n == w->n_nodes) {
		double a[FEW_NODES * 5 * 64], limit[FEW_NODES * 5] = {0}, gain[64], x[64], value;
		double has[FEW_LAYERS] = {0}, least = INFINITY; /* no flow is above that of a layer */
		int32_t none[FEW_NODES] = {0};
		berth_err err;
		for (int32_t i = 0; i < w->n_nodes; i++) {
			bool on = w->to[i] - w->from[i] < FEW_LAYERS && !w->measured;
			int64_t shared = w->x[w->batch[i]].kind[w->node_kind[i]].outside_ns;
			double ns = (double)berth_max(step_ns(w, i), on ? shared : 0);
			limit[i] = w->to[i] > w->from[i] ? (double)two_batches[w->batch[i]] * 1e9 / ns : 0;
			for (int32_t o = 0; o < w->n_nodes; o++) {
				limit[FEW_NODES + 4 * i + w->node_kind[o]] = way_rate(w, i, i, o);
				limit[FEW_NODES + 4 * i + 2 + w->node_kind[o]] = way_rate(w, i, o, i);
			}
			for (int32_t l = w->from[i]; l < w->to[i]; l++)
				has[l] += limit[i];
		}
		for (int32_t l = 0; l < FEW_LAYERS; l++)
			least = fmin(least, has[l]);
		if (least <= w->best)
			return;
		w->n_cols = 0;
		memset(w->a, 0, sizeof w->a);
		add_timed(w, none, 0, 0, 0);
		for (int32_t i = 0; i < FEW_NODES * 5; i++)
			memcpy(&a[i * w->n_cols], w->a[i], (size_t)w->n_cols * sizeof *a);
		for (int32_t c = 0; c < w->n_cols; c++)
			gain[c] = 1;
		if (w->n_cols > 0)
			assert_ok(berth_simplex_max(FEW_NODES * 5, w->n_cols, a, limit, gain, tmp, x, &value,
			                            &err),
			          &err);
		w->best = w->n_cols > 0 ? fmax(w->best, value) : w->best;
		return;
	}
	w->from[n] = w->to[n] = 0;
	try_timed(w, n + 1, tmp);
	for (w->batch[n] = 0; w->batch[n] < (w->measured ? 1 : 2); w->batch[n]++)
		for (int32_t f = 0; f < FEW_LAYERS; f++) {
			for (int32_t t = f + 1; t <= FEW_LAYERS; t++) {
				w->from[n] = f;
				w->to[n] = t;
				if (w->measured || disk_bytes(w, n) >= 0)
					try_timed(w, n + 1, tmp);
			}
		}
	w->batch[n] = 0;
}

static berth_status lay_timed(const timed *w, const berth_layers *start, berth_arena *mem, berth_arena *tmp,
                              berth_layers *out, berth_err *err)
{
	return berth_serving_lay(w->x, two_batches, 2, w->x, w->measured ? w->step_s : NULL, start, 500, mem,
	                         tmp, out, err);
}

/* A limit that the layout without one just keeps costs nothing. */
static void check_kept_unasked(timed *w, berth_arena *mem, berth_arena *tmp)
{
	berth_layers start = {0}, free, same;
	berth_err err;
	w->x[0].most_ns = w->x[1].most_ns = 0;
	assert_ok(lay_timed(w, &start, mem, tmp, &free, &err), &err);
	w->x[0].most_ns = w->x[1].most_ns = llround(free.time_s[0] * 1e9);
	assert_ok(lay_timed(w, &start, mem, tmp, &same, &err), &err);
	assert_true(same.per_s >= free.per_s * (1 - 1e-9));
	assert_true(same.bound_per_s >= same.per_s && same.bound_per_s <= free.bound_per_s * (1 + 1e-6));
}

static void test_within_limit(void **state)
{
	(void)state;
	int32_t n = 0, kept = 0, near = 0, all = support_sampled(500, BERTH_DEBUG ? 15 : 55, "clusters");
	for (uint64_t seed = 1; seed <= (uint64_t)all; seed++) {
		berth_arena mem = {0}, tmp = {0};
		berth_layers start = {0}, out;
		berth_err err;
		timed w;
		draw_timed(&w, seed, seed % 5 == 0);
		try_timed(&w, 0, &tmp);
		assert_ok(lay_timed(&w, &start, &mem, &tmp, &out, &err), &err);
		if (out.bound_per_s < w.best || out.per_s > w.best * (1 + 1e-6) ||
		    out.time_s[0] * 1e9 > (double)w.x[0].most_ns * (1 + 1e-6))
			fail_msg("seed %d: %.6g of %.6g, bound %.6g, %.6g ns of %d", (int)seed, out.per_s,
			         w.best, out.bound_per_s, out.time_s[0] * 1e9, (int)w.x[0].most_ns);
		if (seed % 25 == 11)
			check_kept_unasked(&w, &mem, &tmp);
		assert_true(out.quickest_s > 0);
		assert_true(out.per_s <= 0 || out.quickest_s <= out.time_s[0] * (1 + 1e-9));
		n += w.best > 0;
		kept += out.per_s > 0;
		near += w.best > 0 && out.per_s >= 0.98 * w.best;
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	printf("within limits: %d, %d kept, %d near\n", n, kept, near);
	assert_true(3 * n > all && kept >= 0.99 * n && near >= 0.99 * n);
}

/* Paths run all layers in turn on what holds them, add up to the flow, and take no node twice. */
static int64_t check_paths(const berth_layout_task *x, const berth_layers *l)
{
	berth_arena mem = {0}, tmp = {0};
	berth_layout_path *path;
	berth_err err;
	int32_t n = 0;
	int64_t own = 0, used[256] = {0};
	double sum = 0, own_per_s = 0;
	assert_ok(berth_layout_paths(l, &mem, &tmp, &path, &n, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		const berth_layout_path *p = &path[i];
		int32_t at = 0;
		for (int32_t s = 0; s < p->n_stages; s++) {
			const berth_layout_stage *g = &p->stage[s];
			assert_true(g->from == at && g->to > at);
			assert_true(l->group[g->group].from <= g->from && l->group[g->group].to == g->to);
			at = g->to;
			used[g->group] += p->n;
		}
		assert_int_equal(at, x->n_layers);
		assert_true(p->per_s > 0 && p->n >= 0 && (p->n > 0) == (p->own_per_s > 0));
		sum += p->per_s;
		own += p->n;
		own_per_s += p->own_per_s;
	}
	for (int32_t g = 0; g < l->n_groups; g++)
		assert_true(used[g] <= l->group[g].n);
	assert_near(sum, l->per_s, 1e-6 * fmax(l->per_s, 1));
	assert_true(own_per_s <= l->per_s * (1 + 1e-9));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return own;
}

static void test_paths(void **state)
{
	(void)state;
	int64_t own = 0, found = 0, all = support_sampled(200, BERTH_DEBUG ? 40 : 200, "clusters");
	for (uint64_t seed = 0; seed < (uint64_t)all; seed++) {
		instance w;
		berth_arena mem = {0}, tmp = {0};
		berth_layers out;
		berth_err err;
		draw(&w, seed, seed % 2);
		assert_ok(berth_layout_search(&w.x, NULL, 3, 1, &mem, &tmp, &out, &err), &err);
		int64_t n = check_paths(&w.x, &out);
		assert_true((n > 0) == (out.per_s > 0));
		own += n;
		found += out.per_s > 0;
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	assert_true(4 * found > all && own > found);
}

/* A search that nothing ends is the same. One that is ended at once has a layout all the same, and a bound
 * that holds. */
static void test_ended(void **state)
{
	(void)state;
	int32_t found = 0, all = 0, n = support_sampled(40, BERTH_DEBUG ? 10 : 40, "clusters");
	for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
		instance w;
		berth_arena mem = {0}, tmp = {0};
		berth_layers free, same, ended;
		berth_err err;
		atomic_int cancel = 0;
		berth_search_cfg cfg = berth_search_cfg_default();
		cfg.cancel = &cancel;
		draw(&w, seed, seed % 2);
		assert_ok(berth_layout_search(&w.x, NULL, 200, 1, &mem, &tmp, &free, &err), &err);
		w.x.cfg = &cfg;
		assert_ok(berth_layout_search(&w.x, NULL, 200, 1, &mem, &tmp, &same, &err), &err);
		assert_near(same.per_s, free.per_s, 0);
		assert_near(same.bound_per_s, free.bound_per_s, 0);
		cancel = 1;
		assert_ok(berth_layout_search(&w.x, NULL, 200, 1, &mem, &tmp, &ended, &err), &err);
		check_flow(&w.x, &ended);
		assert_true(ended.bound_per_s >= free.bound_per_s && ended.per_s <= ended.bound_per_s);
		found += ended.per_s > 0;
		all += free.per_s > 0;
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	assert_true(2 * all > n && found >= 0.8 * all);
}

typedef struct patience {
	atomic_int cancel;
	int32_t left; /* times that progress may be told; below 0: any */
} patience;

static void lose_patience(void *ctx, const berth_progress *now)
{
	(void)now;
	patience *p = ctx;
	p->cancel |= p->left-- == 0;
}

/* Whenever it is ended: within limits, no more than the bound, and mostly something. */
static void test_ended_within_limit(void **state)
{
	(void)state;
	int32_t found = 0, all = 0, seeds = support_sampled(12, BERTH_DEBUG ? 5 : 12, "clusters");
	for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++) {
		timed w;
		int32_t n = 0;
		draw_timed(&w, seed, false);
		for (int32_t left = 0; left <= 512; left = left ? 8 * left : 1) {
			berth_arena mem = {0}, tmp = {0};
			berth_layers start = {0}, out;
			berth_err err;
			patience p = {.left = left == 512 ? -1 : left};
			berth_search_cfg cfg = berth_search_cfg_default();
			cfg.cancel = &p.cancel;
			cfg.progress = lose_patience;
			cfg.progress_ctx = &p;
			w.x[0].cfg = &cfg;
			assert_ok(lay_timed(&w, &start, &mem, &tmp, &out, &err), &err);
			assert_true(out.per_s <= out.bound_per_s);
			assert_true(out.time_s[0] * 1e9 <= (double)w.x[0].most_ns * (1 + 1e-6));
			n += out.per_s > 0;
			found += left == 512 && out.per_s > 0 ? n : 0;
			all += left == 512 && out.per_s > 0 ? 5 : 0;
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
		}
	}
	assert_true(3 * all >= 5 * seeds && found >= 0.8 * all);
}

static void count_calls(void *ctx, const berth_progress *now)
{
	(void)now;
	++*(int32_t *)ctx;
}

/* One node holds either of two layers, and not both, though a way may be in time: an end ends it all. */
static void test_ended_with_nothing(void **state)
{
	(void)state;
	berth_layout_kind kind;
	int32_t calls = 0; /* each search that is begun tells once */
	atomic_int cancel = 1;
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_layout_task x = {.n_layers = 2,
	                       .n_kinds = 1,
	                       .kind = &kind,
	                       .limit[0].most_s = 3,
	                       .n_limits = 1,
	                       .cfg = &cfg};
	berth_arena mem = {0}, tmp = {0};
	berth_layers out;
	berth_err err;
	cfg.cancel = &cancel;
	cfg.progress = count_calls;
	cfg.progress_ctx = &calls;
	assert_ok(berth_layout_kind_new(&kind, "a", 1, 2, 1, &mem, &err), &err);
	for (int32_t l = 0; l < 2; l++)
		berth_layout_offer(&kind, 2, 0, l, l + 1, 1, 1, (double[]){1, 0}, 1, 0, 0);
	assert_ok(berth_layout_search(&x, NULL, 100, 1, &mem, &tmp, &out, &err), &err);
	assert_near(out.per_s, 0, 0);
	assert_true(calls > 0 && calls <= 8);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* What a search within a limit is given it does not lose, however little it tries. */
static void test_start_within_limit(void **state)
{
	(void)state;
	enum { L = 6, KINDS = 3 };
	int32_t n = 0, kept = 0, all = support_sampled(20, BERTH_DEBUG ? 5 : 20, "clusters");
	for (uint64_t seed = 1; seed <= (uint64_t)all; seed++) {
		berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_RANDOM);
		berth_layout_kind kind[KINDS];
		berth_layout_task x = {.n_layers = L, .n_kinds = KINDS, .kind = kind, .n_limits = 1};
		berth_arena mem = {0}, tmp = {0};
		berth_layers first, again;
		berth_err err;
		for (int32_t k = 0; k < KINDS; k++) {
			assert_ok(berth_layout_kind_new(&kind[k], "k", 3, L, 2, &mem, &err), &err);
			for (int32_t i = 0; i < 2 * L * L; i++) {
				int32_t f = i / L % L, t = i % L + 1, m = i / L / L;
				double s = (t - f) * (1 + m) * (1 + berth_rng_unit(&rng)),
				       per_s = (1 + m) * berth_rng_unit(&rng) / s;
				if (t > f && t - f <= 3)
					berth_layout_offer(&kind[k], L, m, f, t, per_s, per_s,
					                   (double[]){s, 0}, 1, 0, 0);
			}
		}
		x.limit[0].most_s = 1.3 * berth_layout_quickest(&x, 0, NULL);
		assert_ok(berth_layout_search(&x, NULL, 100, 1, &mem, &tmp, &first, &err), &err);
		assert_ok(berth_layout_search(&x, &first, 1, 1, &mem, &tmp, &again, &err), &err);
		n += first.per_s > 0;
		kept += first.per_s > 0 && again.per_s >= first.per_s * (1 - 1e-6);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	printf("starts within limits: %d, %d kept\n", n, kept);
	assert_true(n == all && kept >= 0.9 * n);
}

/* Three nodes of a kind hold a layer each at rate 6, or two at 2: alone 2 for two layers by one node each;
 * all three overlap. Equal clusters side by side have as many times the flow. */
static void test_many(void **state)
{
	(void)state;
	static double per_s[2][9 * 9];
	berth_layout_kind kind[2] = {{.name = "a", .now.per_s = per_s[0]},
	                             {.name = "b", .now.per_s = per_s[1]}};
	berth_layout_task x = {.n_layers = 8, .n_kinds = 2, .kind = kind};
	for (int32_t f = 0; f < 8; f++)
		for (int32_t t = f + 1; t <= 8 && t <= f + 5; t++) {
			per_s[0][f * 9 + t] = 1000.0 / (t - f) / (t - f);
			per_s[1][f * 9 + t] = t - f <= 2 ? 300.0 / (t - f) : 0;
		}
	double one = 0;
	for (int64_t n = 1; n <= 1000000; n *= 100) {
		berth_arena mem = {0}, tmp = {0};
		berth_layers out, again;
		berth_err err;
		kind[0].n_nodes = 6 * n;
		kind[1].n_nodes = 5 * n;
		assert_ok(berth_layout_search(&x, NULL, 200, 1, &mem, &tmp, &out, &err), &err);
		check_flow(&x, &out);
		check_paths(&x, &out);
		assert_ok(berth_layout_search(&x, &out, 200, 1, &mem, &tmp, &again, &err), &err);
		assert_true(out.per_s <= out.bound_per_s && out.per_s >= one * (double)n * 0.999);
		assert_true(again.per_s >= out.per_s * 0.999);
		assert_true(n == 1 || out.per_s >= 0.97 * out.bound_per_s);
		one = n == 1 ? out.per_s : one;
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* A node that is too small for a layer, and one that adds nothing, hold nothing. */
static void test_left_out(void **state)
{
	(void)state;
	static double strong[9] = {0, 10, 4, 0, 0, 10}, weak[9] = {0, 0.5, 0.2, 0, 0, 0.5}, none[9] = {0};
	berth_layout_kind kind[3] = {{.name = "strong", .n_nodes = 2, .now.per_s = strong},
	                             {.name = "weak", .n_nodes = 1, .now.per_s = weak},
	                             {.name = "none", .n_nodes = 4, .now.per_s = none}};
	berth_layout_task x = {.n_layers = 2, .n_kinds = 3, .kind = kind};
	berth_arena mem = {0}, tmp = {0};
	berth_layers out;
	berth_err err;
	assert_ok(berth_layout_search(&x, NULL, 100, 1, &mem, &tmp, &out, &err), &err);
	assert_near(out.per_s, 10.2, 1e-5);
	kind[0].n_nodes = 1;
	kind[1].n_nodes = 0;
	assert_ok(berth_layout_search(&x, NULL, 100, 1, &mem, &tmp, &out, &err), &err);
	assert_near(out.per_s, 4, 1e-5);
	assert_int_equal(out.n_groups, 1);
	kind[0].n_nodes = 0;
	assert_ok(berth_layout_search(&x, NULL, 100, 1, &mem, &tmp, &out, &err), &err);
	assert_near(out.per_s, 0, 0);
	assert_near(out.bound_per_s, 0, 0);
	assert_int_equal(out.n_groups, 0);
	assert_near(out.time_s[0], 0, 0);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Of a node that is quicker with more layers (as measured) a request may want the last ones alone. */
static void test_quickest(void **state)
{
	(void)state;
	berth_layout_kind kind[2];
	berth_layout_task x = {.n_layers = 3, .n_kinds = 2, .kind = kind, .n_limits = 1};
	static const struct {
		int32_t kind, from, to;
		double s;
	} held[] = {{0, 0, 1, 5}, {0, 0, 2, 1}, {1, 1, 3, 1}, {1, 2, 3, 9}};
	berth_arena mem = {0};
	berth_err err;
	for (int32_t k = 0; k < 2; k++)
		assert_ok(berth_layout_kind_new(&kind[k], names[k], 1, 3, 1, &mem, &err), &err);
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		berth_layout_offer(&kind[held[i].kind], 3, 0, held[i].from, held[i].to, 1, 1,
		                   (double[]){held[i].s, 0}, 1, 0, 0);
	assert_near(berth_layout_quickest(&x, 0, NULL), 2, 0);
	berth_arena_free(&mem);
}

static void test_refused(void **state)
{
	(void)state;
	static double per_s[9] = {0, 10, 4, 0, 0, 10}, link[1] = {-1};
	berth_layout_kind kind = {.name = "big", .n_nodes = 2, .now.per_s = per_s};
	berth_layout_task x = {.n_layers = 2, .n_kinds = 1, .kind = &kind};
	berth_layout_group group[2] = {{0, 0, 1, 2, 0, 0, 0}, {0, 1, 2, 1, 0, 0, 0}};
	berth_layers l = {.n_groups = 2, .group = group};
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	assert_int_equal(berth_layout_flow(&x, &l, &mem, &tmp, &err), BERTH_EINVAL);
	assert_string_equal(err.msg, "group 2: 3 nodes of big, and there are 2");
	group[0].n = 1;
	group[1].to = 3;
	assert_int_equal(berth_layout_flow(&x, &l, &mem, &tmp, &err), BERTH_EINVAL);
	assert_string_equal(err.msg, "group 2: layers 2 to 3 of 2 are none");
	group[1].to = 2;
	assert_ok(berth_layout_flow(&x, &l, &mem, &tmp, &err), &err);
	assert_near(l.per_s, 10, 1e-5);
	per_s[5] = 0;
	assert_int_equal(berth_layout_flow(&x, &l, &mem, &tmp, &err), BERTH_EINVAL);
	assert_string_equal(err.msg, "group 2: a node of big cannot hold layers 2 to 2: give it fewer");
	per_s[5] = NAN;
	assert_int_equal(berth_layout_search(&x, NULL, 1, 1, &mem, &tmp, &l, &err), BERTH_EINVAL);
	assert_non_null(strstr(err.msg, "a node of big with layers 2 to 2 has nan"));
	per_s[5] = 10;
	x.link_per_s = link;
	assert_int_equal(berth_layout_search(&x, NULL, 1, 1, &mem, &tmp, &l, &err), BERTH_EINVAL);
	assert_non_null(strstr(err.msg, "links from big to big carry -1"));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_layout_task *x = ctx;
	berth_layers l;
	double bound;
	BERTH_TRY(berth_layout_bound(x, tmp, &bound, err));
	BERTH_TRY(berth_layout_search(x, NULL, 1, 1, mem, tmp, &l, err));
	BERTH_TRY(berth_layout_flow(x, &l, mem, tmp, err));
	berth_layout_path *path;
	int32_t n;
	return berth_layout_paths(&l, mem, tmp, &path, &n, err);
}

static berth_status lay(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const timed *w = ctx;
	berth_layers start = {0}, out;
	return berth_serving_lay(w->x, two_batches, 2, w->x, w->step_s, &start, 1, mem, tmp, &out, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	timed t;
	draw_timed(&t, 5, true);
	assert_fails_each(lay, &t, BERTH_DEBUG ? 301 : 61);
	for (int linked = 0; linked < 2; linked++) {
		instance w;
		draw(&w, 5, linked);
		assert_fails_each(work, &w.x, BERTH_DEBUG ? 95 : 19);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_against_all),
		cmocka_unit_test(test_within_limit),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_ended_within_limit),
		cmocka_unit_test(test_ended_with_nothing),
		cmocka_unit_test(test_start_within_limit),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_quickest),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
