/* Graphviz DOT as far as it describes a task graph. The grammar is that of the language:
 * statements of nodes, edges, defaults and subgraphs, quoted and plain ids, comments. Written by hand over
 * the text; nesting is a counter and a stack of fixed depth. */
#include "task_graph.h"

#include "columns.h"
#include "file.h"
#include "text.h"
#include "units.h"

#include <ctype.h>

enum { DEEPEST = 64, MAX_CROSSED = 32768, NOTHING = 1000, MOST_PASSED = 4 };

/* A number, by the attribute that stands first in a list of names. */
typedef struct ranked {
	double value; /* NAN: none yet */
	/* in the list of the statement being read; NOTHING: from a default or a statement before it,
	 * which gives way */
	int rank;
} ranked;

typedef struct node_attrs {
	ranked time;
	double flops, bytes[4]; /* read, write, param, output */
	const char *type, *colocate, *pin; /* NULL: none */
	berth_precision dtype;
	berth_dims dims;
} node_attrs;

typedef struct edge_attrs {
	ranked time;
	double bytes; /* NAN: none */
	const char *tensor;
} edge_attrs;

/* Of each operator of the builder, beside what that holds. */
enum {
	NODE_TIME,
	NODE_SEEN,
	NODE_FLAGS,
	NODE_COLUMNS
}; /* time in the file's units; the last subgraph that it was counted for; of which are known */
enum { HAS_TIME = 1, HAS_KIND = 2 };

/* Edges of the builder that the statement being read made. */
typedef struct edge_run {
	int32_t first, n;
} edge_run;

/* Attributes of nodes and edges to come: what braces inherit. */
typedef struct defaults {
	node_attrs node;
	edge_attrs edge;
} defaults;

typedef struct reader {
	scan s;
	task_graph t;
	columns node;
	edge_run *run;      /* of the statements being read, inner ones last */
	int32_t n_runs, n_crossed, n_subgraphs;
	size_t cap_run, cap_word;
	columns member;     /* nodes named within the subgraphs that are being read, as a stack */
	char *word;         /* a name being looked up */
	defaults d[DEEPEST + 1];
	int depth;
	scan_word passed[MOST_PASSED]; /* attributes that look like costs and are none here */
	int n_passed;
} reader;

static berth_status fail(reader *r, const char *expected)
{
	char c = scan_peek(&r->s);
	if (scan_end(&r->s))
		return scan_fail(&r->s, r->s.at, "the file ends; expected %s", expected);
	return scan_fail(&r->s, r->s.at, "found '%c'; expected %s", c >= ' ' && c < 127 ? c : '?', expected);
}

/* ---- words ---- */

/* Past spaces, comments and lines that begin with #. */
static berth_status skip(reader *r)
{
	for (;;) {
		scan_spaces(&r->s);
		size_t at = r->s.at;
		bool line_start = at == 0 || r->s.text[at - 1] == '\n';
		if (scan_take(&r->s, "//") || (line_start && scan_take(&r->s, "#"))) {
			scan_past(&r->s, "\n");
		} else if (scan_take(&r->s, "/*")) {
			if (!scan_past(&r->s, "*/"))
				return scan_fail(&r->s, at, "a comment without an end; expected */");
		} else {
			return BERTH_OK;
		}
	}
}

static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 128;
}

/* "...", as it stands between the quotes: \" is not undone, as names only need to differ. */
static berth_status take_quoted(reader *r, scan_word *w)
{
	size_t at = r->s.at++;
	while (!scan_end(&r->s) && scan_peek(&r->s) != '"')
		r->s.at += scan_peek(&r->s) == '\\' && r->s.at + 1 < r->s.size ? 2 : 1;
	if (scan_end(&r->s))
		return scan_fail(&r->s, at, "a string without an end; expected \"");
	*w = (scan_word){r->s.text + at + 1, r->s.at - at - 1};
	r->s.at++;
	return BERTH_OK;
}

