/* Is what berth takes for kernels of ONNX Runtime what the library makes one operator of? The library writes
 * the model as it runs it at a level, and its nodes are joined to the operators of the graph by the names of
 * tensors. Shapes, layouts and copies count for nothing.
 *   berth-ort-fused LEVEL LEAST MODEL...
 * Prints a line for each model, with BERTH_TELL the kernels that differ, too. Leaves with 1 where fewer than
 * LEAST % of all kernels of two operators and more are the same, of the library's or of berth's; with 77
 * where the library is not installed. */
#include "file.h"
#include "granularity.h"
#include "onnx.h"
#include "ort_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77, MOST = 64 };

typedef struct joined {
	const ort_model *m;
	berth_strmap value; /* by name */
	bool *made;         /* [n_values] by a node of the optimised model */
	int32_t *op_kernel; /* [n_ops] that node; -1: none */
	int32_t n_nodes;
} joined;

static int fail(const char *what, const berth_err *err)
{
	fprintf(stderr, "%s: %s\n", what, err ? err->msg : "");
	return 1;
}

/* ---- the optimised model ---- */

/* What shapes, layouts and copies are: where they go says nothing of kernels. */
static bool is_bare(const char *type)
{
	static const char *const bare[] = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten",
	                                   "Dropout", "Identity",  "Slice",   "Split",     "Gather",
	                                   "Cast",    "Expand",    "Concat"};
	for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
		if (strcmp(type, bare[i]) == 0)
			return true;
	return false;
}

/* The operators between value v and what other nodes make are of kernel k. */
static void take(joined *j, int32_t v, int32_t k)
{
	int32_t op = v < 0 ? -1 : j->m->value_op[v];
	if (op < 0 || j->op_kernel[op] >= 0)
		return;
	const onnx_node *n = ort_model_node(j->m, op);
	j->op_kernel[op] = k;
	for (int32_t i = 0; i < n->n_all; i++)
		if (n->in[i] >= 0 && !j->made[n->in[i]])
			take(j, n->in[i], k);
}

/* mark: note what the node makes; else take what it is made of. */
static berth_status visit(joined *j, const protobuf *w, const protobuf_field *node, bool mark,
                          berth_arena *tmp, berth_err *err)
{
	protobuf in = protobuf_inside(w, node);
	protobuf_field f;
	for (bool more;;) {
		BERTH_TRY(protobuf_next(&in, &f, &more, err));
		if (!more)
			break;
		if (f.type != PROTOBUF_BYTES || f.number != 2)
			continue;
		const char *name = berth_arena_strndup(tmp, (const char *)w->data + f.at, f.end - f.at);
		BERTH_TRY(berth_got(name, err));
		int32_t v = berth_strmap_get(&j->value, name);
		if (v >= 0 && mark)
			j->made[v] = true;
		else if (v >= 0)
			take(j, v, j->n_nodes);
	}
	j->n_nodes++;
	return BERTH_OK;
}

static berth_status visit_all(joined *j, const char *path, const unsigned char *data, size_t size, bool mark,
                              berth_arena *tmp, berth_err *err)
{
	protobuf w = {path, data, 0, size};
	protobuf_field f;
	for (bool more;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			return BERTH_OK;
		if (f.number != 7)
			continue;
		protobuf g = protobuf_inside(&w, &f);
		for (;;) {
			BERTH_TRY(protobuf_next(&g, &f, &more, err));
			if (!more)
				break;
			if (f.number == 1)
				BERTH_TRY(visit(j, &g, &f, mark, tmp, err));
		}
	}
}

static berth_status join(joined *j, const char *path, berth_arena *tmp, berth_err *err)
{
	const onnx_model *m = &j->m->onnx;
	const unsigned char *data;
	size_t size;
	BERTH_TRY_NEW(tmp, m->n_values, err, j->made);
	BERTH_TRY_NEW(tmp, j->m->n_ops, err, j->op_kernel);
	for (int32_t op = 0; op < j->m->n_ops; op++)
		j->op_kernel[op] = -1;
	berth_strmap_init(&j->value, tmp);
	for (size_t v = 0; v < m->n_values; v++) {
		int32_t found;
		BERTH_TRY(berth_strmap_add(&j->value, m->value[v].name, (int32_t)v, &found, err));
	}
	BERTH_TRY(berth_file_map(BERTH_READS_MODEL, path, &data, &size, err));
	berth_status st = visit_all(j, path, data, size, true, tmp, err);
	if (st == BERTH_OK)
		st = visit_all(j, path, data, size, false, tmp, err);
	berth_file_unmap(data, size);
	return st;
}

