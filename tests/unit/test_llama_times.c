/* Times of operators as llama.cpp runs them. */
#include "engine_rules.h"
#include "gguf_bytes.h"
#include "load.h"
#include "problem.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <stdlib.h>

static const char text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":["
	"{\"name\":\"cpu\",\"peak_flops\":1e12,\"mem_bandwidth\":5e10},"
	"{\"name\":\"gpu\",\"peak_flops\":1e14,\"mem_bandwidth\":1e12}],"
	"\"links\":[{\"from\":\"cpu\",\"to\":\"gpu\",\"bandwidth\":1e10,\"both_ways\":true}]}";

/* A CPU whose peak in f32 products of one row with weights of 4 bits would be bound by. */
static const char slow[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"one\",\"devices\":["
	"{\"name\":\"cpu\",\"class\":\"cpu\",\"units\":1,\"cache_bytes\":1000000,"
	"\"peak_flops\":1e11,\"mem_bandwidth\":2e10}]}";

enum { CPU, GPU };

typedef struct both {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s, engine;
	berth_problem plain, p; /* without the engine, and with it */
} both;

static void open_both(both *x, const char *mode, const char *machine)
{
	gguf_bytes b;
	berth_err err = {0};
	const berth_engine_rules *rules;
	const char *const word[] = {mode, "context=8192", machine == slow ? "weights=q4_0" : "weights=file",
	                            "chunk=512"};
	berth_read_options opt = {.dim = word, .n_dims = strcmp(mode, "mode=decode") == 0 ? 3 : 4};
	*x = (both){0};
	gguf_write(&b, gguf_recipe_find("llama-3-8b"), 2);
	assert_ok(berth_graph_parse("m.gguf", (const char *)b.p, b.n, &opt, &x->mem, &x->tmp, &x->g, NULL,
	                            &err),
	          &err);
	free(b.p);
	assert_ok(berth_system_parse_json("m", machine, strlen(machine), &x->mem, &x->tmp, &x->s, &err),
	          &err);
	assert_ok(berth_rules_find("llama.cpp", &rules, &err), &err);
	x->engine = x->s;
	assert_ok(berth_system_for(rules, &x->engine, &err), &err);
	assert_ok(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->plain, &err), &err);
	assert_ok(berth_problem_new(&x->g, &x->engine, &x->mem, &x->tmp, &x->p, &err), &err);
}

static void close_both(both *x)
{
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
}

static double ratio(const both *x, const char *name)
{
	int32_t op = berth_graph_find(&x->g, name);
	assert_true(op >= 0);
	assert_int_equal(berth_op_time(&x->p, op, GPU), berth_op_time(&x->plain, op, GPU));
	return (double)berth_op_time(&x->p, op, CPU) / (double)berth_op_time(&x->plain, op, CPU);
}

/* A prompt is read on the GPU, with copies of weights and cache at 4.3 GB/s; the embedding stays. */
static void test_reading(void **state)
{
	both x;
	(void)state;
	open_both(&x, "mode=prefill", text);
	int32_t op = berth_graph_find(&x.g, "blk.1.ffn_up.weight");
	double copy = (double)x.g.op_param_bytes[op] / 4.3;
	assert_near((double)(berth_op_time(&x.p, op, CPU) - berth_op_time(&x.plain, op, GPU)), copy, 1);
	op = berth_graph_find(&x.g, "blk.1.attn.flash");
	copy = 2.0 * 8192 * 8 * 128 * 2 / 4.3;
	assert_near((double)(berth_op_time(&x.p, op, CPU) - berth_op_time(&x.plain, op, GPU)), copy, 1);
	assert_near(ratio(&x, "token_embd.weight"), 1, 0);
	assert_near(ratio(&x, "output.weight"), 1, 0); /* of one row */
	op = berth_graph_find(&x.g, "blk.1.ffn.mul");
	assert_int_equal(berth_op_time(&x.p, op, CPU), berth_op_time(&x.plain, op, GPU));
	close_both(&x);
}

