/* Model folders: which files belong to a model, the headers of their safetensors files, and the graph. The
 * format of a header: 8 bytes, little-endian, the length of a JSON object from names to dtype, shape and
 * data_offsets; then the data. */
#include "hf.h"

#include "beneath.h"
#include "file.h"
#include "foreign.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

/* ---- headers of safetensors files ---- */

enum { LENGTH_BYTES = 8, MOST_HEADER = 100000000 };

static const struct {
	const char *name;
	int32_t bytes;
	berth_precision dtype;
} dtypes[] = {
	{"F64", 8, BERTH_F64},    {"F32", 4, BERTH_F32},
	{"F16", 2, BERTH_F16},    {"BF16", 2, BERTH_BF16},
	{"F8_E4M3", 1, BERTH_F8}, {"F8_E5M2", 1, BERTH_F8},
	{"I64", 8, 0},            {"I32", 4, 0},
	{"I16", 2, 0},            {"I8", 1, 0},
	{"U64", 8, 0},            {"U32", 4, 0},
	{"U16", 2, 0},            {"U8", 1, 0},
	{"BOOL", 1, 0},
};

/* Does data[size] begin as a safetensors file does? */
static bool is_header(const char *data, size_t size)
{
	uint64_t n = size > LENGTH_BYTES ? berth_file_little((const unsigned char *)data, LENGTH_BYTES) : 0;
	return n >= 2 && n <= MOST_HEADER && data[LENGTH_BYTES] == '{';
}

typedef struct adding {
	decoder_model *m;
	const char *file;
	berth_strmap *names;
} adding;

static berth_status read_dtype(const berth_json *at, double *bytes, berth_precision *dtype, berth_err *err)
{
	const char *name = "";
	BERTH_TRY(berth_json_string(at, "dtype", true, &name, err));
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (strcmp(name, dtypes[i].name) == 0) {
			*bytes = dtypes[i].bytes;
			*dtype = dtypes[i].dtype;
			return BERTH_OK;
		}
	return berth_json_fail(at, err, "dtype '%.20s' is not known", name);
}

/* Dimensions stand outermost first. */
static berth_status read_dim(void *ctx, const berth_json *item, berth_err *err)
{
	decoder_tensor *t = ctx;
	double x = 0;
	BERTH_TRY(berth_json_value(item, 1, &x, err));
	if (x > 0x1p53 || x != floor(x))
		return berth_json_fail(item, err, "expected a whole number from 1 to 2^53");
	if (item->index == DECODER_RANK)
		return berth_json_fail(item->up, err, "more than %d dimensions", DECODER_RANK);
	memmove(t->dim + 1, t->dim, (DECODER_RANK - 1) * sizeof *t->dim);
	t->dim[0] = (int64_t)x;
	return BERTH_OK;
}

static berth_status read_tensor(void *ctx, const berth_json *at, berth_err *err)
{
	const adding *a = ctx;
	const char *name = at->item->string ? at->item->string : "";
	decoder_tensor t = {.dim = {1, 1, 1, 1}};
	berth_json shape;
	double bytes = 0;
	if (strcmp(name, "__metadata__") == 0)
		return BERTH_OK;
	if (!cJSON_IsObject(at->item))
		return berth_json_fail(at, err, "expected an object with dtype, shape and data_offsets");
	BERTH_TRY(read_dtype(at, &bytes, &t.dtype, err));
	BERTH_TRY(berth_json_array(at, "shape", true, &shape, err));
	BERTH_TRY(berth_json_each(&shape, read_dim, &t, err));
	for (int i = 0; i < DECODER_RANK; i++)
		bytes *= (double)t.dim[i];
	if (bytes > 0x1p53)
		return berth_json_fail(at, err, "more than 2^53 bytes");
	t.bytes = (int64_t)bytes;
	/* The name for good: it stands once in all files. */
	int32_t found = 0, n = (int32_t)a->m->n_tensors + 1;
	t.name.text = berth_arena_strdup(a->m->tmp, name);
	BERTH_TRY(berth_got(t.name.text, err));
	BERTH_TRY(berth_strmap_add(a->names, t.name.text, n, &found, err));
	BERTH_TRY(found == n
	                  ? BERTH_OK
	                  : berth_fail(err, BERTH_EFORMAT, "%s: tensor '%.80s' stands twice", a->file, name));
	return hf_model_add(a->m, a->file, &t, err);
}

/* The tensors of a file, in the order of its header. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
static berth_status read_weights(adding *a, const char *data, size_t size, berth_err *err)
{
	uint64_t length = berth_file_little((const unsigned char *)data, LENGTH_BYTES);
	if (length > size - LENGTH_BYTES)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: a header of %llu bytes; expected at most the %zu that are left of the file",
			a->file, (unsigned long long)length, size - LENGTH_BYTES);
	BERTH_ARENA(own); /* the file may change meanwhile */
	const char *header = berth_arena_strndup(&own, data + LENGTH_BYTES, (size_t)length);
	BERTH_TRY(berth_got(header, err));
	BERTH_JSON_DOC(at);
	BERTH_TRY(berth_json_open_doc(a->file, header, (size_t)length, &at, err));
	return cJSON_IsObject(at.item) ? berth_json_each(&at, read_tensor, a, err)
	                               : berth_json_fail(&at, err, "expected an object");
}

