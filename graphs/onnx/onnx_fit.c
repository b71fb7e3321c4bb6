/* Sizes that a file leaves open, where shapes contradict each other with 1. Which of them is at fault, and
 * what it has to be, is found by decoding the model anew with other sizes. */
#include "onnx_infer.h"

enum {
	MOST_TRIES = 64,
	MOST_SYMBOLS = 24, /* that are looked at */
	MOST_SIZES = 16,   /* that a node's inputs suggest */
	OTHER = 97         /* a size that no model has by itself */
};

typedef struct fitting {
	onnx_model *m;
	onnx_model fresh; /* as it was before anything was decoded */
	const berth_read_options *opt;
	onnx_pass *pass;
	int32_t *n_weights;
	berth_arena_mark mark;
	int tries;
	berth_err err;    /* of the last try */
} fitting;

/* How far a try came. */
typedef struct outcome {
	berth_status st;
	size_t at; /* place of the node that failed; past all nodes: none did */
	char msg[sizeof((berth_err *)0)->msg];
} outcome;

/* Decode with fresh.fits; the model of the try before is gone. Fails: BERTH_ENOMEM. */
static berth_status attempt(fitting *f, outcome *out)
{
	berth_arena_reset(f->m->tmp, f->mark);
	*f->m = f->fresh;
	f->err = (berth_err){0};
	f->m->err = &f->err;
	f->tries++;
	out->st = f->pass(f->m, f->opt, f->n_weights);
	f->m->err = f->fresh.err;
	out->at = f->m->failed ? f->m->failed_at : SIZE_MAX;
	snprintf(out->msg, sizeof out->msg, "%s", f->err.msg);
	return out->st == BERTH_ENOMEM ? berth_nomem(f->fresh.err) : BERTH_OK;
}

static berth_status attempt_with(fitting *f, int32_t symbol, int64_t value, outcome *out)
{
	onnx_fits *fits = &f->fresh.fits;
	fits->symbol[fits->n] = symbol;
	fits->value[fits->n++] = value;
	berth_status st = attempt(f, out);
	fits->n--;
	return st;
}

/* Does the model get past the node that failed? */
static bool passes(const outcome *x, const outcome *base)
{
	return x->st == BERTH_OK || (x->st == BERTH_EFORMAT && x->at > base->at);
}

static bool differs(const outcome *x, const outcome *base)
{
	return passes(x, base) || (x->at == base->at && strcmp(x->msg, base->msg) != 0);
}

/* Sizes that stand at the inputs of the node that failed. */
static int suggested(const onnx_model *m, int64_t size[MOST_SIZES])
{
	const onnx_node *n = m->failed;
	int64_t groups = onnx_attr_int(n, "group", 1);
	int count = 0;
	for (int32_t k = 0; k < n->n_in; k++) {
		const onnx_value *v = n->in[k] >= 0 ? &m->value[n->in[k]] : NULL;
		for (int32_t d = 0; v && d < v->rank && count < MOST_SIZES; d++) {
			int64_t x = d == 1 && groups > 0 ? onnx_mul(v->dim[d], groups) : v->dim[d];
			int same = 0;
			while (same < count && size[same] != x)
				same++;
			if (x > 1 && x <= INT32_MAX && same == count)
				size[count++] = x;
		}
	}
	return count;
}

/* The one size of the symbol that gets past the node, *value; 0: there is none, or more than one. */
static berth_status find_size(fitting *f, const outcome *base, int32_t symbol, const int64_t size[], int n,
                              int64_t *value)
{
	outcome x = {0}, next = {0}, twice = {0};
	*value = 0;
	for (int i = 0; i < n && !*value && f->tries < MOST_TRIES - 3; i++) {
		BERTH_TRY(attempt_with(f, symbol, size[i], &x));
		if (!passes(&x, base))
			continue;
		BERTH_TRY(attempt_with(f, symbol, size[i] + 1, &next));
		BERTH_TRY(attempt_with(f, symbol, 2 * size[i], &twice));
		if (passes(&next, base) || passes(&twice, base))
			return BERTH_OK;
		*value = size[i];
	}
	return BERTH_OK;
}

