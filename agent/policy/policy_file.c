/* Writes a policy as a safetensors file with its card, and reads one back with a check of every size. The
 * policy that comes with berth is read the same way. */
#include "policy_file.h"

#include "encode.h"
#include "file.h"
#include "sha256.h"

#include <errno.h>

#define DIM_FIELDS(X) X(node_in) X(edge_in) X(dev_in) X(pair_in) X(link_in) X(step_in)
enum { MAX_NOTES = 64 };

/* ---- writing ---- */

typedef struct notes {
	safetensors_note list[MAX_NOTES];
	int32_t n;
	berth_arena *mem;
	bool failed;
} notes;

static void put_text(notes *n, const char *key, const char *value)
{
	n->list[n->n++] = (safetensors_note){key, value ? value : ""};
}

static void put_number(notes *n, const char *key, double x)
{
	char buf[32];
	char *copy = berth_arena_strdup(n->mem, berth_text_double(buf, x));
	n->failed |= !copy;
	put_text(n, key, copy);
}

static void put_whole(notes *n, const char *key, unsigned long long x)
{
	char *text = berth_arena_printf(n->mem, "%llu", x);
	n->failed |= !text;
	put_text(n, key, text);
}

static void put_notes(const berth_policy_file *f, notes *n)
{
	put_text(n, "format", "berth-policy");
	put_whole(n, "version", BERTH_POLICY_VERSION);
	put_text(n, "objective", berth_objective_name(&f->objective));
	if (f->each_objective)
		put_whole(n, "each_objective", 1);
	put_whole(n, "seed", f->seed);
	put_whole(n, "evaluations", (unsigned long long)f->evaluations);
	put_whole(n, "steps", (unsigned long long)f->steps);
	put_text(n, "trained_on", f->trained_on);
	if (f->at_once > 0 && f->at_once != BERTH_TRAINED_AT_ONCE)
		put_whole(n, "at_once", (unsigned long long)f->at_once);
	if (f->teach > 0)
		put_whole(n, "teach", (unsigned long long)f->teach);
#define X(type, field, note, initial, least, most) put_number(n, note, (double)f->cfg.field);
#define Y(type, field, note, initial, least, most)
	BERTH_LEARNER_CFG(X, Y)
#undef X
#undef Y
#define X(field) put_number(n, "dims." #field, f->dims.field);
	DIM_FIELDS(X)
#undef X
	if (f->card) {
		berth_json_out w;
		const char *text = NULL;
		berth_json_out_init(&w, n->mem, false);
		berth_policy_card_put(&w, NULL, f->card);
		n->failed |= berth_json_done(&w, &text, NULL, NULL) != BERTH_OK;
		put_text(n, "card", text);
	}
}

static void tell_known(void *ctx, berth_sha256_put *put, void *what)
{
	const berth_policy_file *f = ctx;
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor was = policy_tensor_at(&f->known, i), now = policy_tensor_at(&f->dims, i);
		size_t rows = (size_t)now.rows * (size_t)now.columns,
		       known = (size_t)was.rows * (size_t)was.columns;
		for (int32_t copy = 0; copy < now.copies; copy++)
			put(what, f->params + now.offset + (size_t)copy * rows, known * sizeof *f->params);
	}
}

void berth_policy_file_digest(const berth_policy_file *f, char digest[65])
{
	berth_policy_file all = *f;
	if (all.known.hidden == 0)
		all.known = all.dims;
	berth_sha256_told_hex(tell_known, &all, digest);
}

/* Tensors behind those of the policy. */
typedef struct further {
	const void *(*get)(void *ctx, int32_t i);
	void *ctx;
	int32_t n_before;
} further;

static const void *get_further(void *ctx, int32_t i)
{
	const further *x = ctx;
	return x->get(x->ctx, i - x->n_before);
}

/* What stands before the names of the weights that a policy was tuned from. */
#define BASE "base."

