/* The three methods of Baechi: m-topo, m-etf and m-sct. */
#include "coloc.h"
#include "etf.h"
#include "favourite.h"
#include "lp.h"
#include "method.h"

/* m-TOPO of Baechi: B. Jeon, L. Cai, P. Srivastava, J. Jiang, X. Ke, Y. Meng, C. Xie, I. Gupta, "Baechi: fast
 * device placement of machine learning graphs", SoCC 2020. Colocation groups in topological order fill one
 * device after the other. Each is filled up to the total of bytes / devices + the largest colocation group. A
 * device that the colocation group may not use, or whose memory would be exceeded, is passed over for it. One
 * evaluation. O(edges + colocation groups * devs). */

typedef struct filling {
	const berth_problem *p;
	berth_partial *part;
	int64_t *coloc_bytes, *filled; /* [n_colocs], [n_devs] */
	int64_t cap;
	int32_t dev;
} filling;

static bool takes(const filling *f, int32_t coloc, int32_t dev)
{
	return berth_coloc_legal(f->p, coloc, dev) && berth_partial_fits(f->part, coloc, dev) &&
	       f->filled[dev] + f->coloc_bytes[coloc] <= f->cap;
}

/* The present device, else the next one that takes the colocation group, else the first legal one with room,
 * else the roomiest. */
static int32_t m_topo_choose(filling *f, int32_t coloc)
{
	int32_t n = f->p->n_devs;
	for (int32_t k = 0; k < n; k++) {
		int32_t dev = (f->dev + k) % n;
		if (!takes(f, coloc, dev))
			continue;
		if (f->filled[f->dev] + f->coloc_bytes[coloc] > f->cap)
			f->dev = dev; /* the one at hand is full */
		return dev;
	}
	for (int32_t d = 0; d < n; d++)
		if (berth_coloc_legal(f->p, coloc, d) && berth_partial_fits(f->part, coloc, d))
			return d;
	return berth_partial_roomiest(f->part, coloc);
}

static berth_status m_topo_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	filling f = {.p = p};
	int32_t *op_dev;
	int64_t total = 0, largest = 0;
	BERTH_TRY(berth_partial_new(p, tmp, &f.part, err));
	BERTH_TRY_NEW(tmp, p->n_colocs, err, f.coloc_bytes);
	BERTH_TRY_NEW(tmp, p->n_devs, err, f.filled);
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev);
	berth_coloc_bytes(p, f.coloc_bytes);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		total += f.coloc_bytes[u];
		largest = f.coloc_bytes[u] > largest ? f.coloc_bytes[u] : largest;
	}
	f.cap = total / p->n_devs + largest;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k], coloc = p->op_coloc[op];
		if (berth_partial_dev(f.part, op) >= 0)
			continue;
		int32_t dev = m_topo_choose(&f, coloc);
		berth_partial_bind(f.part, coloc, dev);
		f.filled[dev] += f.coloc_bytes[coloc];
	}
	berth_partial_devs(f.part, op_dev);
	berth_search_offer(s, op_dev, NULL);
	return BERTH_OK;
}

const berth_method berth_method_m_topo = {
	"m-topo",
	"Devices filled with bytes one after the other in topological order (Baechi, Jeon et al. 2020).",
	false, m_topo_run, NULL, "Jeon et al. (Baechi), SoCC 2020"};

/* m-ETF of Baechi (Jeon et al. 2020): earliest task first, where memory allows it (etf.h). */

static berth_status m_etf_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return etf_offer(s, NULL, tmp, err);
}

const berth_method berth_method_m_etf = {
	"m-etf",
	"The operator and device that can start first, where memory allows it (Baechi, Jeon et al. 2020).",
	false, m_etf_run, NULL, "Jeon et al. (Baechi), SoCC 2020"};

/* m-SCT of Baechi (Jeon et al. 2020): earliest task first with favourite children
 * (favourite.h, etf.h), where memory allows it. */

#define WINDOW_NS 1e8  /* of a window's program, about */
#define KEPT_SHARE 0.5 /* of the time is left for the schedules */

typedef struct patience {
	berth_search *s;
	double kept_s; /* seconds */
} patience;

/* Favourites stop where there is no more time for them. */
static bool favourites_go_on(void *ctx)
{
	const patience *x = ctx;
	return berth_search_afford(x->s, WINDOW_NS) && berth_search_seconds_left(x->s) > x->kept_s;
}

static berth_status m_sct_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	int32_t *op_child;
	favourite_cfg cfg = favourite_cfg_default();
	patience x = {s, KEPT_SHARE * berth_search_seconds_left(s)};
	if (!berth_lp_solver())
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method m-sct needs a solver: install %s and build berth again",
		                  berth_lp_missing());
	if (berth_search_timed(s)) {
		cfg.go_on = favourites_go_on;
		cfg.ctx = &x;
	}
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, op_child);
	BERTH_TRY(favourite_children(s->p, &cfg, op_child, NULL, tmp, err));
	return etf_offer(s, op_child, tmp, err);
}

const berth_method berth_method_m_sct = {
	"m-sct",
	"Earliest start with favourite children kept on their parents' device (Baechi, Jeon et al. 2020).",
	false, m_sct_run, berth_lp_missing, "Jeon et al. (Baechi), SoCC 2020"};