/* A token is made where its layers are; attention on the CPU reaches 2 % of its peak. */
static void test_answering(void **state)
{
	both x;
	(void)state;
	open_both(&x, "mode=decode", text);
	int32_t op = berth_graph_find(&x.g, "blk.1.attn.flash");
	assert_near((double)berth_op_time(&x.p, op, CPU), 2 * x.g.op_macs[op] / (0.02 * 1e12) * 1e9, 1);
	for (op = 0; op < x.g.n_ops; op++)
		if (x.g.op_state_bytes[op] == 0)
			assert_near(ratio(&x, x.g.op_name[op]), 1, 0);
	close_both(&x);
}

static double seconds_of(const both *x, const berth_problem *p, const char *name)
{
	int32_t op = berth_graph_find(&x->g, name);
	assert_true(op >= 0);
	return (double)berth_op_time(p, op, CPU) * 1e-9;
}

/* Weights of few bits are multiplied row by row, with whole numbers: a token waits for the memory alone, and
 * a prompt for twice the peak (with a byte each for four times); in tiles attention reaches 15 %, and what is
 * masked is left out. */
static void test_cpu(void **state)
{
	both x;
	(void)state;
	open_both(&x, "mode=decode", slow);
	int32_t op = berth_graph_find(&x.g, "blk.1.ffn_up.weight");
	double moved = (double)(x.g.op_read_bytes[op] + x.g.op_write_bytes[op]) / 2e10;
	assert_near(seconds_of(&x, &x.p, "blk.1.ffn_up.weight"), moved, 1e-2 * moved);
	assert_true(seconds_of(&x, &x.plain, "blk.1.ffn_up.weight") > 1.5 * moved);
	close_both(&x);
	open_both(&x, "mode=prefill", slow);
	op = berth_graph_find(&x.g, "blk.1.ffn_up.weight");
	double work = x.g.op_flops[op] / (2 * 0.83 * 1e11);
	assert_near(seconds_of(&x, &x.p, "blk.1.ffn_up.weight"), work, 1e-2 * work);
	op = berth_graph_find(&x.g, "blk.1.attn.flash");
	double seen = x.g.op_macs[op] * (1 - 512.0 / 16384);
	assert_near((double)berth_op_time(&x.p, op, CPU), 2 * seen / (0.15 * 1e11) * 1e9, 1);
	close_both(&x);
}

/* From the disk weights and caches come at the link's rate, where the CPU does not take longer. It needs no
 * figures, and is not the CPU where it stands first or is of that class. */
static void test_disk(void **state)
{
#define DISK(figures) \
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"d\",\"devices\":[" \
	"{\"name\":\"disk\"" figures "},{\"name\":\"cpu\",\"peak_flops\":1e12,\"mem_bandwidth\":5e10}]," \
	"\"links\":[{\"from\":\"disk\",\"to\":\"cpu\",\"bandwidth\":2e9,\"both_ways\":true}]}"
	static const char *const disk[] = {DISK(",\"peak_flops\":1e12,\"mem_bandwidth\":2e9"), DISK(""),
	                                   DISK(",\"class\":\"cpu\"")};
	both x;
	(void)state;
	for (size_t i = 0; i < sizeof disk / sizeof *disk; i++) {
		open_both(&x, "mode=decode", disk[i]);
		int32_t op = berth_graph_find(&x.g, "blk.1.ffn_up.weight");
		assert_true(berth_op_legal(&x.p, op, 0));
		assert_near((double)berth_op_time(&x.p, op, 0), (double)x.g.op_param_bytes[op] / 2, 1);
		op = berth_graph_find(&x.g, "blk.1.attn.flash");
		assert_true((double)berth_op_time(&x.p, op, 0) >= 0.99 * (double)x.g.op_state_bytes[op] / 2);
		op = berth_graph_find(&x.g, "blk.1.ffn.mul");
		assert_true(berth_op_time(&x.p, op, 1) > 0);
		assert_int_equal(berth_op_time(&x.p, op, 0), berth_op_time(&x.p, op, 1));
		close_both(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading), cmocka_unit_test(test_answering),
	                                   cmocka_unit_test(test_cpu), cmocka_unit_test(test_disk)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
