/* A simulated timeline in the trace event format of Chrome, which Perfetto and chrome://tracing show. */
#ifndef BERTH_TRACE_H
#define BERTH_TRACE_H

#include "timeline.h"

/* Two processes, devices and channels; one thread a device slot and a channel (more, where transfers overlap
 * without contention). Operators and hops are complete events; ts and dur are microseconds with three
 * decimals. t->r.runs must hold. Text in mem; tmp is scratch, another arena, reset at exit. Fails:
 * BERTH_ENOMEM. O((ops + hops) log). */
berth_status berth_trace_write(const berth_problem *p, const berth_timeline *t, berth_arena *mem,
                               berth_arena *tmp, const char **text, size_t *len, berth_err *err);

#endif
