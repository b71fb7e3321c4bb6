/* Rates of ranges for reading, answering and both, as nodes of a layout. Apart the layers stand twice in a
 * row, once for each use, so that one layout says how many nodes each use has. */
#include "serving_requests.h"

#include "search.h"

enum { CHUNK = 512 /* tokens of a prompt that engines read between two steps of answering */ };

/* What a node does with a range, for a request in the mean and for the longest. */
typedef struct work {
	double run_ns, shared_ns, first_ns, token_ns;
	int64_t read_bytes; /* from the disk, in each step */
} work;

typedef struct requests {
	const berth_request_task *x;
	const berth_search_cfg *cfg; /* of the next searches */
	int32_t n_layers;            /* once */
	bool apart;
	bool spare;     /* as of task: there is a plan already */
	uint32_t kinds; /* that may take part */
	berth_layout_kind kind[BERTH_MOST_SERVER_KINDS];
	berth_layout_task task;
} requests;

/* May what such a device passes on leave its server? */
static bool leaves(const berth_serving *s, int32_t k)
{
	return s->spans || s->kind[k].n_servers > 1;
}

static double shared_ns(const berth_serving *s, int32_t k)
{
	return (double)(leaves(s, k) ? s->kind[k].outside_ns : 0);
}

/* Adds a layer; false: the device cannot run it. */
static bool add_layer(const berth_serving *s, int32_t k, int32_t l, double weight, double *run_ns,
                      double *step_ns)
{
	if (s->kind[k].block_ns[l] < 0)
		return false;
	*run_ns += weight * (double)s->kind[k].block_ns[l];
	*step_ns += (double)s->kind[k].block_ns[l];
	return true;
}

/* Has a device of kind k room for these layers with any of the requests, or a disk? What it reads from that
 * into w. */
static bool has_room(const requests *r, int32_t k, int32_t b, int32_t from, int32_t to, bool reads,
                     bool answers, work *w)
{
	int64_t bytes = 0, must = 0;
	for (const berth_request_kind *q = r->x->kind; q < r->x->kind + r->x->n_kinds; q++) {
		const berth_serving *use[2] = {reads ? &q->reading : NULL, answers ? &q->answering[b] : NULL};
		int64_t work_bytes =
			berth_max(reads ? q->reading.work_bytes : 0, answers ? use[1]->work_bytes : 0);
		for (int u = 0; u < 2; u++) {
			int64_t held[2] = {work_bytes, work_bytes};
			for (int32_t l = from; l < to && use[u]; l++) {
				held[0] += use[u]->block_bytes[l];
				held[1] += use[u]->block_state_bytes[l];
			}
			bytes = berth_max(bytes, held[0]);
			must = berth_max(must, held[1]);
		}
	}
	w->read_bytes = berth_serving_read_bytes(&r->x->kind->reading.kind[k], bytes, must);
	return w->read_bytes >= 0;
}

/* A step of run_ns that reads the layers so often, as long as from the disk; what is added to it. */
static double wait_for_disk(const requests *r, int32_t k, const work *w, double times, double *run_ns)
{
	double was = *run_ns, read_ns = berth_serving_step_ns(&r->x->kind->reading.kind[k], 0, w->read_bytes);
	*run_ns = fmax(was, times * read_ns);
	return *run_ns - was;
}

