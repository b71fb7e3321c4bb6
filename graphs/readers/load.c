/* Which reader a graph goes to: models of the zoo, files by the table of formats, modules of Python files. */
#include "load.h"

#include "beneath.h"
#include "file.h"
#include "foreign.h"
#include "gguf.h"
#include "hf.h"
#include "onnx.h"
#include "tasks.h"

/* The first whose bytes these are. Text that is nothing else is JSON; what is no text is ONNX. */
static const berth_format *const formats[] = {
	&berth_format_foreign, &berth_format_gguf,      &berth_format_dax, &berth_format_stg,
	&berth_format_dot,     &berth_format_tarnawski, &berth_format_wfcommons, &berth_format_hf,
	&berth_format_json,    &berth_format_onnx,
};

const berth_format *berth_format_of(const char *data, size_t size)
{
	size_t i = 0;
	while (!formats[i]->is(data, size))
		i++;
	return formats[i];
}

const berth_format *berth_content_format(const berth_content *c)
{
	return c->format ? c->format : berth_format_of(c->data, c->size);
}

static berth_status settle(const char *path, const unsigned char *data, size_t size, berth_content *out,
                           berth_err *err)
{
	const berth_format *format = NULL;
	if (data && (!berth_text_is((const char *)data, size) ||
	             berth_format_foreign.is((const char *)data, size)))
		format = berth_format_of((const char *)data, size);
	*out = (berth_content){.name = path, .data = "", .size = size};
	if (format == &berth_format_gguf || format == &berth_format_onnx || format == &berth_format_hf ||
	    format == &berth_format_foreign)
		out->format = format; /* from now on, whatever becomes of the file */
	berth_status st = out->format ? BERTH_OK : berth_file_own(path, &data, size, err);
	if (st != BERTH_OK)
		berth_file_unmap(data, size);
	else if (data)
		out->data = (const char *)data;
	return st;
}

berth_status berth_graph_map(const char *path, berth_content *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(berth_file_map(BERTH_READS_MODEL, path, &data, &size, err));
	return settle(path, data, size, out, err);
}

/* The file that spec names; where it names a folder, the one that stands for it. */
static berth_status map_named(const char *spec, const char *path, berth_content *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	if (strncmp(spec, path, strlen(path)) == 0)
		return berth_graph_map(path, out, err);
	BERTH_TRY(berth_beneath_map(BERTH_READS_PART, path, strrchr(path, '/') + 1, &data, &size, err));
	return settle(path, data, size, out, err);
}

void berth_graph_unmap(const berth_content *c)
{
	berth_file_unmap(c->size ? (const unsigned char *)c->data : NULL, c->size);
}

/* ---- modules ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t berth_module_file_length(const char *spec)
{
	static const char end[] = ".py";
	for (const char *at = spec; (at = strstr(at, ".py:")); at++) {
		const char *name = at + sizeof end;
		size_t n = 0;
		while (is_letter(name[n]) || (n && name[n] >= '0' && name[n] <= '9'))
			n++;
		if (n && (name[n] == '\0' || name[n] == ':'))
			return (size_t)(at - spec) + sizeof end - 1;
	}
	return 0;
}

/* The graph of a module; path and words as berth_graph_split gives them. The rest as berth_graph_load. Fails:
 * BERTH_EINVAL (opt has no module_graph), BERTH_EIO, BERTH_ENOMEM; module_graph. */
static berth_status load_module(const char *path, const berth_read_options *words, berth_arena *mem,
                               berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err)
{
	const char *spec = path;
	berth_content from = {.name = path, .format = &berth_format_json};
	if (!words->module_graph)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: only the program berth runs Python files; 'berth-engine-torch graph' "
		                  "writes their graphs",
		                  path);
	/* The file is there and can be read: its own message, where it is not. */
	const unsigned char *data;
	size_t size;
	const char *file = berth_arena_strndup(tmp, path, berth_module_file_length(path));
	BERTH_TRY(berth_got(file, err));
	BERTH_TRY(berth_file_map(BERTH_READS_MODEL, file, &data, &size, err));
	berth_file_unmap(data, size);
	for (int32_t i = 0; spec && i < words->n_dims; i++)
		spec = berth_arena_printf(tmp, "%s:%s", spec, words->dim[i]);
	BERTH_TRY(berth_got(spec, err));
	BERTH_TRY(words->module_graph(spec, tmp, &from.data, &from.size, err));
	return from.format->parse(&from, words, mem, tmp, out, report, err);
}

/* ---- specs ---- */

#define NAME_WORD "name="

/* Where the ":key=value" words at the end of spec begin: its end where there are none, or where a file has
 * that whole name. Fails: BERTH_EIO, where nobody can tell. */
static berth_status words_at(const char *spec, size_t *at, berth_err *err)
{
	bool there;
	*at = strlen(spec);
	BERTH_TRY(berth_file_there(spec, &there, err));
	for (size_t i = there ? 0 : *at; i-- > 1;)
		if (spec[i] == ':') {
			const char *equals = memchr(spec + i, '=', *at - i);
			const char *colon = memchr(spec + i + 1, ':', *at - i - 1);
			if (!equals || (colon && colon < equals) || equals == spec + i + 1)
				break;
			*at = i;
		}
	return BERTH_OK;
}

