/* Objectives: their table of metrics, their text, their values and bounds of a simulation. The values are
 * those of the execution model. */
#include "objective.h"

#include "cost_model.h"

/* ---- metrics ---- */

static double latency_of(const berth_sim_result *r)
{
	return (double)r->latency_ns / 1e9;
}

static double load_of(const berth_sim_result *r)
{
	return r->load_s;
}

static double energy_of(const berth_sim_result *r)
{
	return r->energy_j;
}

static double edp_of(const berth_sim_result *r)
{
	return r->energy_j * latency_of(r);
}

static double power_of(const berth_sim_result *r)
{
	return r->latency_ns > 0 ? r->energy_j / latency_of(r) : 0;
}

static double peak_of(const berth_sim_result *r)
{
	return (double)r->peak_bytes;
}

static double latency_bound(const berth_bound_parts *b)
{
	return b->latency_s;
}

static double load_bound(const berth_bound_parts *b)
{
	return b->load_s;
}

static double energy_bound(const berth_bound_parts *b)
{
	return b->energy_j;
}

static double edp_bound(const berth_bound_parts *b)
{
	return b->edp;
}

/* All devices draw what they draw at rest, in a run that takes time. */
static double power_bound(const berth_bound_parts *b)
{
	return b->idle_w * (b->latency_s > 0);
}

static double peak_bound(const berth_bound_parts *b)
{
	return b->peak_bytes;
}

const berth_metric_row berth_metrics[BERTH_N_METRICS] = {
	[BERTH_LATENCY] = {.name = "latency",
                           .label = "latency",
                           .unit = "s",
                           .key = "latency_s",
                           .joint = BERTH_JOINT_LATENCY,
                           .of_time = 1,
                           .quantity = BERTH_SECONDS,
                           .value = latency_of,
                           .bound = latency_bound},
	[BERTH_THROUGHPUT] = {.name = "throughput",
                              .label = "throughput",
                              .unit = "s/sample",
                              .key = "throughput_per_s",
                              .per = "sample",
                              .by_load = true,
                              .joint = BERTH_JOINT_LOAD,
                              .of_time = 1,
                              .value = load_of,
                              .bound = load_bound},
	[BERTH_ENERGY] = {.name = "energy",
                          .label = "energy",
                          .unit = "J",
                          .key = "energy_j",
                          .needs_watts = true,
                          .joint = BERTH_JOINT_ENERGY,
                          .of_energy = 1,
                          .quantity = BERTH_JOULES,
                          .value = energy_of,
                          .bound = energy_bound},
	[BERTH_EDP] = {.name = "edp",
                       .label = "energy-delay product",
                       .unit = "J s",
                       .key = "edp",
                       .needs_watts = true,
                       .joint = BERTH_N_JOINT,
                       .of_time = 1,
                       .of_energy = 1,
                       .value = edp_of,
                       .bound = edp_bound},
	[BERTH_POWER] = {.name = "power",
                         .label = "power",
                         .unit = "W",
                         .needs_watts = true,
                         .joint = BERTH_N_JOINT,
                         .of_time = -1,
                         .of_energy = 1,
                         .quantity = BERTH_WATTS,
                         .value = power_of,
                         .bound = power_bound},
	[BERTH_MEMORY] = {.name = "memory",
                          .label = "peak memory",
                          .unit = "B",
                          .key = "peak_memory_bytes",
                          .needs_peaks = true,
                          .joint = BERTH_N_JOINT,
                          .quantity = BERTH_BYTES,
                          .value = peak_of,
                          .bound = peak_bound},
};

double berth_metric_figure(berth_metric m, double value)
{
	return berth_metrics[m].per ? 1 / value : value;
}

const char *berth_metric_text(berth_metric m, double value, char buf[64])
{
	if (berth_metrics[m].quantity == BERTH_BYTES && fabs(value) < 0x1p62)
		return berth_text_bytes_exact(buf, (int64_t)value);
	snprintf(buf, 64, "%.6g %s", value, berth_metrics[m].unit);
	return buf;
}

static const char *limit_sign(berth_metric m)
{
	return berth_metrics[m].per ? ">=" : "<=";
}

berth_status berth_metric_parse(const char *name, berth_metric *out, berth_err *err)
{
	const char *known[BERTH_N_METRICS];
	int32_t at;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		known[m] = berth_metrics[m].name;
	BERTH_TRY(berth_text_find(known, BERTH_N_METRICS, name, "objective", NULL, &at, err));
	*out = (berth_metric)at;
	return BERTH_OK;
}

berth_status berth_metric_check(berth_metric m, const berth_problem *p, berth_err *err)
{
	if (!berth_metrics[m].needs_watts || p->has_energy)
		return BERTH_OK;
	if (!p->s->cost_model->has_energy)
		return berth_fail(err, BERTH_EFORMAT, "objective %s is not defined under the cost model %s",
		                  berth_metrics[m].name, p->s->cost_model->name);
	for (int32_t d = 0; d < p->n_devs; d++)
		if (isnan(p->s->dev_idle_w[d]) || isnan(p->s->dev_busy_w[d]))
			return berth_fail(err, BERTH_EFORMAT,
			                  "objective %s needs idle_w and busy_w on every device; '%s' of "
			                  "system '%s' has none",
			                  berth_metrics[m].name, p->s->dev_name[d], p->s->name);
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
	const char *end;
	double x = berth_text_number(r->at, &end);
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
	                            berth_metrics[m].name);
}

