/* The words of --devices and --hosts. */
/* From placements to tasks. */
#include "ort_plan.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- devices by words ---- */

berth_status ort_devices_read(const char *text, const char *option, ort_device_list *out, berth_err *err)
{
	*out = (ort_device_list){0};
	while (*text) {
		ort_device *d = &out->dev[out->n];
		size_t n = strcspn(text, ","), name = strcspn(text, ",=");
		const char *end = NULL;
		if (out->n == EXEC_MAX_WORKERS)
			return berth_fail(err, BERTH_EINVAL, "%s names more than %d", option,
			                  EXEC_MAX_WORKERS);
		d->speed = text[name] == '=' ? berth_text_number(text + name + 1, &end) : 1;
		if (!name || name >= sizeof d->name || !(d->speed > 0 && d->speed <= 1) ||
		    (end && end != text + n))
			return berth_fail(err, BERTH_EINVAL,
			                  "%s '%.60s': NAME or NAME=SPEED with a speed above 0 and at most 1 "
			                  "was expected",
			                  option, text);
		snprintf(d->name, sizeof d->name, "%.*s", (int)name, text);
		for (int32_t i = 0; i < out->n; i++)
			if (strcmp(out->dev[i].name, d->name) == 0)
				return berth_fail(err, BERTH_EINVAL, "%s names '%s' twice", option, d->name);
		out->n++;
		text += n + (text[n] == ',');
	}
	return out->n ? BERTH_OK : berth_fail(err, BERTH_EINVAL, "%s names nothing", option);
}

/* ---- segments ---- */

/* ---- segments ---- */

typedef struct cutter {
	ort_plan *p;
	int32_t *value_dev;   /* [n_values] device of the producing operator; -1: none */
	int32_t *value_seg;   /* [n_values] segment that makes it; -1 */
	bool *sent, *inner;   /* [n_values] goes to another device; used by an operator or an output */
	bool *here;           /* [n_devs][n_values] has come to the device already */
	int32_t *open;        /* [n_devs] the device's segment that can still grow; -1 */
	int32_t *last;        /* [n_ops] room for the operators of segments */
	int32_t n_devs;
} cutter;

static const onnx_node *node_of(const ort_model *m, int32_t op)
{
	return &m->onnx.node[m->op_node[op]];
}

static berth_status start_cutting(cutter *c, berth_arena *tmp, berth_err *err)
{
	ort_plan *p = c->p;
	size_t n_values = p->m->onnx.n_values;
	for (int32_t i = 0; i < p->m->n_ops; i++)
		c->n_devs = p->placement[i] >= c->n_devs ? p->placement[i] + 1 : c->n_devs;
	BERTH_TRY_NEW(tmp, n_values, err, c->value_dev, c->value_seg, c->sent);
	BERTH_TRY_NEW(tmp, n_values * (size_t)c->n_devs, err, c->here);
	BERTH_TRY_NEW(tmp, c->n_devs, err, c->open);
	memset(c->value_dev, -1, n_values * sizeof *c->value_dev);
	memset(c->value_seg, -1, n_values * sizeof *c->value_seg);
	memset(c->open, -1, (size_t)c->n_devs * sizeof *c->open);
	for (int32_t i = 0; i < p->m->n_ops; i++)
		for (int32_t k = 0; k < node_of(p->m, i)->n_out; k++)
			if (node_of(p->m, i)->out[k] >= 0)
				c->value_dev[node_of(p->m, i)->out[k]] = p->placement[i];
	for (int32_t i = 0; i < p->m->n_ops; i++)
		for (int32_t k = 0; k < node_of(p->m, i)->n_all; k++) {
			int32_t v = node_of(p->m, i)->in[k];
			if (v >= 0 && c->value_dev[v] >= 0 && c->value_dev[v] != p->placement[i])
				c->sent[v] = true;
		}
	return BERTH_OK;
}

