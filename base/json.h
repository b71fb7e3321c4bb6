/* JSON in and out. Reading is cJSON behind checks that name the place of an error: line:column for
 * syntax, a JSON pointer for meaning, the nearest known word for an unknown key. Writing is a growing
 * text with two-space indentation or none. */
#pragma once

#include "arena.h"

#include <cjson/cJSON.h>

/* A value being read and the way to it: for messages like "model.json: /ops/3/flops: ...". Lives on the
 * reader's stack. */
typedef struct berth_json {
	const cJSON *item;
	const char *file;              /* shown first in messages */
	const struct berth_json *up;   /* NULL: the document */
	const char *key;               /* our key in an object, or NULL: */
	int32_t index;                 /* our index in an array */
} berth_json;

/* NULL where text[size] is one JSON value (RFC 8259) with nothing but blanks around it, else where it stops
 * being one. Narrower than the standard where cJSON is: arrays and objects nest at most 1000 deep, a number
 * has at most 63 characters, half of a surrogate pair is no character. UTF-8 is not checked. Allocates
 * nothing. O(size). */
const char *berth_json_fault(const char *text, size_t size);

/* Is text[size] a JSON document? Fails: BERTH_EFORMAT (with line:column). Allocates nothing. O(size). */
berth_status berth_json_check(const char *file, const char *text, size_t size, berth_err *err);

/* Parse text[size], which is small, or of a program of ours: the tree takes up to 40 times the text. What
 * others wrote goes to berth_json_parse_large. The result is freed by cJSON_Delete. Fails: BERTH_EFORMAT
 * (with line:column), BERTH_ENOMEM. */
berth_status berth_json_parse(const char *file, const char *text, size_t size, cJSON **out, berth_err *err);

/* A document that what others wrote is read from, freed where its block ends. */
#define BERTH_JSON_DOC(name) berth_json name __attribute__((unused, cleanup(berth_json_close_doc))) = {0}

/* berth_json_parse_large into a BERTH_JSON_DOC. Fails: as that. */
berth_status berth_json_open_doc(const char *file, const char *text, size_t size, berth_json *out,
                                 berth_err *err);
void berth_json_close_doc(berth_json *doc);

