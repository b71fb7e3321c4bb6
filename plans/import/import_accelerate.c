/* Importer "accelerate": a device_map of accelerate and transformers, {module: device}. An operator is held
 * by the module with the longest name that its own begins with, up to a dot; "" holds everything. */
#include "import_reading.h"

#include "hf.h"

static berth_status is(const char *text, size_t size, bool *found, berth_err *err)
{
	import_map_kind kind;
	BERTH_TRY(import_map_look(text, size, &kind, err));
	*found = kind == IMPORT_TORCH_MAP;
	return BERTH_OK;
}

enum {
	DEPTH = 64,       /* modules around an operator that are looked at */
	MAY_BE_EMPTY = 64 /* modules without an operator, at most */
};

typedef struct named_module {
	const char *name;
	int32_t word;
	bool used; /* an operator is in it */
} named_module;

typedef struct modules {
	berth_import *m;
	berth_arena *tmp;
	berth_strmap index;
	named_module *item; /* [n] */
	int32_t n;
	size_t cap;
} modules;

static berth_status keep(void *ctx, const char *name, int32_t word, berth_err *err)
{
	modules *x = ctx;
	int32_t found;
	const char *copy = berth_arena_strdup(x->tmp, name);
	int64_t most = (int64_t)(DEPTH + 1) * x->m->x->g->n_ops + MAY_BE_EMPTY;
	if (x->n == most) /* then one of them holds nothing */
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: more than %lld modules; graph '%.60s' has %d operators to hold",
		                  x->m->x->file, (long long)most, x->m->x->g->name, x->m->x->g->n_ops);
	BERTH_TRY(berth_got(copy, err));
	BERTH_TRY(BERTH_GROW(x->tmp, x->item, x->n, &x->cap, err));
	x->item[x->n] = (named_module){copy, word, false};
	BERTH_TRY(berth_strmap_add(&x->index, copy, x->n, &found, err));
	if (found != x->n)
		return berth_fail(err, BERTH_EFORMAT, "%s: module '%.100s' is there twice", x->m->x->file,
		                  name);
	x->n++;
	return BERTH_OK;
}

/* The longest module that holds the operator, and a mark at each that does. */
static berth_status place_op(modules *x, int32_t op, berth_err *err)
{
	BERTH_SCRATCH(x->tmp);
	char *name = berth_arena_strdup(x->tmp, x->m->x->g->op_name[op]);
	int32_t word = -1;
	size_t n = 0;
	BERTH_TRY(berth_got(name, err));
	for (int depth = 0, last = 0; depth <= DEPTH && !last; depth++) {
		char c = name[n];
		last = depth > 0 && c == '\0';
		name[n] = '\0';
		int32_t at = berth_strmap_get(&x->index, name);
		name[n] = c;
		if (at >= 0) {
			word = x->item[at].word;
			x->item[at].used = true;
		}
		n += c == '.';
		n += strcspn(name + n, ".");
	}
	return word < 0 ? BERTH_OK : berth_import_tell(x->m, op, word, err);
}

/* Modules without an operator of their own: without parameters, or with those of another module. */
static bool may_be_empty(const char *module)
{
	for (const decoder_arch *a = hf_archs; a->name; a++) {
		const decoder_style *s = a->style;
		const char *known[] = {s->rotary, s->position, s->names.output, s->names.output_norm};
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			if (known[i] && strcmp(known[i], module) == 0)
				return true;
	}
	return false;
}

static berth_status read(berth_import *m, berth_arena *tmp, berth_err *err)
{
	modules x = {.m = m, .tmp = tmp};
	berth_strmap_init(&x.index, tmp);
	BERTH_TRY(import_map_each(m, keep, &x, err));
	for (int32_t op = 0; op < m->x->g->n_ops; op++)
		BERTH_TRY(place_op(&x, op, err));
	for (int32_t i = 0; i < x.n; i++)
		if (!x.item[i].used && !may_be_empty(x.item[i].name))
			return berth_import_refuse(m, "module", x.item[i].name, err);
	return BERTH_OK;
}

const berth_importer berth_import_accelerate = {
	.name = "accelerate",
	.about = "a device_map (model.hf_device_map)",
	.is = is,
	.read = read,
};
