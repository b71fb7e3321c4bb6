/* A model is cut in a sandbox: what comes back is the new file, as bytes and places of the old one, and what
 * is told of it. */
#include "pieces.h"
#include "wire.h"

typedef struct question {
	const berth_content *model;
	const berth_read_options *read;
	const pieces_options *opt;
} question;

static void wire_refused(berth_wire *w, pieces_refused *r)
{
	berth_wire_text(w, &r->op);
	berth_wire_text(w, &r->type);
	berth_wire_text(w, &r->why);
}

static void wire_numbers(berth_wire *w, int64_t **x, int32_t n)
{
	int32_t count = n;
	berth_wire_list(w, x, &count, sizeof **x);
	w->bad = w->bad || count != n;
	for (int32_t i = 0; i < count; i++)
		BERTH_WIRE(w, (*x)[i]);
}

static void wire_made(berth_wire *w, pieces_made *m)
{
	int32_t n_names = m->k;
	berth_wire_text(w, &m->op);
	berth_wire_text(w, &m->type);
	berth_wire_text(w, &m->axis);
	BERTH_WIRE(w, m->length);
	berth_wire_list(w, &m->name, &n_names, sizeof *m->name);
	m->k = n_names;
	for (int32_t i = 0; i < m->k; i++)
		berth_wire_text(w, &m->name[i]);
	wire_numbers(w, &m->own, m->k + 1);
	wire_numbers(w, &m->from, m->k);
	wire_numbers(w, &m->to, m->k);
}

static void wire_model(berth_wire *w, const berth_content *model, pieces_model *p)
{
	int32_t *const counts[] = {&p->n_asked, &p->n_slices,     &p->n_joins,
	                           &p->n_sums,  &p->n_other_axis, &p->n_lookups};
	berth_wire_pieces(w, &p->piece, &p->n_pieces, model->data, model->size);
	berth_wire_list(w, &p->made, &p->n_made, sizeof *p->made);
	for (int32_t i = 0; i < p->n_made; i++)
		wire_made(w, &p->made[i]);
	berth_wire_list(w, &p->refused, &p->n_refused, sizeof *p->refused);
	for (int32_t i = 0; i < p->n_refused; i++)
		wire_refused(w, &p->refused[i]);
	berth_wire_list(w, &p->copy, &p->n_copies, sizeof *p->copy);
	for (int32_t i = 0; i < p->n_copies; i++) {
		berth_wire_text(w, &p->copy[i].from);
		BERTH_WIRE(w, p->copy[i].at);
		BERTH_WIRE(w, p->copy[i].rows);
		BERTH_WIRE(w, p->copy[i].bytes);
		BERTH_WIRE(w, p->copy[i].stride);
	}
	wire_refused(w, &p->other_axis);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		BERTH_WIRE(w, *counts[i]);
}

static bool is_told(const pieces_refused *r)
{
	return r->op && r->type && r->why;
}

/* What the new model says is for its reader to doubt; here it is that every text and count is there. */
static bool makes_sense(const pieces_model *p)
{
	bool good = p->n_asked >= 0 && p->n_asked <= p->n_refused;
	good = good && (!p->n_other_axis || is_told(&p->other_axis));
	for (int32_t i = 0; i < p->n_made; i++) {
		const pieces_made *m = &p->made[i];
		good = good && m->op && m->type && m->axis && m->k > 0;
		for (int32_t j = 0; good && j < m->k; j++)
			good = m->name[j] != NULL;
	}
	for (int32_t i = 0; i < p->n_refused; i++)
		good = good && is_told(&p->refused[i]);
	for (int32_t i = 0; i < p->n_copies; i++)
		good = good && p->copy[i].from;
	return good;
}

static berth_status work(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const question *q = ctx;
	pieces_model p;
	berth_wire w = berth_wire_writer(mem);
	BERTH_TRY(pieces_cut_model(q->model->name, (const unsigned char *)q->model->data, q->model->size,
	                           q->read, q->opt, mem, &p, err));
	wire_model(&w, q->model, &p);
	return berth_wire_done(&w, data, size, err);
}

berth_status pieces_cut_apart(const berth_content *model, const berth_read_options *read,
                              const pieces_options *opt, berth_arena *mem, pieces_model *out, berth_err *err)
{
	question q = {model, read, opt};
	const char *data;
	size_t size;
	if (!read->sandbox)
		return pieces_cut_model(model->name, (const unsigned char *)model->data, model->size, read,
		                        opt, mem, out, err);
	BERTH_TRY(berth_sandbox_run(read->sandbox, model->name, work, &q, mem, &data, &size, err));
	berth_wire w = berth_wire_reader(data, size, mem);
	*out = (pieces_model){0};
	wire_model(&w, model, out);
	w.bad = w.bad || !makes_sense(out);
	return berth_wire_whole(&w, model->name, err);
}
