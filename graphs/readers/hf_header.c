/* See hf_header.h. The format: 8 bytes, little-endian, the length of a JSON object from names to dtype, shape
 * and data_offsets; then the data. */
#include "hf_header.h"

#include "json.h"

#include <math.h>
#include <string.h>

enum { LENGTH_BYTES = 8, MOST_HEADER = 100000000 };

static const struct {
	const char *name;
	int32_t bytes;
} dtypes[] = {
	{"F64", 8},     {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1},
	{"F8_E5M2", 1}, {"I64", 8}, {"I32", 4}, {"I16", 2},  {"I8", 1},
	{"U64", 8},     {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1},
};

static uint64_t length_of(const char *data)
{
	uint64_t x = 0;
	for (int i = LENGTH_BYTES; i-- > 0;)
		x = x << 8 | (unsigned char)data[i];
	return x;
}

bool hf_header_is(const char *data, size_t size)
{
	return size > LENGTH_BYTES && length_of(data) >= 2 && length_of(data) <= MOST_HEADER &&
	       data[LENGTH_BYTES] == '{';
}

typedef struct reading {
	berth_status (*visit)(void *ctx, const hf_tensor *t, berth_err *err);
	void *ctx;
} reading;

static berth_status read_dtype(const berth_json *at, hf_tensor *t, berth_err *err)
{
	const char *name = "";
	BERTH_TRY(berth_json_string(at, "dtype", true, &name, err));
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (strcmp(name, dtypes[i].name) == 0) {
			t->elem_bytes = dtypes[i].bytes;
			return BERTH_OK;
		}
	return berth_json_fail(at, err, "dtype '%.20s' is not known", name);
}

static berth_status read_dim(void *ctx, const berth_json *item, berth_err *err)
{
	hf_tensor *t = ctx;
	double x = 0;
	BERTH_TRY(berth_json_value(item, 1, &x, err));
	if (x > 0x1p53 || x != floor(x))
		return berth_json_fail(item, err, "expected a whole number from 1 to 2^53");
	if (t->n_dims == HF_RANK)
		return berth_json_fail(item->up, err, "more than %d dimensions", HF_RANK);
	t->dim[t->n_dims++] = (int64_t)x;
	return BERTH_OK;
}

static berth_status read_tensor(void *ctx, const berth_json *at, berth_err *err)
{
	const reading *r = ctx;
	hf_tensor t = {.name = at->item->string ? at->item->string : "", .dim = {1, 1, 1, 1}};
	berth_json shape;
	double bytes;
	if (strcmp(t.name, "__metadata__") == 0)
		return BERTH_OK;
	if (!cJSON_IsObject(at->item))
		return berth_json_fail(at, err, "expected an object with dtype, shape and data_offsets");
	BERTH_TRY(read_dtype(at, &t, err));
	BERTH_TRY(berth_json_array(at, "shape", true, &shape, err));
	BERTH_TRY(berth_json_each(&shape, read_dim, &t, err));
	bytes = t.elem_bytes;
	for (int i = 0; i < HF_RANK; i++)
		bytes *= (double)t.dim[i];
	if (bytes > 0x1p53)
		return berth_json_fail(at, err, "more than 2^53 bytes");
	t.bytes = (int64_t)bytes;
	return r->visit(r->ctx, &t, err);
}

static berth_status read_header(reading *r, const char *file, const char *text, size_t size, berth_err *err)
{
	cJSON *doc;
	BERTH_TRY(berth_json_parse_large(file, text, size, &doc, err));
	const berth_json at = {.item = doc, .file = file};
	berth_status st = cJSON_IsObject(doc) ? berth_json_each(&at, read_tensor, r, err)
	                                      : berth_json_fail(&at, err, "expected an object");
	cJSON_Delete(doc);
	return st;
}

berth_status hf_header_each(const char *file, const char *data, size_t size,
                            berth_status (*visit)(void *ctx, const hf_tensor *t, berth_err *err), void *ctx,
                            berth_err *err)
{
	if (!hf_header_is(data, size))
		return berth_fail(err, BERTH_EFORMAT, "%s: no safetensors file", file);
	uint64_t length = length_of(data);
	if (length > size - LENGTH_BYTES)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: a header of %llu bytes; expected at most the %zu that are left of the file",
			file, (unsigned long long)length, size - LENGTH_BYTES);
	berth_arena own = {0}; /* the file may change meanwhile */
	const char *header = berth_arena_strndup(&own, data + LENGTH_BYTES, (size_t)length);
	reading r = {visit, ctx};
	berth_status st = header ? read_header(&r, file, header, (size_t)length, err) : berth_nomem(err);
	berth_arena_free(&own);
	return st;
}
