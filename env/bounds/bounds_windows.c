/* The bound by windows (bounds_parts.h): what stands between two operators has to be done between them.
 *
 * Operators are numbered in topological order throughout this file: k stands for topo_op[k]. */
#include "bounds_parts.h"

#include "bounds_load.h"
#include "ceft.h"

#define NEVER BERTH_CEFT_NEVER

/* INSIDE: operators of a window between two operators. Of the windows that end in one operator the KEPT most
 * promising are tried of each size: up to SMALLEST, up to twice that, and so on; the most promising alone
 * first, at the prices of FEW resources. REACH: places in topological order between its ends. ENDS: windows
 * to the end of the run. */
enum {
	MOST_OPS = 8000,
	MOST_DEVS = 16,
	INSIDE = BERTH_CERTIFICATE_WINDOW_OPS,
	SIZES = 5,
	SMALLEST = 8,
	KEPT = 3,
	REACH = 512,
	ENDS = 64,
	FEW = 4,
	MASKS = 6,
	PRICES = 2 + (1 << MASKS),
	PARTS = 16384
};

enum { BEGIN = -1, NONE = -2 }; /* the window begins with the run; there is no window */

typedef struct candidate {
	int32_t first, size; /* size: of its class */
	double gain;         /* of the window's end if all of it ran one after the other; ns */
} candidate;

typedef struct work {
	const berth_problem *p;
	berth_bound_work *budget;
	int32_t n, devs, resources; /* resources: devices, behind them memory pools */
	size_t words;
	uint64_t *above, *below; /* [n][words] */
	int64_t *end;     /* [n+1][devs] earliest ends; behind the operators that of the run, [devs 0] */
	int32_t *by;      /* [n+1][devs] first of the window that raised the end; NONE: inputs tell it */
	int64_t *after;   /* [n][devs] least time after the end, to the end of the run */
	double *least_ns; /* [n] on the quickest device */
	double mu[2 * MOST_DEVS]; /* prices of the load dual */
	candidate found[SIZES * KEPT];
	int32_t masks; /* resources that prices leave out */

	/* the window at hand: between first (BEGIN) and last (n: the end of the run) */
	int32_t first, last, size;
	int32_t *in;   /* [n] what is inside */
	int64_t *head; /* [devs][n+1][devs] by the device of first; of last at the end of a row */
	int64_t *tail; /* [n][devs] to the start of last */
	double *share; /* [size][devs] time where it fits; below 0: it does not */
	double price[PRICES][2 * MOST_DEVS];
	int32_t n_prices, lucky; /* lucky: the price that told last */
	int32_t told[MOST_DEVS]; /* by device of first the price that told; -1: none was needed */
	int32_t slack_dev;       /* device of first that left room last */
	int32_t to;              /* device of last */
	int64_t *scratch;        /* [n][devs] */
} work;

static int32_t op_at(const work *w, int32_t k)
{
	return w->p->g->topo_op[k];
}

static size_t cell(const work *w, int32_t k, int32_t d)
{
	return (size_t)k * (size_t)w->devs + (size_t)d;
}

static bool related(const work *w, const uint64_t *set, int32_t k, int32_t other)
{
	return set[(size_t)k * w->words + (size_t)other / 64] >> (other % 64) & 1;
}

static int64_t time_of(const work *w, int32_t k, int32_t d)
{
	return berth_op_time(w->p, op_at(w, k), d);
}

static bool legal(const work *w, int32_t k, int32_t d)
{
	return berth_op_legal(w->p, op_at(w, k), d);
}

static int64_t least_of(const int64_t *x, int32_t n)
{
	int64_t least = x[0];
	for (int32_t k = 1; k < n; k++)
		least = x[k] < least ? x[k] : least;
	return least;
}

/* ---- heads and tails ---- */

/* When k has its inputs on d, by the ends [n][devs] of their producers, the window's first operator having
 * ended on `from` at 0. Inputs from outside of the window cost nothing. */
