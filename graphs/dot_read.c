/* Graphviz DOT as far as it describes a task graph; see tasks.h. The grammar is that of the language: statements of nodes, edges, defaults
 * and subgraphs, quoted and plain ids, comments. Written by hand over the text; nesting is a counter and a stack of fixed depth. */
#include "task_graph.h"

#include "text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 64, MAX_CROSSED = 32768, NOTHING = 1000 };

/* A number, by the attribute that stands first in a list of names. */
typedef struct ranked {
	double value; /* NAN: none yet */
	int rank;
} ranked;

typedef struct node_attrs {
	ranked time;
	double flops, bytes[4]; /* read, write, param, output */
	scan_word type, colocate, pin; /* n 0: none */
} node_attrs;

typedef struct edge_attrs {
	ranked time;
	double bytes; /* NAN: none */
	scan_word tensor;
} edge_attrs;

typedef struct dot_node {
	size_t at;          /* where it stands first */
	const char *name;
	int32_t a;          /* its attributes, or the defaults that it came under */
	int32_t next_time;  /* of dot_time; -1: none */
	int32_t seen;       /* the last subgraph that it was counted for */
} dot_node;

/* time_KIND of a node. */
typedef struct dot_time {
	const char *key;
	double time;
	int32_t next;
} dot_time;

typedef struct dot_edge {
	size_t at;
	int32_t from, to, a;
} dot_edge;

/* Attributes of nodes and edges to come: what braces inherit. */
typedef struct defaults {
	int32_t node, edge;
} defaults;

typedef struct reader {
	scan s;
	task_graph t;
	dot_node *node;
	dot_time *time;
	dot_edge *edge;
	node_attrs *node_attrs; /* every set that is stated somewhere; the first: nothing */
	edge_attrs *edge_attrs;
	int32_t n_nodes, n_times, n_edges, n_node_attrs, n_edge_attrs, n_crossed, n_subgraphs;
	size_t cap_node, cap_time, cap_edge, cap_node_attrs, cap_edge_attrs, cap_member;
	berth_strmap names;
	int32_t *member;    /* nodes named within the subgraphs that are being read, as a stack */
	int32_t n_members;
	defaults d[DEEPEST + 1];
	int depth;
} reader;

static berth_status fail(reader *r, const char *expected)
{
	char c = scan_peek(&r->s);
	if (scan_end(&r->s))
		return scan_fail(&r->s, r->s.at, r->t.err, "the file ends; expected %s", expected);
	return scan_fail(&r->s, r->s.at, r->t.err, "found '%c'; expected %s", c >= ' ' && c < 127 ? c : '?', expected);
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
				return scan_fail(&r->s, at, r->t.err, "a comment without an end; expected */");
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
		return scan_fail(&r->s, at, r->t.err, "a string without an end; expected \"");
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
		return scan_fail(&r->s, at, r->t.err, "HTML text without an end; expected >");
	r->s.at++;
	*w = (scan_word){r->s.text + at, r->s.at - at};
	return BERTH_OK;
}

/* Does the sign of an exponent stand here, in a number from at on? */
static bool is_exponent_sign(const scan *s, size_t at)
{
	char c = scan_peek(s);
	return (c == '+' || c == '-') && s->at > at && (s->text[s->at - 1] == 'e' || s->text[s->at - 1] == 'E') && s->at + 1 < s->size &&
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
	if (scan_peek(&r->s) == '-' && at + 1 < r->s.size && (isdigit((unsigned char)r->s.text[at + 1]) || r->s.text[at + 1] == '.'))
		r->s.at++;
	bool number = isdigit((unsigned char)scan_peek(&r->s)) || scan_peek(&r->s) == '.';
	while (!scan_end(&r->s) && (is_plain(scan_peek(&r->s)) || (number && (scan_peek(&r->s) == '.' || is_exponent_sign(&r->s, at)))))
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

/* Take value if key is in the list and not behind what was taken. A label may be any text. */
static berth_status rank_time(reader *r, const char *const *list, scan_word key, scan_word value, size_t at, ranked *out)
{
	double x;
	int i = 0;
	while (list[i] && !scan_is_any_case(key, list[i]))
		i++;
	if (!list[i] || i > out->rank)
		return BERTH_OK;
	if (scan_number(value, &x))
		*out = (ranked){x, i};
	else if (list[i + 1])
		return scan_fail(&r->s, at, r->t.err, "%s is '%.*s'; expected a number of 0 or more", list[i], value.n < 40 ? (int)value.n : 40, value.text);
	return BERTH_OK;
}

static berth_status take_number(reader *r, scan_word key, scan_word value, size_t at, double most, double *out)
{
	if (scan_number(value, out) && *out <= most)
		return BERTH_OK;
	return scan_fail(&r->s, at, r->t.err, "%.*s is '%.*s'; expected a number from 0 to %g", (int)key.n, key.text, value.n < 40 ? (int)value.n : 40, value.text, most);
}

/* time_KIND. */
static berth_status add_time(reader *r, scan_word key, scan_word value, size_t at, dot_node *node)
{
	dot_time x = {.next = node->next_time};
	BERTH_TRY(take_number(r, key, value, at, 1e12, &x.time));
	BERTH_TRY(scan_placed(&r->s, at, task_graph_name(&r->t, (scan_word){key.text + 5, key.n - 5}, &x.key), r->t.err));
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->time, r->n_times, &r->cap_time, r->t.err));
	node->next_time = r->n_times;
	r->time[r->n_times++] = x;
	return BERTH_OK;
}

