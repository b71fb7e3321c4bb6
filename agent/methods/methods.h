/* All placement methods: those of heuristics/ and the learned ones. */
#ifndef BERTH_METHODS_H
#define BERTH_METHODS_H

#include "method.h"

/* Number of methods, and one of them: heuristics first, in the order of their table. */
int32_t berth_n_methods(void);
const berth_method *berth_method_at(int32_t i);

/* The method called name. Fails: BERTH_EINVAL, naming the nearest one. */
berth_status berth_method_find(const char *name, const berth_method **out, berth_err *err);

/* What place uses where none is named: `berth`. */
const berth_method *berth_method_default(void);

#endif
