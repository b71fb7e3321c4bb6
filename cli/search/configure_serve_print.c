/* What berth configure --serve tells: copies as groups, a layout and its ways; as a document and as text. */
#include "configure_serve.h"

#include "results.h"
#include "say.h"
#include "tell.h"

typedef serve_view view;

bool serve_has_layouts(const view *v)
{
	return v->blocks.n_blocks <= BERTH_MOST_LAYOUT_LAYERS;
}

bool serve_found(const view *v)
{
	return v->plan.n_copies > 0 || v->layout.per_s > 0;
}

/* ---- the document ---- */

const char *serve_use(const view *v, int32_t from)
{
	return !v->apart ? "both" : from < v->blocks.n_blocks ? "read" : "answer";
}

#define NODE(K, IF)                                                                                          \
	K(TEXT, "server", "", "the host whose kind of device it is", v->x->kind[g->kind].name)               \
	K(INT, "nodes", "", "devices with these layers", g->n)                                               \
	IF(v->requests, TEXT, "use", "", "`read`, `answer` or `both`", serve_use(v, g->from))                \
	K(TEXT, "first", "", "layer", v->blocks.block_name[g->from % v->blocks.n_blocks])                    \
	K(TEXT, "last", "", "layer", v->blocks.block_name[(g->to - 1) % v->blocks.n_blocks])                 \
	K(INT, "layers", "", "how many", g->to - g->from)                                                    \
	K(INT, "batch", "", "of a step of each", g->batch)                                                   \
	IF(g->read_bytes, INT, "disk_bytes", "", "that each reads from its disk in each step",               \
	   g->read_bytes)                                                                                    \
	K(NUMBER, "per_s", "samples/s", "that come to all of them together", g->per_s)
static RESULT_FLAT_KIND(node_kind, "", "", NODE);

#define WAY(K, IF)                                                                                           \
	K(INT, "from", "", "place in `layout`, from 0; -1: where requests come from", w->from)               \
	K(INT, "to", "", "the same; -1: they are answered", w->to)                                           \
	K(NUMBER, "per_s", "samples/s", "", w->per_s)                                                        \
	K(NUMBER, "share", "", "of all that goes on from there",                                             \
	  w->per_s / (w->from < 0 ? v->layout.per_s : v->layout.group[w->from].per_s))
static RESULT_FLAT_KIND(way_kind, "", "", WAY);

#define STAGE(K, IF)                                                                                         \
	K(TEXT, "server", "", "the host whose kind of device it is", v->x->kind[at->kind].name)              \
	K(TEXT, "first", "", "layer", v->blocks.block_name[at->from])                                        \
	K(TEXT, "last", "", "layer", v->blocks.block_name[at->to - 1])                                       \
	K(INT, "layers", "", "how many", at->to - at->from)                                                  \
	IF(at->read_bytes, INT, "disk_bytes", "", "read from its disk in each step", at->read_bytes)
static RESULT_KIND(stage_kind, "", "", STAGE);

#define GROUP(K, IF)                                                                                         \
	K(INT, "copies", "", "so many like this", g->n)                                                      \
	K(NS, "period_s", "s", "between two samples of one copy, in the mean", g->period_ns / v->batch)      \
	K(NS, "latency_s", "s", "of a sample: steps of all devices and what goes between", g->latency_ns)    \
	K(MAP("integer"), "devices", "", "of one copy, by host", devices)                                    \
	K(LIST(stage_kind), "stages", "",                                                                    \
	  "devices of a copy with their [layers](layers.md), in their order", stages)
static RESULT_FLAT_KIND(group_kind, "", "", GROUP);

