/* Stored inputs of the fuzzers (tests/fuzz/corpus), good ones and bad ones: read once more with memory that
 * runs out at each place of each. Small texts with every byte changed, documents with every value changed. */
#include "fail_each.h"
#include "file.h"
#include "graph_format.h"
#include "load.h"
#include "load_system.h"
#include "support.h"
#include "system_json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 200, MOST_PATH = 400 };

typedef struct input {
	char path[MOST_PATH];
	bool is_system;
	berth_status ends; /* with all the memory there is */
} input;

static berth_status read_input(const input *x, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_graph g;
	berth_system s;
	berth_read_report report;
	return x->is_system ? berth_system_load(x->path, NULL, mem, tmp, &s, err)
	                    : berth_graph_load(x->path, NULL, mem, tmp, &g, &report, err);
}

static berth_status read_again(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const input *x = ctx;
	berth_status st = read_input(x, mem, tmp, err);
	return st == x->ends ? BERTH_OK : st;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Files of a corpus, names ascending. */
static int list_files(const char *folder, char (*name)[MOST_PATH])
{
	int n = 0;
	DIR *d = opendir(folder);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) && n < MOST_FILES;)
		if (e->d_name[0] != '.')
			snprintf(name[n++], MOST_PATH, "%.150s/%.200s", folder, e->d_name);
	closedir(d);
	qsort(name, (size_t)n, sizeof *name, by_name);
	return n;
}

static void read_corpus(const char *corpus)
{
	const int step = support_one_in(7, "failing allocations");
	static char name[MOST_FILES][MOST_PATH];
	char folder[sizeof BERTH_SOURCE + 64];
	snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", BERTH_SOURCE, corpus);
	int n_files = list_files(folder, name);
	assert_true(n_files > 20);
	for (int i = 0; i < n_files; i++) {
		input x = {.is_system = strcmp(corpus, "system_json") == 0};
		berth_arena mem = {0}, tmp = {0};
		strcpy(x.path, name[i]);
		x.ends = read_input(&x, &mem, &tmp, NULL);
		bool any = berth_arena_get_mark(&mem).chunk || berth_arena_get_mark(&tmp).chunk;
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		if (any)
			assert_fails_each(read_again, &x, step);
	}
}

static void test_graphs(void **state)
{
	(void)state;
	read_corpus("onnx");
	read_corpus("gguf");
	read_corpus("graph_json");
	read_corpus("dot");
	read_corpus("dax");
	read_corpus("stg");
	read_corpus("tarnawski");
	read_corpus("safetensors");
}

static void test_systems(void **state)
{
	(void)state;
	read_corpus("system_json");
}

/* ---- every byte of a text ---- */

static const char dot_text[] =
	"/* c */ strict digraph \"g\" { # c\n graph [a=1]; node [flops=2, color=\"x\"]; edge [bytes=4];\n"
	"a [weight=1.5e3, type=Conv, dtype=f16, dims=\"b=1,m=2,n=3,k=4\",\n"
	" flops=48] ; b:p:n [size = .5]; \"c \\\" d\" [label=<b<i>>]\n"
	"subgraph s { a -> { b \"c \\\" d\" } -> e [bytes=8] } // c\n x = -1; e -> f:q [size=1e+2]; }";
static const char dax_text[] =
	"<?xml version=\"1.0\"?><!-- c --><adag name='g'>"
	"<job id=\"a\" name=\"p:x&amp;&#65;\" runtime=\"1.5\">"
	"<uses file=\"f\" link=\"output\" size=\"10\"/><profile key='runtime'>2</profile></job>"
	"<job id='b' name='y' runtime='2'><uses file='f' link=\"input\" size='10'></uses></job>"
	"<child ref='b'><parent ref='a'/></child></adag>";
