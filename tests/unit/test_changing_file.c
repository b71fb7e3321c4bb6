/* Files that somebody writes into while they are read: at every allocation of the reader in turn. Text is
 * read as it was or as it is then, never as a mixture. A model that stays in its file may be refused; no
 * array takes more than it was made for. */
#include "file.h"
#include "gguf_bytes.h"
#include "graph_format.h"
#include "load.h"
#include "load_system.h"
#include "onnx_bytes.h"
#include "policy_file.h"
#include "support.h"
#include "system_json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An allocator that writes another content into the file at one of its calls. */
typedef struct changer {
	berth_allocator hook;
	long change_at, calls;
	const char *path;
	const void *to;
	size_t size;
} changer;

static void put_content(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, size, 0), (ssize_t)size);
	close(fd);
}

static void *changing_alloc(void *ctx, size_t size)
{
	changer *c = ctx;
	if (c->calls++ == c->change_at)
		put_content(c->path, c->to, c->size);
	return malloc(size);
}

static void changing_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* What was read, as the digest of its canonical text. */
typedef berth_status reader(const char *path, berth_arena *mem, berth_arena *tmp, char hex[65],
                            berth_err *err);

static berth_status read_graph(const char *path, berth_arena *mem, berth_arena *tmp, char hex[65],
                               berth_err *err)
{
	berth_graph g;
	BERTH_TRY(berth_graph_load(path, NULL, mem, tmp, &g, NULL, err));
	return berth_graph_sha256(&g, tmp, hex, err);
}

static berth_status read_system(const char *path, berth_arena *mem, berth_arena *tmp, char hex[65],
                                berth_err *err)
{
	berth_system s;
	BERTH_TRY(berth_system_load(path, NULL, mem, tmp, &s, err));
	return berth_system_sha256(&s, tmp, hex, err);
}

/* Read a file of content a that becomes b at allocation change_at (-1: never). *ended: there was no such
 * allocation. */
