/* Where llama.cpp puts a model by itself (its option --fit): shares of layers for the devices are tried,
 * weighed by the memory that they would take, and changed until a margin is left on each. */

#include "llama_plan.h"

#define MARGIN ((int64_t)1 << 30)

/* What of a layer may lie elsewhere than the layer. */
typedef enum part { EXPERTS, FFN, FFN_BUT_UP, DOWN } part;

/* A device's layers: the last n_part of n lack a part, the first of those the part `first`. */
typedef struct share {
	int32_t n, n_part;
	part first;
	int32_t rest; /* device that holds what the first one lacks; LLAMA_CPU */
} share;

typedef struct fitting {
	const berth_gguf_list *file;
	const llama_machine *m;
	llama_index ix;
	share *now, *test; /* [n_devs] */
	int64_t *used;     /* [n_devs] of the last trial */
	llama_plan *plan;
	bool known;
	berth_arena *tmp;
	berth_err *err;
} fitting;

/* ---- from shares to a plan ---- */

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_in(part p, const char *rest)
{
	bool gate = starts(rest, "ffn_gate"), up = starts(rest, "ffn_up"), down = starts(rest, "ffn_down");
	return p == EXPERTS ? llama_is_expert(rest)
	       : p == FFN   ? gate || up || down
	       : p == DOWN  ? down
	                    : gate || down;
}

/* Tensors of layer `layer` (-1: of all) that are in p go to dev. */
static void move(const fitting *f, int32_t layer, part p, int32_t dev)
{
	llama_plan *plan = f->plan;
	for (int32_t t = 0; t < f->file->n_tensors; t++) {
		int32_t l = f->ix.layer[t];
		if (l < 0 || l >= f->file->n_layers || (layer >= 0 && l != layer) || !is_in(p, f->ix.rest[t]))
			continue;
		plan->tensor_dev[t] = dev;
		plan->told[t] = dev != plan->unit_dev[l];
	}
}

static void set_shares(fitting *f, const share *s)
{
	llama_plan *plan = f->plan;
	int32_t n = f->file->n_layers, at = n + 1;
	for (int32_t d = 0; d < f->m->n_devs; d++)
		at -= s[d].n;
	for (int32_t i = 0; i <= n; i++)
		plan->unit_dev[i] = LLAMA_CPU;
	for (int32_t d = 0, i = at; d < f->m->n_devs; d++) {
		plan->dev_units[d] = s[d].n;
		for (int32_t k = 0; k < s[d].n; k++)
			plan->unit_dev[i++] = f->m->dev[d];
	}
	llama_plan_follow(plan, f->file, &f->ix);
	for (int32_t d = 0; d < f->m->n_devs; d++) {
		at += s[d].n - s[d].n_part;
		for (int32_t k = 0; k < s[d].n_part; k++, at++)
			if (at < n)
				move(f, at, k ? EXPERTS : s[d].first, k ? LLAMA_CPU : s[d].rest);
	}
}

/* Layers in the ratio of free memory. */
static void set_ratio(fitting *f)
{
	llama_plan *plan = f->plan;
	double all = 0;
	for (int32_t d = 0; d < f->m->n_devs; d++) {
		all += (double)f->m->free_bytes[d];
		plan->dev_units[d] = 0;
	}
	for (int32_t i = 0; i <= f->file->n_layers; i++) {
		double part_of = (double)i / (double)(f->file->n_layers + 1), upto = 0;
		int32_t d = 0;
		for (; d < f->m->n_devs - 1; d++) {
			upto += (double)f->m->free_bytes[d] / all;
			if (part_of < upto)
				break;
		}
		plan->unit_dev[i] = f->m->dev[d];
		plan->dev_units[d]++;
	}
	llama_plan_follow(plan, f->file, &f->ix);
}

/* ---- trials ---- */

static berth_status weigh(fitting *f)
{
	BERTH_SCRATCH(f->tmp);
	llama_memory *memory;
	BERTH_TRY_NEW(f->tmp, f->m->n_devs + 1, f->err, memory);
	BERTH_TRY(llama_memory_of(f->plan, f->file, f->tmp, memory, &f->known, f->err));
	for (int32_t d = 0; d < f->m->n_devs; d++)
		f->used[d] = memory[d].weights + memory[d].cache + memory[d].compute;
	return BERTH_OK;
}

static int64_t target(const fitting *f, int32_t d)
{
	return f->m->free_bytes[d] - MARGIN;
}

static berth_status try_shares(fitting *f, const share *s)
{
	set_shares(f, s);
	return weigh(f);
}

/* How a trial changes the shares: device d with k units more. */
typedef void change(const fitting *f, int32_t d, int32_t k);

/* The most units that leave d its margin, f->now with them. */
static berth_status most(fitting *f, int32_t d, int32_t upto, change *with)
{
	int32_t low = 0, high = upto + 1;
	while (high - low > 1) {
		int32_t k = high == upto + 1 && low == 0 ? upto : low + (high - low) / 2;
		with(f, d, k);
		BERTH_TRY(try_shares(f, f->test));
		if (f->used[d] <= target(f, d))
			low = k;
		else
			high = k;
	}
	with(f, d, low);
	memcpy(f->now, f->test, (size_t)f->m->n_devs * sizeof *f->now);
	return BERTH_OK;
}

static void copy_now(const fitting *f)
{
	memcpy(f->test, f->now, (size_t)f->m->n_devs * sizeof *f->now);
}

