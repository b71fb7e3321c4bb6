/* Questions to an engine and the checks of its answers. */
#include "measured.h"

#include "graph_json.h"
#include "threads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double clock_slack = 1.02, clock_slack_s = 1e-3;

berth_measured_cfg berth_measured_cfg_default(void)
{
	return (berth_measured_cfg){.engine = {.name = "engine", .hello_s = 60},
	                            .load_s = 300,
	                            .answer_s = 120,
	                            .max_starts = 20};
}

/* ---- asking ---- */

/* An answer on its way to be read. */
typedef struct answer {
	berth_measured *m;
	cJSON *item;
	berth_json at;
	double took_s;
	const char *question, *text; /* where both are to be noted; else NULL */
} answer;

static berth_status ask_engine(berth_measured *m, berth_json_out *w, double limit_s, answer *a,
                               berth_err *err)
{
	double from = berth_wall_seconds();
	berth_status st = berth_engine_ask(m->engine, w, limit_s, &a->item, err);
	a->took_s = berth_wall_seconds() - from;
	a->at = (berth_json){.item = a->item, .file = "answer"};
	return st;
}

/* The question without its number. w stays open. */
static berth_status question_text(const berth_json_out *w, const char **text, berth_err *err)
{
	berth_json_out copy = *w;
	size_t len;
	berth_json_close(&copy, '}');
	BERTH_TRY(berth_json_done(&copy, text, &len, err));
	*text = strstr(*text, "\"do\"");
	return BERTH_OK;
}

/* What the journal says was answered. */
static berth_status recall(const char *text, answer *a, berth_err *err)
{
	int32_t failed = 0;
	const char *message = "";
	BERTH_TRY(berth_json_parse("journal", text, strlen(text), &a->item, err));
	a->at = (berth_json){.item = a->item, .file = "answer"};
	a->took_s = INFINITY; /* its times were believed once */
	if (cJSON_GetObjectItemCaseSensitive(a->item, "ok") ||
	    berth_json_int(&a->at, "failed", true, 1, 99, &failed, NULL) != BERTH_OK ||
	    berth_json_string(&a->at, "message", true, &message, NULL) != BERTH_OK)
		return BERTH_OK;
	return berth_fail(err, (berth_status)failed, "%s", message);
}

/* The item as text for the journal, and read from it: numbers as they will be read again, to the bit. */
static berth_status as_noted(answer *a, berth_arena *tmp, berth_err *err)
{
	char *text = cJSON_PrintUnformatted(a->item);
	a->text = text ? berth_arena_strdup(tmp, text) : NULL;
	cJSON_free(text);
	cJSON_Delete(a->item);
	a->item = NULL;
	BERTH_TRY(a->text ? berth_json_parse("answer", a->text, strlen(a->text), &a->item, err)
	                  : berth_nomem(err));
	a->at.item = a->item;
	return BERTH_OK;
}

/* Ask the journal, else the engine. settle has to follow, whatever comes. */
static berth_status ask(berth_measured *m, berth_json_out *w, double limit_s, berth_arena *tmp, answer *a,
                        berth_err *err)
{
	const char *question, *known;
	*a = (answer){.m = m};
	if (!m->cfg.journal)
		return ask_engine(m, w, limit_s, a, err);
	BERTH_TRY(question_text(w, &question, err));
	if ((known = berth_journal_answer(m->cfg.journal, question)))
		return recall(known, a, err);
	a->question = question;
	BERTH_TRY(ask_engine(m, w, limit_s, a, err));
	return as_noted(a, tmp, err);
}

static berth_status note_failure(const answer *a, berth_status st, const berth_err *why, berth_err *err)
{
	cJSON *item = cJSON_CreateObject();
	bool made = cJSON_AddNumberToObject(item, "failed", st) &&
	            cJSON_AddStringToObject(item, "message", why->msg);
	char *text = made ? cJSON_PrintUnformatted(item) : NULL;
	berth_status noted =
		text ? berth_journal_add(a->m->cfg.journal, a->question, text, err) : berth_nomem(err);
	cJSON_free(text);
	cJSON_Delete(item);
	return noted;
}

