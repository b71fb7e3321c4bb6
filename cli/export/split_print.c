/* See split_print.h. */
#include "split_print.h"

#include "print.h"
#include "say.h"
#include "text.h"

#include <string.h>

static int64_t tensor_bytes(const berth_graph *g)
{
	int64_t sum = 0;
	for (int32_t t = 0; t < g->n_tensors; t++)
		sum += g->tensor_bytes[t];
	return sum;
}

static berth_status list_names(const berth_graph *g, berth_arena *mem, berth_strmap *map, berth_err *err)
{
	berth_strmap_init(map, mem);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t found;
		BERTH_TRY(berth_strmap_add(map, g->op_name[op], op, &found, err));
	}
	return BERTH_OK;
}

static double flops_of(const berth_graph *g, const berth_strmap *map, const char *name)
{
	int32_t op = berth_strmap_get(map, name);
	return op < 0 ? 0 : g->op_flops[op];
}

/* What pieces compute beyond their operators: rows that two of them have. */
static berth_status twice(const split_told *t, berth_arena *mem, double *out, berth_err *err)
{
	berth_strmap before, after;
	*out = 0;
	BERTH_TRY(list_names(t->before, mem, &before, err));
	BERTH_TRY(list_names(t->after, mem, &after, err));
	for (int32_t i = 0; i < t->p->n_made; i++) {
		const pieces_made *m = &t->p->made[i];
		double sum = 0;
		for (int32_t k = 0; k < m->k; k++)
			sum += flops_of(t->after, &after, m->name[k]);
		*out += sum - flops_of(t->before, &before, m->op);
	}
	return BERTH_OK;
}

static int64_t bytes_made(const pieces_model *p)
{
	int64_t sum = 0;
	for (size_t i = 0; i < p->n_pieces; i++)
		sum += (int64_t)p->piece[i].size;
	return sum;
}

/* ---- JSON ---- */

static void put_figures(berth_json_out *w, const char *key, const berth_graph *g)
{
	berth_json_open(w, key, '{');
	berth_json_put_int(w, "operators", g->n_ops);
	berth_json_put_number(w, "flops", berth_graph_flops(g));
	berth_json_put_number(w, "macs", berth_graph_macs(g));
	berth_json_put_int(w, "param_bytes", berth_graph_param_bytes(g));
	berth_json_put_int(w, "tensor_bytes", tensor_bytes(g));
	berth_json_close(w, '}');
}

