/* One-machine bounds of devices and channels; see exact_search.h. */
#include "exact_search_work.h"

static void sort_by_head(exact_search_job *job, int32_t n)
{
	for (int32_t i = 1; i < n; i++) {
		exact_search_job j = job[i];
		int32_t k = i;
		for (; k > 0 && job[k - 1].head > j.head; k--)
			job[k] = job[k - 1];
		job[k] = j;
	}
}

/* Least time in which one machine does all jobs, with heads and tails, preemption allowed: a lower bound
 * without. job is changed. 0 for none. O(n^2). */
static int64_t one_machine(exact_search_job *job, int32_t n)
{
	int64_t now = 0, length = 0;
	int32_t released = 0, done = 0;
	sort_by_head(job, n);
	while (done < n) {
		int32_t run = -1;
		while (released < n && job[released].head <= now)
			released++;
		for (int32_t i = 0; i < released; i++)
			if (job[i].time >= 0 && (run < 0 || job[i].tail > job[run].tail))
				run = i;
		if (run < 0) {
			now = job[released].head;
			continue;
		}
		int64_t until = released < n && job[released].head < now + job[run].time
		                        ? job[released].head
		                        : now + job[run].time;
		job[run].time -= until - now;
		now = until;
		if (job[run].time == 0) {
			length = now + job[run].tail > length ? now + job[run].tail : length;
			job[run].time = -1;
			done++;
		}
	}
	return length;
}

/* With several slots: all work between the least head and the least tail. */
static int64_t several_machines(const exact_search_job *job, int32_t n, int32_t slots)
{
	int64_t head = BERTH_EXACT_SEARCH_NEVER, tail = BERTH_EXACT_SEARCH_NEVER, sum = 0;
	for (int32_t i = 0; i < n; i++) {
		head = job[i].head < head ? job[i].head : head;
		tail = job[i].tail < tail ? job[i].tail : tail;
		sum += job[i].time;
	}
	return n ? head + (sum + slots - 1) / slots + tail : 0;
}

static int64_t device_bound(berth_exact_search *x, int32_t d, int32_t n_placed, const int64_t *head,
                            const int64_t *tail, int32_t stride)
{
	int32_t n = 0, slots = x->p->s->dev_slots[d];
	for (int32_t i = 0; i < n_placed; i++)
		if (x->dev[i] == d)
			x->job[n++] = (exact_search_job){head[i], exact_search_time(x, i, d),
			                                 tail[i * stride + (stride > 1 ? d : 0)]};
	if (n < 2)
		return 0;
	return slots == 1 ? one_machine(x->job, n) : several_machines(x->job, n, slots);
}

/* Least time from the arrival of a tensor at a device to the end, by its consumers there. */
static int64_t after_arrival(const berth_exact_search *x, const exact_search_tensor *t, int32_t dest,
                             int32_t n_placed, const int64_t *tail, int32_t stride)
{
	int64_t most = -1;
	for (int32_t u = 0; u < t->n_uses && t->use[u] < n_placed; u++) {
		int32_t i = t->use[u];
		if (x->dev[i] == dest) {
			int64_t after =
				exact_search_time(x, i, dest) + tail[i * stride + (stride > 1 ? dest : 0)];
			most = after > most ? after : most;
		}
	}
	return most;
}

static int32_t list_moves(berth_exact_search *x, int32_t n_placed)
{
	int32_t n = 0;
	for (int32_t k = 0; k < x->n_tensors && x->tensor[k].producer < n_placed; k++) {
		const exact_search_tensor *t = &x->tensor[k];
		uint32_t seen = UINT32_C(1) << x->dev[t->producer];
		for (int32_t u = 0; u < t->n_uses && t->use[u] < n_placed; u++) {
			int32_t dest = x->dev[t->use[u]];
			if (seen >> dest & 1)
				continue;
			seen |= UINT32_C(1) << dest;
			x->move[n++] = (exact_search_move){k, dest};
		}
	}
	return n;
}

/* Jobs of channel c among the moves. */
static int32_t channel_jobs(berth_exact_search *x, int32_t c, int32_t n_moves, int32_t n_placed,
                            const int64_t *head, const int64_t *tail, int32_t stride)
{
	const berth_problem *p = x->p;
	int32_t n = 0;
	for (int32_t m = 0; m < n_moves; m++) {
		const exact_search_tensor *t = &x->tensor[x->move[m].tensor];
		size_t class = (size_t)t->class, devs = (size_t)x->n_devs;
		int32_t from = x->dev[t->producer], to = x->move[m].dest;
		int32_t r = p->class_pair_route[(class * devs + (size_t)from) * devs + (size_t)to];
		int64_t at = head[t->producer] + exact_search_time(x, t->producer, from),
			whole = exact_search_transfer(x, t->class, from, to), before = 0;
		for (int32_t h = p->route_off[r]; h < p->route_off[r + 1]; h++) {
			int64_t hop =
				p->class_link_ns[class * (size_t)p->s->n_links + (size_t)p->route_link[h]];
			if (p->s->link_channel[p->route_link[h]] == c && n < x->n_edges * SMALL_MAX_HOPS)
				x->job[n++] = (exact_search_job){
					at + before, hop,
					whole - before - hop +
						after_arrival(x, t, to, n_placed, tail, stride)};
			before += hop;
		}
	}
	return n;
}

int64_t exact_search_machines(berth_exact_search *x, int32_t n_placed, const int64_t *head,
                              const int64_t *tail, int32_t stride)
{
	int64_t most = 0;
	for (int32_t d = 0; d < x->n_devs && most < x->upper; d++) {
		int64_t b = device_bound(x, d, n_placed, head, tail, stride);
		most = b > most ? b : most;
	}
	if (!x->p->s->contention || most >= x->upper)
		return most;
	int32_t n_moves = list_moves(x, n_placed);
	for (int32_t c = 0; n_moves > 1 && c < x->p->s->n_channels && most < x->upper; c++) {
		int32_t n = channel_jobs(x, c, n_moves, n_placed, head, tail, stride);
		int64_t b = n > 1 ? one_machine(x->job, n) : 0;
		most = b > most ? b : most;
	}
	return most;
}