/* The end of a question: st is what came of asking and reading, why its message. Now that the answer was
 * judged the journal gets to know it; an end from outside is no outcome. */
static berth_status settle(answer *a, berth_status st, const berth_err *why, berth_err *err)
{
	berth_status noted = BERTH_OK;
	bool outcome = st != BERTH_ENOMEM && st != BERTH_EINTERRUPTED;
	a->m->failures += st == BERTH_EIO || st == BERTH_ELIMIT;
	if (a->question && outcome)
		noted = st == BERTH_OK ? berth_journal_add(a->m->cfg.journal, a->question, a->text, err)
		                       : note_failure(a, st, why, err);
	cJSON_Delete(a->item);
	a->item = NULL;
	a->m->unwritten |= noted != BERTH_OK;
	BERTH_TRY(noted);
	return st == BERTH_OK ? BERTH_OK : berth_fail(err, st, "%s", why->msg);
}

/* The engine's answer has no sense; what says where. */
static berth_status lied(const answer *a, berth_err *err, const char *what)
{
	return berth_engine_lied(a->m->engine, err, "gave a bad answer: %s", what);
}

/* The device of the system that the answer speaks of. */
static berth_status device_of(const answer *a, int32_t engine_dev, int32_t *dev, berth_err *err)
{
	*dev = a->m->engine_sys[engine_dev];
	return *dev >= 0 ? BERTH_OK : lied(a, err, "it used a device that the system lacks");
}

/* st of reading: what is no number where one should be is the engine's fault. */
static berth_status sense(const answer *a, berth_status st, const berth_err *why, berth_err *err)
{
	return st == BERTH_EFORMAT ? lied(a, err, why->msg)
	       : st == BERTH_OK    ? BERTH_OK
	                           : berth_fail(err, st, "%s", why->msg);
}

static berth_status list_of(const answer *a, const berth_json *at, const char *key, int32_t n,
                            berth_json *out, berth_err *err)
{
	berth_err why = {0};
	char text[160];
	BERTH_TRY(sense(a, berth_json_array(at, key, true, out, &why), &why, err));
	if (n >= 0 && cJSON_GetArraySize(out->item) != n) {
		snprintf(text, sizeof text, "\"%s\" has %d entries; %d were expected", key,
		         cJSON_GetArraySize(out->item), n);
		return lied(a, err, text);
	}
	return BERTH_OK;
}

static berth_status whole_number(const answer *a, const berth_json *at, const char *key, int32_t below,
                                 int32_t *out, berth_err *err)
{
	berth_err why = {0};
	return sense(a, berth_json_int(at, key, true, 0, below - 1, out, &why), &why, err);
}

/* n seconds >= 0, null where missing_ok: NAN. *out NULL goes for a missing list where missing_ok: all NAN. */
static berth_status seconds(const answer *a, const berth_json *at, const char *key, int32_t n,
                            bool missing_ok, berth_arena *mem, double **out, berth_err *err)
{
	berth_json list;
	const cJSON *item;
	int32_t i = 0;
	double sum = 0;
	BERTH_TRY(BERTH_NEW(mem, *out, n, err));
	for (int32_t k = 0; k < n; k++)
		(*out)[k] = NAN;
	if (missing_ok && !cJSON_GetObjectItemCaseSensitive(at->item, key))
		return BERTH_OK;
	BERTH_TRY(list_of(a, at, key, n, &list, err));
	cJSON_ArrayForEach(item, list.item)
	{
		if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble < 0)
			return lied(a, err, "a time is no number of seconds >= 0");
		(*out)[i++] = item->valuedouble;
		sum += item->valuedouble;
	}
	if (!missing_ok && strcmp(berth_engine_says(a->m->engine)->clock, "wall") == 0 &&
	    sum > a->took_s * clock_slack + clock_slack_s) {
		char text[128];
		snprintf(text, sizeof text, "its times add up to %g s, but the answer took %g s", sum,
		         a->took_s);
		return lied(a, err, text);
	}
	return BERTH_OK;
}

/* ---- opening ---- */

