/* Exporters that read the model once more do so where files of strangers are read: in a sandbox. What they
 * make comes back as bytes; devices are checked, and texts are as foreign as those of the model. */
#include "exporters.h"
#include "wire.h"

typedef struct question {
	const berth_exporter *e;
	const berth_export_source *x;
} question;

/* ---- placements ---- */

typedef enum which { USUAL, NEAREST, BEST, SECONDS } which;

typedef struct devices {
	question q;
	which which;
	int32_t *op_dev; /* [n_ops] */
	bool known;      /* of USUAL; of BEST: some fits */
	double bound;    /* of BEST */
	berth_export_uses uses; /* of SECONDS, whose op_dev stays */
} devices;

/* That nothing fits is no failure of reading. */
static berth_status ask_best(devices *a, berth_arena *tmp, berth_err *err)
{
	berth_err own = {0};
	berth_status st = a->q.e->best(a->q.x, tmp, a->op_dev, &a->bound, &own);
	a->known = st != BERTH_EINFEASIBLE;
	return st == BERTH_OK || !a->known ? BERTH_OK : berth_fail(err, st, "%s", own.msg);
}

static berth_status ask(devices *a, berth_arena *tmp, berth_err *err)
{
	const berth_exporter *e = a->q.e;
	a->known = true;
	return a->which == USUAL     ? e->usual(a->q.x, tmp, a->op_dev, &a->known, err)
	       : a->which == NEAREST ? e->nearest(a->q.x, tmp, a->op_dev, err)
	       : a->which == SECONDS ? e->seconds(a->q.x, a->op_dev, tmp, &a->uses, err)
	                             : ask_best(a, tmp, err);
}

static void wire_devices(berth_wire *w, devices *a)
{
	uint8_t known = a->known;
	BERTH_WIRE(w, known);
	BERTH_WIRE(w, a->bound);
	BERTH_WIRE(w, a->uses.plan);
	BERTH_WIRE(w, a->uses.usual);
	BERTH_WIRE(w, a->uses.error);
	if (known && a->which != SECONDS)
		berth_wire_raw(w, a->op_dev, (size_t)a->q.x->g->n_ops * sizeof *a->op_dev);
	a->known = known == 1;
}

static berth_status work_devices(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	devices *a = ctx;
	berth_arena tmp = {0}; /* the process ends with all that it has */
	berth_wire w = berth_wire_writer(mem);
	BERTH_TRY(ask(a, &tmp, err));
	wire_devices(&w, a);
	return berth_wire_done(&w, data, size, err);
}

static berth_status ask_anywhere(devices *a, berth_arena *tmp, berth_err *err)
{
	const berth_export_source *x = a->q.x;
	const char *data;
	size_t size;
	if (!x->sandbox || !x->model)
		return ask(a, tmp, err);
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_sandbox_run(x->sandbox, x->model->name, work_devices, a, tmp, &data, &size, err));
	berth_wire w = berth_wire_reader(data, size, tmp);
	wire_devices(&w, a);
	for (int32_t op = 0; a->known && op < x->g->n_ops; op++)
		w.bad = w.bad || a->op_dev[op] < 0 || a->op_dev[op] >= x->s->n_devs;
	return berth_wire_whole(&w, x->model->name, err);
}

berth_status berth_export_usual(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                                int32_t *op_dev, bool *known, berth_err *err)
{
	devices a = {.q = {e, x}, .which = USUAL, .op_dev = op_dev};
	berth_status st = ask_anywhere(&a, tmp, err);
	*known = a.known;
	return st;
}

berth_status berth_export_nearest(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                                  int32_t *op_dev, berth_err *err)
{
	return ask_anywhere(&(devices){.q = {e, x}, .which = NEAREST, .op_dev = op_dev}, tmp, err);
}