static int64_t ready_at(const work *w, int32_t k, int32_t d, const int64_t *end, int32_t from)
{
	const berth_graph *g = w->p->g;
	int32_t op = op_at(w, k);
	int64_t ready = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], at = g->op_topo[g->tensor_producer[t]];
		int64_t least = NEVER;
		if (w->first != BEGIN && at == w->first)
			least = berth_transfer_ns(w->p, t, from, d);
		else if (w->first != BEGIN && !related(w, w->below, w->first, at))
			continue;
		else
			for (int32_t l = 0; l < w->devs; l++)
				if (end[cell(w, at, l)] < NEVER) {
					int64_t there =
						end[cell(w, at, l)] + berth_transfer_ns(w->p, t, l, d);
					least = there < least ? there : least;
				}
		ready = least > ready ? least : ready;
	}
	return ready;
}

/* Heads of the window with its first operator on `from`; those of a window from the beginning are known. */
static void find_heads(work *w, int32_t from)
{
	const int64_t *end = w->first == BEGIN ? w->end : w->scratch;
	int64_t *head = w->head + cell(w, from * (w->n + 1), 0);
	for (int32_t z = 0; z <= w->size; z++) {
		int32_t k = z < w->size ? w->in[z] : w->last;
		for (int32_t d = 0; d < w->devs && k < w->n; d++) {
			int64_t *at = &head[cell(w, z, d)];
			*at = ready_at(w, k, d, end, from);
			w->scratch[cell(w, k, d)] =
				legal(w, k, d) && *at < NEVER ? *at + time_of(w, k, d) : NEVER;
			if (w->first == BEGIN && z < w->size && legal(w, k, d))
				*at = w->end[cell(w, k, d)] - time_of(w, k, d);
		}
	}
}

/* Least time from the end of k on d to the start of last, by the consumer `other` of tensor t. */
static int64_t way_after(const work *w, int32_t t, int32_t other, int32_t d)
{
	int64_t least = NEVER;
	if (other == w->last)
		return berth_transfer_ns(w->p, t, d, w->to);
	if (!related(w, w->above, w->last, other))
		return 0;
	for (int32_t l = 0; l < w->devs; l++) {
		int64_t way = berth_transfer_ns(w->p, t, d, l) + w->scratch[cell(w, other, l)];
		if (w->scratch[cell(w, other, l)] < NEVER)
			least = way < least ? way : least;
	}
	return least;
}

/* Tails of the window with its last operator on its device. Scratch: with the operator's own time. */
static void find_tails(work *w)
{
	const berth_graph *g = w->p->g;
	for (int32_t z = w->size - 1; z >= 0; z--) {
		int32_t k = w->in[z], op = op_at(w, k);
		for (int32_t d = 0; d < w->devs; d++) {
			int64_t tail = w->last == w->n ? w->after[cell(w, k, d)] : 0;
			for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1] && w->last < w->n;
			     t++)
				BERTH_EACH (e, g->tensor_use_off, t) {
					int64_t way = way_after(w, t, g->op_topo[g->edge_consumer[e]], d);
					tail = way > tail ? way : tail;
				}
			w->tail[cell(w, z, d)] = tail;
			w->scratch[cell(w, k, d)] =
				legal(w, k, d) && tail < NEVER ? tail + time_of(w, k, d) : NEVER;
		}
	}
}

/* ---- loads ---- */

static double load_on(const work *w, int32_t k, int32_t d, int32_t resource)
{
	if (resource < w->devs)
		return d == resource ? (double)time_of(w, k, d) : 0;
	return berth_dev_pool(w->p, d) == resource - w->devs ? (double)berth_op_pool_ns(w->p, op_at(w, k), d)
	                                                     : 0;
}

static double units(const work *w, int32_t resource)
{
	return resource < w->devs ? w->p->s->dev_slots[resource] : 1;
}

/* To whole numbers, as certificates have them. */
static void round_price(const work *w, double *price)
{
	double most = 0;
	for (int32_t r = 0; r < w->resources; r++)
		most = fmax(most, price[r]);
	for (int32_t r = 0; r < w->resources && most > 0; r++)
		price[r] = floor(price[r] / most * (double)BERTH_CERTIFICATE_MOST_PRICE);
}

/* May operator k of the window stand on d, as far as colocation with its ends tells? */
static bool may_stand(const work *w, int32_t k, int32_t d, int32_t from)
{
	const int32_t *coloc = w->p->op_coloc;
	int32_t own = coloc[op_at(w, k)];
	return legal(w, k, d) && (w->first == BEGIN || d == from || own != coloc[op_at(w, w->first)]) &&
	       (w->last == w->n || d == w->to || own != coloc[op_at(w, w->last)]);
}

