/* Do models with pieces compute what they did? Operators of each model are cut at random, and both models are
 * run in ONNX Runtime, unoptimised, with the same weights and inputs.
 *   berth-ort-pieces CUTS SEED MODEL...
 * For each model CUTS times, by turns: some operators, each along any axis into 2 to 4 unequal pieces
 * (twice); some operators that multiply no matrices; all operators along their cheapest axis. Rows that
 * pieces share are sent or computed twice. Prints a table in Markdown. Leaves with 1 where an output differs
 * by more than 1e-5 of its largest element, or differs at all where no product was cut. Leaves with 77 where
 * the runtime is not installed. */
#include "pieces.h"
#include "onnx_model.h"
#include "ort_compare.h"
#include "ort_model.h"
#include "rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, MOST = 4, ASKS = 64 };
#define TOLERANCE 1e-5

typedef struct trial {
	ort_lib *lib;
	ort_model plain;
	berth_strbuf bytes; /* the model with all its weights */
	onnx_model decoded;
	ort_value **expected; /* [n_outputs] */
	int64_t n_cut, n_pieces, n_refused, n_exact;
	double worst;
} trial;

static int fail(const char *what, const berth_err *err)
{
	fprintf(stderr, "%s: %s\n", what, err ? err->msg : "");
	return 1;
}

static berth_status run_model(trial *t, const void *data, size_t size, ort_value **result, berth_err *err)
{
	const ort_session_cfg cfg = {.threads = 1, .level = ORT_PLAIN};
	ort_session *s;
	BERTH_TRY(ort_session_new(t->lib, data, size, &cfg, &s, err));
	berth_status st = ort_model_run_whole(&t->plain, s, result, err);
	ort_session_free(t->lib, s);
	return st;
}

/* The model with its weights, what it computes, and its operators. */
static berth_status open_model(trial *t, const char *path, berth_arena *mem, berth_err *err)
{
	int32_t *in, n_in, n_weights;
	onnx_model *m = &t->plain.onnx;
	BERTH_TRY(ort_model_open(t->lib, path, NULL, ORT_PLAIN, NULL, mem, &t->plain, err));
	BERTH_TRY_NEW(mem, m->n_values, err, in);
	BERTH_TRY_NEW(mem, m->n_outputs, err, t->expected);
	BERTH_TRY(ort_model_part(&t->plain, m->order, (int32_t)m->n_nodes, m->output, (int32_t)m->n_outputs,
	                         mem, in, &n_in, &t->bytes, err));
	BERTH_TRY(run_model(t, (const unsigned char *)t->bytes.text, t->bytes.len, t->expected, err));
	t->decoded = (onnx_model){
		.file = path, .data = (const unsigned char *)t->bytes.text, .size = t->bytes.len, .tmp = mem};
	return onnx_decode(&t->decoded, NULL, &n_weights, err);
}

/* ---- cuts at random ---- */

typedef struct drawn {
	pieces_ask ask[ASKS];
	double share[ASKS + 1][MOST];
	char axis[ASKS][16];
	pieces_options opt;
	bool exact; /* nothing is cut whose arithmetic depends on its shape */
} drawn;

static bool stands_once(const onnx_model *m, const char *name)
{
	int n = 0;
	for (size_t i = 0; i < m->n_nodes; i++)
		n += strcmp(onnx_node_label(m, &m->node[i]), name) == 0;
	return n == 1;
}

/* Products of matrices: kernels for other shapes sum in another order. */
static bool is_product(const onnx_node *n)
{
	return strstr(n->type, "Conv") || strcmp(n->type, "MatMul") == 0 || strcmp(n->type, "Gemm") == 0;
}

static int32_t below(berth_rng *r, int32_t n)
{
	return (int32_t)(berth_rng_unit(r) * n);
}

static void draw_shares(berth_rng *r, double *share, int32_t k)
{
	for (int32_t i = 0; i < k; i++)
		share[i] = 1 + below(r, 3);
}

static void draw_ask(berth_rng *r, const onnx_model *m, drawn *d)
{
	const onnx_node *n = &m->node[below(r, (int32_t)m->n_nodes)];
	const char *name = onnx_node_label(m, n);
	int32_t at = d->opt.n_asks, rank = n->n_out && n->out[0] >= 0 ? m->value[n->out[0]].rank : -1;
	if (n->folded || rank < 1 || !stands_once(m, name) || (d->exact && is_product(n)))
		return;
	for (int32_t i = 0; i < at; i++)
		if (strcmp(d->ask[i].op, name) == 0)
			return;
	int32_t dim = below(r, rank + 1);
	snprintf(d->axis[at], sizeof d->axis[at], dim < rank ? "%d" : "inner", (int)dim);
	d->ask[at] = (pieces_ask){
		.op = name, .axis = d->axis[at], .k = 2 + below(r, MOST - 1), .share = d->share[at]};
	d->ask[at].each = d->opt.each;
	draw_shares(r, d->share[at], d->ask[at].k);
	d->opt.n_asks++;
}

static void draw(berth_rng *r, const onnx_model *m, int32_t number, drawn *d)
{
	int32_t n = 1 + below(r, ASKS);
	*d = (drawn){.exact = number % 4 == 2};
	d->opt.ask = d->ask;
	d->opt.overlap = below(r, 2);
	d->opt.each = below(r, 2);
	for (int32_t i = 0; i < n; i++)
		draw_ask(r, m, d);
	if (number % 4 == 3) {
		d->opt.n_asks = 0;
		d->opt.k = 2 + below(r, MOST - 1);
		d->opt.style = below(r, 2) ? PIECES_TENSOR : PIECES_CHEAPEST;
		d->opt.share = d->share[ASKS];
		draw_shares(r, d->share[ASKS], d->opt.k);
	}
}

