/* From placements to tasks: segments, their sessions and the buffers between them; and the words of --devices
 * and --hosts. */
#include "ort_plan.h"
#include "text.h"

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
		d->start_speed = d->speed;
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

typedef struct cutter {
	ort_plan *p;
	bool *sent; /* [n_values] goes to another device */
	bool *here; /* [n_devs][n_values] has come to the device already */
	int32_t *open; /* [n_devs] the device's segment that can still grow; -1 */
} cutter;

/* The device of the operator that makes a value; -1: none does. */
static int32_t maker_dev(const ort_plan *p, int32_t v)
{
	return v >= 0 && p->m->value_op[v] >= 0 ? p->placement[p->m->value_op[v]] : -1;
}

static berth_status start_cutting(cutter *c, berth_arena *tmp, berth_err *err)
{
	const ort_plan *p = c->p;
	size_t n_values = p->m->onnx.n_values, n_devs = 0;
	for (int32_t i = 0; i < p->m->n_ops; i++)
		n_devs = (size_t)p->placement[i] >= n_devs ? (size_t)p->placement[i] + 1 : n_devs;
	BERTH_TRY_NEW(tmp, n_values, err, c->sent);
	BERTH_TRY_NEW(tmp, n_values * n_devs, err, c->here);
	BERTH_TRY_NEW(tmp, n_devs, err, c->open);
	memset(c->open, -1, n_devs * sizeof *c->open);
	for (int32_t i = 0; i < p->m->n_ops; i++)
		for (int32_t k = 0; k < ort_model_node(p->m, i)->n_all; k++) {
			int32_t v = ort_model_node(p->m, i)->in[k], from = maker_dev(p, v);
			if (from >= 0 && from != p->placement[i])
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
	for (int32_t k = 0; k < ort_model_node(m, op)->n_all; k++) {
		int32_t v = ort_model_node(m, op)->in[k], from = maker_dev(c->p, v);
		bool *here = from >= 0 ? &c->here[(size_t)dev * m->onnx.n_values + (size_t)v] : NULL;
		if (from < 0 || from == dev || *here)
			continue;
		*here = any = true;
	}
	return any;
}

static bool sends(const cutter *c, int32_t op)
{
	for (int32_t k = 0; k < ort_model_node(c->p->m, op)->n_out; k++)
		if (ort_model_node(c->p->m, op)->out[k] >= 0 && c->sent[ort_model_node(c->p->m, op)->out[k]])
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
	b->bytes = shape->bytes;
	b->producer = producer;
	b->floats = shape->elem == 1; /* FLOAT of TensorProto.DataType */
	b->data = p->m->data[v];
	if (producer >= 0)
		BERTH_TRY(ort_model_room(p->m, v, &p->mem, &b->data, err));
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
	for (int32_t i = 0; i < m->in.n; i++)
		BERTH_TRY(new_buffer(p, m->input[i], -1, err));
	for (int32_t i = 0; i < m->n_ops; i++)
		for (int32_t k = 0; k < ort_model_node(m, i)->n_all; k++) {
			int32_t v = ort_model_node(m, i)->in[k], maker = v >= 0 ? m->value_op[v] : -1;
			if (maker >= 0 && op_seg[maker] != op_seg[i] && p->value_buffer[v] < 0)
				BERTH_TRY(new_buffer(p, v, op_seg[maker], err));
		}
	for (size_t i = 0; i < m->onnx.n_outputs; i++) {
		int32_t v = m->onnx.output[i], maker = m->value_op[v];
		if (maker < 0)
			return berth_fail(err, BERTH_EFORMAT,
			                  "output '%.80s' of the model is made by no operator",
			                  m->onnx.value[v].name);
		if (p->value_buffer[v] < 0)
			BERTH_TRY(new_buffer(p, v, op_seg[maker], err));
	}
	return BERTH_OK;
}

/* ---- sessions ---- */

/* The values v[n], each in its buffer, as the inputs or outputs of a segment. */
static berth_status take_buffers(ort_plan *p, const int32_t *v, int32_t n, ort_tensors *t, int32_t **buffer,
                                 berth_err *err)
{
	BERTH_TRY(ort_model_names(p->m, v, n, &p->mem, t, err));
	BERTH_TRY_NEW(&p->mem, n, err, *buffer);
	for (int32_t i = 0; i < n; i++) {
		(*buffer)[i] = p->value_buffer[v[i]];
		t->value[i] = p->buffer_value[(*buffer)[i]];
	}
	return BERTH_OK;
}

static berth_status make_session(ort_plan *p, ort_segment *s, berth_arena *tmp, berth_err *err)
{
	ort_model *m = p->m;
	int32_t *nodes, *in, *out, n_in = 0, n_out = 0;
	berth_strbuf bytes;
	BERTH_TRY_NEW(tmp, s->n_ops, err, nodes);
	BERTH_TRY_NEW(tmp, m->onnx.n_values, err, in, out);
	for (int32_t i = 0; i < s->n_ops; i++) {
		const onnx_node *n = ort_model_node(m, s->op[i]);
		nodes[i] = m->op_node[s->op[i]];
		for (int32_t k = 0; k < n->n_out; k++)
			if (n->out[k] >= 0 && p->value_buffer[n->out[k]] >= 0)
				out[n_out++] = n->out[k];
	}
	if (n_out == 0)
		return BERTH_OK;
	BERTH_TRY(ort_model_part(m, nodes, s->n_ops, out, n_out, tmp, in, &n_in, &bytes, err));
	BERTH_TRY(take_buffers(p, in, n_in, &s->in, &s->in_buffer, err));
	BERTH_TRY(take_buffers(p, out, n_out, &s->out, &s->out_buffer, err));
	const char *profile =
		p->profile ? berth_arena_printf(tmp, "%s/s%d", p->profile, (int)(s - p->segment)) : NULL;
	if (p->profile && !profile)
		return berth_nomem(err);
	const ort_session_cfg cfg = {.threads = 1, .level = m->level, .profile = profile};
	if (p->self != ORT_ALL_DEVICES && p->self != s->dev)
		return BERTH_OK;
	berth_status st = ort_session_new(m->lib, bytes.text, bytes.len, &cfg, &s->session, err);
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
	if (s->out.n == 0) {
		*t = (ort_times){.start_s = from - began, .end_s = from - began};
		return;
	}
	t->st = ort_run(s->plan->m->lib, s->session, &s->in, &s->out, &s->err);
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
		p->task[i] = (exec_task){s->dev, s->in.n, s->out.n, s->in_buffer, s->out_buffer,
		                         ort_segment_run, s, &s->ran, sizeof s->ran};
	}
	return BERTH_OK;
}

static berth_status copy_order(ort_plan *p, const int32_t *placement, const int32_t *order, berth_err *err)
{
	const ort_model *m = p->m;
	int32_t n = 0;
	BERTH_TRY_NEW(&p->mem, m->n_ops, err, p->placement, p->order);
	memcpy(p->placement, placement, (size_t)m->n_ops * sizeof *placement);
	if (order)
		memcpy(p->order, order, (size_t)m->n_ops * sizeof *order);
	for (size_t i = 0; i < m->onnx.n_nodes && !order; i++)
		if (m->node_op[m->onnx.order[i]] >= 0)
			p->order[n++] = m->node_op[m->onnx.order[i]];
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
		for (int32_t k = 0; k < s->in.n; k++)
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
