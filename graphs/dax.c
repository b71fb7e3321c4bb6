/* Pegasus workflows (DAX); see tasks.h. Of XML it takes elements with attributes, comments, CDATA and the five named entities and numbers; a document type is
 * refused. Written by hand, as only tags matter: nothing is kept but jobs, files and their uses. */
#include "task_graph.h"

#include "text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, MAX_ATTRS = 32 };

typedef struct dax_job {
	size_t at;
	const char *id, *type;
	double runtime;    /* NAN: not given */
	double read, write, leave; /* bytes */
} dax_job;

typedef struct dax_file {
	const char *name;
	int32_t producer;  /* -1: comes from outside */
	int32_t last_user; /* job that was counted last */
	double size;       /* by its producer, else the largest that a reader says */
	bool sized, taken; /* by the producer; by a job */
} dax_file;

typedef struct dax_use {
	size_t at;
	int32_t job, file;
} dax_use;

typedef struct dax_pair {
	int32_t parent, child;
	size_t at;
} dax_pair;

typedef struct reader {
	scan s;
	task_graph t;
	dax_job *job;
	dax_file *file;
	dax_use *use;      /* inputs */
	dax_pair *pair;    /* child and parent as stated */
	int32_t n_jobs, n_files, n_uses, n_pairs;
	size_t cap_job, cap_file, cap_use, cap_pair;
	berth_strmap jobs, files;
	scan_word open[DEEPEST];
	int depth;
	int32_t this_job, this_child; /* being read; -1: none */
} reader;

typedef struct tag {
	size_t at;
	scan_word name;
	scan_word key[MAX_ATTRS], value[MAX_ATTRS];
	int n;
	bool closes, empty; /* </name>, <name/> */
} tag;

/* ---- XML ---- */

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-.:", c)) || (unsigned char)c >= 128;
}

static berth_status take_name(reader *r, scan_word *out)
{
	size_t at = r->s.at;
	while (!scan_end(&r->s) && is_name_byte(scan_peek(&r->s)))
		r->s.at++;
	*out = (scan_word){r->s.text + at, r->s.at - at};
	/* without the prefix of a namespace */
	for (size_t i = 0; i < out->n; i++)
		if (out->text[i] == ':') {
			out->text += i + 1;
			out->n -= i + 1;
			i = (size_t)-1;
		}
	return out->n ? BERTH_OK : scan_fail(&r->s, at, r->t.err, "expected a name");
}

static berth_status take_attr(reader *r, tag *t)
{
	char quote;
	size_t at = r->s.at;
	if (t->n == MAX_ATTRS)
		return scan_fail(&r->s, at, r->t.err, "more than %d attributes", MAX_ATTRS);
	BERTH_TRY(take_name(r, &t->key[t->n]));
	scan_spaces(&r->s);
	if (!scan_take(&r->s, "="))
		return scan_fail(&r->s, r->s.at, r->t.err, "expected = behind an attribute");
	scan_spaces(&r->s);
	quote = scan_peek(&r->s);
	if (quote != '"' && quote != '\'')
		return scan_fail(&r->s, r->s.at, r->t.err, "expected the value of an attribute in quotes");
	at = r->s.at++;
	while (!scan_end(&r->s) && scan_peek(&r->s) != quote && scan_peek(&r->s) != '<')
		r->s.at++;
	if (scan_peek(&r->s) != quote)
		return scan_fail(&r->s, at, r->t.err, "the value of an attribute without an end");
	t->value[t->n++] = (scan_word){r->s.text + at + 1, r->s.at - at - 1};
	r->s.at++;
	return BERTH_OK;
}

/* Behind "<". */
static berth_status take_tag(reader *r, tag *t)
{
	t->at = r->s.at - 1;
	t->n = 0;
	t->closes = scan_take(&r->s, "/");
	t->empty = false;
	BERTH_TRY(take_name(r, &t->name));
	for (;;) {
		scan_spaces(&r->s);
		if (scan_take(&r->s, ">"))
			return BERTH_OK;
		if (!t->closes && scan_take(&r->s, "/>")) {
			t->empty = true;
			return BERTH_OK;
		}
		if (t->closes || scan_end(&r->s))
			return scan_fail(&r->s, t->at, r->t.err, "a tag without an end; expected >");
		BERTH_TRY(take_attr(r, t));
	}
}

