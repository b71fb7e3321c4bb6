/* Objectives; see objective.h. The values are those of the execution model. */
#include "objective.h"

#include "cost_model.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const metric_name[BERTH_N_METRICS] = {"latency", "throughput", "energy", "edp", "power"};
static const char *const metric_unit[BERTH_N_METRICS] = {"s", "s/sample", "J", "J s", "W"};

/* ---- metrics ---- */

const char *berth_metric_name(berth_metric m)
{
	return metric_name[m];
}

const char *berth_metric_unit(berth_metric m)
{
	return metric_unit[m];
}

berth_status berth_metric_parse(const char *name, berth_metric *out, berth_err *err)
{
	char hint[96];
	for (int i = 0; i < BERTH_N_METRICS; i++)
		if (strcmp(name, metric_name[i]) == 0) {
			*out = (berth_metric)i;
			return BERTH_OK;
		}
	return berth_fail(err, BERTH_EINVAL,
	                  "unknown objective '%.60s'%s; known: latency, throughput, energy, edp, power", name,
	                  berth_text_suggest(hint, sizeof hint, name, metric_name, BERTH_N_METRICS));
}

double berth_metric_value(berth_metric m, const berth_sim_result *r)
{
	double latency = (double)r->latency_ns / 1e9;
	switch (m) {
	case BERTH_LATENCY: return latency;
	case BERTH_THROUGHPUT: return r->load_s;
	case BERTH_ENERGY: return r->energy_j;
	case BERTH_EDP: return r->energy_j * latency;
	case BERTH_POWER: return latency > 0 ? r->energy_j / latency : 0;
	}
	return NAN;
}

berth_status berth_metric_check(berth_metric m, const berth_problem *p, berth_err *err)
{
	if (m == BERTH_LATENCY || m == BERTH_THROUGHPUT || p->has_energy)
		return BERTH_OK;
	if (!p->s->cost_model->has_energy)
		return berth_fail(err, BERTH_EFORMAT, "objective %s is not defined under the cost model %s",
		                  metric_name[m], p->s->cost_model->name);
	for (int32_t d = 0; d < p->n_devs; d++)
		if (isnan(p->s->dev_idle_w[d]) || isnan(p->s->dev_busy_w[d]))
			return berth_fail(err, BERTH_EFORMAT,
			                  "objective %s needs idle_w and busy_w on every device; '%s' of "
			                  "system '%s' has none",
			                  metric_name[m], p->s->dev_name[d], p->s->name);
	return BERTH_OK;
}

/* ---- reading ---- */

typedef struct parser {
	const char *at;
	berth_objective o;
	double asked[BERTH_N_METRICS]; /* the figure of the limit, in the unit of its text */
	berth_err *err;
} parser;

static void skip(parser *r)
{
	while (*r->at == ' ')
		r->at++;
}

static bool take(parser *r, const char *word)
{
	size_t n = strlen(word);
	skip(r);
	if (strncmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	skip(r);
	return true;
}

static berth_status read_metric(parser *r, berth_metric *out)
{
	char name[64];
	size_t n = strcspn(r->at, " +*:,<>=");
	snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1, r->at);
	BERTH_TRY(berth_metric_parse(name, out, r->err));
	r->at += n;
	return BERTH_OK;
}

static bool read_positive(parser *r, double *out)
{
	char *end;
	double x = strtod(r->at, &end);
	if (end == r->at || !isfinite(x) || !(x > 0))
		return false;
	r->at = end;
	*out = x;
	return true;
}

static bool starts_number(const char *s)
{
	return (*s >= '0' && *s <= '9') || *s == '.' || *s == '-';
}

static berth_status read_term(parser *r)
{
	berth_metric m = BERTH_LATENCY;
	double weight = 1;
	const char *from = r->at;
	if (starts_number(r->at) && (!read_positive(r, &weight) || !take(r, "*")))
		return berth_fail(
			r->err, BERTH_EINVAL,
			"objective: '%.40s' does not start with a weight above 0 and '*', as in 0.3*energy",
			from);
	BERTH_TRY(read_metric(r, &m));
	r->o.sums[m] = true;
	r->o.weight[m] += weight;
	return isfinite(r->o.weight[m])
	               ? BERTH_OK
	               : berth_fail(r->err, BERTH_EINVAL,
	                            "objective: the weights of %s add up to no finite number",
	                            metric_name[m]);
}

/* Factor to SI of the unit that stands there, 1 without one. */
static double read_unit(parser *r, berth_metric m)
{
	static const struct unit {
		berth_metric metric;
		const char *name;
		double factor;
	} units[] = {{BERTH_LATENCY, "ms", 1e-3}, {BERTH_LATENCY, "us", 1e-6}, {BERTH_LATENCY, "ns", 1e-9},
	             {BERTH_LATENCY, "s", 1},     {BERTH_ENERGY, "mJ", 1e-3},  {BERTH_ENERGY, "kJ", 1e3},
	             {BERTH_ENERGY, "J", 1},      {BERTH_POWER, "mW", 1e-3},   {BERTH_POWER, "kW", 1e3},
	             {BERTH_POWER, "W", 1}};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (units[i].metric == m && take(r, units[i].name))
			return units[i].factor;
	return 1;
}

