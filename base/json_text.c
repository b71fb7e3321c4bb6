/* JSON as text: one scanner, which checks a document without making a tree, so that a reader that failed
 * tells a wrong text from too little memory, and which finds the elements of long arrays and objects one
 * by one. A leaf that stays text is an array or object of cJSON that owns nothing (cJSON_IsReference):
 * valuestring is where it begins, valuedouble its length. */
#include "json.h"

#include "text.h"

/* ---- the scanner ---- */

enum { DEEPEST = 1000, LONGEST_NUMBER = 63 };

typedef struct scan {
	const char *at, *end;
	uint64_t object[DEEPEST / 64 + 1]; /* a bit a level that is open: is it an object? */
	int depth;
} scan;

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

static bool take_char(scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool take_digits(scan *s)
{
	const char *from = s->at;
	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > from;
}

static bool take_number(scan *s)
{
	const char *from = s->at;
	take_char(s, '-');
	if (!take_char(s, '0') && !take_digits(s))
		return false;
	if (take_char(s, '.') && !take_digits(s))
		return false;
	if (take_char(s, 'e') || take_char(s, 'E')) {
		if (!take_char(s, '+'))
			take_char(s, '-');
		if (!take_digits(s))
			return false;
	}
	return s->at - from <= LONGEST_NUMBER;
}

/* Four hexadecimal digits. -1: there are none. */
static long take_hex(scan *s)
{
	long x = 0;
	if (s->end - s->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = *s->at++;
		int digit = c >= '0' && c <= '9'   ? c - '0'
		            : c >= 'a' && c <= 'f' ? c - 'a' + 10
		            : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                                   : -1;
		if (digit < 0)
			return -1;
		x = x * 16 + digit;
	}
	return x;
}

/* Behind "\u". */
static bool take_code_point(scan *s)
{
	long first = take_hex(s);
	if (first < 0 || (first >= 0xdc00 && first <= 0xdfff))
		return false;
	if (first < 0xd800 || first > 0xdbff)
		return true;
	if (!take_char(s, '\\') || !take_char(s, 'u'))
		return false;
	long second = take_hex(s);
	return second >= 0xdc00 && second <= 0xdfff;
}

static bool take_string(scan *s)
{
	if (!take_char(s, '"'))
		return false;
	while (s->at < s->end) {
		char c = *s->at++;
		if (c == '"')
			return true;
		if ((unsigned char)c < ' ')
			return false;
		if (c != '\\')
			continue;
		if (s->at == s->end)
			return false;
		c = *s->at++;
		if (c == 'u' ? !take_code_point(s) : !strchr("\"\\/bfnrt", c) || !c)
			return false;
	}
	return false;
}

static bool take_word(scan *s, const char *text)
{
	size_t n = strlen(text);
	if ((size_t)(s->end - s->at) < n || memcmp(s->at, text, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool in_object(const scan *s)
{
	return s->object[s->depth / 64] >> (s->depth % 64) & 1;
}

static bool open_bracket(scan *s, bool object)
{
	if (s->depth == DEEPEST)
		return false;
	s->depth++;
	uint64_t bit = UINT64_C(1) << (s->depth % 64);
	s->object[s->depth / 64] = object ? s->object[s->depth / 64] | bit : s->object[s->depth / 64] & ~bit;
	return true;
}

static bool take_key(scan *s)
{
	s->at = skip_blanks(s->at, s->end);
	if (!take_string(s))
		return false;
	s->at = skip_blanks(s->at, s->end);
	return take_char(s, ':');
}

/* A value that is whole, or the opening bracket of one; *open tells. */
static bool begin_value(scan *s, bool *open)
{
	*open = false;
	s->at = skip_blanks(s->at, s->end);
	if (s->at == s->end)
		return false;
	switch (*s->at) {
	case '"': return take_string(s);
	case 't': return take_word(s, "true");
	case 'f': return take_word(s, "false");
	case 'n': return take_word(s, "null");
	case '{':
	case '[':
		*open = true;
		return open_bracket(s, *s->at++ == '{');
	default: return take_number(s);
	}
}

/* Behind a value: brackets that close, a comma if more comes. *more tells whether another value is due. */
static bool end_value(scan *s, bool *more)
{
	for (*more = false; s->depth > 0; s->depth--) {
		s->at = skip_blanks(s->at, s->end);
		if (take_char(s, ',')) {
			*more = true;
			return !in_object(s) || take_key(s);
		}
		if (!take_char(s, in_object(s) ? '}' : ']'))
			return false;
	}
	return true;
}

/* All of a value. */
static bool take_value(scan *s)
{
	for (bool more = true; more;) {
		bool open;
		if (!begin_value(s, &open))
			return false;
		if (open) {
			s->at = skip_blanks(s->at, s->end);
			bool empty = s->at < s->end && *s->at == (in_object(s) ? '}' : ']');
			if (!empty && in_object(s) && !take_key(s))
				return false;
			if (!empty)
				continue;
		}
		if (!end_value(s, &more))
			return false;
	}
	return true;
}

const char *berth_json_fault(const char *text, size_t size)
{
	scan s = {.at = text, .end = text + size};
	if (!take_value(&s))
		return s.at;
	s.at = skip_blanks(s.at, s.end);
	return s.at == s.end ? NULL : s.at;
}

/* ---- checks, and small documents ---- */

static void position(const char *text, const char *at, int *line, int *column)
{
	*line = *column = 1;
	for (; text < at; text++) {
		if (*text == '\n') {
			++*line;
			*column = 1;
		} else {
			++*column;
		}
	}
}

static berth_status syntax_error(const char *file, const char *text, const char *at, const char *end,
                                 const char *what, berth_err *err)
{
	int line, column;
	char near[24] = "the end of the file";
	position(text, at, &line, &column);
	if (at < end) {
		int n = 0;
		near[n++] = '\'';
		while (n < 18 && at < end && (unsigned char)*at >= ' ')
			near[n++] = *at++;
		near[n++] = '\'';
		near[n] = '\0';
	}
	return berth_fail(err, BERTH_EFORMAT, "%s:%d:%d: %s near %s", file, line, column, what, near);
}

/* The first \u0000 that is no \\u0000; NULL: none. */
static const char *find_nul(const char *text, size_t size)
{
	static const char nul[] = "\\u0000";
	const char *end = text + size, *at = text;
	while ((at = berth_text_search(at, (size_t)(end - at), nul))) {
		const char *first = at;
		while (first > text && first[-1] == '\\')
			first--;
		if ((at - first) % 2 == 0)
			return at;
		at++;
	}
	return NULL;
}

/* UTF-8 text with something in it, in which no string would end before its end. */
static berth_status check_text(const char *file, const char *text, size_t size, berth_err *err)
{
	const char *nul;
	if (memchr(text, '\0', size))
		return berth_fail(err, BERTH_EFORMAT, "%s: not JSON text: it holds a NUL byte", file);
	if (!berth_text_is_utf8(text, size))
		return berth_fail(err, BERTH_EFORMAT, "%s: not JSON text: it is not UTF-8", file);
	if (skip_blanks(text, text + size) == text + size)
		return berth_fail(err, BERTH_EFORMAT, "%s:1:1: the file is empty", file);
	if ((nul = find_nul(text, size)))
		return syntax_error(file, text, nul, text + size, "no text may hold a NUL:", err);
	return BERTH_OK;
}

/* Text that does not even begin like JSON may be a file of another kind. */
static const char *what_is_wrong(const char *text, const char *at, const char *end)
{
	bool first = skip_blanks(text, at) == at;
	if (first && at < end && *at != '{' && *at != '[')
		return "neither JSON nor another format that is read here (docs/importers.md lists them),";
	return "JSON syntax error";
}

berth_status berth_json_check(const char *file, const char *text, size_t size, berth_err *err)
{
	BERTH_TRY(check_text(file, text, size, err));
	const char *fault = berth_json_fault(text, size);
	return fault ? syntax_error(file, text, fault, text + size,
	                             what_is_wrong(text, fault, text + size), err) : BERTH_OK;
}

berth_status berth_json_parse(const char *file, const char *text, size_t size, cJSON **out, berth_err *err)
{
	const char *end = text;
	BERTH_TRY(check_text(file, text, size, err));
	cJSON *doc = cJSON_ParseWithLengthOpts(text, size, &end, 0);
	size_t mark = size > 4 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of UTF-8 */
	const char *fault = berth_json_fault(text + mark, size - mark);
	if (!doc && !fault)
		return berth_nomem(err);
	if (!doc)
		return syntax_error(file, text, end, text + size, what_is_wrong(text, end, text + size), err);
	if (fault) { /* cJSON takes more: leading zeros, ends of lines in strings */
		bool behind = fault < text + size && fault == skip_blanks(end, text + size);
		cJSON_Delete(doc);
		return syntax_error(file, text, fault, text + size,
		                    behind ? "text after the end of the JSON document" : "JSON syntax error",
		                    err);
	}
	*out = doc;
	return BERTH_OK;
}

/* ---- long arrays and objects ---- */

/* SMALL: text whose tree is made at once. A tree takes up to 40 times its text. */
enum { SMALL = 1 << 16, MOST_MEMBERS = 1000 };

/* What a long array or object holds, one after the other. */
typedef struct walk {
	scan s;                             /* up to its closing bracket */
	const char *key, *key_end;          /* of the member at hand, quoted; NULL in an array */
	const char *value, *value_end;
	bool object, wrong;
} walk;

/* text[size] is bracketed. */
static walk walk_begin(const char *text, size_t size)
{
	walk w = {.object = *text == '{'};
	w.s.end = text + size - 1;
	w.s.at = skip_blanks(text + 1, w.s.end);
	return w;
}

/* The next one; false at the end, and where something is wrong. */
static bool walk_next(walk *w)
{
	scan *s = &w->s;
	if (s->at == s->end)
		return false;
	w->wrong = true;
	w->key = s->at;
	if (w->object && !take_string(s))
		return false;
	w->key_end = s->at;
	s->at = skip_blanks(s->at, s->end);
	if (w->object && !take_char(s, ':'))
		return false;
	w->value = s->at = skip_blanks(s->at, s->end);
	if (!take_value(s))
		return false;
	w->value_end = s->at;
	s->at = skip_blanks(s->at, s->end);
	if (s->at < s->end && !take_char(s, ','))
		return false;
	s->at = skip_blanks(s->at, s->end);
	w->wrong = false;
	return true;
}

static bool is_bracketed(const char *p, const char *end)
{
	return end - p >= 2 && ((*p == '{' && end[-1] == '}') || (*p == '[' && end[-1] == ']'));
}

cJSON *berth_json_leave_as_text(const char *text, size_t size)
{
	cJSON *item = *text == '{' ? cJSON_CreateObjectReference(NULL) : cJSON_CreateArrayReference(NULL);
	if (item) {
		item->valuestring = (char *)(size_t)text;
		item->valuedouble = (double)size;
	}
	return item;
}

bool berth_json_is_text(const cJSON *item)
{
	return (cJSON_IsArray(item) || cJSON_IsObject(item)) && item->type & cJSON_IsReference;
}

static cJSON *parse_all(const char *p, const char *end)
{
	const char *stop = p;
	cJSON *item = cJSON_ParseWithLengthOpts(p, (size_t)(end - p), &stop, 0);
	if (!item || skip_blanks(stop, end) == end)
		return item;
	cJSON_Delete(item);
	return NULL;
}

/* A value whose tree fits what is left of *room, else text. */
static cJSON *parse_part(const char *p, const char *end, size_t *room)
{
	size_t n = (size_t)(end - p);
	if (is_bracketed(p, end) && n > *room)
		return berth_json_leave_as_text(p, (size_t)(end - p));
	*room -= n < *room ? n : *room;
	return parse_all(p, end);
}

/* The key that is quoted at p[end - p]. */
static char *key_text(const char *p, const char *end)
{
	cJSON *key = parse_all(p, end);
	char *text = key ? key->valuestring : NULL;
	if (text)
		key->valuestring = NULL;
	cJSON_Delete(key);
	return text;
}

/* item, made of the value at hand, with its key; NULL when memory runs out. */
static cJSON *with_key(const walk *w, cJSON *item)
{
	if (!item || !w->object || (item->string = key_text(w->key, w->key_end)))
		return item;
	cJSON_Delete(item);
	return NULL;
}

/* An object with its members, long ones as text; the whole as text where they are many. */
static cJSON *parse_object(const char *p, const char *end)
{
	walk w = walk_begin(p, (size_t)(end - p));
	size_t room = SMALL;
	cJSON *object = cJSON_CreateObject();
	for (int i = 0; object && walk_next(&w); i++) {
		cJSON *item = i < MOST_MEMBERS
		                      ? with_key(&w, parse_part(w.value, w.value_end, &room))
		                      : NULL;
		if (item && cJSON_AddItemToArray(object, item))
			continue;
		cJSON_Delete(item);
		cJSON_Delete(object);
		return i < MOST_MEMBERS ? NULL : berth_json_leave_as_text(p, (size_t)(end - p));
	}
	if (!w.wrong)
		return object;
	cJSON_Delete(object);
	return NULL;
}

/* A value of its own. */
static cJSON *parse_value(const char *p, const char *end)
{
	if ((size_t)(end - p) <= SMALL || !is_bracketed(p, end))
		return parse_all(p, end);
	return *p == '{' ? parse_object(p, end) : berth_json_leave_as_text(p, (size_t)(end - p));
}

cJSON *berth_json_peek(const char *text, size_t size)
{
	const char *p = skip_blanks(text, text + size), *end = text + size;
	while (end > p && skip_blanks(end - 1, end) == end)
		end--;
	return p < end ? parse_value(p, end) : NULL;
}

berth_status berth_json_parse_large(const char *file, const char *text, size_t size, cJSON **out,
                                    berth_err *err)
{
	if (size <= SMALL)
		return berth_json_parse(file, text, size, out, err);
	BERTH_TRY(berth_json_check(file, text, size, err));
	*out = berth_json_peek(text, size);
	return *out ? BERTH_OK : berth_nomem(err);
}

berth_status berth_json_open_doc(const char *file, const char *text, size_t size, berth_json *out,
                                 berth_err *err)
{
	cJSON *doc;
	BERTH_TRY(berth_json_parse_large(file, text, size, &doc, err));
	*out = (berth_json){.item = doc, .file = file};
	return BERTH_OK;
}

void berth_json_close_doc(berth_json *doc)
{
	cJSON_Delete((cJSON *)(uintptr_t)doc->item);
}

/* ---- visits ---- */

static berth_json child_of(const berth_json *list, const cJSON *item, int32_t i)
{
	return cJSON_IsObject(list->item) ? berth_json_member(list, item) : berth_json_at(list, item, i);
}

static walk walk_over(const cJSON *item)
{
	return walk_begin(item->valuestring, (size_t)item->valuedouble);
}

static berth_status visit_text(const berth_json *list, berth_json_visit *visit, void *ctx, berth_err *err)
{
	walk w = walk_over(list->item);
	for (int32_t i = 0; walk_next(&w); i++) {
		cJSON *item = with_key(&w, parse_value(w.value, w.value_end));
		BERTH_TRY(berth_got(item, err));
		berth_json at = child_of(list, item, i);
		berth_status st = i == INT32_MAX ? berth_json_fail(list, err, "more than %d elements", i)
		                                 : visit(ctx, &at, err);
		cJSON_Delete(item);
		BERTH_TRY(st);
	}
	return BERTH_OK;
}

berth_status berth_json_each(const berth_json *list, berth_json_visit *visit, void *ctx, berth_err *err)
{
	int32_t i = 0;
	if (berth_json_is_text(list->item))
		return visit_text(list, visit, ctx, err);
	for (const cJSON *m = list->item ? list->item->child : NULL; m; m = m->next) {
		berth_json at = child_of(list, m, i++);
		BERTH_TRY(visit(ctx, &at, err));
	}
	return BERTH_OK;
}

int32_t berth_json_count(const berth_json *list)
{
	if (!berth_json_is_text(list->item))
		return list->item ? cJSON_GetArraySize(list->item) : 0;
	walk w = walk_over(list->item);
	int32_t n = 0;
	while (n < INT32_MAX && walk_next(&w))
		n++;
	return n;
}
