/* Pegasus workflows (DAX). Of XML it takes elements with attributes, comments, CDATA and the
 * five named entities and numbers; a document type is refused. Written by hand, as only tags matter:
 * nothing is kept but jobs, files and their uses. */
#include "task_graph.h"

#include "columns.h"
#include "name_index.h"
#include "sort.h"

#include <ctype.h>

enum { DEEPEST = 64, MAX_ATTRS = 32 };

/* Of jobs, beside what the builder holds of them: seconds, bytes. */
enum { JOB_RUNTIME, JOB_READ, JOB_WRITE, JOB_LEAVE, JOB_COLUMNS };
/* Of files. Producer: the job that makes it + 1; 0: it comes from outside. Last user: the job that was
 * counted last, + 1. Size: bytes, by its producer, else the largest that a reader says. */
enum { FILE_NAME, FILE_PRODUCER, FILE_LAST_USER, FILE_SIZE, FILE_FLAGS, FILE_COLUMNS };
enum { FILE_SIZED = 1, FILE_TAKEN = 2 }; /* by the producer; by a job */
/* Inputs of jobs, and children with their parents. */
enum { LINK_JOB, LINK_OTHER, LINK_COLUMNS };

typedef struct reader {
	scan s;
	task_graph t;
	columns job, file, use, pair;
	berth_name_index files;
	char *text;        /* the value being looked at, without entities */
	size_t cap_text;
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
	return out->n ? BERTH_OK : scan_fail(&r->s, at, "expected a name");
}

static berth_status take_attr(reader *r, tag *t)
{
	char quote;
	size_t at = r->s.at;
	if (t->n == MAX_ATTRS)
		return scan_fail(&r->s, at, "more than %d attributes", MAX_ATTRS);
	BERTH_TRY(take_name(r, &t->key[t->n]));
	scan_spaces(&r->s);
	if (!scan_take(&r->s, "="))
		return scan_fail(&r->s, r->s.at, "expected = behind an attribute");
	scan_spaces(&r->s);
	quote = scan_peek(&r->s);
	if (quote != '"' && quote != '\'')
		return scan_fail(&r->s, r->s.at, "expected the value of an attribute in quotes");
	at = r->s.at++;
	while (!scan_end(&r->s) && scan_peek(&r->s) != quote && scan_peek(&r->s) != '<')
		r->s.at++;
	if (scan_peek(&r->s) != quote)
		return scan_fail(&r->s, at, "the value of an attribute without an end");
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
			return scan_fail(&r->s, t->at, "a tag without an end; expected >");
		BERTH_TRY(take_attr(r, t));
	}
}