/* Layers from .. to-1 on a device of kind k, with steps of the b-th batch. false: it cannot. */
static bool work_of(const requests *r, int32_t k, int32_t b, int32_t from, int32_t to, bool reads,
                    bool answers, work *w)
{
	const berth_request_task *x = r->x;
	double send_ns = 0, wait_ns = 0;
	bool passes = to - from < r->n_layers;
	*w = (work){0};
	if (!has_room(r, k, b, from, to, reads, answers, w))
		return false;
	for (int32_t i = 0; i < x->n_kinds; i++) {
		const berth_request_kind *q = &x->kind[i];
		const berth_serving *a = &q->answering[b];
		double steps = (double)q->answer / (double)x->batch[b], first = 0, token = 0, chunk;
		for (int32_t l = from; l < to; l++) {
			if (reads && !add_layer(&q->reading, k, l, q->share, &w->run_ns, &first))
				return false;
			if (answers && !add_layer(a, k, l, q->share * steps, &w->run_ns, &token))
				return false;
			send_ns += q->share * (double)a->block_state_bytes[l] / (double)x->batch[b] *
			           (double)q->read / (double)(q->read + q->answer) *
			           (leaves(a, k) ? a->kind[k].byte_ns : a->kind[k].inside_byte_ns);
		}
		chunk = first * fmin(1, CHUNK / (double)q->read);
		if (reads) { /* a chunk of the prompt in a step */
			w->run_ns += q->share * wait_for_disk(r, k, w, ceil((double)q->read / CHUNK), &first);
			wait_for_disk(r, k, w, 1, &chunk);
		}
		if (answers)
			w->run_ns += q->share * steps * wait_for_disk(r, k, w, 1, &token);
		if (reads && passes)
			w->shared_ns += q->share * shared_ns(&q->reading, k);
		if (answers && passes)
			w->shared_ns += q->share * steps * shared_ns(a, k);
		bool asked = q->share > 0;
		w->first_ns = fmax(w->first_ns, asked ? first : 0);
		w->token_ns = fmax(w->token_ns, asked ? token : 0);
		wait_ns = fmax(wait_ns, answers && asked ? chunk : 0);
	}
	w->shared_ns += r->apart ? send_ns : 0;
	w->token_ns += wait_ns;
	return true;
}

/* At all batches. */
static void take_range(requests *r, int32_t k, int32_t from, int32_t to, bool reads, bool answers)
{
	const berth_request_task *x = r->x;
	int32_t off = r->apart && answers ? r->n_layers : 0;
	for (int32_t b = 0; b < (answers ? x->n_batches : 1); b++) {
		work w;
		if (!work_of(r, k, b, from, to, reads, answers, &w))
			continue;
		const double time_s[BERTH_MOST_LAYOUT_LIMITS] = {w.first_ns / 1e9, w.token_ns / 1e9};
		berth_layout_offer(&r->kind[k], r->task.n_layers, b, from + off, to + off,
		                   1e9 / fmax(1, fmax(w.run_ns, w.shared_ns)), 1e9 / fmax(1, w.run_ns),
		                   time_s, x->batch[b], w.read_bytes, answers ? b : x->n_batches);
	}
}

/* What a request in the mean, and the longest, take on a link: by what answers at each batch, what reads
 * alone, and where answering follows on reading, with one token. */
static berth_status make_links(requests *r, berth_arena *mem, berth_err *err)
{
	const berth_request_task *x = r->x;
	int32_t K = x->kind->reading.n_kinds, n = (x->n_batches + 2) * K * K;
	double *per_s, *first_s, *token_s;
	bool any = false;
	BERTH_TRY_NEW(mem, n, err, per_s, first_s, token_s);
	for (int32_t i = 0; i < n; i++) {
		int32_t b = i / (K * K), from = i / K % K, to = i % K;
		bool answers = b < x->n_batches, reads = answers ? !r->apart : b == x->n_batches;
		double ns = 0;
		for (int32_t q = 0; q < x->n_kinds; q++) {
			const berth_request_kind *of = &x->kind[q];
			if (of->share <= 0) /* it has to fit alone */
				continue;
			double read_ns = reads ? (double)berth_serving_link_ns(&of->reading, from, to) : 0,
			       answer_ns =
				       answers ? (double)berth_serving_link_ns(&of->answering[b], from, to)
					       : 0;
			ns += of->share *
			      (read_ns +
			       (answers ? answer_ns * (double)of->answer / (double)x->batch[b] : 0));
			if (reads)
				first_s[i] = fmax(first_s[i],
				                  (double)berth_serving_way_ns(&of->reading, from, to) / 1e9);
			if (answers)
				token_s[i] =
					fmax(token_s[i],
				             (double)berth_serving_way_ns(&of->answering[b], from, to) / 1e9);
		}
		per_s[i] = ns > 0 ? 1e9 / ns : INFINITY;
		if (berth_serving_link_ns(&x->kind->reading, from, to) < 0)
			per_s[i] = 0;
		any |= isfinite(per_s[i]);
	}
	r->task.link_per_s = any ? per_s : NULL;
	r->task.n_links = x->n_batches + 2;
	r->task.limit[0] = (berth_layout_limit){.most_s = x->first_s, .link_s = first_s};
	r->task.limit[1] = (berth_layout_limit){.most_s = x->token_s, .link_s = token_s};
	r->task.n_limits = 2;
	return BERTH_OK;
}

