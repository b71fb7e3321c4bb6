/* The endless form of the tests that hold parts against each other: random graph, system and placement,
 * checks on each (differential_checks.h), until the time is over. A failing case is made smaller and written
 * as three files that the program reads.
 *
 *   differential [--seconds S] [--runs N] [--seed S] [--check NAME] [--write PREFIX]
 *   differential --case PREFIX --seed S [--check NAME]     what such a case says now
 *   differential --list
 *
 * Seeds count up from the first. Exit code 1: something did not hold. */
#include "differential_checks.h"
#include "file.h"
#include "instance.h"
#include "shrink.h"
#include "support.h"
#include "threads.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
	double seconds;
	uint64_t runs, seed;
	const differential_check *check; /* NULL: all */
	const char *write, *from;        /* prefixes of files */
} options;

/* What is under way, for a process that ends here. */
static char under_way[128];

static void tell_and_end(int sig)
{
	ssize_t n = write(STDERR_FILENO, under_way, strlen(under_way));
	(void)n;
	signal(sig, SIG_DFL);
	raise(sig);
}

static void note(const differential_check *check, uint64_t seed)
{
	snprintf(under_way, sizeof under_way, "differential: ended in check %s --seed %llu --runs 1\n",
	         check->name, (unsigned long long)seed);
}

/* Sizes by the seed: mostly small, so that much can be tried and little is left to look at. */
static void make(uint64_t seed, instance *in)
{
	static const int ops[] = {4, 5, 8, 12, 16, 40}, devices[] = {2, 3, 3, 4, 5, 8};
	int size = (int)(seed / 2 % 6);
	(seed % 2 ? instance_make_pooled : instance_make)(seed, ops[size], devices[size], in);
}

static void write_file(const char *prefix, const char *what, const char *text)
{
	char path[512];
	berth_err err;
	snprintf(path, sizeof path, "%s.%s.json", prefix, what);
	if (berth_file_write(path, text, strlen(text), &err) != BERTH_OK)
		fprintf(stderr, "differential: %s\n", err.msg);
}

static void report(const options *o, const differential_check *check, uint64_t seed, const instance *in,
                   const char *why)
{
	char prefix[300];
	shrunk s;
	printf("FAILED %s, seed %llu: %s\n", check->name, (unsigned long long)seed, why);
	fflush(stdout); /* what is made smaller may end the process */
	if (shrink(check, seed, in->graph, in->system, in->placement, &s)) {
		snprintf(prefix, sizeof prefix, "%s-%s-%llu", o->write, check->name,
		         (unsigned long long)seed);
		write_file(prefix, "graph", s.graph);
		write_file(prefix, "system", s.system);
		write_file(prefix, "plan", s.placement);
		printf("  smaller: %d operators on %d devices: %s\n  %s.graph.json .system.json .plan.json\n",
		       s.operators, s.devices, s.why, prefix);
	}
	shrunk_free(&s);
}

static bool takes_turn(const options *o, const differential_check *check, uint64_t seed)
{
	return o->check ? o->check == check : seed / 12 % (uint64_t)check->every == 0;
}

/* Checks of one case; how many failed. */
static int run_case(const options *o, uint64_t seed, const instance *in, int64_t *made)
{
	int failed = 0;
	for (int i = 0; i < differential_n_checks; i++) {
		const differential_check *check = &differential_checks[i];
		differential_case c;
		if (!takes_turn(o, check, seed))
			continue;
		note(check, seed);
		const char *why = differential_open(&c, in->graph, in->system, in->placement, seed)
		                          ? check->run(&c)
		                          : "the case is refused";
		if (why) {
			report(o, check, seed, in, why);
			failed++;
		}
		differential_close(&c);
		made[i]++;
	}
	return failed;
}

static int run_all(const options *o)
{
	int64_t *made = calloc((size_t)differential_n_checks, sizeof *made);
	double until = berth_wall_seconds() + o->seconds;
	uint64_t n = 0;
	int failed = 0;
	if (!made)
		return 1;
	while (n < o->runs && (o->seconds <= 0 || berth_wall_seconds() < until) && failed < 10) {
		instance in;
		make(o->seed + n, &in);
		failed += run_case(o, o->seed + n, &in, made);
		instance_free(&in);
		n++;
	}
	printf("%llu cases from seed %llu, %d failed;", (unsigned long long)n, (unsigned long long)o->seed,
	       failed);
	for (int i = 0; i < differential_n_checks; i++)
		printf(" %s %lld", differential_checks[i].name, (long long)made[i]);
	printf("\n");
	free(made);
	return failed > 0;
}

static char *read_file(const char *prefix, const char *what, berth_arena *mem)
{
	char path[512], *text = NULL;
	size_t n;
	berth_err err;
	snprintf(path, sizeof path, "%s.%s.json", prefix, what);
	if (berth_file_read(BERTH_READS_MODEL, path, mem, &text, &n, &err) != BERTH_OK)
		fprintf(stderr, "differential: %s\n", err.msg);
	return text;
}

static int run_files(const options *o)
{
	berth_arena mem = {0};
	instance in = {.graph = read_file(o->from, "graph", &mem),
	               .system = read_file(o->from, "system", &mem),
	               .placement = read_file(o->from, "plan", &mem)};
	int failed = 0;
	for (int i = 0; i < differential_n_checks && in.graph && in.system && in.placement; i++) {
		const differential_check *check = &differential_checks[i];
		differential_case c;
		if (o->check && o->check != check)
			continue;
		note(check, o->seed);
		bool is = differential_open(&c, in.graph, in.system, in.placement, o->seed);
		const char *why = is ? check->run(&c) : "the case is refused";
		printf("%s: %s\n", check->name, why ? why : "holds");
		failed += why != NULL;
		differential_close(&c);
	}
	berth_arena_free(&mem);
	return failed > 0 || !in.placement;
}

static void usage(void)
{
	fputs("usage: differential [--seconds S] [--runs N] [--seed S] [--check NAME] [--write PREFIX]\n"
	      "       differential --case PREFIX --seed S [--check NAME]\n"
	      "       differential --list\n",
	      stderr);
	exit(2);
}

static options read_options(int argc, char **argv)
{
	options o = {.runs = UINT64_MAX, .seed = 1, .write = "differential"};
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (strcmp(argv[i], "--list") == 0) {
			for (int k = 0; k < differential_n_checks; k++)
				printf("%-12s %s\n", differential_checks[k].name,
				       differential_checks[k].about);
			exit(0);
		}
		if (!value)
			usage();
		if (strcmp(argv[i], "--seconds") == 0)
			o.seconds = strtod(value, NULL);
		else if (strcmp(argv[i], "--runs") == 0)
			o.runs = strtoull(value, NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0)
			o.seed = strtoull(value, NULL, 10);
		else if (strcmp(argv[i], "--write") == 0)
			o.write = value;
		else if (strcmp(argv[i], "--case") == 0)
			o.from = value;
		else if (strcmp(argv[i], "--check") != 0 || !(o.check = differential_find(value)))
			usage();
	}
	if (!o.from && o.seconds <= 0 && o.runs == UINT64_MAX)
		usage();
	return o;
}

int main(int argc, char **argv)
{
	options o = read_options(argc, argv);
	support_load_solver();
	static const int ends[] = {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		signal(ends[i], tell_and_end);
	return o.from ? run_files(&o) : run_all(&o);
}
