/* What engines chose, read back into placements: profiles, logs and maps of other programs. One table of
 * readers, which tell words for devices operator by operator; what the words mean, and where operators stand
 * that no word was told of, is the same for all. Files are strangers' bytes. */
#pragma once

#include "graph_format.h"
#include "system.h"

/* What there is to read; all borrowed. */
typedef struct berth_import_source {
	const char *file; /* shown in messages */
	const char *text; /* [size] */
	size_t size;
	const berth_graph *g;
	const berth_system *s;
	const char *const *theirs;  /* [n_devs] what the file calls the devices, where it was told; NULL */
	const berth_content *model; /* the file that g was read from; NULL: none (the zoo) */
	const berth_read_options *read; /* how g was read from model; NULL: by the defaults */
} berth_import_source;

/* A word for a device. */
typedef struct berth_import_device {
	const char *word; /* as the file has it */
	int32_t dev;
	int32_t n_ops; /* operators that the file tells to be there */
	bool guessed;  /* the word is no name of the system and was not told: it is what engines mean by it */
} berth_import_device;

/* Strings and arrays live in the arena that it was read into. */
typedef struct berth_import_plan {
	const char *from; /* the reader's name */
	int32_t *op_dev;  /* [n_ops] */
	int32_t n_named;  /* operators that the file tells of */
	/* The others: fused with a neighbour by the engine, by what the engine is known to fuse; beside what
	 * makes their first input; beside what takes their output; alone, where most operators are. */
	int32_t n_fused, n_producer, n_taker, n_alone;
	int32_t n_unknown;   /* names of the file that are none of the graph (an engine's own operators) */
	const char *unknown; /* the first of them; NULL: none */
	berth_import_device *device; /* [n_devices] in the order of the file */
	int32_t n_devices;
	const char *note; /* of the reader; NULL: nothing to say */
} berth_import_plan;

typedef struct berth_import berth_import; /* import_reading.h */

typedef struct berth_importer {
	const char *name;  /* "ort" */
	const char *about; /* what it reads */
	/* Is text[size] of this kind, by its content? Fails: BERTH_ENOMEM. */
	berth_status (*is)(const char *text, size_t size, bool *found, berth_err *err);
	/* Tell what the file says (berth_import_tell). tmp is scratch, reset by the caller. Fails:
	 * BERTH_EFORMAT, BERTH_ENOMEM. */
	berth_status (*read)(berth_import *m, berth_arena *tmp, berth_err *err);
	bool fuses; /* the engine makes one operator of each kernel (BERTH_GRAIN_KERNEL) */
} berth_importer;

/* A new importer is a file that defines berth_import_NAME, and a line here. Those whose `is` takes less stand
 * first. */
#define BERTH_IMPORTERS(X)                                                                                   \
	X(ort)                                                                                               \
	X(llama)                                                                                             \
	X(accelerate)                                                                                        \
	X(openvino)                                                                                          \
	X(csv)

#define BERTH_DECLARE_IMPORTER(name) extern const berth_importer berth_import_##name;
BERTH_IMPORTERS(BERTH_DECLARE_IMPORTER)

/* All of them. */
extern const berth_importer *const berth_importers[];
extern const int32_t berth_n_importers;

/* Read x, which is what its content says. mem holds out, tmp is scratch, another arena, reset at exit.
 * Together they take at most 4 * size + 16 MB beside what the model takes to read. Fails: BERTH_EINVAL (a
 * word for two devices, or one that the file does not name), BERTH_EFORMAT (line or pointer; a device or an
 * operator that is not there, with the nearest; two of the engine's devices on one), BERTH_ENOMEM. O(size +
 * ops + edges). */
berth_status berth_import_read(const berth_import_source *x, berth_arena *mem, berth_arena *tmp,
                               berth_import_plan *out, berth_err *err);

/* The same in a sandbox: text and model are looked at in there alone. Fails: berth_sandbox_run too. */
berth_status berth_import_read_apart(const berth_import_source *x, const berth_sandbox *sandbox,
                                     berth_arena *mem, berth_arena *tmp, berth_import_plan *out,
                                     berth_err *err);

/* Is more than half of g not named, by a file of a kind that names what it places? An engine that fuses
 * operators names few of them. */
bool berth_import_is_partial(const berth_import_plan *plan, const berth_graph *g);
