/* Predicted times: of each operator on each device, with what the time is from and how far off it may be. The
 * table of text has the longest ones. */
#include "op_times.h"
#include "results.h"
#include "say.h"
#include "show.h"
#include "tell.h"

#include <math.h>
#include <stdlib.h>

enum { LONGEST = 20 };

#define TIME(K, IF) \
	K(TEXT, "op", "", "operator", g->op_name[op]) \
	K(TEXT, "device", "", "", s->dev_name[d]) \
	K(NUMBER_OR_NULL, "time_s", "s", "null: it cannot run there", x.seconds) \
	K(NUMBER_OR_NULL, "error", "share", \
	  "mean of how far such times are off; 0: measured, null: it cannot run there", \
	  isnan(x.seconds) ? NAN : x.error) \
	K(TEXT, "from", "", "`measured`, `calibrated`, `model`, `roofline`, or `none`: it cannot run there", \
	  berth_time_from_name(x.from))
static RESULT_FLAT_KIND(time_kind, "", "", TIME);

#define TIMES(K, IF) \
	K(TEXT, "graph", "", "", g->name) \
	K(TEXT, "system", "", "", s->name) \
	K(LIST(time_kind), "times", "", "of each operator on each device", list)
RESULT_KIND(show_times_document, "Show times", "", TIMES);

typedef struct timed {
	int32_t op, dev;
	berth_op_prediction x;
} timed;

/* Longest first, what cannot run last; ties as they came. */
static int compare_timed(const void *pa, const void *pb)
{
	const timed *a = pa, *b = pb;
	double x = isnan(a->x.seconds) ? -1 : a->x.seconds, y = isnan(b->x.seconds) ? -1 : b->x.seconds;
	if (x != y)
		return (x < y) - (x > y);
	return a->op != b->op ? (a->op > b->op) - (a->op < b->op) : (a->dev > b->dev) - (a->dev < b->dev);
}

static const berth_result_list *rows_of(cli *c, const berth_graph *g, const berth_system *s, const timed *at,
                                        int32_t n)
{
	berth_result_list *list = berth_result_list_new(&c->mem, &time_kind);
	for (int32_t i = 0; i < n; i++) {
		int32_t op = at[i].op, d = at[i].dev;
		berth_op_prediction x = at[i].x;
		RESULT_ADD(list, TIME);
	}
	return list;
}

berth_status show_times(cli *c, const berth_graph *g, const berth_system *s, berth_err *err)
{
	timed *at;
	int32_t n = 0;
	BERTH_TRY_NEW(&c->tmp, (size_t)g->n_ops * (size_t)s->n_devs, err, at);
	for (int32_t op = 0; op < g->n_ops; op++)
		for (int32_t d = 0; d < s->n_devs; d++) {
			berth_type_on_dev type = berth_type_look_up(
				s, d, g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]);
			at[n++] = (timed){op, d, berth_op_predict(g, s, op, d, &type)};
		}
	const berth_result_list *list = rows_of(c, g, s, at, n);
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, show_times_document, TIMES), err));
	if (!cli_in_words(c))
		return BERTH_OK;
	if (n)
		qsort(at, (size_t)n, sizeof *at, compare_timed);
	cli_say("%s on %s: predicted times, longest first\n\n", g->name, s->name);
	BERTH_TRY(cli_tell_rows(c, rows_of(c, g, s, at, n < LONGEST ? n : LONGEST), NULL, CLI_AS_TEXT,
	                        "operator=op|device=device|time=time_s|error=error|from=from", err));
	if (n > LONGEST)
		cli_say("(and %d more; --json has all)\n", n - LONGEST);
	return BERTH_OK;
}
