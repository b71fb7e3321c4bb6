/* What the readers of task graphs share; see tasks.h. */
#include "task_graph.h"

#include "spec.h"
#include "text.h"

#include <math.h>
#include <string.h>

static const berth_spec_param params[] = {{"unit", "seconds of a unit of time", 1, 1e-12, 1e6, false, NULL},
                                          {"speed",
                                           "FLOP/s of the machine that times hold on; 0: every device", 0, 0,
                                           1e18, false, NULL},
                                          {"bandwidth", "bytes/s of the link that costs of edges hold on",
                                           1e9, 1, 1e18, false, NULL}};

berth_task_options berth_task_options_default(void)
{
	return (berth_task_options){.unit = 1, .bandwidth = 1e9, .suffix = ""};
}

berth_status berth_task_options_read(const char *file, const char *const *word, int32_t n, berth_arena *mem,
                                     berth_task_options *out, berth_err *err)
{
	const berth_spec_table t = {"task graph", "", params, sizeof params / sizeof *params};
	double value[BERTH_SPEC_PARAMS];
	const char *rest = "";
	for (int32_t i = 0; i < n; i++)
		if (!(rest = berth_arena_printf(mem, "%s:%s", rest, word[i])))
			return berth_nomem(err);
	berth_spec_table named = t;
	named.kind = "the format";
	named.name = "of task graphs";
	BERTH_TRY(berth_spec_values(file, rest, &named, value, err));
	*out = (berth_task_options){value[0], value[1], value[2], berth_spec_canonical(&t, value, mem)};
	return out->suffix ? BERTH_OK : berth_nomem(err);
}

berth_status task_graph_new(task_graph *t, const char *file)
{
	const char *slash = strrchr(file, '/'), *stem = slash ? slash + 1 : file, *dot = strrchr(stem, '.');
	size_t n = dot && dot > stem ? (size_t)(dot - stem) : strlen(stem);
	const char *name = berth_arena_printf(t->tmp, "%.*s%s", (int)n, stem, t->opt->suffix);
	return name ? berth_builder_new(t->tmp, name, &t->b, t->err) : berth_nomem(t->err);
}

berth_status task_graph_check_time(const task_graph *t, int32_t op, double time)
{
	berth_op_spec spec;
	double seconds = time * t->opt->unit;
	if (t->opt->speed > 0 || isnan(seconds) || seconds <= BERTH_MOST_OP_S)
		return BERTH_OK;
	berth_builder_get(t->b, op, &spec);
	return berth_fail(t->err, BERTH_EFORMAT,
	                  "operator '%s': time_s of '*' is %g; expected 0 to %g seconds", spec.name, seconds,
	                  BERTH_MOST_OP_S);
}

berth_status task_graph_time(task_graph *t, int32_t op, double time, bool dummy)
{
	berth_op_spec spec;
	double seconds = time * t->opt->unit;
	if (dummy && isnan(time)) {
		berth_builder_get(t->b, op, &spec);
		seconds = spec.flops > 0 ? NAN : 0;
	}
	if (isnan(seconds))
		return BERTH_OK;
	if (t->opt->speed <= 0)
		return berth_builder_time(t->b, op, "*", seconds, t->err);
	berth_builder_get(t->b, op, &spec);
	spec.flops += seconds * t->opt->speed;
	return berth_builder_set(t->b, op, &spec, t->err);
}

berth_status task_graph_op(task_graph *t, const berth_op_spec *spec, double time, int32_t *op)
{
	BERTH_TRY(berth_builder_op(t->b, spec, op, t->err));
	return task_graph_time(t, *op, time, false);
}

int64_t task_graph_bytes(const task_graph *t, double time)
{
	double bytes = time * t->opt->unit * t->opt->bandwidth;
	return bytes <= 0x1p53 ? (int64_t)llround(bytes) : -1;
}

berth_status task_graph_check_name(const task_graph *t, scan_word w)
{
	if (w.n == 0 || memchr(w.text, '\0', w.n) || !berth_text_is_utf8(w.text, w.n))
		return berth_fail(t->err, BERTH_EFORMAT, "a name that is empty or no UTF-8 text");
	return BERTH_OK;
}

berth_status task_graph_name(const task_graph *t, scan_word w, const char **out)
{
	BERTH_TRY(task_graph_check_name(t, w));
	*out = berth_arena_strndup(t->tmp, w.text, w.n);
	return *out ? BERTH_OK : berth_nomem(t->err);
}
