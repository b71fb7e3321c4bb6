/* What is kept of the updates of a training: the log, one JSON line each, and curves for the page. A run that
 * goes on reads both out of the log that is there. */
#include "cmd_train.h"

enum { CURVE_POINTS = 1000 }; /* of a curve on the page, at most and about */

/* ---- the log ---- */

berth_status train_log_open(const char *path, bool resume, train_log *out, berth_err *err)
{
	*out = (train_log){.path = path, .resumed = resume};
	if (!path)
		return BERTH_OK;
	BERTH_TRY(berth_append_open(path, &out->file, err));
	berth_status st = resume ? BERTH_OK : berth_append_cut(&out->file, 0, err);
	if (st != BERTH_OK)
		berth_append_close(&out->file);
	return st;
}

/* The step of a line; 0: it is not whole. */
static double line_step(const char *line, size_t len)
{
	cJSON *item = cJSON_ParseWithLength(line, len);
	const cJSON *step = cJSON_GetObjectItemCaseSensitive(item, "step");
	double of = cJSON_IsNumber(step) ? step->valuedouble : 0;
	cJSON_Delete(item);
	return of;
}

/* Bytes of the lines before that of `step`. What follows a torn line, or one of a step that was there, does
 * not count. */
static size_t before_step(const char *text, size_t size, int64_t step)
{
	const char *at = text, *end;
	double last = 0;
	while ((end = memchr(at, '\n', (size_t)(text + size - at)))) {
		double of = line_step(at, (size_t)(end - at));
		if (!(of > last && of < (double)step))
			break;
		last = of;
		at = end + 1;
	}
	return (size_t)(at - text);
}

static berth_status go_on(train_log *log, int64_t step, berth_arena *tmp, berth_err *err)
{
	char *text;
	size_t size;
	BERTH_TRY(berth_file_read(BERTH_READS_LOG, log->path, tmp, &text, &size, err));
	return berth_append_cut(&log->file, (int64_t)before_step(text, size, step), err);
}

static void put_update(berth_json_out *w, const berth_train_update *u)
{
	const berth_step_stats *x = &u->stats;
	berth_json_open(w, NULL, '{');
	berth_json_put_int(w, "step", u->step);
	berth_json_put_int(w, "evaluations", u->evaluations);
	berth_json_put_string(w, "graph", u->graph);
	berth_json_put_string(w, "system", u->system);
	berth_json_put_number(w, "best_value", u->best_value);
	berth_json_put_number(w, "lower_bound", u->bound);
	berth_json_put_number(w, "mean_value", x->mean_value);
	berth_json_put_number(w, "best_reward", x->best);
	berth_json_put_number(w, "worst_reward", x->worst);
	berth_json_put_number(w, "mean_reward", x->mean);
	berth_json_put_int(w, "placements", x->n);
	berth_json_put_int(w, "feasible", x->feasible);
	berth_json_put_number(w, "policy_loss", x->policy_loss);
	berth_json_put_number(w, "clone_loss", x->clone_loss);
	berth_json_put_number(w, "kl", x->kl);
	berth_json_put_number(w, "clip_fraction", x->clip_fraction);
	berth_json_put_number(w, "entropy", x->entropy);
	berth_json_put_number(w, "grad_norm", x->grad_norm);
	berth_json_put_int(w, "flat_updates", u->flat);
	berth_json_put_bool(w, "collapsed", u->collapsed);
	berth_json_put_number(w, "evaluations_per_s", u->evaluations_per_s);
	berth_json_close(w, '}');
}

static berth_status add_line(train_log *log, const berth_train_update *u, berth_arena *tmp, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	bool goes_on = log->resumed && log->file.regular;
	log->resumed = false;
	if (goes_on)
		BERTH_TRY(go_on(log, u->step, tmp, err));
	berth_json_out_init(&w, tmp, false);
	put_update(&w, u);
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	char *line = berth_arena_printf(tmp, "%s\n", text);
	return line ? berth_append_add(&log->file, line, len + 1, err) : berth_nomem(err);
}

void train_log_add(train_log *log, const berth_train_update *u)
{
	berth_arena tmp = {0};
	if (!log->path || log->why.code != BERTH_OK)
		return;
	add_line(log, u, &tmp, &log->why);
	berth_arena_free(&tmp);
}

berth_status train_log_sync(train_log *log, berth_err *err)
{
	if (!log->path)
		return BERTH_OK;
	if (log->why.code != BERTH_OK)
		return berth_fail(err, log->why.code, "%s", log->why.msg);
	return berth_append_sync(&log->file, err);
}

void train_log_close(train_log *log)
{
	if (log->path)
		berth_append_close(&log->file);
}

/* ---- curves ---- */

