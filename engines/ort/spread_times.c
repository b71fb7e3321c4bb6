/* See spread_times.h. Nodes are named by their numbers (spread_label.h); what the library makes of one adds
 * to its name. */
#include "spread_times.h"

#include "fused_host.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
	ort_spread *p;
	const kernel_times *t;
	berth_arena *tmp;
	int32_t *node_op;        /* [n_nodes] -1: it is no operator */
	int32_t *own;            /* [n_ops] kernel of the file; -1: none */
	int32_t *outer, n_outer; /* kernels of operators with bodies */
	fused_hosts hosts;
} reading;

static const char *type_of(const ort_model *m, int32_t op)
{
	return m->onnx.node[m->op_node[op]].type;
}

/* The operator that a kernel is named after. -1: none. */
static int32_t op_of(const reading *r, const char *name)
{
	const size_t head = strlen(SPREAD_NODE);
	char *end;
	if (strncmp(name, SPREAD_NODE, head) != 0 || !isdigit((unsigned char)name[head]))
		return -1;
	long node = strtol(name + head, &end, 10);
	return isalnum((unsigned char)*end) || node >= (long)r->p->m->onnx.n_nodes ? -1 : r->node_op[node];
}

static int32_t device_of(const ort_spread *p, const char *provider)
{
	for (int32_t d = 0; d < p->n_devs; d++)
		if (strcmp(p->dev[d].provider.name, provider) == 0)
			return d;
	return -1;
}

/* How sure is it that the kernel is the operator's own, and not one beside it or in its body? */
static double rank(const reading *r, int32_t op, const kernel_time *k)
{
	const char *number = k->name + strlen(SPREAD_NODE);
	bool whole = number[strspn(number, "0123456789")] == '\0';
	bool same = strcmp(k->type, type_of(r->p->m, op)) == 0;
	return (whole ? 2e12 : 0) + (same ? 1e12 : 0) + k->took_us;
}

static berth_status find_own(reading *r, berth_err *err)
{
	const ort_model *m = r->p->m;
	BERTH_TRY(BERTH_NEW(r->tmp, r->node_op, m->onnx.n_nodes, err));
	BERTH_TRY(BERTH_NEW(r->tmp, r->own, m->n_ops, err));
	memset(r->node_op, -1, m->onnx.n_nodes * sizeof *r->node_op);
	memset(r->own, -1, (size_t)m->n_ops * sizeof *r->own);
	for (int32_t op = 0; op < m->n_ops; op++)
		r->node_op[m->op_node[op]] = op;
	for (int32_t i = 0; i < r->t->n; i++) {
		int32_t op = op_of(r, r->t->kernel[i].name);
		if (op >= 0 && (r->own[op] < 0 ||
		                rank(r, op, &r->t->kernel[i]) > rank(r, op, &r->t->kernel[r->own[op]])))
			r->own[op] = i;
	}
	return BERTH_OK;
}

/* Did kernel i run inside of that of an operator with bodies (If, Loop, Scan)? O(such operators). */
static bool is_inside(const reading *r, int32_t i)
{
	const kernel_time *k = &r->t->kernel[i];
	for (int32_t b = 0; b < r->n_outer; b++) {
		const kernel_time *o = &r->t->kernel[r->outer[b]];
		if (k != o && k->at_us >= o->at_us && k->at_us + k->took_us <= o->at_us + o->took_us)
			return true;
	}
	return false;
}

static berth_status find_outer(reading *r, berth_err *err)
{
	static const char *const types[] = {"If", "Loop", "Scan"};
	const ort_model *m = r->p->m;
	BERTH_TRY(BERTH_NEW(r->tmp, r->outer, m->n_ops, err));
	for (int32_t op = 0; op < m->n_ops; op++)
		for (size_t t = 0; t < sizeof types / sizeof *types && r->own[op] >= 0; t++)
			if (strcmp(type_of(m, op), types[t]) == 0)
				r->outer[r->n_outer++] = r->own[op];
	return BERTH_OK;
}

/* ---- kernels ---- */

static berth_status check_device(const reading *r, int32_t op, const kernel_time *k, int32_t dev,
                                 berth_err *err)
{
	const ort_spread *p = r->p;
	const ort_model *m = p->m;
	if (dev >= 0 && (op < 0 || dev == p->placement[op] || strcmp(k->type, type_of(m, op)) != 0))
		return BERTH_OK;
	if (op < 0)
		return berth_fail(err, BERTH_EFORMAT, "a %.40s runs in %.60s, which none of --providers is",
		                  k->type, *k->provider ? k->provider : "no provider that is told");
	return berth_fail(err, BERTH_EFORMAT,
	                  "operator '%.80s' (%.40s) runs in %.60s, and not in %.60s as the plan says, which "
	                  "does not take it",
	                  m->onnx.node[m->op_node[op]].name, k->type, k->provider,
	                  p->dev[p->placement[op]].provider.name);
}