static berth_status make_nodes(requests *r, berth_arena *mem, berth_err *err)
{
	const berth_serving *s = &r->x->kind->reading;
	int32_t L = r->n_layers, total = r->apart ? 2 * L : L, n = r->x->n_batches;
	bool limited = r->x->first_s > 0 || r->x->token_s > 0;
	r->task = (berth_layout_task){.n_layers = total, .n_kinds = s->n_kinds, .kind = r->kind};
	BERTH_TRY(make_links(r, mem, err));
	for (int32_t k = 0; k < s->n_kinds; k++) {
		berth_layout_kind *d = &r->kind[k];
		BERTH_TRY(berth_layout_kind_new(d, s->kind[k].name, s->kind[k].n_servers * s->kind[k].n_devs,
		                                total, limited ? n : 1, mem, err));
		for (int32_t f = 0; f < L; f++)
			for (int32_t t = f + 1; t <= L; t++) {
				take_range(r, k, f, t, true, !r->apart);
				if (r->apart)
					take_range(r, k, f, t, false, true);
			}
		for (int32_t i = 0; r->apart && i < L * d->n_modes; i++) {
			d->mode[i / L].link_out[i % L * (total + 1) + L] = n + 1;
			d->mode[i / L].link_in[L * (total + 1) + L + 1 + i % L] = n + 1;
		}
	}
	return BERTH_OK;
}

/* Takes out the kinds that may not take part. Apart any node may send its cache to any other
 * one: of servers that have no link to those like them one device does. */
static void take_part(requests *r)
{
	const berth_serving *s = &r->x->kind->reading;
	for (int32_t k = 0; k < s->n_kinds; k++) {
		int64_t nodes = s->kind[k].n_servers * s->kind[k].n_devs;
		if (r->apart && berth_serving_link_ns(s, k, k) < 0)
			nodes = 1;
		r->kind[k].n_nodes = r->kinds >> k & 1 ? nodes : 0;
	}
}

static berth_status solve(requests *r, int32_t tries, berth_arena *mem, berth_arena *tmp,
                          berth_request_plan *out, berth_err *err)
{
	berth_layers known = {0};
	*out = (berth_request_plan){0};
	BERTH_TRY(make_nodes(r, mem, err));
	r->task.cfg = r->cfg;
	r->task.spare = r->spare;
	BERTH_TRY(berth_layout_bound(&r->task, tmp, &known.bound_per_s, err));
	out->least_first_s = berth_layout_quickest(&r->task, 0, NULL);
	out->least_token_s = berth_layout_quickest(&r->task, 1, NULL);
	take_part(r);
	BERTH_TRY(berth_layout_search(&r->task, &known, tries, 1, mem, tmp, &out->l, err));
	out->first_s = out->l.time_s[0];
	out->token_s = out->l.time_s[1];
	return BERTH_OK;
}

/* Have all kinds of the set links to each other? */
static bool are_linked(const berth_serving *s, uint32_t kinds)
{
	for (int32_t k = 0; k < s->n_kinds; k++)
		for (int32_t o = 0; o < s->n_kinds; o++)
			if (k != o && kinds >> k & kinds >> o & 1 && berth_serving_link_ns(s, k, o) < 0)
				return false;
	return true;
}

