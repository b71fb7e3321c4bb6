/* Names that an export writes: what the target calls devices, and names that must stand once. Inside of
 * plans/export. */
#ifndef BERTH_EXPORT_NAMES_H
#define BERTH_EXPORT_NAMES_H

#include "exporters.h"

/* What a target usually calls devices whose kind or name begins so. A list ends with NULL. */
typedef struct berth_export_word {
	const char *begins, *theirs;
} berth_export_word;

/* theirs [n_devs], NULL for devices that the plan does not use: what --device told, else the first usual word
 * that fits, which is noted. what: a word for one of them, for messages. Fails: BERTH_EINVAL (a device
 * without a name), BERTH_EUNSUPPORTED (two devices of one name, unless --device says so), BERTH_ENOMEM. */
berth_status berth_export_theirs(const berth_export_source *x, const berth_export_word *usual,
                                 const char *what, const char **theirs, berth_export_out *out,
                                 berth_err *err);

/* told [n_devs]: what --device told, and for GPUs that it told nothing of `before` with the numbers that are
 * free, in the order of the system. Texts live in mem. Fails: BERTH_ENOMEM. */
berth_status berth_export_number_gpus(const berth_export_source *x, const char *before, const char **told,
                                      berth_arena *mem, berth_err *err);

/* Does a name or kind begin with the text? */
bool berth_export_begins(const char *text, const char *with);

#endif
