/* One forward pass of the built-in policy, and what it is made of: encoding the problem, the network over its
 * groups, and decoding, operator after operator. The rest of a pass is memory, that of draws, too. For
 * growing problems the time of an operator should stay as it is. */
#include "speeds.h"

#include "policy_file.h"
#include "proposals.h"

#include <stdlib.h>

typedef struct pass_ctx {
	subject b;
	berth_policy_file f;
	berth_search s;
	berth_proposals p; /* for what is timed apart */
	berth_guide guide;
	berth_arena once, tmp;
} pass_ctx;

static void decode(pass_ctx *c, const berth_proposals *p)
{
	berth_decode_how how = {.temperature = 1, .guide = &c->guide};
	berth_decoder *decoder = p->rollout.decoder[0];
	berth_decode(decoder, &p->net[p->n_nets - 1], &how, berth_decoder_partial(decoder), NULL);
}

static void encode_once(void *arg)
{
	pass_ctx *c = arg;
	berth_encoding e;
	berth_arena_mark mark = berth_arena_get_mark(&c->once);
	MUST(berth_encode(&c->b.p, berth_aim_of(&c->s.cfg.objective), c->f.cfg.groups, c->f.cfg.hints,
	                  &c->once, &c->tmp, &e, &err));
	berth_arena_reset(&c->once, mark);
}

static void network_once(void *arg)
{
	pass_ctx *c = arg;
	policy_embed(&c->f.dims, c->f.params, &c->p.e.in, c->p.acts);
	c->p.net[c->p.n_nets - 1] = policy_stepper_of(&c->f.dims, c->f.params, &c->p.e.in, c->p.acts);
}

static void decode_once(void *arg)
{
	pass_ctx *c = arg;
	decode(c, &c->p);
}

static void whole_pass(void *arg)
{
	pass_ctx *c = arg;
	berth_proposals p;
	berth_arena_mark mark = berth_arena_get_mark(&c->once);
	MUST(berth_proposals_new(&c->f, &c->s, &c->once, &c->tmp, &p, &err));
	decode(c, &p);
	berth_arena_reset(&c->once, mark);
}

void speed_pass(void)
{
	static const char *const graph[] = {"bert-base", "bert-large:training=1:batch=8",
	                                    "random:ops=10000:seed=1", "random:ops=30000:seed=1",
	                                    "random:ops=100000:seed=1"};
	static const struct { const char *name; void (*work)(void *ctx); } part[] = {
		{"pass", whole_pass}, {"pass: encoding", encode_once}, {"pass: network", network_once},
		{"pass: decoding", decode_once}};
	for (size_t i = 0; i < sizeof graph / sizeof *graph; i++) {
		pass_ctx c = {.once = {0}};
		berth_search_cfg cfg = {.evaluations = 0};
		char label[96];
		bench_open(&c.b, graph[i], "4gpu");
		MUST(berth_policy_builtin(&c.b.mem, &c.f, &err));
		MUST(berth_search_new(&c.b.p, &cfg, &c.b.mem, &c.s, &err));
		MUST(berth_proposals_new(&c.f, &c.s, &c.b.mem, &c.b.tmp, &c.p, &err));
		MUST(berth_guide_new(&c.b.p, &c.b.mem, &c.guide, &err));
		snprintf(label, sizeof label, "%s on 4gpu (%d operators)", graph[i], c.b.p.n_ops);
		for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
			double seconds = bench_seconds(part[k].work, &c);
			speed_row(part[k].name, label, seconds * 1e3, "ms");
			if (k == 0)
				speed_row("pass, an operator", label, seconds * 1e6 / c.b.p.n_ops, "us");
		}
		berth_arena_free(&c.once);
		berth_arena_free(&c.tmp);
		bench_close(&c.b);
	}
}
