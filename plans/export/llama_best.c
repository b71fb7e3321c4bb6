/* The best plan in whole layers that llama.cpp can be told, and a bound of all of them: shortest paths over
 * layers and sets of devices. Memory of a run is a difference of sums, and what is held back for buffers. */
#include "llama_units.h"

/* Sets of devices, as many of each kind: beyond, the last kinds are left out. */
enum { MOST_SETS = 1024, MOST_KINDS = 64, MOST_TRIALS = 100 };

/* What buffers of a run depend on: the last layer is in it, the output behind layers, the output alone; no
 * device is before it; the CPU has none and others have some; experts are apart. */
enum { LAST = 1, ENDS = 2, ALONE = LAST | ENDS, FIRST = 4, ALL = 8, APART = 16, ROLES = 32 };

/* Where a path came from: the unit that the newest run begins with, the column of the run before, layers with
 * experts apart. */
typedef struct step {
	int16_t begin, before, apart;
} step;

typedef struct best {
	const berth_export_source *x;
	const berth_gguf_list *file;
	llama_units u;
	llama_index ix;
	int32_t n_kinds;        /* that are used */
	int32_t stride[MOST_KINDS], n_sets;
	int64_t *reserve;       /* [n_kinds + 1][ROLES] bytes */
	bool lower;             /* a bound, not a plan */
	bool embed_apart;       /* the embedding cannot be on the CPU, and goes to the first device */
	int64_t *ns; /* [n_sets][n + 1][n_kinds + 1][2] of the units in front; 1: none on the CPU */
	step *from;
	llama_plan plan;
	int32_t *run_kind;      /* [n_devs of the plan] */
	unsigned *run_role;
	berth_arena *tmp;
	berth_err *err;
} best;

static size_t cell(const best *b, int32_t set, int32_t unit, int32_t last, int all)
{
	return ((size_t)(set * (b->u.n + 1) + unit) * (size_t)(b->n_kinds + 1) + (size_t)last) * 2 +
	       (size_t)all;
}

/* The column of kind k in the tables; the CPU is behind all kinds there. */
static int32_t column(const best *b, int32_t k)
{
	return k < b->n_kinds ? k : b->u.n_kinds;
}

static int64_t border_ns(const best *b, int32_t unit, int32_t from, int32_t to)
{
	int32_t n = b->u.n_kinds + 1;
	return BERTH_ROW(b->u.border_ns, unit * n + column(b, from), n)[column(b, to)];
}

static int64_t limit_of(const best *b, int32_t k)
{
	int32_t dev = k < b->n_kinds ? b->u.kind_dev[b->u.kind_off[k]] : b->u.cpu;
	return dev < 0 ? 0 : k == b->n_kinds && b->u.has_disk ? -1 : b->x->p->dev_limit_bytes[dev];
}

/* ---- the cost of a run ---- */

/* The fewest layers from unit `begin` on whose experts make that many bytes; -1: not all of them do. */
static int32_t layers_apart(const best *b, int32_t begin, int32_t end, int64_t bytes)
{
	const int64_t *sum = b->u.expert_bytes;
	int32_t low = begin, high = end;
	if (sum[end] - sum[begin] < bytes)
		return -1;
	while (low < high) {
		int32_t middle = low + (high - low) / 2;
		if (sum[middle] - sum[begin] >= bytes)
			high = middle;
		else
			low = middle + 1;
	}
	return low - begin;
}

/* Nanoseconds of units begin .. end - 1 on a device of kind k, or LLAMA_NEVER; *apart: layers with experts on
 * the CPU. */
