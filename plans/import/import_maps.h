/* JSON objects of names and devices, which several programs have. Inside of plans/import. */
#ifndef BERTH_IMPORT_MAPS_H
#define BERTH_IMPORT_MAPS_H

#include "import_reading.h"

/* What such an object looks like. */
typedef enum import_map_kind {
	IMPORT_NO_MAP,    /* no object of words and numbers, or an empty one */
	IMPORT_TORCH_MAP, /* numbers, or words in lower case: "cpu", "disk", "cuda:1" */
	IMPORT_OTHER_MAP  /* words */
} import_map_kind;

/* Fails: BERTH_ENOMEM. */
berth_status import_map_look(const char *text, size_t size, import_map_kind *kind, berth_err *err);

/* A member: the name and the number of its word. */
typedef berth_status import_map_visit(void *ctx, const char *name, int32_t word, berth_err *err);

/* Visit each member of m's text. Fails: BERTH_EFORMAT (no such object; a name that is there twice is none of
 * ours to tell), BERTH_ENOMEM, as visit. */
berth_status import_map_each(berth_import *m, import_map_visit *visit, void *ctx, berth_err *err);

#endif
