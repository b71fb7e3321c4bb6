/* Safetensors files with a digest, written part by part and read whole. The digest is looked at before a
 * number is used. */
#include "safetensors.h"

#include "bits.h"
#include "file.h"
#include "json.h"
#include "name_index.h"
#include "sha256.h"
#include "text.h"

enum { LENGTH_BYTES = 8, DIGITS = 64 };

static const struct { const char *name; size_t bytes; } dtypes[] = {
	[SAFETENSORS_F32] = {"F32", 4},
	[SAFETENSORS_I64] = {"I64", 8},
	[SAFETENSORS_U8] = {"U8", 1},
};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

size_t safetensors_count(const safetensors_tensor *t)
{
	size_t n = 1;
	for (int32_t i = 0; i < t->n_dims; i++)
		n *= (size_t)t->shape[i];
	return n;
}

const safetensors_tensor *safetensors_find(const safetensors_file *f, const char *name)
{
	for (int32_t i = 0; i < f->n_tensors; i++)
		if (strcmp(f->tensor[i].name, name) == 0)
			return &f->tensor[i];
	return NULL;
}

const char *safetensors_get_note(const safetensors_file *f, const char *key)
{
	for (int32_t i = 0; i < f->n_notes; i++)
		if (strcmp(f->note[i].key, key) == 0)
			return f->note[i].value;
	return NULL;
}

/* ---- little-endian numbers ---- */

static void put_le(unsigned char *p, uint64_t x, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (unsigned char)(x >> (8 * i));
}

/* n numbers of data from the first on. */
static void put_data(unsigned char *p, safetensors_dtype dtype, const void *data, size_t first, size_t n)
{
	size_t bytes = dtypes[dtype].bytes;
	const unsigned char *from = (const unsigned char *)data + first * bytes;
	for (size_t i = 0; i < n * bytes; i += bytes)
		put_le(p + i, berth_bits_of(from + i, bytes), bytes);
}

static void get_data(const unsigned char *p, safetensors_dtype dtype, size_t n, void *out)
{
	size_t bytes = dtypes[dtype].bytes;
	for (size_t i = 0; i < n * bytes; i += bytes)
		berth_bits_put(berth_file_little(p + i, bytes), (unsigned char *)out + i, bytes);
}

/* ---- the digest ---- */