/* Past a comment, a processing instruction or CDATA behind "<"; *was: it was one. */
static berth_status skip_other(reader *r, bool *was)
{
	size_t at = r->s.at - 1;
	const char *end = scan_take(&r->s, "!--") ? "-->" : scan_take(&r->s, "?") ? "?>" : scan_take(&r->s, "![CDATA[") ? "]]>" : NULL;
	*was = end != NULL;
	if (!end && scan_peek(&r->s) == '!')
		return scan_fail(&r->s, at, r->t.err, "a declaration, such as that of a document type, which is not read");
	if (end && !scan_past(&r->s, end))
		return scan_fail(&r->s, at, r->t.err, "expected %s, to end what begins here", end);
	return BERTH_OK;
}

static bool attr(const tag *t, const char *key, scan_word *out)
{
	for (int i = 0; i < t->n; i++)
		if (scan_is(t->key[i], key)) {
			*out = t->value[i];
			return true;
		}
	return false;
}

/* Bytes of a character in UTF-8; 0: it is none. */
static size_t put_utf8(char *to, unsigned long c)
{
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n; i-- > 1; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(0xff << (8 - n) | (int)c);
	return n;
}

/* The entity at the front of w, behind &: its length with the semicolon, and what it stands for; 0: it is none. */
static size_t take_entity(scan_word w, char to[4], size_t *n)
{
	static const struct { const char *name; char c; } named[] = {{"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}};
	char text[12] = "", *end;
	size_t len = 0;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (w.n >= strlen(named[i].name) && memcmp(w.text, named[i].name, strlen(named[i].name)) == 0) {
			to[0] = named[i].c;
			*n = 1;
			return strlen(named[i].name);
		}
	while (len < w.n && len < sizeof text - 1 && w.text[len] != ';')
		len++;
	if (len == w.n || w.text[len] != ';' || len < 2 || w.text[0] != '#')
		return 0;
	bool hex = w.text[1] == 'x';
	memcpy(text, w.text + 1 + hex, len - 1 - hex);
	if (!*text || strspn(text, hex ? "0123456789abcdefABCDEF" : "0123456789") != strlen(text))
		return 0;
	*n = put_utf8(to, strtoul(text, &end, hex ? 16 : 10));
	return *n ? len + 1 : 0;
}

/* A value without entities, as a name. */
static berth_status text_of(reader *r, const tag *t, scan_word w, const char **out)
{
	char *text = berth_arena_strndup(r->t.tmp, w.text, w.n);
	size_t len = 0;
	if (!text)
		return berth_nomem(r->t.err);
	for (size_t i = 0; i < w.n; i++) {
		size_t n = 1, entity = 0;
		text[len] = w.text[i];
		if (w.text[i] == '&')
			entity = take_entity((scan_word){w.text + i + 1, w.n - i - 1}, text + len, &n);
		if (w.text[i] == '&' && !entity)
			return scan_fail(&r->s, t->at, r->t.err, "an entity that is not known; expected &amp; &lt; &gt; &quot; &apos; or a number");
		len += n;
		i += entity;
	}
	text[len] = '\0';
	return scan_placed(&r->s, t->at, task_graph_name(&r->t, (scan_word){text, len}, out), r->t.err);
}

static berth_status need(reader *r, const tag *t, const char *key, const char **out)
{
	scan_word w;
	if (!attr(t, key, &w))
		return scan_fail(&r->s, t->at, r->t.err, "%.*s without the attribute %s", t->name.n < 40 ? (int)t->name.n : 40, t->name.text, key);
	return text_of(r, t, w, out);
}

static berth_status number_attr(reader *r, const tag *t, const char *key, double most, double *out)
{
	scan_word w;
	if (!attr(t, key, &w))
		return BERTH_OK;
	if (scan_number(w, out) && *out <= most)
		return BERTH_OK;
	return scan_fail(&r->s, t->at, r->t.err, "%s is '%.*s'; expected a number from 0 to %g", key, w.n < 40 ? (int)w.n : 40, w.text, most);
}

/* ---- elements ---- */

static berth_status read_job(reader *r, const tag *t)
{
	dax_job j = {.at = t->at, .runtime = NAN};
	scan_word type;
	int32_t found;
	BERTH_TRY(need(r, t, "id", &j.id));
	if (attr(t, "name", &type) && type.n)
		BERTH_TRY(text_of(r, t, type, &j.type));
	BERTH_TRY(number_attr(r, t, "runtime", 1e12, &j.runtime));
	BERTH_TRY(berth_strmap_add(&r->jobs, j.id, r->n_jobs, &found, r->t.err));
	if (found != r->n_jobs)
		return scan_fail(&r->s, t->at, r->t.err, "two jobs have the id '%.80s'", j.id);
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->job, r->n_jobs, &r->cap_job, r->t.err));
	r->this_job = r->n_jobs;
	r->job[r->n_jobs++] = j;
	return BERTH_OK;
}

