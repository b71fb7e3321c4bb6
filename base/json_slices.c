/* See json_slices.h. What is accepted here is JSON: structure outside the pieces is checked byte by byte,
 * the pieces by cJSON. */
#include "json_slices.h"

#include <string.h>

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
	for (int depth = 0; p && p < end;) {
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

/* p[end - p] as one value with nothing behind it; NULL where it is none. */
static cJSON *parse_piece(const char *p, const char *end)
{
	const char *stop = p;
	if (!berth_json_tree_within(p, (size_t)(end - p), BERTH_JSON_MOST_PIECE))
		return NULL;
	cJSON *item = cJSON_ParseWithLengthOpts(p, (size_t)(end - p), &stop, 0);
	if (item && skip_space(stop, end) == end)
		return item;
	cJSON_Delete(item);
	return NULL;
}

static berth_json_slice *slice_named(berth_json_slice *slice, int32_t n, const char *key, size_t len)
{
	for (int32_t i = 0; i < n; i++)
		if (strlen(slice[i].key) == len && memcmp(slice[i].key, key, len) == 0)
			return &slice[i];
	return NULL;
}

/* A member of the document, key and value; *p moves behind it. */
static bool split_member(const char **p, const char *end, berth_json_slice *slice, int32_t n, cJSON *rest)
{
	char key[32];
	const char *name = *p + 1, *value;
	if (*p == end || **p != '"' || !(*p = skip_string(*p, end)))
		return false;
	size_t len = (size_t)(*p - 1 - name);
	if (len >= sizeof key || memchr(name, '\\', len))
		return false;
	memcpy(key, name, len);
	key[len] = '\0';
	*p = skip_space(*p, end);
	if (*p == end || **p != ':')
		return false;
	value = skip_space(*p + 1, end);
	*p = skip_value(value, end);
	if (!*p)
		return false;
	berth_json_slice *s = slice_named(slice, n, key, len);
	cJSON *item = s ? cJSON_CreateArray() : parse_piece(value, *p);
	if (s && (s->at || value == *p || *value != '[' || (*p)[-1] != ']')) {
		cJSON_Delete(item);
		return false;
	}
	if (s) {
		s->at = value + 1;
		s->end = *p - 1;
	}
	if (item && cJSON_AddItemToObject(rest, key, item))
		return true;
	cJSON_Delete(item);
	return false;
}

static bool split_members(const char *p, const char *end, berth_json_slice *slice, int32_t n, cJSON *rest)
{
	enum { MOST_MEMBERS = 1000 };
	int32_t members = 0;
	p = skip_space(p, end);
	if (p == end || *p != '{')
		return false;
	do {
		p = skip_space(p + 1, end);
		if (++members > MOST_MEMBERS || !split_member(&p, end, slice, n, rest))
			return false;
		p = skip_space(p, end);
	} while (p < end && *p == ',');
	return p < end && *p == '}' && skip_space(p + 1, end) == end;
}

bool berth_json_split(const char *text, size_t size, berth_json_slice *slice, int32_t n, cJSON **rest)
{
	cJSON *doc = cJSON_CreateObject();
	for (int32_t i = 0; i < n; i++)
		slice[i].at = slice[i].end = NULL;
	if (doc && split_members(text, text + size, slice, n, doc)) {
		*rest = doc;
		return true;
	}
	cJSON_Delete(doc);
	return false;
}

berth_status berth_json_too_large(const char *file, const char *text, size_t size, const char *at,
                                  berth_err *err)
{
	size_t line = 1, start = 0, offset = at ? (size_t)(at - text) : 0;
	for (size_t i = 0; i < offset; i++)
		if (text[i] == '\n') {
			line++;
			start = i + 1;
		}
	return berth_fail(err, BERTH_EFORMAT,
	                  "%s:%zu:%zu: found what is no object of at most %d MB, or another form than an "
	                  "object with arrays of objects, which is not read in a file of %zu "
	                  "bytes: it would take more than four times that memory",
	                  file, line, offset - start + 1, BERTH_JSON_MOST_PIECE / 1000000, size);
}

bool berth_json_next(berth_json_slice *slice, cJSON **item)
{
	*item = NULL;
	const char *p = slice->at ? skip_space(slice->at, slice->end) : slice->end, *end = slice->end;
	if (p == end)
		return true;
	const char *stop = *p == '{' ? skip_value(p, end) : NULL;
	if (!stop || !(*item = parse_piece(p, stop)))
		return false;
	p = skip_space(stop, end);
	if (p == end || (*p == ',' && skip_space(p + 1, end) != end)) {
		slice->at = p == end ? end : p + 1;
		return true;
	}
	cJSON_Delete(*item);
	*item = NULL;
	return false;
}
