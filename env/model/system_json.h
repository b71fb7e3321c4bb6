/* berth-system version 1, in and out. */
#pragma once

#include "json.h"
#include "system.h"

/* System from JSON text.
 *   file   the name shown in messages
 *   tmp    scratch, reset at exit; another arena than mem
 * Fails: BERTH_EFORMAT (line:column or JSON pointer), BERTH_ENOMEM. out is untouched then. */
berth_status berth_system_parse_json(const char *file, const char *text, size_t size, berth_arena *mem,
                                     berth_arena *tmp, berth_system *out, berth_err *err);

/* Canonical JSON of a checked system. Keys stand in the order of the format's documentation. Defaults are
 * left out, except "memory_bytes":null. Two neighbouring links of a pair that a "both_ways" can say are one
 * entry. It reads back to an equal struct. pretty breaks lines. Fails: BERTH_ENOMEM. */
berth_status berth_system_write_json(const berth_system *s, bool pretty, berth_arena *mem, const char **text,
                                     size_t *len, berth_err *err);

/* SHA-256 of the canonical JSON without line breaks. */
berth_status berth_system_sha256(const berth_system *s, berth_arena *tmp, char hex[65], berth_err *err);
