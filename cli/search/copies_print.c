/* See copies_print.h. */
#include "copies_print.h"

#include "say.h"

berth_status copies_model(cli *c, const char *spec, const char *words, const char **model, berth_err *err)
{
	*model = words ? berth_arena_printf(&c->mem, "%s:%s", spec, words) : spec;
	return *model ? BERTH_OK : berth_nomem(err);
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

void copies_put(berth_json_out *w, const copies_plan *p)
{
	if (!p->out)
		return;
	berth_json_open(w, "models", '[');
	for (int32_t k = 0; k < p->n; k++)
		berth_json_put_string(w, NULL, p->model[k]);
	berth_json_close(w, ']');
}