/* k of the last units that nobody has; of a mixture without experts. The output is never without a part. */
static void add_last(const fitting *f, int32_t d, int32_t k)
{
	copy_now(f);
	f->test[d].n = k;
	f->test[d].n_part = !f->file->experts ? 0 : d == f->m->n_devs - 1 && k > 0 ? k - 1 : k;
}

/* From d on, the first device with a layer that lacks a part. */
static int32_t first_partial(const fitting *f, const share *s, int32_t d)
{
	while (d < f->m->n_devs - 1 && s[d].n_part == 0)
		d++;
	return d;
}

/* The first k layers without experts become whole ones of d. */
static void make_whole(const fitting *f, int32_t d, int32_t k)
{
	copy_now(f);
	for (int32_t e = d; e < f->m->n_devs && k > 0; e++) {
		int32_t n = f->test[e].n_part < k ? f->test[e].n_part : k;
		f->test[e].n -= n;
		f->test[e].n_part -= n;
		f->test[d].n += n;
		k -= n;
	}
}

/* ---- the rule ---- */

static int32_t n_partial(const fitting *f, int32_t from)
{
	int32_t n = 0;
	for (int32_t d = from; d < f->m->n_devs; d++)
		n += f->now[d].n_part;
	return n;
}

static berth_status try_part(fitting *f, int32_t d, part p, bool *fits)
{
	int32_t from, last = f->m->n_devs - 1;
	copy_now(f);
	from = first_partial(f, f->test, d);
	f->test[from].n--;
	f->test[from].n_part--;
	f->test[d].n++;
	f->test[d].n_part++;
	f->test[d].first = p;
	f->test[d].rest = d < last ? f->m->dev[d + 1] : LLAMA_CPU;
	BERTH_TRY(try_shares(f, f->test));
	*fits = f->used[d] < target(f, d) && (d == last || f->used[d + 1] < target(f, d + 1));
	return BERTH_OK;
}

/* Part of one more layer for d. */
static berth_status add_part(fitting *f, int32_t d)
{
	bool fits, more;
	share *kept;
	BERTH_TRY(try_part(f, d, FFN_BUT_UP, &fits));
	if (!fits)
		BERTH_TRY(try_part(f, d, FFN, &fits));
	if (!fits)
		return BERTH_OK;
	BERTH_TRY_NEW(f->tmp, f->m->n_devs, f->err, kept);
	memcpy(kept, f->test, (size_t)f->m->n_devs * sizeof *kept);
	if (f->test[d].first == FFN_BUT_UP) {
		BERTH_TRY(try_part(f, d, DOWN, &more));
		if (more)
			memcpy(kept, f->test, (size_t)f->m->n_devs * sizeof *kept);
	}
	memcpy(f->now, kept, (size_t)f->m->n_devs * sizeof *kept);
	return BERTH_OK;
}

static berth_status fill_whole(fitting *f)
{
	for (int32_t d = 0; d < f->m->n_devs; d++) {
		int32_t left = n_partial(f, d);
		if (left == 0)
			break;
		BERTH_TRY(most(f, d, left, make_whole));
		if (n_partial(f, d) > 0)
			BERTH_TRY(add_part(f, d));
	}
	return BERTH_OK;
}

static berth_status fill(fitting *f)
{
	int32_t n = f->file->n_layers, left = n + 1;
	double spare = 0;
	if (f->file->experts) {
		set_ratio(f);
		move(f, -1, EXPERTS, LLAMA_CPU);
		BERTH_TRY(weigh(f));
		for (int32_t d = 0; d < f->m->n_devs; d++)
			spare += (double)target(f, d) - (double)f->used[d];
	}
	for (int32_t d = f->m->n_devs - 1; d >= 0; d--) {
		BERTH_TRY(most(f, d, left, add_last));
		left -= f->now[d].n;
	}
	if (f->file->experts && spare > 0)
		BERTH_TRY(fill_whole(f));
	set_shares(f, f->now);
	return BERTH_OK;
}

static berth_status fit(fitting *f, berth_arena *mem)
{
	bool all = true;
	llama_plan *p = f->plan;
	int32_t n = f->m->n_devs;
	*p = (llama_plan){.n_layers = f->file->n_layers, .n_devs = n};
	BERTH_TRY_NEW(mem, p->n_layers + 1, f->err, p->unit_dev);
	BERTH_TRY_NEW(mem, n + 1, f->err, p->dev, p->dev_units);
	BERTH_TRY_NEW(mem, f->file->n_tensors, f->err, p->tensor_dev, p->told);
	BERTH_TRY(llama_index_new(f->file, f->tmp, &f->ix, f->err));
	BERTH_TRY_NEW(f->tmp, n + 1, f->err, f->now, f->test, f->used);
	for (int32_t d = 0; d < n; d++) {
		p->dev[d] = f->m->dev[d];
		f->now[d].rest = LLAMA_CPU;
	}
	if (f->m->n_devs == 0) {
		set_shares(f, f->now);
		f->known = true;
		return BERTH_OK;
	}
	set_ratio(f);
	BERTH_TRY(weigh(f));
	for (int32_t d = 0; d < f->m->n_devs; d++)
		all = all && f->used[d] <= target(f, d);
	return all || !f->known ? BERTH_OK : fill(f);
}

berth_status llama_fit(const berth_gguf_list *file, const llama_machine *m, berth_arena *mem,
                       berth_arena *tmp, llama_plan *out, bool *known, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	fitting f = {.file = file, .m = m, .plan = out, .tmp = tmp, .err = err};
	berth_status st = fit(&f, mem);
	*known = f.known;
	return st;
}
