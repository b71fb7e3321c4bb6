/* Which reader a graph goes to. */
#include "load.h"

#include "file.h"
#include "gguf.h"
#include "gguf_wire.h"
#include "graph_json.h"
#include "scan.h"
#include "tasks.h"
#include "zoo.h"

#include <ctype.h>
#include <string.h>

bool berth_data_is_text(const char *data, size_t size)
{
	for (size_t i = 0; i < size && i < 256; i++) {
		unsigned char c = (unsigned char)data[i];
		if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
			return false;
	}
	return true;
}

/* Past spaces and comments of any of the formats, and the mark of UTF-8. */
static void skip_comments(scan *s)
{
	scan_take(s, "\xef\xbb\xbf");
	for (;;) {
		scan_spaces(s);
		if (scan_take(s, "//") || scan_take(s, "#"))
			scan_past(s, "\n");
		else if (scan_take(s, "/*"))
			scan_past(s, "*/");
		else
			return;
	}
}

/* Does one of the words stand here that a DOT file begins with? */
static bool begins_dot(const scan *s)
{
	static const char *const words[] = {"strict", "digraph", "graph"};
	scan_word w = {s->text + s->at, 0};
	while (s->at + w.n < s->size && isalpha((unsigned char)w.text[w.n]))
		w.n++;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (scan_is_any_case(w, words[i]))
			return true;
	return false;
}

berth_format berth_format_of(const char *data, size_t size)
{
	scan s = {"", data, size, 0};
	if (gguf_is((const unsigned char *)data, size))
		return BERTH_FORMAT_GGUF;
	if (!berth_data_is_text(data, size))
		return BERTH_FORMAT_ONNX;
	skip_comments(&s);
	unsigned char c = (unsigned char)scan_peek(&s);
	return c == '<'         ? BERTH_FORMAT_DAX
	       : isdigit(c)     ? BERTH_FORMAT_STG
	       : begins_dot(&s) ? BERTH_FORMAT_DOT
	                        : BERTH_FORMAT_JSON;
}

/* ---- specs ---- */

/* Where the ":key=value" words at the end of spec begin: its end where there are none, or where a file has
 * that whole name. */
static size_t words_at(const char *spec)
{
	size_t at = strlen(spec);
	if (berth_file_exists(spec))
		return at;
	for (size_t i = at; i-- > 1;)
		if (spec[i] == ':') {
			const char *equals = memchr(spec + i, '=', at - i);
			const char *colon = memchr(spec + i + 1, ':', at - i - 1);
			if (!equals || (colon && colon < equals) || equals == spec + i + 1)
				break;
			at = i;
		}
	return at;
}

const char *berth_graph_path(const char *spec, berth_arena *mem)
{
	return berth_arena_strndup(mem, spec, words_at(spec));
}

berth_status berth_graph_split(const char *spec, const berth_onnx_options *opt, berth_arena *mem,
                               const char **path, berth_onnx_options *out, berth_err *err)
{
	size_t at = words_at(spec), cap = 0;
	const char **word = NULL;
	int32_t n = 0;
	*path = berth_arena_strndup(mem, spec, at);
	if (!*path)
		return berth_nomem(err);
	*out = opt ? *opt : (berth_onnx_options){0};
	for (; n < out->n_dims; n++) {
		BERTH_TRY(BERTH_GROW(mem, word, n, &cap, err));
		word[n] = out->dim[n];
	}
	while (spec[at]) {
		size_t len = strcspn(spec + at + 1, ":");
		BERTH_TRY(BERTH_GROW(mem, word, n, &cap, err));
		if (!(word[n++] = berth_arena_strndup(mem, spec + at + 1, len)))
			return berth_nomem(err);
		at += len + 1;
	}
	out->dim = word;
	out->n_dims = n;
	return BERTH_OK;
}

static berth_status no_dims(const char *spec, const berth_onnx_options *opt, berth_err *err)
{
	if (!opt || !opt->n_dims)
		return BERTH_OK;
	return berth_fail(
		err, BERTH_EINVAL,
		"%s: dimension '%.80s' is given, but only ONNX and GGUF models and task graphs have some",
		spec, opt->dim[0]);
}

