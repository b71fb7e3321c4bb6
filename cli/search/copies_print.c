/* Plans of several copies of a model: how the models are called, how they are written, and what is told of
 * their rate. */
#include "copies_print.h"

#include "say.h"
#include "signals.h"
#include "text.h"

#include <string.h>

berth_status copies_model(cli *c, const char *spec, const char *words, const char **model, berth_err *err)
{
	*model = words ? berth_arena_printf(&c->mem, "%s:%s", spec, words) : spec;
	return berth_got(*model, err);
}

int32_t copies_given(const cli *c)
{
	for (int32_t i = 1; i < c->n_args; i++)
		if (strcmp(c->args[i], c->args[0]) != 0)
			return 0;
	return c->n_args > 1 ? c->n_args : 0;
}

void copies_print_rate(int32_t n, double period_s)
{
	char each[32];
	double sample_s = period_s / n;
	if (n > 0)
		cli_say("%d %s of the model: %s a sample, %.4g samples/s\n", (int)n,
		        n == 1 ? "copy" : "copies", berth_text_seconds(each, sample_s), 1 / sample_s);
}

void copies_print(const copies_plan *p, const char *what)
{
	if (!p->out)
		return;
	cli_say("\nwritten to %s%s: a plan of", p->out, what);
	for (int32_t k = 0; k < p->n; k++)
		cli_say(" %s", p->model[k]);
	cli_say("\n");
}

berth_status copies_write(cli *c, const copies_plan *p, const berth_placement *placement,
                          const berth_graph *g, const berth_system *s, berth_err *err)
{
	if (c->streams)
		cli_document_begin();
	berth_status st = berth_placement_write(placement, g, s, p->out, true, &c->tmp, err);
	if (c->streams)
		cli_document_end();
	return st;
}
