/* What engines do when they are told nothing about devices, where that is known: the defaults that plans are
 * priced beside when they are exported. */
#ifndef BERTH_ENGINE_DEFAULT_H
#define BERTH_ENGINE_DEFAULT_H

#include "exporters.h"

typedef struct berth_engine_default {
	const char *name; /* "ort" */
	const berth_exporter *exporter;
	const char *model;   /* format of the file that its default is known of; NULL: of any graph */
	const char *unknown; /* why it may not be known; a sentence without an end */
} berth_engine_default;

/* Fails: BERTH_EINVAL naming the known ones. */
berth_status berth_engine_default_find(const char *name, const berth_engine_default **out, berth_err *err);

/* op_dev [n_ops] of x, which has a problem. *why NULL, or why it is not known; in mem. mem and tmp are two
 * arenas, tmp reset at exit. Fails: BERTH_ENOMEM, as readers of the model. */
berth_status berth_engine_default_of(const berth_engine_default *e, const berth_export_source *x,
                                     berth_arena *mem, berth_arena *tmp, int32_t *op_dev, const char **why,
                                     berth_err *err);

#endif
