/* The graph that partitioning libraries cut, and the machine that they cut it for (partition.h). A tensor is
 * an edge from its producer to each of its consumers; direction is lost. */
#include "coloc.h"
#include "partition.h"

#define MOST INT64_C(0x20000000) /* of sums */

/* ---- the machine ---- */

static double mean_time(const berth_problem *p, int32_t coloc, int32_t n, const int32_t *dev)
{
	double sum = 0;
	int32_t n_legal = 0;
	for (int32_t k = 0; k < n; k++) {
		int32_t d = dev ? dev[k] : k;
		if (berth_coloc_legal(p, coloc, d)) {
			sum += (double)berth_coloc_time(p, coloc, d);
			n_legal++;
		}
	}
	return n_legal ? sum / n_legal : 0;
}

int32_t partition_devs_by_speed(const berth_problem *p, int32_t *dev, double *speed)
{
	double own[BERTH_MAX_DEVS], mean[BERTH_MAX_DEVS];
	int32_t n = 0, n_colocs[BERTH_MAX_DEVS] = {0};
	for (int32_t d = 0; d < p->n_devs; d++)
		own[d] = mean[d] = 1;
	for (int32_t u = 0; u < p->n_colocs; u++) {
		double time = mean_time(p, u, p->n_devs, NULL);
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_coloc_legal(p, u, d)) {
				mean[d] += time;
				own[d] += (double)berth_coloc_time(p, u, d);
				n_colocs[d]++;
			}
	}
	for (int32_t d = 0; d < p->n_devs; d++) {
		speed[d] = mean[d] / own[d] * p->s->dev_slots[d];
		if (n_colocs[d] == 0)
			continue;
		int32_t at = n++;
		for (; at > 0 && speed[dev[at - 1]] < speed[d]; at--)
			dev[at] = dev[at - 1];
		dev[at] = d;
	}
	return n;
}

/* Speeds as shares of the work, no more than what can be on the device at all. */
static void set_shares(const berth_problem *p, partition_job *j, const double *speed)
{
	double sum = 0, all = 0;
	for (int32_t u = 0; u < j->n_colocs; u++)
		all += j->work[u];
	for (int32_t k = 0; k < j->n_parts; k++)
		sum += speed[j->part_dev[k]];
	double kept = 0;
	for (int32_t k = 0; k < j->n_parts; k++) {
		double can = 0;
		for (int32_t u = 0; u < j->n_colocs; u++)
			can += berth_coloc_legal(p, u, j->part_dev[k]) ? j->work[u] : 0;
		j->share[k] = fmax(fmin(speed[j->part_dev[k]] / sum, can / all), 1e-4);
		kept += j->share[k];
	}
	for (int32_t k = 0; k < j->n_parts; k++)
		j->share[k] /= kept;
}

/* What a part may hold: its device's limit, and of its memory pool as large a share as that limit is among
 * the parts there. Below 0: no limit. */
static double part_limit(const berth_problem *p, const partition_job *j, int32_t k)
{
	int32_t dev = j->part_dev[k], pool = berth_dev_pool(p, dev);
	double own = (double)berth_dev_most_bytes(p, dev), sum = 0;
	if (berth_dev_pool_bytes(p, dev) < 0)
		return own;
	for (int32_t i = 0; i < j->n_parts; i++)
		if (berth_dev_pool(p, j->part_dev[i]) == pool)
			sum += (double)berth_dev_most_bytes(p, j->part_dev[i]);
	return sum > 0 ? fmin(own, own / sum * (double)p->s->pool_bytes[pool]) : own;
}

/* Mean routed time between two devices both ways, over the tensors of the graph. */
static double pair_time(const berth_problem *p, const int64_t *class_uses, int32_t a, int32_t b)
{
	size_t n = (size_t)p->n_devs;
	double sum = 0, uses = 0;
	for (int32_t c = 0; c < p->n_classes; c++) {
		const int64_t *ns = &p->class_pair_ns[(size_t)c * n * n];
		sum += (double)class_uses[c] *
		       ((double)ns[(size_t)a * n + (size_t)b] + (double)ns[(size_t)b * n + (size_t)a]);
		uses += 2 * (double)class_uses[c];
	}
	return uses > 0 ? sum / uses : 1;
}

/* ---- the graph ---- */

typedef struct edges {
	size_t *off;     /* [n_colocs+1] */
	int32_t *to;
	int64_t *ns;
} edges;

