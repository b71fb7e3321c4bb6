/* The method `min-cut`: placements by minimum cuts (min_cut.h). From all operators on one device on, the
 * operators of two devices are spread over these two as is best, pair by pair, until no pair gains: swaps as
 * of Y. Boykov, O. Veksler, R. Zabih, "Fast approximate energy minimization via graph cuts", IEEE Trans.
 * Pattern Analysis and Machine Intelligence 23(11), 2001. On two devices the first cut is the least of all.
 * Of more than MOST_DEVS devices the fastest are looked at.
 *
 * Where the placement does not fit into memory, bytes on devices that are too full get a price that doubles
 * until it does. At most TRIES placements, one evaluation each. */
#include "min_cut.h"

#include "coloc.h"
#include "method.h"
#include "partition.h"
#include "simple.h"

enum { MOST_DEVS = 8, MOST_ROUNDS = 8, TRIES = 16 };

#define ARC_NS 4.0         /* of work to look at an arc */
#define FIRST_PRICE 0.0625 /* of a byte, against all time over all bytes */

typedef struct cutter {
	berth_search *s;
	berth_min_cut cut;
	int32_t *dev, n_devs; /* the fastest first */
	int64_t *coloc_bytes; /* [n_colocs] */
	double *byte_ns;      /* [n_devs of the problem] */
	int64_t *price_ns;    /* [n_colocs][n_devs] */
	double first_price;
	int32_t *op_dev; /* [n_ops] */
} cutter;

static bool afford_arcs(void *ctx, int64_t arcs)
{
	return berth_search_afford(ctx, ARC_NS * (double)arcs);
}

/* One cut for every pair of devices. Returns false where time is over. */
static bool swap_pairs(cutter *c)
{
	for (int32_t i = 0; i < c->n_devs; i++)
		for (int32_t k = i + 1; k < c->n_devs; k++)
			if (!berth_min_cut_place(&c->cut, (int32_t[2]){c->dev[i], c->dev[k]}, c->price_ns,
			                         afford_arcs, c->s, c->op_dev))
				return false;
	return true;
}

/* From all on the fastest device. Returns false where time is over. */
static bool place_by_cuts(cutter *c)
{
	int64_t before = INT64_MAX;
	berth_price_bytes(c->s->p, c->coloc_bytes, c->byte_ns, c->price_ns);
	berth_single_placement(c->s->p, c->dev[0], c->op_dev);
	for (int i = 0; i < MOST_ROUNDS && c->n_devs > 1; i++) {
		if (!swap_pairs(c))
			return false;
		/* The sum with the prices of bytes. */
		const berth_problem *p = c->s->p;
		int64_t now = berth_sum_of_times(p, c->op_dev, c->cut.seen);
		for (int32_t u = 0; u < p->n_colocs; u++)
			now += c->price_ns[berth_cell(p, u, berth_coloc_dev(p, u, c->op_dev))];
		if (c->n_devs == 2 || now >= before)
			return true;
		before = now;
	}
	return true;
}

static void raise_price(cutter *c, int32_t dev)
{
	c->byte_ns[dev] = c->byte_ns[dev] > 0 ? 2 * c->byte_ns[dev] : c->first_price;
}

/* Bytes become dearer where there are more than the device has room for, or on the fullest one. */
static void raise_prices(cutter *c)
{
	const berth_problem *p = c->s->p;
	int32_t fullest = 0;
	double full[MOST_DEVS] = {0};
	for (int32_t i = 0; i < c->n_devs; i++) {
		int64_t most = berth_dev_most_bytes(p, c->dev[i]);
		for (int32_t u = 0; most >= 0 && u < p->n_colocs; u++)
			if (berth_coloc_dev(p, u, c->op_dev) == c->dev[i])
				full[i] += (double)c->coloc_bytes[u] / fmax(1, (double)most);
		fullest = full[i] > full[fullest] ? i : fullest;
		if (full[i] > 1)
			raise_price(c, c->dev[i]);
	}
	if (full[fullest] <= 1)
		raise_price(c, c->dev[fullest]);
}

static berth_status new_cutter(berth_search *s, cutter *c, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	double time = 0, bytes = 1, *speed;
	*c = (cutter){.s = s};
	BERTH_TRY_NEW(tmp, p->n_devs, err, c->dev, speed);
	BERTH_TRY_NEW(tmp, p->n_ops, err, c->op_dev);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, c->coloc_bytes);
	BERTH_TRY_NEW(tmp, p->n_devs, err, c->byte_ns);
	BERTH_TRY_NEW(tmp, (size_t)p->n_colocs * (size_t)p->n_devs, err, c->price_ns);
	BERTH_TRY(berth_min_cut_new(p, tmp, &c->cut, err));
	berth_coloc_bytes(p, c->coloc_bytes);
	for (int32_t u = 0; u < p->n_colocs; u++)
		bytes += (double)c->coloc_bytes[u];
	for (int32_t op = 0; op < p->n_ops; op++)
		time += (double)p->op_mean_ns[op];
	c->first_price = FIRST_PRICE * time / bytes;
	c->n_devs = partition_devs_by_speed(p, c->dev, speed);
	c->n_devs = c->n_devs < MOST_DEVS ? c->n_devs : MOST_DEVS;
	return BERTH_OK;
}

static berth_status min_cut_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	cutter c;
	BERTH_TRY(new_cutter(s, &c, tmp, err));
	berth_single_placement(s->p, c.dev[0], c.op_dev);
	berth_search_offer(s, c.op_dev, NULL);
	for (int i = 0; i < TRIES && place_by_cuts(&c); i++) {
		if (berth_score_feasible(berth_search_offer(s, c.op_dev, NULL)))
			break;
		raise_prices(&c);
	}
	return BERTH_OK;
}

const berth_method berth_method_min_cut = {
	"min-cut", "Least sum of operator and transfer times by minimum cuts (Stone 1977; Hu et al. 2019).",
	false, min_cut_run, NULL, "Stone, IEEE TSE 1977; Hu et al., INFOCOM 2019"};