/* A figure above 0 with a unit of the metric, or none. */
static berth_status read_figure(parser *r, berth_metric m, double *out)
{
	char units[96];
	const char *from = r->at, *end;
	*out = berth_unit_number(berth_metrics[m].quantity, r->at, &end);
	berth_unit_names(berth_metrics[m].quantity, units);
	if (isnan(*out) && end != from)
		return berth_fail(r->err, BERTH_EINVAL,
		                  "objective: '%.40s' is no limit on %s; units: %s", from,
		                  berth_metrics[m].name, *units ? units : "none");
	if (!isfinite(*out) || !(*out > 0))
		return berth_fail(r->err, BERTH_EINVAL,
		                  "objective: '%.40s' is no limit on %s; expected a number above 0", from,
		                  berth_metrics[m].name);
	r->at = end;
	skip(r);
	return BERTH_OK;
}

static berth_status read_limit(parser *r)
{
	berth_metric m = BERTH_LATENCY;
	double x;
	BERTH_TRY(read_metric(r, &m));
	const char *sign = limit_sign(m), *name = berth_metrics[m].name, *per = berth_metrics[m].per;
	if (!take(r, sign))
		return berth_fail(r->err, BERTH_EINVAL,
		                  "objective: a limit on %s is written %s%sFIGURE%s%s%s", name, name, sign,
		                  per ? ", in " : "", per ? per : "", per ? "s a second" : "");
	const char *from = r->at;
	BERTH_TRY(read_figure(r, m, &x));
	if (r->o.limits[m])
		return berth_fail(r->err, BERTH_EINVAL, "objective: two limits on %s", name);
	r->o.limits[m] = true;
	r->asked[m] = x;
	r->o.most[m] = berth_metric_figure(m, r->asked[m]);
	if (!isnormal(r->o.most[m]))
		return berth_fail(r->err, BERTH_EINVAL,
		                  "objective: the limit '%.40s' on %s is too small or too large", from,
		                  name);
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
		                      berth_metrics[m].name);
	}
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		if (!o->limits[m])
			continue;
		n += (size_t)snprintf(o->text + n, sizeof o->text - n, "%s%s%s%s", any ? "," : ":",
		                      berth_metrics[m].name, limit_sign((berth_metric)m),
		                      berth_text_double(number, asked[m]));
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
	if (*r->at)
		return berth_fail(r->err, BERTH_EINVAL,
		                  "objective: '%.40s' was not expected; the form is METRIC or "
		                  "W*METRIC+W*METRIC, then :METRIC<=LIMIT%s",
		                  r->at, *r->at == ',' ? "; two at once: place --pareto A,B" : "");
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
	snprintf(o.text, sizeof o.text, "%s", berth_metrics[m].name);
	return o;
}

const char *berth_objective_name(const berth_objective *o)
{
	return o->text[0] ? o->text : berth_metrics[BERTH_LATENCY].name;
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

const berth_metric_row *berth_objective_metric(const berth_objective *o)
{
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (berth_objective_is(o, (berth_metric)m))
			return &berth_metrics[m];
	return NULL;
}

const char *berth_objective_unit(const berth_objective *o)
{
	const berth_metric_row *m = berth_objective_metric(o);
	return m ? m->unit : "";
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

bool berth_objective_needs_peaks(const berth_objective *o)
{
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (berth_metrics[m].needs_peaks && (o->sums[m] || o->limits[m]))
			return true;
	return false;
}

berth_objective berth_objective_of_plan(const char *text, const berth_problem *p)
{
	parser r = {.at = text ? text : berth_metrics[BERTH_LATENCY].name};
	berth_objective *o = &r.o;
	bool known = true;
	if (read_objective(&r) != BERTH_OK)
		return berth_objective_of(BERTH_LATENCY);
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		bool told = berth_metric_check((berth_metric)m, p, NULL) == BERTH_OK;
		known = known && (told || !o->sums[m]);
		o->limits[m] = o->limits[m] && told;
	}
	for (int m = 0; m < BERTH_N_METRICS && !known; m++) {
		o->sums[m] = m == BERTH_LATENCY;
		o->weight[m] = o->sums[m];
	}
	write_text(o, r.asked);
	return *o;
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
			metric[m] = berth_metrics[m].value(r);
	return berth_objective_sum(o, metric);
}

double berth_objective_excess(const berth_objective *o, const berth_sim_result *r)
{
	double excess = 0;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (o->limits[m]) {
			double x = berth_metrics[m].value(r);
			excess += x > o->most[m] ? fmax(x / o->most[m] - 1, 1e-15) : 0;
		}
	return excess;
}
