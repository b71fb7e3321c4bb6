/* Rows of errors of predictions are read, the one that fits an engine, its devices and the kind of plan is
 * chosen, and rows of the user are kept. All rows are measurements. */
#include "engine_errors.h"

#include "engine_rules.h"
#include "file.h"
#include "statistics.h"

enum { CPU = 1, GPU = 2, OTHER = 4, ANY = 8, COLUMNS = 7, FEW = 10 };

/* A line of the file, in its words. */
typedef struct row {
	const char *word[COLUMNS]; /* engine, devices, plan, graph, count, error, from */
	double error;
	bool own; /* the user's */
} row;

typedef struct rows {
	row *item;
	size_t n, cap;
} rows;

static const char header[] = "engine,devices,plan,graph,count,error,from";

/* ---- reading ---- */

static berth_status add_line(rows *r, const char *file, int at, char *line, bool own, berth_arena *mem,
                             berth_err *err)
{
	row x = {.own = own};
	const char *end = "";
	for (int k = 0; k < COLUMNS; k++) {
		x.word[k] = line ? line : "";
		line = line && k < COLUMNS - 1 ? strchr(line, ',') : NULL;
		if (line)
			*line++ = '\0';
	}
	x.error = *x.word[5] ? berth_text_number(x.word[5], &end) : NAN;
	if (*end || !(x.error >= 0 && x.error <= 1))
		return berth_fail(err, BERTH_EFORMAT, "%s: line %d: '%.40s' is no error from 0 to 1", file,
		                  at, x.word[5]);
	return BERTH_PUSH(mem, r->item, r->n, &r->cap, err, x);
}

static berth_status parse(rows *r, const char *file, const char *text, size_t size, bool own,
                          berth_arena *mem, berth_err *err)
{
	char *copy = berth_arena_strndup(mem, text, size), *end;
	int at = 0;
	BERTH_TRY(berth_got(copy, err));
	for (char *line = copy; line; line = end) {
		at++;
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		if (*line && *line != '#' && strcmp(line, header) != 0)
			BERTH_TRY(add_line(r, file, at, line, own, mem, err));
	}
	return BERTH_OK;
}

/* The user's file, which need not be there; *path NULL: nor a place for it, or no file stands there. */
static berth_status parse_own(rows *r, berth_arena *mem, const char **path, berth_err *err)
{
	berth_err no_place = {0};
	char *text;
	size_t size;
	bool there;
	*path = NULL;
	berth_status st = berth_cache_path("engine_errors.csv", mem, path, &no_place);
	if (st == BERTH_EIO || (*path && berth_file_is_stream(*path))) {
		*path = NULL;
		return BERTH_OK;
	}
	BERTH_TRY(berth_got(*path, err));
	BERTH_TRY(berth_file_there(*path, &there, err));
	if (!there)
		return BERTH_OK;
	BERTH_TRY(berth_file_read(BERTH_READS_JOURNAL, *path, mem, &text, &size, err));
	return parse(r, *path, text, size, true, mem, err);
}

/* ---- choosing ---- */

static int kind_of(const berth_system *s, int32_t d)
{
	return berth_system_is(s, d, "cpu")                                    ? CPU
	       : berth_system_is(s, d, "gpu") || berth_system_is(s, d, "cuda") ? GPU
	                                                                       : OTHER;
}

static const char *name_of(int kinds)
{
	static const char *const name[] = {"",      "cpu",       "gpu",       "cpu+gpu",
	                                   "other", "cpu+other", "gpu+other", "cpu+gpu+other"};
	return name[kinds & (CPU | GPU | OTHER)];
}

static int kinds_of(const char *word)
{
	for (int k = CPU; k < ANY; k++)
		if (strcmp(word, name_of(k)) == 0)
			return k;
	return ANY;
}

/* How well a row fits, -1: not at all. The user's own are before those of brief operators. */
static int fit(const row *x, const char *engine, size_t n_engine, int kinds, const char *plan, bool brief)
{
	const int has = kinds_of(x->word[1]);
	int devices = has == kinds ? 1 : has == ANY ? 0 : -1;
	int own = strncmp(x->word[0], engine, n_engine) == 0 && !x->word[0][n_engine] ? 1
	          : strcmp(x->word[0], "*") == 0                                      ? 0
	                                                                              : -1;
	int same = strcmp(x->word[2], plan) == 0                  ? 4
	           : strcmp(x->word[2], "*") == 0                 ? 0
	           : brief && strcmp(x->word[2], "brief") == 0 ? 1
	                                                          : -1;
	const bool few = x->own && berth_text_digits(x->word[4], INT32_MAX, NULL) < FEW;
	return few || devices < 0 || own < 0 || same < 0 ? -1 : 16 * own + 8 * devices + same + 2 * x->own;
}

