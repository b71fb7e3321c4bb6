/* A placement as one session: the model with a label on each node, the session, and its profile in the
 * operators' terms. */
#include "exec.h"
#include "kernel_times.h"
#include "onnx_edit.h"
#include "onnx_placed.h"
#include "ort_spread.h"
#include "text.h"

#include <ctype.h>

/* ---- rules ---- */

berth_status spread_rules(const spread_device *dev, int32_t n_devs, berth_arena *mem, const char **config,
                          berth_err *err)
{
	berth_strbuf b = {.mem = mem};
	for (int32_t d = 0; d < n_devs; d++)
		berth_strbuf_printf(&b, "%s%s(=d%d)", d ? ";" : "", dev[d].provider.name, d);
	config[0] = "session.layer_assignment_settings";
	config[2] = NULL;
	return berth_strbuf_done(&b, &config[1], NULL, err);
}

berth_status spread_providers(const spread_device *dev, int32_t n_devs, berth_arena *mem,
                              const ort_provider *const **out, berth_err *err)
{
	const ort_provider **list;
	BERTH_TRY_NEW(mem, n_devs, err, list);
	for (int32_t d = 0; d < n_devs; d++)
		list[d] = &dev[d].provider;
	*out = list;
	return BERTH_OK;
}

void spread_label(int32_t d, berth_strbuf *node)
{
	char label[16];
	snprintf(label, sizeof label, "d%d", (int)d);
	onnx_label_put(node, node->mem, label);
}

/* ---- the model ---- */

typedef struct labels {
	ort_model *m;
	berth_arena *mem;
	int32_t *node_dev; /* [n_nodes] */
	int32_t *written;  /* [n_nodes] nodes as they stand in the new model */
	int32_t n_written;
} labels;

static int32_t cpu_of(const spread_device *dev, int32_t n_devs)
{
	for (int32_t d = 0; d < n_devs; d++)
		if (ort_provider_is_cpu(&dev[d].provider))
			return d;
	return -1;
}

/* Nodes that are no operators (mostly shapes) go to the CPU: ONNX Runtime 1.30 crashes where Shape goes to
 * WebGPU and what takes it does not. Without the CPU's provider they go with the first node that takes what
 * they make. */
static berth_status place_nodes(labels *l, const int32_t *placement, int32_t cpu, berth_err *err)
{
	const ort_model *m = l->m;
	BERTH_TRY_NEW(l->mem, m->onnx.n_nodes, err, l->node_dev);
	for (size_t i = 0; i < m->onnx.n_nodes; i++)
		l->node_dev[i] = m->node_op[i] >= 0 ? placement[m->node_op[i]] : cpu;
	return onnx_placed_follow(&m->onnx, l->node_dev, m->n_ops ? placement[0] : 0, l->mem, err);
}

static berth_status list_written(labels *l, berth_err *err)
{
	const onnx_model *o = &l->m->onnx;
	BERTH_TRY_NEW(l->mem, o->n_nodes, err, l->written);
	for (size_t i = 0; i < o->n_nodes; i++)
		if (!ort_model_makes(l->m, o->order[i]))
			l->written[l->n_written++] = o->order[i];
	return BERTH_OK;
}

/* Old labels. */
static bool drops_label(void *ctx, const protobuf *w, const protobuf_field *f, bool at_model)
{
	(void)ctx;
	return !at_model && onnx_label_is(w, f);
}

/* A label; and a name, of which the last one counts. Nodes in bodies keep theirs. */
static berth_status adds_label(void *ctx, int32_t node, bool in_body, const protobuf *w,
                               const protobuf_field *f,
                         const char **data, size_t *size, berth_err *err)
{
	const labels *l = ctx;
	berth_strbuf b = {.mem = l->mem};
	char name[32];
	(void)w, (void)f;
	if (node >= l->n_written)
		return berth_fail(err, BERTH_EFORMAT, "the model has more nodes than it had");
	snprintf(name, sizeof name, "%s%d", SPREAD_NODE, (int)l->written[node]);
	if (!in_body)
		onnx_put_text(&b, 3, name);
	spread_label(l->node_dev[l->written[node]], &b);
	return berth_strbuf_done(&b, data, size, err);
}

