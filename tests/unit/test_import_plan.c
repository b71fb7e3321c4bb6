/* What engines chose: every reader with each allocation failing and at every truncation, words for devices,
 * operators that nobody names, and hostile files in little memory. */
#include "fail_each.h"
#include "graph_format.h"
#include "importers.h"
#include "support.h"
#include "system_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"token_embd.weight\"},"
	"{\"name\":\"blk.0.q.weight\",\"type\":\"Conv\"},{\"name\":\"blk.0.r\",\"type\":\"Relu\"},"
	"{\"name\":\"blk.1.q.weight\",\"param_bytes\":600},{\"name\":\"output.weight\",\"param_bytes\":600},"
	"{\"name\":\"alone\"}],\"edges\":[{\"from\":\"token_embd.weight\",\"to\":\"blk.0.q.weight\","
	"\"bytes\":8},"
	"{\"from\":\"blk.0.q.weight\",\"to\":\"blk.0.r\",\"bytes\":8},"
	"{\"from\":\"blk.0.r\",\"to\":\"blk.1.q.weight\",\"bytes\":8},"
	"{\"from\":\"blk.1.q.weight\",\"to\":\"output.weight\",\"bytes\":8}]}";

static const char system_text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":["
	"{\"name\":\"host\",\"kind\":\"cpu\",\"peak_flops\":1e9,\"mem_bandwidth\":1e9},"
	"{\"name\":\"a\",\"kind\":\"gpu\",\"peak_flops\":4e9,\"mem_bandwidth\":8e9,\"memory_bytes\":1000},"
	"{\"name\":\"b\",\"kind\":\"gpu\",\"peak_flops\":4e9,\"mem_bandwidth\":8e9,\"memory_bytes\":1000}],"
	"\"links\":[{\"from\":\"host\",\"to\":\"a\",\"bandwidth\":1e9,\"both_ways\":true},"
	"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9,\"both_ways\":true}]}";

static const char profile[] =
	"[{\"cat\":\"Node\",\"name\":\"blk.0.r_nchwc_kernel_time\",\"args\":{\"provider\":"
	"\"CUDAExecutionProvider\"}},{\"cat\":\"Node\",\"name\":\"Memcpy_kernel_time\",\"args\":"
	"{\"provider\":\"CPUExecutionProvider\"}}]",
		  map[] = "{\"\":\"cpu\",\"blk\":1,\"blk.0\":\"cuda:0\",\"model.rotary_emb\":0}",
		  names[] = "{\"blk.0.r\":\"GPU.1\",\"alone\":\"CPU\"}",
		  table[] = "operator,device\r\n\"blk.0.r\",b\nalone,host\r\n",
		  layers[] =
			  "layer 0 assigned to device CPU\nlayer   0 assigned to device CUDA0, is_swa = 0\n"
			  "layer 1 assigned to device CUDA1\nlayer 2 assigned to device CUDA1\n"
			  "tensor blk.0.q.weight (1 MiB f16) buffer type overridden to CUDA_Host\n";

typedef struct fixture {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_import_source x;
} fixture;

static void open_fixture(fixture *f)
{
	berth_err err;
	*f = (fixture){0};
	assert_ok(
		berth_graph_parse_json("g", graph_text, sizeof graph_text - 1, &f->mem, &f->tmp, &f->g, &err),
		&err);
	assert_ok(berth_system_parse_json("s", system_text, sizeof system_text - 1, &f->mem, &f->tmp, &f->s,
	                                  &err),
	          &err);
	f->x = (berth_import_source){.file = "f", .g = &f->g, .s = &f->s};
}

static void close_fixture(fixture *f)
{
	berth_arena_free(&f->mem);
	berth_arena_free(&f->tmp);
}

static berth_status read_text(fixture *f, const char *text, berth_import_plan *out, berth_err *err)
{
	f->x.text = text;
	f->x.size = strlen(text);
	return berth_import_read(&f->x, &f->mem, &f->tmp, out, err);
}