static berth_status choose(const rows *r, const char *engine, int kinds, const char *plan, bool brief,
                           berth_arena *tmp, berth_engine_error *out, berth_err *err)
{
	const size_t n_engine = strcspn(engine, ":");
	int best = 0;
	double sum = 0, *error;
	BERTH_TRY_NEW(tmp, r->n + 1, err, error);
	for (size_t i = 0; i < r->n; i++) {
		int f = fit(&r->item[i], engine, n_engine, kinds, plan, brief);
		if (f < best || f < 0)
			continue;
		out->n = f > best ? 0 : out->n;
		best = f;
		error[out->n++] = r->item[i].error;
	}
	for (int32_t i = 0; i < out->n; i++)
		sum += error[i];
	out->mean = out->n ? sum / out->n : 0;
	out->median = out->n ? berth_median(error, out->n, tmp) : 0;
	return isnan(out->median) ? berth_nomem(err) : BERTH_OK;
}

berth_status berth_engine_error_of(const char *engine, const berth_graph *g, const berth_system *s,
                                   const int32_t *op_dev, const char *devices, bool brief,
                                   berth_arena *tmp, berth_engine_error *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	rows r = {.n = 0};
	const char *path;
	int kinds = 0;
	bool one = true;
	*out = (berth_engine_error){.n = 0};
	for (int32_t op = 0; op < g->n_ops; op++) {
		kinds |= kind_of(s, op_dev[op]);
		one = one && op_dev[op] == op_dev[0];
	}
	BERTH_TRY(parse(&r, "engine_errors.csv", (const char *)berth_engine_errors_csv,
	                berth_engine_errors_csv_size, false, tmp, err));
	BERTH_TRY(parse_own(&r, tmp, &path, err));
	return choose(&r, engine, devices ? kinds_of(devices) : kinds, one ? "one" : "parted", brief, tmp,
	              out, err);
}

/* ---- keeping ---- */

static bool is_engine(const char *name)
{
	const berth_engine_rules *rules = NULL;
	berth_err unknown = {0};
	return berth_rules_find(name, &rules, &unknown) == BERTH_OK && rules;
}

/* A word of the file: what would end it is '_'. */
static const char *word_of(const char *text, berth_arena *mem)
{
	char *word = berth_arena_printf(mem, "%s", text);
	for (char *c = word; c && *c; c++)
		if (strchr(",\"\n\r", *c))
			*c = '_';
	return word;
}

static bool is_same(const row *x, const row *y)
{
	for (int k = 0; k < COLUMNS; k++)
		if (k != 4 && k != 5 && strcmp(x->word[k], y->word[k]) != 0)
			return false;
	return true;
}

static void put_row(berth_strbuf *b, const row *x)
{
	for (int k = 0; k < COLUMNS; k++)
		berth_strbuf_printf(b, "%s%s", x->word[k], k < COLUMNS - 1 ? "," : "\n");
}

static berth_status keep(const row *x, const rows *r, const char *path, berth_arena *tmp, berth_err *err)
{
	berth_strbuf b = {.mem = tmp};
	const char *text;
	size_t len;
	berth_strbuf_printf(&b, "%s\n", header);
	for (size_t i = 0; i < r->n; i++)
		if (!is_same(&r->item[i], x))
			put_row(&b, &r->item[i]);
	put_row(&b, x);
	BERTH_TRY(berth_strbuf_done(&b, &text, &len, err));
	BERTH_TRY(berth_make_folders(path, tmp, err));
	return berth_file_write(path, text, len, err);
}

berth_status berth_engine_errors_keep(const char *engine, const berth_system *s, const char *graph, int32_t n,
                                      const double *predicted, const double *measured, berth_arena *mem,
                                      berth_arena *tmp, const char **path, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	rows r = {.n = 0};
	double sum = 0;
	int kinds = 0;
	*path = NULL;
	if (n <= 0 || !is_engine(engine))
		return BERTH_OK;
	BERTH_TRY(parse_own(&r, mem, path, err));
	if (!*path)
		return BERTH_OK;
	for (int32_t d = 0; d < s->n_devs; d++)
		kinds |= kind_of(s, d);
	for (int32_t i = 0; i < n; i++)
		sum += 1 - fmin(predicted[i], measured[i]) / fmax(predicted[i], measured[i]);
	row x = {.word = {engine, name_of(kinds), "*", word_of(graph, tmp),
	                  berth_arena_printf(tmp, "%d", (int)n), berth_arena_printf(tmp, "%.4f", sum / n),
	                  word_of(s->name, tmp)}};
	for (int k = 0; k < COLUMNS; k++)
		BERTH_TRY(berth_got(x.word[k], err));
	return keep(&x, &r, *path, tmp, err);
}
