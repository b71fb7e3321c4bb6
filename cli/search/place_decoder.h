/* A language model is placed once for both of its uses: reading a prompt (prefill) and making a token
 * (decode). The search makes decoding quick. Its graph holds, beside what decoding needs, what prefill has
 * alive at each operator, so that what fits it fits both; the answer is then simulated as a prefill, too. */
#ifndef BERTH_CLI_PLACE_DECODER_H
#define BERTH_CLI_PLACE_DECODER_H

#include "check.h"
#include "cli_granularity.h"
#include "decoder_words.h"
#include "json.h"
#include "solve.h"

typedef struct place_decoder {
	bool on;
	decoder_words words;
	int64_t context, batch;
	int64_t chunk;             /* tokens of a prompt that are read at once */
	berth_graph whole, g;      /* of prefill, as read and with the rules of a granularity */
	berth_granularity layers;  /* of the decoding graph */
	berth_problem p;           /* of prefill */
	berth_system s;
	int32_t *twin;             /* [n_ops of prefill] the operator of decoding of that name; -1: none */
	int64_t *alive_bytes;      /* [n_ops of decoding] of prefill, at its operator of that name */
	double share;              /* of them that the search was told to hold */
	int32_t *op_dev;           /* [n_ops of prefill] the answer */
	berth_timeline t;
	berth_verdict v;
} place_decoder;

/* Is spec a decoder whose mode is left open? Then x->on. spec gets the words of the options in any case.
 * Fails: as decoder_words_read does. */
berth_status place_decoder_open(cli *c, const decoder_args *a, const char **spec, place_decoder *x,
                                berth_err *err);

/* Load both graphs and the system. decode is the graph to search on; its workspaces hold what prefill has
 * alive. Fails: as cli_instance_load and cli_granularity_apply do. */
berth_status place_decoder_load(cli *c, const char *system, const cli_granularity *granularity,
                                place_decoder *x, berth_graph *decode, berth_system *s, berth_err *err);

/* Simulate the answer r as a prefill: x->t and x->v. Fails: BERTH_ENOMEM. */
berth_status place_decoder_judge(cli *c, place_decoder *x, const berth_solution *r, berth_err *err);

/* Where the answer fits decoding and not prefill: hold half as much again. false: often enough. */
bool place_decoder_tighten(place_decoder *x, berth_graph *decode);

/* The answer as one of prefill, whose graph is that of the model's name: what a placement file says. p gets
 * its problem. */
void place_decoder_solution(const place_decoder *x, berth_problem *p, berth_solution *r);

/* Tokens per second of both uses. t is the timeline of decoding. period_s: seconds from token to token of
 * sequences that follow each other; 0: they do not. */
void place_decoder_print_head(const place_decoder *x, const berth_timeline *t, double period_s);

/* A row for each layer, equal ones as one. t is the timeline of decoding. */
berth_status place_decoder_print_layers(cli *c, const place_decoder *x, const berth_problem *p,
                                        const berth_timeline *t, berth_err *err);

/* "decoder":{...}. */
berth_status place_decoder_put(cli *c, berth_json_out *w, const place_decoder *x, const berth_problem *p,
                               const berth_timeline *t, berth_err *err);

#endif
