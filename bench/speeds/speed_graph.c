/* Large graphs: seconds and memory of reading one from JSON, seconds of coarsening it. Memory is counted in
 * a process of its own, where the largest resident set before and after tells what reading took, the mapped
 * file included. */
#include "speeds.h"

#include "coarsen.h"
#include "file.h"
#include "graph_format.h"
#include "load.h"
#include "zoo.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int32_t sizes[] = {10000, 100000, 1000000};
enum { N_SIZES = BENCH_N(sizes), GROUPS = 256 };

static void write_graph(int32_t n, const char *path)
{
	char spec[64];
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_graph g;
	const char *text;
	size_t len;
	snprintf(spec, sizeof spec, "zoo:random:ops=%d:width=64", n);
	MUST(berth_zoo_build(spec, &mem, &tmp, &g, &err));
	MUST(berth_graph_write_json(&g, true, &tmp, &text, &len, &err));
	MUST(berth_file_write(path, text, len, &err));
}

typedef struct import {
	const char *path;
	double size;  /* operators + edges */
	double bytes; /* of the graph */
} import;

static void read_graph(void *ctx)
{
	import *x = ctx;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_graph g;
	MUST(berth_graph_load(x->path, NULL, &mem, &tmp, &g, NULL, &err));
	x->size = (double)g.n_ops + g.n_edges;
	x->bytes = (double)berth_arena_size(&mem);
}

typedef struct usage {
	double size, peak_bytes, kept_bytes;
} usage;

static double resident_bytes(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return 1024 * (double)u.ru_maxrss;
}

/* In a child process: memory of one reading. */
static usage measure(import *x)
{
	int ends[2];
	usage u = {0};
	if (pipe(ends) != 0)
		abort();
	pid_t child = fork();
	if (child < 0)
		abort();
	if (child == 0) {
		double before = resident_bytes();
		read_graph(x);
		u = (usage){x->size, resident_bytes() - before, x->bytes};
		_exit(write(ends[1], &u, sizeof u) == (ssize_t)sizeof u ? 0 : 1);
	}
	close(ends[1]);
	if (read(ends[0], &u, sizeof u) != (ssize_t)sizeof u)
		abort();
	close(ends[0]);
	waitpid(child, NULL, 0);
	return u;
}

/* A file for a random graph of n operators; path: BENCH_PATH. Made in a child process, so that
 * the memory of making it does not hide that of reading it. */
static void write_apart(int32_t n, char *path)
{
	int status = 0;
	bench_make_file(path);
	pid_t child = fork();
	if (child < 0)
		abort();
	if (child == 0) {
		write_graph(n, path);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		abort();
}

void speed_import(void)
{
	for (int i = 0; i < N_SIZES; i++) {
		char path[] = BENCH_PATH, label[64];
		write_apart(sizes[i], path);
		import x = {.path = path};
		usage u = measure(&x);
		snprintf(label, sizeof label, "random, %d operators, JSON", sizes[i]);
		speed_row("import peak", label, u.peak_bytes / u.size, "bytes / (operator + edge)");
		speed_row("import kept", label, u.kept_bytes / u.size, "bytes / (operator + edge)");
		speed_row("import", label, bench_seconds(read_graph, &x), "s");
		unlink(path);
	}
}

typedef struct grouping {
	berth_graph g;
	berth_coarsen_cfg cfg;
	int32_t n_groups;
} grouping;

static void coarsen_once(void *ctx)
{
	grouping *x = ctx;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_coarsening c;
	MUST(berth_coarsen(&x->g, &x->cfg, &mem, &tmp, &c, &err));
	x->n_groups = c.n_groups;
}

static void coarsen_row(grouping *x, const char *grouper)
{
	char label[96];
	MUST(berth_grouper_find(grouper, &x->cfg.grouper, &err));
	double seconds = bench_seconds(coarsen_once, x);
	snprintf(label, sizeof label, "random, %d operators to %d, %s", x->g.n_ops, x->n_groups, grouper);
	speed_row("coarsen", label, seconds, "s");
}

void speed_coarsen(void)
{
	for (int i = 0; i < N_SIZES; i++) {
		char spec[64];
		berth_arena mem = {0}, tmp = {0};
		grouping x = {.cfg = berth_coarsen_cfg_default(GROUPS)};
		int32_t n;
		const berth_grouper *groupers = berth_grouper_list(&n);
		snprintf(spec, sizeof spec, "zoo:random:ops=%d:width=64", sizes[i]);
		MUST(berth_zoo_build(spec, &mem, &tmp, &x.g, &err));
		for (int32_t k = 0; k < n; k++)
			if (i + 1 < N_SIZES || strcmp(groupers[k].name, "heavy-edge") == 0)
				coarsen_row(&x, groupers[k].name);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}
