/* Makes the arrays that the network reads of a coarsened problem: groups, devices, links and edges, in
 * units of the mean time of a group. */
#include "encode.h"

#include "ceft.h"
#include "coloc.h"
#include "group_cfg.h"
#include "offer_schedule.h"
#include "partial.h"

policy_dims berth_encode_dims(int32_t hidden, int32_t rounds)
{
	return (policy_dims){ENCODE_NODE, ENCODE_EDGE, ENCODE_DEV, ENCODE_PAIR,
	                     ENCODE_LINK, ENCODE_STEP, hidden,     rounds};
}

berth_aim berth_aim_of(const berth_objective *o)
{
	berth_aim aim = {0};
	int n = 0;
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		const berth_metric_row *row = &berth_metrics[m];
		if (!o->sums[m] && !(o->text[0] == 0 && m == BERTH_LATENCY))
			continue;
		aim.time += row->by_load ? 0 : row->of_time;
		aim.load += row->by_load ? row->of_time : 0;
		aim.energy += row->of_energy;
		n++;
	}
	return n ? (berth_aim){aim.time / n, aim.load / n, aim.energy / n} : aim;
}

/* Classes of operator types; the last one is "anything else". */
enum {
	CLASS_CONV,
	CLASS_MATMUL,
	CLASS_RECURRENT,
	CLASS_NORM,
	CLASS_ELEMENTWISE,
	CLASS_POOL,
	CLASS_MOVE,
	CLASS_OTHER,
	N_CLASSES
};

static int class_of(const char *type)
{
	static const struct { const char *part; int class; } part[] = {
		{"Conv", CLASS_CONV}, {"MatMul", CLASS_MATMUL}, {"Gemm", CLASS_MATMUL},
		{"Einsum", CLASS_MATMUL}, {"Attention", CLASS_MATMUL},
		{"LSTM", CLASS_RECURRENT}, {"GRU", CLASS_RECURRENT}, {"RNN", CLASS_RECURRENT},
		{"Norm", CLASS_NORM}, {"Softmax", CLASS_NORM},
		{"Pool", CLASS_POOL}, {"Reduce", CLASS_POOL}, {"Concat", CLASS_MOVE}, {"Split", CLASS_MOVE},
		{"Slice", CLASS_MOVE}, {"Gather", CLASS_MOVE},
		{"Transpose", CLASS_MOVE}, {"Reshape", CLASS_MOVE}, {"Flatten", CLASS_MOVE},
		{"Squeeze", CLASS_MOVE}, {"Pad", CLASS_MOVE},
		{"Update", CLASS_OTHER}, {"Add", CLASS_ELEMENTWISE}, {"Mul", CLASS_ELEMENTWISE},
		{"Sub", CLASS_ELEMENTWISE}, {"Div", CLASS_ELEMENTWISE},
		{"Relu", CLASS_ELEMENTWISE}, {"elu", CLASS_ELEMENTWISE}, {"Tanh", CLASS_ELEMENTWISE},
		{"Sigmoid", CLASS_ELEMENTWISE}, {"Erf", CLASS_ELEMENTWISE},
		{"Clip", CLASS_ELEMENTWISE}, {"Swish", CLASS_ELEMENTWISE}, {"GradSum", CLASS_ELEMENTWISE},
	};
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (strstr(type, part[i].part))
			return part[i].class;
	return CLASS_OTHER;
}

/* Sums over the operators of each group, from which the features are made. */
typedef struct sums {
	double *time; /* [n_groups][n_devs] ns; operators that cannot run there count at their fallback */
	double *mean, *least; /* [n_groups] ns */
	double *params, *bytes; /* [n_groups] */
	double *legal;      /* [n_groups][n_devs] share of operators */
	double *rank_up, *rank_down, *place; /* [n_groups] largest, smallest, mean */
	double *class_time; /* [n_groups][N_CLASSES] */
	double *backward, *n_ops; /* [n_groups] */
	double *ceft;       /* [n_groups][n_devs] latest CEFT of the group's operators */
	double path;        /* longest rank */
	double unit;        /* ns, mean time of a group */
	double mean_params, mean_bytes; /* see mean_of */
	int *type_class;    /* [n_types] */
	double *move_mean, *move_least; /* [n_devs][n_devs] ns of the mean tensor, of the smallest one */
} sums;

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double squash(double x) /* [0, inf) to order 1 */
{
	return log1p(x);
}

