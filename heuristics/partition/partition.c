/* Placements by partitioning libraries: the methods `metis` and `scotch`. Devices are chosen, a library cuts
 * in a process of its own, and parts get devices by what they take there. */
#include "partition.h"

#include "apart.h"
#include "coloc.h"
#include "method.h"
#include "registry.h"

enum { MAX_JOBS = 10, N_IMBALANCES = 2, MATCH_ROUNDS = 8 };

static const double imbalances[N_IMBALANCES] = {1.05, 1.5};

/* ---- parts to devices ---- */

/* Times of the parts on the devices, and between the parts. */
typedef struct parts {
	int32_t n;
	double *time;    /* [part][device's part] with transfers from and to fixed colocation groups */
	double *between; /* [part][part] a unit of distance */
} parts;

/* Longest time on a device of the job, and of all transfers. */
static double time_apart(const berth_problem *p, const partition_job *j, int32_t u)
{
	double own = 0, sum = 0;
	for (int32_t k = 0; k < j->n_parts; k++)
		if (berth_coloc_legal(p, u, j->part_dev[k]) &&
		    (double)berth_coloc_time(p, u, j->part_dev[k]) > own)
			own = (double)berth_coloc_time(p, u, j->part_dev[k]);
	BERTH_EACH (i, j->off, u)
		sum += j->weight[i];
	return own + sum * PARTITION_DISTANCE_UNIT * j->weight_ns;
}

/* Time of part a at place at[a] and of its transfers. */
static double time_of(const parts *x, const partition_job *j, const int32_t *at, int32_t a)
{
	int32_t n = x->n;
	double sum = x->time[a * n + at[a]];
	for (int32_t b = 0; b < n; b++)
		sum += x->between[a * n + b] * j->distance[at[a] * n + at[b]];
	return sum;
}

static bool swap_helps(const parts *x, const partition_job *j, int32_t *at, int32_t a, int32_t b)
{
	int32_t place = at[a];
	double before = time_of(x, j, at, a) + time_of(x, j, at, b);
	at[a] = at[b];
	at[b] = place;
	double after = time_of(x, j, at, a) + time_of(x, j, at, b);
	if (after < before * (1 - 1e-9))
		return true;
	at[b] = at[a];
	at[a] = place;
	return false;
}

berth_status partition_match(const berth_problem *p, const partition_job *j, const int32_t *part,
                             int32_t *part_dev, berth_arena *tmp, berth_err *err)
{
	parts x;
	int32_t *at;
	BERTH_SCRATCH(tmp);
	x.n = j->n_parts;
	BERTH_TRY_NEW(tmp, x.n * x.n, err, x.time, x.between);
	BERTH_TRY_NEW(tmp, x.n, err, at);
	for (int32_t u = 0; u < j->n_colocs; u++)
		if (j->fixed[u] < 0) {
			int32_t n = j->n_parts, *fixed = j->fixed;
			double *time = &x.time[part[u] * n];
			for (int32_t k = 0; k < n; k++)
				time[k] += berth_coloc_legal(p, u, j->part_dev[k])
				                   ? (double)berth_coloc_time(p, u, j->part_dev[k])
				                   : time_apart(p, j, u);
			BERTH_EACH (i, j->off, u)
				for (int32_t k = 0, v = j->to[i]; k < n && fixed[v] >= 0; k++)
					time[k] +=
						j->weight_ns * j->weight[i] * j->distance[k * n + fixed[v]];
			BERTH_EACH (i, j->off, u)
				if (fixed[j->to[i]] < 0)
					x.between[part[u] * n + part[j->to[i]]] +=
						j->weight_ns * j->weight[i];
		}
	for (int32_t a = 0; a < j->n_parts; a++)
		at[a] = a;
	bool better = true;
	for (int round = 0; round < MATCH_ROUNDS && better; round++) {
		better = false;
		for (int32_t a = 0; a < j->n_parts; a++)
			for (int32_t b = 0; b < a; b++)
				better |= swap_helps(&x, j, at, a, b);
	}
	for (int32_t a = 0; a < j->n_parts; a++)
		part_dev[a] = j->part_dev[at[a]];
	return BERTH_OK;
}