/* Where the window's operators fit if it takes length_ns, and how long each resource is there for them.
 * False: one fits nowhere. */
static bool find_room(work *w, int32_t from, int64_t length_ns, double *room)
{
	const int64_t *head = w->head + cell(w, from * (w->n + 1), 0);
	int64_t first[2 * MOST_DEVS], last[2 * MOST_DEVS];
	for (int32_t r = 0; r < w->resources; r++)
		first[r] = last[r] = NEVER;
	for (int32_t z = 0; z < w->size; z++) {
		bool any = false;
		for (int32_t d = 0; d < w->devs; d++) {
			int64_t before = head[cell(w, z, d)], behind = w->tail[cell(w, z, d)];
			w->share[cell(w, z, d)] = -1;
			if (!may_stand(w, w->in[z], d, from) || before >= NEVER || behind >= NEVER ||
			    before + time_of(w, w->in[z], d) + behind > length_ns)
				continue;
			w->share[cell(w, z, d)] = (double)time_of(w, w->in[z], d);
			any = true;
			for (int32_t r = d; r >= 0; r = r < w->devs && berth_dev_pool(w->p, d) >= 0
			                                        ? w->devs + berth_dev_pool(w->p, d)
			                                        : -1) {
				first[r] = before < first[r] ? before : first[r];
				last[r] = behind < last[r] ? behind : last[r];
			}
		}
		if (!any)
			return false;
	}
	for (int32_t r = 0; r < w->resources; r++)
		room[r] = first[r] < NEVER && first[r] + last[r] < length_ns
		                  ? units(w, r) * (double)(length_ns - first[r] - last[r])
		                  : 0;
	return true;
}

/* Do the loads at these prices need more than there is room for? */
static bool too_much(const work *w, const double *price, const double *room)
{
	double sum = 0, most = 0;
	for (int32_t r = 0; r < w->resources; r++)
		most += price[r] * room[r];
	for (int32_t z = 0; z < w->size; z++) {
		double least = INFINITY;
		for (int32_t d = 0; d < w->devs; d++) {
			double share = w->share[cell(w, z, d)];
			int32_t pool = berth_dev_pool(w->p, d);
			if (share < 0)
				continue;
			share *= price[d];
			if (pool >= 0)
				share += price[w->devs + pool] * load_on(w, w->in[z], d, w->devs + pool);
			least = share < least ? share : least;
		}
		sum += least;
	}
	return sum * BERTH_DOWN > most * (2 - BERTH_DOWN);
}

/* Is it proven that length_ns is too short for the window with first on `from`? told: by which price. */
static bool does_not_fit(work *w, int32_t from, int64_t length_ns)
{
	double room[2 * MOST_DEVS];
	berth_bound_spend(w->budget, 3 * (int64_t)w->size * w->devs);
	if (!find_room(w, from, length_ns, room))
		return true;
	for (int32_t i = 0; i < w->n_prices; i++) {
		int32_t k = (i + w->lucky) % w->n_prices;
		if (!too_much(w, w->price[k], room))
			continue;
		w->lucky = w->told[from] = k;
		berth_bound_spend(w->budget, (int64_t)(i + 1) * w->size * w->devs);
		return true;
	}
	berth_bound_spend(w->budget, (int64_t)w->n_prices * w->size * w->devs);
	return false;
}

/* ---- windows ---- */

static int64_t end_of_first(const work *w, int32_t d)
{
	return w->first == BEGIN ? (d == 0 ? 0 : NEVER) : w->end[cell(w, w->first, d)];
}

/* Is it proven that last does not end on its device by end_ns, wherever first is? */
static bool is_later(work *w, int64_t end_ns)
{
	int64_t time = w->last < w->n ? time_of(w, w->last, w->to) : 0;
	for (int32_t i = 0; i < w->devs; i++) {
		int32_t d = (i + w->slack_dev) % w->devs;
		int64_t start = end_of_first(w, d), length = end_ns - time - start;
		w->told[d] = -1;
		if (start >= NEVER || length < 0)
			continue;
		if (w->last < w->n && w->head[cell(w, d * (w->n + 1) + w->size, w->to)] > length)
			continue;
		if (!does_not_fit(w, d, length)) {
			w->slack_dev = d;
			return false;
		}
	}
	return true;
}

