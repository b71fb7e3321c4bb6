/* A result is a table: keys with their values, units and words. A verb fills it once. From there it goes out
 * as JSON (below), as text, Markdown and CSV (cli/tell.h), and as the half of docs/formats.md that lists
 * keys.
 *
 * A kind of object is declared as a list of rows, one a key:
 *
 *	#define DEVICE(K, IF) \
 *		K(TEXT, "name", "", "", s->dev_name[d]) \
 *		K(NUMBER_OR_NULL, "busy_s", "s", "null: not known", busy_s) \
 *		IF(s->n_pools > 0, INT, "pools", "", "only where there are some", s->n_pools)
 *	RESULT_KIND(device_kind, "Device load", "", DEVICE);
 *
 * The last word of a row is an expression over what the filling function knows:
 *
 *	RESULT_ADD(&list, DEVICE);
 *
 * Types: TEXT, NUMBER, NS (nanoseconds, written as seconds), INT, BOOL; the first four also with _OR_NULL
 * (for NULL, NAN and negative whole numbers); TEXTS and NUMBERS (lists of such); OBJECT(kind), LIST(kind);
 * MAP(word) (names that the result chooses; the word is the type of its values), MAP_OF(kind); VALUE(word) (a
 * berth_result_value, of the types that the word names); ALL_OF(kind) (the keys of another object stand
 * here). */
#pragma once

#include "json.h"

typedef enum berth_result_type {
	BERTH_RESULT_NONE, /* the key is left out */
	BERTH_RESULT_TEXT,
	BERTH_RESULT_NUMBER,
	BERTH_RESULT_NS,
	BERTH_RESULT_INT,
	BERTH_RESULT_BOOL,
	BERTH_RESULT_TEXTS,
	BERTH_RESULT_NUMBERS,
	BERTH_RESULT_OBJECT,
	BERTH_RESULT_LIST,
	BERTH_RESULT_MAP,
	BERTH_RESULT_ALL_OF
} berth_result_type;

typedef struct berth_result_kind berth_result_kind;

typedef struct berth_result_key {
	const char *key, *unit, *means;
	berth_result_type type;
	const char *word;              /* the type, as documents name it; of a map: that of its values */
	const berth_result_kind *kind; /* of objects; else NULL */
} berth_result_key;

struct berth_result_kind {
	const char *heading; /* "": none, its keys stand with those of what holds it */
	const char *about;   /* what stands below the heading */
	const berth_result_key *key; /* [n_keys] */
	int32_t n_keys;
	bool flat;           /* on one line of JSON */
};

typedef struct berth_result berth_result;
typedef struct berth_result_list berth_result_list;
typedef struct berth_result_map berth_result_map;

typedef struct berth_result_value {
	berth_result_type type;
	int32_t n; /* of texts and numbers */
	union {
		const char *text;
		double number;
		int64_t integer;
		const char *const *texts;
		const double *numbers;
		const berth_result *object;
		const berth_result_list *list;
		const berth_result_map *map;
	} is;
} berth_result_value;

/* An object: a value for each key of its kind. */
struct berth_result {
	const berth_result_kind *kind;
	const berth_result_value *value; /* [kind->n_keys] */
};

/* Objects of one kind. */
struct berth_result_list {
	berth_arena *mem;
	const berth_result_kind *kind;
	berth_result *item; /* [n] */
	int32_t n;
	size_t cap;
	bool failed; /* out of memory: told when it is written */
};

/* Values of one type under names. */
struct berth_result_map {
	berth_arena *mem;
	const char **name;         /* [n] */
	berth_result_value *value; /* [n] */
	int32_t n;
	size_t cap;
	bool failed;
};

/* An object with copies of the values [kind->n_keys], in mem. Without memory: one of which berth_result_put
 * says so. What values point to is borrowed. */
const berth_result *berth_result_new(berth_arena *mem, const berth_result_kind *kind,
                                     const berth_result_value *value);

berth_result_list *berth_result_list_new(berth_arena *mem, const berth_result_kind *kind);
/* Add an object with copies of the values. */
void berth_result_add(berth_result_list *list, const berth_result_value *value);