/* <...>, of which only the length matters: brackets nest. */
static berth_status take_html(reader *r, scan_word *w)
{
	size_t at = r->s.at, open = 0;
	for (; !scan_end(&r->s); r->s.at++) {
		open += scan_peek(&r->s) == '<';
		open -= scan_peek(&r->s) == '>';
		if (!open)
			break;
	}
	if (scan_end(&r->s))
		return scan_fail(&r->s, at, "HTML text without an end; expected >");
	r->s.at++;
	*w = (scan_word){r->s.text + at, r->s.at - at};
	return BERTH_OK;
}

/* Does the sign of an exponent stand here, in a number from at on? */
static bool is_exponent_sign(const scan *s, size_t at)
{
	char c = scan_peek(s);
	return (c == '+' || c == '-') && s->at > at &&
	       (s->text[s->at - 1] == 'e' || s->text[s->at - 1] == 'E') && s->at + 1 < s->size &&
	       isdigit((unsigned char)s->text[s->at + 1]);
}

/* An id: a string, a word, a number or HTML text. */
static berth_status take_id(reader *r, const char *expected, scan_word *w)
{
	size_t at = r->s.at;
	if (scan_peek(&r->s) == '"')
		return take_quoted(r, w);
	if (scan_peek(&r->s) == '<')
		return take_html(r, w);
	if (scan_peek(&r->s) == '-' && at + 1 < r->s.size &&
	    (isdigit((unsigned char)r->s.text[at + 1]) || r->s.text[at + 1] == '.'))
		r->s.at++;
	bool number = isdigit((unsigned char)scan_peek(&r->s)) || scan_peek(&r->s) == '.';
	while (!scan_end(&r->s) && (is_plain(scan_peek(&r->s)) ||
	                            (number && (scan_peek(&r->s) == '.' || is_exponent_sign(&r->s, at)))))
		r->s.at++;
	*w = (scan_word){r->s.text + at, r->s.at - at};
	return w->n ? BERTH_OK : fail(r, expected);
}

static bool starts_id(const reader *r)
{
	char c = scan_peek(&r->s);
	return c == '"' || c == '<' || c == '.' || c == '-' || is_plain(c);
}

/* ---- attributes ---- */

static const char *const times[] = {"time", "runtime", "duration", "cost", "weight", "label", NULL};
static const char *const edge_times[] = {"time", "comm", "cost", "weight", "label", NULL};
static const char *const node_bytes[] = {"read_bytes", "write_bytes", "param_bytes", "output_bytes"};

/* A time in the file's units: a number, or one with a unit of time. */
static bool is_time(const reader *r, scan_word value, double *out)
{
	char text[64];
	const char *end;
	if (scan_number(value, out))
		return true;
	if (value.n >= sizeof text)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)value.n, value.text);
	double seconds = berth_unit_number(BERTH_SECONDS, text, &end);
	*out = seconds / r->t.opt->unit;
	return !*end && isfinite(*out) && *out >= 0;
}

/* Is an attribute that nobody reads here a cost by a word of its name, between '_', and by its value?
 * Graphviz has none so. */
static void note_passed(reader *r, scan_word key, scan_word value)
{
	static const char *const like[] = {"time", "cost", "flop", "mac", "byte", "work", "load", "mem",
	                                   "memory", "dur", "duration", "latency", "weight", "param"};
	bool is = false;
	for (size_t at = 0, end; at < key.n && !is; at = end + 1) {
		for (end = at; end < key.n && key.text[end] != '_';)
			end++;
		scan_word word = {key.text + at, end - at};
		word.n -= word.n && tolower((unsigned char)word.text[word.n - 1]) == 's';
		for (size_t i = 0; i < sizeof like / sizeof *like; i++)
			is |= scan_is_any_case(word, like[i]);
	}
	is &= value.n > 0 && (isdigit((unsigned char)*value.text) || *value.text == '.');
	for (int i = 0; i < r->n_passed && is; i++)
		is = r->passed[i].n != key.n || memcmp(r->passed[i].text, key.text, key.n) != 0;
	if (is && r->n_passed < MOST_PASSED)
		r->passed[r->n_passed++] = key;
}

