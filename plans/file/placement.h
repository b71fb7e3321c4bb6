/* A placement as a file: which device runs which operator, where it came from and what it was worth
 * (berth-placement version 1). */
#pragma once

#include "graph.h"
#include "system.h"

/* Strings and arrays belong to the arena that it was made in, or to the caller where the caller sets them. */
typedef struct berth_placement {
	const char *graph_name, *graph_sha256;   /* NULL: not said */
	const char **graph_word;                 /* [n_graph_words] KEY=VALUE that its model was read with */
	int32_t n_graph_words;
	const char *system_name, *system_sha256; /* NULL: not said */
	const char **system_word;                /* [n_system_words] KEY=VALUE, as berth_system's */
	int32_t n_system_words;
	const char *method, *objective;          /* NULL: not said */
	const char *engine;                      /* that it is for (engine_rules.h); NULL: none */
	const char *use; /* of a language model, as it was weighed (uses.h); NULL: a graph of one use */
	uint64_t seed;                           /* at most 2^53 in a file, as JSON numbers are */
	int64_t evaluations;
	double value, lower_bound; /* NAN: null */
	int compress;              /* tensors went packed to a part of so much (system_change.h); 0: not */
	int32_t *op_dev;           /* [n_ops] */
	/* [n_ops] operators in a topological order that each device keeps to; NULL: none is given */
	int32_t *order;
} berth_placement;

/* An empty placement of g on s: names and digests filled in, op_dev all 0, values NAN, no order.
 *   tmp   scratch, reset at exit; another arena than mem
 * Fails: BERTH_ENOMEM. */
berth_status berth_placement_new(const berth_graph *g, const berth_system *s, berth_arena *mem,
                                 berth_arena *tmp, berth_placement *out, berth_err *err);

/* Does every operator stand on a device of s, and is the order, if any, a topological permutation of the
 * operators? Pins, memory and what a device can run are the simulator's to judge. tmp as above.
 * Fails: BERTH_EFORMAT naming the first offending operator; BERTH_ENOMEM. O(ops + edges). */
berth_status berth_placement_check(const berth_placement *p, const berth_graph *g, const berth_system *s,
                                   berth_arena *tmp, berth_err *err);

/* Placement of g on s from JSON text. Only "placement" is required; format and version are checked where they
 * stand.
 *   file      the name shown in messages
 *   tmp       as above
 *   warning   may be NULL; set to NULL, or to a text in mem: the placement was made for another graph or
 *             system, or for tensors that go packed in another way
 * Fails: BERTH_EFORMAT (line:column or JSON pointer; unknown words with the nearest one), BERTH_ENOMEM. out
 * is untouched then. */
berth_status berth_placement_parse_json(const char *file, const char *text, size_t size, const berth_graph *g,
                                        const berth_system *s, berth_arena *mem, berth_arena *tmp,
                                        berth_placement *out, const char **warning, berth_err *err);

/* The same from the file at path. Fails: BERTH_EIO too. */
berth_status berth_placement_read(const char *path, const berth_graph *g, const berth_system *s,
                                  berth_arena *mem, berth_arena *tmp, berth_placement *out,
                                  const char **warning, berth_err *err);

/* Canonical JSON of a checked placement. Keys stand in the order of the format's documentation, operators in
 * that of the graph. What is not said is left out. pretty breaks lines.
 * Fails: BERTH_EINVAL (seed or evaluations not in 0 to 2^53), BERTH_ENOMEM. */
berth_status berth_placement_write_json(const berth_placement *p, const berth_graph *g, const berth_system *s,
                                        bool pretty, berth_arena *mem, const char **text, size_t *len,
                                        berth_err *err);

/* The same, with line breaks, to the file at path (berth_file_write_told). It is never in memory as a whole.
 * tmp is scratch, reset at exit. Fails: BERTH_EIO too. */
berth_status berth_placement_write(const berth_placement *p, const berth_graph *g, const berth_system *s,
                                   const char *path, bool wait, berth_arena *tmp, berth_err *err);
