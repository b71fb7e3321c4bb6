/* See cli_ranks.h. */
#include "cli_ranks.h"

#include "print.h"
#include "say.h"
#include "text.h"

#include <string.h>

static int32_t count_hosts(const berth_ranks *r)
{
	int32_t n = 0;
	for (int32_t i = 0; i < r->n; i++) {
		bool known = false;
		for (int32_t k = 0; k < i && !known; k++)
			known = strcmp(r->host[i], r->host[k]) == 0;
		n += !known;
	}
	return n;
}

berth_status cli_ranks_open(cli *c, berth_ranks *out, int *voice, berth_err *err)
{
	berth_wire wire;
	*out = (berth_ranks){.n = 1};
	*voice = -1;
	BERTH_TRY(berth_wire_open(&c->mem, &wire, err));
	BERTH_TRY(berth_ranks_open(&wire, &c->mem, out, err));
	int32_t hosts = count_hosts(out);
	if (out->n > 1 && out->me == 0 && !c->quiet)
		cli_say_error("berth: %d ranks on %d host%s\n", (int)out->n, (int)hosts,
		              hosts == 1 ? "" : "s");
	if (out->me == 0)
		return BERTH_OK;
	c->quiet = true;
	c->json = false;
	berth_status st = cli_fall_silent(voice, err);
	out->lost = st != BERTH_OK; /* the others begin to trade */
	return st;
}

void cli_ranks_close(berth_ranks *r, int voice, berth_status st, berth_err *err)
{
	if (st != BERTH_OK && r->n > 1 && r->me == 0 && !r->lost) {
		cli_say_now();
		cli_say_error("berth: %s\n", err->msg);
		*err->msg = '\0';
	}
	if (r->lost) {
		cli_speak_again(voice);
		cli_say_error("berth: rank %d: %s\n", (int)r->me, err->msg);
		r->wire.stop(r->wire.ctx, berth_exit_code(st));
	}
	berth_ranks_close(r);
}

void cli_ranks_put(berth_json_out *w, const berth_train_result *r)
{
	berth_json_open(w, "ranks", '[');
	for (int32_t i = 0; i < r->n_ranks; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "host", r->rank[i].host);
		berth_json_put_int(w, "evaluations", r->rank[i].evaluations);
		berth_json_put_number(w, "cpu_s", r->rank[i].cpu_s);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

berth_status cli_ranks_print(cli *c, const berth_train_result *r, berth_err *err)
{
	cli_table t;
	char buf[32];
	if (r->n_ranks < 2)
		return BERTH_OK;
	cli_table_init(&t, &c->mem, "rlrr");
	cli_table_head(&t, "rank|host|evaluations|CPU");
	for (int32_t i = 0; i < r->n_ranks; i++) {
		cli_cell(&t, "%d", (int)i);
		cli_cell(&t, "%s", r->rank[i].host);
		cli_cell(&t, "%s", cli_count(buf, r->rank[i].evaluations));
		cli_cell(&t, "%s", berth_text_seconds(buf, r->rank[i].cpu_s));
	}
	cli_say("\n");
	return cli_table_print(&t, CLI_AS_TEXT, err);
}