static double op_bytes(const berth_problem *p, int32_t op)
{
	const berth_graph *g = p->g;
	double sum = (double)berth_kept_bytes(p, op);
	BERTH_EACH (i, g->op_param_off, op)
		sum += (double)g->param_bytes[g->op_param[i]] /
		       (g->param_op_off[g->op_param[i] + 1] - g->param_op_off[g->op_param[i]]);
	BERTH_EACH (t, g->op_tensor_off, op)
		sum += (double)g->tensor_bytes[t];
	return sum;
}

static void add_op(const berth_encoding *e, const berth_ceft *ceft, const int64_t *down, int32_t op, sums *s)
{
	const berth_problem *p = e->p;
	const berth_graph *g = p->g;
	size_t v = (size_t)e->co.op_group[op], devs = (size_t)e->n_devs;
	double fallback = (double)berth_op_time(p, op, e->op_fallback[op]);
	for (size_t d = 0; d < devs; d++) {
		bool legal = berth_op_legal(p, op, (int32_t)d);
		int64_t finish = ceft->finish_ns[(size_t)op * devs + d];
		s->time[v * devs + d] += legal ? (double)berth_op_time(p, op, (int32_t)d) : fallback;
		s->legal[v * devs + d] += legal;
		if (finish < BERTH_CEFT_NEVER)
			s->ceft[v * devs + d] = fmax(s->ceft[v * devs + d], (double)finish);
	}
	s->mean[v] += (double)p->op_mean_ns[op];
	s->least[v] += fallback;
	s->params[v] += (double)(g->op_param_bytes[op] + g->op_state_bytes[op]);
	s->bytes[v] += op_bytes(p, op);
	s->rank_up[v] = fmax(s->rank_up[v], (double)p->op_rank_ns[op]);
	s->rank_down[v] = s->n_ops[v] > 0 ? fmin(s->rank_down[v], (double)down[op]) : (double)down[op];
	s->place[v] += (double)g->op_topo[op];
	int class = g->op_type[op] >= 0 ? s->type_class[g->op_type[op]] : CLASS_OTHER;
	s->class_time[v * N_CLASSES + (size_t)class] += (double)p->op_mean_ns[op];
	s->backward[v] += g->op_backward[op];
	s->n_ops[v] += 1;
	s->path = fmax(s->path, (double)p->op_rank_ns[op]);
}

/* Mean of x over groups; 1 where that is 0. */
static double mean_of(const double *x, int32_t n)
{
	double sum = 0;
	for (int32_t i = 0; i < n; i++)
		sum += x[i];
	return sum > 0 ? sum / n : 1;
}

/* Routed times between two devices of the mean tensor, and of the smallest one. */
static berth_status find_moves(const berth_problem *p, sums *s, berth_arena *tmp, berth_err *err)
{
	size_t cells = (size_t)p->n_devs * (size_t)p->n_devs, smallest = 0;
	BERTH_TRY_NEW(tmp, cells, err, s->move_mean, s->move_least);
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		for (size_t i = 0; i < cells; i++)
			s->move_mean[i] += (double)p->class_pair_ns[(size_t)p->tensor_class[t] * cells + i] /
			                   p->g->n_tensors;
	for (size_t c = 1; c < (size_t)p->n_classes; c++)
		if (p->class_bytes[c] < p->class_bytes[smallest])
			smallest = c;
	for (size_t i = 0; i < cells && p->n_classes; i++)
		s->move_least[i] = (double)p->class_pair_ns[smallest * cells + i];
	return BERTH_OK;
}

