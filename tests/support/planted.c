/* See planted.h. */
#include "planted.h"

#include "rng.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MEAN_OP_NS = 100000,
	LATENCY_NS = 5000,
	BANDWIDTH = 10 /* bytes a nanosecond */,
	MOST_DEVS = 16,
	INPUTS = 3
};

const char *const planted_kind_name[PLANTED_KINDS] = {"loose", "chains"};

/* An operator of the schedule, by start. */
typedef struct slot {
	int64_t start, end; /* ns */
	int32_t dev, before; /* the operator before it on its device; -1: none */
} slot;

typedef struct work {
	planted_kind kind;
	int32_t n, n_devs;
	berth_rng rng;
	double price[MOST_DEVS];
	int64_t horizon;
	slot *slot;
	int32_t *by_end; /* [n] slots */
	int32_t *op;     /* [n] operator of a slot */
} work;

static double between(work *w, double low, double high)
{
	return low + (high - low) * berth_rng_unit(&w->rng);
}

static int by_start(const void *a, const void *b)
{
	const slot *x = a, *y = b;
	return x->start != y->start ? (x->start > y->start) - (x->start < y->start) : x->dev - y->dev;
}

/* Cut the horizon of device d into n operators, the last of which ends with it. */
static void cut(work *w, int32_t d, int32_t n, slot *out)
{
	double sum = 0, at = 0;
	double *length = malloc((size_t)n * sizeof *length);
	if (!length)
		abort();
	for (int32_t i = 0; i < n; i++)
		sum += length[i] = between(w, 0.2, 1.8);
	for (int32_t i = 0; i < n; i++) {
		out[i].dev = d;
		out[i].start = llround(at / sum * (double)w->horizon);
		at += length[i];
		out[i].end = i + 1 < n ? llround(at / sum * (double)w->horizon) : w->horizon;
	}
	free(length);
}

/* Slots by start, each with the one before it on its device; and all by end. */
static void sort(work *w)
{
	int32_t last[MOST_DEVS], at[MOST_DEVS];
	qsort(w->slot, (size_t)w->n, sizeof *w->slot, by_start);
	for (int32_t d = 0; d < MOST_DEVS; d++)
		last[d] = -1;
	for (int32_t i = 0; i < w->n; i++) {
		w->slot[i].before = last[w->slot[i].dev];
		last[w->slot[i].dev] = i;
	}
	for (int32_t d = 0; d < MOST_DEVS; d++)
		at[d] = 0;
	for (int32_t k = 0; k < w->n; k++) { /* merge of the devices' lines */
		int32_t best = -1;
		for (int32_t d = 0; d < w->n_devs; d++) {
			while (at[d] < w->n && w->slot[at[d]].dev != d)
				at[d]++;
			if (at[d] < w->n && (best < 0 || w->slot[at[d]].end < w->slot[at[best]].end))
				best = d;
		}
		w->by_end[k] = at[best]++;
	}
}

static berth_status make_schedule(work *w, berth_arena *tmp, berth_err *err)
{
	double sum = 0;
	int32_t n = 0;
	for (int32_t d = 0; d < w->n_devs; d++)
		sum += w->price[d] = between(w, 0.3, 1.7);
	for (int32_t d = 0; d < w->n_devs; d++)
		w->price[d] /= sum;
	w->horizon = (int64_t)MEAN_OP_NS * w->n / w->n_devs;
	BERTH_TRY_NEW(tmp, w->n, err, w->slot, w->by_end, w->op);
	for (int32_t d = 0; d < w->n_devs; d++) {
		int32_t share = w->n * (d + 1) / w->n_devs - w->n * d / w->n_devs;
		cut(w, d, share, w->slot + n);
		n += share;
	}
	sort(w);
	for (int32_t i = 0; i < w->n; i++) { /* their places in the graph tell nothing */
		int32_t k = (int32_t)berth_rng_below(&w->rng, (uint32_t)i + 1);
		w->op[i] = w->op[k];
		w->op[k] = i;
	}
	return BERTH_OK;
}

/* The operator of slot i: as long as planted there, on other devices by the prices or longer. */
static berth_status add_op(work *w, berth_builder *b, int32_t i, berth_err *err)
{
	const slot *s = &w->slot[i];
	char name[16], key[16];
	int32_t op;
	snprintf(name, sizeof name, "o%d", (int)w->op[i]);
	BERTH_TRY(berth_builder_op(b, &(berth_op_spec){.name = name}, &op, err));
	for (int32_t d = 0; d < w->n_devs; d++) {
		double ns = (double)(s->end - s->start);
		if (d != s->dev)
			ns = ceil(ns * w->price[s->dev] / w->price[d] * fmax(1, between(w, 0.7, 1.7))) + 1;
		snprintf(key, sizeof key, "d%d", (int)d);
		BERTH_TRY(berth_builder_time(b, op, key, ns * 1e-9, err));
	}
	return BERTH_OK;
}

