/* The program of an engine, from what a user calls it. */
#ifndef BERTH_ENGINE_FIND_H
#define BERTH_ENGINE_FIND_H

#include "engine_client.h"

/* Words of text as a command line, parted by blanks; quotes are not looked at. A first word without a '/' is
 * a name: it stands for the program berth-engine-NAME beside this one or in PATH.
 *   out   name and argv are set, in mem
 * Fails: BERTH_EIO (no such engine, with what brings it), BERTH_EINVAL (no word, or too many), BERTH_ENOMEM.
 */
berth_status berth_engine_find(const char *text, berth_arena *mem, berth_engine_cfg *out, berth_err *err);

#endif