static berth_status gather(berth_encoding *e, sums *s, berth_arena *tmp, berth_err *err)
{
	berth_ceft ceft;
	int64_t *down;
	double total = 0;
	size_t groups = (size_t)e->n_groups;
	size_t devs = (size_t)e->n_devs;
	BERTH_TRY_NEW(tmp, groups * devs, err, s->time, s->legal, s->ceft);
	BERTH_TRY_NEW(tmp, groups, err, s->mean, s->least, s->params, s->bytes, s->rank_up, s->rank_down,
	              s->place);
	BERTH_TRY_NEW(tmp, groups * N_CLASSES, err, s->class_time);
	BERTH_TRY_NEW(tmp, groups, err, s->backward);
	BERTH_TRY(BERTH_NEW(tmp, s->n_ops, groups, err));
	BERTH_TRY(find_moves(e->p, s, tmp, err));
	BERTH_TRY_NEW(tmp, e->p->g->n_types, err, s->type_class);
	for (int32_t k = 0; k < e->p->g->n_types; k++)
		s->type_class[k] = class_of(e->p->g->type_name[k]);
	BERTH_TRY(berth_ceft_new(e->p, tmp, &ceft, err));
	e->path_ns = ceft.length_ns;
	BERTH_TRY_NEW(tmp, e->p->n_ops, err, down);
	berth_downward_ranks(e->p, down);
	for (int32_t op = 0; op < e->p->n_ops; op++)
		add_op(e, &ceft, down, op, s);
	for (int32_t v = 0; v < e->n_groups; v++)
		total += s->mean[v];
	s->unit = total > 0 ? total / e->n_groups : 1;
	s->mean_params = mean_of(s->params, e->n_groups);
	s->mean_bytes = mean_of(s->bytes, e->n_groups);
	return BERTH_OK;
}

/* ---- groups' edges ---- */

typedef struct group_edges {
	int32_t n;
	int32_t *from, *to;
	double *move_ns, *bytes;
} group_edges;

/* One edge per ordered pair of groups with a tensor between them; each tensor counts once per pair. Found
 * producer group by producer group. */
static berth_status quotient(const berth_encoding *e, group_edges *q, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = e->p->g;
	int32_t *edge_to, *seen, *head, *next;
	size_t most = (size_t)g->n_edges;
	BERTH_TRY_NEW(tmp, most, err, q->from, q->to, q->move_ns, q->bytes);
	BERTH_TRY_NEW(tmp, e->n_groups, err, edge_to);  /* edge of the present group to each, + 1 */
	BERTH_TRY_NEW(tmp, e->n_groups, err, seen);     /* last tensor counted to each, + 1 */
	BERTH_TRY_NEW(tmp, e->n_groups, err, head);
	BERTH_TRY_NEW(tmp, g->n_ops, err, next);
	for (int32_t op = g->n_ops - 1; op >= 0; op--) {
		next[op] = head[e->co.op_group[op]];
		head[e->co.op_group[op]] = op + 1;
	}
	q->n = 0;
	for (int32_t v = 0; v < e->n_groups; v++) {
		int32_t first = q->n;
		for (int32_t op = head[v] - 1; op >= 0; op = next[op] - 1)
			BERTH_EACH (t, g->op_tensor_off, op)
				BERTH_EACH (i, g->tensor_use_off, t) {
					int32_t w = e->co.op_group[g->edge_consumer[i]];
					if (w == v || seen[w] == t + 1)
						continue;
					seen[w] = t + 1;
					if (edge_to[w] <= first) {
						q->from[q->n] = v;
						q->to[q->n] = w;
						edge_to[w] = ++q->n;
					}
					q->move_ns[edge_to[w] - 1] +=
						(double)e->p->class_mean_ns[e->p->tensor_class[t]];
					q->bytes[edge_to[w] - 1] += (double)g->tensor_bytes[t];
				}
	}
	return BERTH_OK;
}

/* ---- features ---- */

