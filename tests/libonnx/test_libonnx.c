/* Shapes of the ONNX importer against those of libonnx, on the models of Debian's libonnx-testdata, of our
 * own exports and of the workloads. Both see the model without the shapes that it declares inside. Wherever
 * libonnx knows the type and the whole shape of a tensor, the importer must know the same; where only the
 * model's own declaration is complete, that. What they cannot be compared on is counted and printed. */
#include "file.h"
#include "libonnx.h"
#include "onnx_infer.h"
#include "support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct tally {
	int models, refused, unreadable; /* compared; that libonnx refuses to infer; that the importer cannot
	                                    read */
	long shapes, declared; /* equal to libonnx's; known to the declarations only, and equal to those */
	long wrong, missing, declared_wrong; /* against libonnx; not known where libonnx knows */
	long beyond;                       /* known to the importer, not to libonnx */
} tally;

typedef struct compare {
	const char *path;
	onnx_model m;
	tally *t;
	struct seen { char *name; int32_t elem, rank; int64_t dim[ONNX_MAX_RANK]; bool inferred; } *seen;
	size_t n, cap;
} compare;

static bool is_full(int32_t elem, int32_t rank, const int64_t *dim)
{
	return elem && onnx_count(rank, dim) >= 0;
}

static void remember(void *ctx, const char *name, int32_t elem, int32_t rank, const int64_t *dim,
                     bool inferred)
{
	compare *c = ctx;
	if (rank > ONNX_MAX_RANK || !is_full(elem, rank, dim))
		return;
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 64;
		c->seen = realloc(c->seen, c->cap * sizeof *c->seen);
		assert_non_null(c->seen);
	}
	struct seen *s = &c->seen[c->n++];
	s->name = strdup(name);
	s->elem = elem;
	s->rank = rank;
	s->inferred = inferred;
	memcpy(s->dim, dim, (size_t)rank * sizeof *dim);
}

static void on_inferred(void *ctx, const char *name, int32_t elem, int32_t rank, const int64_t *dim)
{
	remember(ctx, name, elem, rank, dim, true);
}

static void on_declared(void *ctx, const char *name, int32_t elem, int32_t rank, const int64_t *dim)
{
	remember(ctx, name, elem, rank, dim, false);
}

static bool same(const onnx_value *v, const struct seen *s)
{
	return v->elem == s->elem && v->rank == s->rank &&
	       (s->rank == 0 || memcmp(v->dim, s->dim, (size_t)s->rank * sizeof *s->dim) == 0);
}

static void say(const compare *c, const char *what, const onnx_value *v, const struct seen *s)
{
	char a[128], b[128];
	onnx_dims da = {.rank = v->rank}, db = {.rank = s->rank};
	if (v->rank > 0)
		memcpy(da.d, v->dim, (size_t)v->rank * sizeof *v->dim);
	memcpy(db.d, s->dim, (size_t)s->rank * sizeof *s->dim);
	print_message("%s: %s: '%s' (%s): type %d %s, expected type %d %s\n", what, c->path, s->name,
	              v->producer >= 0 ? c->m.node[v->producer].type : "", v->elem, onnx_dims_text(a, &da),
	              s->elem, onnx_dims_text(b, &db));
}

/* Does the model declare the value as the importer has it? Then libonnx is wrong (STFT of version 1.12). */
static bool is_declared(const compare *c, const char *name, const onnx_value *v)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->seen[i].inferred && strcmp(c->seen[i].name, name) == 0 && same(v, &c->seen[i]))
			return true;
	return false;
}

/* Each value once: what libonnx said comes before what the model declares. */
static void compare_one(compare *c, const struct seen *s, bool *done)
{
	int32_t index = berth_strmap_get(&c->m.values, s->name);
	if (index < 0 || c->m.value[index].producer < 0 || done[index])
		return;
	const onnx_value *v = &c->m.value[index];
	done[index] = true;
	if (same(v, s)) {
		s->inferred ? c->t->shapes++ : c->t->declared++;
	} else if (!is_full(v->elem, v->rank, v->dim)) {
		if (s->inferred)
			c->t->missing++;
		if (s->inferred || getenv("BERTH_VERBOSE"))
			say(c, s->inferred ? "missing" : "open", v, s);
	} else if (s->inferred && is_declared(c, s->name, v)) {
		c->t->declared++;
	} else {
		s->inferred ? c->t->wrong++ : c->t->declared_wrong++;
		say(c, s->inferred ? "wrong" : "unlike its declaration", v, s);
	}
}