/* The weights behind those of t; *n counts all. */
static berth_status put_weights(const policy_dims *dims, const char *before, const nn_real *params,
                                berth_arena *mem, safetensors_tensor *t, int32_t *n, berth_err *err)
{
	for (int32_t i = 0; params && i < policy_tensor_count(); i++) {
		policy_tensor p = policy_tensor_at(dims, i);
		const char *name = berth_arena_printf(mem, "%s%s", before, p.name);
		BERTH_TRY(berth_got(name, err));
		t[(*n)++] = (safetensors_tensor){
			name, SAFETENSORS_F32, 3, {p.copies, p.rows, p.columns}, params + p.offset};
	}
	return BERTH_OK;
}

berth_status berth_policy_file_write(const char *path, const berth_policy_file *f,
                                     const safetensors_file *more, berth_arena *tmp, berth_err *err)
{
	int32_t n_more = more ? more->n_tensors : 0;
	further x = {more ? more->get : NULL, more ? more->ctx : NULL, 0};
	BERTH_SCRATCH(tmp);
	notes n = {.mem = tmp};
	int32_t n_params = 0;
	safetensors_tensor *t;
	BERTH_TRY_NEW(tmp, 2 * policy_tensor_count() + n_more, err, t);
	BERTH_TRY(put_weights(&f->dims, "", f->params, tmp, t, &n_params, err));
	BERTH_TRY(put_weights(&f->dims, BASE, f->base, tmp, t, &n_params, err));
	x.n_before = n_params;
	for (int32_t i = 0; i < n_more; i++)
		t[n_params + i] = more->tensor[i];
	put_notes(f, &n);
	safetensors_file raw = {n_params + n_more, n.n, t, n.list, get_further, &x};
	return n.failed ? berth_nomem(err) : safetensors_write(path, &raw, tmp, err);
}

/* ---- reading ---- */

static berth_status note_text(const char *file, const safetensors_file *raw, const char *key,
                              const char **out, berth_err *err)
{
	*out = safetensors_get_note(raw, key);
	return *out ? BERTH_OK
	            : berth_fail(err, BERTH_EFORMAT, "%s: not a policy of berth: the note '%s' is missing",
	                         file, key);
}

static berth_status note_number(const char *file, const safetensors_file *raw, const char *key, double *out,
                                berth_err *err)
{
	const char *text, *end;
	BERTH_TRY(note_text(file, raw, key, &text, err));
	*out = berth_text_number(text, &end);
	if (end == text || *end || !isfinite(*out))
		return berth_fail(err, BERTH_EFORMAT, "%s: the note '%s' is '%.40s', expected a number", file,
		                  key, text);
	return BERTH_OK;
}

static berth_status note_whole(const char *file, const safetensors_file *raw, const char *key, uint64_t *out,
                               berth_err *err)
{
	const char *text;
	BERTH_TRY(note_text(file, raw, key, &text, err));
	if (!berth_text_whole(text, strlen(text), UINT64_MAX, out))
		return berth_fail(err, BERTH_EFORMAT, "%s: the note '%s' is '%.40s', expected a whole number",
		                  file, key, text);
	return BERTH_OK;
}

static berth_status note_setting(const char *file, const safetensors_file *raw, const char *key,
                                 const char *field, double least, double most, double *out, berth_err *err)
{
	BERTH_TRY(note_number(file, raw, key, out, err));
	return berth_learner_cfg_range(field, *out, least, most, err) == BERTH_OK
	               ? BERTH_OK
	               : berth_fail_in(err, BERTH_EFORMAT, "%s: ", file);
}

static berth_status read_teach(const char *file, const safetensors_file *raw, int64_t *out, berth_err *err)
{
	uint64_t x = 0;
	if (safetensors_get_note(raw, "teach"))
		BERTH_TRY(note_whole(file, raw, "teach", &x, err));
	*out = (int64_t)(x & INT64_MAX);
	return BERTH_OK;
}

