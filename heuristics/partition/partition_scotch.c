/* Mappings by Scotch 7 (CeCILL-C, linked as a shared library): devices are a decomposition-defined
 * architecture, a tree of bisections with a matrix of distances. Serial, with its random numbers reset. It
 * prints its errors, so callers run it in a process of its own. */
#include "partition.h"

#include <errno.h>

#include <scotch.h>

enum { SEED = 1, MAX_DEPTH = 10, WEIGHT_MOST = 10000 };

/* ---- the architecture ---- */

typedef struct tree {
	const partition_job *j;
	int32_t domain[BERTH_MAX_DEVS]; /* of a part: the root is 1, halves of i are 2 i and 2 i + 1 */
	int32_t highest;
} tree;

/* Split parts [n] into two sides, each at most half as deep a tree can hold: the two that are farthest apart
 * are apart, each other goes to the nearer one, of equals to the smaller side. The first side comes first;
 * returns its size. */
static int32_t split(const partition_job *j, int32_t *part, int32_t n, int32_t most)
{
	int32_t a = part[0], b = part[1], n_a = 0, n_b = 0, side_a[BERTH_MAX_DEVS], side_b[BERTH_MAX_DEVS];
	for (int32_t i = 0; i < n; i++)
		for (int32_t k = 0; k < i; k++)
			if (j->distance[part[i] * j->n_parts + part[k]] > j->distance[a * j->n_parts + b]) {
				a = part[k];
				b = part[i];
			}
	for (int32_t i = 0; i < n; i++) {
		int32_t to_a = j->distance[part[i] * j->n_parts + a],
			to_b = j->distance[part[i] * j->n_parts + b];
		bool left = to_a != to_b ? to_a < to_b : n_a <= n_b;
		if ((left && n_a < most) || n_b >= most)
			side_a[n_a++] = part[i];
		else
			side_b[n_b++] = part[i];
	}
	BERTH_COPY(part, side_a, n_a);
	BERTH_COPY(part + n_a, side_b, n_b);
	return n_a;
}

static void number(tree *t, int32_t *part, int32_t n, int32_t domain, int depth)
{
	if (n == 1) {
		t->domain[part[0]] = domain;
		t->highest = domain > t->highest ? domain : t->highest;
		return;
	}
	int32_t n_left = split(t->j, part, n, 1 << (MAX_DEPTH - depth - 1));
	number(t, part, n_left, 2 * domain, depth + 1);
	number(t, part + n_left, n - n_left, 2 * domain + 1, depth + 1);
}

/* In Scotch's text form: "deco 0", parts and the highest domain, label, weight and domain of each, the lower
 * triangle of distances. */
static void describe(const tree *t, FILE *out)
{
	const partition_job *j = t->j;
	fprintf(out, "deco\n0\n%d %d\n", (int)j->n_parts, (int)t->highest);
	for (int32_t k = 0; k < j->n_parts; k++)
		fprintf(out, "%d %d %d\n", (int)k, 1 + (int)(j->share[k] * WEIGHT_MOST), (int)t->domain[k]);
	for (int32_t a = 0; a < j->n_parts; a++)
		for (int32_t b = 0; b < a; b++)
			fprintf(out, "%d\n", (int)j->distance[a * j->n_parts + b]);
}

static bool load_arch(const partition_job *j, SCOTCH_Arch *arch)
{
	tree t = {.j = j};
	int32_t part[BERTH_MAX_DEVS];
	char *text = NULL;
	size_t len = 0;
	for (int32_t k = 0; k < j->n_parts; k++)
		part[k] = k;
	number(&t, part, j->n_parts, 1, 0);
	FILE *out = open_memstream(&text, &len), *in = NULL;
	if (out) {
		describe(&t, out);
		bool cut = ferror(out);
		if (fclose(out) == 0 && !cut && text)
			in = fmemopen(text, len, "r");
		else
			errno = ENOMEM; /* what else a stream in memory can lack */
	}
	bool loaded = in && SCOTCH_archLoad(arch, in) == 0;
	int why = errno;
	if (in)
		fclose(in);
	free(text);
	errno = why;
	return loaded;
}

