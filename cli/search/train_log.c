/* See train_log.h. */
#include "train_log.h"

#include "file.h"
#include "json.h"

#include <string.h>

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

/* ---- where a run goes on ---- */

/* The step of a line; 0: it is not whole. */
static double step_of(const char *line, size_t len)
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
		double of = step_of(at, (size_t)(end - at));
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
	BERTH_TRY(berth_file_read(log->path, tmp, &text, &size, err));
	return berth_append_cut(&log->file, (int64_t)before_step(text, size, step), err);
}

/* ---- lines ---- */

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

static berth_status add(train_log *log, const berth_train_update *u,
                        berth_arena *tmp, berth_err *err)
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
	add(log, u, &tmp, &log->why);
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
