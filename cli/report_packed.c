/* See report_packed.h. */
#include "report_packed.h"

#include "graph_load.h"
#include "say.h"
#include "system_change.h"
#include "text.h"

static bool goes_packed(const berth_problem *p, const berth_sim_hop *h)
{
	return berth_hop_packed(p->s, h->link, (double)p->g->tensor_bytes[h->tensor]);
}

void report_print_packed(const cli *c, const berth_problem *p, const berth_timeline *t)
{
	int factor, n = 0;
	double bytes = 0;
	char a[32];
	if (cli_compress_factor(c, &factor, NULL) != BERTH_OK || factor == 0)
		return;
	for (size_t h = 0; h < t->n_hops; h++)
		if (goes_packed(p, &t->hops[h])) {
			n++;
			bytes += (double)p->g->tensor_bytes[t->hops[h].tensor];
		}
	if (n == 0) {
		cli_say("none of %d transfers is packed\n", (int)t->n_hops);
		return;
	}
	cli_say("%d of %d transfers are packed, %s as 1/%d of it; a number is off by %.2g of %s at most\n", n,
	        (int)t->n_hops, berth_text_bytes(a, bytes), factor, berth_packed_error(factor),
	        factor == 2 ? "itself" : "its tensor's largest");
}

void report_put_packed(const cli *c, berth_json_out *w, const berth_problem *p, const berth_timeline *t)
{
	int factor;
	if (cli_compress_factor(c, &factor, NULL) != BERTH_OK || factor == 0)
		return;
	berth_json_open(w, "compress", '{');
	berth_json_put_int(w, "factor", factor);
	berth_json_put_number(w, "error", berth_packed_error(factor));
	berth_json_open(w, "packed", '[');
	for (size_t h = 0; h < t->n_hops; h++) {
		const berth_sim_hop *hop = &t->hops[h];
		if (!goes_packed(p, hop))
			continue;
		berth_json_open(w, NULL, '{');
		berth_json_flat(w, true);
		berth_json_put_string(w, "op", p->g->op_name[p->g->tensor_producer[hop->tensor]]);
		berth_json_put_string(w, "from", p->s->dev_name[p->s->link_from[hop->link]]);
		berth_json_put_string(w, "to", p->s->dev_name[p->s->link_to[hop->link]]);
		berth_json_put_int(w, "bytes", p->g->tensor_bytes[hop->tensor]);
		berth_json_close(w, '}');
		berth_json_flat(w, false);
	}
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}
