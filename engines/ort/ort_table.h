/* The table of functions of ONNX Runtime. Inside of the engine. */
#pragma once

#include "ort_api.h"

/* Places in the table. API_VERSION has all up to ADD_CONFIG_ENTRY, ORT_PROVIDERS_VERSION (ort_provider.h)
 * all.
 */
enum {
	API_VERSION = 5,
	GET_ERROR_MESSAGE = 2,
	CREATE_ENV = 3,
	CREATE_SESSION_FROM_ARRAY = 8,
	RUN = 9,
	CREATE_SESSION_OPTIONS = 10,
	SET_OPTIMIZED_PATH = 11,
	SET_EXECUTION_MODE = 13,
	ENABLE_PROFILING = 14,
	SET_OPTIMIZATION_LEVEL = 23,
	SET_INTRA_OP_THREADS = 24,
	SET_INTER_OP_THREADS = 25,
	CREATE_TENSOR_OVER = 49,
	IS_TENSOR = 50,
	GET_TENSOR_DATA = 51,
	GET_ELEMENT_TYPE = 60,
	GET_RANK = 61,
	GET_DIMENSIONS = 62,
	GET_TYPE_AND_SHAPE = 65,
	CREATE_MEMORY = 68,
	CREATE_CPU_MEMORY = 69,
	ALLOCATOR_FREE = 76,
	GET_ALLOCATOR = 78,
	RELEASE_STATUS = 93,
	RELEASE_SESSION = 95,
	RELEASE_VALUE = 96,
	RELEASE_TYPE_AND_SHAPE = 99,
	RELEASE_SESSION_OPTIONS = 100,
	END_PROFILING = 110,
	GET_AVAILABLE_PROVIDERS = 125,
	RELEASE_AVAILABLE_PROVIDERS = 126,
	ADD_CONFIG_ENTRY = 130,
	RUN_BOUND = 133,
	CREATE_BINDING = 134,
	RELEASE_BINDING = 135,
	BIND_INPUT = 136,
	BIND_OUTPUT_TO = 138,
	SYNCHRONIZE_INPUTS = 202,
	SYNCHRONIZE_OUTPUTS = 203,
	APPEND_CUDA = 204,
	CREATE_CUDA_OPTIONS = 205,
	UPDATE_CUDA_OPTIONS = 206,
	RELEASE_CUDA_OPTIONS = 208,
	APPEND_BY_NAME = 216,
	REGISTER_LIBRARY = 301,
	GET_DEVICES = 303,
	APPEND_DEVICE = 304,
	HARDWARE_TYPE = 307,
	HARDWARE_VENDOR_ID = 308,
	HARDWARE_DEVICE_ID = 310,
	DEVICE_PROVIDER = 312,
	DEVICE_VENDOR = 313,
	DEVICE_HARDWARE = 316,
	DEVICE_MEMORY = 374
};

typedef void (*ort_place)(void);

typedef struct ort_base {
	const void *(*get_api)(uint32_t version);
	const char *(*version)(void);
} ort_base;

struct ort_lib {
	const ort_base *base;
	const ort_place *api;
	const char *version;
	void *env, *memory;
};

typedef void *ort_status; /* OrtStatus *, NULL: success */

/* ORT(lib, what, err, PLACE, (types), arguments...): a call that may fail, what stands before the message. */
#define ORT(lib, what, err, at, types, ...) \
	ort_check(lib, ((ort_status(*) types)(lib)->api[at])(__VA_ARGS__), what, err)
#define RELEASE(lib, at, x) (((void (*)(void *))(lib)->api[at])(x))

/* BERTH_EFORMAT with the library's message behind `what`, where s is an error. It is released. */
berth_status ort_check(const ort_lib *lib, ort_status s, const char *what, berth_err *err);