/* node NULL: a default for those to come. */
static berth_status node_attr(reader *r, scan_word key, scan_word value, size_t at, node_attrs *a, dot_node *node)
{
	if (scan_is_any_case(key, "flops") || scan_is_any_case(key, "size"))
		return take_number(r, key, value, at, 1e30, &a->flops);
	for (int i = 0; i < 4; i++)
		if (scan_is_any_case(key, node_bytes[i]))
			return take_number(r, key, value, at, 0x1p53, &a->bytes[i]);
	if (scan_is_any_case(key, "type"))
		a->type = value;
	else if (scan_is_any_case(key, "colocate"))
		a->colocate = value;
	else if (scan_is_any_case(key, "pin"))
		a->pin = value;
	else if (node && key.n > 5 && scan_is_any_case((scan_word){key.text, 5}, "time_"))
		return add_time(r, key, value, at, node);
	return rank_time(r, times, key, value, at, &a->time);
}

static berth_status edge_attr(reader *r, scan_word key, scan_word value, size_t at, edge_attrs *a)
{
	if (scan_is_any_case(key, "bytes") || scan_is_any_case(key, "size") || scan_is_any_case(key, "data"))
		return take_number(r, key, value, at, 0x1p53, &a->bytes);
	if (scan_is_any_case(key, "tensor"))
		a->tensor = value;
	return rank_time(r, edge_times, key, value, at, &a->time);
}

/* "[key=value, ...]", any number of times; a key alone is "true". Either node or edge takes them, or none. */
static berth_status attr_lists(reader *r, node_attrs *node, dot_node *whole, edge_attrs *edge)
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
				BERTH_TRY(node_attr(r, key, value, at, node, whole));
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

/* What comes from a default gives way to all that is stated at a place itself. */
static ranked inherited(ranked x)
{
	enum { FARTHER = 100, FAR = 1 << 20 };
	x.rank += x.rank < FAR ? FARTHER : 0;
	return x;
}

/* The lists that stand here, on top of the set *index; *index = the new set. */
static berth_status node_lists(reader *r, dot_node *whole, int32_t *index)
{
	node_attrs a = r->node_attrs[*index];
	a.time = inherited(a.time);
	BERTH_TRY(attr_lists(r, &a, whole, NULL));
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->node_attrs, r->n_node_attrs, &r->cap_node_attrs, r->t.err));
	*index = r->n_node_attrs;
	r->node_attrs[r->n_node_attrs++] = a;
	return BERTH_OK;
}

static berth_status edge_lists(reader *r, int32_t *index)
{
	edge_attrs a = r->edge_attrs[*index];
	a.time = inherited(a.time);
	BERTH_TRY(attr_lists(r, NULL, NULL, &a));
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->edge_attrs, r->n_edge_attrs, &r->cap_edge_attrs, r->t.err));
	*index = r->n_edge_attrs;
	r->edge_attrs[r->n_edge_attrs++] = a;
	return BERTH_OK;
}

/* ---- statements ---- */

static berth_status add_member(reader *r, int32_t node)
{
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->member, r->n_members, &r->cap_member, r->t.err));
	r->member[r->n_members++] = node;
	return BERTH_OK;
}

/* The node of that id, new with the defaults of this place. */
static berth_status find_node(reader *r, scan_word id, size_t at, int32_t *out)
{
	const char *name;
	berth_arena_mark mark = berth_arena_get_mark(r->t.tmp);
	BERTH_TRY(scan_placed(&r->s, at, task_graph_name(&r->t, id, &name), r->t.err));
	*out = berth_strmap_get(&r->names, name);
	if (*out >= 0) {
		berth_arena_reset(r->t.tmp, mark);
		return BERTH_OK;
	}
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->node, r->n_nodes, &r->cap_node, r->t.err));
	r->node[r->n_nodes] = (dot_node){at, name, r->d[r->depth].node, -1, 0};
	return berth_strmap_add(&r->names, name, r->n_nodes++, out, r->t.err);
}