static berth_status read_limit(parser *r)
{
	berth_metric m = BERTH_LATENCY;
	double x;
	BERTH_TRY(read_metric(r, &m));
	const char *sign = m == BERTH_THROUGHPUT ? ">=" : "<=";
	if (!take(r, sign))
		return berth_fail(r->err, BERTH_EINVAL, "objective: a limit on %s is written %s%sFIGURE%s",
		                  metric_name[m], metric_name[m], sign,
		                  m == BERTH_THROUGHPUT ? ", in samples a second" : "");
	const char *from = r->at;
	if (!read_positive(r, &x))
		return berth_fail(r->err, BERTH_EINVAL,
		                  "objective: '%.40s' is no limit on %s; expected a number above 0", from,
		                  metric_name[m]);
	if (r->o.limits[m])
		return berth_fail(r->err, BERTH_EINVAL, "objective: two limits on %s", metric_name[m]);
	r->o.limits[m] = true;
	r->asked[m] = x * read_unit(r, m);
	r->o.most[m] = m == BERTH_THROUGHPUT ? 1 / r->asked[m] : r->asked[m];
	if (!isnormal(r->o.most[m]))
		return berth_fail(r->err, BERTH_EINVAL,
		                  "objective: the limit '%.40s' on %s is too small or too large", from,
		                  metric_name[m]);
	return BERTH_OK;
}

static void write_text(berth_objective *o, const double asked[BERTH_N_METRICS])
{
	char number[32];
	size_t n = 0;
	bool any = false;
	o->text[0] = '\0';
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		if (!o->sums[m])
			continue;
		bool plain = o->weight[m] == 1;
		n += (size_t)snprintf(o->text + n, sizeof o->text - n, "%s%s%s%s", n ? "+" : "",
		                      plain ? "" : berth_text_double(number, o->weight[m]), plain ? "" : "*",
		                      metric_name[m]);
	}
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		if (!o->limits[m])
			continue;
		n += (size_t)snprintf(
			o->text + n, sizeof o->text - n, "%s%s%s%s", any ? "," : ":", metric_name[m],
			m == BERTH_THROUGHPUT ? ">=" : "<=", berth_text_double(number, asked[m]));
		any = true;
	}
}

static berth_status read_objective(parser *r)
{
	skip(r);
	do
		BERTH_TRY(read_term(r));
	while (take(r, "+"));
	if (take(r, ":")) {
		do
			BERTH_TRY(read_limit(r));
		while (take(r, ","));
	}
	skip(r);
	if (*r->at)
		return berth_fail(r->err, BERTH_EINVAL,
		                  "objective: '%.40s' was not expected; the form is METRIC or "
		                  "W*METRIC+W*METRIC, then :METRIC<=LIMIT",
		                  r->at);
	return BERTH_OK;
}

berth_status berth_objective_parse(const char *text, berth_objective *out, berth_err *err)
{
	parser r = {.at = text, .err = err};
	BERTH_TRY(read_objective(&r));
	write_text(&r.o, r.asked);
	*out = r.o;
	return BERTH_OK;
}

/* ---- the rest ---- */

berth_objective berth_objective_of(berth_metric m)
{
	berth_objective o = {.text = ""};
	o.sums[m] = true;
	o.weight[m] = 1;
	snprintf(o.text, sizeof o.text, "%s", metric_name[m]);
	return o;
}

const char *berth_objective_name(const berth_objective *o)
{
	return o->text[0] ? o->text : metric_name[BERTH_LATENCY];
}

bool berth_objective_is(const berth_objective *o, berth_metric m)
{
	if (!o->text[0])
		return m == BERTH_LATENCY;
	for (int i = 0; i < BERTH_N_METRICS; i++)
		if (o->sums[i] != (i == (int)m))
			return false;
	return o->weight[m] == 1;
}

const char *berth_objective_unit(const berth_objective *o)
{
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (berth_objective_is(o, (berth_metric)m))
			return metric_unit[m];
	return "";
}

bool berth_objective_has_limits(const berth_objective *o)
{
	bool any = false;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		any |= o->limits[m];
	return any;
}

bool berth_objective_equal(const berth_objective *a, const berth_objective *b)
{
	return strcmp(berth_objective_name(a), berth_objective_name(b)) == 0;
}

berth_status berth_objective_check(const berth_objective *o, const berth_problem *p, berth_err *err)
{
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (o->sums[m] || o->limits[m])
			BERTH_TRY(berth_metric_check((berth_metric)m, p, err));
	return BERTH_OK;
}

double berth_objective_sum(const berth_objective *o, const double metric[BERTH_N_METRICS])
{
	double sum = 0;
	if (!o->text[0])
		return metric[BERTH_LATENCY];
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (o->sums[m])
			sum += o->weight[m] * metric[m];
	return sum;
}

double berth_objective_value(const berth_objective *o, const berth_sim_result *r)
{
	double metric[BERTH_N_METRICS] = {0};
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (o->sums[m] || m == BERTH_LATENCY)
			metric[m] = berth_metric_value((berth_metric)m, r);
	return berth_objective_sum(o, metric);
}

double berth_objective_excess(const berth_objective *o, const berth_sim_result *r)
{
	double excess = 0;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (o->limits[m]) {
			double x = berth_metric_value((berth_metric)m, r);
			excess += x > o->most[m] ? fmax(x / o->most[m] - 1, 1e-15) : 0;
		}
	return excess;
}
