/* Draws the moves of searches that walk: a colocation group, joined groups of one device, a window, an
 * exchange, a border between stages. The graph of colocation groups is made once. */
#include "moves.h"

#include "coloc.h"

/* ---- the graph of colocation groups ---- */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return BERTH_COMPARE(x, y);
}

/* Distinct pairs (colocation group, neighbour), both ways, ascending. */
static berth_status coloc_pairs(const berth_problem *p, berth_arena *mem, uint64_t **out, size_t *n,
                                berth_err *err)
{
	const berth_graph *g = p->g;
	uint64_t *pair;
	size_t len = 0, kept = 0;
	BERTH_TRY_NEW(mem, 2 * (size_t)g->n_edges, err, pair);
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			uint32_t a = (uint32_t)p->op_coloc[g->tensor_producer[t]],
				 b = (uint32_t)p->op_coloc[g->edge_consumer[e]];
			if (a == b)
				continue;
			pair[len++] = (uint64_t)a << 32 | b;
			pair[len++] = (uint64_t)b << 32 | a;
		}
	if (len)
		qsort(pair, len, sizeof *pair, compare_u64);
	for (size_t i = 0; i < len; i++)
		if (i == 0 || pair[i] != pair[kept - 1])
			pair[kept++] = pair[i];
	*out = pair;
	*n = kept;
	return BERTH_OK;
}

berth_status berth_moves_new(const berth_problem *p, berth_arena *mem, berth_moves *out, berth_err *err)
{
	berth_moves m = {.p = p};
	uint64_t *pair;
	size_t n;
	BERTH_TRY(coloc_pairs(p, mem, &pair, &n, err));
	BERTH_TRY_NEW(mem, (size_t)p->n_colocs + 1, err, m.coloc_near_off);
	BERTH_TRY_NEW(mem, n, err, m.coloc_near);
	BERTH_TRY_NEW(mem, p->n_colocs, err, m.coloc_seq, m.coloc_at, m.moved, m.seen);
	for (size_t i = 0; i < n; i++) {
		m.coloc_near[i] = (int32_t)(uint32_t)pair[i];
		m.coloc_near_off[(pair[i] >> 32) + 1]++;
	}
	for (int32_t u = 0; u < p->n_colocs; u++) {
		m.coloc_near_off[u + 1] += m.coloc_near_off[u];
		m.coloc_at[u] = -1;
	}
	for (int32_t k = 0, at = 0; k < p->n_ops; k++) {
		int32_t u = p->op_coloc[p->g->topo_op[k]];
		if (m.coloc_at[u] < 0) {
			m.coloc_at[u] = at;
			m.coloc_seq[at++] = u;
		}
	}
	*out = m;
	return BERTH_OK;
}

/* ---- moves ---- */

static int32_t below(berth_rng *rng, int32_t n)
{
	return (int32_t)berth_rng_below(rng, (uint32_t)n);
}

/* 1 .. largest, each power of two about equally often. */
static int32_t draw_size(int32_t largest, berth_rng *rng)
{
	int32_t size = (int32_t)exp2(berth_rng_unit(rng) * log2((double)largest + 1));
	return size < 1 ? 1 : size > largest ? largest : size;
}

/* A device for the colocation group: in half of the draws that of a neighbour, else any. -1 where the draw is
 * not legal or is its present one. */
static int32_t draw_dev(const berth_moves *m, int32_t coloc, berth_rng *rng, const int32_t *op_dev)
{
	int32_t first = m->coloc_near_off[coloc], n = m->coloc_near_off[coloc + 1] - first;
	int32_t d = below(rng, m->p->n_devs);
	if (n > 0 && (berth_rng_next(rng) & 1))
		d = berth_coloc_dev(m->p, m->coloc_near[first + below(rng, n)], op_dev);
	return d != berth_coloc_dev(m->p, coloc, op_dev) && berth_coloc_legal(m->p, coloc, d) ? d : -1;
}

static void put(berth_moves *m, int32_t coloc, int32_t dev, int32_t *op_dev)
{
	if (!berth_coloc_legal(m->p, coloc, dev) || berth_coloc_dev(m->p, coloc, op_dev) == dev)
		return;
	berth_coloc_put(m->p, coloc, dev, op_dev);
	m->moved[m->n_moved++] = coloc;
}

/* colocation group and others of its device that it is joined to, breadth first, up to size. */
static void move_joined(berth_moves *m, int32_t coloc, int32_t dev, int32_t size, int32_t *op_dev)
{
	int32_t from = berth_coloc_dev(m->p, coloc, op_dev), next = 0;
	m->stamp++;
	m->seen[coloc] = m->stamp;
	put(m, coloc, dev, op_dev);
	for (; next < m->n_moved && m->n_moved < size; next++)
		for (int32_t i = m->coloc_near_off[m->moved[next]];
		     i < m->coloc_near_off[m->moved[next] + 1] && m->n_moved < size; i++) {
			int32_t v = m->coloc_near[i];
			if (m->seen[v] != m->stamp && berth_coloc_dev(m->p, v, op_dev) == from)
				put(m, v, dev, op_dev);
			m->seen[v] = m->stamp;
		}
}

/* Colocation groups from place at of the topological sequence on: all of them, or those of the first one's
 * device. */
static void move_window(berth_moves *m, int32_t coloc, int32_t dev, int32_t size, bool all, int32_t *op_dev)
{
	int32_t from = berth_coloc_dev(m->p, coloc, op_dev);
	for (int32_t at = m->coloc_at[coloc]; at < m->p->n_colocs && at < m->coloc_at[coloc] + size; at++)
		if (all || berth_coloc_dev(m->p, m->coloc_seq[at], op_dev) == from)
			put(m, m->coloc_seq[at], dev, op_dev);
}

