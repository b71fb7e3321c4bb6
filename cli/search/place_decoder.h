/* berth place of a language model whose use is left open (decoder_uses.h): its words, and what is told of it.
 */
#pragma once

#include "cli.h"
#include "cli_granularity.h"
#include "decoder_uses.h"
#include "result.h"

typedef struct place_decoder {
	bool on;
	cli *c;
	const char *system;
	berth_decoder_cfg cfg;
	berth_decoder d;
	const char *use;     /* of --use; NULL: all is answering */
	berth_problem alone; /* of decoding, where the search's has both uses in it */
	berth_timeline t;    /* of the answer there */
} place_decoder;

/* Is spec a language model (GGUF, zoo:llama, zoo:moe; no training step of one) whose mode is left open? Then
 * x->on. The words of --dim go into its spec. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status place_decoder_open(cli *c, const char **spec, place_decoder *x, berth_err *err);

/* Is spec such a model, with or without a mode? Then *words is it with those of --dim behind it, else NULL.
 * Fails: as above. */
berth_status place_decoder_words(cli *c, const char *spec, bool *gguf, const char **words, berth_err *err);

/* cli_instance_load; again: nothing is warned, as it was said of the first use of the model. Fails: as that.
 */
berth_status place_decoder_load_use(cli *c, const char *spec, const char *system, bool again, berth_graph *g,
                                    berth_system *s, berth_read_report *report, berth_err *err);

/* A line where spec is such a model: what verbs do with it that plan for no use. Fails: as above. */
berth_status place_decoder_note_reading(cli *c, const char *spec, berth_err *err);

/* berth_decoder_load by cli_instance_load: x->cfg and x->d. */
berth_status place_decoder_load(cli *c, const char *system, const cli_granularity *granularity,
                                place_decoder *x, berth_graph *decode, berth_system *s, berth_err *err);

/* p, just compiled, becomes that of --use. Fails: BERTH_ENOMEM. */
berth_status place_decoder_mix(cli *c, place_decoder *x, berth_problem *p, berth_err *err);
/* The timeline of decoding: that of the search, t, or the answer r once more. Fails: BERTH_ENOMEM. */
berth_status place_decoder_judge(cli *c, place_decoder *x, const berth_solution *r, const berth_timeline *t,
                                 berth_err *err);

/* Tokens per second of both uses. t is the timeline of decoding. period_s: seconds from token to token of
 * sequences that follow each other; 0: they do not. */
void place_decoder_print_head(const berth_decoder *x, const berth_timeline *t, double period_s);

/* A row for each layer, equal ones as one. t is the timeline of decoding. */
berth_status place_decoder_print_layers(cli *c, const berth_decoder *x, const berth_problem *p,
                                        const berth_timeline *t, berth_err *err);

extern const berth_result_kind decoder_kind;
/* In c->mem. Fails: BERTH_ENOMEM. */
berth_status place_decoder_result(cli *c, const berth_decoder *x, const berth_problem *p,
                                  const berth_timeline *t, const berth_result **out, berth_err *err);