static berth_status edge_features(berth_encoding *e, const sums *s, const group_edges *q, berth_arena *mem,
                                  berth_err *err)
{
	nn_real *x;
	int32_t *from, *to;
	double mean = mean_of(q->bytes, q->n), last = fmax(e->p->n_ops - 1, 1);
	BERTH_TRY_NEW(mem, (size_t)q->n * ENCODE_EDGE, err, x);
	BERTH_TRY_NEW(mem, q->n, err, from, to);
	for (int32_t i = 0; i < q->n; i++) {
		nn_real *f = BERTH_ROW(x, i, ENCODE_EDGE);
		from[i] = q->from[i];
		to[i] = q->to[i];
		f[0] = (nn_real)squash(q->move_ns[i] / s->unit);
		f[1] = (nn_real)squash(q->bytes[i] / mean);
		f[2] = (nn_real)((s->place[to[i]] - s->place[from[i]]) / last);
		f[3] = 1;
	}
	e->in.n_edges = q->n;
	e->in.edge_x = x;
	e->in.edge_from = from;
	e->in.edge_to = to;
	return BERTH_OK;
}

static void node_row(const berth_encoding *e, const sums *s, const double *degree, const double *move,
                     size_t v, nn_real *f)
{
	size_t devs = (size_t)e->n_devs;
	double most = 0, place = s->place[v] / fmax(e->p->n_ops - 1, 1);
	int k = 0;
	for (size_t d = 0; d < devs; d++)
		most = fmax(most, s->time[v * devs + d]);
	f[k++] = 1;
	f[k++] = (nn_real)squash(s->mean[v] / s->unit);
	f[k++] = (nn_real)squash(s->least[v] / s->unit);
	f[k++] = (nn_real)fmin(log(fmax(ratio(most, s->least[v]), 1)), 5);
	f[k++] = (nn_real)squash(s->params[v] / s->mean_params);
	f[k++] = (nn_real)squash(s->bytes[v] / s->mean_bytes);
	f[k++] = (nn_real)squash(move[2 * v] / s->unit);
	f[k++] = (nn_real)squash(move[2 * v + 1] / s->unit);
	f[k++] = (nn_real)squash(degree[2 * v]);
	f[k++] = (nn_real)squash(degree[2 * v + 1]);
	f[k++] = (nn_real)ratio(s->rank_up[v], s->path);
	f[k++] = (nn_real)ratio(s->path - s->rank_up[v] - s->rank_down[v], s->path); /* slack */
	f[k++] = (nn_real)place;
	for (int j = 0; j < 3; j++) {
		f[k++] = (nn_real)sin(place * 3.141592653589793 * (1 << j));
		f[k++] = (nn_real)cos(place * 3.141592653589793 * (1 << j));
	}
	for (int c = 0; c < N_CLASSES; c++)
		f[k++] = (nn_real)ratio(s->class_time[v * N_CLASSES + (size_t)c], s->mean[v]);
	f[k++] = (nn_real)(s->backward[v] / s->n_ops[v]);
	f[k++] = (nn_real)e->aim.time;
	f[k++] = (nn_real)e->aim.load;
	f[k] = (nn_real)e->aim.energy;
}

static berth_status link_features(berth_encoding *e, const sums *s, berth_arena *mem, berth_err *err)
{
	const berth_problem *p = e->p;
	size_t devs = (size_t)e->n_devs;
	nn_real *x;
	BERTH_TRY_NEW(mem, devs * devs * ENCODE_LINK, err, x);
	for (size_t pair = 0; pair < devs * devs; pair++) {
		nn_real *f = x + pair * ENCODE_LINK;
		if (pair / devs == pair % devs)
			continue;
		f[0] = (nn_real)squash(s->move_mean[pair] / s->unit);
		f[1] = (nn_real)squash(s->move_least[pair] / s->unit);
		f[2] = p->s->link_of[pair] >= 0;
		f[3] = 1;
	}
	e->in.link_x = x;
	return BERTH_OK;
}