/* Take value if key is in the list and not behind what was taken. A label may be any text. */
static berth_status rank_time(reader *r, const char *const *list, scan_word key, scan_word value, size_t at,
                              ranked *out)
{
	double x;
	int i = 0;
	while (list[i] && !scan_is_any_case(key, list[i]))
		i++;
	if (!list[i])
		note_passed(r, key, value);
	if (!list[i] || i > out->rank)
		return BERTH_OK;
	if (list[i + 1] ? is_time(r, value, &x) : scan_number(value, &x))
		*out = (ranked){x, i};
	else if (list[i + 1])
		return scan_fail(&r->s, at,
		                 "%s is '%.*s'; expected a number of 0 or more, or one with a unit of time",
		                 list[i], scan_shown(value), value.text);
	return BERTH_OK;
}

static berth_status take_number(reader *r, scan_word key, scan_word value, size_t at, double most,
                                double *out)
{
	char text[64];
	const char *end;
	if (!scan_number(value, out) && value.n < sizeof text) { /* perhaps with a unit */
		snprintf(text, sizeof text, "%.*s", (int)value.n, value.text);
		*out = berth_unit_number(most > 0x1p53 ? BERTH_COUNT : BERTH_BYTES, text, &end);
		*out = *end || !isfinite(*out) || *out < 0 ? INFINITY : *out;
	}
	if (*out <= most && value.n < sizeof text)
		return BERTH_OK;
	return scan_fail(&r->s, at, "%.*s is '%.*s'; expected a number from 0 to %g", (int)key.n, key.text,
	                 scan_shown(value), value.text, most);
}

/* Bytes or FLOPs; -1, as SimGrid writes it, says that there are none. */
static berth_status take_size(reader *r, scan_word key, scan_word value, size_t at, double most, double *out)
{
	double x;
	if (scan_signed(value, &x) && x >= -1 && x <= -1) {
		*out = 0;
		return BERTH_OK;
	}
	return take_number(r, key, value, at, most, out);
}

/* A text of the file for the builder, which does not copy it; an empty one says that there is none. */
static berth_status take_text(reader *r, scan_word value, size_t at, const char **out)
{
	*out = NULL;
	return value.n ? scan_placed(&r->s, at, task_graph_name(&r->t, value, out)) : BERTH_OK;
}

/* op -1: a default for those to come. */
static berth_status node_attr(reader *r, scan_word key, scan_word value, size_t at, node_attrs *a, int32_t op)
{
	if (scan_is_any_case(key, "flops") || scan_is_any_case(key, "size"))
		return take_size(r, key, value, at, 1e30, &a->flops);
	for (int i = 0; i < 4; i++)
		if (scan_is_any_case(key, node_bytes[i]))
			return take_number(r, key, value, at, 0x1p53, &a->bytes[i]);
	if (scan_is_any_case(key, "type"))
		return take_text(r, value, at, &a->type);
	if (scan_is_any_case(key, "colocate"))
		return take_text(r, value, at, &a->colocate);
	if (scan_is_any_case(key, "pin"))
		return take_text(r, value, at, &a->pin);
	if (scan_is_any_case(key, "dtype")) {
		const char *name;
		BERTH_TRY(take_text(r, value, at, &name));
		bool known = !name || berth_precision_find(name, &a->dtype, r->t.err) == BERTH_OK;
		return scan_placed(&r->s, at, known ? BERTH_OK : BERTH_EFORMAT);
	}
	if (scan_is_any_case(key, "dims")) {
		const char *text;
		BERTH_TRY(take_text(r, value, at, &text));
		return text ? scan_placed(&r->s, at, berth_dims_parse(text, &a->dims, r->t.err)) : BERTH_OK;
	}
	if (op >= 0 && key.n > 5 && scan_is_any_case((scan_word){key.text, 5}, "time_")) {
		/* time_KIND of the operator. */
		const char *kind;
		double x;
		size_t node = (size_t)op;
		if (!is_time(r, value, &x) || x > 1e12)
			return scan_fail(&r->s, at,
			                 "%.*s is '%.*s'; expected 0 to 1e12, or a time with a unit",
			                 scan_shown(key), key.text, scan_shown(value), value.text);
		BERTH_TRY(scan_placed(&r->s, at, task_graph_name(&r->t, (scan_word){key.text + 5, key.n - 5},
		                                                 &kind)));
		BERTH_TRY(columns_set_byte(&r->node, NODE_FLAGS, node,
		                           columns_byte(&r->node, NODE_FLAGS, node) | HAS_KIND, r->t.err));
		return scan_placed(&r->s, at,
		                   berth_builder_time(r->t.b, op, kind, x * r->t.opt->unit, r->t.err));
	}
	return rank_time(r, times, key, value, at, &a->time);
}

