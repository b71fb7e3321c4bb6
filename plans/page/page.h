/* A page with pictures: one HTML file that needs no network. It holds a JSON document, a style and a script
 * that draws the document (the .css and .js files beside this one).
 *
 * Names out of models are text and stay text. The document is escaped for its place. The script makes nodes
 * and texts only, never markup. The page's own policy forbids everything but this one style and this one
 * script, told by their digests. */
#pragma once

#include "json.h"

typedef struct berth_page {
	berth_json_out w; /* the document: an object that is open */
	const char *title;
} berth_page;

/* A page of one kind: "place", "front", "compare", "fidelity", "train" or "measure". All of it lives in mem.
 * The members of the kind (docs/formats.md) are put by berth_json_put_... into page->w. */
void berth_page_open(berth_page *page, const char *kind, const char *title, berth_arena *mem);

/* The finished page as text[len], in mem. Fails: BERTH_ENOMEM. O(length). */
berth_status berth_page_done(berth_page *page, berth_arena *mem, const char **text, size_t *len,
                             berth_err *err);

/* The style and the script of pages; made by the build out of the .css and .js files beside this one. Inside
 * the room only. */

extern const unsigned char berth_page_style[], berth_page_script[];
extern const size_t berth_page_style_size, berth_page_script_size;
