/* What reading a model found, for whoever asked for its graph. Inputs whose sizes nobody states are told with
 * what was taken for them. */
#include "onnx_model.h"

enum { FEW_INPUTS = 3, MOST_TEXTS = 16 };

static berth_status copy_text(berth_arena *mem, const char *from, const char **to, berth_err *err)
{
	return berth_got(*to = berth_arena_strdup(mem, from), err);
}

/* ---- open sizes ---- */

/* A name, the first bytes of a long one. */
static const char *brief(char buf[80], const char *name)
{
	berth_visible_copy(buf, 80, name, strlen(name));
	return buf;
}

/* The symbol that dimension d of an input is; -1: none. */
static int32_t symbol_at(const onnx_model *m, const onnx_value *v, int32_t d)
{
	const int64_t *dim = m->open_dim[v->input];
	int64_t x = dim ? dim[d] : 0;
	return x <= -2 && m->symbol_of_input[-2 - x] ? (int32_t)(-2 - x) : -1;
}

static bool has(const onnx_model *m, const onnx_value *v, onnx_how how)
{
	bool found = false;
	for (int32_t d = 0; d < v->said_rank; d++) {
		int32_t s = symbol_at(m, v, d);
		found |= s >= 0 && m->symbol_how[s] == (unsigned char)how;
	}
	return found;
}

/* The same dimensions with the same names. */
static bool alike(const onnx_model *m, const onnx_value *a, const onnx_value *b)
{
	const int64_t *x = m->open_dim[a->input], *y = m->open_dim[b->input];
	return x && y && a->said_rank == b->said_rank && memcmp(x, y, (size_t)a->said_rank * sizeof *x) == 0;
}

/* "input 'x'", or "inputs 'a', 'b', 'c' and 45 more": those alike from position `from` on. */
static const char *name_inputs(const onnx_model *m, size_t from)
{
	const onnx_value *first = &m->value[m->input[from]];
	char buf[80];
	const char *text = berth_arena_printf(m->tmp, "'%s'", brief(buf, first->name));
	int n = 1;
	for (size_t i = from + 1; i < m->n_inputs && text; i++) {
		const onnx_value *v = &m->value[m->input[i]];
		if (alike(m, first, v) && n++ < FEW_INPUTS)
			text = berth_arena_printf(m->tmp, "%s, '%s'", text, brief(buf, v->name));
	}
	if (text && n > FEW_INPUTS)
		text = berth_arena_printf(m->tmp, "%s and %d more", text, n - FEW_INPUTS);
	return text ? berth_arena_printf(m->tmp, "input%s %s", n > 1 ? "s" : "", text) : NULL;
}

/* "[batch=1,3,x.2=1]" */
static const char *shape_text(const onnx_model *m, const onnx_value *v)
{
	char buf[80];
	const char *text = "[";
	for (int32_t d = 0; d < v->said_rank && text; d++) {
		int32_t s = symbol_at(m, v, d);
		text = s < 0 ? berth_arena_printf(m->tmp, "%s%s%lld", text, d ? "," : "",
		                                  (long long)v->said_dim[d])
		             : berth_arena_printf(m->tmp, "%s%s%s=%lld", text, d ? "," : "",
		                                  brief(buf, m->symbol[s]), (long long)m->symbol_value[s]);
	}
	return text ? berth_arena_printf(m->tmp, "%s]", text) : NULL;
}

/* The names of its symbols of one kind, with commas between; *first is the first of them. */
static const char *names_of(const onnx_model *m, const onnx_value *v, onnx_how how, const char **first)
{
	char buf[80];
	const char *text = "";
	for (int32_t d = 0; d < v->said_rank && text; d++) {
		int32_t s = symbol_at(m, v, d), before = 0;
		if (s < 0 || m->symbol_how[s] != (unsigned char)how)
			continue;
		while (symbol_at(m, v, before) != s)
			before++;
		if (before < d)
			continue;
		*first = *text ? *first : m->symbol[s];
		text = berth_arena_printf(m->tmp, "%s%s%s", text, *text ? ", " : "",
		                          brief(buf, m->symbol[s]));
	}
	return text;
}