/* ---- folders ---- */

#define CONFIG "config.json"
#define INDEX "model.safetensors.index.json"

/* ---- which files ---- */

/* JSON that has the key near its beginning. */
static bool has_key(const char *data, size_t size, const char *key)
{
	enum { NEAR = 65536 };
	size = size < NEAR ? size : NEAR;
	return berth_text_is(data, size) && !berth_text_contains(data, size, "\"berth-") &&
	       berth_text_contains(data, size, key);
}

static bool is_config(const char *data, size_t size)
{
	return has_key(data, size, "\"architectures\"");
}

bool hf_is_config(const char *path, const char *data, size_t size)
{
	enum { NEAR = 65536 };
	const char *slash = strrchr(path, '/');
	return strcmp(slash ? slash + 1 : path, CONFIG) == 0 && berth_text_is(data, size) &&
	       !berth_text_contains(data, size < NEAR ? size : NEAR, "\"berth-");
}

static bool is_index(const char *data, size_t size)
{
	return has_key(data, size, "\"weight_map\"");
}

/* Weights of others: berth's own files tell their digest (base/safetensors.h). */
static bool is_weights(const char *data, size_t size)
{
	enum { NEAR = 4096 };
	return is_header(data, size) &&
	       !berth_text_contains(data, size < NEAR ? size : NEAR, "\"sha256\"");
}

static bool is_hf(const char *data, size_t size)
{
	return is_weights(data, size) || is_config(data, size) || is_index(data, size);
}

const char *hf_folder_file(const char *path, berth_arena *mem)
{
	struct stat st;
	size_t n = strlen(path);
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return path;
	const char *file = berth_arena_printf(mem, "%s%s" CONFIG, path, n && path[n - 1] == '/' ? "" : "/");
	return file && stat(file, &st) == 0 && !S_ISREG(st.st_mode) ? path : file; /* a pipe would wait */
}

/* "-00001-of-00003.safetensors" at the end: where it begins; else NULL. */
static const char *shard_of(const char *name)
{
	static const char tail[] = ".safetensors";
	int32_t part, parts;
	size_t n = strlen(name), m = sizeof tail - 1;
	if (n < m || strcmp(name + n - m, tail) != 0 || !berth_text_part(name, n - m, &part, &parts))
		return NULL;
	return name + n - m - BERTH_TEXT_PART;
}

