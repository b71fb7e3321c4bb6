/* What the readers of task graphs share: their options, operators and edges with times, and the text with
 * the place in it. */
#include "task_graph.h"

#include "spec.h"

#include <ctype.h>
#include <stdarg.h>

static const berth_spec_param params[] = {{"unit", "seconds of a unit of time", 1, 1e-12, 1e6, false, NULL},
                                          {"speed",
                                           "FLOP/s of the machine that times hold on; 0: every device", 0, 0,
                                           1e18, false, NULL},
                                          {"bandwidth", "bytes/s of the link that costs of edges hold on",
                                           1e9, 1, 1e18, false, NULL}};

berth_status berth_task_options_read(const char *file, const char *const *word, int32_t n, berth_arena *mem,
                                     berth_task_options *out, berth_err *err)
{
	const berth_spec_table t = {"task graph", "", params, sizeof params / sizeof *params};
	double value[BERTH_SPEC_PARAMS];
	const char *rest = "";
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(berth_got(rest = berth_arena_printf(mem, "%s:%s", rest, word[i]), err));
	berth_spec_table named = t;
	named.kind = "the format";
	named.name = "of task graphs";
	BERTH_TRY(berth_spec_values(file, rest, &named, value, err));
	*out = (berth_task_options){value[0], value[1], value[2], berth_spec_canonical(&t, value, mem)};
	return out->suffix ? BERTH_OK : berth_nomem(err);
}

berth_status task_graph_read(task_graph_reader *read, const berth_content *from,
                             const berth_task_options *opt,
                             berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_read_report *report,
                             berth_err *err)
{
	const berth_task_options usual = {.unit = 1, .bandwidth = 1e9, .suffix = ""};
	const task_graph t = {opt ? opt : &usual, NULL, tmp, err, mem, report};
	berth_graph g;
	berth_arena_mark mark = berth_arena_get_mark(tmp), kept = berth_arena_get_mark(mem);
	berth_status st = read(&t, from, mem, &g);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = g;
	else
		berth_arena_reset(mem, kept);
	return st;
}

berth_status task_graph_read_words(task_graph_reader *read, const berth_content *from,
                                   const berth_read_options *words, berth_arena *mem, berth_arena *tmp,
                                   berth_graph *out, berth_read_report *report, berth_err *err)
{
	berth_task_options o;
	BERTH_TRY(berth_task_options_read(from->name, words->dim, words->n_dims, tmp, &o, err));
	return task_graph_read(read, from, &o, mem, tmp, out, report, err);
}

berth_status task_graph_warn(const task_graph *t, const char *fmt, ...)
{
	char text[300];
	va_list ap;
	if (!t->report || t->report->n_warnings == TASK_GRAPH_WARNINGS)
		return BERTH_OK;
	if (!t->report->warning)
		BERTH_TRY_NEW(t->mem, TASK_GRAPH_WARNINGS, t->err, t->report->warning);
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	t->report->warning[t->report->n_warnings] = berth_arena_strdup(t->mem, text);
	return berth_got(t->report->warning[t->report->n_warnings++], t->err);
}

berth_status task_graph_finish(const task_graph *t, berth_status st, const char *file, berth_arena *mem,
                               berth_graph *out)
{
	if (st == BERTH_OK)
		st = berth_builder_finish(t->b, mem, out, t->err);
	return st == BERTH_EFORMAT ? berth_fail_in(t->err, st, "%s: ", file) : st;
}

berth_status task_graph_new(task_graph *t, const char *file)
{
	size_t n;
	const char *stem = berth_graph_stem(file, &n);
	const char *name = berth_arena_printf(t->tmp, "%.*s%s", (int)n, stem, t->opt->suffix);
	return name ? berth_builder_new(t->tmp, name, &t->b, t->err) : berth_nomem(t->err);
}

berth_status task_graph_check_time(const task_graph *t, int32_t op, double time)
{
	berth_op_spec spec;
	double seconds = time * t->opt->unit;
	if (t->opt->speed > 0 || isnan(seconds) || seconds <= BERTH_MOST_OP_S)
		return BERTH_OK;
	berth_builder_get(t->b, op, &spec);
	return berth_fail(t->err, BERTH_EFORMAT,
	                  "operator '%s': time_s of '*' is %g; expected 0 to %g seconds", spec.name, seconds,
	                  BERTH_MOST_OP_S);
}

berth_status task_graph_time(task_graph *t, int32_t op, double time, bool dummy)
{
	berth_op_spec spec;
	double seconds = time * t->opt->unit;
	if (dummy && isnan(time)) {
		berth_builder_get(t->b, op, &spec);
		seconds = spec.flops > 0 || spec.dims.kind ? NAN : 0;
	}
	if (isnan(seconds))
		return BERTH_OK;
	if (t->opt->speed <= 0)
		return berth_builder_time(t->b, op, "*", seconds, t->err);
	berth_builder_get(t->b, op, &spec);
	spec.flops += seconds * t->opt->speed;
	return berth_builder_set(t->b, op, &spec, t->err);
}