static berth_status dev_features(berth_encoding *e, const sums *s, berth_arena *mem, berth_arena *tmp,
                                 berth_err *err)
{
	const berth_problem *p = e->p;
	const berth_system *y = p->s;
	size_t devs = (size_t)e->n_devs;
	double *total, least = INFINITY, bytes = 0, watts = 0;
	nn_real *x;
	BERTH_TRY_NEW(tmp, devs, err, total);
	BERTH_TRY_NEW(mem, devs * ENCODE_DEV, err, x);
	for (size_t d = 0; d < devs; d++) {
		for (size_t v = 0; v < (size_t)e->n_groups; v++)
			total[d] += s->time[v * devs + d];
		least = fmin(least, total[d]);
		watts = p->has_energy ? fmax(watts, y->dev_busy_w[d]) : 0;
	}
	for (int32_t v = 0; v < e->n_groups; v++)
		bytes += s->bytes[v];
	for (size_t d = 0; d < devs; d++) {
		nn_real *f = x + d * ENCODE_DEV;
		double legal = 0, fastest = 0, mean = 0, latency = 0;
		for (size_t v = 0; v < (size_t)e->n_groups; v++) {
			legal += s->legal[v * devs + d] / p->n_ops;
			fastest += (s->time[v * devs + d] <= s->least[v] * 1.0001) / (double)e->n_groups;
		}
		for (size_t o = 0; o < devs; o++)
			if (o != d) {
				mean += s->move_mean[d * devs + o] / (double)(devs - 1);
				latency += s->move_least[d * devs + o] / (double)(devs - 1);
			}
		f[0] = 1;
		f[1] = (nn_real)fmin(log(fmax(ratio(total[d], least), 1)), 5);
		f[2] = (nn_real)legal;
		f[3] = (nn_real)fastest;
		int64_t most = berth_dev_most_bytes(p, (int32_t)d);
		f[4] = most < 0 ? -3
		                : (nn_real)fmin(fmax(log2((bytes + 1) / ((double)most + 1)), -3), 3);
		f[5] = (nn_real)log(y->dev_slots[d]);
		f[6] = (nn_real)squash(mean / s->unit);
		f[7] = (nn_real)squash(latency / s->unit);
		f[8] = (nn_real)(watts > 0 ? y->dev_busy_w[d] / watts : 0);
		f[9] = (nn_real)(watts > 0 ? y->dev_idle_w[d] / watts : 0);
		f[10] = (nn_real)squash(y->dev_op_overhead_s[d] * 1e9 / s->unit);
	}
	e->in.dev_x = x;
	return BERTH_OK;
}

/* The device on which everything together is fastest. */
static size_t best_single(const berth_encoding *e, const sums *s)
{
	size_t devs = (size_t)e->n_devs, best = 0;
	double least = INFINITY;
	for (size_t d = 0; d < devs; d++) {
		double total = 0;
		for (size_t v = 0; v < (size_t)e->n_groups; v++)
			total += s->time[v * devs + d];
		if (total < least) {
			least = total;
			best = d;
		}
	}
	return best;
}

/* Share of each group's operators that HEFT puts on each device [n_groups][n_devs]; zeros without hints. */
static berth_status hint_shares(const berth_encoding *e, const sums *s, bool hints, double **share,
                                berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = e->p;
	berth_partial *part;
	int32_t *op_dev;
	BERTH_TRY_NEW(tmp, (size_t)e->n_groups * (size_t)e->n_devs, err, *share);
	if (!hints)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev);
	BERTH_TRY(berth_partial_new(p, tmp, &part, err));
	BERTH_TRY(berth_partial_schedule(part, p->op_rank_ns, tmp, err));
	berth_partial_devs(part, op_dev);
	for (int32_t op = 0; op < p->n_ops; op++) {
		size_t v = (size_t)e->co.op_group[op];
		(*share)[v * (size_t)e->n_devs + (size_t)op_dev[op]] += 1 / s->n_ops[v];
	}
	return BERTH_OK;
}