static int32_t engine_dev_called(const berth_measured *m, const char *name)
{
	for (int32_t d = 0; d < m->n_engine_devs; d++)
		if (strcmp(m->engine_dev[d], name) == 0)
			return d;
	return -1;
}

static berth_status match_devices(berth_measured *m, berth_err *err)
{
	const berth_engine_hello *h = berth_engine_says(m->engine);
	m->n_engine_devs = h->n_devs;
	BERTH_TRY(BERTH_NEW(m->mem, m->engine_dev, h->n_devs, err));
	BERTH_TRY(BERTH_NEW(m->mem, m->engine_sys, h->n_devs, err));
	BERTH_TRY(BERTH_NEW(m->mem, m->dev_engine, m->s ? m->s->n_devs : 0, err));
	for (int32_t d = 0; d < h->n_devs; d++) {
		m->engine_dev[d] = h->dev[d].name;
		m->engine_sys[d] = m->s ? berth_system_find_dev(m->s, h->dev[d].name) : -1;
	}
	for (int32_t d = 0; m->s && d < m->s->n_devs; d++)
		m->dev_engine[d] = engine_dev_called(m, m->s->dev_name[d]);
	return BERTH_OK;
}

/* After a new start the engine must have the devices that it had. */
static berth_status same_devices(berth_measured *m, berth_err *err)
{
	const berth_engine_hello *h = berth_engine_says(m->engine);
	bool same = h->n_devs == m->n_engine_devs;
	for (int32_t d = 0; same && d < h->n_devs; d++)
		same = strcmp(h->dev[d].name, m->engine_dev[d]) == 0;
	return same ? BERTH_OK
	            : berth_engine_lied(m->engine, err, "has other devices than at its first start");
}

static berth_status load_graph(berth_measured *m, berth_arena *tmp, berth_err *err)
{
	berth_json_out w;
	answer a = {.m = m};
	int32_t n_ops = 0;
	berth_engine_question(m->engine, "load", &w, tmp);
	berth_json_put_string(&w, "model", m->cfg.model);
	if (m->cfg.n_dims) {
		berth_json_open(&w, "dims", '[');
		for (int32_t i = 0; i < m->cfg.n_dims; i++)
			berth_json_put_string(&w, NULL, m->cfg.dim[i]);
		berth_json_close(&w, ']');
	}
	berth_json_put_document(&w, "graph", m->graph_json);
	BERTH_TRY(ask_engine(m, &w, m->cfg.load_s, &a, err));
	berth_status st = whole_number(&a, &a.at, "ops", INT32_MAX, &n_ops, err);
	cJSON_Delete(a.item);
	BERTH_TRY(st);
	if (n_ops != m->g->n_ops)
		return berth_engine_lied(m->engine, err, "loaded %d operators; the graph has %d", n_ops,
		                         m->g->n_ops);
	m->loaded_start = berth_engine_starts(m->engine);
	return BERTH_OK;
}

/* A living engine that has the graph. */
static berth_status ready(berth_measured *m, berth_arena *tmp, berth_err *err)
{
	if (!berth_engine_runs(m->engine) && berth_engine_starts(m->engine) >= m->cfg.max_starts)
		return berth_engine_fail(
			err, BERTH_EIO,
			"engine '%.60s' was started %d times and died each time; it is given up",
			berth_engine_name(m->engine), m->cfg.max_starts);
	BERTH_TRY(berth_engine_revive(m->engine, err));
	if (!m->g || m->loaded_start == berth_engine_starts(m->engine))
		return BERTH_OK;
	BERTH_TRY(same_devices(m, err));
	return load_graph(m, tmp, err);
}

berth_status berth_measured_open(const berth_measured_cfg *cfg, const berth_graph *g, const berth_system *s,
                                 berth_arena *mem, berth_measured *out, berth_err *err)
{
	berth_arena tmp = {.hook = mem->hook};
	size_t len;
	*out = (berth_measured){.cfg = *cfg, .g = g, .s = s, .mem = mem};
	if (g)
		BERTH_TRY(berth_graph_write_json(g, false, mem, &out->graph_json, &len, err));
	BERTH_TRY(berth_engine_start(&cfg->engine, mem, &out->engine, err));
	berth_status st = match_devices(out, err);
	if (st == BERTH_OK && g)
		st = load_graph(out, &tmp, err);
	berth_arena_free(&tmp);
	if (st != BERTH_OK)
		berth_measured_close(out);
	return st;
}

