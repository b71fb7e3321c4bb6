/* See page_left.h. */
#include "page_left.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void page_left_add(page_left *left, berth_arena *mem, const char *fmt, ...)
{
	char sentence[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof sentence, fmt, ap);
	va_end(ap);
	assert((size_t)left->n < sizeof left->text / sizeof *left->text);
	left->text[left->n] = berth_arena_strdup(mem, sentence);
	left->failed |= !left->text[left->n++];
}

char *page_count(char buf[32], int64_t count)
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%lld", (long long)count), at = 0;
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0 && digits[i - 1] != '-')
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

berth_status page_left_put(berth_json_out *w, const page_left *left, berth_err *err)
{
	if (left->failed)
		return berth_nomem(err);
	berth_json_open(w, "left_out", '[');
	for (int32_t i = 0; i < left->n; i++)
		berth_json_put_string(w, NULL, left->text[i]);
	berth_json_close(w, ']');
	return BERTH_OK;
}
