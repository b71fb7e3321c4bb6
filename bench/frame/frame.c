/* The program of all tables: finds an entry by its name, reads its options and runs it; lists
 * them all. */
#include "bench.h"

#include <stddef.h>
#include <stdlib.h>

typedef struct option {
	const char *word, *about;
	size_t at;
	enum { LARGE, SMALL, REAL } kind;
} option;

static const option options[] = {
	{"--evaluations", "of each search", offsetof(bench_options, evaluations), LARGE},
	{"--nodes", "of each exact search or bound", offsetof(bench_options, nodes), LARGE},
	{"--more-nodes", "of the second one", offsetof(bench_options, more_nodes), LARGE},
	{"--instances", "drawn", offsetof(bench_options, instances), LARGE},
	{"--rounds", "of learning", offsetof(bench_options, rounds), LARGE},
	{"--seeds", "from 1, at most 100", offsetof(bench_options, seeds), SMALL},
	{"--threads", "", offsetof(bench_options, threads), SMALL},
	{"--time", "CPU seconds", offsetof(bench_options, seconds), REAL},
};
enum { N_OPTIONS = BENCH_N(options) };

static double option_get(const bench_options *o, const option *k)
{
	const char *p = (const char *)o + k->at;
	return k->kind == LARGE   ? (double)*(const int64_t *)(const void *)p
	       : k->kind == SMALL ? *(const int32_t *)(const void *)p
	                          : *(const double *)(const void *)p;
}

/* false: no number that may stand there. */
static bool option_set(bench_options *o, const option *k, const char *text)
{
	char *end, *p = (char *)o + k->at;
	double x = strtod(text, &end);
	bool right = *text && !*end && x >= 0 && x <= (k->kind == SMALL ? MAX_SEEDS : 1e15);
	if (k->kind == LARGE)
		*(int64_t *)(void *)p = right ? (int64_t)x : 0;
	else if (k->kind == SMALL)
		*(int32_t *)(void *)p = right ? (int32_t)x : 0;
	else
		*(double *)(void *)p = x;
	return right;
}

static int tell_usage(FILE *to)
{
	fprintf(to, "usage: berth-bench NAME [WORDS] [OPTIONS]\n       berth-bench --list\n\n"
	            "Prints a table of docs/ as Markdown. Options, where a table has them:\n");
	for (int i = 0; i < N_OPTIONS; i++)
		fprintf(to, "  %-14s N  %s\n", options[i].word, options[i].about);
	return to == stdout ? 0 : 2;
}

/* Options that the entry has go to *o, other words too. Returns whether all are right. */
static bool read_words(int argc, char **argv, const bench_entry *e, bench_options *o, char **word)
{
	*o = e->usual;
	o->word = word;
	for (int i = 0; i < argc; i++) {
		int k = 0;
		while (k < N_OPTIONS && strcmp(argv[i], options[k].word) != 0)
			k++;
		if (argv[i][0] != '-')
			word[o->n_words++] = argv[i];
		else if (k == N_OPTIONS || i + 1 == argc || option_get(&e->usual, &options[k]) == 0 ||
		         !option_set(o, &options[k], argv[++i]))
			return false;
	}
	return o->n_words == 0 || *e->words;
}

/* A name is written with '-', in the code with '_'. */
static bool is_name(const char *name, const char *word)
{
	while (*name && (*name == *word || (*name == '_' && *word == '-')))
		name++, word++;
	return !*name && !*word;
}

int bench_main(int argc, char **argv, const bench_entry *entry, int n)
{
	bench_options o;
	int i = 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return tell_usage(stderr);
	if (strcmp(argv[1], "--help") == 0)
		return tell_usage(stdout);
	if (strcmp(argv[1], "--list") == 0) {
		/* Options of an entry stand there with their usual values. */
		bench_head("name|page|takes|about");
		for (const bench_entry *e = entry; e < entry + n; e++) {
			printf("| ");
			for (const char *c = e->name; *c; c++)
				putchar(*c == '_' ? '-' : *c);
			printf("%s%s", *e->words ? " " : "", e->words);
			for (int k = 0; k < N_OPTIONS; k++) {
				double usual = option_get(&e->usual, &options[k]);
				if (usual > 0)
					printf(" %s %.10g", options[k].word, usual);
				else if (usual < 0)
					printf(" [%s N]", options[k].word);
			}
			printf(" | docs/%s.md | %s | %s |\n", e->page, e->takes, e->about);
		}
		return 0;
	}
	while (i < n && !is_name(entry[i].name, argv[1]))
		i++;
	char **word = calloc((size_t)argc, sizeof *word);
	if (i == n || !word || !read_words(argc - 2, argv + 2, &entry[i], &o, word)) {
		free(word);
		return tell_usage(stderr);
	}
	entry[i].run(&o);
	free(word);
	return 0;
}
