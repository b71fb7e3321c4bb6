/* Members of JSON objects, typed, behind checks that name the place of an error: a JSON pointer, and the
 * nearest known word for an unknown key. */
#include "json.h"

#include "text.h"

#include <stdarg.h>

/* The pointer of at, written from the back of buf; returns its start. */
static const char *pointer(const berth_json *at, char *buf, size_t size)
{
	size_t i = size - 1;
	buf[i] = '\0';
	for (; at->up; at = at->up) {
		char number[16];
		const char *s = at->key;
		if (!s) {
			snprintf(number, sizeof number, "%d", at->index);
			s = number;
		}
		size_t n = strlen(s);
		if (n + 1 > i)
			break;
		i -= n;
		memcpy(buf + i, s, n);
		buf[--i] = '/';
	}
	return buf[i] ? buf + i : "/";
}

berth_status berth_json_fail(const berth_json *at, berth_err *err, const char *fmt, ...)
{
	char buf[200], msg[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	return berth_fail(err, BERTH_EFORMAT, "%s: %s: %s", at->file, pointer(at, buf, sizeof buf), msg);
}

berth_status berth_json_placed(const berth_json *at, berth_status st, berth_err *err)
{
	char buf[200];
	if (st == BERTH_EFORMAT)
		berth_fail_in(err, st, "%s: %s: ", at->file, pointer(at, buf, sizeof buf));
	return st;
}

berth_status berth_json_find(const berth_json *doc, const char *key, const char *const *names, int32_t n,
                             const char *word, const char *what, const char *tail, int32_t *at,
                             berth_err *err)
{
	berth_json v = berth_json_get(doc, key);
	berth_err why;
	return berth_text_find(names, n, word, what, tail, at, &why) == BERTH_OK
	               ? BERTH_OK
	               : berth_json_fail(&v, err, "%s", why.msg);
}

berth_json berth_json_get(const berth_json *at, const char *key)
{
	return (berth_json){cJSON_GetObjectItemCaseSensitive(at->item, key), at->file, at, key, 0};
}

berth_json berth_json_at(const berth_json *at, const cJSON *item, int32_t index)
{
	return (berth_json){item, at->file, at, NULL, index};
}

berth_json berth_json_member(const berth_json *at, const cJSON *item)
{
	return (berth_json){item, at->file, at, item->string, 0};
}

static const char *kind_of(const cJSON *item)
{
	if (cJSON_IsObject(item)) return "an object";
	if (cJSON_IsArray(item)) return "an array";
	if (cJSON_IsString(item)) return "a string";
	if (cJSON_IsNumber(item)) return "a number";
	if (cJSON_IsBool(item)) return "true or false";
	return "null";
}

static berth_status expected(const berth_json *at, const char *what, berth_err *err)
{
	return berth_json_fail(at, err, "expected %s, found %s", what, kind_of(at->item));
}

typedef struct seen_keys {
	const berth_json *object;
	const char *const *known;
	int32_t n;
	uint64_t seen;
} seen_keys;

static berth_status see_key(void *ctx, const berth_json *item, berth_err *err)
{
	seen_keys *k = ctx;
	int32_t i;
	berth_err why;
	if (berth_text_find(k->known, k->n, item->key, "key", "", &i, &why) != BERTH_OK) {
		if (!berth_text_nearest(item->key, k->known, k->n)) /* then all of them */
			berth_text_find(k->known, k->n, item->key, "key", NULL, &i, &why);
		return berth_json_fail(k->object, err, "%s", why.msg);
	}
	if (k->seen >> i & 1)
		return berth_json_fail(k->object, err, "key '%s' stands twice", item->key);
	k->seen |= UINT64_C(1) << i;
	return BERTH_OK;
}

berth_status berth_json_keys(const berth_json *at, const char *const *known, berth_err *err)
{
	seen_keys k = {.object = at, .known = known};
	if (!cJSON_IsObject(at->item))
		return expected(at, "an object", err);
	while (known[k.n])
		k.n++;
	return berth_json_each(at, see_key, &k, err);
}

/* The required or optional member key of at; *there tells whether to go on. */
static berth_status member(const berth_json *at, const char *key, bool required, berth_json *out, bool *there,
                           berth_err *err)
{
	*out = berth_json_get(at, key);
	*there = out->item != NULL;
	if (berth_json_is_text(at->item))
		return berth_json_fail(at, err,
		                       "too large an object: it has more than 1000 members, or stands in "
		                       "another one and has more than 64 KB");
	if (!*there && required)
		return berth_json_fail(at, err, "key '%s' is missing", key);
	return BERTH_OK;
}

berth_status berth_json_format(const berth_json *at, const char *format, int version, berth_err *err)
{
	const char *f = NULL;
	int32_t v = 0;
	if (!cJSON_IsObject(at->item))
		return expected(at, "an object", err);
	BERTH_TRY(berth_json_string(at, "format", false, &f, err));
	if (!f)
		return berth_json_fail(
			at, err, "key 'format' is missing: JSON of another program? expected '%s'%s", format,
			strcmp(format, "berth-graph") == 0
				? "; docs/importers.md lists whose JSON is read" : "");
	berth_json at_format = berth_json_get(at, "format"), at_version = berth_json_get(at, "version");
	if (strcmp(f, format) != 0)
		return berth_json_fail(&at_format, err, "format is '%.60s', expected '%s'", f, format);
	BERTH_TRY(berth_json_int(at, "version", true, 0, INT32_MAX, &v, err));
	if (v != version)
		return berth_json_fail(&at_version, err,
		                       "version %d of %s is not known here; this berth reads version %d", v,
		                       format, version);
	return BERTH_OK;
}

berth_status berth_json_string(const berth_json *at, const char *key, bool required, const char **out,
                               berth_err *err)
{
	berth_json v;
	bool there;
	BERTH_TRY(member(at, key, required, &v, &there, err));
	if (!there)
		return BERTH_OK;
	if (!cJSON_IsString(v.item))
		return expected(&v, "a string", err);
	*out = v.item->valuestring;
	return BERTH_OK;
}

berth_status berth_json_value(const berth_json *at, double min, double *out, berth_err *err)
{
	if (!cJSON_IsNumber(at->item))
		return expected(at, "a number", err);
	double x = at->item->valuedouble;
	if (!isfinite(x))
		return berth_json_fail(at, err, "the number is too large");
	if (!(x >= min))
		return berth_json_fail(at, err, "%.17g is below the least value, %.17g", x, min);
	*out = x;
	return BERTH_OK;
}

berth_status berth_json_number(const berth_json *at, const char *key, bool required, double min, double *out,
                               berth_err *err)
{
	berth_json v;
	bool there;
	BERTH_TRY(member(at, key, required, &v, &there, err));
	if (!there)
		return BERTH_OK;
	return berth_json_value(&v, min, out, err);
}

berth_status berth_json_bytes(const berth_json *at, const char *key, bool required, int64_t *out,
                              berth_err *err)
{
	double x = -1;
	BERTH_TRY(berth_json_number(at, key, required, 0, &x, err));
	if (x < 0)
		return BERTH_OK;
	if (x != floor(x) || x > 0x1p53) {
		berth_json v = berth_json_get(at, key);
		return berth_json_fail(&v, err, "%.17g is not a whole number of bytes up to 2^53", x);
	}
	*out = (int64_t)x;
	return BERTH_OK;
}

berth_status berth_json_int(const berth_json *at, const char *key, bool required, int32_t min, int32_t max,
                            int32_t *out, berth_err *err)
{
	double x = NAN;
	BERTH_TRY(berth_json_number(at, key, required, min, &x, err));
	if (isnan(x))
		return BERTH_OK;
	if (x != floor(x) || x > max) {
		berth_json v = berth_json_get(at, key);
		return berth_json_fail(&v, err, "%.17g is not a whole number from %d to %d", x, min, max);
	}
	*out = (int32_t)x;
	return BERTH_OK;
}

berth_status berth_json_bool(const berth_json *at, const char *key, bool *out, berth_err *err)
{
	berth_json v;
	bool there;
	BERTH_TRY(member(at, key, false, &v, &there, err));
	if (!there)
		return BERTH_OK;
	if (!cJSON_IsBool(v.item))
		return expected(&v, "true or false", err);
	*out = cJSON_IsTrue(v.item);
	return BERTH_OK;
}

berth_status berth_json_array(const berth_json *at, const char *key, bool required, berth_json *out,
                              berth_err *err)
{
	bool there;
	BERTH_TRY(member(at, key, required, out, &there, err));
	return !there || cJSON_IsArray(out->item) ? BERTH_OK : expected(out, "an array", err);
}

berth_status berth_json_object(const berth_json *at, const char *key, bool required, berth_json *out,
                               berth_err *err)
{
	bool there;
	BERTH_TRY(member(at, key, required, out, &there, err));
	return !there || cJSON_IsObject(out->item) ? BERTH_OK : expected(out, "an object", err);
}
