/* What graphs, placements and simulations are written as for other programs. */
#ifndef BERTH_EXPORTERS_H
#define BERTH_EXPORTERS_H

#include "timeline.h"

/* What an exporter must be given. */
typedef enum berth_export_needs {
	BERTH_EXPORT_GRAPH,     /* the graph; a system and a placement add to what is written */
	BERTH_EXPORT_PLACEMENT, /* also a system and a placement */
	BERTH_EXPORT_TIMELINE   /* also a simulation that runs */
} berth_export_needs;

/* What there is to write; all borrowed. */
typedef struct berth_export_source {
	const berth_graph *g;
	const berth_system *s;    /* NULL: none */
	const int32_t *op_dev;    /* [n_ops] devices of s; NULL: none */
	const berth_problem *p;   /* of g and s; NULL: none */
	const berth_timeline *t;  /* of p and op_dev; NULL: none */
} berth_export_source;

typedef struct berth_exporter {
	const char *name;   /* "dot" */
	const char *about;  /* one sentence */
	const char *suffix; /* of its files, with the dot */
	berth_export_needs needs;
	/* The file as text[len] in mem. tmp is scratch, another arena, reset at exit. Fails: BERTH_ENOMEM. */
	berth_status (*write)(const berth_export_source *x, berth_arena *mem, berth_arena *tmp,
	                      const char **text, size_t *len, berth_err *err);
} berth_exporter;

/* A new exporter is a file that defines berth_export_NAME, and a line here. */
#define BERTH_EXPORTERS(X) \
	X(dot) \
	X(trace)

#define BERTH_DECLARE_EXPORTER(name) extern const berth_exporter berth_export_##name;
BERTH_EXPORTERS(BERTH_DECLARE_EXPORTER)

/* All of them. */
extern const berth_exporter *const berth_exporters[];
extern const int32_t berth_n_exporters;

/* Fails: BERTH_EINVAL naming the known ones. */
berth_status berth_exporter_find(const char *name, const berth_exporter **out, berth_err *err);

/* Write x to the file at path ("-": standard output) by the exporter of that name. mem and tmp are scratch,
 * two arenas, reset at exit. Fails: BERTH_EINVAL (no such exporter, or it needs more than there is),
 * BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_export(const char *name, const berth_export_source *x, const char *path, berth_arena *mem,
                          berth_arena *tmp, berth_err *err);

#endif