static berth_status find_file(reader *r, const tag *t, int32_t *out)
{
	scan_word w;
	const char *name;
	BERTH_TRY(need(r, t, attr(t, "file", &w) ? "file" : "name", &name));
	BERTH_TRY(berth_strmap_add(&r->files, name, r->n_files, out, r->t.err));
	if (*out < r->n_files)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->file, r->n_files, &r->cap_file, r->t.err));
	r->file[r->n_files++] = (dax_file){.name = name, .producer = -1, .last_user = -1};
	return BERTH_OK;
}

static berth_status add_output(reader *r, const tag *t, dax_file *f, double size)
{
	if (f->producer >= 0 && f->producer != r->this_job)
		return scan_fail(&r->s, t->at, r->t.err, "file '%.80s' is made by job '%.60s' and by job '%.60s'", f->name, r->job[f->producer].id, r->job[r->this_job].id);
	f->producer = r->this_job;
	if (!isnan(size)) {
		f->size = size;
		f->sized = true;
	}
	return BERTH_OK;
}

static berth_status add_input(reader *r, const tag *t, int32_t file, double size)
{
	dax_file *f = &r->file[file];
	if (!f->sized && !isnan(size) && size > f->size)
		f->size = size;
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->use, r->n_uses, &r->cap_use, r->t.err));
	r->use[r->n_uses++] = (dax_use){t->at, r->this_job, file};
	return BERTH_OK;
}

static berth_status read_uses(reader *r, const tag *t)
{
	scan_word link = {"", 0};
	int32_t file;
	double size = NAN;
	if (r->this_job < 0)
		return BERTH_OK;
	attr(t, "link", &link);
	bool in = scan_is(link, "input") || scan_is(link, "inout"), out = scan_is(link, "output") || scan_is(link, "inout");
	if (!in && !out)
		return BERTH_OK; /* a program, a checkpoint: no data of the workflow */
	BERTH_TRY(find_file(r, t, &file));
	BERTH_TRY(number_attr(r, t, "size", 0x1p53, &size));
	if (out)
		BERTH_TRY(add_output(r, t, &r->file[file], size));
	return in ? add_input(r, t, file, size) : BERTH_OK;
}

static berth_status find_job(reader *r, const tag *t, int32_t *out)
{
	const char *id;
	BERTH_TRY(need(r, t, "ref", &id));
	*out = berth_strmap_get(&r->jobs, id);
	if (*out < 0)
		return scan_fail(&r->s, t->at, r->t.err, "'%.80s' is the id of no job before this place", id);
	return BERTH_OK;
}

static berth_status read_parent(reader *r, const tag *t)
{
	int32_t parent;
	if (r->this_child < 0)
		return scan_fail(&r->s, t->at, r->t.err, "a parent outside of a child");
	BERTH_TRY(find_job(r, t, &parent));
	BERTH_TRY(BERTH_GROW(r->t.tmp, r->pair, r->n_pairs, &r->cap_pair, r->t.err));
	r->pair[r->n_pairs++] = (dax_pair){parent, r->this_child, t->at};
	return BERTH_OK;
}