/* "FILE: /pointer: " and the message. Always returns BERTH_EFORMAT. */
berth_status berth_json_fail(const berth_json *at, berth_err *err, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* st of a callee that knows no place: its message gets "FILE: /pointer: " in front where it is
 * BERTH_EFORMAT. Returns st. */
berth_status berth_json_placed(const berth_json *at, berth_status st, berth_err *err);

/* berth_text_find of a word that is the value of a key: messages tell where it stands. Fails:
 * BERTH_EFORMAT. */
berth_status berth_json_find(const berth_json *doc, const char *key, const char *const *names, int32_t n,
                             const char *word, const char *what, const char *tail, int32_t *at,
                             berth_err *err);

/* Children for messages and further reading. key must exist for berth_json_get to have an item (NULL
 * otherwise). */
berth_json berth_json_get(const berth_json *at, const char *key);
berth_json berth_json_at(const berth_json *at, const cJSON *item, int32_t index);
berth_json berth_json_member(const berth_json *at, const cJSON *item);

/* at is an object with only keys of the NULL-terminated list, none twice. */
berth_status berth_json_keys(const berth_json *at, const char *const *known, berth_err *err);

/* at is an object with "format": format and "version": version. */
berth_status berth_json_format(const berth_json *at, const char *format, int version, berth_err *err);

/* Typed members of the object at. A missing member leaves *out as it is, or is an error where required. Type
 * errors say what was found. Numbers must be finite. bytes: a whole number in [0, 2^53]. */
berth_status berth_json_string(const berth_json *at, const char *key, bool required, const char **out,
                               berth_err *err);
berth_status berth_json_number(const berth_json *at, const char *key, bool required, double min, double *out,
                               berth_err *err);
/* The value at itself. */
berth_status berth_json_value(const berth_json *at, double min, double *out, berth_err *err);
berth_status berth_json_bytes(const berth_json *at, const char *key, bool required, int64_t *out,
                              berth_err *err);
berth_status berth_json_int(const berth_json *at, const char *key, bool required, int32_t min, int32_t max,
                            int32_t *out, berth_err *err);
berth_status berth_json_bool(const berth_json *at, const char *key, bool *out, berth_err *err);
/* Member as an array or object; out->item NULL where it is missing and not required. */
berth_status berth_json_array(const berth_json *at, const char *key, bool required, berth_json *out,
                              berth_err *err);
berth_status berth_json_object(const berth_json *at, const char *key, bool required, berth_json *out,
                               berth_err *err);

/* ---- long documents ----
 *
 * * Where an array or object is long, the tree holds a leaf that points into the text instead, and its
 * elements are made one by one as they are visited. */

/* As berth_json_parse, but long parts stay text: text must outlive *out. A string takes its length, all else
 * some MB. The whole text is checked first. Elements and members are reached by berth_json_each, those of
 * objects with at most 1000 members by key as well. */
berth_status berth_json_parse_large(const char *file, const char *text, size_t size, cJSON **out,
                                    berth_err *err);

/* The same of a text that nobody has checked, to look into it: NULL where it is no JSON at first sight, or
 * when memory runs out. */
cJSON *berth_json_peek(const char *text, size_t size);

/* One element of an array, or member of an object. It is gone when the visit ends. */
typedef berth_status berth_json_visit(void *ctx, const berth_json *item, berth_err *err);

/* Visit each of list in order; none where list->item is NULL. Forwards what visit fails with. Fails:
 * BERTH_ENOMEM, BERTH_EFORMAT (more than 2^31 - 1). */
berth_status berth_json_each(const berth_json *list, berth_json_visit *visit, void *ctx, berth_err *err);

/* How many there are, at most INT32_MAX; 0 where list->item is NULL. O(text). */
int32_t berth_json_count(const berth_json *list);

/* Does the object or array stay text? */
bool berth_json_is_text(const cJSON *item);

/* A leaf of text[size], which is JSON from one bracket to the other; NULL when memory runs out. */
cJSON *berth_json_leave_as_text(const char *text, size_t size);

/* ---- writing ---- */

/* Where a long text goes, piece by piece: 0, or -1 and errno. */
typedef int berth_json_sink(void *ctx, const char *data, size_t n);

/* Writer. Calls nest: open, members, close; commas, quotes and escapes are its job. Failure of memory sticks
 * and is told at the end. */
typedef struct berth_json_out {
	berth_arena *mem;
	char *text;
	size_t len, cap;
	int depth;
	bool pretty, first, failed, flat; /* flat: this line is not broken (berth_json_flat) */
	berth_json_sink *sink; /* NULL: the text stays here */
	void *sink_ctx;
	bool sink_failed;
} berth_json_out;

void berth_json_out_init(berth_json_out *w, berth_arena *mem, bool pretty);
/* Room for so much text at once, where nothing is written yet: text that grows leaves its old places behind.
 */
void berth_json_out_reserve(berth_json_out *w, size_t bytes);
/* Hand the text on whenever the room that was reserved is full; close with berth_json_end. */
void berth_json_out_to(berth_json_out *w, berth_json_sink *sink, void *ctx);
/* key NULL inside arrays and for the document itself. */
void berth_json_open(berth_json_out *w, const char *key, char bracket); /* '{' or '[' */
void berth_json_close(berth_json_out *w, char bracket);                 /* '}' or ']' */
void berth_json_put_string(berth_json_out *w, const char *key, const char *value); /* NULL: null */
void berth_json_put_number(berth_json_out *w, const char *key, double value);      /* not finite: null */
void berth_json_put_int(berth_json_out *w, const char *key, int64_t value);
void berth_json_put_bool(berth_json_out *w, const char *key, bool value);
void berth_json_put_null(berth_json_out *w, const char *key);
/* An array of n numbers. */
void berth_json_put_numbers(berth_json_out *w, const char *key, const double *value, int32_t n);
/* Arrays of n whole numbers or texts. */
void berth_json_put_ints(berth_json_out *w, const char *key, const int32_t *value, int32_t n);
void berth_json_put_strings(berth_json_out *w, const char *key, const char *const *value, int32_t n);
/* A value that is JSON text already, as it stands. */
void berth_json_put_document(berth_json_out *w, const char *key, const char *text);
/* Nanoseconds as seconds that read back exactly (ns / 1e9, shortest form). */
void berth_json_put_ns(berth_json_out *w, const char *key, int64_t ns);
/* From here on keep nested values on one line (true), or break again (false). Only with pretty. */
void berth_json_flat(berth_json_out *w, bool flat);
/* Text with a final newline (pretty) or none; owned by the arena. len may be NULL. Fails: BERTH_ENOMEM. */
berth_status berth_json_done(berth_json_out *w, const char **text, size_t *len, berth_err *err);
/* The same where the text is handed on, all of it by now. 0, or -1 and errno: that of the sink, or ENOMEM. */
int berth_json_end(berth_json_out *w);