/* All uses of tensors by other colocation groups, at both ends. */
static berth_status collect(const berth_problem *p, const int64_t *class_ns, edges *x, berth_arena *tmp,
                            berth_err *err)
{
	const berth_graph *g = p->g;
	size_t *at;
	BERTH_TRY_NEW(tmp, (size_t)p->n_colocs + 1, err, x->off, at);
	BERTH_TRY_NEW(tmp, 2 * (size_t)g->n_edges + 1, err, x->to, x->ns);
	for (int put = 0; put < 2; put++) {
		for (int32_t t = 0; t < g->n_tensors; t++)
			BERTH_EACH (e, g->tensor_use_off, t) {
				int32_t end[2] = {p->op_coloc[g->tensor_producer[t]],
				                  p->op_coloc[g->edge_consumer[e]]};
				for (int k = 0; k < 2 && end[0] != end[1]; k++) {
					size_t i = at[end[k]]++;
					if (put) {
						x->to[i] = end[1 - k];
						x->ns[i] = class_ns[p->tensor_class[t]];
					}
				}
			}
		for (int32_t u = 0; u < p->n_colocs && !put; u++)
			x->off[u + 1] = x->off[u] + at[u];
		BERTH_COPY(at, x->off, (size_t)p->n_colocs + 1);
	}
	return BERTH_OK;
}

/* One edge a pair, in place. */
static berth_status merge(int32_t n, edges *x, berth_arena *tmp, berth_err *err)
{
	size_t *at, len = 0;
	/* 1 + place of the neighbour in this colocation group's list, valid if beyond its first */
	BERTH_TRY_NEW(tmp, n, err, at);
	for (int32_t u = 0; u < n; u++) {
		size_t first = len, end = x->off[u + 1];
		for (size_t i = x->off[u]; i < end; i++) {
			int32_t v = x->to[i];
			if (at[v] > first) {
				x->ns[at[v] - 1] += x->ns[i];
				continue;
			}
			x->to[len] = v;
			x->ns[len] = x->ns[i];
			at[v] = ++len;
		}
		x->off[u] = first;
		for (size_t i = first; i < len; i++)
			at[x->to[i]] = 0;
	}
	x->off[n] = len;
	return BERTH_OK;
}

/* Weights so that they, times the largest distance, sum below the limit. */
static berth_status set_edges(const edges *x, partition_job *j, berth_arena *mem, berth_err *err)
{
	double sum = 1, distances = 0;
	int32_t most = PARTITION_DISTANCE_UNIT;
	size_t n = x->off[j->n_colocs];
	BERTH_TRY_NEW(mem, (size_t)j->n_colocs + 1, err, j->off);
	BERTH_TRY_NEW(mem, n + 1, err, j->to, j->weight);
	for (int32_t i = 0; i < j->n_parts * j->n_parts; i++) {
		most = j->distance[i] > most ? j->distance[i] : most;
		distances += j->distance[i];
	}
	for (size_t i = 0; i < n; i++)
		sum += (double)x->ns[i];
	double scale = fmin(1, fmax((double)(MOST / most) - (double)n, 0) / sum);
	j->weight_ns = j->n_parts * (j->n_parts - 1) / (distances * fmax(scale, 1e-12));
	for (int32_t u = 0; u <= j->n_colocs; u++)
		j->off[u] = (int32_t)x->off[u];
	for (size_t i = 0; i < n; i++) {
		j->to[i] = x->to[i];
		j->weight[i] = 1 + (int32_t)((double)x->ns[i] * scale);
	}
	return BERTH_OK;
}

static berth_status set_bytes(const berth_problem *p, partition_job *j, berth_arena *mem, berth_arena *tmp,
                              berth_err *err)
{
	int64_t *coloc_bytes;
	double all = 0;
	BERTH_TRY_NEW(tmp, j->n_colocs, err, coloc_bytes);
	BERTH_TRY_NEW(mem, j->n_colocs, err, j->bytes);
	berth_coloc_bytes(p, coloc_bytes);
	for (int32_t u = 0; u < j->n_colocs; u++)
		all += (double)coloc_bytes[u];
	double scale = fmin(1, (double)MOST / (all + 1));
	for (int32_t u = 0; u < j->n_colocs; u++)
		j->bytes[u] = (int32_t)((double)coloc_bytes[u] * scale);
	/* Memory as shares of the bytes; unlimited memory has room for all of them. */
	double sum = 0;
	for (int32_t k = 0; k < j->n_parts; k++) {
		double limit = part_limit(p, j, k);
		j->bytes_share[k] = limit < 0 || limit > all ? all + 1 : fmax(limit, 1e-3 * all + 1);
		sum += j->bytes_share[k];
	}
	for (int32_t k = 0; k < j->n_parts; k++)
		j->bytes_share[k] /= sum;
	j->bytes_imbalance = fmax(sum / (all + 1), 1.01);
	return BERTH_OK;
}