static berth_status edge_attr(reader *r, scan_word key, scan_word value, size_t at, edge_attrs *a)
{
	if (scan_is_any_case(key, "bytes") || scan_is_any_case(key, "size") || scan_is_any_case(key, "data"))
		return take_size(r, key, value, at, 0x1p53, &a->bytes);
	if (scan_is_any_case(key, "tensor"))
		return take_text(r, value, at, &a->tensor);
	return rank_time(r, edge_times, key, value, at, &a->time);
}

/* "[key=value, ...]", any number of times; a key alone is "true". Either node or edge takes them, or
 * none. */
static berth_status attr_lists(reader *r, node_attrs *node, int32_t op, edge_attrs *edge)
{
	BERTH_TRY(skip(r));
	while (scan_take(&r->s, "[")) {
		BERTH_TRY(skip(r));
		while (!scan_take(&r->s, "]")) {
			scan_word key, value = {"true", 4};
			size_t at = r->s.at;
			BERTH_TRY(take_id(r, "an attribute or ]", &key));
			BERTH_TRY(skip(r));
			if (scan_take(&r->s, "=")) {
				BERTH_TRY(skip(r));
				at = r->s.at;
				BERTH_TRY(take_id(r, "the value of an attribute", &value));
				BERTH_TRY(skip(r));
			}
			if (node)
				BERTH_TRY(node_attr(r, key, value, at, node, op));
			if (edge)
				BERTH_TRY(edge_attr(r, key, value, at, edge));
			if (!scan_take(&r->s, ","))
				scan_take(&r->s, ";");
			BERTH_TRY(skip(r));
		}
		BERTH_TRY(skip(r));
	}
	return BERTH_OK;
}

/* The lists that stand here, on top of what *a says. */
static berth_status node_lists(reader *r, int32_t op, node_attrs *a)
{
	a->time.rank = NOTHING;
	return attr_lists(r, a, op, NULL);
}

static berth_status edge_lists(reader *r, edge_attrs *a)
{
	a->time.rank = NOTHING;
	return attr_lists(r, NULL, -1, a);
}

static berth_op_spec spec_of(const char *name, const node_attrs *a)
{
	return (berth_op_spec){.name = name,
	                       .type = a->type,
	                       .colocate = a->colocate,
	                       .pin = a->pin,
	                       .dtype = a->dtype,
	                       .dims = a->dims,
	                       .flops = a->flops,
	                       .read_bytes = (int64_t)a->bytes[0],
	                       .write_bytes = (int64_t)a->bytes[1],
	                       .param_bytes = (int64_t)a->bytes[2],
	                       .output_bytes = (int64_t)a->bytes[3]};
}