bool berth_graph_is_file(const char *spec)
{
	return !berth_zoo_is_spec(spec) && !berth_module_file_length(spec);
}

static const char *path_before(const char *spec, size_t at, berth_arena *mem)
{
	const char *path = berth_arena_strndup(mem, spec, at);
	return path ? hf_folder_file(path, mem) : NULL;
}

const char *berth_graph_path(const char *spec, berth_arena *mem)
{
	size_t at = berth_module_file_length(spec);
	if (!at)
		words_at(spec, &at, NULL); /* where it cannot be looked at, whoever opens it tells why */
	return path_before(spec, at, mem);
}

/* A Python file without the function is none of a graph's formats. */
static berth_status check_module(const char *path, berth_err *err)
{
	size_t n = strlen(path);
	n -= n && path[n - 1] == ':';
	return n > 3 && strncmp(path + n - 3, ".py", 3) == 0
	               ? berth_fail(err, BERTH_EINVAL,
	                            "%s: which function makes the module? %.*s:FACTORY names it", path,
	                            (int)n, path)
	               : BERTH_OK;
}

berth_status berth_graph_split(const char *spec, const berth_read_options *opt, berth_arena *mem,
                               const char **path, berth_read_options *out, berth_err *err)
{
	size_t at, cap = 0;
	const char **word = NULL;
	int32_t n = 0;
	BERTH_TRY(words_at(spec, &at, err));
	BERTH_TRY(berth_got(*path = path_before(spec, at, mem), err));
	*out = opt ? *opt : (berth_read_options){0};
	for (; n < out->n_dims; n++) {
		BERTH_TRY(BERTH_GROW(mem, word, n, &cap, err));
		word[n] = out->dim[n];
	}
	bool module = berth_module_file_length(*path) > 0; /* its words are its own */
	while (spec[at]) {
		size_t len = strcspn(spec + at + 1, ":");
		const char *text = berth_arena_strndup(mem, spec + at + 1, len);
		BERTH_TRY(berth_got(text, err));
		at += len + 1;
		if (!module && strncmp(text, NAME_WORD, sizeof NAME_WORD - 1) == 0) {
			out->name = text + sizeof NAME_WORD - 1;
			continue;
		}
		BERTH_TRY(BERTH_PUSH(mem, word, n, &cap, err, text));
	}
	out->dim = word;
	out->n_dims = n;
	return BERTH_OK;
}

/* ---- reading ---- */

berth_status berth_graph_parse_content(const berth_content *from, const berth_read_options *opt,
                                       berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                       berth_read_report *report, berth_err *err)
{
	const berth_format *format = berth_content_format(from);
	if (!opt->sandbox && opt->n_dims && !format->words)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: dimension '%.80s' is given, but a file of the format %s has none",
		                  from->name, opt->dim[0], format->name);
	*report = (berth_read_report){0};
	BERTH_TRY(opt->sandbox ? berth_graph_parse_apart(from, opt, mem, tmp, out, report, err)
	                       : format->parse(from, opt, mem, tmp, out, report, err));
	report->format = format->name;
	return BERTH_OK;
}

berth_status berth_graph_parse(const char *name, const char *data, size_t size, const berth_read_options *opt,
                               berth_arena *mem, berth_arena *tmp, berth_graph *out,
                               berth_read_report *report, berth_err *err)
{
	const berth_content from = {.name = name, .data = size ? data : "", .size = size};
	const berth_read_options none = {0};
	berth_read_report r;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_graph_parse_content(&from, opt ? opt : &none, mem, tmp, out, &r, err));
	if (report)
		*report = r;
	return BERTH_OK;
}

berth_status berth_graph_missing(const char *path, berth_status failed, berth_err *err)
{
	int32_t n;
	const berth_zoo_model *model = berth_zoo_list(&n);
	bool there = true;
	if (failed != BERTH_EIO || berth_file_there(path, &there, NULL) != BERTH_OK || there)
		return failed;
	BERTH_TRY(check_module(path, err));
	for (int32_t i = 0; i < n; i++)
		if (strcmp(model[i].name, path) == 0)
			return berth_fail(err, failed,
			                  "%s: there is no such file; the built-in model is zoo:%s", path,
			                  path);
	static const char *const prefixes[] = {"zoo"};
	char word[16];
	const size_t n_word = strcspn(path, ":");
	snprintf(word, sizeof word, "%.*s", n_word < sizeof word ? (int)n_word : 0, path);
	const char *near = path[n_word] ? berth_text_nearest(word, prefixes, 1) : NULL;
	return near ? berth_fail(err, failed, "%s: there is no such file (did you mean %s%s?)", path, near,
	                         path + n_word)
	            : failed;
}

