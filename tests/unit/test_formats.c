/* Every format of files through the users' header: the bytes say the same as the file does. */
#include "gguf_bytes.h"
#include "support.h"

#include "berth.h"
#include "file.h"
#include "load.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sample {
	const char *format;
	const char *data;
	size_t size;
	int32_t n_ops;
	const char *op; /* one of the operators */
} sample;

#define TEXT(text) text, sizeof text - 1

static const sample texts[] = {
	{"berth-graph",
         TEXT("{\"format\":\"berth-graph\",\"version\":1,"
              "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"edges\":[]}"),
         2, "b"},
	{"DOT", TEXT("// drawn\ndigraph { a -> b [bytes=3]; b -> c }"), 3, "c"},
	{"STG", TEXT("# two tasks\n2\n0 0 0\n1 3 1 0\n2 4 1 1\n3 0 1 2\n"), 4, "3"},
	{"DAX", TEXT("<adag><job id='x' name='n' runtime='2'/></adag>"), 1, "x"},
	{"Tarnawski",
         TEXT("{\"maxSizePerFPGA\":15,\"maxFPGAs\":1,\"maxCPUs\":1,\"nodes\":[{\"id\":7,\"name\":\"n\","
              "\"supportedOnFpga\":true,\"cpuLatency\":1,\"fpgaLatency\":2,\"size\":1}],\"edges\":[]}"),
         1, "n"},
};

static void same_model(const berth_model *m, const sample *s)
{
	assert_int_equal(berth_model_count(m), s->n_ops);
	assert_true(berth_model_find(m, s->op) >= 0);
}

/* As bytes, whose name is no file; as a file; and by the name of the format. */
static void check(const sample *s)
{
	char path[] = "/tmp/berth-formats-XXXXXX";
	berth_model *m;
	berth_err err = {0};
	assert_string_equal(berth_format_of(s->data, s->size)->name, s->format);
	assert_ok(berth_model_parse("no/such/file", s->data, s->size, &m, &err), &err);
	same_model(m, s);
	berth_model_free(m);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_ok(berth_file_write(path, s->data, s->size, &err), &err);
	assert_ok(berth_model_load(path, &m, &err), &err);
	same_model(m, s);
	berth_model_free(m);
	unlink(path);
}

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		check(&texts[i]);
}

static void test_gguf(void **state)
{
	(void)state;
	gguf_bytes b;
	berth_model *m = NULL;
	berth_err err = {0};
	gguf_write(&b, gguf_recipe_find("llama-2-7b"), 2); /* the header alone: no weight is there */
	check(&(sample){"GGUF", (const char *)b.p, b.n, 44, "blk.1.ffn_down.weight"});
	/* A part of a split file has no others beside it, whatever its name says. */
	free(b.p);
	gguf_begin(&b);
	gguf_put_keys(&b, gguf_recipe_find("llama-2-7b"), 2);
	gguf_key_u32(&b, "split.count", 2);
	gguf_end(&b);
	assert_int_equal(berth_model_parse("m-00001-of-00002.gguf", b.p, b.n, &m, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "one of 2 parts");
	assert_null(m);
	free(b.p);
}

static void test_onnx(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err = {0};
	char *data;
	size_t size;
	assert_ok(berth_file_read(BERTH_READS_MODEL,
	                          BERTH_FIXTURES "/greedy_loop.onnx", &mem, &data, &size, &err), &err);
	check(&(sample){"ONNX", data, size, 6, "/Loop"});
	berth_arena_free(&mem);
}

static void test_words(void **state)
{
	(void)state;
	static const char *const word[] = {"unit=2"};
	berth_read_options opt = {.dim = word, .n_dims = 1};
	berth_err err = {0};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const sample *s = &texts[i];
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_status st =
			berth_graph_parse("f", s->data, s->size, &opt, &mem, &tmp, &g, NULL, &err);
		assert_int_equal(st, berth_format_of(s->data, s->size)->words ? BERTH_OK : BERTH_EINVAL);
		if (st != BERTH_OK)
			assert_contains(err.msg, s->format);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts), cmocka_unit_test(test_gguf),
	                                   cmocka_unit_test(test_onnx), cmocka_unit_test(test_words)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