static berth_status put_time(reader *r, int32_t op, const node_attrs *a)
{
	size_t node = (size_t)op;
	if (isnan(a->time.value))
		return BERTH_OK;
	BERTH_TRY(columns_set_double(&r->node, NODE_TIME, node, a->time.value, r->t.err));
	return columns_set_byte(&r->node, NODE_FLAGS, node,
	                        columns_byte(&r->node, NODE_FLAGS, node) | HAS_TIME, r->t.err);
}

/* ---- statements ---- */

static int32_t member(const reader *r, size_t i)
{
	return columns_int(&r->member, 0, i);
}

/* r->word is a copy of the id. */
static berth_status new_node(reader *r, scan_word id, int32_t *op)
{
	const node_attrs *a = &r->d[r->depth].node;
	BERTH_TRY(task_graph_check_name(&r->t, id));
	berth_op_spec spec = spec_of(r->word, a);
	BERTH_TRY(berth_builder_op(r->t.b, &spec, op, r->t.err));
	BERTH_TRY(columns_add(&r->node, r->t.err));
	return put_time(r, *op, a);
}

/* The node of that id, new with the defaults of this place. */
static berth_status find_node(reader *r, scan_word id, size_t at, int32_t *out)
{
	BERTH_TRY(berth_arena_room(r->t.tmp, &r->word, id.n + 1, &r->cap_word, r->t.err));
	memcpy(r->word, id.text, id.n);
	r->word[id.n] = '\0';
	*out = memchr(id.text, '\0', id.n) ? -1 : berth_builder_find(r->t.b, r->word);
	return *out < 0 ? scan_placed(&r->s, at, new_node(r, id, out)) : BERTH_OK;
}

/* What they carry is set where the statement ends. */
static berth_status add_edge(reader *r, int32_t from, int32_t to, int32_t first_run)
{
	int32_t e = berth_builder_edges(r->t.b);
	edge_run *last = r->n_runs > first_run ? &r->run[r->n_runs - 1] : NULL;
	BERTH_TRY(berth_builder_edge(r->t.b, from, to, 0, NULL, r->t.err));
	if (last && last->first + last->n == e) {
		last->n++;
		return BERTH_OK;
	}
	return BERTH_PUSH(r->t.tmp, r->run, r->n_runs, &r->cap_run, r->t.err, (edge_run){e, 1});
}

/* Edges of the runs from first_run on carry that. */
static berth_status set_edges(reader *r, int32_t first_run, const edge_attrs *a)
{
	double time = isnan(a->time.value) ? 0 : a->time.value;
	int64_t bytes = isnan(a->bytes) ? task_graph_bytes(&r->t, time) : (int64_t)a->bytes;
	if (bytes < 0)
		return berth_fail(r->t.err, BERTH_EFORMAT,
		                  "the time %g of an edge stands for more than 2^53 bytes", time);
	if (!bytes && !a->tensor)
		return BERTH_OK;
	for (int32_t i = first_run; i < r->n_runs; i++)
		for (int32_t e = r->run[i].first; e < r->run[i].first + r->run[i].n; e++)
			BERTH_TRY(berth_builder_set_edge(r->t.b, e, bytes, a->tensor, !a->tensor, r->t.err));
	return BERTH_OK;
}

static berth_status statements(reader *r);

/* { ... }, perhaps named. */
static berth_status subgraph(reader *r)
{
	scan_word id;
	if (r->depth == DEEPEST)
		return scan_fail(&r->s, r->s.at, "subgraphs in subgraphs, deeper than %d", DEEPEST);
	if (scan_peek(&r->s) != '{') {
		BERTH_TRY(take_id(r, "subgraph", &id));
		BERTH_TRY(skip(r));
		if (starts_id(r))
			BERTH_TRY(take_id(r, "the name of a subgraph", &id));
		BERTH_TRY(skip(r));
	}
	if (!scan_take(&r->s, "{"))
		return fail(r, "{");
	r->d[r->depth + 1] = r->d[r->depth];
	r->depth++;
	BERTH_TRY(statements(r));
	r->depth--;
	return scan_take(&r->s, "}") ? BERTH_OK : fail(r, "a node, an edge or }");
}

