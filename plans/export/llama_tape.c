/* How much memory ggml's graph allocator takes for the tensors of one device: its rule, run over a tape of
 * steps with a list of free blocks. */
#include "llama_tape.h"

enum { ALIGN = 128 };

struct llama_tape {
	berth_arena *mem;
	llama_step *step;
	int32_t n;
	size_t cap;
};

llama_tape *llama_tape_new(berth_arena *mem)
{
	llama_tape *t = berth_arena_alloc(mem, 1, sizeof *t);
	if (t)
		t->mem = mem;
	return t;
}

berth_status llama_tape_add(llama_tape *t, llama_step step, int32_t *index, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(t->mem, t->step, t->n, &t->cap, err));
	*index = t->n;
	t->step[t->n++] = step;
	return BERTH_OK;
}

/* Free blocks by address; the last one is the open end. */
typedef struct block {
	int64_t at, size;
} block;

typedef struct running {
	const llama_tape *t;
	block *free; /* [n_free], room for steps + 1 */
	int32_t n_free;
	int64_t *at;   /* [steps] -1: it holds nothing */
	int32_t *uses; /* [steps] that are still to come */
	int64_t top;
} running;

static int64_t aligned(int64_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t take(running *r, int64_t bytes)
{
	int32_t best = r->n_free - 1;
	int64_t size = aligned(bytes);
	for (int32_t i = 0; i < r->n_free - 1; i++)
		if (r->free[i].size >= size &&
		    (best == r->n_free - 1 || r->free[i].size <= r->free[best].size))
			best = i;
	int64_t at = r->free[best].at;
	r->free[best].at += size;
	r->free[best].size -= size;
	if (best < r->n_free - 1 && r->free[best].size == 0)
		memmove(&r->free[best], &r->free[best + 1], (size_t)(--r->n_free - best) * sizeof *r->free);
	if (at + size > r->top)
		r->top = at + size;
	return at;
}

static void give(running *r, int64_t at, int64_t bytes)
{
	int32_t i = 0;
	int64_t size = aligned(bytes);
	while (i < r->n_free && r->free[i].at < at)
		i++;
	bool before = i > 0 && r->free[i - 1].at + r->free[i - 1].size == at;
	bool behind = i < r->n_free && at + size == r->free[i].at;
	if (before && behind) {
		r->free[i - 1].size += size + r->free[i].size;
		memmove(&r->free[i], &r->free[i + 1], (size_t)(--r->n_free - i) * sizeof *r->free);
	} else if (before) {
		r->free[i - 1].size += size;
	} else if (behind) {
		r->free[i].at = at;
		r->free[i].size += size;
	} else {
		memmove(&r->free[i + 1], &r->free[i], (size_t)(r->n_free++ - i) * sizeof *r->free);
		r->free[i] = (block){at, size};
	}
}

static void put(running *r, int32_t i)
{
	const llama_step *s = &r->t->step[i];
	for (int k = 0; s->in_place && k < LLAMA_TAPE_ARGS && r->at[i] < 0; k++)
		if ((s->arg[k] >= 0 && r->at[s->arg[k]] >= 0 && r->uses[s->arg[k]] == 1 &&
		     !r->t->step[s->arg[k]].kept && r->t->step[s->arg[k]].bytes == s->bytes)) {
			r->at[i] = r->at[s->arg[k]];
			r->at[s->arg[k]] = -1;
		}
	if (r->at[i] < 0 && s->bytes > 0)
		r->at[i] = take(r, s->bytes);
}

static berth_status run(running *r, berth_arena *tmp, berth_err *err)
{
	const llama_tape *t = r->t;
	BERTH_TRY_NEW(tmp, t->n + 2, err, r->free);
	BERTH_TRY_NEW(tmp, t->n, err, r->at, r->uses);
	r->free[0] = (block){0, INT64_MAX / 2};
	r->n_free = 1;
	for (int32_t i = 0; i < t->n; i++) {
		r->at[i] = -1;
		for (int k = 0; k < LLAMA_TAPE_ARGS; k++)
			if (t->step[i].arg[k] >= 0)
				r->uses[t->step[i].arg[k]]++;
	}
	for (int32_t i = 0; i < t->n; i++)
		if (t->step[i].first)
			put(r, i);
	for (int32_t i = 0; i < t->n; i++) {
		if (!t->step[i].first)
			put(r, i);
		for (int k = 0; k < LLAMA_TAPE_ARGS; k++) {
			int32_t a = r->t->step[i].arg[k];
			if (a < 0 || --r->uses[a] > 0 || r->at[a] < 0 || r->t->step[a].kept)
				continue;
			give(r, r->at[a], r->t->step[a].bytes);
			r->at[a] = -1;
		}
	}
	return BERTH_OK;
}

berth_status llama_tape_bytes(const llama_tape *t, berth_arena *tmp, int64_t *bytes, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	running r = {.t = t};
	berth_status st = run(&r, tmp, err);
	*bytes = r.top;
	return st;
}
