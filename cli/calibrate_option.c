/* --calibrate: its words, the models that they name, and what is told of the fit. */
#include "calibrate_option.h"

#include "load.h"
#include "print.h"
#include "sandboxed.h"
#include "say.h"
#include "scales.h"
#include "text.h"
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A timing as it was said. */
typedef struct said {
	const char *model, *dev, *text; /* text: "MODEL=SECONDS" */
	berth_graph g;
	double seconds;
} said;

static berth_status split(cli *c, const char *text, said *x, berth_err *err)
{
	const char *end, *rest;
	char *model = berth_arena_strdup(&c->mem, text), *whole = berth_arena_strdup(&c->mem, text);
	BERTH_TRY(berth_got(model && whole ? model : NULL, err));
	char *at = strrchr(model, '@'), *equals = NULL;
	if (at) {
		whole[at - model] = *at = '\0';
		equals = strrchr(model, '=');
	}
	if (!equals || equals == model || !at[1])
		return berth_fail(
			err, BERTH_EINVAL,
			"--calibrate %.80s: expected MODEL=SECONDS@DEVICE, as in zoo:resnet50=6.1ms@gpu0",
			text);
	*equals = '\0';
	double seconds = berth_text_number(equals + 1, &end);
	seconds *= berth_unit(BERTH_SECONDS, end, &rest);
	if (!(seconds > 0) || !isfinite(seconds) || *rest)
		return berth_fail(err, BERTH_EINVAL,
		                  "--calibrate %.80s: '%.40s' is no time above 0, as in 6.1ms", text,
		                  equals + 1);
	*x = (said){.model = model, .dev = at + 1, .text = whole, .seconds = seconds};
	return BERTH_OK;
}

static berth_status load(cli *c, said *x, berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	berth_read_report report;
	opt.n_dims = 0; /* they are those of the model that is placed */
	return berth_graph_load(x->model, &opt, &c->mem, &c->tmp, &x->g, &report, err);
}

/* Is x for device d: by name, else by kind? */
static bool is_for(const berth_system *s, const said *x, int32_t d)
{
	int32_t named = berth_system_find_dev(s, x->dev);
	return named >= 0 ? named == d : strcmp(s->dev_kind[d], x->dev) == 0;
}

static berth_status check_device(const berth_system *s, const said *x, berth_err *err)
{
	int32_t at;
	for (int32_t d = 0; d < s->n_devs; d++)
		if (is_for(s, x, d))
			return BERTH_OK;
	if (berth_text_find(s->dev_name, s->n_devs, x->dev, "device", NULL, &at, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EINVAL, "--calibrate %s@%s: ", x->text, x->dev);
	return BERTH_OK;
}

berth_status cli_calibrate_device(cli *c, berth_system *s, int32_t dev, const berth_timing *timing, int32_t n,
                                  const char *by, berth_err *err)
{
	berth_scales_told told;
	char off[32], then[64] = "";
	BERTH_TRY(berth_scales_fit(s, dev, timing, n, by, &c->mem, &c->tmp, &told, err));
	if (n > 1)
		snprintf(then, sizeof then, "; then they are off by %s", cli_percent(off, told.off));
	if (cli_in_words(c))
		cli_say("%s: times %.3g of those predicted, by %s%s\n", s->dev_name[dev], told.factor, by,
		        then);
	if (told.factor > BERTH_SCALES_ODD || told.factor < 1 / BERTH_SCALES_ODD)
		return cli_warn(
			c, err,
			"device '%s' takes %.3g times as long as predicted for %s: the wrong device, or "
			"the wrong batch?",
			s->dev_name[dev], told.factor, by);
	return BERTH_OK;
}

static berth_status calibrate_device(cli *c, berth_system *s, int32_t dev, const said *x, berth_err *err)
{
	berth_timing *timing;
	berth_strbuf by = {.mem = &c->mem};
	const char *text;
	size_t len;
	int32_t n = 0;
	BERTH_TRY_NEW(&c->mem, c->calibrate.n, err, timing);
	for (int32_t i = 0; i < c->calibrate.n; i++)
		if (is_for(s, &x[i], dev)) {
			berth_strbuf_printf(&by, "%s%s", n ? ", " : "", x[i].text);
			timing[n++] = (berth_timing){&x[i].g, -1, x[i].seconds};
		}
	BERTH_TRY(berth_strbuf_done(&by, &text, &len, err));
	return n ? cli_calibrate_device(c, s, dev, timing, n, text, err) : BERTH_OK;
}

berth_status cli_calibrate(cli *c, berth_system *s, berth_err *err)
{
	said *x;
	if (!c->calibrate.n)
		return BERTH_OK;
	BERTH_TRY_NEW(&c->mem, c->calibrate.n, err, x);
	for (int32_t i = 0; i < c->calibrate.n; i++) {
		BERTH_TRY(split(c, c->calibrate.text[i], &x[i], err));
		BERTH_TRY(check_device(s, &x[i], err));
		BERTH_TRY(load(c, &x[i], err));
	}
	for (int32_t d = 0; d < s->n_devs; d++)
		BERTH_TRY(calibrate_device(c, s, d, x, err));
	return BERTH_OK;
}