void berth_measured_close(berth_measured *m)
{
	berth_engine_stop(m->engine);
	m->engine = NULL;
}

/* ---- running ---- */

static berth_status no_device(const berth_measured *m, int32_t dev, berth_err *err)
{
	char names[200] = "";
	size_t n = 0;
	for (int32_t d = 0; d < m->n_engine_devs && n < sizeof names - 40; d++)
		n += (size_t)snprintf(names + n, sizeof names - n, "%s%.30s", d ? ", " : "",
		                      m->engine_dev[d]);
	return berth_engine_fail(err, BERTH_EINFEASIBLE, "engine '%.60s' has no device '%.60s' (it has %s)",
	                         berth_engine_name(m->engine), m->s->dev_name[dev], names);
}

static berth_status check_devices(const berth_measured *m, const int32_t *op_dev, berth_err *err)
{
	for (int32_t i = 0; i < m->g->n_ops; i++)
		if (m->dev_engine[op_dev[i]] < 0)
			return no_device(m, op_dev[i], err);
	return BERTH_OK;
}

static berth_status read_samples(const answer *a, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                 berth_measurement *out, berth_err *err)
{
	out->n_samples = repeats;
	BERTH_TRY(seconds(a, &a->at, "wall_s", repeats, false, mem, &out->wall_s, err));
	BERTH_TRY(seconds(a, &a->at, "cpu_s", repeats, true, mem, &out->cpu_s, err));
	BERTH_TRY(seconds(a, &a->at, "strain", repeats, true, mem, &out->strain, err));
	return berth_spread_of(out->wall_s, repeats, tmp, &out->wall, err);
}

static berth_status read_segment_ops(const answer *a, const berth_json *at, const int32_t *op_dev, bool *seen,
                                     berth_arena *mem, berth_segment *s, berth_err *err)
{
	berth_json list;
	const cJSON *item;
	BERTH_TRY(list_of(a, at, "ops", -1, &list, err));
	if (!cJSON_GetArraySize(list.item))
		return lied(a, err, "a segment has no operators");
	BERTH_TRY(BERTH_NEW(mem, s->op, cJSON_GetArraySize(list.item), err));
	cJSON_ArrayForEach(item, list.item)
	{
		double x = cJSON_IsNumber(item) ? item->valuedouble : -1;
		if (!(x >= 0 && x < a->m->g->n_ops) || x != floor(x) || seen[(int32_t)x])
			return lied(a, err, "the segments do not hold each operator once");
		if (op_dev[(int32_t)x] != s->dev)
			return lied(a, err, "an operator ran on another device than it was asked to");
		seen[(int32_t)x] = true;
		s->op[s->n_ops++] = (int32_t)x;
	}
	return BERTH_OK;
}

static berth_status read_segment(const answer *a, const berth_json *at, const int32_t *op_dev,
                                 const berth_measurement *run, bool *seen, berth_arena *mem, berth_segment *s,
                                 berth_err *err)
{
	int32_t dev = 0, n = run->n_samples;
	BERTH_TRY(whole_number(a, at, "device", a->m->n_engine_devs, &dev, err));
	BERTH_TRY(device_of(a, dev, &s->dev, err));
	BERTH_TRY(read_segment_ops(a, at, op_dev, seen, mem, s, err));
	BERTH_TRY(seconds(a, at, "start_s", n, false, mem, &s->start_s, err));
	BERTH_TRY(seconds(a, at, "end_s", n, false, mem, &s->end_s, err));
	BERTH_TRY(seconds(a, at, "cpu_s", n, true, mem, &s->cpu_s, err));
	for (int32_t i = 0; i < n; i++)
		if (s->start_s[i] > s->end_s[i] || s->end_s[i] > run->wall_s[i] + clock_slack_s)
			return lied(a, err, "a segment ends before it starts or after the run");
	return BERTH_OK;
}