/* Time of colocation group u on dev, and of its tensors from and to where its neighbours are now (before:
 * where their parts are). */
static double time_at(const berth_problem *p, int32_t u, int32_t dev, const int32_t *op_dev)
{
	const berth_graph *g = p->g;
	double sum = (double)berth_coloc_time(p, u, dev);
	BERTH_EACH (k, p->coloc_off, u) {
		int32_t op = p->coloc_op[k];
		BERTH_EACH (i, g->op_in_off, op)
			sum += (double)berth_transfer_ns(p, g->in_tensor[i],
			                                 op_dev[g->tensor_producer[g->in_tensor[i]]], dev);
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t)
				sum += (double)berth_transfer_ns(p, t, dev, op_dev[g->edge_consumer[e]]);
	}
	return sum;
}

void partition_place(const berth_problem *p, const partition_job *j, const int32_t *part,
                     const int32_t *part_dev, int32_t *op_dev)
{
	for (int32_t u = 0; u < j->n_colocs; u++)
		berth_coloc_put(p, u, part_dev[part[u]], op_dev);
	for (int32_t u = 0; u < j->n_colocs; u++) {
		int32_t best = -1;
		double least = 0;
		for (int32_t d = 0; d < p->n_devs && !berth_coloc_legal(p, u, part_dev[part[u]]); d++) {
			if (!berth_coloc_legal(p, u, d))
				continue;
			double time = time_at(p, u, d, op_dev);
			if (best < 0 || time < least) {
				best = d;
				least = time;
			}
		}
		if (best >= 0)
			berth_coloc_put(p, u, best, op_dev);
	}
}

/* ---- all cuts ---- */

typedef struct cuts {
	const partition_library *lib;
	int32_t n_jobs, n_colocs;
	partition_job job[MAX_JOBS];
	int32_t *part; /* [n_jobs][N_IMBALANCES][n_colocs] */
} cuts;

static int32_t *part_of(const cuts *c, int32_t job, int32_t i)
{
	return c->part + ((size_t)job * N_IMBALANCES + (size_t)i) * (size_t)c->n_colocs;
}

static berth_status cut_all(void *ctx, berth_err *err)
{
	cuts *c = ctx;
	for (int32_t k = 0; k < c->n_jobs; k++)
		for (int32_t i = 0; i < N_IMBALANCES; i++)
			BERTH_TRY(c->lib->cut(&c->job[k], imbalances[i], part_of(c, k, i), err));
	return BERTH_OK;
}

static berth_status offer_parts(berth_search *s, const cuts *c, int32_t k, int32_t i, int32_t *op_dev,
                                berth_arena *tmp, berth_err *err)
{
	const partition_job *j = &c->job[k];
	int32_t *part_dev;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, j->n_parts, err, part_dev);
	BERTH_TRY(partition_match(s->p, j, part_of(c, k, i), part_dev, tmp, err));
	partition_place(s->p, j, part_of(c, k, i), part_dev, op_dev);
	berth_search_offer(s, op_dev, NULL);
	return BERTH_OK;
}

/* Parts that a library that was asked for something odd might leave out of range. */
static bool in_range(const cuts *c)
{
	for (int32_t k = 0; k < c->n_jobs; k++)
		for (size_t i = 0; i < (size_t)N_IMBALANCES * (size_t)c->n_colocs; i++)
			if (part_of(c, k, 0)[i] < 0 || part_of(c, k, 0)[i] >= c->job[k].n_parts)
				return false;
	return true;
}

