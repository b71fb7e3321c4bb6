/* Standard task graphs (Tobita & Kasahara, "A standard task graph set for fair evaluation of multiprocessor
 * scheduling algorithms", 2002). A line a task; the form with communication is known by its lines: twice as
 * many numbers behind the number of predecessors. */
#include "task_graph.h"

#include <ctype.h>

typedef struct reader {
	scan s;
	task_graph t;
	int32_t n_lines; /* of tasks */
	int32_t base;    /* number of the first one: 0, or 1 where there is no dummy before them */
	size_t word_at;  /* where the last number stands */
} reader;

/* To the next line with a number on it; false: there is none. */
static bool next_line(scan *s)
{
	for (;;) {
		scan_spaces(s);
		if (scan_peek(s) != '#')
			return !scan_end(s);
		scan_past(s, "\n");
	}
}

/* The next word of this line; n 0: the line is at its end. */
static scan_word next_word(scan *s)
{
	scan_word w;
	while (scan_peek(s) == ' ' || scan_peek(s) == '\t' || scan_peek(s) == '\r')
		s->at++;
	w.text = s->text + s->at;
	while (!scan_end(s) && !strchr(" \t\r\n#", scan_peek(s)))
		s->at++;
	w.n = (size_t)(s->text + s->at - w.text);
	return w;
}

static berth_status read_number(reader *r, const char *what, double *out)
{
	scan_word w = next_word(&r->s);
	r->word_at = r->s.at - w.n;
	if (w.n == 0)
		return scan_fail(&r->s, r->s.at, "the line ends; expected %s", what);
	if (!scan_number(w, out))
		return scan_fail(&r->s, r->word_at, "'%.*s' is no number of 0 or more; expected %s",
		                 scan_shown(w), w.text, what);
	return BERTH_OK;
}

static berth_status read_index(reader *r, const char *what, int32_t below, int32_t *out)
{
	double x = 0;
	BERTH_TRY(read_number(r, what, &x));
	if (x >= below || x != (double)(int32_t)x)
		return scan_fail(&r->s, r->word_at, "%s is %g; expected a whole number below %d", what, x,
		                 below);
	*out = (int32_t)x;
	return BERTH_OK;
}

static int32_t words_left(const scan *s)
{
	scan line = *s;
	int32_t n = 0;
	while (next_word(&line).n)
		n++;
	return n;
}

/* The rest of this line must be empty or a comment. */
static berth_status end_line(reader *r)
{
	scan_word w = next_word(&r->s);
	if (w.n)
		return scan_fail(&r->s, r->s.at - w.n, "'%.*s' stands behind the line's last number",
		                 scan_shown(w), w.text);
	return BERTH_OK;
}

static berth_status read_edges(reader *r, int32_t task)
{
	int32_t n;
	size_t at = r->s.at;
	next_word(&r->s);
	next_word(&r->s); /* number and time */
	BERTH_TRY(read_index(r, "the number of predecessors", r->n_lines, &n));
	int32_t words = words_left(&r->s);
	if (words != n && words != 2 * n)
		return scan_fail(&r->s, at,
		                 "task %d has %d predecessors and %d numbers behind them; expected %d, or %d "
		                 "with costs",
		                 task, n, words, n, 2 * n);
	for (int32_t k = 0; k < n; k++) {
		bool with_cost = words != n;
		int32_t from;
		double cost = 0;
		at = r->s.at;
		BERTH_TRY(read_index(r, "the number of a predecessor", r->n_lines + r->base, &from));
		from -= r->base;
		if (from < 0)
			return scan_fail(&r->s, at, "task 0; expected a task of this file");
		if (with_cost)
			BERTH_TRY(read_number(r, "the cost of an edge", &cost));
		int64_t bytes = task_graph_bytes(&r->t, cost);
		if (bytes < 0)
			return scan_fail(&r->s, at, "the cost %g stands for more than 2^53 bytes", cost);
		berth_status st = with_cost ? berth_builder_own_edge(r->t.b, from, task, bytes, r->t.err)
		                            : berth_builder_edge(r->t.b, from, task, 0, NULL, r->t.err);
		BERTH_TRY(scan_placed(&r->s, at, st));
	}
	return end_line(r);
}

static berth_status read_all(reader *r)
{
	int32_t n, processors;
	if (!next_line(&r->s))
		return scan_fail(&r->s, r->s.at, "an empty file; expected the number of tasks");
	BERTH_TRY(read_index(r, "the number of tasks", INT32_MAX / 8, &n));
	if (words_left(&r->s)) /* of machines that the times are of: all alike */
		BERTH_TRY(read_index(r, "the number of processors", INT32_MAX, &processors));
	BERTH_TRY(end_line(r));
	/* n tasks, or one or two dummies more: behind them, or before them, too. */
	scan s = r->s;
	int32_t lines = 0;
	while (next_line(&s) && lines < n + 3) {
		scan_past(&s, "\n");
		lines++;
	}
	if (lines < n || lines > n + 2)
		return scan_fail(&r->s, r->s.at,
		                 "%s%d lines of tasks; expected %d, or %d with the two dummies",
		                 lines > n + 2 ? "at least " : "", lines, n, n + 2);
	r->n_lines = lines;
	scan tasks = r->s;
	for (int32_t i = 0; i < r->n_lines && next_line(&r->s); i++) {
		/* Number and time of the task, an operator; s is left before the number of predecessors. */
		char name[16];
		double time = 0;
		int32_t number, op;
		berth_op_spec spec = {.name = name};
		size_t at = r->s.at;
		BERTH_TRY(read_index(r, "the number of a task", r->n_lines + 1, &number));
		if (i == 0)
			r->base = number == 1;
		if (number != i + r->base)
			return scan_fail(&r->s, at, "task %d; expected task %d, as tasks stand in order",
			                 number, i + r->base);
		BERTH_TRY(read_number(r, "the time of a task", &time));
		snprintf(name, sizeof name, "%d", number);
		BERTH_TRY(scan_placed(&r->s, at, task_graph_op(&r->t, &spec, time, &op)));
		scan_past(&r->s, "\n");
	}
	r->s = tasks;
	for (int32_t i = 0; i < r->n_lines && next_line(&r->s); i++)
		BERTH_TRY(read_edges(r, i));
	return BERTH_OK;
}

berth_status task_graph_stg(const task_graph *frame, const berth_content *from, berth_arena *mem,
                            berth_graph *out)
{
	reader r = {.s = scan_of(from, frame->err), .t = *frame};
	BERTH_TRY(task_graph_new(&r.t, from->name));
	BERTH_TRY(berth_builder_texts(r.t.b, mem, r.t.err));
	BERTH_TRY(read_all(&r));
	return task_graph_finish(&r.t, BERTH_OK, from->name, mem, out);
}

static bool is_stg(const char *data, size_t size)
{
	scan s = scan_begin(data, size);
	return isdigit((unsigned char)scan_peek(&s));
}

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	return task_graph_read_words(task_graph_stg, from, opt, mem, tmp, out, report, err);
}

const berth_format berth_format_stg = {"STG", true, is_stg, parse_format, NULL};