static berth_status read_segments(const answer *a, const int32_t *op_dev, berth_arena *mem, berth_arena *tmp,
                                  berth_measurement *out, berth_err *err)
{
	berth_json list;
	const cJSON *item;
	bool *seen;
	int32_t sum = 0;
	BERTH_TRY(list_of(a, &a->at, "segments", -1, &list, err));
	BERTH_TRY(BERTH_NEW(mem, out->segment, cJSON_GetArraySize(list.item), err));
	BERTH_TRY(BERTH_NEW(tmp, seen, a->m->g->n_ops, err));
	cJSON_ArrayForEach(item, list.item)
	{
		berth_json at = berth_json_at(&list, item, out->n_segments);
		berth_segment *s = &out->segment[out->n_segments++];
		BERTH_TRY(read_segment(a, &at, op_dev, out, seen, mem, s, err));
		sum += s->n_ops;
	}
	return sum == a->m->g->n_ops ? BERTH_OK : lied(a, err, "the segments do not hold each operator once");
}

/* "difference": the largest, relative to the largest output; "differs": true where the engine finds it too
 * large. */
static berth_status read_difference(const answer *a, berth_measurement *out, berth_err *err)
{
	berth_err why = {0};
	bool differs = false;
	out->max_difference = NAN;
	BERTH_TRY(sense(a, berth_json_number(&a->at, "difference", false, 0, &out->max_difference, &why),
	                &why, err));
	BERTH_TRY(sense(a, berth_json_bool(&a->at, "differs", &differs, &why), &why, err));
	if (differs)
		return berth_engine_fail(err, BERTH_EFORMAT,
		                         "engine '%.60s': the outputs of this placement differ from the "
		                         "unsplit model's by %g of the largest",
		                         berth_engine_name(a->m->engine), out->max_difference);
	return BERTH_OK;
}

static void put_repeats(berth_json_out *w, int32_t warmup, int32_t repeats)
{
	berth_json_put_int(w, "warmup", warmup);
	berth_json_put_int(w, "repeats", repeats);
}

static void put_placement(const berth_measured *m, berth_json_out *w, const int32_t *op_dev,
                          const int32_t *order)
{
	berth_json_open(w, "placement", '[');
	for (int32_t i = 0; i < m->g->n_ops; i++)
		berth_json_put_int(w, NULL, m->dev_engine[op_dev[i]]);
	berth_json_close(w, ']');
	if (!order)
		return;
	berth_json_open(w, "order", '[');
	for (int32_t i = 0; i < m->g->n_ops; i++)
		berth_json_put_int(w, NULL, order[i]);
	berth_json_close(w, ']');
}

static berth_status run_placement(berth_measured *m, const int32_t *op_dev, const int32_t *order,
                                  int32_t warmup, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                  berth_measurement *out, berth_err *err)
{
	berth_json_out w;
	answer a;
	berth_err why = {0};
	BERTH_TRY(check_devices(m, op_dev, err));
	BERTH_TRY(ready(m, tmp, err));
	berth_engine_question(m->engine, "run", &w, tmp);
	put_placement(m, &w, op_dev, order);
	put_repeats(&w, warmup, repeats);
	m->runs += warmup + repeats;
	berth_status st = ask(m, &w, m->cfg.answer_s, tmp, &a, &why);
	if (st == BERTH_OK)
		st = read_difference(&a, out, &why);
	if (st == BERTH_OK)
		st = read_samples(&a, repeats, mem, tmp, out, &why);
	if (st == BERTH_OK)
		st = read_segments(&a, op_dev, mem, tmp, out, &why);
	return settle(&a, st, &why, err);
}