static berth_status pair_features(berth_encoding *e, const sums *s, const double *hint, berth_arena *mem,
                                  berth_err *err)
{
	const berth_system *y = e->p->s;
	size_t devs = (size_t)e->n_devs, groups = (size_t)e->n_groups, single = best_single(e, s);
	nn_real *x;
	uint8_t *mask;
	BERTH_TRY_NEW(mem, groups * devs * ENCODE_PAIR, err, x);
	BERTH_TRY_NEW(mem, groups * devs, err, mask);
	for (size_t v = 0; v < groups; v++) {
		double least = INFINITY, earliest = INFINITY, thrift = INFINITY;
		for (size_t d = 0; d < devs; d++) {
			size_t i = v * devs + d;
			mask[i] = s->legal[i] > 0;
			if (!mask[i])
				continue;
			least = fmin(least, s->time[i]);
			earliest = fmin(earliest, s->ceft[i]);
			if (e->p->has_energy)
				thrift = fmin(thrift, s->time[i] * (y->dev_busy_w[d] - y->dev_idle_w[d]));
		}
		for (size_t d = 0; d < devs; d++) {
			size_t i = v * devs + d;
			nn_real *f = x + i * ENCODE_PAIR;
			if (!mask[i])
				continue;
			f[0] = (nn_real)fmin(log(fmax(ratio(s->time[i], least), 1)), 5);
			f[1] = (nn_real)squash(s->time[i] / s->unit);
			f[2] = (nn_real)(s->legal[i] / s->n_ops[v]);
			f[3] = (nn_real)squash(fmax(s->ceft[i] - earliest, 0) / s->unit);
			f[4] = s->time[i] <= least;
			int64_t most = berth_dev_most_bytes(e->p, (int32_t)d);
			f[5] = most < 0 ? 0 : (nn_real)fmin(s->bytes[v] * 16 / ((double)most + 1), 4);
			f[6] = e->p->has_energy
			               ? (nn_real)fmin(log(fmax(ratio(s->time[i] * (y->dev_busy_w[d] -
			                                                            y->dev_idle_w[d]),
			                                              thrift),
			                                        1)),
			                               5)
			               : 0;
			f[7] = d == single;
			f[8] = (nn_real)hint[i];
		}
	}
	e->in.pair_x = x;
	e->in.mask = mask;
	return BERTH_OK;
}

/* ---- the whole ---- */

void berth_fallbacks(const berth_problem *p, int32_t *op_dev)
{
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t best = -1;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_coloc_legal(p, u, d) &&
			    (best < 0 || berth_coloc_time(p, u, d) < berth_coloc_time(p, u, best)))
				best = d;
		berth_coloc_put(p, u, best, op_dev);
	}
}

static berth_status encode(berth_encoding *e, int32_t n_groups, bool hints, berth_arena *mem,
                           berth_arena *tmp, berth_err *err)
{
	sums s = {0};
	group_edges q;
	berth_coarsen_cfg cfg;
	BERTH_TRY(berth_group_cfg(e->p, n_groups, tmp, &cfg, err));
	BERTH_TRY(berth_coarsen(e->p->g, &cfg, mem, tmp, &e->co, err));
	e->n_groups = e->co.n_groups;
	BERTH_TRY_NEW(mem, e->p->n_ops, err, e->op_fallback);
	berth_fallbacks(e->p, e->op_fallback);
	e->in.n_nodes = e->n_groups;
	e->in.n_devs = e->n_devs;
	BERTH_TRY(gather(e, &s, tmp, err));
	for (int32_t v = 0; v < e->n_groups; v++)
		s.place[v] /= s.n_ops[v];
	BERTH_TRY(quotient(e, &q, tmp, err));
	BERTH_TRY(edge_features(e, &s, &q, mem, err));
	double *degree, *move; /* [n_groups][in, out] */
	nn_real *x;
	BERTH_TRY_NEW(tmp, (size_t)e->n_groups * 2, err, degree, move);
	BERTH_TRY_NEW(mem, (size_t)e->n_groups * ENCODE_NODE, err, x);
	for (int32_t i = 0; i < q.n; i++) {
		degree[2 * q.to[i]]++;
		degree[2 * q.from[i] + 1]++;
		move[2 * q.to[i]] += q.move_ns[i];
		move[2 * q.from[i] + 1] += q.move_ns[i];
	}
	for (size_t v = 0; v < (size_t)e->n_groups; v++)
		node_row(e, &s, degree, move, v, x + v * ENCODE_NODE);
	e->in.node_x = x;
	BERTH_TRY(link_features(e, &s, mem, err));
	BERTH_TRY(dev_features(e, &s, mem, tmp, err));
	double *hint;
	BERTH_TRY(hint_shares(e, &s, hints, &hint, tmp, err));
	return pair_features(e, &s, hint, mem, err);
}