/* A slot that ends early enough for a tensor to get to slot i, one of the last that do; -1: there is none. */
static int32_t producer(work *w, int32_t i)
{
	int32_t low = 0, high = w->n;
	while (low < high) {
		int32_t mid = (low + high) / 2;
		if (w->slot[w->by_end[mid]].end <= w->slot[i].start - LATENCY_NS)
			low = mid + 1;
		else
			high = mid;
	}
	uint32_t window = (uint32_t)(low < 4 * w->n_devs ? low : 4 * w->n_devs);
	return low ? w->by_end[low - 1 - (int32_t)berth_rng_below(&w->rng, window)] : -1;
}

/* Inputs of slot i: what fits into the time between, and chains of a device, which need not travel. */
static berth_status add_inputs(work *w, berth_builder *b, int32_t i, berth_err *err)
{
	const int32_t *op_of = w->op;
	const slot *s = &w->slot[i];
	bool chains = w->kind == PLANTED_CHAINS;
	bool linked = s->before >= 0 && berth_rng_unit(&w->rng) < (chains ? 0.8 : 0.3);
	int32_t n = (int32_t)berth_rng_below(&w->rng, chains ? 2 : INPUTS), taken[INPUTS + 1], n_taken = 0;
	if (linked) {
		double of_its_time = chains ? between(w, 1, 4) : between(w, 0, 0.5);
		int64_t bytes = (int64_t)((double)(s->end - s->start) * of_its_time) * BANDWIDTH;
		BERTH_TRY(berth_builder_own_edge(b, op_of[s->before], op_of[i], bytes, err));
		taken[n_taken++] = s->before;
	}
	for (int32_t k = 0; k < n; k++) {
		int32_t from = producer(w, i), seen = 0;
		while (seen < n_taken && taken[seen] != from)
			seen++;
		if (from < 0 || seen < n_taken)
			continue;
		double room = (double)(s->start - w->slot[from].end - LATENCY_NS - 1) * between(w, 0.2, 1);
		BERTH_TRY(berth_builder_own_edge(b, op_of[from], op_of[i], (int64_t)fmax(room, 0) * BANDWIDTH,
		                                 err));
		taken[n_taken++] = from;
	}
	return BERTH_OK;
}

berth_status planted_make(planted_kind kind, int32_t n_ops, int32_t n_devs, uint64_t seed, berth_arena *mem,
                          berth_arena *tmp, planted *out, berth_err *err)
{
	work w = {.kind = kind, .n = n_ops, .n_devs = n_devs, .rng = berth_rng_seed(seed, kind)};
	BERTH_TRY(make_schedule(&w, tmp, err));
	char text[16384];
	size_t at = (size_t)snprintf(text, sizeof text,
	                             "{\"format\":\"berth-system\",\"version\":1,\"name\":\"planted\","
	                             "\"contention\":false,\"devices\":[");
	for (int32_t d = 0; d < w.n_devs; d++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s{\"name\":\"d%d\"}", d ? "," : "",
		                       (int)d);
	at += (size_t)snprintf(text + at, sizeof text - at, "],\"links\":[");
	for (int32_t d = 0; d < w.n_devs; d++)
		for (int32_t e = d + 1; e < w.n_devs; e++)
			at += (size_t)snprintf(text + at, sizeof text - at,
			                       "%s{\"from\":\"d%d\",\"to\":\"d%d\",\"latency_s\":%de-9,"
			                       "\"bandwidth\":%de9,\"both_ways\":true}",
			                       d + e > 1 ? "," : "", (int)d, (int)e, LATENCY_NS, BANDWIDTH);
	at += (size_t)snprintf(text + at, sizeof text - at, "]}");
	BERTH_TRY(berth_system_parse_json("planted", text, at, mem, tmp, &out->system, err));
	berth_builder *b;
	int32_t *slot_of;
	BERTH_TRY_NEW(tmp, w.n, err, slot_of);
	BERTH_TRY_NEW(mem, w.n, err, out->dev, out->order);
	BERTH_TRY(berth_builder_new(tmp, "planted", &b, err));
	for (int32_t i = 0; i < w.n; i++)
		slot_of[w.op[i]] = i;
	for (int32_t op = 0; op < w.n; op++) {
		BERTH_TRY(add_op(&w, b, slot_of[op], err));
		out->dev[op] = w.slot[slot_of[op]].dev;
	}
	for (int32_t i = 0; i < w.n; i++) {
		BERTH_TRY(add_inputs(&w, b, i, err));
		out->order[i] = w.op[i];
	}
	BERTH_TRY(berth_builder_finish(b, mem, &out->graph, err));
	out->latency_s = (double)w.horizon * 1e-9;
	return berth_problem_new(&out->graph, &out->system, mem, tmp, &out->problem, err);
}