static void exchange(berth_moves *m, int32_t a, int32_t b, int32_t *op_dev)
{
	int32_t x = berth_coloc_dev(m->p, a, op_dev), y = berth_coloc_dev(m->p, b, op_dev);
	if (x == y || !berth_coloc_legal(m->p, a, y) || !berth_coloc_legal(m->p, b, x))
		return;
	put(m, a, y, op_dev);
	put(m, b, x, op_dev);
}

/* A border between stages, by some blocks to either side: those take the device behind it. */
static void move_border(berth_moves *m, int32_t size, berth_rng *rng, int32_t *op_dev)
{
	const berth_problem *p = m->p;
	int32_t at = 1 + below(rng, p->n_chain);
	bool back = berth_rng_next(rng) & 1;
	while (at < p->n_chain && berth_coloc_dev(p, p->chain_coloc[at], op_dev) ==
	                                  berth_coloc_dev(p, p->chain_coloc[at - 1], op_dev))
		at++;
	if (at >= p->n_chain)
		return;
	int32_t dev = berth_coloc_dev(p, p->chain_coloc[back ? at : at - 1], op_dev);
	for (int32_t i = 0; i < size; i++) {
		int32_t k = back ? at - 1 - i : at + i;
		if (k >= 0 && k < p->n_chain)
			put(m, p->chain_coloc[k], dev, op_dev);
	}
}

berth_move_shape berth_moves_draw_shape(const berth_moves *m, double share, berth_rng *rng)
{
	static const berth_move_kind kinds[16] = {
		BERTH_MOVE_EXCHANGE, BERTH_MOVE_EXCHANGE, BERTH_MOVE_ONE, BERTH_MOVE_ONE, BERTH_MOVE_ONE,
		BERTH_MOVE_ONE, BERTH_MOVE_ONE, BERTH_MOVE_ONE, BERTH_MOVE_JOINED, BERTH_MOVE_JOINED,
		BERTH_MOVE_JOINED, BERTH_MOVE_JOINED, BERTH_MOVE_WINDOW, BERTH_MOVE_WINDOW,
		BERTH_MOVE_WINDOW_OF_DEVICE, BERTH_MOVE_WINDOW_OF_DEVICE};
	int32_t largest = (int32_t)(share * m->p->n_colocs);
	uint32_t often = m->p->max_cuts >= 0 ? 1 : 3;
	bool border = m->p->n_chain > 0 && (berth_rng_next(rng) & often) == often;
	berth_move_kind kind = border ? BERTH_MOVE_BORDER : kinds[berth_rng_below(rng, 16)];
	bool sized = kind != BERTH_MOVE_EXCHANGE && kind != BERTH_MOVE_ONE;
	return (berth_move_shape){kind, sized ? draw_size(largest > 1 ? largest : 1, rng) : 1};
}

int32_t berth_moves_draw_from(berth_moves *m, berth_move_shape shape, int32_t coloc, berth_rng *rng,
                              int32_t *op_dev)
{
	int32_t dev;
	m->n_moved = 0;
	if (shape.kind == BERTH_MOVE_EXCHANGE)
		exchange(m, coloc, below(rng, m->p->n_colocs), op_dev);
	else if (shape.kind == BERTH_MOVE_BORDER)
		move_border(m, shape.size, rng, op_dev);
	else if ((dev = draw_dev(m, coloc, rng, op_dev)) < 0)
		return 0;
	else if (shape.kind == BERTH_MOVE_ONE)
		put(m, coloc, dev, op_dev);
	else if (shape.kind == BERTH_MOVE_JOINED)
		move_joined(m, coloc, dev, shape.size, op_dev);
	else
		move_window(m, coloc, dev, shape.size, shape.kind == BERTH_MOVE_WINDOW, op_dev);
	return m->n_moved;
}

void berth_moves_undo(const berth_moves *m, const int32_t *op_dev, int32_t *trial)
{
	for (int32_t i = 0; i < m->n_moved; i++)
		berth_coloc_put(m->p, m->moved[i], berth_coloc_dev(m->p, m->moved[i], op_dev), trial);
}

void berth_moves_gather(berth_moves *m, int32_t coloc, int32_t size, berth_rng *rng)
{
	m->n_moved = 0;
	if (berth_rng_next(rng) & 1) {
		int32_t from = m->coloc_at[coloc] - below(rng, size);
		for (int32_t at = from > 0 ? from : 0; at < from + size && at < m->p->n_colocs; at++)
			m->moved[m->n_moved++] = m->coloc_seq[at];
	} else {
		/* Breadth first, from any of the neighbours on. */
		m->stamp++;
		m->seen[coloc] = m->stamp;
		m->moved[m->n_moved++] = coloc;
		for (int32_t next = 0; next < m->n_moved && m->n_moved < size; next++) {
			int32_t off = m->coloc_near_off[m->moved[next]];
			int32_t n = m->coloc_near_off[m->moved[next] + 1] - off,
				from = n > 0 ? below(rng, n) : 0;
			for (int32_t i = 0; i < n && m->n_moved < size; i++) {
				int32_t v = m->coloc_near[off + (from + i) % n];
				if (m->seen[v] != m->stamp)
					m->moved[m->n_moved++] = v;
				m->seen[v] = m->stamp;
			}
		}
	}
}

int32_t berth_moves_draw(berth_moves *m, double share, int tries, berth_rng *rng, int32_t *op_dev)
{
	int32_t n = 0;
	for (int k = 0; k < tries && n == 0 && m->p->n_colocs > 0; k++) {
		berth_move_shape shape = berth_moves_draw_shape(m, share, rng);
		n = berth_moves_draw_from(m, shape, below(rng, m->p->n_colocs), rng, op_dev);
	}
	return n;
}
