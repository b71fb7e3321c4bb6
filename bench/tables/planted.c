/* berth-planted-table: prints the table of planted optima in docs/bounds.md: how far above the best latency
 * searches end, and how far below it bounds do. Same build, same text.
 *
 *     berth-planted-table [INSTANCES [EVALUATIONS]]   of each row (25), of each search (5000) */
#include "planted.h"
#include "solve.h"
#include "statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const methods[] = {"heft",         "heft-priced", "peft-priced", "peft-contended",
                                      "local-search", "anneal",      "berth"};
static const int32_t sizes[] = {60, 300, 1000, 2000};

enum { N_METHODS = 7, N_SIZES = 4, LEAST_DEVS = 5, KINDS_OF_DEVS = 4, MOST_INSTANCES = 1000 };

typedef struct row {
	int32_t n;
	double above[N_METHODS][MOST_INSTANCES], below[2][MOST_INSTANCES]; /* shares of the best */
} row;

static berth_status one(planted_kind kind, int32_t n_ops, int32_t i, int64_t evaluations, row *r,
                        berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_bound_effort all = berth_bound_effort_all(NULL);
	planted p;
	berth_bounds bounds;
	berth_status st = planted_make(kind, n_ops, LEAST_DEVS + i % KINDS_OF_DEVS, (uint64_t)i + 1, &mem,
	                               &tmp, &p, err);
	st = st ? st : berth_bounds_new(&p.problem, &tmp, &bounds, err);
	for (int k = 0; k < 2 && st == BERTH_OK; k++) {
		r->below[k][r->n] = p.latency_s / bounds.value[BERTH_LATENCY] - 1;
		st = k ? BERTH_OK : berth_bounds_strengthen(&p.problem, &all, &tmp, &bounds, err);
	}
	for (int k = 0; k < N_METHODS && st == BERTH_OK; k++) {
		const berth_method *m;
		berth_solution x;
		berth_search_cfg cfg = berth_search_cfg_default();
		cfg.evaluations = evaluations;
		st = berth_method_find(methods[k], &m, err);
		st = st ? st : berth_solve(&p.problem, &bounds, m, &cfg, &mem, &tmp, &x, err);
		r->above[k][r->n] = st ? 0 : x.value / p.latency_s - 1;
	}
	r->n++;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static void cell(const double *x, int32_t n)
{
	berth_arena tmp = {0};
	double most = x[0];
	for (int32_t i = 1; i < n; i++)
		most = fmax(most, x[i]);
	printf(" %.2f %% | %.2f %% |", 100 * berth_median(x, n, &tmp), 100 * most);
	berth_arena_free(&tmp);
}

static void head(void)
{
	printf("| kind | operators |");
	for (int k = 0; k < N_METHODS; k++)
		printf(" %s, median | most |", methods[k]);
	printf(" fast bound, median | most | strong bound, median | most |\n|---|---:|");
	for (int k = 0; k < 2 * (N_METHODS + 2); k++)
		printf("---:|");
	printf("\n");
}

static berth_status rows(int32_t instances, int64_t evaluations, row *r, berth_err *err)
{
	for (int kind = 0; kind < PLANTED_KINDS; kind++)
		for (int s = 0; s < N_SIZES; s++) {
			r->n = 0;
			for (int32_t i = 0; i < instances; i++)
				BERTH_TRY(one((planted_kind)kind, sizes[s], i, evaluations, r, err));
			printf("| %s | %d |", planted_kind_name[kind], (int)sizes[s]);
			for (int k = 0; k < N_METHODS; k++)
				cell(r->above[k], r->n);
			for (int k = 0; k < 2; k++)
				cell(r->below[k], r->n);
			printf("\n");
			fflush(stdout);
		}
	return BERTH_OK;
}

int main(int argc, char **argv)
{
	int32_t instances = argc > 1 ? atoi(argv[1]) : 25;
	row *r = malloc(sizeof *r);
	berth_err err;
	berth_status st;
	if (!r || instances < 1 || instances > MOST_INSTANCES) {
		fprintf(stderr, "berth-planted-table: from 1 to %d instances\n", MOST_INSTANCES);
		return 2;
	}
	head();
	st = rows(instances, argc > 2 ? atoll(argv[2]) : 5000, r, &err);
	if (st != BERTH_OK)
		fprintf(stderr, "berth-planted-table: %s\n", err.msg);
	free(r);
	return st ? berth_exit_code(err.code) : 0;
}