static berth_status read_changing(reader *read, const char *path, const void *a, const void *b, size_t size,
                                  long change_at, char hex[65], bool *ended)
{
	changer c = {{changing_alloc, changing_free, &c, true}, change_at, 0, path, b, size};
	berth_arena mem, tmp;
	berth_err err;
	berth_arena_init(&mem, &c.hook);
	berth_arena_init(&tmp, &c.hook);
	put_content(path, a, size);
	berth_status st = read(path, &mem, &tmp, hex, &err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	*ended = c.calls <= change_at;
	return st;
}

typedef struct outcome {
	berth_status st;
	char hex[65]; /* "" where it was refused */
} outcome;

static bool is(const outcome *x, const outcome *y)
{
	return x->st == y->st && strcmp(x->hex, y->hex) == 0;
}

/* whole: the file is read as if it had one of the contents; else it may be refused as well, or be told as a
 * mixture. */
static void try_all(reader *read, const void *a, const void *b, size_t size, bool whole)
{
	char path[] = "/tmp/berth-changing-XXXXXX";
	bool ended = false;
	outcome from_a = {0}, from_b = {0};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	from_a.st = read_changing(read, path, a, b, size, -1, from_a.hex, &ended);
	from_b.st = read_changing(read, path, b, a, size, -1, from_b.hex, &ended);
	assert_false(is(&from_a, &from_b));
	ended = false;
	for (long k = 0; !ended; k++) {
		outcome x = {0};
		x.st = read_changing(read, path, a, b, size, k, x.hex, &ended);
		assert_true(is(&x, &from_a) || is(&x, &from_b) || !whole);
		assert_true(x.st == BERTH_OK || x.st == BERTH_EFORMAT || x.st == BERTH_EINVAL);
	}
	unlink(path);
}

/* ---- text ---- */

enum { TEXT = 80000, MANY = 40 }; /* what is long is read piece by piece */

typedef void item_writer(char *line, size_t size, int i);

static void write_node(char *line, size_t size, int i)
{
	snprintf(line, size, "{\"id\":%d,\"name\":\"n%d\",\"supportedOnFpga\":1,\"cpuLatency\":1,"
	                     "\"fpgaLatency\":1,\"size\":1}", i, i);
}

static void write_device(char *line, size_t size, int i)
{
	snprintf(line, size, "{\"name\":\"d%d\",\"peak_flops\":1e9,\"mem_bandwidth\":1e9}", i);
}

/* head, n items, blanks up to the length of every such text, tail; to be freed. */
static char *make_text(const char *head, item_writer *write, int n, const char *tail)
{
	char *text = calloc(TEXT + 1, 1);
	assert_non_null(text);
	size_t at = strlen(strcpy(text, head));
	for (int i = 0; i < n; i++) {
		text[at++] = i ? ',' : ' ';
		write(text + at, TEXT - at, i);
		at += strlen(text + at);
	}
	assert_true(at + strlen(tail) < TEXT);
	memset(text + at, ' ', TEXT - at);
	memcpy(text + TEXT - strlen(tail), tail, strlen(tail));
	return text;
}

static void try_text(reader *read, const char *head, item_writer *write, int n_few, const char *tail)
{
	char *few = make_text(head, write, n_few, tail), *many = make_text(head, write, MANY, tail);
	try_all(read, few, many, TEXT, true);
	try_all(read, many, few, TEXT, true);
	free(few);
	free(many);
}

static void test_workload(void **state)
{
	(void)state;
	try_text(read_graph, "{\"maxFPGAs\":1,\"maxCPUs\":1,\"maxSizePerFPGA\":9,\"nodes\":[", write_node,
	         2, "],\"edges\":[]}");
}

/* Devices that nothing connects are refused. */
static void test_system(void **state)
{
	(void)state;
	try_text(read_system, "{\"format\":\"berth-system\",\"version\":1,\"devices\":[", write_device, 1,
	         "]}");
}

/* ---- policies ---- */

/* The seed, which stands in the header, and the last parameter. */
static berth_status read_policy(const char *path, berth_arena *mem, berth_arena *tmp, char hex[65],
                                berth_err *err)
{
	berth_policy_file f;
	(void)tmp;
	BERTH_TRY(berth_policy_file_read(path, mem, &f, err));
	snprintf(hex, 65, "%d %a", (int)f.seed, (double)f.params[policy_param_count(&f.dims) - 1]);
	return BERTH_OK;
}

/* Another policy with a digest of its own: another seed, and all bytes of data others. */
static void test_policy(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	char *a, *b, *seed;
	size_t size, header = 0;
	assert_ok(berth_file_read(BERTH_READS_MODEL,
	                          BERTH_SOURCE "/checkpoints/zero-shot.safetensors", &mem, &a, &size, &err),
	          &err);
	b = berth_arena_alloc(&mem, size, 1);
	assert_non_null(b);
	memcpy(b, a, size);
	for (int i = 0; i < 4; i++)
		header |= (size_t)(unsigned char)b[i] << (8 * i);
	seed = strstr(b + 8, "\"seed\":\"1\"");
	assert_non_null(seed);
	seed[8] = '2';
	for (size_t i = 8 + header; i < size; i++)
		b[i] ^= 1;
	assert_true(safetensors_seal(b, size));
	try_all(read_policy, a, b, size, true);
	berth_arena_free(&mem);
}

/* ---- models, which stay in their files ---- */

/* A node whose inputs beyond the first are fields of another number. */
static void write_onnx(bytes *file, uint32_t field)
{
	static bytes graph, node, inner;
	graph.n = node.n = inner.n = file->n = 0;
	put_value(&graph, 11, "x", 1, "2,3");
	put_text(&inner, 1, "x");
	for (int i = 1; i < 4 * MANY; i++)
		put_text(&inner, field, "x");
	put_text(&inner, 2, "y");
	put_text(&inner, 4, "Concat");
	put_message(&graph, 1, &inner);
	put_value(&graph, 12, "y", 1, NULL);
	put_model(file, &graph, 13);
}

static void test_onnx(void **state)
{
	(void)state;
	static bytes few, many;
	write_onnx(&few, 9);
	write_onnx(&many, 1);
	assert_int_equal(few.n, many.n);
	try_all(read_graph, few.data, many.data, few.n, false);
	try_all(read_graph, many.data, few.data, few.n, false);
}

/* A truth value for each layer, in an array that is given another type. */
static void write_gguf(gguf_bytes *b, uint32_t type)
{
	const gguf_recipe *r = gguf_recipe_find("gemma-2-2b");
	gguf_begin(b);
	gguf_put_keys(b, r, 3);
	gguf_put_text(b, "gemma2.attention.sliding_window_pattern");
	gguf_put_u32(b, 9);
	gguf_put_u32(b, type);
	gguf_put_u64(b, 3);
	gguf_put(b, "\1\1\0", 3);
	b->n_keys++;
	gguf_put_tensors(b, r, 0, 3, 1);
	gguf_end(b);
}

static void test_gguf(void **state)
{
	(void)state;
	gguf_bytes truth, unknown;
	write_gguf(&truth, 7);
	write_gguf(&unknown, 0xfffffff0);
	try_all(read_graph, truth.p, unknown.p, truth.n, false);
	free(truth.p);
	free(unknown.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workload),
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_onnx),
		cmocka_unit_test(test_gguf),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