/* A symbol whose value changes what fails. */
typedef struct fault {
	int32_t symbol;
	bool stated; /* by an option */
	bool many;   /* OTHER fits as well */
} fault;

static void list_symbols(const onnx_model *m, onnx_how how, fault look[MOST_SYMBOLS], int *n)
{
	for (size_t s = 0; s < m->n_symbols && *n < MOST_SYMBOLS; s++)
		if (m->symbol_of_input[s] && m->symbol_how[s] == how)
			look[(*n)++] = (fault){(int32_t)s, how == ONNX_STATED, false};
}

/* The message of the last try, with the dimensions that it depends on. */
static berth_status tell(const fitting *f, const fault at[], int n)
{
	const onnx_model *m = f->m;
	berth_err *err = m->err;
	if (!err)
		return f->err.code;
	*err = f->err;
	for (int i = 0; i < n && i < 4; i++) {
		size_t len = strlen(err->msg);
		snprintf(err->msg + len, sizeof err->msg - len, "%s%.40s=%lld", i ? ", " : " (with ",
		         m->symbol[at[i].symbol], (long long)m->symbol_value[at[i].symbol]);
	}
	size_t len = strlen(err->msg);
	if (n)
		snprintf(err->msg + len, sizeof err->msg - len, "; --dim %.40s=N sets %s)",
		         m->symbol[at[0].symbol], n > 1 ? "the first" : "it");
	return err->code;
}

/* Look for one more symbol that only one value fits; *more: there is one. Afterwards the model is decoded as
 * f->fresh.fits says, and *base is how far that came. */
static berth_status fit_one(fitting *f, outcome *base, fault at[MOST_SYMBOLS], int *n, bool *more)
{
	onnx_fits *fits = &f->fresh.fits;
	int64_t size[MOST_SIZES];
	int n_sizes = suggested(f->m, size), ways = 0;
	int32_t symbol = 0;
	int64_t only = 0;
	fault look[MOST_SYMBOLS];
	int n_look = 0;
	*n = 0;
	list_symbols(f->m, ONNX_GUESSED, look, &n_look);
	list_symbols(f->m, ONNX_STATED, look, &n_look);
	for (int i = 0; i < n_look && f->tries < MOST_TRIES - 2; i++) {
		outcome x = {0};
		BERTH_TRY(attempt_with(f, look[i].symbol, OTHER, &x));
		if (!differs(&x, base) && x.at < base->at) /* a node before it takes no OTHER */
			BERTH_TRY(attempt_with(f, look[i].symbol, 2, &x));
		if (!differs(&x, base))
			continue;
		look[i].many = passes(&x, base);
		at[(*n)++] = look[i];
	}
	for (int i = 0; i < *n; i++) {
		int64_t value = 0;
		if (at[i].stated)
			continue;
		if (!at[i].many)
			BERTH_TRY(find_size(f, base, at[i].symbol, size, n_sizes, &value));
		ways += at[i].many || value;
		symbol = value ? at[i].symbol : symbol;
		only = value ? value : only;
	}
	*more = ways == 1 && only && fits->n < ONNX_MOST_FITS - 1;
	if (*more) {
		fits->symbol[fits->n] = symbol;
		fits->value[fits->n++] = only;
	}
	return attempt(f, base);
}

berth_status onnx_fit(onnx_model *m, const berth_read_options *opt, int32_t *n_weights, onnx_pass *pass)
{
	fitting f = {m, *m, opt, pass, n_weights, berth_arena_get_mark(m->tmp), 0, {0}};
	outcome base;
	fault at[MOST_SYMBOLS];
	bool more = true;
	int n = 0;
	BERTH_TRY(attempt(&f, &base));
	while (base.st == BERTH_EFORMAT && m->failed && more) {
		n = 0;
		BERTH_TRY(fit_one(&f, &base, at, &n, &more));
	}
	return base.st == BERTH_OK ? BERTH_OK : tell(&f, at, n);
}
