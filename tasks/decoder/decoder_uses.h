/* A language model is placed once for both of its uses: reading a prompt (prefill) and making a token
 * (decode). The search makes decoding quick. Its graph holds, beside what decoding needs, what prefill has
 * alive at each operator, so that what fits it fits both; the answer is then simulated as a prefill, too. */
#pragma once

#include "check.h"
#include "granularity.h"
#include "load.h"
#include "solve.h"
#include "uses.h"

/* ---- words of a spec: "zoo:llama:seq=512" ---- */

bool berth_spec_has(const char *spec, const char *key);
/* spec with key=value, in the place of another value if it has one; in mem. NULL when memory runs out. */
const char *berth_spec_set(const char *spec, const char *key, const char *value, berth_arena *mem);
/* The value that spec gives key, in mem; otherwise where it gives none, or when memory runs out. */
const char *berth_spec_get(const char *spec, const char *key, const char *otherwise, berth_arena *mem);

/* ---- both uses ---- */

typedef struct berth_decoder_cfg {
	/* Loads the model that spec names and the system, with all rules of the caller, into the memory of
	 * the call. again: what there is to warn of was said of the other use. report may be NULL. */
	berth_status (*load)(void *ctx, const char *spec, bool again, berth_graph *g, berth_system *s,
	                     berth_read_report *report, berth_err *err);
	void *ctx;
	const char *granularity; /* as berth_granularity_named; NULL: single operators */
	const berth_sandbox *sandbox; /* for files of those, and of models for engines; NULL: none */
	int32_t max_cuts;        /* -1: not limited */
} berth_decoder_cfg;

typedef struct berth_decoder {
	const char *spec; /* with all words but mode */
	bool gguf;        /* its words are those of GGUF files, else of the zoo */
	berth_uses uses;  /* what the search makes small; all zero: answering */
	int64_t context, batch;
	int64_t chunk;            /* tokens of a prompt that are read at once */
	berth_graph whole, g;     /* of prefill, as read and with the rules of a granularity */
	berth_granularity layers; /* of the decoding graph */
	berth_problem p;          /* of prefill */
	berth_system s;
	int32_t *twin;        /* [n_ops of prefill] the operator of decoding of that name; -1: none */
	int64_t *alive_bytes; /* [n_ops of decoding] of prefill, at its operator of that name */
	double share;         /* of them that the search was told to hold */
	int32_t *op_dev;      /* [n_ops of prefill] the answer */
	berth_timeline t;
	berth_verdict v;
} berth_decoder;

/* The key for the number of tokens: "context" of GGUF files, "seq" of the zoo. */
const char *berth_decoder_context_word(bool gguf);

/* g with the rules of the granularity. Fails: as granularities do. */
berth_status berth_decoder_lay_granularity(const berth_decoder_cfg *cfg, const berth_graph *g,
                                           berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                           berth_err *err);

/* Load both graphs and the system; spec and gguf are set. decode is the graph to search on; its workspaces
 * hold what prefill has alive. Fails: as cfg->load, and as granularities do. */
berth_status berth_decoder_load(const berth_decoder_cfg *cfg, berth_decoder *x, berth_graph *decode,
                                berth_system *s, berth_arena *mem, berth_arena *tmp, berth_err *err);

/* The times of p, of decoding, become those of x->uses. Fails: BERTH_ENOMEM. */
berth_status berth_decoder_mix(const berth_decoder *x, berth_problem *p, berth_arena *mem, berth_err *err);

/* Simulate the answer r as a prefill: x->t and x->v. Fails: BERTH_ENOMEM. */
berth_status berth_decoder_judge(berth_decoder *x, const berth_solution *r, berth_arena *mem, berth_err *err);

/* Where the answer fits decoding and not prefill: hold half as much again. false: often enough. */
bool berth_decoder_tighten(berth_decoder *x, berth_graph *decode);

/* The answer as one of prefill, whose graph is that of the model's name: what a placement file says. p gets
 * its problem. Value and bound stay those of the search. */
void berth_decoder_solution(const berth_decoder *x, berth_problem *p, berth_solution *r);

/* What its file calls the objective o of the search: latency is that of a mean token. o's, or a constant. */
const char *berth_decoder_objective(const berth_objective *o);

typedef struct berth_decoder_layer {
	double weight_bytes, cache_bytes, decode_s, prefill_s;
	int32_t n_ops;
	const char *devices; /* those that hold operators, most operators first, with + between */
} berth_decoder_layer;

/* Sums over the operators of each layer: [x->layers.n_blocks]. p and t are of decoding. Fails: BERTH_ENOMEM.
 */
berth_status berth_decoder_layers(const berth_decoder *x, const berth_problem *p, const berth_timeline *t,
                                  berth_arena *mem, berth_decoder_layer **out, berth_err *err);