berth_status berth_export_best(const berth_exporter *e, const berth_export_source *x, berth_arena *tmp,
                               int32_t *op_dev, double *bound, berth_err *err)
{
	devices a = {.q = {e, x}, .which = BEST, .op_dev = op_dev};
	BERTH_TRY(ask_anywhere(&a, tmp, err));
	*bound = a.bound;
	return a.known ? BERTH_OK
	               : berth_fail(err, BERTH_EINFEASIBLE, "no plan that %s can be told fits", e->name);
}

berth_status berth_export_seconds(const berth_exporter *e, const berth_export_source *x,
                                  const int32_t *usual_dev, berth_arena *tmp, berth_export_uses *out,
                                  berth_err *err)
{
	int32_t *dev;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, x->g->n_ops, err, dev);
	BERTH_COPY(dev, usual_dev, x->g->n_ops);
	devices a = {.q = {e, x}, .which = SECONDS, .op_dev = dev};
	berth_status st = ask_anywhere(&a, tmp, err);
	*out = a.uses;
	return st;
}

/* ---- what is written ---- */

static void wire_texts(berth_wire *w, const char ***text, int32_t *n)
{
	berth_wire_list(w, text, n, sizeof **text);
	for (int32_t i = 0; i < *n; i++)
		berth_wire_text(w, &(*text)[i]);
}

static void wire_out(berth_wire *w, const berth_content *model, berth_export_out *out)
{
	berth_wire_pieces(w, &out->piece, &out->n_pieces, model->data, model->size);
	berth_wire_list(w, &out->setting, &out->n_settings, sizeof *out->setting);
	for (int32_t i = 0; i < out->n_settings; i++) {
		berth_wire_text(w, &out->setting[i].key);
		berth_wire_text(w, &out->setting[i].value);
	}
	berth_wire_list(w, &out->memory, &out->n_memory, sizeof *out->memory);
	for (int32_t i = 0; i < out->n_memory; i++) {
		berth_export_memory *m = &out->memory[i];
		berth_wire_text(w, &m->device);
		BERTH_WIRE(w, m->weights);
		BERTH_WIRE(w, m->cache);
		BERTH_WIRE(w, m->buffers);
	}
	berth_wire_list(w, &out->rate, &out->n_rates, sizeof *out->rate);
	for (int32_t i = 0; i < out->n_rates; i++) {
		berth_wire_text(w, &out->rate[i].use);
		BERTH_WIRE(w, out->rate[i].plan);
		BERTH_WIRE(w, out->rate[i].usual);
	}
	berth_wire_text(w, &out->usual);
	berth_wire_text(w, &out->unfit);
	wire_texts(w, &out->note, &out->n_notes);
	wire_texts(w, &out->warning, &out->n_warnings);
}

static bool has_texts(const berth_export_out *out)
{
	bool all = true;
	for (int32_t i = 0; i < out->n_settings; i++)
		all = all && out->setting[i].key && out->setting[i].value;
	for (int32_t i = 0; i < out->n_memory; i++)
		all = all && out->memory[i].device;
	for (int32_t i = 0; i < out->n_rates; i++)
		all = all && out->rate[i].use;
	for (int32_t i = 0; i < out->n_notes; i++)
		all = all && out->note[i];
	for (int32_t i = 0; i < out->n_warnings; i++)
		all = all && out->warning[i];
	return all;
}

static berth_status work_write(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const question *q = ctx;
	berth_arena tmp = {0};
	berth_export_out out = {.mem = mem};
	berth_wire w = berth_wire_writer(mem);
	BERTH_TRY(q->e->write(q->x, &tmp, &out, err));
	wire_out(&w, q->x->model, &out);
	return berth_wire_done(&w, data, size, err);
}

berth_status export_write_apart(const berth_exporter *e, const berth_export_source *x, berth_export_out *out,
                                berth_err *err)
{
	question q = {e, x};
	const char *data;
	size_t size;
	BERTH_TRY(berth_sandbox_run(x->sandbox, x->model->name, work_write, &q, out->mem, &data, &size, err));
	berth_wire w = berth_wire_reader(data, size, out->mem);
	wire_out(&w, x->model, out);
	w.bad = w.bad || !has_texts(out);
	return berth_wire_whole(&w, x->model->name, err);
}