static berth_status part_of_all(ort_model *m, berth_arena *mem, berth_strbuf *bytes, berth_err *err)
{
	int32_t *in, n_in;
	BERTH_TRY_NEW(mem, m->onnx.n_values, err, in);
	return ort_model_part(m, m->onnx.order, (int32_t)m->onnx.n_nodes, m->onnx.output,
	                      (int32_t)m->onnx.n_outputs, mem, in, &n_in, bytes, err);
}

/* The whole model, its nodes labelled by the placement of its operators [n_ops] (constants and shapes on
 * the CPU) and named SPREAD_NODE and their number in it: names of a model need not be unlike. The
 * bytes live in mem. Fails: BERTH_EFORMAT (it calls functions of its own), BERTH_ENOMEM. */
static berth_status spread_model(ort_model *m, const spread_device *dev, int32_t n_devs,
                                 const int32_t *placement, berth_arena *mem, berth_strbuf *out,
                                 berth_err *err)
{
	labels l = {.m = m, .mem = mem};
	onnx_edit edit = {.ctx = &l, .drops = drops_label, .adds = adds_label};
	onnx_edited made;
	berth_strbuf bytes;
	if (m->onnx.n_inlined)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%.200s: the model calls functions of its own, whose nodes stand in the "
		                  "file once for all calls: a label cannot tell them apart",
		                  m->onnx.file);
	BERTH_TRY(place_nodes(&l, placement, cpu_of(dev, n_devs), err));
	BERTH_TRY(list_written(&l, err));
	BERTH_TRY(part_of_all(m, mem, &bytes, err));
	BERTH_TRY(onnx_edit_model(&edit, m->onnx.file, (const unsigned char *)bytes.text, bytes.len, mem,
	                          &made, err));
	*out = (berth_strbuf){.mem = mem};
	for (size_t i = 0; i < made.n_pieces; i++)
		berth_strbuf_add(out, made.piece[i].data, made.piece[i].size);
	return out->failed ? berth_nomem(err) : BERTH_OK;
}

/* ---- what the profile tells ---- */

typedef struct reading {
	ort_spread *p;
	const kernel_times *t;
	berth_arena *tmp;
	int32_t *own;            /* [n_ops] kernel of the file; -1: none */
	int32_t *outer, n_outer; /* kernels of operators with bodies */
	fused_hosts hosts;
} reading;

static const char *type_of(const ort_model *m, int32_t op)
{
	return ort_model_node(m, op)->type;
}

/* The operator that a kernel is named after. -1: none. */
static int32_t op_of(const reading *r, const char *name)
{
	const size_t head = strlen(SPREAD_NODE);
	const char *end = name;
	int32_t node = -1;
	if (strncmp(name, SPREAD_NODE, head) == 0)
		node = berth_text_digits(name + head, INT32_MAX, &end);
	return node < 0 || isalnum((unsigned char)*end) || (size_t)node >= r->p->m->onnx.n_nodes
	               ? -1
	               : r->p->m->node_op[node];
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
	BERTH_TRY_NEW(r->tmp, m->n_ops, err, r->outer);
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
	                  ort_model_node(m, op)->name, k->type, k->provider,
	                  p->dev[p->placement[op]].provider.name);
}