berth_status train_curves_new(const berth_train_item *item, int32_t n_items, train_curves *out,
                              berth_err *err)
{
	*out = (train_curves){.item = item, .n_items = n_items};
	return BERTH_NEW(&out->mem, out->curve, n_items, err);
}

void train_curves_free(train_curves *x)
{
	berth_arena_free(&x->mem);
}

static void add_point(train_curves *x, int32_t item, const train_point *p)
{
	train_curve *c = &x->curve[item];
	if (x->failed)
		return;
	while (c->n && c->point[c->n - 1].evaluations >= p->evaluations)
		c->n--;
	if (BERTH_GROW(&x->mem, c->point, c->n, &c->cap, NULL) != BERTH_OK)
		x->failed = true;
	else
		c->point[c->n++] = *p;
}

void train_curves_add(train_curves *x, const berth_train_update *u)
{
	train_point p = {(double)u->evaluations, u->best_value, u->bound, u->stats.mean, u->stats.entropy};
	if (x->curve && !u->is_taught)
		add_point(x, u->item, &p);
}

static double number(const cJSON *line, const char *key)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(line, key);
	return cJSON_IsNumber(x) ? x->valuedouble : NAN;
}

/* The pair that a line is of; -1: none of these. */
static int32_t item_of(const train_curves *x, const cJSON *line)
{
	const char *graph = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, "graph"));
	const char *system = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, "system"));
	for (int32_t i = 0; graph && system && i < x->n_items; i++)
		if (strcmp(x->item[i].graph, graph) == 0 && strcmp(x->item[i].system, system) == 0)
			return i;
	return -1;
}

static berth_status read_log(train_curves *x, const char *log, berth_arena *tmp, berth_err *err)
{
	char *text;
	size_t size;
	BERTH_TRY(berth_file_read(BERTH_READS_LOG, log, tmp, &text, &size, err));
	for (const char *at = text, *end; at < text + size; at = end + 1) {
		end = memchr(at, '\n', (size_t)(text + size - at));
		if (!end)
			break; /* a torn line */
		size_t len = (size_t)(end - at);
		cJSON *line = cJSON_ParseWithLength(at, len);
		int32_t item = item_of(x, line);
		double evaluations = number(line, "evaluations");
		if (item >= 0 && evaluations >= 0 && evaluations <= 0x1p53) {
			train_point p = {evaluations, number(line, "best_value"), number(line, "lower_bound"),
			                 number(line, "mean_reward"), number(line, "entropy")};
			add_point(x, item, &p);
		}
		cJSON_Delete(line);
	}
	return BERTH_OK;
}

berth_status train_curves_read(train_curves *x, const char *log, berth_arena *tmp, berth_err *err)
{
	bool there;
	BERTH_TRY(berth_file_there(log, &there, err));
	if (!there)
		return BERTH_OK;
	BERTH_SCRATCH(tmp);
	return read_log(x, log, tmp, err);
}

/* Every how many points one is told. */
static int32_t step_of(const train_curve *c)
{
	return 1 + (c->n - 1) / CURVE_POINTS;
}

/* One column of a curve: every so many points, and the last one. */
static void put_column(berth_json_out *w, const char *key, const train_curve *c, size_t field)
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < c->n; i++)
		if ((c->n - 1 - i) % step_of(c) == 0) {
			const char *p = (const char *)&c->point[i] + field;
			double x;
			memcpy(&x, p, sizeof x);
			berth_json_put_number(w, NULL, x);
		}
	berth_json_close(w, ']');
}

berth_status train_curves_put(berth_json_out *w, const train_curves *x, bool resumed, berth_err *err)
{
	if (x->failed)
		return berth_nomem(err);
	berth_json_open(w, "curves", '[');
	for (int32_t i = 0; i < x->n_items; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "graph", x->item[i].graph);
		berth_json_put_string(w, "system", x->item[i].system);
		put_column(w, "evaluations", &x->curve[i], offsetof(train_point, evaluations));
		put_column(w, "best_value", &x->curve[i], offsetof(train_point, best_value));
		put_column(w, "lower_bound", &x->curve[i], offsetof(train_point, lower_bound));
		put_column(w, "mean_reward", &x->curve[i], offsetof(train_point, mean_reward));
		put_column(w, "entropy", &x->curve[i], offsetof(train_point, entropy));
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	/* What the curves do not show. */
	bool thinned = false;
	for (int32_t i = 0; i < x->n_items; i++)
		thinned |= step_of(&x->curve[i]) > 1;
	berth_json_open(w, "left_out", '[');
	if (thinned)
		berth_json_put_string(
			w, NULL, "Of long curves about a thousand points each are shown, at equal steps.");
	if (resumed)
		berth_json_put_string(
			w, NULL,
			"This training went on from a checkpoint. What came before is shown as far as "
			"the log of --log tells it.");
	berth_json_close(w, ']');
	return BERTH_OK;
}