static int64_t run_ns(const best *b, int32_t k, int32_t begin, int32_t end, unsigned role, int32_t *apart)
{
	const llama_units *u = &b->u;
	const int64_t *ns = BERTH_ROW(b->lower ? u->least_ns : u->whole_ns, column(b, k), u->n + 1),
		      *add = BERTH_ROW(u->apart_ns, column(b, k), u->n + 1),
		      *reserve = BERTH_ROW(b->reserve, k, ROLES);
	int64_t sum = ns[end] - ns[begin], limit = limit_of(b, k),
		needs = u->bytes[end] - u->bytes[begin] + reserve[role];
	bool embeds = role & FIRST && begin == 0 && b->embed_apart;
	if (k == b->n_kinds && limit >= 0)
		limit = limit < u->forced_bytes ? 0 : limit - u->forced_bytes;
	*apart = 0;
	if (embeds) {
		sum += u->embed_ns[column(b, k)];
		needs += u->tied ? 0 : u->embed_bytes;
		if (u->tied && end < u->n)
			return LLAMA_NEVER;
	}
	if (limit < 0 || needs <= limit || k == b->n_kinds)
		return limit < 0 || needs <= limit ? sum : LLAMA_NEVER;
	needs += reserve[role | APART] - reserve[role] - limit;
	needs = needs < 1 ? 1 : needs;
	*apart = layers_apart(b, begin, end, needs);
	if (*apart < 0)
		return LLAMA_NEVER;
	if (b->lower)
		return sum + (int64_t)(u->apart_rate[k] * (double)needs);
	return sum + add[begin + *apart] - add[begin];
}

/* ---- paths ---- */

/* Behind a run of column `before`. Inputs of one device alone stand once. */
static unsigned role_of(const best *b, int32_t before, int32_t begin, int32_t end, int all)
{
	int32_t n = b->u.n;
	unsigned tail = end == n - 1 ? LAST : end < n ? 0U : begin == n - 1 ? ALONE : ENDS;
	return tail | (before == b->n_kinds ? FIRST : 0U) | (all && (begin > 0 || end < n) ? ALL : 0U);
}

static void begin(const best *b)
{
	int64_t embed = b->embed_apart ? 0 : b->u.embed_ns[b->u.n_kinds];
	int32_t cpu = b->n_kinds, apart;
	size_t n_cells = cell(b, b->n_sets, 0, 0, 0);
	for (size_t i = 0; i < n_cells; i++)
		b->ns[i] = LLAMA_NEVER;
	b->ns[cell(b, 0, 0, cpu, 1)] = embed;
	for (int32_t n = 1; n <= b->u.n && b->u.cpu >= 0 && !b->embed_apart; n++) {
		int64_t ns = run_ns(b, cpu, 0, n, n == b->u.n ? ENDS : 0, &apart);
		b->ns[cell(b, 0, n, cpu, 0)] = ns < LLAMA_NEVER ? embed + ns : LLAMA_NEVER;
	}
}

/* All runs of a device of kind k from a unit on, behind the quickest way there. */
static void add_runs(const best *b, int32_t set, int32_t unit, int32_t k, int all)
{
	int64_t least = LLAMA_NEVER;
	int32_t before = -1, apart;
	for (int32_t last = 0; last <= b->n_kinds; last++) {
		int64_t ns = b->ns[cell(b, set, unit, last, all)];
		bool none = unit == 0 && b->embed_apart; /* nothing is in front */
		ns += ns < LLAMA_NEVER && !none ? border_ns(b, unit, last, k) : 0;
		if (ns < least) {
			least = ns;
			before = last;
		}
	}
	for (int32_t end = unit + 1; least < LLAMA_NEVER && end <= b->u.n; end++) {
		int64_t ns = run_ns(b, k, unit, end, role_of(b, before, unit, end, all), &apart);
		size_t to = cell(b, set + b->stride[k], end, k, all);
		if (ns >= LLAMA_NEVER || least + ns >= b->ns[to])
			continue;
		b->ns[to] = least + ns;
		b->from[to] = (step){(int16_t)unit, (int16_t)before, (int16_t)apart};
	}
}

static int32_t count_of(const best *b, int32_t k)
{
	return b->u.kind_off[k + 1] - b->u.kind_off[k];
}

/* Devices of kind k in a set. */
static int32_t used_of(const best *b, int32_t set, int32_t k)
{
	return set / b->stride[k] % (count_of(b, k) + 1);
}

