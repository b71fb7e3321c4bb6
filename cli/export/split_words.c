/* See split_words.h. */
#include "split_words.h"

#include "text.h"

#include <math.h>
#include <string.h>

/* "2,1,1": as many pieces as there are numbers. */
static berth_status read_shares(const char *option, const char *text, berth_arena *mem, int32_t *k,
                                const double **out, berth_err *err)
{
	double *share;
	const char *at = text;
	BERTH_TRY(BERTH_NEW(mem, share, PIECES_MOST, err));
	for (*k = 0;; at++) {
		const char *end;
		double x = berth_text_number(at, &end);
		if (end == at || !(x > 0) || !isfinite(x) || (*end && *end != ','))
			return berth_fail(
				err, BERTH_EINVAL,
				"%s: '%s' are no shares; expected numbers above 0 with commas between, as "
				"in 2,1,1",
				option, text);
		if (*k == PIECES_MOST)
			return berth_fail(err, BERTH_EINVAL, "%s: more than %d shares", option, PIECES_MOST);
		share[(*k)++] = x;
		at = end;
		if (!*at)
			break;
	}
	*out = share;
	return BERTH_OK;
}

static berth_status read_cut(const char *text, berth_arena *mem, pieces_ask *ask, berth_err *err)
{
	const char *equals = strrchr(text, '='), *colon = equals ? strchr(equals, ':') : NULL;
	if (!colon || equals == text || colon == equals + 1)
		return berth_fail(err, BERTH_EINVAL,
		                  "--cut: '%s': expected NAME=AXIS:SHARES, as in conv1=channels:1,1", text);
	ask->op = berth_arena_strndup(mem, text, (size_t)(equals - text));
	ask->axis = berth_arena_strndup(mem, equals + 1, (size_t)(colon - equals - 1));
	if (!ask->op || !ask->axis)
		return berth_nomem(err);
	BERTH_TRY(read_shares("--cut", colon + 1, mem, &ask->k, &ask->share, err));
	return ask->k > 1 ? BERTH_OK
	                  : berth_fail(err, BERTH_EINVAL,
	                               "--cut: '%s': one share is no cut; expected two or more", text);
}

/* A number of parts is that many equal shares. */
static berth_status read_parts(const char *text, berth_arena *mem, pieces_options *opt, berth_err *err)
{
	double *share;
	BERTH_TRY(read_shares("--parts", text, mem, &opt->k, &opt->share, err));
	if (opt->k > 1)
		return BERTH_OK;
	double k = opt->share[0];
	if (k < 2 || k > PIECES_MOST || k != floor(k))
		return berth_fail(err, BERTH_EINVAL,
		                  "--parts: '%s': expected 2 to %d parts, or two shares or more", text,
		                  PIECES_MOST);
	opt->k = (int32_t)k;
	BERTH_TRY(BERTH_NEW(mem, share, opt->k, err));
	for (int32_t i = 0; i < opt->k; i++)
		share[i] = 1;
	opt->share = share;
	return BERTH_OK;
}

static berth_status read_rows(const char *word, bool *overlap, berth_err *err)
{
	static const char *const words[] = {"send", "twice"};
	int32_t at = 0;
	if (word)
		BERTH_TRY(berth_text_find(words, 2, word, "value of --rows", NULL, &at, err));
	*overlap = at == 1;
	return BERTH_OK;
}

static berth_status read_style(const split_words *w, pieces_options *opt, berth_err *err)
{
	static const char *const words[] = {"cheapest", "data", "tensor"}; /* in the order of pieces_style */
	int32_t at = 0;
	if (!w->style)
		return BERTH_OK;
	BERTH_TRY(berth_text_find(words, 3, w->style, "value of --style", NULL, &at, err));
	if (!w->parts)
		return berth_fail(err, BERTH_EINVAL,
		                  "split: --style says how --parts cuts, which is missing");
	opt->style = (pieces_style)at;
	opt->each = opt->style != PIECES_CHEAPEST;
	return BERTH_OK;
}

/* The file of weights is called in the model by its name alone: it stands beside the model. */
static berth_status check_data(const split_words *w, berth_err *err)
{
	const char *a = strrchr(w->out, '/'), *b = w->data ? strrchr(w->data, '/') : NULL;
	size_t n = a ? (size_t)(a - w->out) : 0, m = b ? (size_t)(b - w->data) : 0;
	if (!w->data || (!a == !b && n == m && strncmp(w->out, w->data, n) == 0))
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "split: --data %s: it has to stand in the folder of %s", w->data,
	                  w->out);
}

berth_status split_words_read(const split_words *w, berth_arena *mem, pieces_options *opt, berth_err *err)
{
	pieces_ask *ask;
	*opt = (pieces_options){.n_asks = w->cut.n, .type = w->types.text, .n_types = w->types.n};
	if (!w->out)
		return berth_fail(err, BERTH_EINVAL, "split: -o OUT.onnx is missing");
	if (w->on && (w->cut.n || w->parts || w->types.n || w->rows || w->style))
		return berth_fail(err, BERTH_EINVAL,
		                  "split: --on finds what is to be cut: leave out --cut, --parts, --types, "
		                  "--rows and --style");
	if (!w->on && !w->cut.n && !w->parts)
		return berth_fail(err, BERTH_EINVAL,
		                  "split: what is to be cut? --cut NAME=AXIS:SHARES, --parts K, or --on "
		                  "SYSTEM, which finds it");
	if (w->types.n && !w->parts)
		return berth_fail(err, BERTH_EINVAL,
		                  "split: --types says what --parts cuts, which is missing");
	BERTH_TRY(read_style(w, opt, err));
	BERTH_TRY(check_data(w, err));
	BERTH_TRY(BERTH_NEW(mem, ask, w->cut.n, err));
	for (int32_t i = 0; i < w->cut.n; i++)
		BERTH_TRY(read_cut(w->cut.text[i], mem, &ask[i], err));
	opt->ask = ask;
	if (w->parts)
		BERTH_TRY(read_parts(w->parts, mem, opt, err));
	BERTH_TRY(read_rows(w->rows, &opt->overlap, err));
	const char *slash = w->data ? strrchr(w->data, '/') : NULL;
	opt->outside = slash ? slash + 1 : w->data;
	return BERTH_OK;
}