/* Does the operator wait for a tensor from elsewhere? They are here from now on. */
static bool waits(cutter *c, int32_t op)
{
	const ort_model *m = c->p->m;
	int32_t dev = c->p->placement[op];
	bool any = false;
	for (int32_t k = 0; k < node_of(m, op)->n_all; k++) {
		int32_t v = node_of(m, op)->in[k];
		if (v < 0 || c->value_dev[v] < 0 || c->value_dev[v] == dev ||
		    c->here[(size_t)dev * m->onnx.n_values + (size_t)v])
			continue;
		c->here[(size_t)dev * m->onnx.n_values + (size_t)v] = true;
		any = true;
	}
	return any;
}

static bool sends(const cutter *c, int32_t op)
{
	for (int32_t k = 0; k < node_of(c->p->m, op)->n_out; k++)
		if (node_of(c->p->m, op)->out[k] >= 0 && c->sent[node_of(c->p->m, op)->out[k]])
			return true;
	return false;
}

/* Make the segments, in the order of their first operators. op_seg gets each operator's segment. */
static void cut(cutter *c, int32_t *op_seg)
{
	ort_plan *p = c->p;
	for (int32_t i = 0; i < p->m->n_ops; i++) {
		int32_t op = p->order[i], dev = p->placement[op];
		if (waits(c, op) || c->open[dev] < 0) {
			c->open[dev] = p->n_segments;
			p->segment[p->n_segments++] = (ort_segment){.plan = p, .dev = dev};
		}
		op_seg[op] = c->open[dev];
		p->segment[c->open[dev]].n_ops++;
		if (sends(c, op))
			c->open[dev] = -1;
	}
}

static berth_status list_ops(ort_plan *p, const int32_t *op_seg, berth_err *err)
{
	for (int32_t s = 0; s < p->n_segments; s++) {
		BERTH_TRY_NEW(&p->mem, p->segment[s].n_ops, err, p->segment[s].op);
		p->segment[s].n_ops = 0;
	}
	for (int32_t i = 0; i < p->m->n_ops; i++) {
		ort_segment *s = &p->segment[op_seg[p->order[i]]];
		s->op[s->n_ops++] = p->order[i];
	}
	return BERTH_OK;
}

/* ---- buffers ---- */

static berth_status new_buffer(ort_plan *p, int32_t v, int32_t producer, berth_err *err)
{
	exec_buffer *b = &p->buffer[p->n_buffers];
	const ort_shape *shape = &p->m->shape[v];
	unsigned char *data;
	b->bytes = shape->bytes;
	b->producer = producer;
	b->floats = shape->elem == 1; /* FLOAT of TensorProto.DataType */
	b->data = p->m->data[v];
	if (producer >= 0) {
		BERTH_TRY_NEW(&p->mem, shape->bytes + 64, err, data);
		b->data = data;
	}
	BERTH_TRY(ort_value_over(p->m->lib, b->data, shape, &p->buffer_value[p->n_buffers], err));
	p->value_buffer[v] = p->n_buffers++;
	return BERTH_OK;
}