static berth_status add_edge(reader *r, int32_t from, int32_t to, size_t at)
{
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->edge, r->n_edges, &r->cap_edge, r->t.err));
	r->edge[r->n_edges++] = (dot_edge){at, from, to, r->d[r->depth].edge};
	return BERTH_OK;
}

static berth_status statements(reader *r);

/* { ... }, perhaps named. */
static berth_status subgraph(reader *r)
{
	scan_word id;
	if (r->depth == DEEPEST)
		return scan_fail(&r->s, r->s.at, r->t.err, "subgraphs in subgraphs, deeper than %d", DEEPEST);
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
	return r->s.size - r->s.at >= n && scan_is_any_case(here, word) && (r->s.at + n == r->s.size || !is_plain(r->s.text[r->s.at + n]));
}

/* Members from first on stand there once each, in order of their first place. */
static void each_once(reader *r, int32_t first)
{
	int32_t n = first, stamp = ++r->n_subgraphs;
	for (int32_t i = first; i < r->n_members; i++) {
		dot_node *node = &r->node[r->member[i]];
		if (node->seen != stamp)
			r->member[n++] = r->member[i];
		node->seen = stamp;
	}
	r->n_members = n;
}

/* One end of an edge: its nodes go on the stack of members. */
static berth_status edge_end(reader *r, scan_word *id, size_t *at)
{
	int32_t node;
	*at = r->s.at;
	*id = (scan_word){0};
	if (scan_peek(&r->s) == '{' || at_word(r, "subgraph")) {
		int32_t first = r->n_members;
		BERTH_TRY(subgraph(r));
		each_once(r, first);
		return BERTH_OK;
	}
	BERTH_TRY(take_id(r, "a node", id));
	BERTH_TRY(skip(r));
	for (int ports = 0; ports < 2 && scan_peek(&r->s) == ':'; ports++) { /* where the arrow touches the node's picture */
		scan_word port;
		r->s.at++;
		BERTH_TRY(skip(r));
		BERTH_TRY(take_id(r, "a port", &port));
		BERTH_TRY(skip(r));
	}
	if (scan_peek(&r->s) == '=')
		return BERTH_OK; /* an attribute of the graph */
	BERTH_TRY(find_node(r, *id, *at, &node));
	return add_member(r, node);
}

/* Every node of members [from, mid) to every one of [mid, end). */
static berth_status join(reader *r, int32_t from, int32_t mid, size_t at)
{
	int64_t pairs = (int64_t)(mid - from) * (r->n_members - mid);
	if (pairs > 1)
		r->n_crossed += pairs < MAX_CROSSED ? (int32_t)pairs : MAX_CROSSED + 1;
	if (r->n_crossed > MAX_CROSSED)
		return scan_fail(&r->s, at, r->t.err, "edges between subgraphs stand for more than %d edges", MAX_CROSSED);
	for (int32_t i = from; i < mid; i++)
		for (int32_t k = mid; k < r->n_members; k++)
			BERTH_TRY(add_edge(r, r->member[i], r->member[k], at));
	return BERTH_OK;
}

/* What follows the first end of a chain, its members from first on. */
static berth_status edge_chain(reader *r, int32_t first)
{
	int32_t first_edge = r->n_edges, from = first, mid = r->n_members;
	while (scan_take(&r->s, "->")) {
		scan_word id;
		size_t at;
		BERTH_TRY(skip(r));
		BERTH_TRY(edge_end(r, &id, &at));
		BERTH_TRY(skip(r));
		BERTH_TRY(join(r, from, mid, at));
		from = mid;
		mid = r->n_members;
	}
	if (r->s.at + 1 < r->s.size && r->s.text[r->s.at] == '-' && r->s.text[r->s.at + 1] == '-')
		return scan_fail(&r->s, r->s.at, r->t.err, "an edge without direction, --; expected ->");
	if (r->n_edges == first_edge)
		return attr_lists(r, NULL, NULL, NULL);
	if (scan_peek(&r->s) != '[')
		return BERTH_OK;
	int32_t a = r->d[r->depth].edge;
	BERTH_TRY(edge_lists(r, &a));
	for (int32_t i = first_edge; i < r->n_edges; i++)
		r->edge[i].a = a;
	return BERTH_OK;
}

/* A node with its attributes, an edge, an attribute of the graph, or a subgraph. */
static berth_status node_or_edge(reader *r)
{
	int32_t first = r->n_members;
	scan_word id;
	size_t at;
	BERTH_TRY(edge_end(r, &id, &at));
	BERTH_TRY(skip(r));
	if (id.n && scan_take(&r->s, "=")) {
		BERTH_TRY(skip(r));
		return take_id(r, "the value of an attribute", &id);
	}
	if (scan_peek(&r->s) == '[' && id.text && r->n_members == first + 1) {
		dot_node *node = &r->node[r->member[first]];
		return node_lists(r, node, &node->a);
	}
	return edge_chain(r, first);
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
		return node_lists(r, NULL, &d->node);
	return edge ? edge_lists(r, &d->edge) : attr_lists(r, NULL, NULL, NULL);
}