/* <profile key="runtime">12.5</profile> */
static berth_status read_profile(reader *r, const tag *t)
{
	scan_word key, text;
	if (r->this_job < 0 || t->empty || !attr(t, "key", &key) || !scan_is_any_case(key, "runtime"))
		return BERTH_OK;
	scan s = r->s;
	scan_spaces(&s);
	text.text = s.text + s.at;
	while (!scan_end(&s) && scan_peek(&s) != '<' && !isspace((unsigned char)scan_peek(&s)))
		s.at++;
	text.n = (size_t)(s.text + s.at - text.text);
	if (!scan_number(text, &r->job[r->this_job].runtime))
		return scan_fail(&r->s, r->s.at, r->t.err, "runtime is '%.*s'; expected a number of 0 or more", text.n < 40 ? (int)text.n : 40, text.text);
	return BERTH_OK;
}

static berth_status begin(reader *r, const tag *t)
{
	if (r->depth == 0 && !scan_is(t->name, "adag"))
		return scan_fail(&r->s, t->at, r->t.err, "<%.*s>; expected <adag>, a Pegasus workflow", t->name.n < 40 ? (int)t->name.n : 40, t->name.text);
	if (scan_is(t->name, "job"))
		return read_job(r, t);
	if (scan_is(t->name, "uses"))
		return read_uses(r, t);
	if (scan_is(t->name, "child"))
		return find_job(r, t, &r->this_child);
	if (scan_is(t->name, "parent"))
		return read_parent(r, t);
	return scan_is(t->name, "profile") ? read_profile(r, t) : BERTH_OK;
}

static void end(reader *r, scan_word name)
{
	if (scan_is(name, "job"))
		r->this_job = -1;
	if (scan_is(name, "child"))
		r->this_child = -1;
}

static berth_status close_tag(reader *r, const tag *t)
{
	scan_word open = r->depth ? r->open[r->depth - 1] : (scan_word){"", 0};
	if (!r->depth || open.n != t->name.n || memcmp(open.text, t->name.text, open.n) != 0)
		return scan_fail(&r->s, t->at, r->t.err, "</%.*s> closes no element that is open%s%.*s", t->name.n < 40 ? (int)t->name.n : 40, t->name.text,
		                 r->depth ? "; expected </" : "", open.n < 40 ? (int)open.n : 40, open.text);
	r->depth--;
	end(r, t->name);
	return BERTH_OK;
}

static berth_status element(reader *r)
{
	tag t;
	BERTH_TRY(take_tag(r, &t));
	if (t.closes)
		return close_tag(r, &t);
	if (r->depth == DEEPEST)
		return scan_fail(&r->s, t.at, r->t.err, "elements in elements, deeper than %d", DEEPEST);
	BERTH_TRY(begin(r, &t));
	if (t.empty)
		end(r, t.name);
	else
		r->open[r->depth++] = t.name;
	return BERTH_OK;
}

static berth_status document(reader *r)
{
	bool any = false, other;
	while (scan_past(&r->s, "<")) {
		BERTH_TRY(skip_other(r, &other));
		if (other)
			continue;
		if (any && !r->depth)
			return scan_fail(&r->s, r->s.at - 1, r->t.err, "a second element at the top; expected one");
		any = true;
		BERTH_TRY(element(r));
	}
	if (r->depth)
		return scan_fail(&r->s, r->s.at, r->t.err, "the file ends within <%.*s>", r->open[r->depth - 1].n < 40 ? (int)r->open[r->depth - 1].n : 40, r->open[r->depth - 1].text);
	return any ? BERTH_OK : scan_fail(&r->s, r->s.at, r->t.err, "no element; expected <adag>");
}

/* ---- the graph ---- */

/* Inputs and outputs of the jobs in bytes; a file that a job names twice counts once. */
static void count_bytes(reader *r)
{
	int32_t n = 0;
	for (int32_t i = 0; i < r->n_uses; i++) {
		dax_use u = r->use[i];
		dax_file *f = &r->file[u.file];
		if (f->last_user == u.job || f->producer == u.job)
			continue;
		f->last_user = u.job;
		f->taken = true;
		r->job[u.job].read += floor(f->size);
		r->use[n++] = u;
	}
	r->n_uses = n;
	for (int32_t i = 0; i < r->n_files; i++) {
		const dax_file *f = &r->file[i];
		if (f->producer < 0)
			continue;
		r->job[f->producer].write += floor(f->size);
		r->job[f->producer].leave += f->taken ? 0 : floor(f->size);
	}
}