/* ---- comparing ---- */

static int compare(trial *t, ort_value *const *result, const char *path, int32_t number, bool exact)
{
	for (size_t o = 0; o < t->plain.onnx.n_outputs; o++) {
		ort_shape a, b;
		void *x, *y;
		berth_err err;
		if (ort_value_look(t->lib, t->expected[o], &a, &x, &err) != BERTH_OK ||
		    ort_value_look(t->lib, result[o], &b, &y, &err) != BERTH_OK)
			return fail(path, &err);
		if (a.bytes != b.bytes || a.elem != b.elem)
			return fail("an output has another shape", NULL);
		double off = ort_difference(x, y, a.elem, a.bytes / ort_elem_bytes(a.elem));
		t->worst = fmax(t->worst, off);
		t->n_exact += o == 0 && exact;
		if (!(off <= (exact ? 0 : TOLERANCE))) {
			fprintf(stderr, "%s, cut %d: output %zu differs by %g\n", path, (int)number, o, off);
			return 1;
		}
	}
	return 0;
}

static int check_cut(trial *t, const char *path, const pieces_model *p, int32_t number, bool exact,
                     berth_arena *mem)
{
	berth_strbuf all = {.mem = mem};
	ort_value **result;
	berth_err err;
	for (size_t i = 0; i < p->n_pieces; i++)
		berth_strbuf_add(&all, p->piece[i].data, p->piece[i].size);
	if (all.failed || BERTH_NEW(mem, result, t->plain.onnx.n_outputs, &err) != BERTH_OK)
		return fail(path, &err);
	int bad;
	if (run_model(t, all.text, all.len, result, &err) != BERTH_OK)
		bad = fail(path, &err);
	else
		bad = compare(t, result, path, number, exact);
	for (size_t o = 0; o < t->plain.onnx.n_outputs; o++)
		ort_value_free(t->lib, result[o]);
	return bad;
}

static int try_cut(trial *t, const char *path, int32_t number, berth_rng *r)
{
	berth_arena mem = {0};
	pieces_model p;
	berth_err err;
	drawn *d = malloc(sizeof *d);
	int bad = 1;
	if (!d)
		return fail(path, NULL);
	draw(r, &t->decoded, number, d);
	if (pieces_cut_model(path, (const unsigned char *)t->bytes.text, t->bytes.len, NULL, &d->opt, &mem,
	                     &p, &err) != BERTH_OK)
		bad = fail(path, &err);
	else {
		for (int32_t i = 0; i < p.n_made; i++)
			t->n_pieces += p.made[i].k;
		t->n_cut += p.n_made;
		t->n_refused += p.n_refused;
		bad = check_cut(t, path, &p, number, d->exact, &mem);
	}
	if (bad)
		for (int32_t i = 0; i < d->opt.n_asks; i++)
			fprintf(stderr, "  %s=%s into %d\n", d->ask[i].op, d->ask[i].axis, (int)d->ask[i].k);
	free(d);
	berth_arena_free(&mem);
	return bad;
}

static int check_model(ort_lib *lib, const char *path, int32_t n_cuts, uint64_t seed)
{
	berth_arena mem = {0};
	berth_err err = {0};
	trial t = {.lib = lib, .bytes = {.mem = &mem}};
	berth_rng r = berth_rng_seed(seed, 0);
	int bad = open_model(&t, path, &mem, &err) == BERTH_OK ? 0 : fail(path, &err);
	for (int32_t i = 0; i < n_cuts && !bad; i++)
		bad = try_cut(&t, path, i, &r);
	const char *slash = strrchr(path, '/');
	if (!bad)
		printf("| %s | %d | %lld | %lld | %lld | %lld | %s |\n", slash ? slash + 1 : path,
		       (int)n_cuts, (long long)t.n_cut, (long long)t.n_pieces, (long long)t.n_refused,
		       (long long)t.n_exact,
		       t.worst == 0     ? "none"
		       : t.worst < 1e-6 ? "below 1e-6"
		                        : "below 1e-5");
	for (size_t o = 0; t.expected && o < t.plain.onnx.n_outputs; o++)
		ort_value_free(lib, t.expected[o]);
	ort_model_close(&t.plain);
	berth_arena_free(&mem);
	return bad;
}

int main(int argc, char **argv)
{
	berth_arena mem = {0};
	berth_err err;
	ort_lib *lib;
	int bad = 0;
	if (argc < 4)
		return fail("usage: berth-ort-pieces CUTS SEED MODEL...", NULL);
	if (ort_open(NULL, &mem, &lib, &err) != BERTH_OK) {
		fprintf(stderr, "skipped: %s\n", err.msg);
		berth_arena_free(&mem);
		return SKIPPED;
	}
	printf("| model | cuts | operators cut | pieces | refused | exact cuts | largest difference |\n"
	       "|---|---:|---:|---:|---:|---:|---|\n");
	for (int i = 3; i < argc; i++)
		bad |= check_model(lib, argv[i], atoi(argv[1]), strtoull(argv[2], NULL, 10));
	berth_arena_free(&mem);
	return bad;
}
