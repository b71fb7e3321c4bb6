/* What a page leaves out, in plain words. */
#ifndef BERTH_PAGE_LEFT_H
#define BERTH_PAGE_LEFT_H

#include "json.h"

typedef struct page_left {
	const char *text[8];
	int32_t n;
	bool failed; /* out of memory; told by page_left_put */
} page_left;

/* Add a sentence; in mem. At most eight. */
void page_left_add(page_left *left, berth_arena *mem, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* "100,000". Returns buf. */
char *page_count(char buf[32], int64_t count);

/* "left_out": [sentence, ...]. Fails: BERTH_ENOMEM. */
berth_status page_left_put(berth_json_out *w, const page_left *left, berth_err *err);

#endif
