/* See json_slices.h. What is accepted here is JSON: structure outside the pieces is checked byte by byte,
 * the pieces by cJSON. */
#include "json_slices.h"

#include "json_check.h"

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

/* p[end - p] as one value with nothing behind it. */
static berth_status parse_piece(const char *p, const char *end, cJSON **out)
{
	const char *stop = p;
	if (!berth_json_tree_within(p, (size_t)(end - p), BERTH_JSON_MOST_PIECE))
		return BERTH_EFORMAT;
	cJSON *item = cJSON_ParseWithLengthOpts(p, (size_t)(end - p), &stop, 0);
	if (item && skip_space(stop, end) == end) {
		*out = item;
		return BERTH_OK;
	}
	cJSON_Delete(item);
	return !item && berth_json_is(p, (size_t)(end - p)) ? BERTH_ENOMEM : BERTH_EFORMAT;
}

static berth_json_slice *slice_named(berth_json_slice *slice, int32_t n, const char *key, size_t len)
{
	for (int32_t i = 0; i < n; i++)
		if (strlen(slice[i].key) == len && memcmp(slice[i].key, key, len) == 0)
			return &slice[i];
	return NULL;
}

/* A member of the document, key and value; *p moves behind it. */
static berth_status split_member(const char **p, const char *end, berth_json_slice *slice, int32_t n,
                                 cJSON *rest)
{
	char key[32];
	const char *name = *p + 1, *value;
	if (*p == end || **p != '"' || !(*p = skip_string(*p, end)))
		return BERTH_EFORMAT;
	size_t len = (size_t)(*p - 1 - name);
	if (len >= sizeof key || memchr(name, '\\', len))
		return BERTH_EFORMAT;
	memcpy(key, name, len);
	key[len] = '\0';
	*p = skip_space(*p, end);
	if (*p == end || **p != ':')
		return BERTH_EFORMAT;
	value = skip_space(*p + 1, end);
	*p = skip_value(value, end);
	if (!*p)
		return BERTH_EFORMAT;
	berth_json_slice *s = slice_named(slice, n, key, len);
	cJSON *item;
	if (s) {
		if (s->at || value == *p || *value != '[' || (*p)[-1] != ']')
			return BERTH_EFORMAT;
		item = cJSON_CreateArray();
		s->at = value + 1;
		s->end = *p - 1;
	} else {
		BERTH_TRY(parse_piece(value, *p, &item));
	}
	if (item && cJSON_AddItemToObject(rest, key, item))
		return BERTH_OK;
	cJSON_Delete(item);
	return BERTH_ENOMEM;
}

static berth_status split_members(const char *p, const char *end, berth_json_slice *slice, int32_t n,
                                  cJSON *rest)
{
	enum { MOST_MEMBERS = 1000 };
	int32_t members = 0;
	p = skip_space(p, end);
	if (p == end || *p != '{')
		return BERTH_EFORMAT;
	do {
		p = skip_space(p + 1, end);
		if (++members > MOST_MEMBERS)
			return BERTH_EFORMAT;
		BERTH_TRY(split_member(&p, end, slice, n, rest));
		p = skip_space(p, end);
	} while (p < end && *p == ',');
	return p < end && *p == '}' && skip_space(p + 1, end) == end ? BERTH_OK : BERTH_EFORMAT;
}

berth_status berth_json_split(const char *text, size_t size, berth_json_slice *slice, int32_t n, cJSON **rest)
{
	cJSON *doc = cJSON_CreateObject();
	for (int32_t i = 0; i < n; i++)
		slice[i].at = slice[i].end = NULL;
	berth_status st = doc ? split_members(text, text + size, slice, n, doc) : BERTH_ENOMEM;
	if (st == BERTH_OK)
		*rest = doc;
	else
		cJSON_Delete(doc);
	return st;
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

berth_status berth_json_next(berth_json_slice *slice, cJSON **item)
{
	*item = NULL;
	const char *p = slice->at ? skip_space(slice->at, slice->end) : slice->end, *end = slice->end;
	if (p == end)
		return BERTH_OK;
	const char *stop = *p == '{' ? skip_value(p, end) : NULL;
	if (!stop)
		return BERTH_EFORMAT;
	BERTH_TRY(parse_piece(p, stop, item));
	p = skip_space(stop, end);
	if (p == end || (*p == ',' && skip_space(p + 1, end) != end)) {
		slice->at = p == end ? end : p + 1;
		return BERTH_OK;
	}
	cJSON_Delete(*item);
	*item = NULL;
	return BERTH_EFORMAT;
}