static berth_status tell_input(const onnx_model *m, size_t i, berth_arena *mem, const char **out)
{
	const onnx_value *v = &m->value[m->input[i]];
	char buf[80];
	const char *first = "", *inputs = name_inputs(m, i), *shape = shape_text(m, v);
	const char *fitted = names_of(m, v, ONNX_FITTED, &first);
	const char *guessed = names_of(m, v, ONNX_GUESSED, &first);
	bool ok = inputs && shape && fitted && guessed;
	const char *fits = !ok       ? NULL
	                   : *fitted ? berth_arena_printf(mem, ": only this size of %s fits", fitted)
	                             : "";
	const char *guess = !fits      ? NULL
	                    : *guessed ? berth_arena_printf(
					      mem, "%s nobody states %s, taken for 1 (--dim %s=N)",
					      *fits ? ";" : ":", guessed, brief(buf, first))
	                               : "";
	*out = guess ? berth_arena_printf(mem, "%s %s%s%s", inputs, shape, fits, guess) : NULL;
	return berth_got(*out, m->err);
}

/* Is input i told among the guessed, or among the fitted? */
static bool is_told(const onnx_model *m, size_t i, bool guessed)
{
	const onnx_value *v = &m->value[m->input[i]];
	bool guess = has(m, v, ONNX_GUESSED);
	return guessed ? guess : !guess && has(m, v, ONNX_FITTED);
}

/* The texts of inputs, in their order, and of those that are alike once. Few of many are told. */
static berth_status tell_inputs(const onnx_model *m, bool guessed, berth_arena *mem, const char ***text,
                                int32_t *n)
{
	bool *told;
	int32_t left = 0;
	BERTH_TRY_NEW(m->tmp, m->n_inputs, m->err, told);
	BERTH_TRY_NEW(mem, MOST_TEXTS + 1, m->err, *text);
	for (size_t i = 0; i < m->n_inputs; i++) {
		if (told[i] || !is_told(m, i, guessed))
			continue;
		left += *n == MOST_TEXTS;
		if (*n == MOST_TEXTS)
			continue;
		for (size_t k = i + 1; k < m->n_inputs; k++)
			told[k] |= alike(m, &m->value[m->input[i]], &m->value[m->input[k]]);
		BERTH_TRY(tell_input(m, i, mem, &(*text)[(*n)++]));
	}
	if (!left)
		return BERTH_OK;
	(*text)[*n] = berth_arena_printf(mem, "%d more inputs have sizes that nobody states", left);
	return berth_got((*text)[(*n)++], m->err);
}

/* ---- all ---- */

berth_status onnx_report(const onnx_model *m, berth_arena *mem, berth_read_report *r)
{
	r->n_nodes = (int32_t)m->n_nodes;
	r->n_warnings = (int32_t)m->n_warnings;
	BERTH_TRY_NEW(mem, m->n_warnings, m->err, r->warning);
	BERTH_TRY_NEW(mem, m->n_symbols, m->err, r->dim_name, r->dim_value);
	for (size_t i = 0; i < m->n_warnings; i++)
		BERTH_TRY(copy_text(mem, m->warning[i], &r->warning[i], m->err));
	r->n_loops = (int32_t)m->n_loops;
	BERTH_TRY_NEW(mem, m->n_loops, m->err, r->loop_name);
	for (size_t i = 0; i < m->n_loops; i++)
		BERTH_TRY(copy_text(mem, onnx_node_label(m, m->loop[i]), &r->loop_name[i], m->err));
	r->n_external = (int32_t)m->external->n;
	BERTH_TRY_NEW(mem, r->n_external, m->err, r->external);
	for (int32_t i = 0; i < r->n_external; i++)
		BERTH_TRY(copy_text(mem, m->external->name[i], &r->external[i], m->err));
	for (size_t i = 0; i < m->n_symbols; i++) {
		if (!m->symbol_of_input[i])
			continue;
		r->dim_value[r->n_dims] = m->symbol_value[i];
		BERTH_TRY(copy_text(mem, m->symbol[i], &r->dim_name[r->n_dims++], m->err));
	}
	BERTH_TRY(tell_inputs(m, true, mem, &r->guessed, &r->n_guessed));
	return tell_inputs(m, false, mem, &r->fitted, &r->n_fitted);
}