static bool at_word(const reader *r, const char *word)
{
	size_t n = strlen(word);
	scan_word here = {r->s.text + r->s.at, n};
	return r->s.size - r->s.at >= n && scan_is_any_case(here, word) &&
	       (r->s.at + n == r->s.size || !is_plain(r->s.text[r->s.at + n]));
}

/* One end of an edge: its nodes go on the stack of members. */
static berth_status edge_end(reader *r, scan_word *id, size_t *at)
{
	int32_t node;
	*at = r->s.at;
	*id = (scan_word){0};
	if (scan_peek(&r->s) == '{' || at_word(r, "subgraph")) {
		size_t first = r->member.n_rows;
		BERTH_TRY(subgraph(r));
		/* Members from first on stand there once each, in order of their first place. */
		int32_t stamp = ++r->n_subgraphs;
		size_t n = first;
		for (size_t i = first; i < r->member.n_rows; i++) {
			int32_t op = member(r, i);
			if (columns_int(&r->node, NODE_SEEN, (size_t)op) != stamp)
				BERTH_TRY(columns_set_int(&r->member, 0, n++, op, r->t.err));
			BERTH_TRY(columns_set_int(&r->node, NODE_SEEN, (size_t)op, stamp, r->t.err));
		}
		columns_cut(&r->member, n);
		return BERTH_OK;
	}
	BERTH_TRY(take_id(r, "a node", id));
	BERTH_TRY(skip(r));
	for (int ports = 0; ports < 2 && scan_peek(&r->s) == ':'; ports++) { /* where the arrow touches the
		                                                                node's picture */
		scan_word port;
		r->s.at++;
		BERTH_TRY(skip(r));
		BERTH_TRY(take_id(r, "a port", &port));
		BERTH_TRY(skip(r));
	}
	if (scan_peek(&r->s) == '=')
		return BERTH_OK; /* an attribute of the graph */
	BERTH_TRY(find_node(r, *id, *at, &node));
	size_t i = r->member.n_rows;
	BERTH_TRY(columns_add(&r->member, r->t.err));
	return columns_set_int(&r->member, 0, i, node, r->t.err);
}

/* Every node of members [from, mid) to every one from mid on. */
static berth_status join(reader *r, size_t from, size_t mid, int32_t first_run)
{
	size_t end = r->member.n_rows, pairs = (mid - from) * (end - mid);
	if (pairs > 1)
		r->n_crossed += pairs < MAX_CROSSED ? (int32_t)pairs : MAX_CROSSED + 1;
	if (r->n_crossed > MAX_CROSSED)
		return berth_fail(r->t.err, BERTH_EFORMAT,
		                  "edges between subgraphs stand for more than %d edges", MAX_CROSSED);
	for (size_t i = from; i < mid; i++)
		for (size_t k = mid; k < end; k++)
			BERTH_TRY(add_edge(r, member(r, i), member(r, k), first_run));
	return BERTH_OK;
}

/* Of a chain outside of subgraphs only its next edge asks for members: those from mid on, which move to
 * *from, where there is room. */
static berth_status keep_last(reader *r, size_t *from, size_t mid)
{
	size_t n = r->member.n_rows - mid;
	if (r->depth || n > mid - *from) {
		*from = mid;
		return BERTH_OK;
	}
	for (size_t i = 0; i < n; i++)
		BERTH_TRY(columns_set_int(&r->member, 0, *from + i, member(r, mid + i), r->t.err));
	columns_cut(&r->member, *from + n);
	return BERTH_OK;
}