/* Raise the earliest end of last on its device, to a PARTS-th part. */
static void raise_end(work *w)
{
	int64_t *end = &w->end[cell(w, w->last, w->to)], low = *end - 1, step = *end / 256 + 1;
	if (*end >= NEVER || !is_later(w, *end))
		return;
	low = *end;
	while (low + step < NEVER / 2 && is_later(w, low + step)) {
		low += step;
		step *= 2;
	}
	for (int64_t high = low + step; high - low > 1 + low / PARTS;) {
		int64_t middle = low + (high - low) / 2;
		if (is_later(w, middle))
			low = middle;
		else
			high = middle;
	}
	*end = low + 1;
	w->by[cell(w, w->last, w->to)] = w->first;
}

static void find_inside(work *w, int32_t first, int32_t last)
{
	w->first = first;
	w->last = last;
	w->size = 0;
	for (int32_t k = first + 1; k < last; k++)
		if ((w->first == BEGIN || related(w, w->below, w->first, k)) &&
		    (w->last == w->n || related(w, w->above, w->last, k)))
			w->in[w->size++] = k;
}

/* Prices and heads of what is inside. */
static void open_window(work *w)
{
	/* Prices to try: one over what all of the window takes of a resource, for each set of the first
	 * resources left out; those of the load dual. */
	int32_t masks = 1 << (w->resources < w->masks ? w->resources : w->masks);
	double base[2 * MOST_DEVS];
	for (int32_t r = 0; r < w->resources; r++) {
		double sum = 0;
		for (int32_t z = 0; z < w->size; z++)
			for (int32_t d = 0; d < w->devs; d++)
				sum += legal(w, w->in[z], d) ? load_on(w, w->in[z], d, r) : 0;
		base[r] = sum > 0 ? units(w, r) / sum : 0;
	}
	memcpy(w->price[0], w->mu, sizeof w->price[0]);
	w->n_prices = 1;
	for (int32_t mask = 0; mask < masks - 1; mask++) {
		double *price = w->price[w->n_prices++];
		for (int32_t r = 0; r < w->resources; r++)
			price[r] = r < w->masks && (mask >> r & 1) ? 0 : base[r];
	}
	for (int32_t k = 0; k < w->n_prices; k++)
		round_price(w, w->price[k]);
	w->lucky = 0;
	for (int32_t d = 0; d < w->devs; d++)
		if (end_of_first(w, d) < NEVER)
			find_heads(w, d);
}

static void try_window(work *w, int32_t first, int32_t last)
{
	int64_t degree = 2 * (int64_t)w->devs * w->devs * w->devs;
	find_inside(w, first, last);
	if (w->size < 2 || !berth_bound_spend(w->budget, 2 * w->size * degree))
		return;
	open_window(w);
	for (int32_t e = 0; e < (last < w->n ? w->devs : 1); e++)
		if (last == w->n || legal(w, last, e)) {
			w->to = e;
			find_tails(w);
			raise_end(w);
		}
}

/* Sum of the least times between two operators, and their number; INSIDE + 1: too many. */
static double work_between(const work *w, int32_t u, int32_t v, int32_t *n)
{
	const uint64_t *below = w->below + (size_t)u * w->words, *above = w->above + (size_t)v * w->words;
	double sum = 0;
	*n = 0;
	for (size_t i = (size_t)u / 64; i <= (size_t)v / 64; i++) {
		uint64_t both = below[i] & above[i];
		*n += __builtin_popcountll(both);
		if (*n > INSIDE)
			return 0;
		for (; both; both &= both - 1)
			sum += w->least_ns[i * 64 + (size_t)__builtin_ctzll(both)];
	}
	return sum;
}

/* Keep a candidate among those of its size, the best first. */
static void keep(candidate *of_size, candidate c)
{
	int32_t k = KEPT - 1;
	if (c.gain <= of_size[k].gain)
		return;
	for (; k > 0 && of_size[k - 1].gain < c.gain; k--)
		of_size[k] = of_size[k - 1];
	of_size[k] = c;
}

/* All windows that end in operators, `kept` of each size, with prices that leave out up to `masks`
 * resources. */