static berth_status read_each_objective(const char *file, const safetensors_file *raw, bool *out,
                                        berth_err *err)
{
	double x = 0;
	if (safetensors_get_note(raw, "each_objective"))
		BERTH_TRY(note_setting(file, raw, "each_objective", "each_objective", 0, 1, &x, err));
	*out = x == 1;
	if (x != 0 && x != 1)
		return berth_fail(err, BERTH_EFORMAT, "%s: each_objective is %g, not 0 or 1", file, x);
	return BERTH_OK;
}

/* The features that it was trained with, which may be fewer than there are today: further ones come last. */
static berth_status read_dims(const char *file, const safetensors_file *raw, const policy_dims *now,
                              policy_dims *out, berth_err *err)
{
	double x;
	*out = *now;
#define X(field)                                                                                             \
	BERTH_TRY(note_number(file, raw, "dims." #field, &x, err));                                          \
	if (!(x >= 1 && x <= now->field && x == floor(x)))                                                   \
		return berth_fail(err, BERTH_EFORMAT,                                                        \
		                  "%s: a policy over %g features of kind %s; this berth has %d: "      \
		                  "train it again",                                                    \
		                  file, x, #field, now->field);                                              \
	out->field = (int32_t)x;
	DIM_FIELDS(X)
#undef X
	return BERTH_OK;
}

static berth_status read_config(const char *file, const safetensors_file *raw, berth_policy_file *f,
                                berth_err *err)
{
	double x;
#define X(type, field, note, initial, least, most)                                           \
	BERTH_TRY(note_setting(file, raw, note, #field, least, most, &x, err));              \
	f->cfg.field = (type)x;                                                              \
	if ((double)f->cfg.field != x)                                                       \
		return berth_fail(err, BERTH_EFORMAT, "%s: %s is %g; expected a whole number", file, #field, \
		                  x);
#define Y(type, field, note, initial, least, most)
	BERTH_LEARNER_CFG(X, Y)
#undef X
#undef Y
	f->dims = berth_encode_dims(f->cfg.hidden, f->cfg.rounds);
	return read_dims(file, raw, &f->dims, &f->known, err);
}

/* Where the k-th weight of a tensor stands in one of more rows. */
static size_t place_of(const policy_tensor *was, const policy_tensor *now, size_t k)
{
	size_t copy = (size_t)was->rows * (size_t)was->columns;
	return k / copy * ((size_t)now->rows * (size_t)now->columns) + k % copy;
}

/* Weights of features that the file does not know are 0. */
static berth_status read_params(const char *file, const safetensors_file *raw, const berth_policy_file *f,
                                const char *before, berth_arena *mem, const nn_real **out, berth_err *err)
{
	nn_real *params;
	char name[64];
	BERTH_TRY_NEW(mem, policy_param_count(&f->dims), err, params);
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor p = policy_tensor_at(&f->known, i), now = policy_tensor_at(&f->dims, i);
		snprintf(name, sizeof name, "%s%s", before, p.name);
		const safetensors_tensor *t = safetensors_find(raw, name);
		if (!t)
			return berth_fail(err, BERTH_EFORMAT, "%s: the tensor '%s' is missing", file, name);
		if (t->dtype != SAFETENSORS_F32 || t->n_dims != 3 || t->shape[0] != p.copies ||
		    t->shape[1] != p.rows || t->shape[2] != p.columns)
			return berth_fail(err, BERTH_EFORMAT,
			                  "%s: the tensor '%s' is not float32 [%d, %d, %d]", file, name,
			                  p.copies, p.rows, p.columns);
		const float *x = t->data;
		for (size_t k = 0; k < p.size; k++) {
			if (!isfinite(x[k]))
				return berth_fail(err, BERTH_EFORMAT,
				                  "%s: the tensor '%s' holds a number that is not finite",
				                  file, name);
			params[now.offset + place_of(&p, &now, k)] = x[k];
		}
	}
	*out = params;
	return BERTH_OK;
}

static berth_status read_card(const char *file, berth_policy_file *f, berth_arena *mem, berth_err *err)
{
	const char *text = safetensors_get_note(&f->raw, "card");
	berth_policy_card *card;
	if (!text)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, 1, err, card);
	BERTH_TRY(berth_policy_card_read(file, text, mem, card, err));
	f->card = card;
	return BERTH_OK;
}

const char *berth_policy_file_objective(const berth_policy_file *f)
{
	return f->each_objective ? "latency, throughput, energy and edp"
	                         : berth_objective_name(&f->objective);
}

static berth_status understand(const char *file, berth_policy_file *f, berth_arena *mem, berth_err *err)
{
	const safetensors_file *raw = &f->raw;
	const char *format, *objective;
	uint64_t version, evaluations, steps;
	BERTH_TRY(note_text(file, raw, "format", &format, err));
	if (strcmp(format, "berth-policy") != 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: the format is '%.40s', expected 'berth-policy'",
		                  file, format);
	BERTH_TRY(note_whole(file, raw, "version", &version, err));
	if (version != BERTH_POLICY_VERSION)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: version %llu of berth-policy is not known here; this berth reads version %d",
			file, (unsigned long long)version, BERTH_POLICY_VERSION);
	BERTH_TRY(note_text(file, raw, "objective", &objective, err));
	if (berth_objective_parse(objective, &f->objective, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EFORMAT, "%s: ", file);
	BERTH_TRY(note_whole(file, raw, "seed", &f->seed, err));
	BERTH_TRY(note_whole(file, raw, "evaluations", &evaluations, err));
	BERTH_TRY(note_whole(file, raw, "steps", &steps, err));
	BERTH_TRY(note_text(file, raw, "trained_on", &f->trained_on, err));
	double x = BERTH_TRAINED_AT_ONCE;
	if (safetensors_get_note(raw, "at_once"))
		BERTH_TRY(note_setting(file, raw, "at_once", "at_once", 1, BERTH_MOST_AT_ONCE, &x, err));
	f->at_once = (int32_t)x;
	BERTH_TRY(read_teach(file, raw, &f->teach, err));
	BERTH_TRY(read_each_objective(file, raw, &f->each_objective, err));
	f->evaluations = (int64_t)(evaluations & INT64_MAX);
	f->steps = (int64_t)(steps & INT64_MAX);
	BERTH_TRY(read_config(file, raw, f, err));
	BERTH_TRY(read_card(file, f, mem, err));
	BERTH_TRY(read_params(file, raw, f, "", mem, &f->params, err));
	return safetensors_find(raw, BASE "node_w1") ? read_params(file, raw, f, BASE, mem, &f->base, err)
	                                             : BERTH_OK;
}

berth_status berth_policy_file_decode(const char *file, const void *data, size_t size, berth_arena *mem,
                                      berth_policy_file *out, berth_err *err)
{
	berth_policy_file f = {.cfg = berth_learner_cfg_default()};
	BERTH_TRY(safetensors_decode(file, data, size, mem, &f.raw, err));
	BERTH_TRY(understand(file, &f, mem, err));
	*out = f;
	return BERTH_OK;
}

berth_status berth_policy_file_read(const char *path, berth_arena *mem, berth_policy_file *out,
                                    berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(berth_file_take(BERTH_READS_POLICY, path, &data, &size, err));
	berth_status st = berth_policy_file_decode(path, data ? (const void *)data : "", size, mem, out, err);
	berth_file_unmap(data, size);
	return st;
}

/* ---- the policy that comes with berth ---- */

berth_status berth_policy_builtin(berth_arena *mem, berth_policy_file *out, berth_err *err)
{
	return berth_policy_file_decode("the built-in policy", berth_policy_zero_shot,
	                                berth_policy_zero_shot_size, mem, out, err);
}

berth_status berth_policy_builtin_is(const char *digest, berth_arena *tmp, bool *yes, berth_err *err)
{
	berth_policy_file f;
	char own[65];
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_policy_builtin(tmp, &f, err));
	berth_policy_file_digest(&f, own);
	*yes = strcmp(own, digest) == 0;
	return BERTH_OK;
}