/* ---- files ---- */

/* Figures of a GGUF model as the report tells them. */
static berth_status report_gguf(const berth_gguf_report *r, const berth_gguf_options *opt, berth_arena *mem,
                                berth_onnx_report *out, berth_err *err)
{
	if (!out)
		return BERTH_OK;
	*out = (berth_onnx_report){.n_dims = 2, .n_warnings = r->n_warnings, .warning = r->warning};
	BERTH_TRY(BERTH_NEW(mem, out->dim_name, out->n_dims, err));
	BERTH_TRY(BERTH_NEW(mem, out->dim_value, out->n_dims, err));
	out->dim_name[0] = "batch";
	out->dim_value[0] = opt->batch;
	out->dim_name[1] = "context";
	out->dim_value[1] = r->context;
	return BERTH_OK;
}

static berth_status load_gguf(const char *path, const berth_onnx_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_onnx_report *report, berth_err *err)
{
	berth_gguf_options o;
	berth_gguf_report r;
	BERTH_TRY(berth_gguf_options_read(path, opt->dim, opt->n_dims, tmp, &o, err));
	BERTH_TRY(berth_graph_load_gguf(path, &o, mem, tmp, out, &r, err));
	return report_gguf(&r, &o, mem, report, err);
}

static berth_status parse_tasks(berth_format format, const char *path, const char *data, size_t size,
                                const berth_onnx_options *opt, berth_arena *mem, berth_arena *tmp,
                                berth_graph *out, berth_err *err)
{
	berth_task_options o;
	BERTH_TRY(berth_task_options_read(path, opt->dim, opt->n_dims, tmp, &o, err));
	if (format == BERTH_FORMAT_DOT)
		return berth_graph_parse_dot(path, data, size, &o, mem, tmp, out, err);
	if (format == BERTH_FORMAT_STG)
		return berth_graph_parse_stg(path, data, size, &o, mem, tmp, out, err);
	return berth_graph_parse_dax(path, data, size, &o, mem, tmp, out, err);
}

static berth_status parse(const char *path, const char *data, size_t size, const berth_onnx_options *opt,
                          berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_onnx_report *report,
                          berth_err *err)
{
	berth_format format = berth_format_of(data, size);
	switch (format) {
	case BERTH_FORMAT_ONNX:
		return berth_graph_parse_onnx(path, (const unsigned char *)data, size, opt, mem, tmp, out,
		                              report, err);
	case BERTH_FORMAT_GGUF: return load_gguf(path, opt, mem, tmp, out, report, err);
	case BERTH_FORMAT_DOT:
	case BERTH_FORMAT_STG:
	case BERTH_FORMAT_DAX: return parse_tasks(format, path, data, size, opt, mem, tmp, out, err);
	case BERTH_FORMAT_JSON: break;
	}
	BERTH_TRY(no_dims(path, opt, err));
	return berth_graph_parse_json(path, data, size, mem, tmp, out, err);
}

static berth_status load_file(const char *spec, const berth_onnx_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_onnx_report *report, berth_err *err)
{
	const unsigned char *data;
	const char *path;
	size_t size;
	berth_onnx_options with_words;
	BERTH_TRY(berth_graph_split(spec, opt, tmp, &path, &with_words, err));
	BERTH_TRY(berth_file_map(path, &data, &size, err));
	berth_status st =
		parse(path, data ? (const char *)data : "", size, &with_words, mem, tmp, out, report, err);
	berth_file_unmap(data, size);
	return st;
}

berth_status berth_graph_load(const char *spec, const berth_onnx_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_onnx_report *report, berth_err *err)
{
	if (report)
		*report = (berth_onnx_report){0};
	if (berth_zoo_is_spec(spec)) {
		BERTH_TRY(no_dims(spec, opt, err));
		return berth_zoo_build(spec, mem, tmp, out, err);
	}
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = load_file(spec, opt, mem, tmp, out, report, err);
	berth_arena_reset(tmp, mark);
	return st;
}