/* A value needs a buffer where another segment takes it, or the user. */
static berth_status make_buffers(ort_plan *p, const int32_t *op_seg, berth_err *err)
{
	const ort_model *m = p->m;
	size_t n = m->onnx.n_values;
	BERTH_TRY_NEW(&p->mem, n, err, p->buffer, p->buffer_value, p->value_buffer);
	memset(p->value_buffer, -1, n * sizeof *p->value_buffer);
	int32_t *value_seg;
	BERTH_TRY_NEW(&p->mem, n, err, value_seg);
	memset(value_seg, -1, n * sizeof *value_seg);
	for (int32_t i = 0; i < m->n_ops; i++)
		for (int32_t k = 0; k < node_of(m, i)->n_out; k++)
			if (node_of(m, i)->out[k] >= 0)
				value_seg[node_of(m, i)->out[k]] = op_seg[i];
	for (int32_t i = 0; i < m->n_inputs; i++)
		BERTH_TRY(new_buffer(p, m->input[i], -1, err));
	for (int32_t i = 0; i < m->n_ops; i++)
		for (int32_t k = 0; k < node_of(m, i)->n_all; k++) {
			int32_t v = node_of(m, i)->in[k];
			if (v >= 0 && value_seg[v] >= 0 && value_seg[v] != op_seg[i] &&
			    p->value_buffer[v] < 0)
				BERTH_TRY(new_buffer(p, v, value_seg[v], err));
		}
	for (size_t i = 0; i < m->onnx.n_outputs; i++) {
		int32_t v = m->onnx.output[i];
		if (value_seg[v] < 0)
			return berth_fail(err, BERTH_EFORMAT,
			                  "output '%.80s' of the model is made by no operator",
			                  m->onnx.value[v].name);
		if (p->value_buffer[v] < 0)
			BERTH_TRY(new_buffer(p, v, value_seg[v], err));
	}
	return BERTH_OK;
}

/* ---- sessions ---- */

static berth_status segment_outputs(ort_plan *p, ort_segment *s, int32_t *out, berth_err *err)
{
	const ort_model *m = p->m;
	for (int32_t i = 0; i < s->n_ops; i++)
		for (int32_t k = 0; k < node_of(m, s->op[i])->n_out; k++) {
			int32_t v = node_of(m, s->op[i])->out[k];
			if (v >= 0 && p->value_buffer[v] >= 0)
				out[s->n_out++] = v;
		}
	BERTH_TRY_NEW(&p->mem, s->n_out, err, s->out_name, s->out, s->out_buffer);
	for (int32_t i = 0; i < s->n_out; i++) {
		s->out_name[i] = m->onnx.value[out[i]].name;
		s->out_buffer[i] = p->value_buffer[out[i]];
		s->out[i] = p->buffer_value[s->out_buffer[i]];
	}
	return BERTH_OK;
}

static berth_status segment_inputs(ort_plan *p, ort_segment *s, const int32_t *in, int32_t n, berth_err *err)
{
	BERTH_TRY_NEW(&p->mem, n, err, s->in_name, s->in, s->in_buffer);
	s->n_in = n;
	for (int32_t i = 0; i < n; i++) {
		s->in_name[i] = p->m->onnx.value[in[i]].name;
		s->in_buffer[i] = p->value_buffer[in[i]];
		s->in[i] = p->buffer_value[s->in_buffer[i]];
	}
	return BERTH_OK;
}

static berth_status make_session(ort_plan *p, ort_segment *s, berth_arena *tmp, berth_err *err)
{
	ort_model *m = p->m;
	int32_t *nodes, *in, *out, n_in = 0;
	ort_bytes bytes;
	BERTH_TRY_NEW(tmp, s->n_ops, err, nodes);
	BERTH_TRY_NEW(tmp, m->onnx.n_values, err, in, out);
	for (int32_t i = 0; i < s->n_ops; i++)
		nodes[i] = m->op_node[s->op[i]];
	BERTH_TRY(segment_outputs(p, s, out, err));
	if (s->n_out == 0)
		return BERTH_OK;
	BERTH_TRY(ort_model_part(m, nodes, s->n_ops, out, s->n_out, tmp, in, &n_in, &bytes, err));
	BERTH_TRY(segment_inputs(p, s, in, n_in, err));
	const char *profile =
		p->profile ? berth_arena_printf(tmp, "%s/s%d", p->profile, (int)(s - p->segment)) : NULL;
	if (p->profile && !profile)
		return berth_nomem(err);
	const ort_session_cfg cfg = {.threads = 1, .level = m->level, .profile = profile};
	if (p->self != ORT_ALL_DEVICES && p->self != s->dev)
		return BERTH_OK;
	berth_status st = ort_session_new(m->lib, bytes.data, bytes.len, &cfg, &s->session, err);
	return st == BERTH_OK || p->self == ORT_ALL_DEVICES
	               ? st
	               : berth_fail_in(err, st, "host '%s': ", p->dev[s->dev].name);
}

