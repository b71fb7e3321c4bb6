/* Methods by their names: berth's own, and users' from shared objects (berth_own_method of berth.h). */
#pragma once

#include "method.h"

/* The method called name, in mem; one with a '/' is a shared object, which is tried in a process of its own.
 * Fails: BERTH_EINVAL (no such method, naming the nearest; a table of another version; it crashes when it is
 * loaded), BERTH_EIO (the file cannot be loaded or has no table), BERTH_ELIMIT (loading does not end),
 * BERTH_ENOMEM. */
berth_status berth_method_named(const char *name, berth_arena *mem, const berth_method **out, berth_err *err);

/* Of berth_own_method, that this berth knows. */
int32_t berth_own_method_version(void);