#define SHORT(K, IF)                                                                                         \
	K(TEXT_OR_NULL, "limit", "",                                                                         \
	  "is proven to fail first: `memory`, `latency`, `first` or `token`; `both`: of the last two each "  \
	  "alone may be kept; null: unknown",                                                                \
	  v->why->limit)                                                                                     \
	K(NUMBER_OR_NULL, "asked", "s", "that limit; of memory the bytes that there are", v->why->asked)     \
	K(NUMBER_OR_NULL, "least", "s", "that is possible at best; of memory the bytes that are needed",     \
	  v->why->least)                                                                                     \
	IF(!v->requests, NUMBER_OR_NULL, "kept_latency_s", "s", "a limit that something keeps",              \
	   kept_or_null(v->why, 0))                                                                          \
	IF(v->requests, NUMBER_OR_NULL, "kept_first_s", "s", "limits that something keeps",                  \
	   kept_or_null(v->why, 0))                                                                          \
	IF(v->requests, NUMBER_OR_NULL, "kept_token_s", "s", "", kept_or_null(v->why, 1))                    \
	K(NUMBER_OR_NULL, "kept_per_s", "samples/s", "or requests/s, by that", or_null(v->why->kept_per_s))
static RESULT_KIND(short_kind, "", "", SHORT);

static double or_null(double x)
{
	return x > 0 ? x : NAN;
}

static double kept_or_null(const serve_short *why, int i)
{
	return why->kept_per_s > 0 ? or_null(why->kept_s[i]) : NAN;
}

#define SERVE(K, IF)                                                                                         \
	K(TEXT, "graph", "", "as it was given", c->args[0])                                                  \
	K(TEXT, "system", "", "", v->s.name)                                                                 \
	K(BOOL, "feasible", "", "false: the layers fit nowhere, nothing keeps the limit, or time was over",  \
	  serve_found(v))                                                                                    \
	IF(!v->requests, INT, "copies", "", "in all", v->plan.n_copies)                                      \
	IF(!v->requests, INT, "batch", "", "of the copies", v->batch)                                        \
	IF(!v->requests, NUMBER, "throughput_per_s", "samples/s", "of all copies", v->plan.per_s)            \
	IF(!v->requests, NUMBER_OR_NULL, "groups_bound_per_s", "samples/s",                                  \
	   "of plans with such groups at most", v->plan.groups_per_s)                                        \
	IF(!v->requests, NUMBER_OR_NULL, "bound_per_s", "samples/s",                                         \
	   "of any plan on the devices that take part at most", v->plan.bound_per_s)                         \
	IF(!v->requests, INT, "pipelines", "", "that were solved", v->plan.solved)                           \
	K(LIST(group_kind), "groups", "", "unlike ones; none with `--steps`", groups)                        \
	K(NUMBER, "layout_per_s", "samples/s",                                                               \
	  "or requests/s, with [layers held singly](clusters.md#layers-held-singly)", v->layout.per_s)       \
	IF(!v->requests, NUMBER, "layout_latency_s", "s", "of a sample on the way that takes longest",       \
	   v->layout.time_s[0])                                                                              \
	IF(serve_has_layouts(v), NUMBER_OR_NULL, "layout_bound_per_s", "samples/s",                          \
	   "of any layout that keeps the limit at most; null: interrupted", v->layout.bound_per_s)           \
	IF(v->requests, BOOL, "apart", "", "of `layout`: some nodes read and others answer", v->apart)       \
	IF(v->requests, NUMBER, "together_per_s", "requests/s", "of layouts whose nodes do both",            \
	   v->requests[0].l.per_s)                                                                           \
	IF(v->requests, NUMBER, "together_bound_per_s", "requests/s", "", v->requests[0].l.bound_per_s)      \
	IF(v->requests, NUMBER, "apart_per_s", "requests/s", "of those where some read",                     \
	   v->requests[1].l.per_s)                                                                           \
	IF(v->requests, NUMBER_OR_NULL, "apart_bound_per_s", "requests/s", "", v->requests[1].l.bound_per_s) \
	IF(v->requests, NUMBER, "first_s", "s", "reading the longest prompt, on the longest way",            \
	   v->requests[v->apart].first_s)                                                                    \
	IF(v->requests, NUMBER, "token_s", "s", "of the longest request, on the longest way",                \
	   v->requests[v->apart].token_s)                                                                    \
	IF(v->n_no_links, TEXTS, "no_links", "",                                                             \
	   "between kinds of servers: `a to b`; missing: all have some", v->no_link, v->n_no_links)          \
	K(LIST(node_kind), "layout", "", "which devices hold which layers, by the first of these", nodes)    \
	K(LIST(way_kind), "ways", "", "how requests go from one to the next", ways)                          \
	IF(v->why, OBJECT(short_kind), "short", "", "missing: something was found", why)