static berth_status add_kernels(reading *r, berth_err *err)
{
	ort_spread *p = r->p;
	BERTH_TRY(BERTH_NEW(&p->mem, p->kernel, r->t->n + p->m->n_ops, err));
	for (int32_t i = 0; i < r->t->n; i++) {
		const kernel_time *k = &r->t->kernel[i];
		int32_t named = op_of(r, k->name), op = named >= 0 && r->own[named] == i ? named : -1;
		int32_t dev = device_of(p, k->provider);
		if (is_inside(r, i))
			continue;
		BERTH_TRY(check_device(r, op, k, dev, err));
		spread_kernel x = {.op = op, .in = -1, .dev = dev};
		x.from = fmin(k->at_us / r->t->took_us, 1);
		x.to = fmin((k->at_us + k->took_us) / r->t->took_us, 1);
		if (!(x.type = berth_arena_strdup(&p->mem, k->type)))
			return berth_nomem(err);
		p->kernel[p->n_kernels++] = x;
		if (op >= 0)
			r->hosts.kernel[op] = x.type;
	}
	return BERTH_OK;
}

static int by_start(const void *a, const void *b)
{
	const spread_kernel *x = a, *y = b;
	int by_from = (x->from > y->from) - (x->from < y->from);
	return by_from ? by_from : (x->op > y->op) - (x->op < y->op);
}

static berth_status add_fused(reading *r, berth_err *err)
{
	ort_spread *p = r->p;
	int32_t n = p->n_kernels, *at;
	BERTH_TRY(BERTH_NEW(r->tmp, at, p->m->n_ops, err));
	BERTH_TRY(BERTH_NEW(&p->mem, p->elsewhere, p->m->n_ops, err));
	for (int32_t i = 0; i < n; i++)
		if (p->kernel[i].op >= 0)
			at[p->kernel[i].op] = i;
	for (int32_t op = 0; op < p->m->n_ops; op++) {
		int32_t host = r->hosts.kernel[op] ? op : fused_host(&r->hosts, op);
		if (host < 0)
			continue;
		spread_kernel x = p->kernel[at[host]];
		if (x.dev != p->placement[op])
			p->elsewhere[p->n_elsewhere++] = op;
		if (host == op)
			continue;
		x.op = op;
		x.in = host;
		p->kernel[p->n_kernels++] = x;
	}
	return BERTH_OK;
}

/* ---- pieces ---- */

/* Operators by their kernels' starts. Those that were folded away come first. */
static berth_status order_ops(reading *r, spread_kernel **out, berth_err *err)
{
	ort_spread *p = r->p;
	spread_kernel *op;
	BERTH_TRY(BERTH_NEW(r->tmp, op, p->m->n_ops, err));
	for (int32_t i = 0; i < p->m->n_ops; i++)
		op[i] = (spread_kernel){.op = i, .in = -1, .dev = p->placement[i]};
	for (int32_t i = 0; i < p->n_kernels; i++) {
		spread_kernel *x = p->kernel[i].op >= 0 ? &op[p->kernel[i].op] : NULL;
		if (!x)
			continue;
		x->from = p->kernel[i].from;
		x->to = p->kernel[i].dev == x->dev && p->kernel[i].in < 0 ? p->kernel[i].to : x->from;
	}
	qsort(op, (size_t)p->m->n_ops, sizeof *op, by_start);
	*out = op;
	return BERTH_OK;
}

static berth_status make_pieces(reading *r, berth_err *err)
{
	ort_spread *p = r->p;
	spread_kernel *op;
	int32_t *list;
	BERTH_TRY(order_ops(r, &op, err));
	BERTH_TRY(BERTH_NEW(&p->mem, list, p->m->n_ops, err));
	BERTH_TRY(BERTH_NEW(&p->mem, p->piece, p->m->n_ops, err));
	for (int32_t i = 0; i < p->m->n_ops; i++) {
		spread_piece *s = p->n_pieces ? &p->piece[p->n_pieces - 1] : NULL;
		list[i] = op[i].op;
		if (!s || s->dev != op[i].dev) {
			s = &p->piece[p->n_pieces++];
			*s = (spread_piece){op[i].dev, 0, &list[i], op[i].from, op[i].to};
		}
		s->n_ops++;
		s->to = fmax(s->to, op[i].to);
	}
	return BERTH_OK;
}

berth_status spread_times_read(ort_spread *p, const kernel_times *t, berth_arena *tmp, berth_err *err)
{
	reading r = {.p = p, .t = t, .tmp = tmp};
	if (!t->n)
		return berth_fail(err, BERTH_EIO, "ONNX Runtime left no times of kernels");
	BERTH_TRY(fused_hosts_new(p->m, tmp, &r.hosts, err));
	BERTH_TRY(find_own(&r, err));
	BERTH_TRY(find_outer(&r, err));
	BERTH_TRY(add_kernels(&r, err));
	qsort(p->kernel, (size_t)p->n_kernels, sizeof *p->kernel, by_start);
	BERTH_TRY(add_fused(&r, err));
	return make_pieces(&r, err);
}
