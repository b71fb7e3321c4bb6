/* berth-zoo-table: prints docs/zoo.md, the models of the zoo against their published figures. Same build,
 * same text. */
#include "zoo.h"
#include "zoo_figures.h"

#include <stdio.h>

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

int main(int argc, char **argv)
{
	int32_t n;
	const berth_zoo_model *m = berth_zoo_list(&n);
	if (argc > 1) {
		fprintf(stderr, "usage: %s\n\nPrints docs/zoo.md.\n", argv[0]);
		return 2;
	}
	printf("# The model zoo\n\nMade by `berth-zoo-table > docs/zoo.md`; a unit test holds the figures to "
	       "1 %% (3.5 %% for the base transformer, see below).\n\n"
	       "MACs are multiply-accumulates of the products (convolutions, matrix products) of one forward "
	       "pass with the values given and otherwise the\n"
	       "defaults below; FLOPs are twice that plus one an output element of other operators. In "
	       "inference a normalisation is folded into the\n"
	       "convolution before it, as exporters do, so a few parameters fewer stand there. Random "
	       "models: means over seeds 1 to 20.\n\n");
	int status = figures_table();
	printf("\nThe sizes that Vaswani et al. print make 63.0 M parameters for the base transformer with "
	       "37,000 tokens; they say \"about\" of the tokens and\n"
	       "65 M of the parameters.\n\n## Models and their parameters\n\n| model | what | parameters and "
	       "defaults |\n|---|---|---|\n");
	for (int32_t i = 0; i < n; i++) {
		printf("| %s | %s | ", m[i].name, m[i].about);
		print_params(&m[i]);
		printf(" |\n");
	}
	return status;
}