RESULT_KIND(serve_document, "Configure for serving", "`configure --serve --json`.", SERVE);

static berth_status groups_of(cli *c, const view *v, berth_result_list **out, berth_err *err)
{
	berth_result_list *stages;
	*out = berth_result_list_new(&c->mem, &group_kind);
	for (int32_t i = 0; i < v->plan.n_groups; i++) {
		const berth_serving_group *g = &v->plan.group[i];
		berth_result_map *devices = berth_result_map_new(&c->mem);
		for (int32_t k = 0; k < v->x->n_kinds; k++)
			if (g->n_devs[k] > 0)
				berth_result_map_add(devices, v->x->kind[k].name,
				                     berth_result_int(g->n_devs[k]));
		berth_serving_stage *stage;
		int32_t n;
		BERTH_TRY(berth_serving_stages(v->x, g, &c->mem, &c->tmp, &stage, &n, err));
		stages = berth_result_list_new(&c->mem, &stage_kind);
		for (const berth_serving_stage *at = stage; at && at - stage < n; at++)
			RESULT_ADD(stages, STAGE);
		RESULT_ADD(*out, GROUP);
	}
	return BERTH_OK;
}

static void nodes_of(cli *c, const view *v, berth_result_list **nodes, berth_result_list **ways)
{
	*nodes = berth_result_list_new(&c->mem, &node_kind);
	*ways = berth_result_list_new(&c->mem, &way_kind);
	for (const berth_layout_group *g = v->layout.group; g && g - v->layout.group < v->layout.n_groups;
	     g++)
		RESULT_ADD(*nodes, NODE);
	for (const berth_layout_way *w = v->layout.way; w && w - v->layout.way < v->layout.n_ways; w++)
		RESULT_ADD(*ways, WAY);
}

berth_status serve_result(cli *c, const view *v, berth_err *err)
{
	berth_result_list *groups, *nodes, *ways;
	BERTH_TRY(groups_of(c, v, &groups, err));
	nodes_of(c, v, &nodes, &ways);
	const berth_result *why = v->why ? RESULT_NEW(&c->mem, short_kind, SHORT) : NULL;
	return cli_result(c, RESULT_NEW(&c->mem, serve_document, SERVE), err);
}

/* ---- text ---- */

/* "8 of a", "2 x a + 1 x b". */
static berth_status where(cli *c, const view *v, const berth_serving_group *g, const char **out,
                          berth_err *err)
{
	const char *text = "";
	for (int32_t k = 0; k < v->x->n_kinds && text; k++) {
		if (g->n_devs[k] == 0)
			continue;
		const char *name = v->x->kind[k].name, *and = *text ? " + " : "";
		text = g->servers[k]
		               ? berth_arena_printf(&c->mem, "%s%s%d x %s", text, and, g->servers[k], name)
		               : berth_arena_printf(&c->mem, "%s%d of %s", and, g->n_devs[k], name);
	}
	*out = text;
	return berth_got(text, err);
}

static const char *from_disk(int64_t bytes, char *text)
{
	char number[32];
	*text = 0;
	if (bytes > 0)
		snprintf(text, 64, " (%s from disk)", berth_text_bytes(number, (double)bytes));
	return text;
}

/* Layers in runs on devices of one kind: "1-40 on 5 of a; 41-82 on 2 of b". */
static berth_status blocks_text(cli *c, const view *v, const berth_serving_group *g, const char **out,
                                berth_err *err)
{
	berth_serving_stage *stage;
	int32_t n, end;
	const char *text = "";
	char disk[64];
	BERTH_TRY(berth_serving_stages(v->x, g, &c->mem, &c->tmp, &stage, &n, err));
	for (int32_t i = 0; i < n && text; i = end) {
		int64_t read = stage[i].read_bytes;
		for (end = i + 1; end < n && stage[end].kind == stage[i].kind; end++)
			read += stage[end].read_bytes;
		text = berth_arena_printf(&c->mem, "%s%s%d-%d on %d of %s%s", text, i ? "; " : "",
		                          stage[i].from + 1, stage[end - 1].to, end - i,
		                          v->x->kind[stage[i].kind].name, from_disk(read, disk));
	}
	*out = text;
	return berth_got(text, err);
}