static berth_status add_kernels(reading *r, berth_err *err)
{
	ort_spread *p = r->p;
	BERTH_TRY_NEW(&p->mem, r->t->n + p->m->n_ops, err, p->kernel);
	for (int32_t i = 0; i < r->t->n; i++) {
		const kernel_time *k = &r->t->kernel[i];
		int32_t named = op_of(r, k->name), op = named >= 0 && r->own[named] == i ? named : -1;
		int32_t dev = device_of(p, k->provider);
		if (is_inside(r, i))
			continue;
		BERTH_TRY(check_device(r, op, k, dev, err));
		kernel_run x = {.op = op, .in = -1, .dev = dev};
		x.from = fmin(k->at_us / r->t->took_us, 1);
		x.to = fmin((k->at_us + k->took_us) / r->t->took_us, 1);
		BERTH_TRY(berth_got(x.kernel = berth_arena_strdup(&p->mem, k->type), err));
		p->kernel[p->n_kernels++] = x;
		if (op >= 0)
			r->hosts.kernel[op] = x.kernel;
	}
	return BERTH_OK;
}

static int by_start(const void *a, const void *b)
{
	const kernel_run *x = a, *y = b;
	int by_from = BERTH_COMPARE(x->from, y->from);
	return by_from ? by_from : BERTH_COMPARE(x->op, y->op);
}