/* ---- comparing ---- */

typedef struct counts {
	int32_t theirs, ours, same, cut; /* cut: theirs of operators that are in several of ours */
} counts;

/* Does each operator that counts have the same fellows in a as in b? Kernels of one are none. n: all in a;
 * cut: those whose operators have other fellows in b, too. */
static int32_t compare(const berth_graph *g, const int32_t *a, const int32_t *b, bool tell, int32_t *n,
                       int32_t *cut)
{
	int32_t same = 0;
	*n = *cut = 0;
	for (int32_t first = 0; first < g->n_ops; first++) {
		int32_t members = 0;
		bool seen = false, equal = true, whole = true;
		for (int32_t op = 0; op < g->n_ops; op++) {
			const char *type = g->op_type[op] < 0 ? "" : g->type_name[g->op_type[op]];
			if (is_bare(type) || is_bare(g->type_name[g->op_type[first]]))
				continue;
			bool fellow = a[first] >= 0 && a[op] == a[first];
			seen = seen || (fellow && op < first);
			members += fellow;
			equal = equal && fellow == (b[op] == b[first]);
			whole = whole && (!fellow || b[op] == b[first]);
		}
		if (members < 2 || seen)
			continue;
		++*n;
		same += equal;
		*cut += !whole;
		for (int32_t op = 0; op < g->n_ops && tell && !equal; op++)
			if (a[op] == a[first])
				printf("%s ", g->op_name[op]);
		if (tell && !equal)
			printf("\n");
	}
	return same;
}

static berth_status check(ort_lib *lib, int level, const char *path, const char *made, berth_arena *mem,
                          counts *all, berth_err *err)
{
	ort_model m = {0};
	ort_session *s;
	berth_read_options words = {0};
	berth_graph g;
	berth_granularity kernels;
	berth_arena tmp = {0};
	counts c;
	const ort_session_cfg cfg = {.threads = 1, .level = level, .optimised = made};
	berth_status st = ort_model_open(lib, path, &words, ORT_PLAIN, NULL, mem, &m, err);
	joined j = {.m = &m};
	if (st == BERTH_OK)
		st = ort_model_session(&m, &cfg, &s, err);
	if (st == BERTH_OK) {
		ort_session_free(lib, s);
		st = join(&j, made, mem, err);
	}
	if (st == BERTH_OK)
		st = berth_graph_parse_onnx(path, m.onnx.data, m.onnx.size, &words, mem, &tmp, &g, NULL, err);
	if (st == BERTH_OK)
		st = berth_granularity_find(&g, BERTH_GRAIN_KERNEL, mem, &tmp, &kernels, err);
	if (st == BERTH_OK) {
		bool tell = getenv("BERTH_TELL") != NULL;
		int32_t parted;
		c.same = compare(&g, j.op_kernel, kernels.op_block, tell, &c.theirs, &c.cut);
		compare(&g, kernels.op_block, j.op_kernel, tell, &c.ours, &parted);
		printf("%s: %d kernels of ONNX Runtime's, %d of berth's, %d the same, %d cut\n", g.name,
		       c.theirs, c.ours, c.same, c.cut);
		*all = (counts){all->theirs + c.theirs, all->ours + c.ours, all->same + c.same,
		                all->cut + c.cut};
	}
	ort_model_close(&m);
	berth_arena_free(&tmp);
	return st;
}

int main(int argc, char **argv)
{
	BERTH_ARENA(mem);
	berth_err err;
	ort_lib *lib;
	char made[] = "/tmp/berth-fused-XXXXXX";
	counts all = {0};
	int file;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 4)
		return fail("usage: berth-ort-fused LEVEL LEAST MODEL...", NULL);
	if (ort_open(NULL, &mem, &lib, &err) != BERTH_OK) {
		fprintf(stderr, "skipped: %s\n", err.msg);
		return SKIPPED;
	}
	if ((file = mkstemp(made)) < 0)
		return fail(made, NULL);
	close(file);
	berth_status st = BERTH_OK;
	for (int i = 3; i < argc && st == BERTH_OK; i++)
		st = check(lib, atoi(argv[1]), argv[i], made, &mem, &all, &err);
	unlink(made);
	if (st != BERTH_OK)
		return fail("failed", &err);
	int32_t most = all.theirs > all.ours ? all.theirs : all.ours;
	printf("all: %d, %d, %d the same, %d cut\n", all.theirs, all.ours, all.same, all.cut);
	return 100 * all.same < atoi(argv[2]) * most;
}
