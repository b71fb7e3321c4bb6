/* The table of docs/importers.md on the zoo: models against published figures. Same build, same text. */
#include "entries.h"
#include "zoo.h"
#include "zoo_figures.h"

/* "4.089 G" with four digits. */
static void print_count(double x)
{
	static const char *const unit[] = {"", " k", " M", " G", " T"};
	int i = 0;
	for (; x >= 1000 && i < 4; i++)
		x /= 1000;
	printf(" | %.*f%s", x < 10 ? 3 : x < 100 ? 2 : 1, x, unit[i]);
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

void table_zoo(const bench_options *o)
{
	int n;
	const zoo_figure *f = zoo_figures(&n);
	(void)o;
	bench_head("spec|operators|MACs|public||parameters|public||source of the public figures");
	for (int i = 0; i < n; i++) {
		zoo_counts c;
		MUST(zoo_count(&f[i], &c, &err));
		printf("| %s | %.0f", f[i].spec + 4, c.ops);
		print_pair(c.macs, f[i].macs);
		print_pair(c.params, f[i].params);
		printf(" | %s |\n", f[i].source);
	}
}
