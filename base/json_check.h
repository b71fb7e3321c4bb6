/* Is a text JSON? No tree is made, so that a reader that failed tells a wrong text from too little memory. */
#ifndef BERTH_JSON_CHECK_H
#define BERTH_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Is text[size] one JSON value (RFC 8259) with nothing but blanks around it? Narrower than the standard where
 * cJSON is: arrays and objects nest at most 1000 deep, a number has at most 63 characters, half of a
 * surrogate pair is no character. UTF-8 is not checked. Allocates nothing. O(size). */
bool berth_json_is(const char *text, size_t size);

#endif