/* The cell of the quickest path through all units; its value may be LLAMA_NEVER. */
static size_t find_path(const best *b)
{
	begin(b);
	for (int32_t set = 0; set < b->n_sets; set++)
		for (int32_t k = 0; k < b->n_kinds; k++)
			for (int32_t unit = 0; used_of(b, set, k) < count_of(b, k) && unit < b->u.n; unit++) {
				add_runs(b, set, unit, k, 0);
				add_runs(b, set, unit, k, 1);
			}
	size_t end = cell(b, 0, b->u.n, b->n_kinds, 0);
	for (int32_t set = 0; set < b->n_sets; set++)
		for (int32_t last = 0; last < b->n_kinds; last++)
			for (int all = 0; all < 2; all++)
				if (b->ns[cell(b, set, b->u.n, last, all)] < b->ns[end])
					end = cell(b, set, b->u.n, last, all);
	return end;
}

/* ---- plans ---- */

static void put_apart(const best *b, int32_t first, int32_t n)
{
	for (int32_t t = 0; t < b->file->n_tensors; t++) {
		int32_t l = b->ix.layer[t];
		if (l < first || l >= first + n || l >= b->file->n_layers || !llama_is_expert(b->ix.rest[t]))
			continue;
		b->plan.tensor_dev[t] = LLAMA_CPU;
		b->plan.told[t] = true;
	}
}

static void put_embedding(const best *b, int32_t dev)
{
	int32_t t = llama_tensor(b->file, "token_embd.weight");
	if (t < 0 || dev == LLAMA_CPU)
		return;
	b->plan.tensor_dev[t] = dev;
	b->plan.told[t] = true;
}

/* The plan of a path, from its end to its begin. */
static void read_path(best *b, size_t at)
{
	llama_plan *plan = &b->plan;
	int32_t columns = b->n_kinds + 1, all = (int32_t)(at % 2), rest = (int32_t)(at / 2),
		last = rest % columns, end = rest / columns % (b->u.n + 1),
		set = rest / columns / (b->u.n + 1);
	step runs[BERTH_MAX_DEVS];
	plan->n_devs = 0;
	for (int32_t k = 0; k < b->n_kinds; k++)
		plan->n_devs += used_of(b, set, k);
	for (int32_t i = plan->n_devs - 1; i >= 0; i--) {
		runs[i] = b->from[cell(b, set, end, last, all)];
		/* The run of column `last` that ends in front of a unit, as number i of the plan. */
		step s = b->from[cell(b, set, end, last, all)];
		int32_t dev = b->u.kind_dev[b->u.kind_off[last] + used_of(b, set, last) - 1];
		for (int32_t unit = s.begin; unit < end; unit++)
			b->plan.unit_dev[unit] = dev;
		b->plan.dev[i] = dev;
		b->plan.dev_units[i] = end - s.begin;
		b->run_kind[i] = last;
		b->run_role[i] = role_of(b, s.before, s.begin, end, all) | (s.apart ? APART : 0U);
		set -= b->stride[last];
		end = runs[i].begin;
		last = runs[i].before;
	}
	for (int32_t i = 0; i < end; i++)
		plan->unit_dev[i] = LLAMA_CPU;
	llama_plan_follow(plan, b->file, &b->ix);
	for (int32_t i = 0; i < plan->n_devs; i++)
		put_apart(b, runs[i].begin, runs[i].apart);
	for (int32_t i = 0; i < b->u.n; i++)
		if (b->u.forced[i] && plan->unit_dev[i] != LLAMA_CPU)
			put_apart(b, i, 1);
	if (b->embed_apart && plan->n_devs)
		put_embedding(b, plan->dev[0]);
}

/* ---- memory ---- */

/* On the CPU, beside its units: a shared matrix is the output's there. */
static int64_t embedding_bytes(const best *b, unsigned role)
{
	return b->u.cpu < 0 || (b->u.tied && role & ENDS) ? 0 : b->u.embed_bytes;
}

