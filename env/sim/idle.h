/* Idle gaps of what carries one thing at a time: slots of devices, channels. Each has a list of gaps in order
 * of time whose last one never ends. Searches walk from the late end, as schedules are made at about the time
 * that they have reached. */
#pragma once

#include "arena.h"

typedef struct berth_idle_gap {
	int64_t start_ns, end_ns;
	int32_t prev, next; /* of the same list; -1: none */
} berth_idle_gap;

typedef struct berth_idle {
	berth_idle_gap *gap;
	int32_t *tail; /* [n_lists] the last gap of each */
	int32_t n_lists, n_gaps, most_gaps;
	int32_t closed; /* list of gaps that were filled */
} berth_idle;

/* n_lists lists for most_gaps gaps beside the endless ones, in mem, to be reset. A gap too many is lost: time
 * that stays idle. Fails: BERTH_ENOMEM. */
static inline berth_status berth_idle_new(int32_t n_lists, size_t most_gaps, berth_arena *mem,
                                          berth_idle *out, berth_err *err)
{
	size_t all = (size_t)n_lists + most_gaps;
	*out = (berth_idle){.n_lists = n_lists, .most_gaps = all < INT32_MAX ? (int32_t)all : INT32_MAX};
	BERTH_TRY(BERTH_NEW(mem, out->tail, n_lists, err));
	return BERTH_NEW(mem, out->gap, out->most_gaps, err);
}

/* All is idle. O(lists). */
static inline void berth_idle_reset(berth_idle *g)
{
	for (int32_t i = 0; i < g->n_lists; i++) {
		g->tail[i] = i;
		g->gap[i] = (berth_idle_gap){0, INT64_MAX, -1, -1};
	}
	g->n_gaps = g->n_lists;
	g->closed = -1;
}

/* The earliest start from ready_ns on for time_ns. A gap that ends before that would is the last one to look
 * at. O(gaps after ready_ns). */
static inline int64_t berth_idle_start(const berth_idle *g, int32_t list, int64_t ready_ns, int64_t time_ns)
{
	const berth_idle_gap *gap = g->gap;
	int32_t i = g->tail[list];
	int64_t best = gap[i].start_ns > ready_ns ? gap[i].start_ns : ready_ns;
	while ((i = gap[i].prev) >= 0 && gap[i].end_ns - time_ns >= ready_ns)
		if (gap[i].end_ns - gap[i].start_ns >= time_ns)
			best = gap[i].start_ns > ready_ns ? gap[i].start_ns : ready_ns;
	return best;
}

/* The gap that holds [start, end]; -1: none. */
static inline int32_t berth_idle_find(const berth_idle *g, int32_t list, int64_t start_ns, int64_t end_ns)
{
	for (int32_t i = g->tail[list]; i >= 0 && g->gap[i].end_ns >= end_ns; i = g->gap[i].prev)
		if (g->gap[i].start_ns <= start_ns)
			return i;
	return -1;
}

/* A new gap before gap i, where there is room for one. */
static inline void berth_idle_split(berth_idle *g, int32_t i, int64_t start_ns, int64_t end_ns)
{
	int32_t at = g->closed;
	if (at >= 0)
		g->closed = g->gap[at].next;
	else if (g->n_gaps < g->most_gaps)
		at = g->n_gaps++;
	else
		return;
	g->gap[at] = (berth_idle_gap){start_ns, end_ns, g->gap[i].prev, i};
	if (g->gap[i].prev >= 0)
		g->gap[g->gap[i].prev].next = at;
	g->gap[i].prev = at;
}

/* [start, end] of gap i, which holds it, is idle no more. */
static inline void berth_idle_take(berth_idle *g, int32_t i, int64_t start_ns, int64_t end_ns)
{
	berth_idle_gap *x = &g->gap[i];
	if (x->start_ns < start_ns)
		berth_idle_split(g, i, x->start_ns, start_ns);
	x->start_ns = end_ns;
	if (x->end_ns != end_ns)
		return;
	if (x->prev >= 0)
		g->gap[x->prev].next = x->next;
	g->gap[x->next].prev = x->prev;
	x->next = g->closed;
	g->closed = i;
}
