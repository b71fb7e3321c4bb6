/* Any bytes as an ONNX model that is cut. With nothing to cut, what is written is what was read, field by
 * field, unknown ones too. With all operators cut, it is a model that reads, and holds each piece. */
#include "fuzz.h"
#include "mutate.h"
#include "onnx.h"
#include "protobuf.h"
#include "pieces.h"

#include <string.h>

typedef struct text {
	const unsigned char *data;
	size_t size;
} text;

static text joined(const pieces_model *p, berth_arena *mem)
{
	text t;
	t.data = berth_file_join(p->piece, p->n_pieces, mem, &t.size);
	must(t.data != NULL);
	return t;
}

/* The next field of the message; of a graph only those that are nodes, or only the others. */
static bool next(protobuf *w, protobuf_field *f, int nodes)
{
	bool more;
	do
		must(protobuf_next(w, f, &more, NULL) == BERTH_OK);
	while (more && nodes >= 0 && (f->number == 1 && f->type == PROTOBUF_BYTES) != nodes);
	return more;
}

static bool same_field(const protobuf *a, const protobuf_field *f, const protobuf *b, const protobuf_field *g)
{
	return f->number == g->number && f->type == g->type && f->value == g->value &&
	       f->end - f->at == g->end - g->at &&
	       (f->type != PROTOBUF_BYTES || f->end == f->at ||
	        memcmp(a->data + f->at, b->data + g->at, f->end - f->at) == 0);
}

/* Fields of two graphs that are no nodes, one by one; nodes may have another order. */
static void same_graph(protobuf a, protobuf b)
{
	protobuf_field f, g;
	size_t n = 0, bytes = 0, hash = 0;
	for (protobuf x = a, y = b; next(&x, &f, 0);) {
		must(next(&y, &g, 0));
		must(same_field(&x, &f, &y, &g));
	}
	for (protobuf x = a; next(&x, &f, 1); n++) {
		bytes += f.end - f.at;
		for (size_t i = f.at; i < f.end; i++)
			hash += (i - f.at + 1) * a.data[i];
	}
	for (protobuf y = b; next(&y, &g, 1); n--) {
		bytes -= g.end - g.at;
		for (size_t i = g.at; i < g.end; i++)
			hash -= (i - g.at + 1) * b.data[i];
	}
	must(n == 0 && bytes == 0 && hash == 0);
}

static void same_model(text a, text b)
{
	protobuf x = {"f", a.data, 0, a.size}, y = {"f", b.data, 0, b.size};
	protobuf_field f, g;
	while (next(&x, &f, -1)) {
		must(next(&y, &g, -1));
		if (f.number == 7 && f.type == PROTOBUF_BYTES && g.number == 7)
			same_graph(protobuf_inside(&x, &f), protobuf_inside(&y, &g));
		else
			must(same_field(&x, &f, &y, &g));
	}
	must(!next(&y, &g, -1));
}

static bool holds(text t, const char *name)
{
	size_t n = strlen(name);
	for (size_t i = 0; i + n <= t.size; i++)
		if (memcmp(t.data + i, name, n) == 0)
			return true;
	return false;
}

static void cut_all(text t, size_t way, fuzz_arenas *a)
{
	static const double share[] = {1, 2};
	const pieces_options opt = {.k = 2,
	                            .share = share,
	                            .overlap = way & 1,
	                            .each = way & 2,
	                            .style = (pieces_style)(way / 4 % 3),
	                            .outside = "new.bin"};
	pieces_model p;
	berth_graph g;
	berth_err err = {0};
	berth_status st = pieces_cut_model("f.onnx", t.data, t.size, NULL, &opt, &a->mem, &p, &err);
	must(st == BERTH_OK || (st != BERTH_EINVAL && *err.msg));
	if (st != BERTH_OK)
		return;
	text cut = joined(&p, &a->mem);
	st = berth_graph_parse_onnx("f.onnx", cut.data, cut.size, NULL, &a->mem, &a->tmp, &g, NULL, &err);
	must(st == BERTH_OK);
	for (int32_t i = 0; i < p.n_made; i++)
		for (int32_t k = 0; k < p.made[i].k; k++)
			must(holds(cut, p.made[i].name[k]));
}

/* What is listed as an axis is one: cutting along it is no error, though it may be refused. */
static void cut_listed(text t, fuzz_arenas *a)
{
	static const double share[] = {1, 1};
	pieces_source *s;
	pieces_axes *list;
	pieces_model p;
	berth_err err = {0};
	int32_t n;
	if (pieces_open("f.onnx", t.data, t.size, NULL, &a->mem, &s, &err) != BERTH_OK)
		return;
	must(pieces_list(s, "new.bin", &a->mem, &list, &n, &err) == BERTH_OK);
	for (int32_t i = 0; i < n && i < 4; i++) {
		const pieces_ask ask = {list[i].op, list[i].axis[list[i].n - 1], 2, share, i % 2};
		const pieces_options opt = {.ask = &ask, .n_asks = 1, .outside = "new.bin"};
		berth_status st = pieces_cut_source(s, &opt, &a->mem, &p, &err);
		must(st != BERTH_EINVAL && (st != BERTH_OK || p.n_made + p.n_refused == 1));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	const pieces_options none = {.k = 0};
	const text t = {data, size};
	pieces_model p;
	berth_graph g;
	berth_err err = {0};
	fuzz_begin(&a);
	if (berth_graph_parse_onnx("f.onnx", data, size, NULL, &a.mem, &a.tmp, &g, NULL, NULL) != BERTH_OK)
		return 0;
	berth_status st = pieces_cut_model("f.onnx", data, size, NULL, &none, &a.mem, &p, &err);
	must(st == BERTH_OK || *err.msg);
	if (st == BERTH_OK) {
		text once = joined(&p, &a.mem);
		same_model(t, once);
		must(pieces_cut_model("f.onnx", once.data, once.size, NULL, &none, &a.mem, &p, &err) ==
		     BERTH_OK);
		cut_listed(t, &a);
		text twice = joined(&p, &a.mem);
		must(twice.size == once.size && memcmp(twice.data, once.data, once.size) == 0);
		cut_all(t, size, &a);
	}
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return mutate_onnx(data, size, max_size, seed);
}
