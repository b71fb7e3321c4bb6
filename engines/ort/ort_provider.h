/* Execution providers of ONNX Runtime: what a library has by itself, and what libraries of others bring. */
#pragma once

#include "ort_api.h"

#define ORT_CPU_PROVIDER "CPUExecutionProvider"

enum {
	/* The API version of ONNX Runtime 1.25, the first that gives nodes to providers by labels. */
	ORT_PROVIDERS_VERSION = 25,
	ORT_PROVIDER_NAME = 64
};

typedef struct ort_provider {
	char name[ORT_PROVIDER_NAME];
	char id[8];         /* which of several devices, as in the option "device_id"; "": the first */
	const void *device; /* OrtEpDevice; NULL: the CPU's provider, or one that is appended by its name */
	const void *memory; /* of its tensors (OrtMemoryInfo), the CPU's where nothing else is said */
	const char *kind;   /* of its hardware: "cpu", "gpu", "npu"; "": not said */
	bool late;          /* a run whose outputs stay there ends before the device is done */
	char what[160];     /* the device in words; "": not said */
} ort_provider;

/* Does the library give nodes to providers? Call it before the others. Fails: BERTH_EIO (it is too old). */
berth_status ort_providers_open(ort_lib *lib, berth_err *err);

/* Load the library of a provider from a file, or from one beside ONNX Runtime's own. It is code that runs in
 * this process. name: what it is registered as, and mostly called. Fails: BERTH_EIO with the library's
 * message. */
berth_status ort_provider_load(ort_lib *lib, const char *name, const char *path, berth_err *err);

/* The provider of that name, on the first device that it has; "NAME:N": on device N. Fails: BERTH_EIO, with
 * the names of those that are there. */
berth_status ort_provider_find(ort_lib *lib, const char *name, ort_provider *out, berth_err *err);

bool ort_provider_is_cpu(const ort_provider *p);

/* Into the options (OrtSessionOptions) of a session. Fails: BERTH_EFORMAT with the library's message. */
berth_status ort_provider_append(ort_lib *lib, void *options, const ort_provider *p, berth_err *err);

/* A session with its inputs and outputs where its providers want them: runs without copies from and to the
 * CPU. */

typedef struct ort_binding ort_binding; /* OrtIoBinding */

/* A number that goes through the device behind the outputs: whoever waits for it on the CPU waits for all. A
 * model that is bound to a device that is `late` has this input and this output. */
#define ORT_FLAG_IN "berth flag in"
#define ORT_FLAG_OUT "berth flag out"

/* Inputs `in` of the CPU are copied to where they are used; outputs (their names) are made anew in each run,
 * in memory of their own device. flag_at: the memory that the flag goes to, for a device that is late. Fails:
 * BERTH_EFORMAT. */
berth_status ort_bind(ort_lib *lib, ort_session *s, const ort_tensors *in, const ort_tensors *out,
                      const ort_provider *out_at, const void *flag_at, ort_binding **b, berth_err *err);
void ort_bind_free(ort_lib *lib, ort_binding *b);

/* Run, and wait until the device is done. Fails: BERTH_EFORMAT. */
berth_status ort_bind_run(ort_lib *lib, ort_session *s, ort_binding *b, berth_err *err);
