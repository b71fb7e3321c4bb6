/* See configure_steps.h. */
#include "configure_steps.h"

#include "cluster.h"
#include "print.h"
#include "text.h"
#include "times.h"
#include "units.h"

#include <math.h>
#include <string.h>

typedef struct reader {
	cli *c;
	const berth_system *s;
	const int64_t *batch; /* [n_batches] */
	int32_t n_batches;
	double *step_s; /* [n_batches][n_devs] NAN: not measured */
	const char *text;
	berth_err *err;
} reader;

static berth_status read_device(const reader *r, const char *end, int32_t *dev)
{
	const char *name = berth_arena_printf(&r->c->tmp, "%.*s", (int)(end - r->text), r->text);
	if (!name)
		return berth_nomem(r->err);
	*dev = berth_system_find_dev(r->s, name);
	return *dev >= 0 ? BERTH_OK
	                 : berth_fail(r->err, BERTH_EINVAL, "option --steps: %.80s has no device '%.80s'",
	                              r->s->name, name);
}

static berth_status read_batch(const reader *r, double x, int32_t *at)
{
	for (*at = 0; *at < r->n_batches; ++*at)
		if ((double)r->batch[*at] == x)
			return BERTH_OK;
	return berth_fail(r->err, BERTH_EINVAL,
	                  "option --steps: '%.60s' is for a batch that is not in --batches", r->text);
}

/* DEVICE:BATCH=SECONDS; the name may hold both marks. */
static berth_status read_step(reader *r)
{
	const char *is = strrchr(r->text, '='), *colon = is, *end = NULL;
	int32_t dev = -1, at = 0;
	while (colon && colon > r->text && *colon != ':')
		colon--;
	double batch = is && *colon == ':' ? berth_text_number(colon + 1, &end) : 0;
	bool right = end && end == is;
	double step_s = right ? berth_text_number(is + 1, &end) : 0;
	step_s *= right ? berth_unit(BERTH_SECONDS, end, &end) : 0;
	if (!right || *end || !(step_s > 0 && step_s <= BERTH_MOST_OP_S))
		return berth_fail(r->err, BERTH_EINVAL,
		                  "option --steps: '%.60s' is not DEVICE:BATCH=SECONDS, as in gpu0:32=45ms",
		                  r->text);
	BERTH_TRY(read_device(r, colon, &dev));
	BERTH_TRY(read_batch(r, batch, &at));
	double *into = &r->step_s[at * r->s->n_devs + dev];
	if (!isnan(*into))
		return berth_fail(r->err, BERTH_EINVAL,
		                  "option --steps: batch %.10g of device '%.80s' stands twice", batch,
		                  r->s->dev_name[dev]);
	*into = step_s;
	return BERTH_OK;
}

/* The first device that d is equal to, in its host or in one that its host is equal to. */
static int32_t first_like(const berth_cluster *x, int32_t d)
{
	int32_t host = x->dev_host[d], at = x->host_off[host];
	while (x->host_dev[at] != d)
		at++;
	at += x->host_off[x->host_like[host]] - x->host_off[host];
	return x->dev_like[x->host_dev[at]];
}

/* Of equal devices those that are not named stay simulated: told of the first such. */
static berth_status tell_unlike(const reader *r)
{
	berth_cluster x;
	BERTH_TRY(berth_cluster_new(r->s, &r->c->mem, &r->c->tmp, &x, r->err));
	for (int32_t b = 0; b < r->n_batches; b++)
		for (int32_t d = 0; d < r->s->n_devs; d++) {
			const double *step_s = r->step_s + b * r->s->n_devs;
			int32_t like = first_like(&x, d);
			bool own = !isnan(step_s[d]);
			if (own == !isnan(step_s[like]))
				continue;
			return cli_warn(r->c, r->err,
			                "option --steps: batch %lld has a time on %.80s, but stays simulated "
			                "on %.80s, which is equal: give both",
			                (long long)r->batch[b], r->s->dev_name[own ? d : like],
			                r->s->dev_name[own ? like : d]);
		}
	return BERTH_OK;
}

berth_status configure_steps(cli *c, const cli_texts *given, const berth_system *s, const int64_t *batch,
                             int32_t n_batches, berth_graph *graph, berth_err *err)
{
	reader r = {.c = c, .s = s, .batch = batch, .n_batches = n_batches, .err = err};
	if (given->n == 0)
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(&c->mem, r.step_s, n_batches * s->n_devs, err));
	for (int32_t i = 0; i < n_batches * s->n_devs; i++)
		r.step_s[i] = NAN;
	for (int32_t i = 0; i < given->n; i++) {
		r.text = given->text[i];
		BERTH_TRY(read_step(&r));
	}
	BERTH_TRY(tell_unlike(&r));
	for (int32_t b = 0; b < n_batches; b++) {
		berth_problem p;
		berth_graph as_measured;
		BERTH_TRY(berth_problem_new(&graph[b], s, &c->mem, &c->tmp, &p, err));
		BERTH_TRY(berth_graph_step_times(&p, r.step_s + b * s->n_devs, &c->mem, &c->tmp, &as_measured,
		                                 err));
		graph[b] = as_measured;
	}
	return BERTH_OK;
}