/* Does the file belong to the model of the one that was named? */
static bool belongs(const char *name, const char *named, bool named_weights)
{
	const char *shard = shard_of(name), *own = shard_of(named);
	if (strcmp(name, named) == 0)
		return false;
	if (strcmp(name, CONFIG) == 0 || (strcmp(name, INDEX) == 0 && !named_weights))
		return true;
	if (named_weights)
		return shard && own && shard - name == own - named &&
		       strncmp(name, named, (size_t)(own - named)) == 0;
	return strcmp(name, "model.safetensors") == 0 || (shard && strncmp(name, "model-", 6) == 0);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static berth_status list_folder(const char *folder, const char *named, bool named_weights, berth_arena *mem,
                                const char ***out, size_t *n, berth_err *err)
{
	enum { MOST = 4096 };
	berth_status st = BERTH_OK;
	size_t cap = 0;
	DIR *dir = opendir(*folder ? folder : ".");
	if (!dir)
		return errno == ENOMEM ? berth_nomem(err)
		                       : berth_fail(err, BERTH_EIO, "%s: %s", *folder ? folder : ".",
		                                    strerror(errno));
	*out = NULL;
	*n = 0;
	for (const struct dirent *e; st == BERTH_OK && (e = readdir(dir));) {
		if (!belongs(e->d_name, named, named_weights))
			continue;
		st = *n == MOST ? berth_fail(err, BERTH_EFORMAT, "%s: more than %d files of a model", folder,
		                             MOST)
		                : BERTH_GROW(mem, *out, *n, &cap, err);
		if (st == BERTH_OK && !((*out)[(*n)++] = berth_arena_strdup(mem, e->d_name)))
			st = berth_nomem(err);
	}
	closedir(dir);
	if (st == BERTH_OK && *n)
		qsort(*out, *n, sizeof **out, by_name);
	return st;
}

/* Nobody named this file. Text is taken, as it is read more than once. */
static berth_status map_part(const char *from, const char *name, berth_content *p, berth_err *err)
{
	const unsigned char *data;
	BERTH_TRY(berth_beneath_map(BERTH_READS_PART, from, name, &data, &p->size, err));
	berth_status taken = data && is_header((const char *)data, p->size)
	                             ? BERTH_OK
	                             : berth_file_own(p->name, &data, p->size, err);
	if (taken != BERTH_OK) {
		berth_file_unmap(data, p->size);
		return taken;
	}
	p->data = data ? (const char *)data : "";
	p->format = is_header(p->data, p->size) ? &berth_format_hf : NULL; /* mapped: never text */
	return BERTH_OK;
}

static berth_status map_parts(const berth_content *from, berth_arena *mem, berth_content **part,
                              int32_t *n_parts, berth_err *err)
{
	const char *slash = strrchr(from->name, '/'), *named = slash ? slash + 1 : from->name, **name = NULL;
	const char *folder = berth_arena_strndup(mem, from->name, (size_t)(named - from->name));
	size_t n = 0;
	*n_parts = 0;
	BERTH_TRY(berth_got(folder, err));
	BERTH_TRY(list_folder(folder, named, is_header(from->data, from->size), mem, &name, &n, err));
	BERTH_TRY_NEW(mem, n, err, *part);
	for (size_t i = 0; i < n; i++) {
		berth_content *p = &(*part)[i];
		BERTH_TRY(berth_got(p->name = berth_arena_printf(mem, "%s%s", folder, name[i]), err));
		BERTH_TRY(map_part(from->name, name[i], p, err));
		++*n_parts;
	}
	return BERTH_OK;
}

/* ---- reading ---- */

static const berth_content *file_of(const berth_content *from, int32_t i)
{
	return i ? &from->part[i - 1] : from;
}

static const berth_content *find(const berth_content *from, bool (*is)(const char *data, size_t size))
{
	for (int32_t i = 0; i <= from->n_parts; i++)
		if ((i == 0 || !file_of(from, i)->format) &&
		    is(file_of(from, i)->data, file_of(from, i)->size))
			return file_of(from, i);
	return NULL;
}

/* Each tensor of the index was in a file. */
static berth_status check_indexed(void *ctx, const berth_json *item, berth_err *err)
{
	const berth_strmap *names = ctx;
	if (berth_strmap_get(names, item->item->string ? item->item->string : "") >= 0)
		return BERTH_OK;
	return berth_json_fail(item, err, "no file here holds that tensor; expected '%.80s' beside the index",
	                       cJSON_IsString(item->item) ? item->item->valuestring : "a file");
}

berth_status hf_model_read(const berth_content *from, berth_arena *tmp, decoder_model *out, berth_err *err)
{
	const berth_content *config = find(from, is_config), *index = find(from, is_index);
	berth_strmap names;
	adding a = {.m = out, .names = &names};
	berth_strmap_init(&names, tmp);
	for (int32_t i = 0; i <= from->n_parts; i++)
		BERTH_TRY(berth_foreign_check(file_of(from, i), err));
	if (!config)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: expected a " CONFIG " with \"architectures\" beside it%s", from->name,
		                  is_header(from->data, from->size) ? ", as weights have no graph" : "");
	BERTH_TRY(hf_model_new(config->name, config->data, config->size, tmp, out, err));
	for (int32_t i = 0; i <= from->n_parts; i++) {
		const berth_content *c = file_of(from, i);
		if (!is_header(c->data, c->size))
			continue;
		a.file = c->name;
		BERTH_TRY(read_weights(&a, c->data, c->size, err));
	}
	if (out->n_tensors == 0)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: expected model.safetensors, or its parts, beside it", from->name);
	if (index) {
		BERTH_JSON_DOC(at);
		berth_json map;
		BERTH_TRY(berth_json_open_doc(index->name, index->data, index->size, &at, err));
		BERTH_TRY(berth_json_object(&at, "weight_map", true, &map, err));
		BERTH_TRY(berth_json_each(&map, check_indexed, &names, err));
	}
	return hf_model_check(out, err);
}

/* ---- the graph ---- */

/* The folder's name, or the file's where it stands in none. */
static text_span name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t end = slash ? (size_t)(slash - path) : 0, at = end;
	text_span name;
	while (at && path[at - 1] != '/')
		at--;
	name = (text_span){path + at, end - at};
	if (end == 0)
		name.text = berth_graph_stem(path, &name.n);
	return name;
}

static berth_status parse(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                          berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err)
{
	berth_gguf_options o;
	decoder_model m;
	BERTH_TRY(berth_gguf_options_read(from->name, opt->dim, opt->n_dims, tmp, &o, err));
	if (strcmp(o.weights, "file") != 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: the weights of a model folder are as its files have them", from->name);
	BERTH_TRY(hf_model_read(from, tmp, &m, err));
	m.dtype = m.d.embed.dtype;
	double elements = (double)m.d.embed.in * (double)m.d.embed.out;
	return decoder_model_graph(&m, &o, from->name, name_of(from->name),
	                           (int64_t)(m.d.embed.bytes / elements), mem, out, report, err);
}

const berth_format berth_format_hf = {"safetensors", true, is_hf, parse, map_parts};
