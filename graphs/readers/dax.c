/* Pegasus workflows (DAX). Of XML it takes elements with attributes, comments, CDATA and the
 * five named entities and numbers; a document type is refused. Written by hand, as only tags matter:
 * nothing is kept but jobs, files and their uses. */
#include "workflow.h"

#include <ctype.h>

enum { DEEPEST = 64, MAX_ATTRS = 32 };

typedef struct reader {
	scan s;
	workflow w;
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
	}
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
	BERTH_TRY(berth_arena_room(r->w.t.tmp, &r->text, w.n + 1, &r->cap_text, r->w.t.err));
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
	return scan_placed(&r->s, t->at, task_graph_check_name(&r->w.t, (scan_word){r->text, len}));
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
	*text = berth_arena_strdup(r->w.t.tmp, *text);
	return *text ? BERTH_OK : berth_nomem(r->w.t.err);
}

static berth_status number_attr(reader *r, const tag *t, const char *key, double most, double *out)
{
	scan_word w;
	if (!attr(t, key, &w))
		return BERTH_OK;
	if (scan_signed(w, out) && *out >= -most && *out <= most)
		return BERTH_OK;
	return scan_fail(&r->s, t->at, "%s is '%.*s'; expected a number from 0 to %g", key, scan_shown(w),
	                 w.text, most);
}

/* ---- elements ---- */

/* Of the job being read. */
static berth_status set_runtime(reader *r, const tag *t, double runtime)
{
	return scan_placed(&r->s, t->at, workflow_runtime(&r->w, r->this_job, runtime));
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
	scan_word w;
	const char *name;
	BERTH_TRY(need(r, t, attr(t, "file", &w) ? "file" : "name", &name));
	BERTH_TRY(scan_placed(&r->s, t->at, workflow_file(&r->w, name, &file)));
	BERTH_TRY(number_attr(r, t, "size", 0x1p53, &size));
	if (out)
		BERTH_TRY(scan_placed(&r->s, t->at, workflow_output(&r->w, r->this_job, file, size)));
	return in ? scan_placed(&r->s, t->at, workflow_input(&r->w, r->this_job, file, size)) : BERTH_OK;
}

static berth_status find_job(reader *r, const tag *t, int32_t *out)
{
	const char *id;
	BERTH_TRY(need(r, t, "ref", &id));
	*out = berth_builder_find(r->w.t.b, id);
	if (*out < 0)
		return scan_fail(&r->s, t->at, "'%.80s' is the id of no job before this place", id);
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
	double runtime;
	if (scan_signed(text, &runtime))
		return set_runtime(r, t, runtime);
	return scan_fail(&r->s, r->s.at, "runtime is '%.*s'; expected a number",
	                 scan_shown(text), text.text);
}

static berth_status begin(reader *r, const tag *t)
{
	if (r->depth == 0 && !scan_is(t->name, "adag"))
		return scan_fail(&r->s, t->at, "<%.*s>; expected <adag>, a Pegasus workflow",
		                 scan_shown(t->name), t->name.text);
	if (scan_is(t->name, "job")) {
		berth_op_spec spec = {0};
		scan_word type;
		double runtime = 0;
		BERTH_TRY(need(r, t, "id", &spec.name));
		if (berth_builder_find(r->w.t.b, spec.name) >= 0)
			return scan_fail(&r->s, t->at, "two jobs have the id '%.80s'", spec.name);
		BERTH_TRY(keep(r, &spec.name));
		if (attr(t, "name", &type) && type.n) {
			BERTH_TRY(text_of(r, t, type, &spec.type));
			BERTH_TRY(keep(r, &spec.type));
		}
		BERTH_TRY(number_attr(r, t, "runtime", 1e12, &runtime));
		BERTH_TRY(scan_placed(&r->s, t->at, workflow_job(&r->w, &spec, &r->this_job)));
		return set_runtime(r, t, runtime);
	}
	if (scan_is(t->name, "uses"))
		return read_uses(r, t);
	if (scan_is(t->name, "child"))
		return find_job(r, t, &r->this_child);
	if (scan_is(t->name, "parent")) {
		int32_t parent;
		if (r->this_child < 0)
			return scan_fail(&r->s, t->at, "a parent outside of a child");
		BERTH_TRY(find_job(r, t, &parent));
		return scan_placed(&r->s, t->at, workflow_parent(&r->w, r->this_child, parent));
	}
	return scan_is(t->name, "profile") ? read_profile(r, t) : BERTH_OK;
}

static void end(reader *r, scan_word name)
{
	if (scan_is(name, "job"))
		r->this_job = -1;
	if (scan_is(name, "child"))
		r->this_child = -1;
}

static berth_status element(reader *r)
{
	tag t;
	BERTH_TRY(take_tag(r, &t));
	if (t.closes) {
		scan_word open = r->depth ? r->open[r->depth - 1] : (scan_word){"", 0};
		if (!r->depth || open.n != t.name.n || memcmp(open.text, t.name.text, open.n) != 0)
			return scan_fail(&r->s, t.at, "</%.*s> closes no element that is open%s%.*s",
			                 scan_shown(t.name), t.name.text,
			                 r->depth ? "; expected </" : "", scan_shown(open), open.text);
		r->depth--;
		end(r, t.name);
		return BERTH_OK;
	}
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
		/* Past a comment, a processing instruction or CDATA behind "<"; other: it was one. */
		size_t at = r->s.at - 1;
		const char *end = scan_take(&r->s, "!--")        ? "-->"
		                  : scan_take(&r->s, "?")        ? "?>"
		                  : scan_take(&r->s, "![CDATA[") ? "]]>"
		                                                 : NULL;
		other = end != NULL;
		if (!end && scan_peek(&r->s) == '!')
			return scan_fail(&r->s, at,
			                 "a declaration, such as that of a document type, which is not read");
		if (end && !scan_past(&r->s, end))
			return scan_fail(&r->s, at, "expected %s, to end what begins here", end);
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

berth_status task_graph_dax(const task_graph *frame, const berth_content *from, berth_arena *mem,
                            berth_graph *out)
{
	reader r = {.s = scan_of(from, frame->err), .this_job = -1, .this_child = -1};
	BERTH_TRY(workflow_begin(&r.w, frame, from->name));
	BERTH_TRY(document(&r));
	return workflow_finish(&r.w, from->name, mem, out);
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
	return task_graph_read_words(task_graph_dax, from, opt, mem, tmp, out, report, err);
}

const berth_format berth_format_dax = {"DAX", true, is_dax, parse_format, NULL};
