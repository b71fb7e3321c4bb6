/* The parts of berth configure: what it finds, and what is told of it; and --serve. */
#pragma once

#include "budget.h"
#include "cli.h"
#include "configure.h"
#include "copies_print.h"

typedef struct configure_view {
	berth_configure_cfg cfg;
	const char *on;           /* the system, as given */
	const int64_t *batch;     /* [n_batches] */
	const berth_graph *graph; /* [n_batches] with measured times, where some are given */
	const berth_graph *model; /* [n_batches] without them */
	int32_t n_batches;
	int64_t context; /* tokens of a language model in files, as it was read; 0: it is none */
	berth_system s;
	berth_cluster cluster;
	berth_copies copies;
	berth_configured r;
	copies_plan plan;
} configure_view;

/* The document, or text, which is left out where nothing was found. Fails: BERTH_ENOMEM. */
berth_status configure_tell(cli *c, const configure_view *v, berth_err *err);

/* ---- --serve: copies of a model over many servers ---- */

/* -o and --to. */
typedef struct configure_out {
	const char *path; /* NULL: nothing is written */
	int32_t target;
} configure_out;

/* json is 0. Fails: BERTH_EINVAL. */
berth_status configure_read_target(const char *text, int32_t *out, berth_err *err);

/* A file of text, "-" being standard output. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status configure_write_text(const cli *c, const char *path, const char *text, size_t len,
                                  berth_err *err);

/* Plan, write and tell; v: the model's graphs at all batches, and the cluster's system. servers: N or HOST=N;
 * steps: HOST:LAYERS=SECONDS; layout: HOST:FIRST-LAST, to be valued in place of a search; goal:
 * "throughput", perhaps with a limit, or NULL; budget: how long it may take. Fails: BERTH_EINVAL (a training
 * step, an unknown host, a bad number, unlike layers), BERTH_EINFEASIBLE (the layers fit nowhere, a layout
 * lacks one, or nothing keeps the limit or is found in time), BERTH_EINTERRUPTED. */
berth_status configure_serve(cli *c, const configure_view *v, const cli_texts *servers,
                             const cli_texts *steps, const cli_texts *layout, const char *goal,
                             const cli_budget *budget, const configure_out *to, berth_err *err);

typedef struct configure_requests_args {
	const cli_texts *servers, *requests;
	const char *goal, *on;
	const cli_budget *budget;
	configure_out to;
	bool batches_given;
} configure_requests_args;

/* The same for whole requests of a language model: [SHARE:]READ+ANSWER, ..., or @FILE. Of v the batches alone
 * are read. Fails: as above. */
berth_status configure_requests(cli *c, const configure_view *v, const configure_requests_args *a,
                                berth_err *err);

/* ---- --pipelines: a training step over unlike devices ---- */

/* Plan a step of so many samples, write it to out (NULL: nowhere) and tell it; v: the steps' graphs at all
 * batches, and the cluster's system. Fails: BERTH_EINVAL (a bad number or goal, as berth_train_new),
 * BERTH_EINFEASIBLE, BERTH_EINTERRUPTED, BERTH_EIO. */
berth_status configure_pipelines(cli *c, const configure_view *v, const char *samples, const char *goal,
                                 const char *out, berth_err *err);
