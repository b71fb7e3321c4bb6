/* Partitions by METIS 5 (Apache-2). It keeps its random numbers in the C library's, and sets signal
 * handlers: callers run it in a process of its own. */
#include "partition.h"

#include <metis.h>

/* Recursive bisection up to this many parts, k-way beyond, as its manual advises. */
enum { MOST_BISECTED = 8, SEED = 1 };

/* What METIS takes as its own types, not const; malloc. */
typedef struct input {
	idx_t *off, *to, *weight, *vertex, *part;
	real_t *share;
	real_t excess[2];
	idx_t n_constraints;
} input;

static idx_t *copy(const int32_t *from, size_t n)
{
	idx_t *to = malloc((n + 1) * sizeof *to);
	for (size_t i = 0; to && i < n; i++)
		to[i] = from[i];
	return to;
}

static bool fill(const partition_job *j, double imbalance, input *x)
{
	size_t n = (size_t)j->n_colocs, n_edges = (size_t)j->off[n], c = j->bytes ? 2 : 1;
	*x = (input){.off = copy(j->off, n + 1),
	             .to = copy(j->to, n_edges),
	             .weight = copy(j->weight, n_edges),
	             .n_constraints = (idx_t)c,
	             .excess = {(real_t)imbalance, (real_t)j->bytes_imbalance}};
	x->vertex = malloc((n * c + 1) * sizeof *x->vertex);
	x->part = malloc((n + 1) * sizeof *x->part);
	x->share = malloc((size_t)j->n_parts * c * sizeof *x->share);
	if (!x->off || !x->to || !x->weight || !x->vertex || !x->part || !x->share)
		return false;
	for (size_t u = 0; u < n; u++) {
		x->vertex[u * c] = j->work[u];
		if (c == 2)
			x->vertex[u * c + 1] = j->bytes[u];
	}
	for (size_t k = 0; k < (size_t)j->n_parts; k++) {
		x->share[k * c] = (real_t)j->share[k];
		if (c == 2)
			x->share[k * c + 1] = (real_t)j->bytes_share[k];
	}
	return true;
}

static int partition(const partition_job *j, input *x)
{
	idx_t options[METIS_NOPTIONS], n = j->n_colocs, n_parts = j->n_parts, cut;
	METIS_SetDefaultOptions(options);
	options[METIS_OPTION_SEED] = SEED;
	options[METIS_OPTION_NCUTS] = 4;
	if (n_parts <= MOST_BISECTED)
		return METIS_PartGraphRecursive(&n, &x->n_constraints, x->off, x->to, x->vertex, NULL,
		                                x->weight, &n_parts, x->share, x->excess, options, &cut,
		                                x->part);
	return METIS_PartGraphKway(&n, &x->n_constraints, x->off, x->to, x->vertex, NULL, x->weight, &n_parts,
	                           x->share, x->excess, options, &cut, x->part);
}

static berth_status cut(const partition_job *j, double imbalance, int32_t *part, berth_err *err)
{
	input x;
	bool filled = fill(j, imbalance, &x);
	int code = filled ? partition(j, &x) : METIS_ERROR_MEMORY;
	for (int32_t u = 0; u < j->n_colocs && code == METIS_OK; u++)
		part[u] = (int32_t)x.part[u];
	free(x.off);
	free(x.to);
	free(x.weight);
	free(x.vertex);
	free(x.part);
	free(x.share);
	if (code == METIS_ERROR_MEMORY)
		return berth_nomem(err);
	return code == METIS_OK
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EUNSUPPORTED,
	                            "METIS refused a graph of %d colocation groups (code %d)",
	                            (int)j->n_colocs, code);
}

const partition_library partition_metis = {.name = "metis", .package = "libmetis-dev", .cut = cut};
