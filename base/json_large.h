/* JSON documents of any size in little memory. Where an array or object is long, the tree holds a leaf that
 * points into the text instead, and its elements are made one by one as they are visited. */
#ifndef BERTH_JSON_LARGE_H
#define BERTH_JSON_LARGE_H

#include "json.h"

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

#endif
