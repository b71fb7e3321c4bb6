/* berth-zoo-table: prints the tables of docs/importers.md on the zoo: models against published figures.
 * Same build, same text. */
#include "zoo.h"
#include "zoo_figures.h"

#include <stdio.h>
#include <string.h>

/* "4.089 G" with four digits. */
static void print_count(double x)
{
	static const char *const coloc[] = {"", " k", " M", " G", " T"};
	int i = 0;
	while (x >= 1000 && i < 4) {
		x /= 1000;
		i++;
	}
	printf(" | %.*f%s", x < 10 ? 3 : x < 100 ? 2 : 1, x, coloc[i]);
}

static void print_pair(double ours, double theirs)
{
	print_count(ours);
	if (theirs > 0) {
		print_count(theirs);
		printf(" | %+.2f %%", 100 * (ours / theirs - 1));
	} else {
		printf(" | - | -");
	}
}

static void print_value(const berth_spec_param *p, double x)
{
	if (p->choice)
		printf("%s", p->choice[(int)x]);
	else
		printf("%.10g", x);
}

static void print_params(const berth_zoo_model *m)
{
	for (int32_t i = 0; i < m->n_params; i++) {
		printf("%s`%s=", i ? " " : "", m->param[i].name);
		print_value(&m->param[i], m->param[i].def);
		printf("`");
	}
}

static int figures_table(void)
{
	int n;
	const zoo_figure *f = zoo_figures(&n);
	printf("| spec | operators | MACs | public | | parameters | public | | source of the public figures "
	       "|\n|---|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < n; i++) {
		zoo_counts c;
		berth_err err;
		if (zoo_count(&f[i], &c, &err) != BERTH_OK) {
			fprintf(stderr, "berth-zoo-table: %s\n", err.msg);
			return berth_exit_code(err.code);
		}
		printf("| %s | %.0f", f[i].spec + 4, c.ops);
		print_pair(c.macs, f[i].macs);
		print_pair(c.params, f[i].params);
		printf(" | %s |\n", f[i].source);
	}
	return 0;
}

static int models_table(void)
{
	int32_t n;
	const berth_zoo_model *m = berth_zoo_list(&n);
	printf("| model | what | parameters and defaults |\n|---|---|---|\n");
	for (int32_t i = 0; i < n; i++) {
		printf("| %s | %s | ", m[i].name, m[i].about);
		print_params(&m[i]);
		printf(" |\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--models") == 0)
		return models_table();
	if (argc == 1)
		return figures_table();
	fprintf(stderr, "usage: %s [--models]\n\nPrints the tables of docs/importers.md.\n", argv[0]);
	return 2;
}
