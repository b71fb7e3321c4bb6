/* Long arrays of a JSON document, element by element, so that a large file never stands in memory as a whole
 * tree. Only for documents of the plain form that writers make: an object whose long members are arrays of
 * objects. Anything else, and every error, is left to berth_json_parse, which knows the place. */
#ifndef BERTH_JSON_SLICES_H
#define BERTH_JSON_SLICES_H

#include "json.h"

typedef struct berth_json_slice {
	const char *key;       /* in: the member to leave as text */
	const char *at, *end;  /* what is left of the array's inside; NULL: no such member */
} berth_json_slice;

/* Split text[size], which is UTF-8 without NUL: *rest = the document with empty arrays in place of those of
 * slice [n], whose insides are set. rest is freed by cJSON_Delete. Fails without a message: BERTH_EFORMAT
 * (the form is another), BERTH_ENOMEM. */
berth_status berth_json_split(const char *text, size_t size, berth_json_slice *slice, int32_t n,
                              cJSON **rest);

/* What a reader of files may take that splits: 4 bytes of memory a byte, and 16 MB; an element 8 MB. */
#define BERTH_JSON_MOST(size) (4 * (size) + 16000000)
enum { BERTH_JSON_MOST_PIECE = 8000000 };

/* "FILE:LINE:COLUMN: ..." for a document that is neither split nor small enough for berth_json_parse: where
 * slice stands, or where its text begins. Always BERTH_EFORMAT. */
berth_status berth_json_too_large(const char *file, const char *text, size_t size, const char *at,
                                  berth_err *err);

/* The next element, an object, freed by cJSON_Delete; *item = NULL at the end. Fails without a message:
 * BERTH_EFORMAT (the text is no such array), BERTH_ENOMEM. */
berth_status berth_json_next(berth_json_slice *slice, cJSON **item);

#endif