static berth_status put_job(reader *r, const dax_job *j)
{
	berth_op_spec spec = {.name = j->id, .type = j->type};
	int32_t op;
	if (j->read > 0x1p53 || j->write > 0x1p53)
		return berth_fail(r->t.err, BERTH_EFORMAT, "the files of job '%.80s' have more than 2^53 bytes together", j->id);
	spec.read_bytes = (int64_t)j->read;
	spec.write_bytes = (int64_t)j->write;
	spec.output_bytes = (int64_t)j->leave;
	return task_graph_op(&r->t, &spec, isnan(j->runtime) ? 0 : j->runtime, &op);
}

static int compare_pairs(const void *pa, const void *pb)
{
	const dax_pair *a = pa, *b = pb;
	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return a->child == b->child ? 0 : a->child < b->child ? -1 : 1;
}

/* Files become tensors. data[n]: the pairs of jobs that they join, sorted. */
static berth_status put_files(reader *r, dax_pair **data, int32_t *n)
{
	BERTH_TRY(BERTH_NEW(r->t.tmp, *data, r->n_uses, r->t.err));
	*n = 0;
	for (int32_t i = 0; i < r->n_uses; i++) {
		const dax_file *f = &r->file[r->use[i].file];
		if (f->producer < 0)
			continue;
		berth_status st = berth_builder_edge(r->t.b, f->producer, r->use[i].job, (int64_t)f->size, f->name, r->t.err);
		BERTH_TRY(scan_placed(&r->s, r->use[i].at, st, r->t.err));
		(*data)[(*n)++] = (dax_pair){f->producer, r->use[i].job, r->use[i].at};
	}
	if (*n)
		qsort(*data, (size_t)*n, sizeof **data, compare_pairs);
	return BERTH_OK;
}

/* Stated pairs that no file joins. */
static berth_status put_pairs(reader *r, const dax_pair *data, int32_t n)
{
	if (r->n_pairs)
		qsort(r->pair, (size_t)r->n_pairs, sizeof *r->pair, compare_pairs);
	for (int32_t i = 0; i < r->n_pairs; i++) {
		const dax_pair *p = &r->pair[i];
		bool again = i && compare_pairs(p, p - 1) == 0;
		if (again || (n && bsearch(p, data, (size_t)n, sizeof *data, compare_pairs)))
			continue;
		BERTH_TRY(scan_placed(&r->s, p->at, berth_builder_edge(r->t.b, p->parent, p->child, 0, NULL, r->t.err), r->t.err));
	}
	return BERTH_OK;
}

static berth_status build(reader *r, const char *file, berth_arena *mem, berth_graph *out)
{
	dax_pair *data;
	int32_t n;
	count_bytes(r);
	for (int32_t i = 0; i < r->n_jobs; i++)
		BERTH_TRY(scan_placed(&r->s, r->job[i].at, put_job(r, &r->job[i]), r->t.err));
	BERTH_TRY(put_files(r, &data, &n));
	BERTH_TRY(put_pairs(r, data, n));
	berth_status st = berth_builder_finish(r->t.b, mem, out, r->t.err);
	return st == BERTH_EFORMAT ? berth_fail_in(r->t.err, st, "%s: ", file) : st;
}

static berth_status parse(reader *r, const char *file, berth_arena *mem, berth_graph *out)
{
	r->this_job = r->this_child = -1;
	berth_strmap_init(&r->jobs, r->t.tmp);
	berth_strmap_init(&r->files, r->t.tmp);
	BERTH_TRY(task_graph_new(&r->t, file));
	BERTH_TRY(document(r));
	return build(r, file, mem, out);
}

berth_status berth_graph_parse_dax(const char *file, const char *text, size_t size, const berth_task_options *opt, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                   berth_err *err)
{
	const berth_task_options defaults = berth_task_options_default();
	reader r = {.s = {file, text, size, 0}, .t = {opt ? opt : &defaults, NULL, tmp, err}};
	berth_graph g;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = parse(&r, file, mem, &g);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = g;
	return st;
}