/* Past a comment, a processing instruction or CDATA behind "<"; *was: it was one. */
static berth_status skip_other(reader *r, bool *was)
{
	size_t at = r->s.at - 1;
	const char *end = scan_take(&r->s, "!--")        ? "-->"
	                  : scan_take(&r->s, "?")        ? "?>"
	                  : scan_take(&r->s, "![CDATA[") ? "]]>"
	                                                 : NULL;
	*was = end != NULL;
	if (!end && scan_peek(&r->s) == '!')
		return scan_fail(&r->s, at,
		                 "a declaration, such as that of a document type, which is not read");
	if (end && !scan_past(&r->s, end))
		return scan_fail(&r->s, at, "expected %s, to end what begins here", end);
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

/* The entity at the front of w, behind &: its length with the semicolon, and what it stands for; 0: it is
 * none. */
static size_t take_entity(scan_word w, char to[4], size_t *n)
{
	static const struct {
		const char *name;
		char c;
	} named[] = {{"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}};
	char text[12] = "", *end;
	size_t len = 0;
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (w.n >= strlen(named[i].name) &&
		    memcmp(w.text, named[i].name, strlen(named[i].name)) == 0) {
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

/* A value without entities, as a name; *out lasts until the next one. */
static berth_status text_of(reader *r, const tag *t, scan_word w, const char **out)
{
	size_t len = 0;
	BERTH_TRY(berth_arena_room(r->t.tmp, &r->text, w.n + 1, &r->cap_text, r->t.err));
	for (size_t i = 0; i < w.n; i++) {
		size_t n = 1, entity = 0;
		r->text[len] = w.text[i];
		if (w.text[i] == '&')
			entity = take_entity((scan_word){w.text + i + 1, w.n - i - 1}, r->text + len, &n);
		if (w.text[i] == '&' && !entity)
			return scan_fail(&r->s, t->at,
			                 "an entity that is not known; expected &amp; &lt; &gt; &quot; "
			                 "&apos; or a number");
		len += n;
		i += entity;
	}
	r->text[len] = '\0';
	*out = r->text;
	return scan_placed(&r->s, t->at, task_graph_check_name(&r->t, (scan_word){r->text, len}));
}

static berth_status need(reader *r, const tag *t, const char *key, const char **out)
{
	scan_word w;
	if (!attr(t, key, &w))
		return scan_fail(&r->s, t->at, "%.*s without the attribute %s", scan_shown(t->name),
		                 t->name.text, key);
	return text_of(r, t, w, out);
}

/* For good, as the builder borrows its texts. */
static berth_status keep(reader *r, const char **text)
{
	*text = berth_arena_strdup(r->t.tmp, *text);
	return *text ? BERTH_OK : berth_nomem(r->t.err);
}

static berth_status number_attr(reader *r, const tag *t, const char *key, double most, double *out)
{
	scan_word w;
	if (!attr(t, key, &w))
		return BERTH_OK;
	if (scan_number(w, out) && *out <= most)
		return BERTH_OK;
	return scan_fail(&r->s, t->at, "%s is '%.*s'; expected a number from 0 to %g", key, scan_shown(w),
	                 w.text, most);
}

/* ---- elements ---- */

/* Of the job being read. */
static berth_status set_runtime(reader *r, const tag *t, double runtime)
{
	BERTH_TRY(scan_placed(&r->s, t->at, task_graph_check_time(&r->t, r->this_job, runtime)));
	return columns_set_double(&r->job, JOB_RUNTIME, (size_t)r->this_job, runtime, r->t.err);
}

static berth_status read_job(reader *r, const tag *t)
{
	berth_op_spec spec = {0};
	scan_word type;
	double runtime = 0;
	BERTH_TRY(need(r, t, "id", &spec.name));
	if (berth_builder_find(r->t.b, spec.name) >= 0)
		return scan_fail(&r->s, t->at, "two jobs have the id '%.80s'", spec.name);
	BERTH_TRY(keep(r, &spec.name));
	if (attr(t, "name", &type) && type.n) {
		BERTH_TRY(text_of(r, t, type, &spec.type));
		BERTH_TRY(keep(r, &spec.type));
	}
	BERTH_TRY(number_attr(r, t, "runtime", 1e12, &runtime));
	BERTH_TRY(
		scan_placed(&r->s, t->at, berth_builder_op(r->t.b, &spec, &r->this_job, r->t.err)));
	BERTH_TRY(columns_add(&r->job, r->t.err));
	return set_runtime(r, t, runtime);
}

static berth_status find_file(reader *r, const tag *t, size_t *out)
{
	scan_word w;
	const char *name;
	int32_t found;
	BERTH_TRY(need(r, t, attr(t, "file", &w) ? "file" : "name", &name));
	found = berth_name_index_get(&r->files, name);
	*out = found < 0 ? r->file.n_rows : (size_t)found;
	if (found >= 0)
		return BERTH_OK;
	if (*out == INT32_MAX / 4)
		return scan_fail(&r->s, t->at, "more than %d files", INT32_MAX / 4);
	BERTH_TRY(keep(r, &name));
	BERTH_TRY(columns_add(&r->file, r->t.err));
	BERTH_TRY(columns_set_text(&r->file, FILE_NAME, *out, name, r->t.err));
	return berth_name_index_add(&r->files, NULL, r->t.err);
}

static berth_status set_flag(reader *r, size_t file, unsigned char flag)
{
	return columns_set_byte(&r->file, FILE_FLAGS, file, columns_byte(&r->file, FILE_FLAGS, file) | flag,
	                        r->t.err);
}

static const char *job_name(const reader *r, int32_t job)
{
	berth_op_spec spec;
	berth_builder_get(r->t.b, job, &spec);
	return spec.name;
}

static berth_status add_output(reader *r, const tag *t, size_t file, double size)
{
	int32_t producer = columns_int(&r->file, FILE_PRODUCER, file) - 1;
	if (producer >= 0 && producer != r->this_job)
		return scan_fail(&r->s, t->at, "file '%.80s' is made by job '%.60s' and by job '%.60s'",
		                 columns_text(&r->file, FILE_NAME, file), job_name(r, producer),
		                 job_name(r, r->this_job));
	BERTH_TRY(columns_set_int(&r->file, FILE_PRODUCER, file, r->this_job + 1, r->t.err));
	if (isnan(size))
		return BERTH_OK;
	BERTH_TRY(columns_set_double(&r->file, FILE_SIZE, file, size, r->t.err));
	return set_flag(r, file, FILE_SIZED);
}

static berth_status add_link(reader *r, const tag *t, columns *list, int32_t job, int32_t other)
{
	size_t row = list->n_rows;
	if (row == INT32_MAX / 4)
		return scan_fail(&r->s, t->at, "more than %d inputs or parents", INT32_MAX / 4);
	BERTH_TRY(columns_add(list, r->t.err));
	BERTH_TRY(columns_set_int(list, LINK_JOB, row, job, r->t.err));
	return columns_set_int(list, LINK_OTHER, row, other, r->t.err);
}

static berth_status add_input(reader *r, const tag *t, size_t file, double size)
{
	bool sized = columns_byte(&r->file, FILE_FLAGS, file) & FILE_SIZED;
	if (!sized && !isnan(size) && size > columns_double(&r->file, FILE_SIZE, file))
		BERTH_TRY(columns_set_double(&r->file, FILE_SIZE, file, size, r->t.err));
	return add_link(r, t, &r->use, r->this_job, (int32_t)file);
}

static berth_status read_uses(reader *r, const tag *t)
{
	scan_word link = {"", 0};
	size_t file;
	double size = NAN;
	if (r->this_job < 0)
		return BERTH_OK;
	attr(t, "link", &link);
	bool in = scan_is(link, "input") || scan_is(link, "inout"),
	     out = scan_is(link, "output") || scan_is(link, "inout");
	if (!in && !out)
		return BERTH_OK; /* a program, a checkpoint: no data of the workflow */
	BERTH_TRY(find_file(r, t, &file));
	BERTH_TRY(number_attr(r, t, "size", 0x1p53, &size));
	if (out)
		BERTH_TRY(add_output(r, t, file, size));
	return in ? add_input(r, t, file, size) : BERTH_OK;
}

static berth_status find_job(reader *r, const tag *t, int32_t *out)
{
	const char *id;
	BERTH_TRY(need(r, t, "ref", &id));
	*out = berth_builder_find(r->t.b, id);
	if (*out < 0)
		return scan_fail(&r->s, t->at, "'%.80s' is the id of no job before this place", id);
	return BERTH_OK;
}

static berth_status read_parent(reader *r, const tag *t)
{
	int32_t parent;
	if (r->this_child < 0)
		return scan_fail(&r->s, t->at, "a parent outside of a child");
	BERTH_TRY(find_job(r, t, &parent));
	return add_link(r, t, &r->pair, r->this_child, parent);
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
	double runtime;
	if (scan_number(text, &runtime))
		return set_runtime(r, t, runtime);
	return scan_fail(&r->s, r->s.at, "runtime is '%.*s'; expected a number of 0 or more",
	                 scan_shown(text), text.text);
}

static berth_status begin(reader *r, const tag *t)
{
	if (r->depth == 0 && !scan_is(t->name, "adag"))
		return scan_fail(&r->s, t->at, "<%.*s>; expected <adag>, a Pegasus workflow",
		                 scan_shown(t->name), t->name.text);
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
		return scan_fail(&r->s, t->at, "</%.*s> closes no element that is open%s%.*s",
		                 scan_shown(t->name), t->name.text,
		                 r->depth ? "; expected </" : "", scan_shown(open), open.text);
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
		return scan_fail(&r->s, t.at, "elements in elements, deeper than %d", DEEPEST);
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
			return scan_fail(&r->s, r->s.at - 1, "a second element at the top; expected one");
		any = true;
		BERTH_TRY(element(r));
	}
	if (r->depth)
		return scan_fail(&r->s, r->s.at, "the file ends within <%.*s>",
		                 scan_shown(r->open[r->depth - 1]), r->open[r->depth - 1].text);
	return any ? BERTH_OK : scan_fail(&r->s, r->s.at, "no element; expected <adag>");
}

/* ---- the graph ---- */

static berth_status add_bytes(reader *r, int column, int32_t job, double bytes)
{
	size_t row = (size_t)job;
	return columns_set_double(&r->job, column, row, columns_double(&r->job, column, row) + floor(bytes),
	                          r->t.err);
}

static int32_t producer_of(const reader *r, int32_t file)
{
	return columns_int(&r->file, FILE_PRODUCER, (size_t)file) - 1;
}

static double size_of(const reader *r, int32_t file)
{
	return columns_double(&r->file, FILE_SIZE, (size_t)file);
}

/* Inputs of the jobs in bytes; what a job names twice counts once, what it makes itself is no input. */
static berth_status count_inputs(reader *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->use.n_rows; i++) {
		int32_t job = columns_int(&r->use, LINK_JOB, i), file = columns_int(&r->use, LINK_OTHER, i);
		if (columns_int(&r->file, FILE_LAST_USER, (size_t)file) - 1 == job ||
		    producer_of(r, file) == job)
			continue;
		BERTH_TRY(columns_set_int(&r->file, FILE_LAST_USER, (size_t)file, job + 1, r->t.err));
		BERTH_TRY(set_flag(r, (size_t)file, FILE_TAKEN));
		BERTH_TRY(add_bytes(r, JOB_READ, job, size_of(r, file)));
		BERTH_TRY(columns_set_int(&r->use, LINK_JOB, n, job, r->t.err));
		BERTH_TRY(columns_set_int(&r->use, LINK_OTHER, n++, file, r->t.err));
	}
	columns_cut(&r->use, n);
	return BERTH_OK;
}

static berth_status count_outputs(reader *r)
{
	for (size_t i = 0; i < r->file.n_rows; i++) {
		int32_t job = producer_of(r, (int32_t)i);
		double size = size_of(r, (int32_t)i);
		if (job < 0)
			continue;
		BERTH_TRY(add_bytes(r, JOB_WRITE, job, size));
		if (!(columns_byte(&r->file, FILE_FLAGS, i) & FILE_TAKEN))
			BERTH_TRY(add_bytes(r, JOB_LEAVE, job, size));
	}
	return BERTH_OK;
}

static berth_status put_job(reader *r, int32_t op)
{
	berth_op_spec spec;
	size_t job = (size_t)op;
	double read = columns_double(&r->job, JOB_READ, job), write = columns_double(&r->job, JOB_WRITE, job);
	berth_builder_get(r->t.b, op, &spec);
	if (read > 0x1p53 || write > 0x1p53)
		return berth_fail(r->t.err, BERTH_EFORMAT,
		                  "the files of job '%.80s' have more than 2^53 bytes together", spec.name);
	spec.read_bytes = (int64_t)read;
	spec.write_bytes = (int64_t)write;
	spec.output_bytes = (int64_t)columns_double(&r->job, JOB_LEAVE, job);
	BERTH_TRY(berth_builder_set(r->t.b, op, &spec, r->t.err));
	return task_graph_time(&r->t, op, columns_double(&r->job, JOB_RUNTIME, job), false);
}

/* Files become tensors. Uses stand job by job; use_off [n_jobs + 1]: where those of a job begin. */
static berth_status put_files(reader *r, int32_t *use_off)
{
	for (size_t i = 0; i < r->use.n_rows; i++) {
		int32_t job = columns_int(&r->use, LINK_JOB, i), file = columns_int(&r->use, LINK_OTHER, i),
			from = producer_of(r, file);
		use_off[job + 1]++;
		if (from >= 0)
			BERTH_TRY(berth_builder_edge(r->t.b, from, job, (int64_t)size_of(r, file),
			                             columns_text(&r->file, FILE_NAME, (size_t)file),
			                             r->t.err));
	}
	berth_csr_begin(use_off, r->job.n_rows);
	return BERTH_OK;
}

/* Stated pairs that no file joins. last [n_jobs]: the last child that a job was seen to be before, + 1. */
static berth_status put_parents(reader *r, int32_t child, const int32_t *pair, int32_t n,
                                const int32_t *use_off, int32_t *last)
{
	for (int32_t i = n ? use_off[child] : 0; i < (n ? use_off[child + 1] : 0); i++) {
		int32_t from = producer_of(r, columns_int(&r->use, LINK_OTHER, (size_t)i));
		if (from >= 0)
			last[from] = child + 1;
	}
	for (int32_t i = 0; i < n; i++) {
		int32_t parent = columns_int(&r->pair, LINK_OTHER, (size_t)pair[i]);
		if (last[parent] != child + 1)
			BERTH_TRY(berth_builder_edge(r->t.b, parent, child, 0, NULL, r->t.err));
		last[parent] = child + 1;
	}
	return BERTH_OK;
}

static berth_status put_pairs(reader *r, const int32_t *use_off)
{
	size_t n_jobs = r->job.n_rows, n = r->pair.n_rows;
	int32_t *last, *off, *pair;
	BERTH_TRY_NEW(r->t.tmp, n_jobs, r->t.err, last);
	BERTH_TRY_NEW(r->t.tmp, n_jobs + 2, r->t.err, off);
	BERTH_TRY_NEW(r->t.tmp, n, r->t.err, pair);
	for (size_t i = 0; i < n; i++)
		off[columns_int(&r->pair, LINK_JOB, i) + 2]++;
	for (size_t i = 0; i < n_jobs; i++)
		off[i + 2] += off[i + 1];
	for (size_t i = 0; i < n; i++)
		pair[off[columns_int(&r->pair, LINK_JOB, i) + 1]++] = (int32_t)i;
	for (size_t i = 0; i < n_jobs; i++)
		BERTH_TRY(put_parents(r, (int32_t)i, pair + off[i], off[i + 1] - off[i], use_off, last));
	return BERTH_OK;
}

static berth_status put_all(reader *r)
{
	int32_t *use_off;
	BERTH_TRY(count_inputs(r));
	BERTH_TRY(count_outputs(r));
	for (size_t i = 0; i < r->job.n_rows; i++)
		BERTH_TRY(put_job(r, (int32_t)i));
	BERTH_TRY_NEW(r->t.tmp, r->job.n_rows + 1, r->t.err, use_off);
	BERTH_TRY(put_files(r, use_off));
	if (r->pair.n_rows)
		BERTH_TRY(put_pairs(r, use_off));
	berth_name_index_drop(&r->files);
	columns_drop_all(&r->job);
	columns_drop_all(&r->file);
	columns_drop_all(&r->use);
	columns_drop_all(&r->pair);
	return BERTH_OK;
}

static const char *file_name(const void *files, int32_t i)
{
	return columns_text(files, FILE_NAME, (size_t)i);
}

berth_status task_graph_dax(const task_graph *frame, const berth_content *from, berth_arena *mem,
                            berth_graph *out)
{
	static const unsigned char job_width[JOB_COLUMNS] = {8, 8, 8, 8},
				   file_width[FILE_COLUMNS] = {sizeof(char *), 4, 4, 8, 1},
				   link_width[LINK_COLUMNS] = {4, 4};
	reader r = {.s = scan_of(from, frame->err), .t = *frame, .this_job = -1,
	            .this_child = -1};
	columns_init(&r.job, r.t.tmp, job_width, JOB_COLUMNS);
	columns_init(&r.file, r.t.tmp, file_width, FILE_COLUMNS);
	columns_init(&r.use, r.t.tmp, link_width, LINK_COLUMNS);
	columns_init(&r.pair, r.t.tmp, link_width, LINK_COLUMNS);
	berth_name_index_init(&r.files, r.t.tmp, file_name, &r.file);
	BERTH_TRY(task_graph_new(&r.t, from->name));
	BERTH_TRY(berth_builder_reserve(r.t.b, 0, r.t.err)); /* texts are kept here */
	BERTH_TRY(document(&r));
	return task_graph_finish(&r.t, put_all(&r), from->name, mem, out);
}

static bool is_dax(const char *data, size_t size)
{
	scan s = scan_begin(data, size);
	return scan_peek(&s) == '<';
}

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	(void)report;
	return task_graph_read_words(task_graph_dax, from, opt, mem, tmp, out, err);
}

const berth_format berth_format_dax = {"DAX", true, is_dax, parse_format, NULL};