static bool is_space(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Behind "sha256" at p: the first of 64 hexadecimal digits between quotes, as the value of that key; NULL
 * for anything else. */
static const unsigned char *digits_behind(const unsigned char *p, const unsigned char *end)
{
	while (p < end && is_space(*p))
		p++;
	if (p == end || *p++ != ':')
		return NULL;
	while (p < end && is_space(*p))
		p++;
	if (end - p < DIGITS + 2 || *p++ != '"' || p[DIGITS] != '"')
		return NULL;
	for (int i = 0; i < DIGITS; i++)
		if (!memchr("0123456789abcdef", p[i], 16))
			return NULL;
	return p;
}

/* Where the digits of the note "sha256" stand in data; 0 where no or more than one place could be it. */
static size_t find_digits(const unsigned char *data, size_t size)
{
	static const char key[] = "\"sha256\"";
	size_t found = 0;
	if (size < LENGTH_BYTES || berth_file_little(data, LENGTH_BYTES) > size - LENGTH_BYTES)
		return 0;
	const unsigned char *end = data + LENGTH_BYTES + berth_file_little(data, LENGTH_BYTES);
	for (const unsigned char *p = data + LENGTH_BYTES; (size_t)(end - p) >= sizeof key - 1; p++) {
		p = memchr(p, '"', (size_t)(end - p) - (sizeof key - 2));
		if (!p)
			break;
		if (memcmp(p, key, sizeof key - 1) != 0 || p[-1] == '\\')
			continue;
		const unsigned char *digits = digits_behind(p + sizeof key - 1, end);
		if (digits && found)
			return 0;
		if (digits)
			found = (size_t)(digits - data);
	}
	return found;
}

bool safetensors_seal(void *data, size_t size)
{
	char hex[DIGITS + 1];
	size_t at = find_digits(data, size);
	if (!at)
		return false;
	memset((char *)data + at, '0', DIGITS);
	berth_sha256_hex(data, size, hex);
	memcpy((char *)data + at, hex, DIGITS);
	return true;
}

/* ---- writing ---- */

static berth_status check_word(const char *what, const char *word, const char *reserved, berth_strmap *seen,
                               int32_t index, berth_err *err)
{
	int32_t found = index;
	if (!berth_text_is_utf8(word, strlen(word)))
		return berth_fail(err, BERTH_EINVAL, "%s %d is not UTF-8", what, index);
	if (strcmp(word, reserved) == 0)
		return berth_fail(err, BERTH_EINVAL, "%s '%s' is reserved", what, word);
	BERTH_TRY(berth_strmap_add(seen, word, index, &found, err));
	return found == index ? BERTH_OK
	                      : berth_fail(err, BERTH_EINVAL, "%s '%.60s' stands twice", what, word);
}

static berth_status check_tensor(const safetensors_tensor *t, berth_err *err)
{
	if (t->n_dims < 0 || t->n_dims > SAFETENSORS_MAX_DIMS)
		return berth_fail(err, BERTH_EINVAL, "tensor '%.60s' has %d dimensions, expected 0 to %d",
		                  t->name, t->n_dims, SAFETENSORS_MAX_DIMS);
	for (int32_t i = 0; i < t->n_dims; i++)
		if (t->shape[i] < 0)
			return berth_fail(err, BERTH_EINVAL, "dimension %d of tensor '%.60s' is negative", i,
			                  t->name);
	return BERTH_OK;
}

static void put_tensor(berth_json_out *w, const safetensors_tensor *t, size_t *end)
{
	berth_json_open(w, t->name, '{');
	berth_json_put_string(w, "dtype", dtypes[t->dtype].name);
	berth_json_open(w, "shape", '[');
	for (int32_t i = 0; i < t->n_dims; i++)
		berth_json_put_int(w, NULL, t->shape[i]);
	berth_json_close(w, ']');
	berth_json_open(w, "data_offsets", '[');
	berth_json_put_int(w, NULL, (int64_t)*end);
	*end += safetensors_count(t) * dtypes[t->dtype].bytes;
	berth_json_put_int(w, NULL, (int64_t)*end);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

/* The header with a digest of zeros; *data_size = bytes of data that it tells of. */
static berth_status encode_header(const safetensors_file *f, const int32_t order[], berth_arena *mem,
                                  const char **text, size_t *len, size_t *data_size, berth_err *err)
{
	char zeros[DIGITS + 1];
	berth_json_out w;
	memset(zeros, '0', DIGITS);
	zeros[DIGITS] = '\0';
	berth_json_out_init(&w, mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_open(&w, "__metadata__", '{');
	berth_json_put_string(&w, "sha256", zeros);
	for (int32_t i = 0; i < f->n_notes; i++)
		berth_json_put_string(&w, f->note[i].key, f->note[i].value);
	berth_json_close(&w, '}');
	*data_size = 0;
	for (int32_t i = 0; i < f->n_tensors; i++)
		put_tensor(&w, &f->tensor[order[i]], data_size);
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, len, err);
}

/* A file that is told part by part: its head, then the data. */
typedef struct teller {
	const safetensors_file *f;
	int32_t *order;     /* [n_tensors] */
	unsigned char *head; /* [head_size] the length, the header with its digest, spaces */
	size_t head_size, data_size;
} teller;

static berth_status new_teller(const safetensors_file *f, berth_arena *mem, teller *t, berth_err *err)
{
	const char *header;
	size_t len;
	*t = (teller){.f = f};
	berth_strmap names, keys;
	berth_strmap_init(&names, mem);
	berth_strmap_init(&keys, mem);
	for (int32_t i = 0; i < f->n_tensors; i++) {
		BERTH_TRY(check_word("tensor", f->tensor[i].name, "__metadata__", &names, i, err));
		BERTH_TRY(check_tensor(&f->tensor[i], err));
	}
	for (int32_t i = 0; i < f->n_notes; i++) {
		BERTH_TRY(check_word("metadata key", f->note[i].key, "sha256", &keys, i, err));
		if (!berth_text_is_utf8(f->note[i].value, strlen(f->note[i].value)))
			return berth_fail(err, BERTH_EINVAL, "the value of metadata key '%.60s' is not UTF-8",
			                  f->note[i].key);
	}
	BERTH_TRY_NEW(mem, f->n_tensors, err, t->order);
	/* Indices of the tensors in the order of their data: widest first, so that each starts aligned. */
	int32_t n = 0;
	for (size_t bytes = 8; bytes > 0; bytes--)
		for (int32_t i = 0; i < f->n_tensors; i++)
			if (dtypes[f->tensor[i].dtype].bytes == bytes)
				t->order[n++] = i;
	BERTH_TRY(encode_header(f, t->order, mem, &header, &len, &t->data_size, err));
	size_t padded = (len + 7) / 8 * 8;
	if (padded > SAFETENSORS_MAX_HEADER)
		return berth_fail(err, BERTH_EINVAL, "the header would take %zu bytes, more than %d", padded,
		                  SAFETENSORS_MAX_HEADER);
	t->head_size = LENGTH_BYTES + padded;
	BERTH_TRY(berth_got(t->head = berth_arena_alloc(mem, t->head_size, 1), err));
	put_le(t->head, padded, LENGTH_BYTES);
	memcpy(t->head + LENGTH_BYTES, header, len);
	memset(t->head + LENGTH_BYTES + len, ' ', padded - len);
	return BERTH_OK;
}

static void tell(void *ctx, berth_sha256_put *put, void *what)
{
	const teller *t = ctx;
	unsigned char part[4096];
	put(what, t->head, t->head_size);
	for (int32_t i = 0; i < t->f->n_tensors; i++) {
		const safetensors_tensor *x = &t->f->tensor[t->order[i]];
		const void *data = x->data;
		size_t count = safetensors_count(x), most = sizeof part / dtypes[x->dtype].bytes;
		if (!data && count)
			data = t->f->get(t->f->ctx, t->order[i]);
		for (size_t k = 0; k < count; k += most) {
			size_t n = count - k < most ? count - k : most;
			put_data(part, x->dtype, data, k, n);
			put(what, part, n * dtypes[x->dtype].bytes);
		}
	}
}

/* Put the digest of all into the head. */
static void seal(teller *t)
{
	char hex[DIGITS + 1];
	size_t at = find_digits(t->head, t->head_size);
	assert(at);
	berth_sha256_told_hex(tell, t, hex);
	memcpy(t->head + at, hex, DIGITS);
}

static void put_bytes(void *what, const void *data, size_t size)
{
	unsigned char **at = what;
	memcpy(*at, data, size);
	*at += size;
}

berth_status safetensors_encode(const safetensors_file *f, berth_arena *mem, void **data, size_t *size,
                                berth_err *err)
{
	teller t;
	BERTH_TRY(new_teller(f, mem, &t, err));
	unsigned char *bytes = berth_arena_alloc(mem, t.head_size + t.data_size, 1), *at = bytes;
	BERTH_TRY(berth_got(bytes, err));
	seal(&t);
	tell(&t, put_bytes, &at);
	*data = bytes;
	*size = t.head_size + t.data_size;
	return BERTH_OK;
}

/* Bytes on their way to a file, in large writes. */
typedef struct sink {
	int fd, failed; /* -1: errno says why */
	size_t n;
	unsigned char wait[1 << 16];
} sink;

static void flush(sink *s)
{
	if (!s->failed && s->n)
		s->failed = berth_file_write_all(s->fd, s->wait, s->n);
	s->n = 0;
}

static void put_file(void *what, const void *data, size_t size)
{
	sink *s = what;
	if (s->n + size > sizeof s->wait)
		flush(s);
	if (size > sizeof s->wait && !s->failed)
		s->failed = berth_file_write_all(s->fd, data, size);
	if (size > sizeof s->wait)
		return;
	memcpy(s->wait + s->n, data, size);
	s->n += size;
}

static int tell_file(void *ctx, int fd)
{
	sink s = {.fd = fd};
	tell(ctx, put_file, &s);
	flush(&s);
	return s.failed;
}

berth_status safetensors_write(const char *path, const safetensors_file *f, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	teller t;
	BERTH_TRY(new_teller(f, tmp, &t, err));
	seal(&t);
	return berth_file_write_told(path, tell_file, &t, true, err);
}

/* ---- reading ---- */

/* A whole number in [0, 2^53]. */
static berth_status get_whole(const berth_json *at, size_t *out, berth_err *err)
{
	double x = cJSON_IsNumber(at->item) ? at->item->valuedouble : -1;
	if (!(x >= 0 && x <= 0x1p53) || x != floor(x))
		return berth_json_fail(at, err, "expected a whole number from 0 to 2^53");
	*out = (size_t)x;
	return BERTH_OK;
}

static berth_status get_dtype(const berth_json *at, safetensors_dtype *out, berth_err *err)
{
	const char *name = "";
	BERTH_TRY(berth_json_string(at, "dtype", true, &name, err));
	for (int i = 0; i < N_DTYPES; i++) {
		if (strcmp(name, dtypes[i].name) == 0) {
			*out = (safetensors_dtype)i;
			return BERTH_OK;
		}
	}
	berth_json where = berth_json_get(at, "dtype");
	return berth_json_fail(&where, err, "dtype '%.20s' is not read here; expected F32, I64 or U8", name);
}

static berth_status get_dim(void *tensor, const berth_json *dim, berth_err *err)
{
	safetensors_tensor *t = tensor;
	size_t n = 0;
	if (t->n_dims == SAFETENSORS_MAX_DIMS)
		return berth_json_fail(dim->up, err, "more than %d dimensions", SAFETENSORS_MAX_DIMS);
	BERTH_TRY(get_whole(dim, &n, err));
	t->shape[t->n_dims++] = (int64_t)n;
	return BERTH_OK;
}

static berth_status get_offset(void *offset, const berth_json *item, berth_err *err)
{
	return get_whole(item, (size_t *)offset + item->index, err);
}

/* Bytes of a tensor within the data. */
typedef struct span {
	size_t begin, end;
	int32_t tensor;
} span;

static berth_status get_tensor(const berth_json *at, const unsigned char *data, size_t data_size,
                               berth_arena *mem, safetensors_tensor *out, span *where, berth_err *err)
{
	static const char *const known[] = {"dtype", "shape", "data_offsets", NULL};
	safetensors_tensor t = {0};
	size_t count = 0, offset[2] = {0, 0};
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(get_dtype(at, &t.dtype, err));
	/* Fails where the product of the shape exceeds data_size. */
	berth_json shape;
	bool empty = false;
	BERTH_TRY(berth_json_array(at, "shape", true, &shape, err));
	BERTH_TRY(berth_json_each(&shape, get_dim, &t, err));
	for (int32_t i = 0; i < t.n_dims; i++)
		empty = empty || t.shape[i] == 0;
	count = empty ? 0 : 1;
	for (int32_t i = 0; i < t.n_dims && !empty; i++) {
		if ((size_t)t.shape[i] > data_size / count)
			return berth_json_fail(&shape, err, "more elements than the file has bytes");
		count *= (size_t)t.shape[i];
	}
	berth_json pair;
	BERTH_TRY(berth_json_array(at, "data_offsets", true, &pair, err));
	if (berth_json_count(&pair) != 2)
		return berth_json_fail(&pair, err, "expected two offsets, begin and end");
	BERTH_TRY(berth_json_each(&pair, get_offset, offset, err));
	if (offset[0] > offset[1] || offset[1] > data_size)
		return berth_json_fail(&pair, err, "%zu to %zu is no range of the %zu bytes of data",
		                       offset[0], offset[1], data_size);
	size_t bytes = dtypes[t.dtype].bytes;
	if (count > data_size / bytes || offset[1] - offset[0] != count * bytes)
		return berth_json_fail(at, err, "%zu bytes of data for %zu elements of %zu bytes",
		                       offset[1] - offset[0], count, bytes);
	void *numbers = berth_arena_alloc(mem, count, bytes);
	t.name = berth_arena_strdup(mem, at->item->string);
	if (!numbers || !t.name)
		return berth_nomem(err);
	get_data(data + offset[0], t.dtype, count, numbers);
	t.data = numbers;
	*out = t;
	where->begin = offset[0];
	where->end = offset[1];
	return BERTH_OK;
}

static int by_place(const void *a, const void *b)
{
	const span *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return BERTH_COMPARE(x->tensor, y->tensor);
}

/* The spans cover the data, once. */
static berth_status check_cover(const berth_json *doc, int32_t n, span spans[],
                                const safetensors_tensor tensor[], size_t data_size, berth_err *err)
{
	size_t end = 0;
	qsort(spans, (size_t)n, sizeof *spans, by_place);
	for (int32_t i = 0; i < n; i++) {
		if (spans[i].begin != end)
			return berth_json_fail(doc, err,
			                       "the data of tensor '%.60s' begins at %zu; expected %zu, "
			                       "where the one before ends",
			                       tensor[spans[i].tensor].name, spans[i].begin, end);
		end = spans[i].end;
	}
	if (end != data_size)
		return berth_json_fail(doc, err, "the tensors end at %zu, but there are %zu bytes of data",
		                       end, data_size);
	return BERTH_OK;
}

/* What is read of a document. */
typedef struct reading {
	const unsigned char *data;
	size_t data_size;
	berth_arena *mem;
	safetensors_tensor *tensor;
	span *spans;
	safetensors_note *note;
	berth_strmap tensors;   /* names */
	berth_name_index notes; /* keys of note[] */
	int32_t n_tensors, n_notes, n_meta;
} reading;

static const char *note_key(const void *ctx, int32_t i)
{
	return ((const reading *)ctx)->note[i].key;
}

static berth_status get_note(void *ctx, const berth_json *at, berth_err *err)
{
	reading *r = ctx;
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected a string");
	char *key = berth_arena_strdup(r->mem, at->key),
	     *value = berth_arena_strdup(r->mem, at->item->valuestring);
	if (!key || !value)
		return berth_nomem(err);
	if (berth_name_index_get(&r->notes, key) >= 0)
		return berth_json_fail(at, err, "key '%.60s' stands twice", key);
	r->note[r->n_notes++] = (safetensors_note){key, value};
	return berth_name_index_add(&r->notes, NULL, err);
}

/* The digest was looked at; it is no note to those who read the file. */
static bool drop_digest(reading *r)
{
	int32_t i = berth_name_index_get(&r->notes, "sha256");
	if (i < 0)
		return false;
	r->n_notes--;
	memmove(&r->note[i], &r->note[i + 1], (size_t)(r->n_notes - i) * sizeof *r->note);
	berth_name_index_drop(&r->notes);
	return true;
}

static berth_status get_member(void *ctx, const berth_json *at, berth_err *err)
{
	reading *r = ctx;
	int32_t n = r->n_tensors, found;
	if (strcmp(at->key, "__metadata__") == 0) {
		if (!cJSON_IsObject(at->item))
			return berth_json_fail(at, err, "expected an object of texts");
		if (r->n_meta++)
			return berth_json_fail(at, err, "key '__metadata__' stands twice");
		berth_name_index_init(&r->notes, r->mem, note_key, r);
		BERTH_TRY_NEW(r->mem, berth_json_count(at), err, r->note);
		BERTH_TRY(berth_json_each(at, get_note, r, err));
		return drop_digest(r) ? BERTH_OK : berth_json_fail(at, err, "key 'sha256' is missing");
	}
	BERTH_TRY(get_tensor(at, r->data, r->data_size, r->mem, &r->tensor[n], &r->spans[n], err));
	r->spans[n].tensor = n;
	BERTH_TRY(berth_strmap_add(&r->tensors, r->tensor[n].name, n, &found, err));
	if (found != n)
		return berth_json_fail(at, err, "tensor '%.60s' stands twice", r->tensor[n].name);
	r->n_tensors++;
	return BERTH_OK;
}

static berth_status get_document(const berth_json *doc, const unsigned char *data, size_t data_size,
                                 berth_arena *mem, safetensors_file *out, berth_err *err)
{
	reading r = {.data = data, .data_size = data_size, .mem = mem};
	int32_t members = berth_json_count(doc);
	berth_strmap_init(&r.tensors, mem);
	BERTH_TRY_NEW(mem, members, err, r.tensor, r.spans);
	BERTH_TRY(berth_json_each(doc, get_member, &r, err));
	if (!r.n_meta)
		return berth_json_fail(doc, err, "key '__metadata__' is missing");
	BERTH_TRY(check_cover(doc, r.n_tensors, r.spans, r.tensor, data_size, err));
	*out = (safetensors_file){
		.tensor = r.tensor, .n_tensors = r.n_tensors, .note = r.note, .n_notes = r.n_notes};
	return BERTH_OK;
}

berth_status safetensors_decode(const char *file, const void *data, size_t size, berth_arena *mem,
                                safetensors_file *out, berth_err *err)
{
	const unsigned char *bytes = data;
	uint64_t len = size >= LENGTH_BYTES ? berth_file_little(bytes, LENGTH_BYTES) : 0;
	if (size < LENGTH_BYTES || len > size - LENGTH_BYTES || len > SAFETENSORS_MAX_HEADER || len < 2 ||
	    bytes[LENGTH_BYTES] != '{')
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: not a safetensors file, or cut short: no JSON header at its start",
		                  file);
	berth_arena_mark mark = berth_arena_get_mark(mem);
	size_t at = find_digits(bytes, size);
	if (!at)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: the metadata has no \"sha256\" of 64 digits; expected a checkpoint "
		                  "written by berth",
		                  file);
	unsigned char *copy = berth_arena_alloc(mem, size, 1);
	BERTH_TRY(berth_got(copy, err));
	memcpy(copy, bytes, size);
	safetensors_seal(copy, size);
	bool same = memcmp(copy + at, bytes + at, DIGITS) == 0;
	berth_arena_reset(mem, mark);
	if (!same)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: the SHA-256 does not match: the file is damaged or was changed", file);
	BERTH_JSON_DOC(doc);
	BERTH_TRY(berth_json_open_doc(file, (const char *)bytes + LENGTH_BYTES, (size_t)len, &doc, err));
	return get_document(&doc, bytes + LENGTH_BYTES + len, size - LENGTH_BYTES - (size_t)len, mem, out,
	                    err);
}