static berth_status cut_and_offer(berth_search *s, const partition_library *lib, berth_arena *mem,
                                  berth_arena *tmp, berth_err *err)
{
	cuts c = {.lib = lib};
	int32_t *op_dev;
	bool answered = false;
	const berth_patience until = {.cancel = s->cfg.cancel};
	BERTH_TRY_NEW(mem, s->p->n_ops, err, op_dev);
	/* All devices first: the plain use of a partitioner. */
	const berth_problem *p = s->p;
	int32_t *dev;
	double *speed;
	BERTH_TRY_NEW(mem, p->n_devs, err, dev, speed);
	int32_t n = partition_devs_by_speed(p, dev, speed);
	n = n < p->n_colocs ? n : p->n_colocs;
	c.n_colocs = p->n_colocs;
	if (n >= 2)
		BERTH_TRY(partition_job_new(p, n, dev, mem, tmp, &c.job[c.n_jobs++], err));
	for (int32_t k = 2; k < n && c.n_jobs < MAX_JOBS; k = k < 4 ? k + 1 : 2 * k)
		BERTH_TRY(partition_job_new(p, k, dev, mem, tmp, &c.job[c.n_jobs++], err));
	BERTH_TRY(BERTH_NEW(mem, c.part, (size_t)c.n_jobs * N_IMBALANCES * (size_t)c.n_colocs, err));
	const berth_apart_block block = {c.part, (size_t)c.n_jobs * N_IMBALANCES * (size_t)c.n_colocs *
	                                                 sizeof *c.part};
	berth_status st = BERTH_OK;
	if (c.n_jobs)
		st = berth_apart(&until, cut_all, &c, 1, &block, &answered, err);
	if (st != BERTH_OK && st != BERTH_EUNSUPPORTED)
		return st;
	if (st != BERTH_OK || !answered || !in_range(&c))
		return berth_method_single.run(s, tmp, err);
	for (int32_t k = 0; k < c.n_jobs; k++)
		for (int32_t i = 0; i < N_IMBALANCES; i++) {
			if (k + i > 0 && !berth_search_afford(s, berth_search_evaluation_ns(s->p)))
				return BERTH_OK;
			BERTH_TRY(offer_parts(s, &c, k, i, op_dev, tmp, err));
		}
	return BERTH_OK;
}

berth_status partition_run(berth_search *s, const partition_library *lib, berth_arena *tmp, berth_err *err)
{
	if (!lib->cut)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method %s needs its library: install %s and build berth again", lib->name,
		                  lib->package);
	BERTH_ARENA(mem);
	berth_arena_init(&mem, tmp->hook);
	return cut_and_offer(s, lib, &mem, tmp, err);
}

/* METIS as a placement method: multilevel partitioning (G. Karypis and V. Kumar, "A fast and high quality
 * multilevel scheme for partitioning irregular graphs", SIAM J. Sci. Comput. 20(1), 1998), memory as a
 * second balance constraint; parts then get devices by what they take there (partition_match). */

/* The package that berth was built without; NULL: it has it. */
static const char *partition_metis_missing(void)
{
	return partition_metis.cut ? NULL : partition_metis.package;
}

static berth_status metis_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return partition_run(s, &partition_metis, tmp, err);
}

const berth_method berth_method_metis = {
	"metis",
	"Partition with the least cut, parts as large as devices are fast (METIS; Karypis, Kumar 1998).",
	false, metis_run, partition_metis_missing, "Karypis, Kumar 1998"};

/* Scotch as a placement method: static mapping by dual recursive bipartitioning (F. Pellegrini and J. Roman,
 * "Scotch: a software package for static mapping by dual recursive bipartitioning of process and
 * architecture graphs", HPCN 1996) onto the devices, weighted by speed, with their distances in time. */

static const char *partition_scotch_missing(void)
{
	return partition_scotch.cut ? NULL : partition_scotch.package;
}

static berth_status scotch_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return partition_run(s, &partition_scotch, tmp, err);
}

const berth_method berth_method_scotch = {"scotch",
                                          "Static mapping onto devices and links by dual recursive "
                                          "bipartitioning (Scotch; Pellegrini, Roman 1996).",
                                          false,
                                          scotch_run,
                                          partition_scotch_missing,
                                          "Pellegrini, Roman 1996"};
