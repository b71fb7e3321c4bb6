/* A placement made ready to run. The operators of a device, in the order given, are cut into segments. A
 * segment is the longest run of them in which only the first waits for a tensor from another device and
 * only the last sends one. So no operator waits for what it does not need, and none sends later than it
 * could. The segments run as the operators would one by one. Each segment is one session of the library.
 * The tensors between segments are buffers. */
#pragma once

#include "exec.h"
#include "ort_model.h"

typedef struct ort_device {
	char name[32];
	int32_t core;
	/* Of a core, (0, 1]. After each segment the worker rests until its share is used up. */
	double speed, start_speed; /* now; at the start */
} ort_device;

typedef struct ort_device_list {
	int32_t n;
	ort_device dev[EXEC_MAX_WORKERS];
} ort_device_list;

/* NAME[=SPEED],... of an option, which messages name; cores are left open. Fails: BERTH_EINVAL. */
berth_status ort_devices_read(const char *text, const char *option, ort_device_list *out, berth_err *err);

/* Whose time counts. On the CPU's clock a segment lasts as long as it used a core, over the speed of its
 * device. The run is put together from that. It is what the same run would take on a quiet machine whose
 * workers hand over at once. No worker rests then. */
typedef enum ort_clock { ORT_CLOCK_WALL, ORT_CLOCK_CPU } ort_clock;

/* Of a segment's latest run, from its beginning. */
typedef struct ort_times {
	double start_s, end_s, cpu_s;
	double work_s;      /* end - start without the rest */
	berth_status st;    /* BERTH_OK: it ran */
} ort_times;

typedef struct ort_segment {
	struct ort_plan *plan;
	int32_t dev, n_ops;
	int32_t *op;        /* in order */
	ort_session *session; /* NULL where nobody takes what the operators make: nothing is run, in.n is 0 */
	ort_tensors in, out;
	int32_t *in_buffer, *out_buffer; /* [in.n], [out.n] */
	ort_times ran;
	berth_err err;      /* why it did not run */
} ort_segment;

typedef struct ort_plan {
	ort_model *m;
	const ort_device *dev;
	ort_clock clock;
	const char *profile; /* folder for the times of kernels, segment by segment; NULL: none */
	int32_t self;        /* the device whose segments are run in this process; ORT_ALL_DEVICES */
	berth_arena mem;
	int32_t *placement, *order; /* [n_ops] what it is for */
	int32_t n_segments, n_buffers;
	ort_segment *segment;
	exec_task *task;    /* [n_segments] */
	exec_buffer *buffer;
	ort_value **buffer_value;
	int32_t *value_buffer; /* [n_values] -1: none */
	int64_t used;       /* for forgetting the oldest */
} ort_plan;

enum { ORT_ALL_DEVICES = -1 };

/* What a plan is made for, beside its model, devices, placement and order. */
typedef struct ort_plan_cfg {
	ort_clock clock;
	const char *profile;
	int32_t self;
} ort_plan_cfg; /* the fields of ort_plan */

/* Make segments, sessions and buffers. order NULL: the model's topological order. ort_plan_free frees them.
 * Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status ort_plan_new(ort_model *m, const ort_device *dev, const int32_t *placement, const int32_t *order,
                          const ort_plan_cfg *cfg, ort_plan *out, berth_err *err);
void ort_plan_free(ort_plan *p);

/* Run once.
 *   wall_s  from the start to the end of the last segment
 *   cpu_s   of all workers
 *   strain  wall seconds for each CPU second of the work, 1 on a quiet machine
 * Fails: BERTH_EFORMAT, BERTH_EIO, BERTH_ENOMEM. */
berth_status ort_plan_run(ort_plan *p, const exec_kind *kind, void *ex, double *wall_s, double *cpu_s,
                          double *strain, berth_err *err);

/* Fill all buffers with bytes that no result has, so that a tensor that nobody wrote shows. */
void ort_plan_poison(ort_plan *p);
/* Largest relative difference of the outputs of the latest run that were made in this process. */
double ort_plan_difference(const ort_plan *p);

/* The task of a segment: ctx is it. */
void ort_segment_run(void *ctx, double began);