/* What follows the first end of a chain, its members from first on. */
static berth_status edge_chain(reader *r, size_t first, size_t start)
{
	int32_t first_run = r->n_runs;
	size_t from = first, mid = r->member.n_rows;
	while (scan_take(&r->s, "->")) {
		scan_word id;
		size_t at;
		BERTH_TRY(skip(r));
		BERTH_TRY(edge_end(r, &id, &at));
		BERTH_TRY(skip(r));
		BERTH_TRY(scan_placed(&r->s, at, join(r, from, mid, first_run)));
		BERTH_TRY(keep_last(r, &from, mid));
		mid = r->member.n_rows;
	}
	if (r->s.at + 1 < r->s.size && r->s.text[r->s.at] == '-' && r->s.text[r->s.at + 1] == '-')
		return scan_fail(&r->s, r->s.at, "an edge without direction, --; expected ->");
	if (r->n_runs == first_run)
		return attr_lists(r, NULL, -1, NULL);
	edge_attrs a = r->d[r->depth].edge;
	if (scan_peek(&r->s) == '[')
		BERTH_TRY(edge_lists(r, &a));
	BERTH_TRY(scan_placed(&r->s, start, set_edges(r, first_run, &a)));
	r->n_runs = first_run;
	return BERTH_OK;
}

/* A node with its attributes, an edge, an attribute of the graph, or a subgraph. */
static berth_status node_or_edge(reader *r)
{
	size_t first = r->member.n_rows, at;
	scan_word id;
	BERTH_TRY(edge_end(r, &id, &at));
	BERTH_TRY(skip(r));
	if (id.n && scan_take(&r->s, "=")) {
		BERTH_TRY(skip(r));
		return take_id(r, "the value of an attribute", &id);
	}
	if (scan_peek(&r->s) == '[' && id.text && r->member.n_rows == first + 1) {
		int32_t op = member(r, first);
		/* What an operator has so far. */
		berth_op_spec s;
		berth_builder_get(r->t.b, op, &s);
		bool timed = columns_byte(&r->node, NODE_FLAGS, (size_t)op) & HAS_TIME;
		node_attrs a = (node_attrs){
			.time = {timed ? columns_double(&r->node, NODE_TIME, (size_t)op) : NAN, NOTHING},
			.flops = s.flops,
			.bytes = {(double)s.read_bytes, (double)s.write_bytes, (double)s.param_bytes,
		                  (double)s.output_bytes},
			.type = s.type,
			.colocate = s.colocate,
			.pin = s.pin,
			.dtype = s.dtype,
			.dims = s.dims};
		BERTH_TRY(node_lists(r, op, &a));
		/* What a statement says about the operator at that place. */
		berth_op_spec spec = spec_of(NULL, &a);
		BERTH_TRY(scan_placed(&r->s, at, task_graph_check_time(&r->t, op, a.time.value)));
		BERTH_TRY(scan_placed(&r->s, at, berth_builder_set(r->t.b, op, &spec, r->t.err)));
		return put_time(r, op, &a);
	}
	return edge_chain(r, first, at);
}

static berth_status statement(reader *r)
{
	scan_word word;
	defaults *d = &r->d[r->depth];
	if (!at_word(r, "graph") && !at_word(r, "node") && !at_word(r, "edge"))
		return node_or_edge(r);
	scan_word here = {r->s.text + r->s.at, 4};
	BERTH_TRY(take_id(r, "a statement", &word));
	BERTH_TRY(skip(r));
	if (scan_peek(&r->s) != '[')
		return fail(r, "[");
	bool node = scan_is_any_case(here, "node"), edge = scan_is_any_case(here, "edge");
	if (node)
		return node_lists(r, -1, &d->node);
	return edge ? edge_lists(r, &d->edge) : attr_lists(r, NULL, -1, NULL);
}

/* Up to the closing brace. Members of inner subgraphs stay on the stack for the chain that they stand in. */
static berth_status statements(reader *r)
{
	BERTH_TRY(skip(r));
	while (!scan_end(&r->s) && scan_peek(&r->s) != '}') {
		if (!scan_take(&r->s, ";")) {
			size_t members = r->member.n_rows;
			BERTH_TRY(statement(r));
			if (r->depth == 0)
				columns_cut(&r->member, members);
		}
		BERTH_TRY(skip(r));
	}
	return BERTH_OK;
}

