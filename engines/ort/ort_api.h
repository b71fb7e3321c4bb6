/* ONNX Runtime's C API, loaded at run time. The API is a table of functions that only ever grows at its end.
 * The few that the engine calls are named here by their places in the table, so that building needs no header
 * of the library. The places are those of include/onnxruntime/core/session/onnxruntime_c_api.h, from API
 * version 1 on. */
#pragma once

#include "arena.h"

typedef struct ort_lib ort_lib;
typedef struct ort_session ort_session; /* OrtSession */
typedef struct ort_value ort_value;     /* OrtValue */

enum { ORT_MAX_RANK = 16 };

/* Optimisation levels of a session. */
enum { ORT_PLAIN = 0, ORT_BASIC = 1, ORT_EXTENDED = 2, ORT_ALL = 99 };

/* What a tensor is. */
typedef struct ort_shape {
	int32_t elem, rank; /* TensorProto.DataType */
	int64_t dim[ORT_MAX_RANK];
	size_t bytes;
} ort_shape;

/* Load the library from path. NULL: the first of $BERTH_ORT_LIBRARY, the program's own folder, the user's
 * cache folder of `scripts/setup engine`, and the system. Fails: BERTH_EIO, saying what brings it;
 * BERTH_ENOMEM. */
berth_status ort_open(const char *path, berth_arena *mem, ort_lib **out, berth_err *err);
const char *ort_version(const ort_lib *lib);
/* OrtMemoryInfo of the CPU. */
const void *ort_cpu_memory(const ort_lib *lib);

typedef struct ort_session_cfg {
	int threads;               /* 0: the library's own choice */
	int at_once;               /* operators, in the parallel mode; 0: the sequential one */
	int level;
	/* Beginning of the path of a file: each run leaves the times of its kernels there. They are written
	 * when the session is freed, or by ort_session_end_profile. NULL: none. */
	const char *profile;
	const char *optimised;     /* where the model is written as it is run; NULL: nowhere */
	const char *const *config; /* keys and values of the configuration in turn, then NULL; NULL: none */
	/* [n_providers] before the CPU's, which every session has (ort_provider.h) */
	const struct ort_provider *const *provider;
	int32_t n_providers;
} ort_session_cfg;

/* A session of the model in data[size]. Fails: BERTH_EFORMAT with the library's message. */
berth_status ort_session_new(ort_lib *lib, const void *data, size_t size, const ort_session_cfg *cfg,
                             ort_session **out, berth_err *err);
/* Profile no longer. path: the file that was written, in mem. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status ort_session_end_profile(ort_lib *lib, ort_session *s, berth_arena *mem, const char **path,
                                     berth_err *err);
void ort_session_free(ort_lib *lib, ort_session *s);

/* A tensor over memory of the caller. */
berth_status ort_value_over(ort_lib *lib, void *data, const ort_shape *shape, ort_value **out,
                            berth_err *err);
void ort_value_free(ort_lib *lib, ort_value *v);
/* Fails: BERTH_EFORMAT where it is no tensor of numbers. */
berth_status ort_value_look(ort_lib *lib, ort_value *v, ort_shape *shape, void **data, berth_err *err);

/* Inputs or outputs of a session by their names, which are borrowed. */
typedef struct ort_tensors {
	int32_t n;
	const char **name; /* [n] */
	ort_value **value; /* [n] NULL: of an output, the library makes it */
} ort_tensors;

/* None yet, with room for so many in mem. Fails: BERTH_ENOMEM. */
berth_status ort_tensors_new(berth_arena *mem, size_t most, ort_tensors *out, berth_err *err);
/* Add one over memory of the caller. */
berth_status ort_tensors_add(ort_lib *lib, ort_tensors *t, const char *name, void *data,
                             const ort_shape *shape, berth_err *err);
/* Free the values. The names and the room stay. */
void ort_tensors_free(ort_lib *lib, ort_tensors *t);

/* Thread-safe. Fails: BERTH_EFORMAT. */
berth_status ort_run(ort_lib *lib, ort_session *s, const ort_tensors *in, const ort_tensors *out,
                     berth_err *err);

/* Bytes of an element. 0: it has no fixed size. */
size_t ort_elem_bytes(int32_t elem);
