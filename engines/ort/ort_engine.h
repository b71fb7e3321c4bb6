/* The engine's own inside: what all ways to run a model share. A way is workers on cores (workers.c), one
 * session across execution providers (providers.c), or processes on several hosts (hosts.c). */
#pragma once

#include "json.h"
#include "kernel_times.h"
#include "ort_model.h"
#include "ort_plan.h"

enum { ENGINE_PLANS = 3, ENGINE_DEVICES = 64, ENGINE_LIBRARIES = 8 };

typedef struct engine engine;
typedef berth_status engine_answer_fn(engine *e, const berth_json *q, berth_json_out *w, berth_err *err);

/* How models are run. Functions that fail say why. */
typedef struct engine_way {
	/* Devices, once. e->lib is there; sets e->n_devs. Fails: BERTH_EINVAL (options),
	 * BERTH_EIO (something is missing), BERTH_ENOMEM. */
	berth_status (*start)(engine *e, berth_err *err);
	void (*stop)(engine *e);
	const char *executor;
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

/* Plans kept between questions: what workers on cores and hosts share. */
typedef struct plan_runs {
	ort_device dev[EXEC_MAX_WORKERS];
	ort_plan_cfg cfg;
	const exec_kind *kind;
	void *ex;
	ort_plan plan[ENGINE_PLANS];
	int64_t used;
} plan_runs;

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
	bool started;
	plan_runs runs;    /* of workers and hosts */
	void *state;       /* of providers and hosts */
	struct mesh *mesh; /* with the other processes of --hosts; NULL: there are none */
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

/* Times of runs. */
typedef struct engine_segment {
	int32_t dev, n_ops;
	const int32_t *op;
	double *start_s, *end_s, *cpu_s; /* [n] */
} engine_segment;

typedef struct engine_samples {
	int32_t n, n_segments;
	double *wall_s, *cpu_s, *strain; /* [n] */
	engine_segment *segment;
	double worst; /* difference of the outputs */
	double plain; /* that without optimisation, where worst is too much for rounding; NAN: not run */
} engine_samples;

berth_status engine_samples_new(engine *e, int32_t n, int32_t n_segments, engine_samples *s, berth_err *err);

/* Quantised models round otherwise where pieces are fused otherwise. Then an unoptimised run decides. */
bool engine_needs_plain(const engine *e, const engine_samples *s);

/* All of an answer to "run" but the operators; cpu: with times of the CPU. */
void engine_put_samples(const engine *e, const engine_samples *s, bool cpu, berth_json_out *w);
/* "operators": times `unit` times seconds. */
void engine_put_kernels(berth_json_out *w, const kernel_run *k, int32_t n, double unit);

/* Run the unsplit model in session s: warmup times unseen, then samples->n times. Fails: BERTH_EFORMAT. */
berth_status engine_time_whole(engine *e, ort_session *s, int threads, int32_t warmup,
                               engine_samples *samples, berth_err *err);

/* The questions "run" and "set" of workers and hosts. */
engine_answer_fn plan_runs_answer, plan_runs_set;
void plan_runs_forget(engine *e);