static berth_status document(reader *r)
{
	scan_word id;
	BERTH_TRY(skip(r));
	bool strict = at_word(r, "strict");
	berth_builder_merge(r->t.b, strict ? BERTH_MERGE_MOST : BERTH_MERGE_SUM);
	if (strict) {
		r->s.at += strlen("strict");
		BERTH_TRY(skip(r));
	}
	if (at_word(r, "graph"))
		return fail(r, "digraph: a graph without directions is no task graph");
	if (!at_word(r, "digraph"))
		return fail(r, "digraph");
	r->s.at += strlen("digraph");
	BERTH_TRY(skip(r));
	if (starts_id(r))
		BERTH_TRY(take_id(r, "the name of the graph", &id));
	BERTH_TRY(skip(r));
	if (!scan_take(&r->s, "{"))
		return fail(r, "{");
	BERTH_TRY(statements(r));
	if (!scan_take(&r->s, "}"))
		return fail(r, "a node, an edge or }");
	BERTH_TRY(skip(r));
	return scan_end(&r->s) ? BERTH_OK : fail(r, "the end: one graph a file");
}

/* ---- the graph ---- */

/* Times that hold everywhere; an operator of which nothing is known is a dummy, without a time. */
static berth_status put_times(reader *r)
{
	for (size_t i = 0; i < r->node.n_rows; i++) {
		unsigned char flags = columns_byte(&r->node, NODE_FLAGS, i);
		double time = flags & HAS_TIME ? columns_double(&r->node, NODE_TIME, i) : NAN;
		BERTH_TRY(task_graph_time(&r->t, (int32_t)i, time, !(flags & HAS_KIND)));
	}
	columns_drop_all(&r->node);
	columns_drop_all(&r->member);
	return BERTH_OK;
}

berth_status task_graph_dot(const task_graph *frame, const berth_content *from, berth_arena *mem,
                            berth_graph *out)
{
	static const unsigned char width[NODE_COLUMNS] = {8, 4, 1}, member_width[] = {4};
	reader *r;
	BERTH_TRY_NEW(frame->tmp, 1, frame->err, r);
	r->s = scan_of(from, frame->err);
	r->t = *frame;
	r->d[0] = (defaults){{.time = {NAN, NOTHING}}, {.time = {NAN, NOTHING}, .bytes = NAN}};
	columns_init(&r->node, r->t.tmp, width, NODE_COLUMNS);
	columns_init(&r->member, r->t.tmp, member_width, 1);
	BERTH_TRY(task_graph_new(&r->t, from->name));
	BERTH_TRY(berth_builder_texts(r->t.b, mem, r->t.err));
	BERTH_TRY(document(r));
	for (int i = 0; i < r->n_passed; i++)
		BERTH_TRY(task_graph_warn(&r->t,
		                          "attribute '%.*s' looks like a cost and is not read: "
		                          "docs/importers.md lists those that are",
		                          scan_shown(r->passed[i]), r->passed[i].text));
	berth_status st = put_times(r);
	if (from->once)
		berth_file_spend((const unsigned char *)r->s.text, r->s.size);
	return task_graph_finish(&r->t, st, from->name, mem, out);
}

static bool is_dot(const char *data, size_t size)
{
	static const char *const words[] = {"strict", "digraph", "graph"};
	scan s = scan_begin(data, size);
	scan_word w = {s.text + s.at, 0};
	while (s.at + w.n < s.size && isalpha((unsigned char)w.text[w.n]))
		w.n++;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (scan_is_any_case(w, words[i]))
			return true;
	return false;
}

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	return task_graph_read_words(task_graph_dot, from, opt, mem, tmp, out, report, err);
}

const berth_format berth_format_dot = {"DOT", true, is_dot, parse_format, NULL};
