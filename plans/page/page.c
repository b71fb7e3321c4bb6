/* The page around the document: one HTML file that needs no network. The document is escaped for its place,
 * and the page's policy allows its own style and script alone. */
#include "page.h"

#include "sha256.h"
#include "text.h"

void berth_page_open(berth_page *page, const char *kind, const char *title, berth_arena *mem)
{
	page->title = title;
	berth_json_out_init(&page->w, mem, false);
	berth_json_open(&page->w, NULL, '{');
	berth_json_put_string(&page->w, "kind", kind);
	berth_json_put_string(&page->w, "title", title);
	berth_json_put_string(&page->w, "berth", BERTH_VERSION);
}

/* Text between tags. */
static void put_text(berth_strbuf *b, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '<':
			berth_strbuf_printf(b, "&lt;");
			break;
		case '>':
			berth_strbuf_printf(b, "&gt;");
			break;
		case '&':
			berth_strbuf_printf(b, "&amp;");
			break;
		default:
			berth_strbuf_add(b, (unsigned char)*s < ' ' ? " " : s, 1);
		}
}

/* How many bytes at s must not stand in a script block as they are; 0: none. These are `<`, `>` and `&`, and
 * the two line ends U+2028 and U+2029. Within JSON they are found in strings only. */
static size_t n_unsafe(const char *s, size_t left)
{
	if (*s == '<' || *s == '>' || *s == '&')
		return 1;
	return left >= 3 && memcmp(s, "\xe2\x80", 2) == 0 && (s[2] == '\xa8' || s[2] == '\xa9') ? 3 : 0;
}

berth_status berth_page_done(berth_page *page, berth_arena *mem, const char **text, size_t *len,
                             berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	const char *document;
	size_t size;
	berth_json_close(&page->w, '}');
	BERTH_TRY(berth_json_done(&page->w, &document, &size, err));
	berth_strbuf_printf(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	/* What the page may do: this style, this script, and nothing else. */
	char style[45], script[45];
	berth_sha256_base64(berth_page_style, berth_page_style_size, style);
	berth_sha256_base64(berth_page_script, berth_page_script_size, script);
	berth_strbuf_printf(&b,
	                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	                    "style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; "
	                    "form-action 'none'; require-trusted-types-for 'script'\">\n",
	                    style, script);
	berth_strbuf_printf(&b, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	                        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	put_text(&b, page->title);
	berth_strbuf_printf(&b, "</title>\n<style>");
	berth_strbuf_add(&b, (const char *)berth_page_style, berth_page_style_size);
	berth_strbuf_printf(&b, "</style>\n</head>\n");
	berth_strbuf_printf(&b,
	                    "<body>\n<noscript>This page draws its pictures by a script that stands in it. "
	                    "Please allow scripts here.</noscript>\n"
	                    "<script type=\"application/json\" id=\"document\">");
	size_t from = 0, n;
	for (size_t i = 0; i < size; i += n ? n : 1) {
		n = n_unsafe(document + i, size - i);
		if (!n)
			continue;
		berth_strbuf_add(&b, document + from, i - from);
		berth_strbuf_printf(&b, "\\u%04x",
		                    n == 1 ? (unsigned)document[i]
		                           : 0x2000u + ((unsigned)document[i + 2] & 0x3f));
		from = i + n;
	}
	berth_strbuf_add(&b, document + from, size - from);
	berth_strbuf_printf(&b, "</script>\n<script>");
	berth_strbuf_add(&b, (const char *)berth_page_script, berth_page_script_size);
	berth_strbuf_printf(&b, "</script>\n</body>\n</html>\n");
	return berth_strbuf_done(&b, text, len, err);
}