static void pass(work *w, int32_t kept, int32_t masks)
{
	w->masks = masks;
	for (int32_t v = 0; v < w->n; v++) {
		/* Ends of v by its inputs alone, where they are not known to be later. */
		w->first = BEGIN;
		for (int32_t d = 0; d < w->devs; d++) {
			int64_t ready = legal(w, v, d) ? ready_at(w, v, d, w->end, 0) : NEVER;
			int64_t end = ready < NEVER ? ready + time_of(w, v, d) : NEVER,
				*at = &w->end[cell(w, v, d)];
			if (end > *at) {
				*at = end;
				w->by[cell(w, v, d)] = NONE;
			}
		}
		if (!berth_bound_spend(w->budget, REACH))
			continue;
		/* Windows that end in v, into found. */
		double end = (double)least_of(w->end + cell(w, v, 0), w->devs);
		memset(w->found, 0, sizeof w->found);
		for (int32_t u = v - 1; u >= 0 && u >= v - REACH; u--) {
			int32_t n, size = 0;
			if (!related(w, w->above, v, u))
				continue;
			double sum = work_between(w, u, v, &n),
			       before = (double)least_of(w->end + cell(w, u, 0), w->devs);
			if (n < 2 || n > INSIDE)
				continue;
			while (SMALLEST << size < n)
				size++;
			keep(w->found + size * KEPT,
			     (candidate){u, size, before + sum + w->least_ns[v] - end});
		}
		for (int32_t k = 0; k < SIZES * KEPT; k++)
			if (k % KEPT < kept && w->found[k].gain > 0)
				try_window(w, w->found[k].first, v);
	}
}

static int32_t n_related(const work *w, int32_t k)
{
	int32_t n = 0;
	for (size_t i = 0; i < w->words; i++)
		n += __builtin_popcountll(w->above[(size_t)k * w->words + i] |
		                          w->below[(size_t)k * w->words + i]);
	return n;
}

/* ---- certificates ---- */

/* Claim the end of `last` on its device by the window that raised it. Ends before it have only grown since,
 * so it is still proven, but where these tell as much. */
static berth_status claim_end(work *w, int32_t first, berth_window_proof *proof, berth_err *err)
{
	int64_t end = w->end[cell(w, w->last, w->to)];
	find_tails(w);
	if (!is_later(w, end - 1))
		return BERTH_OK;
	berth_window_claim c = {.first = first == BEGIN ? -1 : op_at(w, first),
	                        .last = w->last == w->n ? -1 : op_at(w, w->last),
	                        .to = w->to,
	                        .bound_ns = end};
	return berth_window_proof_add(proof, c, w->price[0], 2 * MOST_DEVS, w->told, err);
}

/* All claims, as far as they are wanted: each by one window, with ends as they are in the end. */
static berth_status certify(work *w, int64_t lower_ns, berth_bound_proof *x, berth_arena *tmp, berth_err *err)
{
	berth_bound_work all = {.left_ns = BERTH_BOUND_ALL};
	berth_window_proof proof = {.p = w->p, .x = x};
	if (!x || x->load || (x->any && x->best.bound_ns >= lower_ns))
		return BERTH_OK;
	w->budget = &all;
	w->masks = MASKS;
	for (int32_t v = 0; v <= w->n; v++)
		for (w->to = 0; w->to < (v < w->n ? w->devs : 1); w->to++) {
			int32_t first = w->by[cell(w, v, w->to)];
			if (first == NONE)
				continue;
			find_inside(w, first, v);
			open_window(w);
			BERTH_TRY(claim_end(w, first, &proof, err));
		}
	return berth_window_proof_offer(&proof, tmp, err);
}

/* ---- all of it ---- */

static void find_least(work *w)
{
	for (int32_t k = 0; k < w->n; k++) {
		double least = INFINITY;
		for (int32_t d = 0; d < w->devs; d++)
			if (legal(w, k, d))
				least = fmin(least, (double)time_of(w, k, d));
		w->least_ns[k] = isfinite(least) ? least : 0;
	}
}