/* Equal hosts of the file are servers of one kind, called by the first: whom that stands for. */
static void tell_merged(const view *v)
{
	for (int32_t h = 0; h < v->c.n_hosts; h++) {
		int64_t n = 0, hosts = 0;
		for (int32_t k = h; v->c.host_like[h] == h && k < v->c.n_hosts; k++)
			if (v->c.host_like[k] == h) {
				n += v->n_servers[k];
				hosts++;
			}
		if (hosts < 2 || n == 0)
			continue;
		cli_say("equal hosts are one kind, %s, of %lld servers:", v->c.host_name[h], (long long)n);
		for (int32_t k = h; k < v->c.n_hosts; k++)
			if (v->c.host_like[k] == h)
				cli_say(" %s (%lld)", v->c.host_name[k], (long long)v->n_servers[k]);
		cli_say("\n");
	}
}

void serve_tell_devices(const berth_serving *x)
{
	for (int32_t k = 0; k < x->n_kinds; k++)
		cli_say("of %s take part: %d x %s%s\n", x->kind[k].name, x->kind[k].n_devs, x->kind[k].dev[0],
		        x->kind[k].disk_bytes > 0 ? ", and its disk" : "");
}

void serve_tell_words(const view *v)
{
	if (v->sample)
		cli_say("a sample is a %s", v->sample);
	if (v->sample && v->sequences > 1)
		cli_say(" of each of %lld sequences", (long long)v->sequences);
	cli_say("%slayer 1 is %s, %d %s\n", v->sample ? "; " : "", *v->blocks.block_name, v->blocks.n_blocks,
	        v->blocks.block_name[v->blocks.n_blocks - 1]);
}