berth_result_map *berth_result_map_new(berth_arena *mem);
void berth_result_map_add(berth_result_map *map, const char *name, berth_result_value value);

/* The value of a key, "a.b" for one in an object; of type NONE where there is none. *key, if not NULL: what
 * is known of the key. */
berth_result_value berth_result_get(const berth_result *r, const char *path, const berth_result_key **key);

/* Did memory run out while it was filled, or something in it? What is told as text asks first. */
bool berth_result_failed(const berth_result *r);

/* A member of the object that is open; nothing for NONE. Lack of memory sticks to w. */
void berth_result_put(berth_json_out *w, const char *key, berth_result_value v);

/* The members of an object into the one that is open. Lack of memory sticks to w. */
void berth_result_put_members(berth_json_out *w, const berth_result *r);

/* ---- values ---- */

static inline berth_result_value berth_result_none(void)
{
	return (berth_result_value){.type = BERTH_RESULT_NONE};
}

static inline berth_result_value berth_result_same(berth_result_value v)
{
	return v;
}

static inline berth_result_value berth_result_text(const char *text)
{
	return (berth_result_value){.type = BERTH_RESULT_TEXT, .is.text = text};
}

static inline berth_result_value berth_result_number(double number)
{
	return (berth_result_value){.type = BERTH_RESULT_NUMBER, .is.number = number};
}

static inline berth_result_value berth_result_ns(int64_t ns)
{
	return (berth_result_value){.type = BERTH_RESULT_NS, .is.integer = ns};
}

static inline berth_result_value berth_result_int(int64_t integer)
{
	return (berth_result_value){.type = BERTH_RESULT_INT, .is.integer = integer};
}

/* null where it is negative. */
static inline berth_result_value berth_result_int_or_null(int64_t integer)
{
	return integer < 0 ? berth_result_number((double)NAN) : berth_result_int(integer);
}

static inline berth_result_value berth_result_ns_or_null(int64_t ns)
{
	return ns < 0 ? berth_result_number((double)NAN) : berth_result_ns(ns);
}

static inline berth_result_value berth_result_bool(bool is)
{
	return (berth_result_value){.type = BERTH_RESULT_BOOL, .is.integer = is};
}

static inline berth_result_value berth_result_object(const berth_result *object)
{
	return (berth_result_value){.type = BERTH_RESULT_OBJECT, .is.object = object};
}

static inline berth_result_value berth_result_list_value(const berth_result_list *list)
{
	return (berth_result_value){.type = BERTH_RESULT_LIST, .is.list = list};
}

static inline berth_result_value berth_result_map_value(const berth_result_map *map)
{
	return (berth_result_value){.type = BERTH_RESULT_MAP, .is.map = map};
}

static inline berth_result_value berth_result_all_of(const berth_result *object)
{
	return (berth_result_value){.type = BERTH_RESULT_ALL_OF, .is.object = object};
}

static inline berth_result_value berth_result_texts(const char *const *text, int32_t n)
{
	return (berth_result_value){.type = BERTH_RESULT_TEXTS, .n = n, .is.texts = text};
}

static inline berth_result_value berth_result_numbers(const double *number, int32_t n)
{
	return (berth_result_value){.type = BERTH_RESULT_NUMBERS, .n = n, .is.numbers = number};
}

/* ---- declarations ---- */

#define RESULT_KEY(TYPE, key, unit, means, ...) {key, unit, means, RESULT_IS_##TYPE},
#define RESULT_KEY_IF(when, TYPE, key, unit, means, ...) {key, unit, means, RESULT_IS_##TYPE},
#define RESULT_VALUE(TYPE, key, unit, means, ...) RESULT_OF_##TYPE(__VA_ARGS__),
#define RESULT_VALUE_IF(when, TYPE, key, unit, means, ...) \
	(when) ? RESULT_OF_##TYPE(__VA_ARGS__) : berth_result_none(),