/* ---- plans ---- */

/* Rest so that work that took `took` seconds up to now uses `speed` of the core. */
static void ort_rest(double took, double speed)
{
	double until = exec_now() + took * (1 / speed - 1), left;
	while (speed < 1 && (left = until - exec_now()) > 0) {
		struct timespec t = {0, (long)(1e9 * fmin(left - 1e-4, 0.5))};
		if (left > 2e-4)
			nanosleep(&t, NULL);
	}
}

void ort_segment_run(void *ctx, double began)
{
	ort_segment *s = ctx;
	ort_times *t = &s->ran;
	double from = exec_now(), cpu = exec_cpu();
	if (s->n_out == 0) {
		*t = (ort_times){.start_s = from - began, .end_s = from - began};
		return;
	}
	t->st = ort_run(s->plan->m->lib, s->session, s->in_name, s->in, (size_t)s->n_in, s->out_name, s->out,
	                (size_t)s->n_out, &s->err);
	t->cpu_s = exec_cpu() - cpu;
	t->work_s = exec_now() - from;
	if (s->plan->clock == ORT_CLOCK_WALL)
		ort_rest(t->work_s, s->plan->dev[s->dev].speed);
	t->start_s = from - began;
	t->end_s = s->plan->clock == ORT_CLOCK_WALL ? exec_now() - began
	                                            : t->start_s + t->cpu_s / s->plan->dev[s->dev].speed;
}

static berth_status make_tasks(ort_plan *p, berth_err *err)
{
	BERTH_TRY_NEW(&p->mem, p->n_segments, err, p->task);
	for (int32_t i = 0; i < p->n_segments; i++) {
		ort_segment *s = &p->segment[i];
		p->task[i] = (exec_task){s->dev, s->n_in, s->n_out, s->in_buffer, s->out_buffer,
		                         ort_segment_run, s, &s->ran, sizeof s->ran};
	}
	return BERTH_OK;
}

static berth_status copy_order(ort_plan *p, const int32_t *placement, const int32_t *order, berth_err *err)
{
	ort_model *m = p->m;
	int32_t n = 0, *node_op;
	BERTH_TRY_NEW(&p->mem, m->n_ops, err, p->placement, p->order);
	BERTH_TRY_NEW(&p->mem, m->onnx.n_nodes, err, node_op);
	memcpy(p->placement, placement, (size_t)m->n_ops * sizeof *placement);
	if (order) {
		memcpy(p->order, order, (size_t)m->n_ops * sizeof *order);
		return BERTH_OK;
	}
	memset(node_op, -1, m->onnx.n_nodes * sizeof *node_op);
	for (int32_t i = 0; i < m->n_ops; i++)
		node_op[m->op_node[i]] = i;
	for (size_t i = 0; i < m->onnx.n_nodes; i++)
		if (node_op[m->onnx.order[i]] >= 0)
			p->order[n++] = node_op[m->onnx.order[i]];
	return BERTH_OK;
}

static berth_status make_segments(ort_plan *p, berth_arena *tmp, berth_err *err)
{
	cutter c = {.p = p};
	int32_t *op_seg;
	BERTH_TRY_NEW(tmp, p->m->n_ops, err, op_seg);
	BERTH_TRY_NEW(&p->mem, p->m->n_ops, err, p->segment);
	BERTH_TRY(start_cutting(&c, tmp, err));
	cut(&c, op_seg);
	BERTH_TRY(list_ops(p, op_seg, err));
	BERTH_TRY(make_buffers(p, op_seg, err));
	for (int32_t s = 0; s < p->n_segments; s++) {
		BERTH_SCRATCH(tmp);
		BERTH_TRY(make_session(p, &p->segment[s], tmp, err));
	}
	return make_tasks(p, err);
}