static berth_status print(cli *c, const view *v, berth_err *err)
{
	cli_table t;
	char a[32], b[32];
	int64_t servers = 0, devices = 0;
	const berth_serving_plan *plan = &v->plan;
	for (int32_t k = 0; k < v->x->n_kinds; k++) {
		servers += v->x->kind[k].n_servers;
		devices += v->x->kind[k].n_servers * v->x->kind[k].n_devs;
	}
	cli_say("%s on %lld server%s of %s, %lld device%s: %.4g samples/s by %lld %s\n", c->args[0],
	        (long long)servers, servers == 1 ? "" : "s", v->s.name, (long long)devices,
	        devices == 1 ? "" : "s", plan->per_s, (long long)plan->n_copies,
	        plan->n_copies == 1 ? "copy" : "copies");
	if (v->batch > 1)
		cli_say("of the batches %lld serves most\n", (long long)v->batch);
	serve_tell_devices(v->x);
	tell_merged(v);
	serve_tell_words(v);
	if (isfinite(plan->bound_per_s))
		cli_say("such groups have %.4g samples/s at most (%s less here), any plan on these devices "
		        "%.4g (%s less)\n\n",
		        plan->groups_per_s, cli_percent(a, 1 - plan->per_s / plan->groups_per_s),
		        plan->bound_per_s, cli_percent(b, 1 - plan->per_s / plan->bound_per_s));
	else
		cli_say("interrupted: not all batches were tried, no bound\n\n");
	cli_table_init(&t, &c->mem, "rlrrrl");
	cli_table_head(&t, "copies|each on|a sample every|it takes|samples/s|layers");
	for (int32_t i = 0; i < plan->n_groups; i++) {
		const berth_serving_group *g = &plan->group[i];
		const char *text;
		BERTH_TRY(where(c, v, g, &text, err));
		cli_cell_int(&t, g->n);
		cli_cell_text(&t, text);
		double ns = (double)g->period_ns / (double)v->batch;
		cli_cell_seconds(&t, ns / 1e9);
		cli_cell_seconds(&t, (double)g->latency_ns / 1e9);
		cli_cell(&t, "%.4g", 1e9 / ns);
		BERTH_TRY(blocks_text(c, v, g, &text, err));
		cli_cell_text(&t, text);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

/* "answered"; "3 60.0 %, 4 40.0 %": rows of the table from 1. */
static berth_status goes_to(cli *c, const view *v, int32_t from, const char **out, berth_err *err)
{
	const char *text = "";
	char share[40] = "", row[16];
	double all = v->layout.group[from].per_s;
	for (int32_t i = 0; i < v->layout.n_ways && text; i++) {
		const berth_layout_way *w = &v->layout.way[i];
		if (w->from != from)
			continue;
		snprintf(row, sizeof row, "%d", w->to + 1);
		if (w->per_s < all)
			cli_percent(share, w->per_s / all);
		text = berth_arena_printf(&c->mem, "%s%s%s%s%s", text, *text ? ", " : "",
		                          w->to < 0 ? "answered" : row, *share ? " " : "", share);
	}
	*out = text;
	return berth_got(text, err);
}

berth_status serve_print_groups(cli *c, const view *v, berth_err *err)
{
	cli_table t;
	int32_t L = v->blocks.n_blocks;
	bool many = false;
	char align[16], head[80], disk[64];
	for (int32_t i = 0; i < v->layout.n_groups; i++)
		many |= v->layout.group[i].batch > 1;
	snprintf(align, sizeof align, "rrl%sr%srl", v->requests ? "l" : "", many ? "r" : "");
	snprintf(head, sizeof head, "|nodes|of|%slayers|%s%s/s|go on to", v->requests ? "to|" : "",
	         many ? "batch|" : "", v->requests ? "requests" : "samples");
	cli_table_init(&t, &c->mem, align);
	cli_table_head(&t, head);
	for (int32_t i = 0; i < v->layout.n_groups; i++) {
		const berth_layout_group *g = &v->layout.group[i];
		const char *text;
		BERTH_TRY(goes_to(c, v, i, &text, err));
		cli_cell_int(&t, i + 1);
		cli_cell_int(&t, g->n);
		cli_cell_text(&t, v->x->kind[g->kind].name);
		if (v->requests)
			cli_cell_text(&t, serve_use(v, g->from));
		cli_cell(&t, "%d-%d%s", g->from % L + 1, (g->to - 1) % L + 1, from_disk(g->read_bytes, disk));
		if (many)
			cli_cell_int(&t, g->batch);
		cli_cell(&t, "%.4g", g->per_s);
		cli_cell_text(&t, text);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status print_layout(cli *c, const view *v, berth_err *err)
{
	const berth_layers *l = &v->layout;
	char a[32], b[32];
	cli_say("%s on %s, layers held singly: %.4g samples/s, each in %s at most; ", c->args[0], v->s.name,
	        l->per_s, berth_text_seconds(b, l->time_s[0]));
	if (isfinite(l->bound_per_s))
		cli_say("no layout%s has more than %.4g (%s less here)\n",
		        v->most_s > 0 ? " within the limit" : "", l->bound_per_s,
		        cli_percent(a, 1 - l->per_s / l->bound_per_s));
	else
		cli_say("interrupted: no bound\n");
	if (v->plan.n_copies == 0 || !berth_serving_same_devices(v->x, v->laid))
		serve_tell_devices(v->laid);
	if (v->plan.n_copies == 0)
		serve_tell_words(v);
	cli_say("\n");
	return serve_print_groups(c, v, err);
}

void serve_tell_links(const view *v)
{
	for (int32_t i = 0; i < v->n_no_links; i++)
		cli_say("%s%s", i ? ", " : "no link goes from ", v->no_link[i]);
	if (v->n_no_links)
		cli_say("\n");
}

berth_status serve_tell(cli *c, const view *v, berth_err *err)
{
	bool more = v->layout.per_s > v->plan.per_s * BERTH_MORE_THAN_COPIES;
	if (v->plan.n_copies > 0)
		BERTH_TRY(print(c, v, err));
	if (more && v->plan.n_copies > 0)
		cli_say("\n");
	if (v->most_s > 0 && !more && v->plan.n_copies > 0 && isfinite(v->layout.bound_per_s) &&
	    serve_has_layouts(v))
		cli_say("\nno layout within the limit has more than %.4g samples/s\n", v->layout.bound_per_s);
	if (more)
		BERTH_TRY(print_layout(c, v, err));
	if (serve_found(v))
		serve_tell_links(v);
	return BERTH_OK;
}
