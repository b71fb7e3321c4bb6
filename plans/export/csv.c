/* Exporter "csv": one operator a row, for spreadsheets and scripts (RFC 4180: CRLF behind each row, quotes
 * around fields that hold a comma, a quote or an end of line, quotes inside doubled), none of them a formula
 * (docs/export.md). Where the graph has no layers (granularity.h), or nothing was simulated, these fields are
 * empty. O(ops + edges). */
#include "exporters.h"
#include "granularity.h"

/* Would a spreadsheet compute it, but for the apostrophes in front? */
static bool is_formula(const char *text)
{
	char c = text[strspn(text, "'")];
	return c && strchr("=+-@\t", c);
}

const char *csv_cell_bare(const char *text)
{
	return *text == '\'' && is_formula(text) ? text + 1 : text;
}

/* Tensors that others take, and outputs of the graph. What is both counts once, where the bytes that the
 * operator writes tell so. */
static int64_t output_bytes(const berth_graph *g, int32_t op)
{
	int64_t taken = 0, written = g->op_write_bytes[op];
	BERTH_EACH (t, g->op_tensor_off, op)
		taken += g->tensor_bytes[t];
	int64_t all = taken + g->op_output_bytes[op];
	return written >= taken && written > 0 && written < all ? written : all;
}

static void row(berth_strbuf *b, const berth_export_source *x, const berth_granularity *layers, int32_t op)
{
	const berth_graph *g = x->g;
	int32_t dev = x->op_dev[op];
	char start[32] = "", end[32] = "";
	if (x->t && x->t->r.runs) {
		berth_text_double(start, (double)x->t->start_ns[op] / 1e9);
		berth_text_double(end, (double)x->t->end_ns[op] / 1e9);
	}
	const char *const cells[] = {g->op_name[op],
	                             g->op_type[op] < 0 ? "" : g->type_name[g->op_type[op]],
	                             layers->n_blocks ? layers->block_name[layers->op_block[op]] : "",
	                             berth_export_called(x, dev),
	                             start,
	                             end};
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
		/* Text as a cell (RFC 4180). Where it begins with = + - @ or a tab, which make a formula of
		 * it, it gets an apostrophe in front, and so does what begins with apostrophes and one of
		 * these. */
		const char *text = cells[i];
		bool quote = text[strcspn(text, ",\"\r\n")] != '\0';
		if (quote)
			berth_strbuf_add(b, "\"", 1);
		if (is_formula(text))
			berth_strbuf_add(b, "'", 1);
		for (const char *c = text; *c; c++) {
			berth_strbuf_add(b, c, 1);
			if (*c == '"')
				berth_strbuf_add(b, c, 1);
		}
		if (quote)
			berth_strbuf_add(b, "\"", 1);
		berth_strbuf_add(b, ",", 1);
	}
	berth_strbuf_printf(b, "%lld\r\n", (long long)output_bytes(g, op));
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	berth_strbuf b = {.mem = out->mem};
	berth_granularity layers = {0};
	/* The names of the layers; layers stay untouched where there are none. */
	berth_status st = berth_granularity_find(x->g, BERTH_GRAIN_LAYER, out->mem, tmp, &layers, err);
	BERTH_TRY(st == BERTH_EINVAL ? BERTH_OK : st);
	berth_strbuf_printf(&b, "operator,type,layer,device,start_s,end_s,output_bytes\r\n");
	for (int32_t op = 0; op < x->g->n_ops; op++)
		row(&b, x, &layers, op);
	if (!x->t)
		BERTH_TRY(
			berth_export_note(out, err, "times are left out: they need a system (--on SYSTEM)"));
	return berth_export_put_text(out, &b, err);
}

const berth_exporter berth_export_csv = {
	.name = "csv",
	.about = "A table of the operators, a row each",
	.suffix = ".csv",
	.needs = BERTH_EXPORT_PLACEMENT,
	.write = write,
};
