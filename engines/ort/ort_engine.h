/* The engine's own inside: what all ways to run a model share. A way is workers on cores (workers.c), one
 * session across execution providers (providers.c), or processes on several hosts (hosts.c). */
#pragma once

#include "json.h"
#include "ort_model.h"
#include "ort_plan.h"

enum { ENGINE_PLANS = 3, ENGINE_DEVICES = 64, ENGINE_LIBRARIES = 8 };

typedef struct engine engine;
typedef berth_status engine_answer_fn(engine *e, const berth_json *q, berth_json_out *w, berth_err *err);

/* How models are run. Functions that fail say why. */
typedef struct engine_way {
	/* Devices, once. e->lib is there; sets e->n_devs and e->state. Fails: BERTH_EINVAL (options),
	 * BERTH_EIO (something is missing), BERTH_ENOMEM. */
	berth_status (*start)(engine *e, berth_err *err);
	void (*stop)(engine *e);
	const char *(*executor)(const engine *e);
	/* All that decides how fast it is: caches of times go by it. */
	void (*put_device)(const engine *e, int32_t device, berth_json_out *w);
	void (*forget_plans)(engine *e);
	/* Questions of the protocol. Fails: BERTH_EINVAL (a bad question), BERTH_EFORMAT (of the model),
	 * BERTH_EINFEASIBLE (a device), BERTH_EIO, BERTH_ENOMEM. */
	engine_answer_fn *run, *whole, *set;
	/* Parts of the questions "profile" and "transfers". Seconds that a run and a segment of it cost by
	 * themselves; */
	berth_status (*overheads)(engine *e, int32_t device, double *run_s, double *segment_s,
	                          berth_err *err);
	/* of an operator there, [repeats] each (cpu_s only where puts_cpu; fails: BERTH_EFORMAT, where the
	 * device cannot run it); */
	berth_status (*time_op)(engine *e, int32_t op, int32_t device, int32_t warmup, int32_t repeats,
	                        double *wall_s, double *cpu_s, berth_err *err);
	/* of moving bytes. */
	berth_status (*time_hop)(engine *e, int32_t from, int32_t to, size_t bytes, int32_t warmup,
	                         int32_t repeats, double *wall_s, berth_err *err);
	bool puts_cpu;
} engine_way;

extern const engine_way engine_workers, engine_providers, engine_hosts;

struct engine {
	const char *library, *devices, *optimize, *clock_name, *providers, *threads_text;
	const char *hosts, *agent, *members, *compress;
	const char *provider_library[ENGINE_LIBRARIES];
	int32_t n_libraries;
	int level;
	bool by_cpu;     /* the clock of the CPU counts */
	berth_arena mem; /* lasting */
	ort_lib *lib;
	const engine_way *way;
	void *state; /* of the way; NULL: not started */
	struct mesh *mesh;   /* with the other processes of --hosts; NULL: there are none */
	void *members_state; /* of engine_hosts, before it is started */
	int32_t n_devs;
	berth_arena model_mem;
	ort_model model;
	bool loaded;
	berth_arena tmp; /* of one question */
};

berth_status engine_read_repeats(const berth_json *q, int32_t *warmup, int32_t *repeats, berth_err *err);

/* A list of whole numbers below `below` in e->tmp. n: as many as there must be, -1: any. Fails: BERTH_EINVAL,
 * BERTH_ENOMEM. */
berth_status engine_read_numbers(engine *e, const berth_json *q, const char *key, int32_t n, double below,
                                 int32_t **out, int32_t *count, berth_err *err);

/* "set": a device, and its speed from now on as a part of the one at the start. Fails: BERTH_EINVAL. */
berth_status engine_read_speed(const engine *e, const berth_json *q, int32_t *device, double *speed,
                               berth_err *err);

/* Times of runs. */
typedef struct engine_samples {
	int32_t n;
	double *wall_s, *cpu_s, *strain;
	double **start_s, **end_s, **seg_cpu_s; /* [n_segments][n] */
	double worst;                           /* difference of the outputs */
} engine_samples;

berth_status engine_samples_new(engine *e, int32_t n, int32_t n_segments, engine_samples *s, berth_err *err);

/* "difference" and "differs". */
void engine_put_difference(const engine *e, double worst, berth_json_out *w);

/* Run the unsplit model in session s: warmup times unseen, then samples->n times. Fails: BERTH_EFORMAT. */
berth_status engine_time_whole(engine *e, ort_session *s, int threads, int32_t warmup,
                               engine_samples *samples, berth_err *err);

/* Plans kept between questions, and their runs as answers: what workers on cores and hosts share. */

typedef struct plan_runs {
	const ort_device *dev;
	ort_plan_cfg cfg;
	const exec_kind *kind;
	void *ex;
	ort_plan plan[ENGINE_PLANS];
	int64_t used;
} plan_runs;

/* The plan of a placement, from those kept or new in place of the oldest. Fails: as ort_plan_new. */
berth_status plan_runs_get(plan_runs *r, ort_model *m, const int32_t *placement, const int32_t *order,
                           ort_plan **out, berth_err *err);
void plan_runs_forget(plan_runs *r);

/* "placement" and "order" (NULL: none) of a question. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status plan_runs_read(engine *e, const berth_json *q, int32_t **placement, int32_t **order,
                            berth_err *err);

/* Run the plan: warmup times unseen, then s->n times. s has lists for its segments. Fails: as
 * ort_plan_run. */
berth_status plan_runs_sample(plan_runs *r, ort_plan *p, int32_t warmup, engine_samples *s, berth_err *err);

/* All of an answer to "run" but the operators. */
void plan_runs_put(const engine *e, const ort_plan *p, const engine_samples *s, berth_json_out *w);