berth_status berth_measured_run(berth_measured *m, const int32_t *op_dev, const int32_t *order,
                                int32_t warmup, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                berth_measurement *out, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_measurement r = {0};
	berth_status st = run_placement(m, op_dev, order, warmup, repeats, mem, tmp, &r, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = r;
	return st;
}

/* ---- operators ---- */

static berth_status read_operator(const answer *a, const berth_json *at, const int32_t *op_dev, bool *seen,
                                  berth_arena *mem, berth_operator_time *x, berth_err *err)
{
	berth_err why = {0};
	int32_t dev = 0;
	const char *kernel = "";
	*x = (berth_operator_time){.op = -1, .in = -1};
	BERTH_TRY(sense(a, berth_json_int(at, "op", false, 0, a->m->g->n_ops - 1, &x->op, &why), &why, err));
	BERTH_TRY(sense(a, berth_json_int(at, "in", false, 0, a->m->g->n_ops - 1, &x->in, &why), &why, err));
	BERTH_TRY(whole_number(a, at, "device", a->m->n_engine_devs, &dev, err));
	BERTH_TRY(sense(a, berth_json_string(at, "kernel", false, &kernel, &why), &why, err));
	BERTH_TRY(sense(a, berth_json_number(at, "start_s", true, 0, &x->start_s, &why), &why, err));
	BERTH_TRY(sense(a, berth_json_number(at, "end_s", true, 0, &x->end_s, &why), &why, err));
	BERTH_TRY(device_of(a, dev, &x->dev, err));
	if (x->start_s > x->end_s || (x->op >= 0 && (seen[x->op] || op_dev[x->op] != x->dev)))
		return lied(a, err,
		            "an operator ends before it starts, runs twice or on another device than it was "
		            "asked to");
	if (x->op >= 0)
		seen[x->op] = true;
	x->kernel = berth_arena_strdup(mem, kernel);
	return x->kernel ? BERTH_OK : berth_nomem(err);
}

static berth_status read_operators(const answer *a, const int32_t *op_dev, berth_arena *mem, berth_arena *tmp,
                                   berth_operator_time **rows, int32_t *n, berth_err *err)
{
	berth_json list;
	const cJSON *item;
	bool *seen;
	*n = 0;
	if (!cJSON_GetObjectItemCaseSensitive(a->at.item, "operators"))
		return BERTH_OK;
	BERTH_TRY(list_of(a, &a->at, "operators", -1, &list, err));
	BERTH_TRY(BERTH_NEW(mem, *rows, cJSON_GetArraySize(list.item), err));
	BERTH_TRY(BERTH_NEW(tmp, seen, a->m->g->n_ops, err));
	cJSON_ArrayForEach(item, list.item)
	{
		berth_json at = berth_json_at(&list, item, *n);
		BERTH_TRY(read_operator(a, &at, op_dev, seen, mem, &(*rows)[*n], err));
		++*n;
	}
	return BERTH_OK;
}

static berth_status run_operators(berth_measured *m, const int32_t *op_dev, const int32_t *order,
                                  berth_arena *mem, berth_arena *tmp, berth_operator_time **rows, int32_t *n,
                                  berth_err *err)
{
	berth_json_out w;
	answer a;
	berth_err why = {0};
	BERTH_TRY(check_devices(m, op_dev, err));
	BERTH_TRY(ready(m, tmp, err));
	berth_engine_question(m->engine, "run", &w, tmp);
	put_placement(m, &w, op_dev, order);
	put_repeats(&w, 0, 1);
	berth_json_put_bool(&w, "operators", true);
	m->runs++;
	berth_status st = ask(m, &w, m->cfg.answer_s, tmp, &a, &why);
	if (st == BERTH_OK)
		st = read_operators(&a, op_dev, mem, tmp, rows, n, &why);
	return settle(&a, st, &why, err);
}

berth_status berth_measured_operators(berth_measured *m, const int32_t *op_dev, const int32_t *order,
                                      berth_arena *mem, berth_arena *tmp, berth_operator_time **rows,
                                      int32_t *n, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = run_operators(m, op_dev, order, mem, tmp, rows, n, err);
	berth_arena_reset(tmp, mark);
	return st;
}

static berth_status run_whole(berth_measured *m, int32_t threads, int32_t warmup, int32_t repeats,
                              berth_arena *mem, berth_arena *tmp, berth_measurement *out, berth_err *err)
{
	berth_json_out w;
	answer a;
	berth_err why = {0};
	BERTH_TRY(ready(m, tmp, err));
	berth_engine_question(m->engine, "whole", &w, tmp);
	berth_json_put_int(&w, "threads", threads);
	put_repeats(&w, warmup, repeats);
	m->runs += warmup + repeats;
	berth_status st = ask(m, &w, m->cfg.answer_s, tmp, &a, &why);
	if (st == BERTH_OK)
		st = read_samples(&a, repeats, mem, tmp, out, &why);
	return settle(&a, st, &why, err);
}

berth_status berth_measured_whole(berth_measured *m, int32_t threads, int32_t warmup, int32_t repeats,
                                  berth_arena *mem, berth_arena *tmp, berth_measurement *out, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_measurement r = {.max_difference = NAN};
	berth_status st = run_whole(m, threads, warmup, repeats, mem, tmp, &r, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = r;
	return st;
}

/* ---- profiling ---- */

/* The engine failed and may be started anew: one failure shall not cost a whole profile. */
static bool may_ask_again(const berth_measured *m, berth_status st)
{
	return (st == BERTH_EIO || st == BERTH_ELIMIT) && berth_engine_starts(m->engine) < m->cfg.max_starts;
}

static berth_status read_profile_row(const answer *a, const berth_json *at, int32_t op, int32_t dev,
                                     int32_t repeats, berth_arena *mem, berth_profile_row *row,
                                     berth_err *err)
{
	int32_t said = 0;
	*row = (berth_profile_row){.op = op, .dev = dev};
	BERTH_TRY(whole_number(a, at, "op", a->m->g->n_ops, &said, err));
	if (said != op)
		return lied(a, err, "it profiled another operator than was asked for");
	if (cJSON_GetObjectItemCaseSensitive(at->item, "cannot"))
		return BERTH_OK;
	row->n = repeats;
	BERTH_TRY(seconds(a, at, "wall_s", repeats, false, mem, &row->wall_s, err));
	return seconds(a, at, "cpu_s", repeats, true, mem, &row->cpu_s, err);
}

static berth_status read_profile(const answer *a, const int32_t *ops, int32_t n, int32_t dev, int32_t repeats,
                                 berth_arena *mem, berth_profile_row **rows,
                                 berth_engine_overheads *overheads, berth_err *err)
{
	berth_err why = {0};
	berth_json list;
	const cJSON *item;
	int32_t i = 0;
	*overheads = (berth_engine_overheads){NAN, NAN};
	BERTH_TRY(sense(a, berth_json_number(&a->at, "run_overhead_s", false, 0, &overheads->run_s, &why),
	                &why, err));
	BERTH_TRY(sense(
		a, berth_json_number(&a->at, "segment_overhead_s", false, 0, &overheads->segment_s, &why),
		&why, err));
	BERTH_TRY(list_of(a, &a->at, "rows", n, &list, err));
	BERTH_TRY(BERTH_NEW(mem, *rows, n, err));
	cJSON_ArrayForEach(item, list.item)
	{
		berth_json at = berth_json_at(&list, item, i);
		BERTH_TRY(read_profile_row(a, &at, ops ? ops[i] : i, dev, repeats, mem, &(*rows)[i], err));
		i++;
	}
	return BERTH_OK;
}

static berth_status profile(berth_measured *m, const int32_t *ops, int32_t n, int32_t dev, int32_t warmup,
                            int32_t repeats, berth_arena *mem, berth_arena *tmp, berth_profile_row **rows,
                            berth_engine_overheads *overheads, berth_err *err)
{
	berth_json_out w;
	answer a;
	berth_err why = {0};
	if (m->dev_engine[dev] < 0)
		return no_device(m, dev, err);
	BERTH_TRY(ready(m, tmp, err));
	berth_engine_question(m->engine, "profile", &w, tmp);
	berth_json_put_int(&w, "device", m->dev_engine[dev]);
	berth_json_open(&w, "ops", '[');
	for (int32_t i = 0; i < n; i++)
		berth_json_put_int(&w, NULL, ops ? ops[i] : i);
	berth_json_close(&w, ']');
	put_repeats(&w, warmup, repeats);
	berth_status st = ask(m, &w, m->cfg.answer_s, tmp, &a, &why);
	if (st == BERTH_OK)
		st = read_profile(&a, ops, n, dev, repeats, mem, rows, overheads, &why);
	return settle(&a, st, &why, err);
}

berth_status berth_measured_profile(berth_measured *m, const int32_t *ops, int32_t n, int32_t dev,
                                    int32_t warmup, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                    berth_profile_row **rows, berth_engine_overheads *overheads,
                                    berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = profile(m, ops, n, dev, warmup, repeats, mem, tmp, rows, overheads, err);
	if (may_ask_again(m, st))
		st = profile(m, ops, n, dev, warmup, repeats, mem, tmp, rows, overheads, err);
	berth_arena_reset(tmp, mark);
	return st;
}

static berth_status read_transfers(const answer *a, int32_t from, int32_t to, const int64_t *bytes, int32_t n,
                                   int32_t repeats, berth_arena *mem, berth_transfer_row **rows,
                                   berth_err *err)
{
	berth_json list;
	const cJSON *item;
	int32_t i = 0;
	BERTH_TRY(list_of(a, &a->at, "rows", n, &list, err));
	BERTH_TRY(BERTH_NEW(mem, *rows, n, err));
	cJSON_ArrayForEach(item, list.item)
	{
		berth_json at = berth_json_at(&list, item, i);
		(*rows)[i] = (berth_transfer_row){.from = from, .to = to, .n = repeats, .bytes = bytes[i]};
		BERTH_TRY(seconds(a, &at, "wall_s", repeats, false, mem, &(*rows)[i].wall_s, err));
		i++;
	}
	return BERTH_OK;
}

static berth_status transfers(berth_measured *m, int32_t from, int32_t to, const int64_t *bytes, int32_t n,
                              int32_t repeats, berth_arena *mem, berth_arena *tmp, berth_transfer_row **rows,
                              berth_err *err)
{
	berth_json_out w;
	answer a;
	berth_err why = {0};
	if (m->dev_engine[from] < 0 || m->dev_engine[to] < 0)
		return no_device(m, m->dev_engine[from] < 0 ? from : to, err);
	BERTH_TRY(ready(m, tmp, err));
	berth_engine_question(m->engine, "transfers", &w, tmp);
	berth_json_put_int(&w, "from", m->dev_engine[from]);
	berth_json_put_int(&w, "to", m->dev_engine[to]);
	berth_json_open(&w, "bytes", '[');
	for (int32_t i = 0; i < n; i++)
		berth_json_put_int(&w, NULL, bytes[i]);
	berth_json_close(&w, ']');
	put_repeats(&w, 1, repeats);
	berth_status st = ask(m, &w, m->cfg.answer_s, tmp, &a, &why);
	if (st == BERTH_OK)
		st = read_transfers(&a, from, to, bytes, n, repeats, mem, rows, &why);
	return settle(&a, st, &why, err);
}

berth_status berth_measured_transfers(berth_measured *m, int32_t from, int32_t to, const int64_t *bytes,
                                      int32_t n, int32_t repeats, berth_arena *mem, berth_arena *tmp,
                                      berth_transfer_row **rows, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = transfers(m, from, to, bytes, n, repeats, mem, tmp, rows, err);
	if (may_ask_again(m, st))
		st = transfers(m, from, to, bytes, n, repeats, mem, tmp, rows, err);
	berth_arena_reset(tmp, mark);
	return st;
}

berth_status berth_measured_set_speed(berth_measured *m, int32_t dev, double speed, berth_arena *tmp,
                                      berth_err *err)
{
	berth_json_out w;
	answer a;
	berth_err why = {0};
	if (m->dev_engine[dev] < 0)
		return no_device(m, dev, err);
	BERTH_TRY(ready(m, tmp, err));
	berth_engine_question(m->engine, "set", &w, tmp);
	berth_json_put_int(&w, "device", m->dev_engine[dev]);
	berth_json_put_number(&w, "speed", speed);
	berth_status st = ask(m, &w, m->cfg.answer_s, tmp, &a, &why);
	return settle(&a, st, &why, err);
}
