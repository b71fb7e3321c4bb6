/* A plan of a model folder by modules: what accelerate calls the devices, and which module each operator is
 * of. A layer is never split: its residual sums need both ends on one device. */
#include "accelerate_plan.h"

#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what accelerate calls the devices ---- */

bool accelerate_is_number(const char *text)
{
	size_t n = strspn(text, "0123456789");
	return n > 0 && n < 4 && !text[n];
}

/* Words: "cpu", "disk", a number, or KIND:NUMBER as torch has it. */
static bool is_device(const char *text)
{
	const char *colon = strchr(text, ':');
	size_t kind = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	return strcmp(text, "cpu") == 0 || strcmp(text, "disk") == 0 || strcmp(text, "mps") == 0 ||
	       accelerate_is_number(text) ||
	       (colon && kind > 0 && text + kind == colon && accelerate_is_number(colon + 1));
}

static berth_status name_devices(accelerate_plan *m, berth_export_out *out, berth_arena *tmp, berth_err *err)
{
	static const berth_export_word usual[] = {{"cpu", "cpu"}, {"disk", "disk"}, {NULL, NULL}};
	const berth_system *s = m->x->s;
	BERTH_TRY_NEW(tmp, s->n_devs, err, m->word);
	BERTH_TRY(berth_export_theirs_numbered(m->x, m->op_dev, "", usual, "device of accelerate", m->word,
	                                       out, err));
	for (int32_t d = 0; d < s->n_devs; d++)
		if (m->word[d] && !is_device(m->word[d]))
			return berth_fail(err, BERTH_EINVAL,
			                  "device '%s' is called '%s'; expected cpu, disk, the number of a "
			                  "GPU, or a device of torch such as cuda:1",
			                  s->dev_name[d], m->word[d]);
	return BERTH_OK;
}

/* ---- modules ---- */

static berth_status split(const accelerate_plan *m, const char *module, int32_t a, int32_t b, const char *op)
{
	return berth_fail(
		m->err, BERTH_EUNSUPPORTED,
		"module '%s' is on '%s' and on '%s' (operator '%s'); accelerate keeps a module on one "
		"device: plan with --granularity layer",
		module, m->x->s->dev_name[a], m->x->s->dev_name[b], op);
}

int32_t accelerate_part(const accelerate_plan *m, int32_t op)
{
	const decoder_names *names = &m->m.arch->style->names;
	const char *name = m->x->g->op_name[op], *position = m->m.arch->style->position;
	const int32_t n_layers = m->m.n_layers;
	size_t n = strlen(names->layer);
	if (strncmp(name, names->layer, n) == 0 && name[n] == '.') {
		int32_t layer = berth_text_digits(name + n + 1, n_layers - 1, NULL);
		return layer >= 0 ? ACCELERATE_LAYER + layer : -1;
	}
	return berth_export_begins(name, names->embed)           ? ACCELERATE_EMBED
	       : position && berth_export_begins(name, position) ? ACCELERATE_POSITION
	       : berth_export_begins(name, names->output)        ? ACCELERATE_OUTPUT(n_layers)
	       : berth_export_begins(name, names->output_norm)   ? ACCELERATE_NORM(n_layers)
	                                                         : -1;
}

/* Every operator is of one module: a layer, or what is in front of them or behind them. */
static berth_status place_op(accelerate_plan *m, int32_t op, char *module, size_t size)
{
	const char *name = m->x->g->op_name[op];
	int32_t d = m->op_dev[op], part = accelerate_part(m, op);
	if (part < 0)
		return BERTH_OK;
	if (part == ACCELERATE_POSITION)
		part = ACCELERATE_EMBED;
	if (m->part_dev[part] >= 0 && m->part_dev[part] != d) {
		if (part >= ACCELERATE_LAYER && part < ACCELERATE_LAYER + m->m.n_layers)
			snprintf(module, size, "%s.%d", m->m.arch->style->names.layer,
			         part - ACCELERATE_LAYER);
		else
			snprintf(module, size, "%s", name);
		return split(m, module, m->part_dev[part], d, name);
	}
	m->part_dev[part] = d;
	return BERTH_OK;
}

static berth_status find_modules(accelerate_plan *m, berth_arena *tmp)
{
	const int32_t n = m->m.n_layers, n_parts = ACCELERATE_PARTS(n);
	char module[160];
	BERTH_TRY_NEW(tmp, n_parts, m->err, m->part_dev);
	for (int32_t k = 0; k < n_parts; k++)
		m->part_dev[k] = -1;
	for (int32_t op = 0; op < m->x->g->n_ops; op++)
		BERTH_TRY(place_op(m, op, module, sizeof module));
	for (int32_t i = 0; i < n; i++)
		if (m->part_dev[ACCELERATE_LAYER + i] < 0)
			return berth_fail(m->err, BERTH_EUNSUPPORTED,
			                  "no operator of layer %d is in the plan", i);
	if (m->part_dev[ACCELERATE_EMBED] < 0 || m->part_dev[ACCELERATE_OUTPUT(n)] < 0)
		return berth_fail(m->err, BERTH_EUNSUPPORTED, "graph '%s' has no embedding or no output",
		                  m->x->g->name);
	if (m->part_dev[ACCELERATE_NORM(n)] < 0)
		m->part_dev[ACCELERATE_NORM(n)] = m->part_dev[ACCELERATE_OUTPUT(n)];
	m->part_dev[ACCELERATE_POSITION] = m->part_dev[ACCELERATE_ROTARY(n)] = m->part_dev[ACCELERATE_EMBED];
	return BERTH_OK;
}
berth_status accelerate_open(accelerate_plan *m, const int32_t *op_dev, berth_export_out *out,
                             berth_arena *tmp)
{
	m->op_dev = op_dev;
	if (!m->m.arch)
		BERTH_TRY(hf_model_read(m->x->model, tmp, &m->m, m->err));
	BERTH_TRY(name_devices(m, out, tmp, m->err));
	return find_modules(m, tmp);
}