static void compare_all(compare *c)
{
	bool *done = calloc(c->m.n_values + 1, 1);
	assert_non_null(done);
	for (int pass = 1; pass >= 0; pass--)
		for (size_t i = 0; i < c->n; i++)
			if (c->seen[i].inferred == pass)
				compare_one(c, &c->seen[i], done);
	for (size_t v = 0; v < c->m.n_values; v++)
		c->t->beyond += !done[v] && c->m.value[v].producer >= 0 &&
		                is_full(c->m.value[v].elem, c->m.value[v].rank, c->m.value[v].dim);
	free(done);
}

static void compare_model(const char *path, bool with_inputs, tally *t)
{
	char folder[1024];
	berth_arena mem = {0};
	berth_err err = {0};
	const unsigned char *data;
	size_t size, n = 0;
	unsigned char *stripped = NULL;
	compare c = {.path = path, .t = t};
	snprintf(folder, sizeof folder, "%.*s/test_data_set_0", (int)(strrchr(path, '/') - path), path);
	assert_ok(berth_file_map(BERTH_READS_MODEL, path, &data, &size, &err), &err);
	char *why = libonnx_infer(data, size, with_inputs ? folder : NULL, on_inferred, on_declared, &c,
	                          &stripped, &n);
	if (why && getenv("BERTH_VERBOSE"))
		print_message("libonnx refuses %s: %s\n", path, why);
	t->refused += why != NULL;
	if (stripped) {
		c.m = (onnx_model){.file = path, .data = stripped, .size = n, .tmp = &mem, .err = &err};
		berth_status st = onnx_read_model(&c.m);
		st = st == BERTH_OK ? onnx_resolve(&c.m, NULL) : st;
		st = st == BERTH_OK ? onnx_infer_model(&c.m) : st;
		if (st != BERTH_OK) {
			print_message("cannot read: %s\n", err.msg);
			t->unreadable++;
		} else {
			t->models++;
			compare_all(&c);
		}
	}
	for (size_t i = 0; i < c.n; i++)
		free(c.seen[i].name);
	free(c.seen);
	free(stripped);
	free(why);
	berth_file_unmap(data, size);
	berth_arena_free(&mem);
}

/* ---- folders ---- */

typedef struct list {
	char **path;
	size_t n, cap;
} list;

static list found; /* nftw has no context */

static int on_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)at;
	size_t len = strlen(path);
	if (type != FTW_F || len < 5 || strcmp(path + len - 5, ".onnx") != 0)
		return 0;
	if (found.n == found.cap) {
		found.cap = found.cap ? 2 * found.cap : 256;
		found.path = realloc(found.path, found.cap * sizeof *found.path);
		assert_non_null(found.path);
	}
	found.path[found.n++] = strdup(path);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void compare_folder(const char *folder, bool with_inputs, tally *t)
{
	found = (list){0};
	nftw(folder, on_file, 16, FTW_PHYS);
	qsort(found.path, found.n, sizeof *found.path, by_name);
	for (size_t i = 0; i < found.n; i++) {
		compare_model(found.path[i], with_inputs, t);
		free(found.path[i]);
	}
	free(found.path);
	print_message("%s%s: %d models (%d more that cannot be read); %ld shapes equal to libonnx's, %ld "
	              "wrong, %ld missing; %ld equal to the model's own declaration, "
	              "%ld unlike it; %ld that libonnx does not know; libonnx refuses %d models\n",
	              folder, with_inputs ? ", with the content of the inputs" : "", t->models, t->unreadable,
	              t->shapes, t->wrong, t->missing, t->declared, t->declared_wrong, t->beyond, t->refused);
}

static void check_folder(const char *folder, bool with_inputs, int models, long shapes)
{
	tally t = {0};
	if (access(folder, R_OK) != 0) {
		print_message("skipped: no folder %s\n", folder);
		skip();
	}
	compare_folder(folder, with_inputs, &t);
	assert_int_equal(t.wrong + t.missing + t.declared_wrong + t.unreadable, 0);
	assert_true(t.models >= models && t.shapes >= shapes);
}

static void test_testdata(void **state)
{
	(void)state;
	check_folder("/usr/share/libonnx-testdata/data", false, 1072, 2200);
}

/* Shapes that depend on what comes in: each model's own inputs as constants. */
static void test_testdata_with_inputs(void **state)
{
	(void)state;
	check_folder("/usr/share/libonnx-testdata/data", true, 1072, 2300);
}

static void test_exports(void **state)
{
	(void)state;
	check_folder(BERTH_FIXTURES, false, 15, 5000);
}

static void test_workloads(void **state)
{
	(void)state;
	check_folder(BERTH_WORKLOADS "/onnx", false, 6, 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_testdata),
	                                   cmocka_unit_test(test_testdata_with_inputs),
	                                   cmocka_unit_test(test_exports), cmocka_unit_test(test_workloads)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