berth_status ort_plan_new(ort_model *m, const ort_device *dev, const int32_t *placement, const int32_t *order,
                          const ort_plan_cfg *cfg, ort_plan *out, berth_err *err)
{
	BERTH_ARENA(tmp);
	*out = (ort_plan){
		.m = m, .dev = dev, .clock = cfg->clock, .profile = cfg->profile, .self = cfg->self};
	berth_status st = copy_order(out, placement, order, err);
	if (st == BERTH_OK)
		st = make_segments(out, &tmp, err);
	if (st != BERTH_OK)
		ort_plan_free(out);
	return st;
}

void ort_plan_free(ort_plan *p)
{
	for (int32_t s = 0; s < p->n_segments; s++)
		ort_session_free(p->m->lib, p->segment[s].session);
	for (int32_t b = 0; b < p->n_buffers; b++)
		ort_value_free(p->m->lib, p->buffer_value[b]);
	berth_arena_free(&p->mem);
	*p = (ort_plan){0};
}

/* Put the run together again from how long each segment lasted. */
static void retime(ort_plan *p)
{
	double free_at[EXEC_MAX_WORKERS] = {0};
	for (int32_t i = 0; i < p->n_segments; i++) {
		ort_segment *s = &p->segment[i];
		ort_times *t = &s->ran;
		double took = t->end_s - t->start_s;
		t->start_s = free_at[s->dev];
		for (int32_t k = 0; k < s->n_in; k++)
			if (p->buffer[s->in_buffer[k]].producer >= 0)
				t->start_s = fmax(t->start_s,
				                  p->segment[p->buffer[s->in_buffer[k]].producer].ran.end_s);
		t->end_s = free_at[s->dev] = t->start_s + took;
	}
}

/* Over several hosts the segment's own one knows, and tells its name; the others have the status alone. */
static berth_status why_not(const ort_plan *p, const ort_segment *s, berth_err *err)
{
	if (p->self == ORT_ALL_DEVICES)
		return berth_fail(err, s->ran.st, "%s", s->err.msg);
	if (p->self == s->dev)
		return berth_fail(err, s->ran.st, "host '%s': %s", p->dev[s->dev].name, s->err.msg);
	return berth_fail(err, s->ran.st, "%s", "");
}

berth_status ort_plan_run(ort_plan *p, const exec_kind *kind, void *ex, double *wall_s, double *cpu_s,
                          double *strain, berth_err *err)
{
	double work_s = 0;
	BERTH_TRY(kind->run(ex, p->task, p->n_segments, p->buffer, err));
	*wall_s = *cpu_s = 0;
	if (p->clock == ORT_CLOCK_CPU)
		retime(p);
	for (int32_t i = 0; i < p->n_segments; i++) {
		const ort_times *t = &p->segment[i].ran;
		if (t->st != BERTH_OK)
			return why_not(p, &p->segment[i], err);
		*wall_s = fmax(*wall_s, t->end_s);
		*cpu_s += t->cpu_s;
		work_s += t->work_s;
	}
	*strain = p->clock == ORT_CLOCK_CPU ? 1 : *cpu_s > 0 ? work_s / *cpu_s : 1;
	return BERTH_OK;
}

void ort_plan_poison(ort_plan *p)
{
	for (int32_t b = 0; b < p->n_buffers; b++)
		if (p->buffer[b].producer >= 0)
			memset(p->buffer[b].data, 0xff, p->buffer[b].bytes);
}

double ort_plan_difference(const ort_plan *p)
{
	double worst = 0;
	for (size_t o = 0; o < p->m->onnx.n_outputs; o++) {
		const exec_buffer *b = &p->buffer[p->value_buffer[p->m->onnx.output[o]]];
		if (p->self == ORT_ALL_DEVICES || p->segment[b->producer].dev == p->self)
			worst = fmax(worst, ort_model_difference(p->m, (int32_t)o, b->data));
	}
	return worst;
}
