/* berth-system version 1, in and out. */
#ifndef BERTH_SYSTEM_JSON_H
#define BERTH_SYSTEM_JSON_H

#include "json.h"
#include "system.h"

/* System from JSON text; file is the name shown in messages. tmp is scratch, reset at exit; it must be
 * another arena than mem. out is untouched on failure. Fails: BERTH_EFORMAT (line:column or JSON pointer),
 * BERTH_ENOMEM. */
berth_status berth_system_parse_json(const char *file, const char *text, size_t size, berth_arena *mem,
                                     berth_arena *tmp, berth_system *out, berth_err *err);

/* Canonical JSON of a checked system: keys in the order of the format's documentation, defaults left out
 * except "memory_bytes":null; two neighbouring links of a pair that a "both_ways" can say are one entry.
 * Reads back to an equal struct. pretty breaks lines. */
berth_status berth_system_write_json(const berth_system *s, bool pretty, berth_arena *mem, const char **text,
                                     size_t *len, berth_err *err);

/* SHA-256 of the canonical JSON without line breaks. */
berth_status berth_system_sha256(const berth_system *s, berth_arena *tmp, char hex[65], berth_err *err);

#endif
