/* See train_curves.h. */
#include "train_curves.h"

#include "file.h"

#include <math.h>
#include <string.h>

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

static void add(train_curves *x, int32_t item, const train_point *p)
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
	train_point p = {u->evaluations, u->best_value, u->bound, u->stats.mean, u->stats.entropy};
	if (x->curve && !u->is_taught)
		add(x, u->item, &p);
}

/* ---- a log ---- */

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

static void add_line(train_curves *x, const char *text, size_t len)
{
	cJSON *line = cJSON_ParseWithLength(text, len);
	int32_t item = item_of(x, line);
	double evaluations = number(line, "evaluations");
	if (item >= 0 && evaluations >= 0 && evaluations <= 0x1p53) {
		train_point p = {(int64_t)evaluations, number(line, "best_value"),
		                 number(line, "lower_bound"), number(line, "mean_reward"),
		                 number(line, "entropy")};
		add(x, item, &p);
	}
	cJSON_Delete(line);
}

static berth_status read_log(train_curves *x, const char *log, berth_arena *tmp, berth_err *err)
{
	char *text;
	size_t size;
	BERTH_TRY(berth_file_read(log, tmp, &text, &size, err));
	for (const char *at = text, *end; at < text + size; at = end + 1) {
		end = memchr(at, '\n', (size_t)(text + size - at));
		if (!end)
			break; /* a torn line */
		add_line(x, at, (size_t)(end - at));
	}
	return BERTH_OK;
}

berth_status train_curves_read(train_curves *x, const char *log, berth_arena *tmp, berth_err *err)
{
	bool there;
	BERTH_TRY(berth_file_there(log, &there, err));
	if (!there)
		return BERTH_OK;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = read_log(x, log, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}

/* ---- the page ---- */

/* Every how many points one is told. */
static int32_t step_of(const train_curve *c)
{
	return 1 + (c->n - 1) / TRAIN_CURVE_POINTS;
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

static void put_curve(berth_json_out *w, const berth_train_item *item, const train_curve *c)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "graph", item->graph);
	berth_json_put_string(w, "system", item->system);
	berth_json_open(w, "evaluations", '[');
	for (int32_t i = 0; i < c->n; i++)
		if ((c->n - 1 - i) % step_of(c) == 0)
			berth_json_put_int(w, NULL, c->point[i].evaluations);
	berth_json_close(w, ']');
	put_column(w, "best_value", c, offsetof(train_point, best_value));
	put_column(w, "lower_bound", c, offsetof(train_point, lower_bound));
	put_column(w, "mean_reward", c, offsetof(train_point, mean_reward));
	put_column(w, "entropy", c, offsetof(train_point, entropy));
	berth_json_close(w, '}');
}

/* What the curves do not show. */
static void put_left_out(berth_json_out *w, const train_curves *x, bool resumed)
{
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
}

berth_status train_curves_put(berth_json_out *w, const train_curves *x, bool resumed, berth_err *err)
{
	if (x->failed)
		return berth_nomem(err);
	berth_json_open(w, "curves", '[');
	for (int32_t i = 0; i < x->n_items; i++)
		put_curve(w, &x->item[i], &x->curve[i]);
	berth_json_close(w, ']');
	put_left_out(w, x, resumed);
	return BERTH_OK;
}