static void put_made(berth_json_out *w, const split_search *search, const pieces_made *m)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "operator", m->op);
	berth_json_put_string(w, "type", m->type);
	berth_json_put_string(w, "axis", m->axis);
	berth_json_put_int(w, "length", m->length);
	berth_json_open(w, "pieces", '[');
	for (int32_t i = 0; i < m->k; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", m->name[i]);
		if (search)
			berth_json_put_string(w, "device", berth_split_device(&search->x, m->name[i]));
		berth_json_put_int(w, "from", m->own[i]);
		berth_json_put_int(w, "to", m->own[i + 1]);
		if (m->from[i] != m->own[i] || m->to[i] != m->own[i + 1]) {
			berth_json_put_int(w, "computes_from", m->from[i]);
			berth_json_put_int(w, "computes_to", m->to[i]);
		}
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

static void put_refused(berth_json_out *w, const pieces_model *p)
{
	berth_json_open(w, "refused", '[');
	for (int32_t i = 0; i < p->n_refused; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "operator", p->refused[i].op);
		berth_json_put_string(w, "type", p->refused[i].type);
		berth_json_put_string(w, "reason", p->refused[i].why);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

berth_status split_print_json(cli *c, const split_told *t, berth_err *err)
{
	const pieces_model *p = t->p;
	berth_json_out w;
	double more;
	BERTH_TRY(twice(t, &c->mem, &more, err));
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "graph", t->before->name);
	berth_json_put_string(&w, "output", t->out);
	berth_json_put_int(&w, "bytes", bytes_made(p));
	berth_json_put_string(&w, "data", p->n_copies ? t->data : NULL);
	if (t->search)
		split_search_put(&w, t->search);
	put_figures(&w, "before", t->before);
	put_figures(&w, "after", t->after);
	berth_json_put_number(&w, "twice_flops", more);
	berth_json_put_int(&w, "slices", p->n_slices);
	berth_json_put_int(&w, "joins", p->n_joins);
	berth_json_put_int(&w, "sums", p->n_sums);
	berth_json_open(&w, "cut", '[');
	for (int32_t i = 0; i < p->n_made; i++)
		put_made(&w, t->search, &p->made[i]);
	berth_json_close(&w, ']');
	put_refused(&w, p);
	return cli_end_json(c, &w, err);
}

/* ---- text ---- */

static void print_row(cli_table *table, const char *what, const berth_graph *g)
{
	char a[32], b[32], d[32];
	cli_cell(table, "%s", what);
	cli_cell(table, "%d", (int)g->n_ops);
	cli_cell(table, "%s", cli_amount(a, berth_graph_flops(g), "FLOP"));
	cli_cell(table, "%s", berth_text_bytes(b, (double)berth_graph_param_bytes(g)));
	cli_cell(table, "%s", berth_text_bytes(d, (double)tensor_bytes(g)));
}

static berth_status print_figures(cli *c, const split_told *t, berth_err *err)
{
	cli_table table;
	cli_table_init(&table, &c->mem, "lrrrr");
	cli_table_head(&table, "|operators|work|parameters|tensors");
	print_row(&table, "before", t->before);
	print_row(&table, "after", t->after);
	return cli_table_print(&table, CLI_AS_TEXT, err);
}

/* Operators that stay whole, beside those that were warned of: a line for each type and reason. */
static berth_status print_refused(const pieces_model *p, berth_arena *mem, berth_err *err)
{
	berth_strmap groups;
	int32_t *first, *n; /* of [n_groups] */
	int32_t n_groups = 0;
	berth_strmap_init(&groups, mem);
	BERTH_TRY(BERTH_NEW(mem, first, p->n_refused, err));
	BERTH_TRY(BERTH_NEW(mem, n, p->n_refused, err));
	for (int32_t i = p->n_asked; i < p->n_refused; i++) {
		const char *key = berth_arena_printf(mem, "%s\n%s", p->refused[i].type, p->refused[i].why);
		int32_t at;
		if (!key)
			return berth_nomem(err);
		BERTH_TRY(berth_strmap_add(&groups, key, n_groups, &at, err));
		if (at == n_groups)
			first[n_groups++] = i;
		n[at]++;
	}
	for (int32_t g = 0; g < n_groups; g++) {
		const pieces_refused *r = &p->refused[first[g]];
		if (n[g] == 1)
			cli_say("%s (%s) stays whole: %s\n", r->op, r->type, r->why);
		else
			cli_say("%s and %d more (%s) stay whole: %s\n", r->op, (int)n[g] - 1, r->type,
			        r->why);
	}
	return BERTH_OK;
}

berth_status split_print_text(cli *c, const split_told *t, berth_err *err)
{
	const pieces_model *p = t->p;
	int64_t n = 0;
	double more;
	char size[32], work[32];
	BERTH_TRY(twice(t, &c->mem, &more, err));
	for (int32_t i = 0; i < p->n_made; i++)
		n += p->made[i].k;
	cli_say("%s: %d operator%s cut into %lld pieces: %s, %s\n", t->before->name, (int)p->n_made,
	        p->n_made == 1 ? "" : "s", (long long)n, t->out,
	        berth_text_bytes(size, (double)bytes_made(p)));
	if (t->search)
		BERTH_TRY(split_search_print(c, t->search, t->out, err));
	BERTH_TRY(print_figures(c, t, err));
	cli_say("between pieces: %d Slice, %d Concat, %d Sum", (int)p->n_slices, (int)p->n_joins,
	        (int)p->n_sums);
	if (p->n_lookups)
		cli_say(", %d others around pieces of a vocabulary", (int)p->n_lookups);
	if (more > 0)
		cli_say("; computed twice: %s", cli_amount(work, more, "FLOP"));
	cli_say("\n");
	return print_refused(p, &c->mem, err);
}
