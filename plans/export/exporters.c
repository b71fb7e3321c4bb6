/* The table of exporters; see exporters.h. */
#include "exporters.h"

#include "text.h"
#include "visible.h"

#include <stdarg.h>

#define ENTRY(name) &berth_export_##name,

const berth_exporter *const berth_exporters[] = {BERTH_EXPORTERS(ENTRY)};

enum { N_EXPORTERS = sizeof berth_exporters / sizeof *berth_exporters };
const int32_t berth_n_exporters = N_EXPORTERS;

berth_status berth_exporter_find(const char *name, const berth_exporter **out, berth_err *err)
{
	const char *known[N_EXPORTERS];
	int32_t at;
	for (int i = 0; i < N_EXPORTERS; i++)
		known[i] = berth_exporters[i]->name;
	BERTH_TRY(berth_text_find(known, N_EXPORTERS, name, "export", NULL, &at, err));
	*out = berth_exporters[at];
	return BERTH_OK;
}

/* ---- what they make ---- */

berth_status berth_export_put(berth_export_out *out, const void *data, size_t size, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(out->mem, out->piece, out->n_pieces, &out->cap_pieces, err));
	out->piece[out->n_pieces++] = (berth_file_piece){data, size};
	return BERTH_OK;
}

berth_status berth_export_set(berth_export_out *out, const char *key, const char *value, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(out->mem, out->setting, out->n_settings, &out->cap_settings, err));
	out->setting[out->n_settings++] = (berth_export_setting){key, value};
	return BERTH_OK;
}

static berth_status add_text(berth_arena *mem, const char ***list, int32_t *n, size_t *cap, berth_err *err,
                             const char *fmt, va_list args)
{
	char text[1024];
	berth_visible_vprint(text, sizeof text, fmt, args);
	BERTH_TRY(BERTH_GROW(mem, *list, *n, cap, err));
	(*list)[*n] = berth_arena_strdup(mem, text);
	return (*list)[(*n)++] ? BERTH_OK : berth_nomem(err);
}

berth_status berth_export_note(berth_export_out *out, berth_err *err, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	berth_status st = add_text(out->mem, &out->note, &out->n_notes, &out->cap_notes, err, fmt, args);
	va_end(args);
	return st;
}

berth_status berth_export_warn(berth_export_out *out, berth_err *err, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	berth_status st =
		add_text(out->mem, &out->warning, &out->n_warnings, &out->cap_warnings, err, fmt, args);
	va_end(args);
	return st;
}

/* ---- using them ---- */

static berth_status check_source(const berth_exporter *e, const berth_export_source *x, berth_err *err)
{
	static const char *const what[] = {"a graph", "a placement", "a placement that runs, on a system"};
	bool placed = x->g && x->s && x->op_dev, runs = x->p && x->t && x->t->r.runs;
	bool has = e->needs == BERTH_EXPORT_GRAPH       ? x->g != NULL
	           : e->needs == BERTH_EXPORT_PLACEMENT ? placed
	                                                : runs;
	if (!has)
		return berth_fail(err, BERTH_EINVAL, "export to %s needs %s", e->name, what[e->needs]);
	if (e->model && !x->model)
		return berth_fail(err, BERTH_EINVAL,
		                  "export to %s needs a model of the format %s, from a file", e->name,
		                  e->model);
	return BERTH_OK;
}

berth_status berth_export_make(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                               berth_export_out *out, berth_err *err)
{
	BERTH_TRY(check_source(e, x, err));
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = e->write(x, tmp, out, err);
	berth_arena_reset(tmp, mark);
	return st;
}

berth_status berth_export(const char *name, const berth_export_source *x, const char *path, berth_arena *mem,
                          berth_arena *tmp, berth_err *err)
{
	const berth_exporter *e;
	berth_export_out out = {.mem = mem};
	BERTH_TRY(berth_exporter_find(name, &e, err));
	berth_arena_mark mark = berth_arena_get_mark(mem);
	berth_status st = berth_export_make(e, x, tmp, &out, err);
	if (st == BERTH_OK)
		st = berth_file_write_pieces(path, out.piece, out.n_pieces, err);
	berth_arena_reset(mem, mark);
	return st;
}
