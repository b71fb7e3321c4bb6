/* ONNX Runtime's interface for execution providers in libraries of their own, as far as the provider "second"
 * needs it, by places in its tables of functions: no header of the library is needed. Places are those of
 * onnxruntime_c_api.h (API version 23) and onnxruntime_ep_c_api.h (version 24, the first with kernels). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLUGIN_API_VERSION = 24 };

/* Places in the table of the library (OrtApi). */
enum {
	CREATE_STATUS = 0,
	CREATE_ENV = 3,
	CREATE_SESSION_FROM_ARRAY = 8,
	RUN = 9,
	CREATE_SESSION_OPTIONS = 10,
	SET_OPTIMIZATION_LEVEL = 23,
	SET_INTRA_OP_THREADS = 24,
	CREATE_TENSOR_OVER = 49,
	GET_TENSOR_DATA = 51,
	CAST_TO_TENSOR_INFO = 55,
	GET_ELEMENT_TYPE = 60,
	GET_RANK = 61,
	GET_DIMENSIONS = 62,
	GET_TYPE_AND_SHAPE = 65,
	CREATE_CPU_MEMORY = 69,
	KERNEL_INPUT_COUNT = 88,
	KERNEL_OUTPUT_COUNT = 89,
	KERNEL_INPUT = 90,
	KERNEL_OUTPUT = 91,
	RELEASE_STATUS = 93,
	RELEASE_MEMORY_INFO = 94,
	RELEASE_VALUE = 96,
	RELEASE_TYPE_AND_SHAPE = 99,
	RELEASE_SESSION_OPTIONS = 100,
	KERNEL_NODE_NAME = 244,
	READ_ATTRIBUTE = 272,
	VALUE_NAME = 289,
	VALUE_TYPE = 290,
	HARDWARE_TYPE = 307,
	GET_EP_API = 317,
	TENSOR_BYTES = 318,
	CREATE_MEMORY_INFO = 320,
	GRAPH_NODE_COUNT = 344,
	GRAPH_NODES = 345,
	NODE_NAME = 349,
	NODE_TYPE = 350,
	NODE_DOMAIN = 351,
	NODE_SINCE = 352,
	NODE_INPUT_COUNT = 353,
	NODE_INPUTS = 354,
	NODE_OUTPUT_COUNT = 355,
	NODE_OUTPUTS = 356,
	NODE_ATTRIBUTE_COUNT = 359,
	NODE_ATTRIBUTES = 360,
	ATTRIBUTE_TENSOR = 362,
	ATTRIBUTE_TYPE = 363,
	ATTRIBUTE_NAME = 364,
	NODE_BODY_COUNT = 365
};

/* Places in the table for providers (OrtEpApi). */
enum {
	EP_CREATE_DEVICE = 0,
	EP_ADD_NODE = 3,
	EP_ADD_ALLOCATOR = 5,
	EP_MEMORY_DEVICE_OF = 7,
	EP_MEMORY_DEVICE_TYPE = 9,
	EP_MEMORY_VENDOR = 11,
	EP_CREATE_REGISTRY = 18,
	EP_RELEASE_REGISTRY = 19,
	EP_ADD_KERNEL = 20,
	EP_CREATE_KERNEL_DEF = 21,
	EP_RELEASE_KERNEL_DEF_BUILDER = 22,
	EP_KERNEL_TYPE = 23,
	EP_KERNEL_DOMAIN = 24,
	EP_KERNEL_SINCE = 25,
	EP_KERNEL_PROVIDER = 26,
	EP_KERNEL_INPUT_MEMORY = 27,
	EP_KERNEL_OUTPUT_MEMORY = 28,
	EP_BUILD_KERNEL_DEF = 32,
	EP_RELEASE_KERNEL_DEF = 33,
	EP_FIND_KERNEL = 41
};

/* Kinds of memory of a kernel's inputs and outputs, of a device, of attributes. */
enum { MEMORY_CPU_INPUT = -2, MEMORY_CPU_OUTPUT = -1 };
enum { DEVICE_CPU = 0, DEVICE_GPU = 1 };
enum { ATTR_INT = 1, ATTR_INTS, ATTR_FLOAT, ATTR_FLOATS, ATTR_STRING, ATTR_STRINGS, ATTR_GRAPH, ATTR_TENSOR };

typedef void *plugin_status; /* OrtStatus *, NULL: success */
typedef void (*plugin_place)(void);

/* CALL(table, PLACE, result, (types), arguments...) */
#define CALL(table, at, result, types, ...) (((result(*) types)(table)[at])(__VA_ARGS__))
/* A call that gives a status, which is handed on where it is none. */
#define TRY(status)                                                                                          \
	do {                                                                                                 \
		plugin_status try_status = (status);                                                         \
		if (try_status)                                                                              \
			return try_status;                                                                   \
	} while (0)

/* Tables that the library calls. Members that are not set are not there. `spare` is for later versions. */
typedef struct plugin_allocator { /* OrtAllocator */
	uint32_t version;
	void *(*alloc)(struct plugin_allocator *a, size_t size);
	void (*free)(struct plugin_allocator *a, void *p);
	const void *(*info)(const struct plugin_allocator *a);
	void *(*reserve)(struct plugin_allocator *a, size_t size);
	void *spare[6];
} plugin_allocator;

typedef struct plugin_transfer { /* OrtDataTransferImpl */
	uint32_t version;
	void (*release)(struct plugin_transfer *t);
	bool (*can_copy)(const struct plugin_transfer *t, const void *from, const void *to);
	plugin_status (*copy)(struct plugin_transfer *t, const void **from, void **to, void **streams,
	                      size_t n);
} plugin_transfer;

typedef struct plugin_kernel { /* OrtKernelImpl */
	uint32_t version, flags;
	plugin_status (*compute)(struct plugin_kernel *k, void *context);
	void (*release)(struct plugin_kernel *k);
	void *spare[6];
} plugin_kernel;

typedef struct plugin_provider { /* OrtEp */
	uint32_t version;
	const char *(*name)(const struct plugin_provider *p);
	plugin_status (*capability)(struct plugin_provider *p, const void *graph, void *support);
	void *unused[10];
	plugin_status (*registry)(struct plugin_provider *p, const void **registry);
	void *spare[16];
} plugin_provider;

typedef struct plugin_factory { /* OrtEpFactory */
	uint32_t version;
	const char *(*name)(const struct plugin_factory *f);
	const char *(*vendor)(const struct plugin_factory *f);
	plugin_status (*devices)(struct plugin_factory *f, const void *const *hardware, size_t n, void **out,
	                         size_t most, size_t *n_out);
	plugin_status (*create)(struct plugin_factory *f, const void *const *hardware,
	                        const void *const *metadata, size_t n, const void *options,
	                        const void *logger, plugin_provider **out);
	void (*release)(struct plugin_factory *f, plugin_provider *p);
	uint32_t (*vendor_id)(const struct plugin_factory *f);
	const char *(*release_name)(const struct plugin_factory *f);
	void *unused;
	plugin_status (*create_allocator)(struct plugin_factory *f, const void *memory, const void *options,
	                                  plugin_allocator **out);
	void (*release_allocator)(struct plugin_factory *f, plugin_allocator *a);
	plugin_status (*create_transfer)(struct plugin_factory *f, plugin_transfer **out);
	bool (*uses_streams)(const struct plugin_factory *f);
	void *spare[16];
} plugin_factory;

typedef struct plugin_base { /* OrtApiBase */
	const plugin_place *(*get_api)(uint32_t version);
	const char *(*version)(void);
} plugin_base;