berth_status task_graph_op(task_graph *t, const berth_op_spec *spec, double time, int32_t *op)
{
	BERTH_TRY(berth_builder_op(t->b, spec, op, t->err));
	return task_graph_time(t, *op, time, false);
}

int64_t task_graph_bytes(const task_graph *t, double time)
{
	double bytes = time * t->opt->unit * t->opt->bandwidth;
	return bytes <= 0x1p53 ? (int64_t)llround(bytes) : -1;
}

berth_status task_graph_check_name(const task_graph *t, scan_word w)
{
	if (w.n == 0 || memchr(w.text, '\0', w.n) || !berth_text_is_utf8(w.text, w.n))
		return berth_fail(t->err, BERTH_EFORMAT, "a name that is empty or no UTF-8 text");
	return BERTH_OK;
}

berth_status task_graph_name(const task_graph *t, scan_word w, const char **out)
{
	BERTH_TRY(task_graph_check_name(t, w));
	*out = berth_arena_strndup(t->tmp, w.text, w.n);
	return *out ? BERTH_OK : berth_nomem(t->err);
}

/* ---- the text ---- */

/* "FILE:LINE:COLUMN: " of the byte at. */
static void place_of(const scan *s, size_t at, char *buf, size_t size)
{
	size_t line = 1, start = 0;
	for (size_t i = 0; i < at && i < s->size; i++)
		if (s->text[i] == '\n') {
			line++;
			start = i + 1;
		}
	snprintf(buf, size, "%.300s:%zu:%zu: ", s->file, line, at - start + 1);
}

berth_status scan_fail(const scan *s, size_t at, const char *fmt, ...)
{
	char place[360], text[300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	place_of(s, at, place, sizeof place);
	return berth_fail(s->err, BERTH_EFORMAT, "%s%s", place, text);
}

berth_status scan_placed(const scan *s, size_t at, berth_status st)
{
	char place[360];
	if (st != BERTH_EFORMAT)
		return st;
	place_of(s, at, place, sizeof place);
	return berth_fail_in(s->err, st, "%s", place);
}

bool scan_end(const scan *s)
{
	return s->at >= s->size;
}

char scan_peek(const scan *s)
{
	return scan_end(s) ? '\0' : s->text[s->at];
}

void scan_spaces(scan *s)
{
	while (!scan_end(s) && (s->text[s->at] == ' ' || (s->text[s->at] >= '\t' && s->text[s->at] <= '\r')))
		s->at++;
}

bool scan_take(scan *s, const char *word)
{
	size_t n = strlen(word);
	if (s->size - s->at < n || memcmp(s->text + s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

bool scan_past(scan *s, const char *word)
{
	for (; !scan_end(s); s->at++)
		if (s->text[s->at] == word[0] && scan_take(s, word))
			return true;
	return false;
}

scan scan_of(const berth_content *from, berth_err *err)
{
	return (scan){from->name, from->data, from->size, 0, err};
}

scan scan_begin(const char *data, size_t size)
{
	scan s = {"", data, berth_text_is(data, size) ? size : 0, 0, NULL};
	scan_take(&s, "\xef\xbb\xbf");
	for (;;) {
		scan_spaces(&s);
		if (scan_take(&s, "//") || scan_take(&s, "#"))
			scan_past(&s, "\n");
		else if (scan_take(&s, "/*"))
			scan_past(&s, "*/");
		else
			return s;
	}
}

int scan_shown(scan_word w)
{
	return w.n < 40 ? (int)w.n : 40;
}

bool scan_is(scan_word w, const char *text)
{
	return strlen(text) == w.n && memcmp(w.text, text, w.n) == 0;
}

bool scan_is_any_case(scan_word w, const char *text)
{
	if (strlen(text) != w.n)
		return false;
	for (size_t i = 0; i < w.n; i++)
		if (tolower((unsigned char)w.text[i]) != tolower((unsigned char)text[i]))
			return false;
	return true;
}

bool scan_signed(scan_word w, double *out)
{
	char text[64];
	const char *end;
	if (w.n == 0 || w.n >= sizeof text)
		return false;
	memcpy(text, w.text, w.n);
	text[w.n] = '\0';
	double x = berth_text_number(text, &end);
	if (*end || !isfinite(x))
		return false;
	*out = x + 0; /* no -0 */
	return true;
}

bool scan_number(scan_word w, double *out)
{
	double x;
	if (!scan_signed(w, &x) || x < 0)
		return false;
	*out = x;
	return true;
}