/* Hold back what the buffers of the plan take where it does not fit. */
static berth_status raise_reserves(const best *b, bool *raised)
{
	BERTH_SCRATCH(b->tmp);
	llama_memory *memory;
	bool told;
	int32_t n = b->plan.n_devs;
	*raised = false;
	BERTH_TRY_NEW(b->tmp, n + 1, b->err, memory);
	BERTH_TRY(llama_memory_of(&b->plan, b->file, b->tmp, memory, &told, b->err));
	for (int32_t i = 0; i <= n; i++) {
		int32_t k = i < n ? b->run_kind[i] : b->n_kinds;
		int64_t limit = limit_of(b, k),
			over = memory[i].weights + memory[i].cache + memory[i].compute - limit,
			*reserve = &BERTH_ROW(b->reserve, k, ROLES)[i < n ? b->run_role[i] : n ? 0 : ENDS],
			buffers = memory[i].compute + (i == n ? embedding_bytes(b, n ? 0 : ENDS) : 0);
		if (limit < 0 || over <= 0 || (i == n && b->u.cpu < 0))
			continue;
		*reserve = buffers > *reserve ? buffers : *reserve + over;
		*raised = true;
	}
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status allocate(best *b)
{
	int32_t n_devs = b->x->s->n_devs;
	llama_plan *p = &b->plan;
	*p = (llama_plan){.n_layers = b->file->n_layers};
	b->n_sets = 1;
	for (; b->n_kinds < b->u.n_kinds && b->n_kinds < MOST_KINDS; b->n_kinds++) {
		if (b->n_sets * (count_of(b, b->n_kinds) + 1) > MOST_SETS)
			break;
		b->stride[b->n_kinds] = b->n_sets;
		b->n_sets *= count_of(b, b->n_kinds) + 1;
	}
	size_t n_cells = cell(b, b->n_sets, 0, 0, 0);
	BERTH_TRY_NEW(b->tmp, n_cells, b->err, b->ns, b->from);
	BERTH_TRY_NEW(b->tmp, ((size_t)b->n_kinds + 1) * ROLES, b->err, b->reserve);
	BERTH_TRY_NEW(b->tmp, n_devs, b->err, b->run_kind, b->run_role);
	BERTH_TRY_NEW(b->tmp, p->n_layers + 1, b->err, p->unit_dev);
	BERTH_TRY_NEW(b->tmp, n_devs + 1, b->err, p->dev, p->dev_units);
	BERTH_TRY_NEW(b->tmp, b->file->n_tensors, b->err, p->tensor_dev, p->told);
	return llama_index_new(b->file, b->tmp, &b->ix, b->err);
}

static berth_status refuse(const best *b)
{
	return berth_fail(b->err, BERTH_EINFEASIBLE,
	                  "no plan in whole layers that llama.cpp can be told fits these devices");
}

static berth_status find_best(best *b, int32_t *op_dev, double *bound)
{
	bool raised = true;
	BERTH_TRY(allocate(b));
	b->embed_apart = b->u.embed_ns[b->u.n_kinds] >= LLAMA_NEVER;
	for (int32_t k = 0; k < b->n_kinds; k++)
		for (unsigned role = 0; role < ROLES; role++)
			BERTH_ROW(b->reserve, k, ROLES)[role] = llama_least_buffers(b->file, role & ENDS);
	for (unsigned role = 0; role < ROLES; role++) /* of the CPU: the embedding, too */
		BERTH_ROW(b->reserve, b->n_kinds, ROLES)[role] = embedding_bytes(b, role);
	b->lower = true;
	int64_t least = b->ns[find_path(b)];
	if (least >= LLAMA_NEVER)
		return refuse(b);
	*bound = b->n_kinds == b->u.n_kinds && !b->u.forced_bytes ? (double)least * 1e-9 : NAN;
	b->lower = false;
	for (int trial = 0; raised && trial < MOST_TRIALS; trial++) {
		size_t end = find_path(b);
		if (b->ns[end] >= LLAMA_NEVER)
			return refuse(b);
		read_path(b, end);
		BERTH_TRY(raise_reserves(b, &raised));
	}
	return raised ? refuse(b)
	              : llama_plan_ops(b->x->g, b->file, &b->plan, b->u.cpu, b->tmp, op_dev, b->err);
}

berth_status llama_best(const berth_export_source *x, const berth_gguf_list *file, berth_arena *tmp,
                        int32_t *op_dev, double *bound, berth_err *err)
{
	BERTH_ARENA(mem);
	BERTH_SCRATCH(tmp);
	best b = {.x = x, .file = file, .tmp = tmp, .err = err};
	*bound = NAN;
	BERTH_TRY(llama_units_new(x, file, &mem, tmp, &b.u, err));
	return find_best(&b, op_dev, bound);
}
