/* See json_large.h. A leaf that stays text is an array or object of cJSON that owns nothing
 * (cJSON_IsReference): valuestring is where it begins, valuedouble its length. */
#include "json_large.h"

/* SMALL: text whose tree is made at once. A tree takes up to 40 times its text. */
enum { SMALL = 1 << 16, MOST_MEMBERS = 1000 };

/* ---- walking over text ---- */

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* Behind the string that starts at p; NULL where it does not end. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p < end ? p + 1 : NULL;
}

/* Behind the value that starts at p: up to a comma or bracket outside of its own brackets; NULL where there
 * is none. */
static const char *skip_value(const char *p, const char *end)
{
	for (size_t depth = 0; p && p < end;) {
		switch (*p) {
		case '"': p = skip_string(p, end); break;
		case '{':
		case '[':
			depth++;
			p++;
			break;
		case '}':
		case ']':
			if (depth == 0)
				return p;
			p++;
			if (--depth == 0)
				return p;
			break;
		case ',':
			if (depth == 0)
				return p;
			p++;
			break;
		default: p++;
		}
	}
	return NULL;
}

/* What a long array or object holds, one after the other. */
typedef struct walk {
	const char *at, *end;               /* end: its closing bracket */
	const char *key, *key_end;          /* of the member at hand, quoted; NULL in an array */
	const char *value, *value_end;
	bool object, wrong;
} walk;

/* text[size] is bracketed. */
static walk walk_begin(const char *text, size_t size)
{
	walk w = {.object = *text == '{'};
	w.end = text + size - 1;
	w.at = skip_space(text + 1, w.end);
	return w;
}

static bool walk_key(walk *w)
{
	w->key = w->at;
	w->key_end = w->at < w->end && *w->at == '"' ? skip_string(w->at, w->end) : NULL;
	w->value = w->key_end ? skip_space(w->key_end, w->end) : w->end;
	if (w->value == w->end || *w->value != ':')
		return false;
	w->value = skip_space(w->value + 1, w->end);
	return true;
}

/* The next one; false at the end, and where something is wrong. */
static bool walk_next(walk *w)
{
	if (w->at == w->end)
		return false;
	w->value = w->at;
	w->wrong = (w->object && !walk_key(w)) || w->value == w->end;
	w->value_end = w->wrong ? NULL : skip_value(w->value, w->end + 1);
	w->wrong = !w->value_end || w->value_end == w->value;
	if (w->wrong)
		return false;
	w->at = skip_space(w->value_end, w->end);
	while (skip_space(w->value_end - 1, w->value_end) == w->value_end)
		w->value_end--;
	w->wrong = w->at < w->end && *w->at != ',';
	if (w->at < w->end)
		w->at = skip_space(w->at + 1, w->end);
	return !w->wrong;
}

/* ---- trees ---- */

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
	if (!item || skip_space(stop, end) == end)
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
static char *take_key(const char *p, const char *end)
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
	if (!item || !w->object || (item->string = take_key(w->key, w->key_end)))
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
	const char *p = skip_space(text, text + size), *end = text + size;
	while (end > p && skip_space(end - 1, end) == end)
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
		if (!item)
			return berth_nomem(err);
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