/* The files that the model goes on in, by the first one's name. */
static berth_status map_parts(berth_content *from, berth_arena *mem, berth_err *err)
{
	berth_content *part = NULL;
	berth_status st = BERTH_OK;
	bool config = !from->format && hf_is_config(from->name, from->data, from->size);
	if (config || (!from->format && berth_format_hf.is(from->data, from->size)))
		from->format = &berth_format_hf;
	if (from->format && from->format->parts)
		st = from->format->parts(from, mem, &part, &from->n_parts, err);
	from->part = part;
	return st;
}

berth_status berth_model_map(const char *spec, const berth_read_options *opt, berth_arena *mem,
                             berth_content *out, berth_read_options *words, berth_err *err)
{
	const char *path;
	berth_content from;
	BERTH_TRY(berth_graph_split(spec, opt, mem, &path, words, err));
	if (berth_module_file_length(path))
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: the file of a model is needed, which a Python module is not", path);
	berth_status mapped = map_named(spec, path, &from, err);
	if (mapped != BERTH_OK)
		return berth_graph_missing(path, mapped, err);
	berth_status st = map_parts(&from, mem, err);
	if (st == BERTH_OK)
		*out = from;
	else
		berth_model_unmap(&from);
	return st;
}

void berth_model_unmap(const berth_content *c)
{
	for (int32_t i = 0; i < c->n_parts; i++)
		berth_file_unmap((const unsigned char *)c->part[i].data, c->part[i].size);
	berth_graph_unmap(c);
}

/* The other files of a model are told with the data beside it. */
static berth_status tell_parts(const berth_content *from, berth_arena *mem, berth_read_report *r,
                               berth_err *err)
{
	const char **all;
	if (from->n_parts == 0)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, r->n_external + from->n_parts, err, all);
	for (int32_t i = 0; i < r->n_external; i++)
		all[i] = r->external[i];
	for (int32_t i = 0; i < from->n_parts; i++) {
		const char *slash = strrchr(from->part[i].name, '/');
		const char *name = berth_arena_strdup(mem, slash ? slash + 1 : from->part[i].name);
		BERTH_TRY(berth_got(name, err));
		all[r->n_external++] = name;
	}
	r->external = all;
	return BERTH_OK;
}

static berth_status rename_graph(berth_graph *g, const char *name, berth_arena *mem, berth_err *err)
{
	const char *copy = name && *name ? berth_arena_strdup(mem, name) : g->name;
	BERTH_TRY(berth_got(copy, err));
	g->name = copy;
	return BERTH_OK;
}

static berth_status load_file(const char *spec, const berth_read_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err)
{
	const char *path;
	BERTH_MODEL(from);
	berth_read_options with_words;
	berth_read_report r = {0};
	BERTH_TRY(berth_graph_split(spec, opt, tmp, &path, &with_words, err));
	if (berth_module_file_length(path))
		return load_module(path, &with_words, mem, tmp, out, report ? report : &r, err);
	BERTH_TRY(check_module(path, err));
	BERTH_TRY(berth_model_map(spec, opt, tmp, &from, &with_words, err));
	from.once = !from.format;
	BERTH_TRY(berth_graph_parse_content(&from, &with_words, mem, tmp, out, &r, err));
	BERTH_TRY(tell_parts(&from, mem, &r, err));
	BERTH_TRY(rename_graph(out, with_words.name, mem, err));
	BERTH_TRY(berth_graph_doubts(out, mem, tmp, &r, err));
	if (report)
		*report = r;
	return BERTH_OK;
}

/* The word name=N leaves *spec; *name is NULL where it has none. */
static berth_status take_name(const char **spec, const char **name, berth_arena *mem, berth_err *err)
{
	const char *at = strstr(*spec, ":" NAME_WORD), *text = at ? at + sizeof NAME_WORD : "";
	size_t n = strcspn(text, ":");
	*name = NULL;
	if (!at)
		return BERTH_OK;
	*name = berth_arena_strndup(mem, text, n);
	*spec = berth_arena_printf(mem, "%.*s%s", (int)(at - *spec), *spec, text + n);
	return berth_got(*name && *spec ? *spec : NULL, err);
}

/* The words of opt behind the spec of a model of the zoo; NULL when memory runs out. */
static const char *with_dims(const char *spec, const berth_read_options *opt, berth_arena *mem)
{
	for (int32_t i = 0; opt && i < opt->n_dims && spec; i++)
		spec = berth_arena_printf(mem, "%s:%s", spec, opt->dim[i]);
	return spec;
}

berth_status berth_graph_load(const char *spec, const berth_read_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err)
{
	if (report)
		*report = (berth_read_report){0};
	if (berth_zoo_is_spec(spec)) {
		const char *name, *whole = with_dims(spec, opt, mem);
		BERTH_TRY(berth_got(whole, err));
		BERTH_TRY(take_name(&whole, &name, mem, err));
		BERTH_TRY(berth_zoo_build(whole, mem, tmp, out, err));
		return rename_graph(out, name, mem, err);
	}
	BERTH_SCRATCH(tmp);
	return load_file(spec, opt, mem, tmp, out, report, err);
}
