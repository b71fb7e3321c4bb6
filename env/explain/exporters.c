/* The table of exporters; see exporters.h. */
#include "exporters.h"

#include "file.h"
#include "text.h"


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

static bool has(const berth_export_source *x, berth_export_needs needs)
{
	switch (needs) {
	case BERTH_EXPORT_GRAPH: return x->g;
	case BERTH_EXPORT_PLACEMENT: return x->g && x->s && x->op_dev;
	case BERTH_EXPORT_TIMELINE: return x->p && x->t && x->t->r.runs;
	}
	return false;
}

static berth_status export_to(const berth_exporter *e, const berth_export_source *x, const char *path,
                              berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const char *text;
	size_t len;
	BERTH_TRY(e->write(x, mem, tmp, &text, &len, err));
	return berth_file_write(path, text, len, err);
}

berth_status berth_export(const char *name, const berth_export_source *x, const char *path, berth_arena *mem,
                          berth_arena *tmp, berth_err *err)
{
	static const char *const what[] = {"a graph", "a placement", "a placement that runs"};
	const berth_exporter *e;
	BERTH_TRY(berth_exporter_find(name, &e, err));
	if (!has(x, e->needs))
		return berth_fail(err, BERTH_EINVAL, "export to %s needs %s", e->name, what[e->needs]);
	berth_arena_mark mark = berth_arena_get_mark(mem);
	berth_status st = export_to(e, x, path, mem, tmp, err);
	berth_arena_reset(mem, mark);
	return st;
}
