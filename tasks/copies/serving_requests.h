/* Serving whole requests of a language model: each reads a prompt and answers by so many tokens, by the same
 * nodes or by others, to which the cache of the prompt is sent. After Zhong et al. (DistServe, OSDI 2024) and
 * Jiang et al. (HexGen-2, ICLR 2025). */
#pragma once

#include "serving.h"

/* Requests of one length. */
typedef struct berth_request_kind {
	double share;         /* of all requests; together 1. 0: its memory alone counts */
	int64_t read, answer; /* tokens */
	berth_serving reading;
	berth_serving *answering; /* [n_batches] a step, with the cache of the whole request */
} berth_request_kind;

typedef struct berth_request_task {
	int32_t n_kinds, n_batches;
	const int64_t *batch; /* [n_batches] requests of a step of answering */
	berth_request_kind *kind;
	double first_s, token_s; /* limits: reading a prompt, and making a token; 0: none */
	const struct berth_search_cfg *cfg; /* as of berth_layout_task */
} berth_request_task;

enum { BERTH_TOGETHER, BERTH_APART, BERTH_N_REQUEST_WAYS };

/* A layout for both uses. Apart: of twice the layers, the first half reads. */
typedef struct berth_request_plan {
	berth_layers l;
	double first_s, token_s; /* on the longest way */
	/* No layout reads or makes a token quicker, whatever the batch; INFINITY: none holds the layers */
	double least_first_s, least_token_s;
	bool alone; /* each server by itself: nothing goes on to another; groups by kinds */
} berth_request_plan;

/* The best found of either way, in plan [BERTH_N_REQUEST_WAYS]; rates in requests a second.
 *
 * A node reads one prompt at a time, and answers by steps of the batch that serves most of what it holds
 * weights and caches for. Together it does both, and a token may wait for 512 tokens of a prompt. Apart what
 * reads sends the cache of its layers, what answers receives it, by the slowest of their ways; all kinds that
 * take part have links to each other then. Where each server by itself serves more, that is taken. In mem;
 * tmp is scratch, another arena. Fails: BERTH_EINVAL (a host reads by other devices than it answers by), as
 * berth_layout_search. */
berth_status berth_serving_requests(const berth_request_task *x, int32_t tries, berth_arena *mem,
                                    berth_arena *tmp, berth_request_plan *plan, berth_err *err);