/* Each reads what it is, told by the content alone: devices of the operators, by their indices. */
static void test_each_kind(void **state)
{
	(void)state;
	static const struct {
		const char *text, *from, *devices;
		int32_t named, fused, producer, taker, alone;
	} cases[] = {
		{profile, "ort", "111111", 1, 1, 2, 1, 1},      {map, "accelerate", "011200", 6, 0, 0, 0, 0},
		{names, "openvino", "222220", 2, 0, 2, 2, 0},   {table, "csv", "222220", 2, 0, 2, 2, 0},
		{layers, "llama.cpp", "001222", 6, 0, 0, 0, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fixture f;
		berth_import_plan p;
		berth_err err;
		char devices[8] = "";
		open_fixture(&f);
		assert_ok(read_text(&f, cases[i].text, &p, &err), &err);
		assert_string_equal(p.from, cases[i].from);
		for (int32_t op = 0; op < f.g.n_ops; op++)
			devices[op] = (char)('0' + p.op_dev[op]);
		assert_string_equal(devices, cases[i].devices);
		assert_int_equal(p.n_named, cases[i].named);
		assert_int_equal(p.n_fused, cases[i].fused);
		assert_int_equal(p.n_producer, cases[i].producer);
		assert_int_equal(p.n_taker, cases[i].taker);
		assert_int_equal(p.n_alone, cases[i].alone);
		close_fixture(&f);
	}
}

typedef struct reading {
	fixture *f;
	const char *text;
} reading;

static berth_status read_it(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const reading *r = ctx;
	berth_import_plan p;
	berth_import_source x = r->f->x;
	x.text = r->text;
	x.size = strlen(r->text);
	return berth_import_read(&x, mem, tmp, &p, err);
}

static void test_allocations_and_truncations(void **state)
{
	(void)state;
	static const char *const texts[] = {profile, map, names, table, layers};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		fixture f;
		open_fixture(&f);
		assert_fails_each(read_it, (&(reading){&f, texts[i]}), 1);
		for (size_t n = 0; n < strlen(texts[i]); n++) {
			berth_import_plan p;
			berth_err err;
			char cut[1024];
			snprintf(cut, sizeof cut, "%.*s", (int)n, texts[i]);
			berth_status st = read_text(&f, cut, &p, &err);
			assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
		}
		close_fixture(&f);
	}
}

/* Names without end that are none of the graph: refused as soon as there are too many. */
static void test_hostile_in_little_memory(void **state)
{
	(void)state;
	static const struct {
		const char *head, *each, *part;
	} cases[] = {
		{"[{\"ep_name\":\"CPU\",\"nodes\":[", "{\"name\":\"n%d\"},",
	         "expected the file of the model"},
		{"{\"blk\":0,", "\"n%d\":0,",
	         "f: more than 454 modules; graph 'g' has 6 operators to hold"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t most = 1 << 22, size = 0;
		char *text = malloc(most);
		metering_allocator meter;
		berth_arena mem, tmp;
		berth_import_plan p;
		berth_err err;
		fixture f;
		assert_non_null(text);
		open_fixture(&f);
		size += (size_t)snprintf(text, most, "%s", cases[i].head);
		for (int k = 0; size < most - 64; k++)
			size += (size_t)snprintf(text + size, most - size, cases[i].each, k);
		size += (size_t)snprintf(text + size - 1, most - size, "%s", i ? "}" : "]}]") - 1;
		metering_allocator_init(&meter);
		berth_arena_init(&mem, &meter.hook);
		berth_arena_init(&tmp, &meter.hook);
		f.x.text = text;
		f.x.size = size;
		berth_status st = berth_import_read(&f.x, &mem, &tmp, &p, &err);
		assert_int_equal(st, BERTH_EFORMAT);
		assert_contains(err.msg, cases[i].part);
		assert_true(meter.peak < 1 << 20);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		close_fixture(&f);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind), cmocka_unit_test(test_allocations_and_truncations),
		cmocka_unit_test(test_hostile_in_little_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