/* ---- the mapping ---- Where that fails, errno tells whether memory ran out. */

typedef struct input {
	SCOTCH_Num *off, *to, *weight, *work, *part;
} input;

static SCOTCH_Num *copy(const int32_t *from, size_t n)
{
	SCOTCH_Num *to = malloc((n + 1) * sizeof *to);
	for (size_t i = 0; to && i < n; i++)
		to[i] = from[i];
	return to;
}

static bool map(const partition_job *j, double imbalance, SCOTCH_Graph *graph, SCOTCH_Arch *arch,
                SCOTCH_Num *part)
{
	SCOTCH_Strat strat;
	bool any_fixed = false;
	for (int32_t u = 0; u < j->n_colocs; u++)
		any_fixed |= j->fixed[u] >= 0;
	if (SCOTCH_stratInit(&strat) != 0)
		return false;
	bool done = SCOTCH_stratGraphMapBuild(&strat, SCOTCH_STRATQUALITY, j->n_parts, imbalance - 1) == 0 &&
	            (any_fixed ? SCOTCH_graphMapFixed(graph, arch, &strat, part)
	                       : SCOTCH_graphMap(graph, arch, &strat, part)) == 0;
	SCOTCH_stratExit(&strat);
	return done;
}

/* The context says: one thread, and random numbers of its own. */
static bool map_in_context(const partition_job *j, double imbalance, SCOTCH_Context *context,
                           SCOTCH_Arch *arch, input *x)
{
	SCOTCH_Graph graph, bound;
	size_t n = (size_t)j->n_colocs;
	bool done = false;
	if (SCOTCH_contextThreadSpawn(context, 1, NULL) != 0 ||
	    SCOTCH_contextOptionSetNum(context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0 ||
	    SCOTCH_graphInit(&graph) != 0 || SCOTCH_graphInit(&bound) != 0)
		return false;
	SCOTCH_contextRandomSeed(context, SEED);
	SCOTCH_contextRandomReset(context);
	if (SCOTCH_graphBuild(&graph, 0, j->n_colocs, x->off, NULL, x->work, NULL, j->off[n], x->to,
	                      x->weight) == 0 &&
	    SCOTCH_contextBindGraph(context, &graph, &bound) == 0) {
		done = map(j, imbalance, &bound, arch, x->part);
		SCOTCH_graphExit(&bound);
	}
	SCOTCH_graphExit(&graph);
	return done;
}

static bool map_onto_arch(const partition_job *j, double imbalance, input *x)
{
	SCOTCH_Context context;
	SCOTCH_Arch arch;
	if (SCOTCH_archInit(&arch) != 0)
		return false;
	bool done = load_arch(j, &arch) && SCOTCH_contextInit(&context) == 0;
	if (done) {
		done = map_in_context(j, imbalance, &context, &arch, x);
		SCOTCH_contextExit(&context);
	}
	SCOTCH_archExit(&arch);
	return done;
}

static berth_status cut(const partition_job *j, double imbalance, int32_t *part, berth_err *err)
{
	size_t n = (size_t)j->n_colocs, n_edges = (size_t)j->off[n];
	input x = {copy(j->off, n + 1), copy(j->to, n_edges), copy(j->weight, n_edges), copy(j->work, n),
	           copy(j->fixed, n)};
	bool have = x.off && x.to && x.weight && x.work && x.part;
	errno = 0;
	bool done = have && map_onto_arch(j, imbalance, &x), short_of = !have || (!done && errno == ENOMEM);
	for (size_t u = 0; u < n && done; u++)
		part[u] = (int32_t)x.part[u];
	free(x.off);
	free(x.to);
	free(x.weight);
	free(x.work);
	free(x.part);
	if (short_of)
		return berth_nomem(err);
	return done ? BERTH_OK
	            : berth_fail(err, BERTH_EUNSUPPORTED,
	                         "Scotch refused a graph of %d colocation groups for %d devices",
	                         (int)j->n_colocs, (int)j->n_parts);
}

const partition_library partition_scotch = {.name = "scotch", .package = "libscotch-dev", .cut = cut};