static berth_status add_fused(reading *r, berth_err *err)
{
	ort_spread *p = r->p;
	int32_t n = p->n_kernels, *at;
	BERTH_TRY_NEW(r->tmp, p->m->n_ops, err, at);
	BERTH_TRY_NEW(&p->mem, p->m->n_ops, err, p->elsewhere);
	for (int32_t i = 0; i < n; i++)
		if (p->kernel[i].op >= 0)
			at[p->kernel[i].op] = i;
	for (int32_t op = 0; op < p->m->n_ops; op++) {
		int32_t host = r->hosts.kernel[op] ? op : fused_host(&r->hosts, op);
		if (host < 0)
			continue;
		kernel_run x = p->kernel[at[host]];
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
static berth_status order_ops(reading *r, kernel_run **out, berth_err *err)
{
	ort_spread *p = r->p;
	kernel_run *op;
	BERTH_TRY_NEW(r->tmp, p->m->n_ops, err, op);
	for (int32_t i = 0; i < p->m->n_ops; i++)
		op[i] = (kernel_run){.op = i, .in = -1, .dev = p->placement[i]};
	for (int32_t i = 0; i < p->n_kernels; i++) {
		kernel_run *x = p->kernel[i].op >= 0 ? &op[p->kernel[i].op] : NULL;
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
	kernel_run *op;
	int32_t *list;
	BERTH_TRY(order_ops(r, &op, err));
	BERTH_TRY_NEW(&p->mem, p->m->n_ops, err, list, p->piece);
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

/* Fill p's kernels, pieces and `elsewhere`. tmp is scratch. Fails: BERTH_EFORMAT (an operator with a kernel
 * of its own ran in another provider than the placement says, or in one of no device), BERTH_ENOMEM. */
static berth_status spread_times_read(ort_spread *p, const kernel_times *t, berth_arena *tmp, berth_err *err)
{
	reading r = {.p = p, .t = t, .tmp = tmp};
	if (!t->n)
		return berth_fail(err, BERTH_EIO, "ONNX Runtime left no times of kernels");
	BERTH_TRY(fused_hosts_new(p->m, tmp, &r.hosts, err));
	const ort_model *m = r.p->m;
	BERTH_TRY_NEW(r.tmp, m->n_ops, err, r.own);
	memset(r.own, -1, (size_t)m->n_ops * sizeof *r.own);
	for (int32_t i = 0; i < r.t->n; i++) {
		int32_t op = op_of(&r, r.t->kernel[i].name);
		if (op >= 0 &&
		    (r.own[op] < 0 || rank(&r, op, &r.t->kernel[i]) > rank(&r, op, &r.t->kernel[r.own[op]])))
			r.own[op] = i;
	}
	BERTH_TRY(find_outer(&r, err));
	BERTH_TRY(add_kernels(&r, err));
	qsort(p->kernel, (size_t)p->n_kernels, sizeof *p->kernel, by_start);
	BERTH_TRY(add_fused(&r, err));
	return make_pieces(&r, err);
}

/* ---- the session ---- */

/* ---- all of it ---- */

static berth_status run_session(ort_spread *p, berth_err *err)
{
	return ort_run(p->m->lib, p->session, &p->m->in, &p->out, err);
}

static berth_status start_session(ort_spread *p, int threads, const char *folder, berth_arena *tmp,
                                  berth_err *err)
{
	kernel_times times;
	const char *path = berth_arena_printf(tmp, "%s/s", folder);
	BERTH_TRY(berth_got(path, err));
	const char *config[3];
	ort_session_cfg cfg = {.threads = threads,
	                       .level = p->m->level,
	                       .profile = path,
	                       .config = config,
	                       .n_providers = p->n_devs};
	berth_strbuf bytes;
	BERTH_TRY(spread_rules(p->dev, p->n_devs, tmp, config, err));
	BERTH_TRY(spread_providers(p->dev, p->n_devs, tmp, &cfg.provider, err));
	BERTH_TRY(spread_model(p->m, p->dev, p->n_devs, p->placement, tmp, &bytes, err));
	BERTH_TRY(ort_session_new(p->m->lib, bytes.text, bytes.len, &cfg, &p->session, err));
	const onnx_model *o = &p->m->onnx;
	BERTH_TRY(ort_tensors_new(&p->mem, o->n_outputs, &p->out, err));
	BERTH_TRY_NEW(&p->mem, o->n_outputs, err, p->out_data);
	for (size_t i = 0; i < o->n_outputs; i++) {
		BERTH_TRY(ort_model_room(p->m, o->output[i], &p->mem, &p->out_data[i], err));
		BERTH_TRY(ort_model_add(p->m, o->output[i], p->out_data[i], &p->out, err));
	}
	BERTH_TRY(run_session(p, err)); /* the first one is slow */
	BERTH_TRY(run_session(p, err));
	BERTH_TRY(ort_session_end_profile(p->m->lib, p->session, tmp, &path, err));
	BERTH_TRY(kernel_times_read(path, tmp, &times, err));
	return spread_times_read(p, &times, tmp, err);
}

berth_status ort_spread_new(ort_model *m, const spread_device *dev, int32_t n_devs, const int32_t *placement,
                            int threads, ort_spread *out, berth_err *err)
{
	char folder[KERNEL_FOLDER];
	BERTH_ARENA(tmp);
	*out = (ort_spread){.m = m, .dev = dev, .n_devs = n_devs};
	berth_status st = BERTH_NEW(&out->mem, out->placement, m->n_ops, err);
	if (st == BERTH_OK) {
		memcpy(out->placement, placement, (size_t)m->n_ops * sizeof *placement);
		st = kernel_folder_new(folder, err);
	}
	if (st == BERTH_OK) {
		st = start_session(out, threads, folder, &tmp, err);
		if (st != BERTH_OK)
			ort_spread_free(out); /* the profiler's file is written */
		kernel_folder_remove(folder);
	}
	if (st != BERTH_OK)
		ort_spread_free(out);
	return st;
}

void ort_spread_free(ort_spread *p)
{
	if (!p->m)
		return;
	ort_session_free(p->m->lib, p->session);
	ort_tensors_free(p->m->lib, &p->out);
	berth_arena_free(&p->mem);
	*p = (ort_spread){0};
}

berth_status ort_spread_run(ort_spread *p, double *wall_s, double *difference, berth_err *err)
{
	const onnx_model *o = &p->m->onnx;
	for (size_t i = 0; i < o->n_outputs; i++) /* what nobody writes shows */
		memset(p->out_data[i], 0xff, p->m->shape[o->output[i]].bytes);
	double from = exec_now();
	BERTH_TRY(run_session(p, err));
	*wall_s = exec_now() - from;
	*difference = 0;
	for (size_t i = 0; i < o->n_outputs; i++)
		*difference = fmax(*difference, ort_model_difference(p->m, (int32_t)i, p->out_data[i]));
	return BERTH_OK;
}
