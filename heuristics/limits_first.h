/* What a search under limits starts from. */
#ifndef BERTH_LIMITS_FIRST_H
#define BERTH_LIMITS_FIRST_H

#include "method.h"

/* For each limit in turn, while the incumbent of s breaks it: the method searches for that metric alone,
 * under the limits before it, until a placement keeps the limit. What it finds is offered to s. So what the
 * method finds with this seed and budget for the metric of a limit, it finds under the limit too. The
 * evaluations are of the budget of s; where the first limit needs all of it nothing is left. Nothing is done
 * for methods that do not search, or that do not search for such a metric. tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM, and as the method. */
berth_status berth_limits_first(const berth_method *m, berth_search *s, berth_arena *tmp, berth_err *err);

#endif