/* Together all kinds are one, the flow keeps to links; apart each set of kinds which all have links to each
 * other and that no kind can be added to: caches go from any node to any. */
static bool is_set(const requests *r, uint32_t kinds)
{
	const berth_serving *s = &r->x->kind->reading;
	bool whole = are_linked(s, kinds);
	for (int32_t k = 0; k < s->n_kinds; k++)
		whole &= kinds >> k & 1 || !are_linked(s, kinds | 1u << k);
	return r->apart ? whole : kinds == (1u << s->n_kinds) - 1;
}

/* On each set, each with its share of the time. */
static berth_status solve_linked(requests *r, int32_t tries, berth_arena *mem, berth_arena *tmp,
                                 berth_request_plan *out, berth_err *err)
{
	uint32_t all = (1u << r->x->kind->reading.n_kinds) - 1;
	const berth_search_cfg *cfg = r->cfg;
	int32_t left = 0;
	*out = (berth_request_plan){0};
	for (uint32_t kinds = all; kinds > 0; kinds--)
		left += is_set(r, kinds);
	for (uint32_t kinds = all; kinds > 0; kinds--) {
		berth_request_plan now;
		berth_search_cfg part;
		if (!is_set(r, kinds) || berth_layout_enough(cfg, out->l.per_s))
			continue;
		r->kinds = kinds;
		r->cfg = berth_layout_part(cfg, left--, &part);
		berth_status st = solve(r, tries, mem, tmp, &now, err);
		r->cfg = cfg;
		BERTH_TRY(st);
		if (kinds == all || now.l.per_s > out->l.per_s || !(out->l.bound_per_s > 0))
			*out = now;
	}
	return BERTH_OK;
}

/* ---- each server by itself ---- */

static berth_serving one_server(const berth_serving *s, int32_t k)
{
	berth_serving one = *s;
	one.n_kinds = 1;
	one.kind[0] = s->kind[k];
	one.kind[0].n_servers = 1;
	one.spans = false;
	one.link_ns[0][0] = 0;
	return one;
}

/* The best of one server of kind k for all of these, behind what is in out. */
static berth_status add_servers(const requests *all, int32_t k, int32_t tries, berth_arena *mem,
                                berth_arena *tmp, berth_request_plan *out, size_t cap[2], berth_err *err)
{
	berth_request_task x = *all->x;
	berth_request_plan one;
	const berth_serving *s = &all->x->kind->reading;
	int64_t n = s->kind[k].n_servers;
	int32_t before = out->l.n_groups;
	BERTH_TRY_NEW(mem, x.n_kinds, err, x.kind);
	for (int32_t i = 0; i < x.n_kinds; i++) {
		const berth_request_kind *q = &all->x->kind[i];
		x.kind[i] = *q;
		x.kind[i].reading = one_server(&q->reading, k);
		BERTH_TRY_NEW(mem, x.n_batches, err, x.kind[i].answering);
		for (int32_t b = 0; b < x.n_batches; b++)
			x.kind[i].answering[b] = one_server(&q->answering[b], k);
	}
	berth_search_cfg part;
	requests r = {.x = &x, .n_layers = all->n_layers, .apart = all->apart, .spare = all->spare};
	r.cfg = berth_layout_part(all->cfg, s->n_kinds - k, &part);
	BERTH_TRY(solve_linked(&r, tries, mem, tmp, &one, err));
	for (const berth_layout_group *g = one.l.group; g && g < one.l.group + one.l.n_groups; g++)
		BERTH_TRY(BERTH_PUSH(mem, out->l.group, out->l.n_groups, &cap[0], err,
		                     (berth_layout_group){k, g->from, g->to, n * g->n, (double)n * g->per_s,
		                                          g->batch, g->read_bytes}));
	for (const berth_layout_way *w = one.l.way; w && w < one.l.way + one.l.n_ways; w++)
		BERTH_TRY(BERTH_PUSH(mem, out->l.way, out->l.n_ways, &cap[1], err,
		                     (berth_layout_way){w->from < 0 ? -1 : before + w->from,
		                                        w->to < 0 ? -1 : before + w->to,
		                                        (double)n * w->per_s}));
	out->l.per_s += (double)n * one.l.per_s;
	out->first_s = fmax(out->first_s, one.first_s);
	out->token_s = fmax(out->token_s, one.token_s);
	out->least_first_s = fmin(out->least_first_s, one.least_first_s);
	out->least_token_s = fmin(out->least_token_s, one.least_token_s);
	return BERTH_OK;
}