static berth_status bound(work *w, berth_arena *mem, int64_t *lower_ns, berth_err *err)
{
	size_t n = (size_t)w->n, devs = (size_t)w->devs;
	BERTH_TRY_NEW(mem, n * w->words, err, w->above, w->below);
	BERTH_TRY_NEW(mem, (n + 1) * devs, err, w->end, w->by);
	BERTH_TRY_NEW(mem, n * devs, err, w->after);
	BERTH_TRY_NEW(mem, n, err, w->least_ns, w->in);
	BERTH_TRY_NEW(mem, devs * (n + 1) * devs, err, w->head);
	BERTH_TRY_NEW(mem, n * devs, err, w->tail, w->share, w->scratch);
	BERTH_TRY(berth_load_prices(w->p, w->mu, mem, err));
	for (size_t k = 0; k < (n + 1) * devs; k++)
		w->by[k] = NONE;
	const berth_graph *g = w->p->g;
	for (int32_t k = 0; k < w->n; k++) {
		uint64_t *row = w->above + (size_t)k * w->words;
		int32_t op = op_at(w, k);
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t from = g->op_topo[g->tensor_producer[g->in_tensor[i]]];
			for (size_t word = 0; word < w->words; word++)
				row[word] |= w->above[(size_t)from * w->words + word];
			row[from / 64] |= UINT64_C(1) << (from % 64);
		}
		for (size_t word = 0; word < w->words; word++)
			for (uint64_t left = row[word]; left; left &= left - 1)
				w->below[(word * 64 + (size_t)__builtin_ctzll(left)) * w->words +
				         (size_t)k / 64] |= UINT64_C(1) << (k % 64);
	}
	find_least(w);
	/* [n_ops][devs] by operator to [n][devs] by place. */
	berth_ceft_tails(w->p, NULL, w->scratch);
	for (int32_t k = 0; k < w->n; k++)
		BERTH_COPY(w->after + cell(w, k, 0), w->scratch + cell(w, op_at(w, k), 0), w->devs);
	pass(w, 1, FEW);
	pass(w, KEPT, MASKS);
	/* Windows to the end of the run, from operators that most others stand before or after, and from its
	 * beginning. */
	int64_t *end = &w->end[cell(w, w->n, 0)];
	int32_t stretch = w->n / ENDS + 1;
	for (int32_t k = 0; k < w->n; k++) {
		int64_t least = least_of(w->end + cell(w, k, 0), w->devs);
		*end = least < NEVER && least > *end ? least : *end;
	}
	for (int32_t from = w->n - 1; from >= 0; from -= stretch) {
		int32_t best = from;
		for (int32_t k = from; k > from - stretch && k >= 0; k--)
			best = n_related(w, k) > n_related(w, best) ? k : best;
		try_window(w, best, w->n);
	}
	try_window(w, BEGIN, w->n);
	*lower_ns = w->end[cell(w, w->n, 0)];
	return certify(w, *lower_ns, w->budget->proof, mem, err);
}

berth_status berth_bounds_windows(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                  int64_t *lower_ns, berth_err *err)
{
	bool all = budget->left_ns >= BERTH_BOUND_ALL;
	berth_bound_work half = {.left_ns = all ? budget->left_ns : budget->left_ns / 2,
	                         .proof = budget->proof};
	int64_t before = half.left_ns;
	size_t words = ((size_t)p->n_ops + 63) / 64;
	berth_arena mem;
	work *w;
	*lower_ns = 0;
	if (p->n_ops < 3 || p->n_ops > MOST_OPS || p->n_devs > MOST_DEVS || p->n_pools > MOST_DEVS ||
	    berth_problem_feasible(p, NULL) != BERTH_OK)
		return BERTH_OK;
	if (!berth_bound_spend(&half, (int64_t)words * p->n_ops * 2)) {
		budget->cut = true;
		return BERTH_OK;
	}
	berth_arena_init(&mem, tmp->hook);
	berth_status st = BERTH_NEW(&mem, w, 1, err);
	if (st == BERTH_OK) {
		*w = (work){.p = p,
		            .budget = &half,
		            .n = p->n_ops,
		            .devs = p->n_devs,
		            .resources = berth_n_resources(p),
		            .words = words};
		st = bound(w, &mem, lower_ns, err);
	}
	berth_arena_free(&mem);
	berth_bound_spend(budget, before - half.left_ns);
	budget->cut |= half.cut;
	return st;
}
