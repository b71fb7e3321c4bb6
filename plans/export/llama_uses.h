/* Prices of llama.cpp's plans for both uses of a model. */
#pragma once

#include "llama_plan.h"
#include "problem.h"
#include "uses.h"

/* The graphs of making a token and of reading a chunk of 512 at the end of the context, on the source's
 * system. */
typedef struct llama_uses {
	berth_graph answer_g, read_g;
	berth_problem answer, read;
	int64_t batch, chunk;          /* sequences; tokens that are read at once */
	int32_t *twin;                 /* [n_ops of read] operators of answer; -1: none */
	int32_t *answer_op, *read_op;  /* [n_ops] operators of the source's graph; -1: none */
} llama_uses;

/* Of x with a model; its graph may be of either use. All lives in mem, tmp is scratch, another arena, reset
 * at exit. Fails: as the reader, BERTH_ENOMEM. */
berth_status llama_uses_open(const berth_export_source *x, berth_arena *mem, berth_arena *tmp,
                             llama_uses *out, berth_err *err);

/* Tokens a second of a placement of the source's graph, answered and read; NAN: it cannot run. Fails:
 * BERTH_ENOMEM. */
berth_status llama_uses_rates(const llama_uses *u, const int32_t *op_dev, berth_arena *tmp, double *answered,
                              double *read, berth_err *err);

/* Seconds of a mean token of each sequence, by weights. Fails: BERTH_ENOMEM. */
berth_status llama_uses_seconds(const llama_uses *u, const berth_uses *weights, const int32_t *op_dev,
                                berth_arena *tmp, double *seconds, berth_err *err);
