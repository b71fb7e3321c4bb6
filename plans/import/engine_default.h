/* What engines do when they are told nothing about devices, where that is known: the defaults that plans are
 * priced beside when they are exported. */
#pragma once

#include "exporters.h"

typedef struct berth_engine_default {
	const char *name; /* "ort" */
	const berth_exporter *exporter;
	const char *format[3]; /* of the files that it runs, up to NULL; berth's own graph may be of one */
	bool reads;            /* its default is told of the file itself, not of the graph alone */
	const char *unknown;   /* why it may not be known; a sentence without an end */
} berth_engine_default;

/* Fails: BERTH_EINVAL naming the known ones. */
berth_status berth_engine_default_find(const char *name, const berth_engine_default **out, berth_err *err);

/* Does it run models of the format (of a read report)? NULL, a built-in model: where it need not read. */
bool berth_engine_default_runs(const berth_engine_default *e, const char *format);

/* op_dev [n_ops] of x, which has a problem, and a model that e runs where it reads it. *why NULL, or why it
 * is not known. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM, as readers of the model. */
berth_status berth_engine_default_of(const berth_engine_default *e, const berth_export_source *x,
                                     berth_arena *tmp, int32_t *op_dev, const char **why, berth_err *err);