static const char stg_text[] = "2\n0 0 0\n1 10 1 0\n2 20 1 1\n3 0 2 1 2\n# end\n";
static const char blocks_text[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\"}],"
	"\"edges\":[]}";

/* A graph, or a message that begins with the file's name. */
static void check_text(const char *text, size_t size)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_read_report report;
	berth_err err = {0};
	berth_status st = berth_graph_parse("f.txt", text, size, NULL, &mem, &tmp, &g, &report, &err);
	if (st == BERTH_OK)
		assert_ok(berth_graph_check(&g, &err), &err);
	else if (st != BERTH_EFORMAT || strncmp(err.msg, "f.txt", 5) != 0)
		fail_msg("status %d, '%s': %.*s", (int)st, err.msg, (int)size, text);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Each byte is left out, doubled, and replaced by each of some others; and the text ends there. */
static void change_bytes(const char *text)
{
	static const char others[] = "{}[]<>()\"'/\\-+.:;,=&#!aE0 9\n\xc3";
	char changed[2048];
	size_t n = strlen(text);
	assert_true(n + 2 < sizeof changed);
	for (size_t at = 0; at < n; at++) {
		memcpy(changed, text, n + 1);
		for (size_t k = 0; k < sizeof others; k++) { /* its closing null, too */
			changed[at] = others[k];
			check_text(changed, n);
		}
		check_text(text, at);
		memcpy(changed + at, text + at + 1, n - at);
		check_text(changed, n - 1);
		memcpy(changed, text, at + 1);
		memcpy(changed + at + 1, text + at, n - at + 1);
		check_text(changed, n + 1);
	}
}

/* Stored inputs with a byte changed, at up to n places of each: numbers and lengths somewhat off. */
static void change_corpus(const char *corpus, size_t n)
{
	static char name[MOST_FILES][MOST_PATH];
	char folder[sizeof BERTH_SOURCE + 64];
	snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", BERTH_SOURCE, corpus);
	int n_files = list_files(folder, name);
	for (int i = 0; i < n_files; i++) {
		berth_arena file = {0};
		char *text;
		size_t size;
		berth_err err;
		assert_ok(berth_file_read(BERTH_READS_MODEL, name[i], &file, &text, &size, &err), &err);
		for (size_t k = 0; k < n && size > 0; k++) {
			size_t at = size > n ? (k * size / n + (size_t)i) % size : k % size;
			unsigned char was = (unsigned char)text[at];
			const unsigned char other[] = {was ^ 1, (unsigned char)(was + 1), 0,   0xff,
			                               was ^ 0x80, (unsigned char)(was - 1), 1, 2};
			text[at] = (char)other[(k + k / 8 + k / size) % 8];
			check_text(text, size);
			text[at] = (char)was;
		}
		berth_arena_free(&file);
	}
}

static void test_changed_files(void **state)
{
	(void)state;
	change_corpus("onnx", 400);
	change_corpus("gguf", 200);
	change_corpus("safetensors", 100);
}

static void test_changed_bytes(void **state)
{
	(void)state;
	change_bytes(dot_text);
	change_bytes(dax_text);
	change_bytes(stg_text);
	change_bytes(blocks_text);
}

/* ---- every value of a document ---- */

static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"a\",\"type\":\"Conv\","
	"\"flops\":1,\"macs\":1,\"read_bytes\":1,\"write_bytes\":1,\"param_bytes\":1,\"state_bytes\":1,"
	"\"workspace_bytes\":1,\"output_bytes\":1,\"time_s\":{\"d\":1,\"*\":null},\"colocate\":\"c\","
	"\"separate\":\"s\",\"pin\":\"d\",\"forbid\":[\"e\"],\"backward\":false},{\"name\":\"b\"}],"
	"\"params\":[{\"name\":\"p\",\"bytes\":1,\"ops\":[\"a\",\"b\"]}],"
	"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1,\"tensor\":\"t\",\"cut_s\":1}]}";
static const char system_text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"contention\":true,\"order\":\"fifo\","
	"\"channel_order\":\"request\",\"cost_model\":\"reference\",\"devices\":[{\"name\":\"d\","
	"\"kind\":\"k\","
	"\"peak_flops\":1,\"efficiency\":{\"*\":1,\"Conv\":0.5},\"mem_bandwidth\":1,\"memory_bytes\":1,"
	"\"memory_margin\":0,\"contiguous\":true,\"op_overhead_s\":0,\"slots\":1,\"runs\":[\"Conv\"],"
	"\"idle_w\":1,"
	"\"busy_w\":2},{\"name\":\"e\"}],\"links\":[{\"from\":\"d\",\"to\":\"e\",\"latency_s\":0,"
	"\"bandwidth\":1,\"both_ways\":true,\"shared\":\"c\",\"joules_per_byte\":0}],"
	"\"memory_pools\":[{\"name\":\"p\",\"devices\":[\"d\"],\"bandwidth\":2,\"bytes\":2}]}";
static const char workload_text[] =
	"{\"maxSizePerFPGA\":15,\"maxFPGAs\":2,\"maxCPUs\":1,\"nodes\":[{\"id\":1,\"name\":\"x\","
	"\"supportedOnFpga\":1,\"isBackwardNode\":0,\"cpuLatency\":2,\"fpgaLatency\":1,\"size\":10,"
	"\"colorClass\":1},{\"id\":2,\"supportedOnFpga\":0,\"cpuLatency\":2,\"size\":10}],"
	"\"edges\":[{\"sourceId\":1,\"destId\":2,\"cost\":3,\"size\":1}]}";

typedef berth_status reader(const char *text, size_t size, berth_arena *mem, berth_arena *tmp,
                            berth_err *err);

static berth_status read_graph(const char *text, size_t size, berth_arena *mem, berth_arena *tmp,
                               berth_err *err)
{
	berth_graph g;
	return berth_graph_parse_json("f.json", text, size, mem, tmp, &g, err);
}

static berth_status read_system(const char *text, size_t size, berth_arena *mem, berth_arena *tmp,
                                berth_err *err)
{
	berth_system s;
	return berth_system_parse_json("f.json", text, size, mem, tmp, &s, err);
}

static berth_status read_workload(const char *text, size_t size, berth_arena *mem, berth_arena *tmp,
                                  berth_err *err)
{
	berth_graph g;
	berth_system s;
	return berth_tarnawski_parse("f.json", text, size, mem, tmp, &g, &s, err);
}

static void check_document(const cJSON *doc, reader *read)
{
	berth_arena mem = {0}, tmp = {0};
	berth_err err = {0};
	char *text = cJSON_PrintUnformatted(doc);
	assert_non_null(text);
	berth_status st = read(text, strlen(text), &mem, &tmp, &err);
	if (st != BERTH_OK && (st != BERTH_EFORMAT || strncmp(err.msg, "f.json", 6) != 0))
		fail_msg("status %d, '%s': %s", (int)st, err.msg, text);
	cJSON_free(text);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Every value below at stands in turn for each of some others. */
static void change_values(const cJSON *doc, cJSON *at, reader *read)
{
	static const char *const others[] = {"null", "true", "0",  "-1", "1.5", "1e300", "9007199254740993",
	                                     "\"\"",  "\"?\"", "[]", "{}", "[1]", "{\"?\":1}"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		cJSON *other = cJSON_Parse(others[i]), kept = *at;
		assert_non_null(other);
		at->type = other->type;
		at->valueint = other->valueint;
		at->valuedouble = other->valuedouble;
		at->valuestring = other->valuestring;
		at->child = other->child;
		check_document(doc, read);
		*at = kept;
		cJSON_Delete(other);
	}
	for (cJSON *x = at->child; x; x = x->next)
		change_values(doc, x, read);
}

static void change_document(const char *text, reader *read)
{
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	cJSON *doc = cJSON_Parse(text);
	assert_non_null(doc);
	assert_ok(read(text, strlen(text), &mem, &tmp, &err), &err);
	change_values(doc, doc, read);
	cJSON_Delete(doc);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_changed_values(void **state)
{
	(void)state;
	change_document(graph_text, read_graph);
	change_document(system_text, read_system);
	change_document(workload_text, read_workload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs), cmocka_unit_test(test_systems),
	                                   cmocka_unit_test(test_changed_bytes),
	                                   cmocka_unit_test(test_changed_files),
	                                   cmocka_unit_test(test_changed_values)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
