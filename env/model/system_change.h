/* Another machine: a system with devices and links added and removed, and figures changed. */
#ifndef BERTH_SYSTEM_CHANGE_H
#define BERTH_SYSTEM_CHANGE_H

#include "system.h"

/* Apply changes to a copy of s, one after the other, with commas between them. "" is none. A change is one of
 *
 *   NAME.KEY=VALUE        a figure (system_set.h)
 *   -DEVICE               without the device, and without its links
 *   -FROM->TO             without that link; -A:B: without those of both ways
 *   -SHARED               without the links that share that channel
 *   +NEW=like:DEVICE      one more device, of the same kind, with links to where DEVICE has some. A shared
 *                         channel that only links of DEVICE use gets a copy, NEW.SHARED
 *   +FROM->TO=VALUE       one more link; +A:B: both ways. VALUE is a bandwidth, with a unit or in bytes/s,
 * and behind an @ perhaps a latency (12GB/s@5us); or like:LINK
 *
 * The result lives in mem. tmp is scratch, another arena, reset at exit. Fails: BERTH_EINVAL (a change that
 * is none; an unknown name, naming the nearest; what results is no system), BERTH_ENOMEM. out is untouched
 * then. */
berth_status berth_system_change(const berth_system *s, const char *changes, berth_arena *mem,
                                 berth_arena *tmp, berth_system *out, berth_err *err);

#endif