/* Up to the closing brace. Members of inner subgraphs stay on the stack for the chain that they stand in. */
static berth_status statements(reader *r)
{
	BERTH_TRY(skip(r));
	while (!scan_end(&r->s) && scan_peek(&r->s) != '}') {
		if (!scan_take(&r->s, ";")) {
			int32_t members = r->n_members;
			BERTH_TRY(statement(r));
			if (r->depth == 0)
				r->n_members = members;
		}
		BERTH_TRY(skip(r));
	}
	return BERTH_OK;
}

static berth_status document(reader *r)
{
	scan_word id;
	BERTH_TRY(skip(r));
	if (at_word(r, "strict")) {
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

static berth_status name_or_null(reader *r, scan_word w, const char **out)
{
	*out = NULL;
	return w.n ? task_graph_name(&r->t, w, out) : BERTH_OK;
}

static berth_status put_node(reader *r, const dot_node *n)
{
	const node_attrs *a = &r->node_attrs[n->a];
	berth_op_spec spec = {.name = n->name, .flops = a->flops, .read_bytes = (int64_t)a->bytes[0], .write_bytes = (int64_t)a->bytes[1],
	                      .param_bytes = (int64_t)a->bytes[2], .output_bytes = (int64_t)a->bytes[3]};
	double time = a->time.value;
	int32_t op;
	BERTH_TRY(name_or_null(r, a->type, &spec.type));
	BERTH_TRY(name_or_null(r, a->colocate, &spec.colocate));
	BERTH_TRY(name_or_null(r, a->pin, &spec.pin));
	if (isnan(time) && n->next_time < 0 && a->flops <= 0)
		time = 0; /* nothing is known: a dummy */
	BERTH_TRY(task_graph_op(&r->t, &spec, time, &op));
	for (int32_t i = n->next_time; i >= 0; i = r->time[i].next)
		BERTH_TRY(berth_builder_time(r->t.b, op, r->time[i].key, r->time[i].time * r->t.opt->unit, r->t.err));
	return BERTH_OK;
}

static berth_status put_edge(reader *r, const dot_edge *e)
{
	const char *tensor;
	const edge_attrs *a = &r->edge_attrs[e->a];
	double time = isnan(a->time.value) ? 0 : a->time.value;
	int64_t bytes = isnan(a->bytes) ? task_graph_bytes(&r->t, time) : (int64_t)a->bytes;
	if (bytes < 0)
		return berth_fail(r->t.err, BERTH_EFORMAT, "the time %g of an edge stands for more than 2^53 bytes", time);
	BERTH_TRY(name_or_null(r, a->tensor, &tensor));
	return berth_builder_edge(r->t.b, e->from, e->to, bytes, tensor ? tensor : bytes ? r->node[e->to].name : NULL, r->t.err);
}

static berth_status build(reader *r, const char *file, berth_arena *mem, berth_graph *out)
{
	for (int32_t i = 0; i < r->n_nodes; i++)
		BERTH_TRY(scan_placed(&r->s, r->node[i].at, put_node(r, &r->node[i]), r->t.err));
	for (int32_t i = 0; i < r->n_edges; i++)
		BERTH_TRY(scan_placed(&r->s, r->edge[i].at, put_edge(r, &r->edge[i]), r->t.err));
	berth_status st = berth_builder_finish(r->t.b, mem, out, r->t.err);
	return st == BERTH_EFORMAT ? berth_fail_in(r->t.err, st, "%s: ", file) : st;
}

static berth_status parse(reader *r, const char *file, berth_arena *mem, berth_graph *out)
{
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->node_attrs, 0, &r->cap_node_attrs, r->t.err));
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->edge_attrs, 0, &r->cap_edge_attrs, r->t.err));
	r->node_attrs[r->n_node_attrs++] = (node_attrs){.time = {NAN, NOTHING}};
	r->edge_attrs[r->n_edge_attrs++] = (edge_attrs){.time = {NAN, NOTHING}, .bytes = NAN};
	berth_strmap_init(&r->names, r->t.tmp);
	BERTH_TRY(task_graph_new(&r->t, file));
	BERTH_TRY(document(r));
	return build(r, file, mem, out);
}

berth_status berth_graph_parse_dot(const char *file, const char *text, size_t size, const berth_task_options *opt, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                   berth_err *err)
{
	const berth_task_options usual = berth_task_options_default();
	reader *r;
	berth_graph g;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = BERTH_NEW(tmp, r, 1, err);
	if (st == BERTH_OK) {
		r->s = (scan){file, text, size, 0};
		r->t = (task_graph){opt ? opt : &usual, NULL, tmp, err};
		st = parse(r, file, mem, &g);
	}
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = g;
	return st;
}