static void set_fixed(const berth_problem *p, partition_job *j)
{
	for (int32_t u = 0; u < j->n_colocs; u++) {
		int32_t n_legal = 0;
		j->fixed[u] = -1;
		for (int32_t k = 0; k < j->n_parts; k++)
			if (berth_coloc_legal(p, u, j->part_dev[k])) {
				j->fixed[u] = k;
				n_legal++;
			}
		if (n_legal != 1)
			j->fixed[u] = -1;
	}
}

/* Scratch of the graph: how often tensors of a class are used, their mean times. */
static berth_status set_graph(const berth_problem *p, partition_job *j, berth_arena *mem, berth_arena *tmp,
                              berth_err *err)
{
	int64_t *class_uses, *class_ns;
	edges x;
	BERTH_TRY_NEW(tmp, p->n_classes, err, class_uses, class_ns);
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		class_uses[p->tensor_class[t]] += p->g->tensor_use_off[t + 1] - p->g->tensor_use_off[t];
	for (int32_t c = 0; c < p->n_classes; c++) {
		/* Mean time of a class of tensors between the job's devices. */
		size_t n = (size_t)p->n_devs;
		const int64_t *ns = &p->class_pair_ns[(size_t)c * n * n];
		double sum = 0;
		for (int32_t a = 0; a < j->n_parts; a++)
			for (int32_t b = 0; b < j->n_parts; b++)
				sum += (double)ns[(size_t)j->part_dev[a] * n + (size_t)j->part_dev[b]];
		class_ns[c] = 1 + (int64_t)(sum / (j->n_parts * (j->n_parts - 1)));
	}
	double least = INFINITY;
	int32_t n = j->n_parts;
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = 0; b < a; b++)
			least = fmin(least, pair_time(p, class_uses, j->part_dev[a], j->part_dev[b]));
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = 0; b < a; b++) {
			double times =
				least > 0 ? pair_time(p, class_uses, j->part_dev[a], j->part_dev[b]) / least
					  : 1;
			j->distance[a * n + b] = j->distance[b * n + a] = (int32_t)lround(
				fmin(PARTITION_DISTANCE_UNIT * times, PARTITION_DISTANCE_MOST));
		}
	BERTH_TRY(collect(p, class_ns, &x, tmp, err));
	BERTH_TRY(merge(j->n_colocs, &x, tmp, err));
	return set_edges(&x, j, mem, err);
}

berth_status partition_job_new(const berth_problem *p, int32_t n_parts, const int32_t *part_dev,
                               berth_arena *mem, berth_arena *tmp, partition_job *out, berth_err *err)
{
	partition_job j = {.n_colocs = p->n_colocs, .n_parts = n_parts, .bytes_imbalance = 1.01};
	BERTH_TRY_NEW(mem, j.n_colocs, err, j.work, j.fixed);
	BERTH_TRY_NEW(mem, n_parts, err, j.part_dev, j.share, j.bytes_share);
	BERTH_TRY_NEW(mem, n_parts * n_parts, err, j.distance);
	BERTH_COPY(j.part_dev, part_dev, n_parts);
	BERTH_SCRATCH(tmp);
	double *speed;
	int32_t *dev;
	BERTH_TRY_NEW(tmp, p->n_devs, err, speed, dev);
	partition_devs_by_speed(p, dev, speed);
	double sum = 1;
	for (int32_t u = 0; u < j.n_colocs; u++)
		sum += mean_time(p, u, j.n_parts, j.part_dev);
	double scale = fmin(1, (double)(MOST - j.n_colocs) / sum);
	for (int32_t u = 0; u < j.n_colocs; u++)
		j.work[u] = 1 + (int32_t)(mean_time(p, u, j.n_parts, j.part_dev) * scale);
	set_shares(p, &j, speed);
	set_fixed(p, &j);
	if (!p->memory_free)
		BERTH_TRY(set_bytes(p, &j, mem, tmp, err));
	BERTH_TRY(set_graph(p, &j, mem, tmp, err));
	*out = j;
	return BERTH_OK;
}