#define RESULT_IS_TEXT BERTH_RESULT_TEXT, "text", NULL
#define RESULT_IS_TEXT_OR_NULL BERTH_RESULT_TEXT, "text or null", NULL
#define RESULT_IS_NUMBER BERTH_RESULT_NUMBER, "number", NULL
#define RESULT_IS_NUMBER_OR_NULL BERTH_RESULT_NUMBER, "number or null", NULL
#define RESULT_IS_NS BERTH_RESULT_NS, "number", NULL
#define RESULT_IS_NS_OR_NULL BERTH_RESULT_NS, "number or null", NULL
#define RESULT_IS_INT BERTH_RESULT_INT, "integer", NULL
#define RESULT_IS_INT_OR_NULL BERTH_RESULT_INT, "integer or null", NULL
#define RESULT_IS_BOOL BERTH_RESULT_BOOL, "bool", NULL
#define RESULT_IS_VALUE(word) BERTH_RESULT_TEXT, word, NULL
#define RESULT_IS_TEXTS BERTH_RESULT_TEXTS, "list of text", NULL
#define RESULT_IS_NUMBERS BERTH_RESULT_NUMBERS, "list of number", NULL
#define RESULT_IS_NUMBERS_OR_NULLS BERTH_RESULT_NUMBERS, "list of number or null", NULL
#define RESULT_IS_OBJECT(kind) BERTH_RESULT_OBJECT, "object", &kind
#define RESULT_IS_OBJECT_OR_NULL(kind) BERTH_RESULT_OBJECT, "object or null", &kind
#define RESULT_IS_LIST(kind) BERTH_RESULT_LIST, "list of object", &kind
#define RESULT_IS_MAP(word) BERTH_RESULT_MAP, word, NULL
#define RESULT_IS_MAP_OF(kind) BERTH_RESULT_MAP, "object", &kind
#define RESULT_IS_ALL_OF(kind) BERTH_RESULT_ALL_OF, "", &kind

#define RESULT_OF_TEXT berth_result_text
#define RESULT_OF_TEXT_OR_NULL berth_result_text
#define RESULT_OF_NUMBER berth_result_number
#define RESULT_OF_NUMBER_OR_NULL berth_result_number
#define RESULT_OF_NS berth_result_ns
#define RESULT_OF_NS_OR_NULL berth_result_ns_or_null
#define RESULT_OF_INT berth_result_int
#define RESULT_OF_INT_OR_NULL berth_result_int_or_null
#define RESULT_OF_BOOL berth_result_bool
#define RESULT_OF_VALUE(word) berth_result_same
#define RESULT_OF_TEXTS berth_result_texts
#define RESULT_OF_NUMBERS berth_result_numbers
#define RESULT_OF_NUMBERS_OR_NULLS berth_result_numbers
#define RESULT_OF_OBJECT(kind) berth_result_object
#define RESULT_OF_OBJECT_OR_NULL(kind) berth_result_object
#define RESULT_OF_LIST(kind) berth_result_list_value
#define RESULT_OF_MAP(word) berth_result_map_value
#define RESULT_OF_MAP_OF(kind) berth_result_map_value
#define RESULT_OF_ALL_OF(kind) berth_result_all_of

#define RESULT_KEYS(ROWS) (const berth_result_key[]){ROWS(RESULT_KEY, RESULT_KEY_IF)}
#define RESULT_KIND_INIT(heading, about, flat, ROWS) \
	{heading, about, RESULT_KEYS(ROWS), \
	 (int32_t)(sizeof RESULT_KEYS(ROWS) / sizeof(berth_result_key)), flat}
/* Define a kind. The macro ROWS lists its keys. */
#define RESULT_KIND(name, heading, about, ROWS) \
	const berth_result_kind name = RESULT_KIND_INIT(heading, about, false, ROWS)
#define RESULT_FLAT_KIND(name, heading, about, ROWS) \
	const berth_result_kind name = RESULT_KIND_INIT(heading, about, true, ROWS)

/* Fill one. */
#define RESULT_VALUES(ROWS) (const berth_result_value[]){ROWS(RESULT_VALUE, RESULT_VALUE_IF)}
#define RESULT_NEW(mem, kind, ROWS) berth_result_new(mem, &(kind), RESULT_VALUES(ROWS))
#define RESULT_ADD(list, ROWS) berth_result_add(list, RESULT_VALUES(ROWS))
