/* Files of ONNX Runtime's profiler: which kernels ran, where and when. */
#pragma once

#include "arena.h"
#include "ort_model.h"

enum { KERNEL_FOLDER = 1024 };

typedef struct kernel_time {
	const char *name;      /* what the library calls it: mostly its node */
	const char *type;      /* operator type of the kernel; "": not said */
	const char *provider;  /* "": not said */
	double at_us, took_us; /* from the start of the run */
} kernel_time;

/* Kernels of the latest run in the file, in its order, which is by their ends. */
typedef struct kernel_times {
	int32_t n;
	kernel_time *kernel;
	double took_us; /* the run */
} kernel_times;

/* A folder for such files. folder is empty where it fails: BERTH_EIO. */
berth_status kernel_folder_new(char folder[KERNEL_FOLDER], berth_err *err);
/* The file that the profiler has made of the path FOLDER/HEAD: it adds the date. Fails: BERTH_EIO. */
berth_status kernel_folder_find(const char *folder, const char *head, char *path, size_t size,
                                berth_err *err);
void kernel_folder_remove(const char *folder);

/* Everything lives in mem. n = 0: no run is in it. Fails: BERTH_EIO, BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status kernel_times_read(const char *path, berth_arena *mem, kernel_times *out, berth_err *err);

/* A kernel of a run, or an operator that ran in another's. */
typedef struct kernel_run {
	int32_t op;         /* -1: it belongs to no operator (a copy, a layout that is changed) */
	int32_t in;         /* the operator in whose kernel this one ran (fused); -1: its own */
	int32_t dev;        /* where it ran */
	const char *kernel; /* what the library calls it */
	double from, to;    /* from the start of the run: seconds, or parts of it */
} kernel_run;

/* In whose kernel an operator ran that has none of its own: ONNX Runtime has fused it. */

typedef struct fused_hosts {
	const ort_model *m;
	int32_t *user;       /* [n_ops] the first operator that takes what it makes; -1: none */
	const char **kernel; /* [n_ops] type of its own kernel; NULL: none. Filled by the caller. */
} fused_hosts;

/* Everything lives in mem. Fails: BERTH_ENOMEM. */
berth_status fused_hosts_new(const ort_model *m, berth_arena *mem, fused_hosts *out, berth_err *err);

/* -1: there is none: it was folded away. */
int32_t fused_host(const fused_hosts *f, int32_t op);
