/* Is a text JSON? No tree is made, so that a reader that failed tells a wrong text from too little memory. */
#ifndef BERTH_JSON_CHECK_H
#define BERTH_JSON_CHECK_H

#include <stddef.h>

/* NULL where text[size] is one JSON value (RFC 8259) with nothing but blanks around it, else where it stops
 * being one. Narrower than the standard where cJSON is: arrays and objects nest at most 1000 deep, a number
 * has at most 63 characters, half of a surrogate pair is no character. UTF-8 is not checked. Allocates
 * nothing. O(size). */
const char *berth_json_fault(const char *text, size_t size);

#endif