/* Nothing leaves a server, so no node is charged for that: taken where it serves more. */
static berth_status serve_by_each(const requests *r, int32_t tries, berth_arena *mem, berth_arena *tmp,
                                  berth_request_plan *plan, berth_err *err)
{
	const berth_serving *s = &r->x->kind->reading;
	berth_request_plan each = {.alone = true,
	                           .l.bound_per_s = plan->l.bound_per_s,
	                           .least_first_s = plan->least_first_s,
	                           .least_token_s = plan->least_token_s};
	size_t cap[2] = {0};
	bool gains = false;
	for (int32_t k = 0; k < s->n_kinds; k++)
		gains |= s->kind[k].n_devs > 1 && leaves(s, k);
	for (int32_t k = 0; k < s->n_kinds && gains; k++)
		if (s->kind[k].n_devs > r->apart &&
		    !berth_layout_enough(r->cfg, fmax(plan->l.per_s, each.l.per_s)))
			BERTH_TRY(add_servers(r, k, tries, mem, tmp, &each, cap, err));
	plan->least_first_s = each.least_first_s;
	plan->least_token_s = each.least_token_s;
	if (each.l.per_s > plan->l.per_s)
		*plan = each;
	return BERTH_OK;
}

berth_status berth_serving_requests(const berth_request_task *x, int32_t tries, berth_arena *mem,
                                    berth_arena *tmp, berth_request_plan *plan, berth_err *err)
{
	const berth_serving *s = &x->kind->reading;
	for (int32_t i = 0; i < x->n_kinds; i++)
		for (int32_t b = 0; b < x->n_batches; b++)
			if (!berth_serving_same_devices(s, &x->kind[i].answering[b]) ||
			    !berth_serving_same_devices(s, &x->kind[i].reading))
				return berth_fail(
					err, BERTH_EINVAL,
					"a host reads quickest by other devices than it answers by: "
					"leave one of them out of the system");
	*plan = (berth_request_plan){0};
	for (int way = 0; way < BERTH_N_REQUEST_WAYS; way++) {
		requests r = {.x = x, .n_layers = s->n_blocks, .apart = way == BERTH_APART};
		r.spare = plan->l.per_s > 0;
		berth_search_cfg part;
		if (berth_layout_enough(x->cfg, plan->l.per_s)) {
			plan[way] = (berth_request_plan){.l.bound_per_s = INFINITY,
			                                 .least_first_s = INFINITY,
			                                 .least_token_s = INFINITY};
			continue;
		}
		r.cfg = berth_layout_part(x->cfg, 2 * (BERTH_N_REQUEST_WAYS - way), &part);
		BERTH_TRY(solve_linked(&r, tries, mem, tmp, &plan[way], err));
		r.cfg = berth_layout_part(x->cfg, 2 * (BERTH_N_REQUEST_WAYS - way) - 1, &part);
		r.spare = fmax(plan->l.per_s, plan[way].l.per_s) > 0;
		BERTH_TRY(serve_by_each(&r, tries, mem, tmp, &plan[way], err));
		if (plan[way].l.per_s <= 0 && berth_layout_enough(x->cfg, plan->l.per_s))
			plan[way].l.bound_per_s = INFINITY; /* it was not searched */
	}
	return BERTH_OK;
}