berth_status berth_encode(const berth_problem *p, berth_aim aim, int32_t n_groups, bool hints,
                          berth_arena *mem, berth_arena *tmp, berth_encoding *out, berth_err *err)
{
	berth_encoding e = {.p = p, .aim = aim, .n_devs = p->n_devs};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(encode(&e, n_groups, hints, mem, tmp, err));
	*out = e;
	return BERTH_OK;
}

void berth_encoding_project(const berth_encoding *e, const int32_t *group_dev, int32_t *op_dev)
{
	for (int32_t op = 0; op < e->p->n_ops; op++) {
		int32_t d = group_dev[e->co.op_group[op]];
		op_dev[op] = berth_op_legal(e->p, op, d) ? d : e->op_fallback[op];
	}
}

void berth_encoding_lift(const berth_encoding *e, const int32_t *op_dev, int32_t *group_dev, int64_t *scratch)
{
	size_t devs = (size_t)e->n_devs;
	BERTH_CLEAR(scratch, (size_t)e->n_groups * devs);
	for (int32_t op = 0; op < e->p->n_ops; op++)
		scratch[(size_t)e->co.op_group[op] * devs + (size_t)op_dev[op]] +=
			berth_op_time(e->p, op, op_dev[op]) + 1;
	for (int32_t v = 0; v < e->n_groups; v++) {
		const int64_t *vote = BERTH_ROW(scratch, v, devs);
		const uint8_t *mask = BERTH_ROW(e->in.mask, v, devs);
		int32_t best = -1;
		for (int32_t d = 0; d < e->n_devs; d++)
			if (mask[d] && (best < 0 || vote[d] > vote[best]))
				best = d;
		group_dev[v] = best;
	}
}

#define EXP _Generic((nn_real)0, float: expf, double: exp)

/* The last legal device takes what rounding leaves over; those that are not legal pass on at once. */
void berth_encoding_thresholds(const berth_encoding *e, const nn_real *logp, double *threshold)
{
	size_t devs = (size_t)e->n_devs;
	for (size_t v = 0; v < (size_t)e->n_groups; v++) {
		const uint8_t *mask = e->in.mask + v * devs;
		double sum = 0;
		size_t last = 0;
		for (size_t d = 0; d < devs; d++) {
			if (mask[d]) {
				last = d;
				sum += (double)EXP(logp[v * devs + d]);
			}
			threshold[v * devs + d] = sum;
		}
		for (size_t d = last; d < devs; d++)
			threshold[v * devs + d] = 1;
	}
}

void berth_encoding_draw(const berth_encoding *e, const double *threshold, berth_rng *rng, int32_t *group_dev)
{
	size_t devs = (size_t)e->n_devs;
	for (size_t v = 0; v < (size_t)e->n_groups; v++) {
		double u = berth_rng_unit(rng);
		int32_t pick = 0;
		for (size_t d = 0; d + 1 < devs; d++)
			pick += u >= threshold[v * devs + d];
		group_dev[v] = pick;
	}
}

void berth_encoding_pick(const berth_encoding *e, const nn_real *logp, const int32_t *group_dev,
                         nn_real *drawn_logp)
{
	for (int32_t v = 0; v < e->n_groups; v++)
		drawn_logp[v] = logp[(size_t)v * (size_t)e->n_devs + (size_t)group_dev[v]];
}
