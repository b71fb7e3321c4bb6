/* Systems: reading, defaults, folding of links, every error of the reader with its place, the check, the
 * built-in machines. */
#include "cost_model.h"
#include "support.h"
#include "system_change.h"
#include "load_system.h"
#include "system_json.h"
#include "systems_builtin.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD "{\"format\":\"berth-system\",\"version\":1,"
#define AB HEAD "\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"links\":["
#define POOLED                                                                                               \
	"\"devices\":[{\"name\":\"a\",\"mem_bandwidth\":8},{\"name\":\"b\",\"memory_bytes\":100}],"          \
	"\"links\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true}],\"memory_pools\":["
#define POOLS(pools) HEAD POOLED pools "]}"
#define POOL(name, bandwidth, devices)                                                                       \
	POOLS("{\"name\":" name ",\"bandwidth\":" bandwidth ",\"devices\":[" devices "]}")
#define DEV(keys) HEAD "\"devices\":[{\"name\":\"a\"," keys "}]}"

static berth_status parse(const char *text, berth_arena *mem, berth_system *s, berth_err *err)
{
	berth_arena tmp = {0};
	berth_status st = berth_system_parse_json("s.json", text, strlen(text), mem, &tmp, s, err);
	berth_arena_free(&tmp);
	return st;
}

/* The canonical text of the system that text says. */
static const char *canonical(const char *text, bool pretty, berth_arena *mem)
{
	berth_system s;
	berth_err err;
	const char *out;
	size_t len;
	assert_ok(parse(text, mem, &s, &err), &err);
	assert_ok(berth_system_write_json(&s, pretty, mem, &out, &len, &err), &err);
	assert_int_equal(len, strlen(out));
	return out;
}

static void test_defaults(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_system s;
	berth_err err;
	assert_ok(parse(HEAD "\"devices\":[{\"name\":\"a\"}]}", &mem, &s, &err), &err);
	assert_ok(berth_system_check(&s, &tmp, &err), &err);
	assert_string_equal(s.name, "");
	assert_true(s.contention);
	assert_int_equal(s.order, BERTH_ORDER_PRIORITY);
	assert_int_equal(s.n_devs, 1);
	assert_int_equal(s.n_links, 0);
	assert_int_equal(s.n_channels, 0);
	assert_string_equal(s.dev_kind[0], "a");
	assert_null(s.dev_host[0]);
	assert_true(s.dev_peak_flops[0] == 0);
	assert_true(s.dev_mem_bandwidth[0] == 0);
	assert_true(s.dev_op_overhead_s[0] == 0);
	assert_int_equal(s.dev_memory_bytes[0], -1);
	assert_int_equal(s.dev_slots[0], 1);
	assert_true(s.dev_runs_all[0]);
	assert_true(isnan(s.dev_idle_w[0]) && isnan(s.dev_busy_w[0]));
	assert_true(berth_by_type_get(&s.efficiency, 0, "Conv") == 1);
	assert_int_equal(s.link_of[0], -1);
	assert_int_equal(s.n_pools, 0);
	assert_int_equal(s.dev_pool[0], -1);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static const char full[] = HEAD
	"\"name\":\"t\",\"contention\":false,\"order\":\"fifo\",\"channel_order\":\"program\","
	"\"times\":\"roofline\",\"devices\":["
	"{\"name\":\"cpu0\",\"kind\":\"cpu\",\"host\":\"h\",\"peak_flops\":1000000000000,"
	"\"efficiency\":{\"Conv\":0.7,\"*\":0.6},\"mem_bandwidth\":100000000000,"
	"\"memory_bytes\":64000000000,\"op_overhead_s\":1e-06,\"slots\":2,"
        "\"class\":\"cpu\",\"units\":32,\"lanes\":16,"
        "\"cache_bytes\":100000000,\"fresh_bandwidth\":3000000000,\"power_w\":120,\"process_nm\":7,"
        "\"scale\":{\"*\":1,\"Conv\":1.1},\"runs\":[\"Gemm\",\"Conv\"],"
        "\"idle_w\":40,\"busy_w\":120},"
	"{\"name\":\"gpu0\",\"peak_flops\":{\"f32\":2,\"f16\":9},\"memory_bytes\":null},"
	"{\"name\":\"gpu1\",\"efficiency\":{\"*\":1,\"Conv\":2},"
        "\"memory_bytes\":0,\"runs\":[]}],"
	"\"links\":[{\"from\":\"cpu0\",\"to\":\"gpu0\",\"latency_s\":1e-05,\"bandwidth\":12000000000,\"both_"
        "ways\":true,\"shared\":\"pcie0\",\"joules_per_byte\":1e-10},"
	"{\"from\":\"gpu1\",\"to\":\"cpu0\",\"bandwidth\":5,\"both_ways\":true},"
	"{\"from\":\"gpu0\",\"to\":\"gpu1\",\"bandwidth\":7,\"shared\":\"pcie0\"},{\"from\":\"gpu1\",\"to\":"
        "\"gpu0\",\"bandwidth\":7}],"
	"\"memory_pools\":[{\"name\":\"dram\",\"bandwidth\":100000000000,\"bytes\":64000000000,\"devices\":["
        "\"cpu0\",\"gpu0\"]}]}";

static void assert_peak(const berth_system *s, int32_t dev, berth_precision p, double flops,
                        berth_precision stands_in)
{
	berth_precision used;
	assert_true(berth_system_peak(s, dev, p, &used) == flops);
	assert_int_equal(used, stands_in);
}

static void test_reading(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_system s;
	berth_err err;
	assert_ok(parse(full, &mem, &s, &err), &err);
	assert_false(s.contention);
	assert_int_equal(s.order, BERTH_ORDER_FIFO);
	assert_int_equal(s.channel_order, BERTH_CHANNELS_PROGRAM);
	assert_true(berth_by_type_get(&s.efficiency, 0, "Conv") == 0.7);
	assert_true(berth_by_type_get(&s.efficiency, 0, "Relu") == 0.6);
	assert_true(berth_by_type_get(&s.efficiency, 0, NULL) == 0.6);
	assert_true(s.roofline);
	assert_int_equal(s.dev_class[0], BERTH_CLASS_CPU);
	assert_int_equal(s.dev_class[1], BERTH_CLASS_NONE);
	assert_int_equal(s.dev_units[0], 32);
	assert_true(berth_by_type_get(&s.scale, 0, "Conv") == 1.1);
	assert_true(berth_by_type_get(&s.scale, 1, "Conv") == 1);
	assert_peak(&s, 0, BERTH_F16, 1e12, BERTH_F32);
	assert_peak(&s, 1, BERTH_PRECISION_NONE, 2, BERTH_F32);
	assert_peak(&s, 1, BERTH_W4A16, 9, BERTH_F16);
	assert_peak(&s, 1, BERTH_INT4, 9, BERTH_F16);
	assert_peak(&s, 1, BERTH_BF16, 2, BERTH_F32);
	assert_true(berth_system_runs(&s, 0, "Conv"));
	assert_false(berth_system_runs(&s, 0, "Relu"));
	assert_false(berth_system_runs(&s, 0, NULL));
	assert_true(berth_system_runs(&s, 1, NULL));
	assert_false(berth_system_runs(&s, 2, "Conv"));
	assert_int_equal(berth_system_find_dev(&s, "gpu1"), 2);
	assert_int_equal(berth_system_find_dev(&s, "gpu"), -1);
	assert_int_equal(s.n_links, 6);
	assert_int_equal(s.n_channels, 4); /* pcie0; gpu1 -> cpu0 and back; gpu1 -> gpu0 */
	const int32_t from[] = {0, 1, 2, 0, 1, 2}, to[] = {1, 0, 0, 2, 2, 1}, channel[] = {0, 0, 1, 2, 0, 3};
	for (int32_t l = 0; l < 6; l++) {
		assert_int_equal(s.link_from[l], from[l]);
		assert_int_equal(s.link_to[l], to[l]);
		assert_int_equal(s.link_channel[l], channel[l]);
		assert_int_equal(s.link_of[from[l] * 3 + to[l]], l);
	}
	assert_string_equal(s.channel_name[0], "pcie0");
	assert_null(s.channel_name[1]);
	assert_int_equal(s.n_pools, 1);
	assert_string_equal(s.pool_name[0], "dram");
	assert_true(s.pool_bandwidth[0] == 1e11 && s.pool_bytes[0] == 64000000000);
	assert_int_equal(s.dev_pool[0], 0);
	assert_int_equal(s.dev_pool[1], 0);
	assert_int_equal(s.dev_pool[2], -1);
	assert_true(s.link_latency_s[1] == 1e-5 && s.link_joules_per_byte[1] == 1e-10 &&
	            s.link_latency_s[2] == 0);
	berth_arena_free(&mem);
}

static void test_round_trip(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_system one, two;
	berth_err err;
	char hash_one[65], hash_two[65];
	assert_string_equal(canonical(full, false, &mem), full);
	assert_ok(parse(full, &mem, &one, &err), &err);
	assert_ok(parse(canonical(full, true, &mem), &mem, &two, &err), &err);
	assert_ok(berth_system_sha256(&one, &mem, hash_one, &err), &err);
	assert_ok(berth_system_sha256(&two, &mem, hash_two, &err), &err);
	assert_string_equal(hash_one, hash_two);
	two.dev_slots[0] = 3;
	assert_ok(berth_system_sha256(&two, &mem, hash_two, &err), &err);
	assert_string_not_equal(hash_one, hash_two);
	berth_arena_free(&mem);
}

/* Each device and each link on a line of its own. */
static void test_lines(void **state)
{
	(void)state;
	berth_arena mem = {0};
	const char *text = canonical(AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true}]}",
	                             true, &mem);
	assert_contains(text, "\n    {\"name\": \"a\", \"memory_bytes\": null},\n    {\"name\": \"b\",");
	assert_contains(text, "\n    {\"from\": \"a\", \"to\": \"b\", \"bandwidth\": 1, "
	                      "\"both_ways\": true}\n");
	berth_arena_free(&mem);
}

static void test_lines_of_pools(void **state)
{
	(void)state;
	berth_arena mem = {0};
	const char *text =
		canonical(POOLS("{\"name\":\"m\",\"bandwidth\":9,\"bytes\":100,\"devices\":[\"b\"]},"
	                        "{\"name\":\"k\",\"bandwidth\":9,\"devices\":[\"a\"]}"),
	                  true, &mem);
	assert_contains(text,
	                "\n  \"memory_pools\": [\n"
	                "    {\"name\": \"m\", \"bandwidth\": 9, \"bytes\": 100, \"devices\": [\"b\"]},\n"
	                "    {\"name\": \"k\", \"bandwidth\": 9, \"devices\": [\"a\"]}\n  ]\n");
	berth_arena_free(&mem);
}

/* Two entries that say what one "both_ways" says have its canonical form; those that do not, keep theirs. */
static void test_folding(void **state)
{
	(void)state;
	static const struct { const char *links; bool folded;
	} cases[] = {
		{"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":5},{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":5}"
	         "]}",
	         true},
		{"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":5,\"shared\":\"x\"},{\"from\":\"b\",\"to\":"
	         "\"a\",\"bandwidth\":5,\"shared\":\"x\"}]}",
	         true},
		{"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":5,\"shared\":\"x\"},{\"from\":\"b\",\"to\":"
	         "\"a\",\"bandwidth\":5,\"shared\":\"y\"}]}",
	         false},
		{"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":5,\"shared\":\"x\"},{\"from\":\"b\",\"to\":"
	         "\"a\",\"bandwidth\":5}]}",
	         false},
		{"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":5},{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":6}"
	         "]}",
	         false},
		{"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":5},{\"from\":\"b\",\"to\":\"a\",\"latency_s\":1,"
	         "\"bandwidth\":5}]}",
	         false},
		{"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":5},{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":5,"
	         "\"joules_per_byte\":1}]}",
	         false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0};
		char text[512];
		snprintf(text, sizeof text, AB "%s", cases[i].links);
		const char *out = canonical(text, false, &mem);
		assert_int_equal(strstr(out, "both_ways") != NULL, cases[i].folded);
		assert_string_equal(canonical(out, false, &mem), out);
		if (!cases[i].folded)
			assert_non_null(strstr(out, cases[i].links));
		berth_arena_free(&mem);
	}
}

typedef struct bad_text {
	const char *text, *part; /* of the message */
} bad_text;

static void assert_refused(const bad_text cases[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		berth_arena mem = {0};
		berth_system s, before;
		berth_err err = {0};
		memset(&s, 0x5a, sizeof s);
		memcpy(&before, &s, sizeof s);
		assert_int_equal(parse(cases[i].text, &mem, &s, &err), BERTH_EFORMAT);
		assert_contains(err.msg, cases[i].part);
		assert_memory_equal(&s, &before, sizeof s);
		berth_arena_free(&mem);
	}
}

static void test_bad_devices(void **state)
{
	(void)state;
	static const bad_text cases[] = {
		{"", "s.json:1:1: the file is empty"},
		{HEAD "\"devices\":[{]}", "s.json:1:"},
		{"{\"format\":\"berth-graph\",\"version\":1}", "expected 'berth-system'"},
		{"{\"format\":\"berth-system\",\"version\":3}", "version 3"},
		{HEAD "\"device\":[]}", "unknown key 'device' (did you mean 'devices'?)"},
		{HEAD "\"name\":\"x\"}", "key 'devices' is missing"},
		{HEAD "\"devices\":[]}", "/devices: 0 devices; expected 1 to 256"},
		{HEAD "\"devices\":[3]}", "/devices/0: expected an object, found a number"},
		{HEAD "\"devices\":[{\"kind\":\"cpu\"}]}", "/devices/0: key 'name' is missing"},
		{HEAD "\"devices\":[{\"name\":\"\"}]}", "/devices/0/name: the name is empty"},
		{HEAD "\"devices\":[{\"name\":\"a\"},{\"name\":\"a\"}]}",
	         "/devices/1/name: two devices are named 'a'"},
		{DEV("\"memory\":1"), "/devices/0: unknown key 'memory'"},
		{DEV("\"like\":\"nvidia-t44\""),
	         "/devices/0/like: unknown device 'nvidia-t44' (did you mean 'nvidia-t4'?)"},
		{DEV("\"class\":\"tpu\""), "/devices/0/class: unknown class 'tpu'"},
		{DEV("\"scale\":{\"*\":0}"), "/devices/0/scale/*: scale is 0"},
		{DEV("\"peak_flops\":{\"f61\":1}"), "/devices/0/peak_flops/f61: unknown precision"},
		{DEV("\"peak_flops\":{\"f16\":0}"), "/devices/0/peak_flops/f16: peak_flops is 0"},
		{DEV("\"mem_bandwith\":1"), "unknown key 'mem_bandwith' (did you mean 'mem_bandwidth'?)"},
		{DEV("\"peak_flops\":0"), "/devices/0/peak_flops: peak_flops is 0; expected 1e-09 to 1e+30"},
		{DEV("\"peak_flops\":-5"), "/devices/0/peak_flops: peak_flops is -5"},
		{DEV("\"peak_flops\":1e999"), "too large"},
		{DEV("\"peak_flops\":\"1\""), "/peak_flops: '1' is no number with a unit; known: FLOP/s, MF"},
		{DEV("\"memory_bytes\":\"24Gb\""), "'24Gb' is no number with a unit; known: B, KB"},
		{DEV("\"mem_bandwidth\":0"), "/devices/0/mem_bandwidth"},
		{DEV("\"efficiency\":{\"Conv\":0}"), "/devices/0/efficiency/Conv: efficiency is 0"},
		{DEV("\"efficiency\":{\"Conv\":\"x\"}"), "/devices/0/efficiency/Conv: expected a number"},
		{DEV("\"efficiency\":{\"Conv\":1,\"Conv\":2}"), "type 'Conv' stands twice"},
		{DEV("\"efficiency\":0.5"), "/devices/0/efficiency: expected an object"},
		{DEV("\"memory_bytes\":-1"), "/devices/0/memory_bytes"},
		{DEV("\"memory_bytes\":1.5"), "/devices/0/memory_bytes"},
		{DEV("\"op_overhead_s\":-1"), "/devices/0/op_overhead_s"},
		{DEV("\"op_overhead_s\":1e7"), "op_overhead_s is 10000000; expected 0 to 1000000"},
		{DEV("\"slots\":0"), "/devices/0/slots"},
		{DEV("\"slots\":1025"), "/devices/0/slots"},
		{DEV("\"slots\":1.5"), "/devices/0/slots"},
		{DEV("\"runs\":\"Conv\""), "/devices/0/runs: expected an array"},
		{DEV("\"runs\":[1]"), "/devices/0/runs/0: expected the name of an operator type"},
		{DEV("\"runs\":[\"Conv\",\"Relu\",\"Conv\"]"), "/devices/0/runs/2: type 'Conv' stands twice"},
		{DEV("\"idle_w\":5"), "/devices/0: 'idle_w' is given without 'busy_w'"},
		{DEV("\"busy_w\":5"), "'busy_w' is given without 'idle_w'"},
		{DEV("\"idle_w\":5,\"busy_w\":4"), "/devices/0/busy_w: busy_w is 4, below idle_w, 5"},
		{DEV("\"idle_w\":-5,\"busy_w\":4"), "/devices/0/idle_w: idle_w is -5"},
		{HEAD "\"order\":\"prioriti\",\"devices\":[{\"name\":\"a\"}]}", "(did you mean 'priority'?)"},
		{HEAD "\"channel_order\":\"progam\",\"devices\":[{\"name\":\"a\"}]}",
	         "/channel_order: unknown channel order 'progam' (did you mean 'program'?)"},
		{HEAD "\"contention\":1,\"devices\":[{\"name\":\"a\"}]}",
	         "/contention: expected true or false"},
	};
	assert_refused(cases, sizeof cases / sizeof *cases);
}

static void test_bad_links(void **state)
{
	(void)state;
	static const bad_text cases[] = {
		{AB "]}", "/links: no path from 'a' to 'b'; add a link"},
		{HEAD "\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"}]}", "no path from 'a' to 'b'"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1}]}", "no path from 'b' to 'a'"},
		{AB "{\"from\":\"a\",\"to\":\"bb\",\"bandwidth\":1}]}",
	         "/links/0/to: unknown device 'bb' (did you mean 'b'?)"},
		{AB "{\"from\":\"zzz\",\"to\":\"b\",\"bandwidth\":1}]}",
	         "/links/0/from: unknown device 'zzz'"},
		{AB "{\"from\":\"a\",\"to\":\"a\",\"bandwidth\":1}]}", "/links/0: link from 'a' to itself"},
		{AB "{\"from\":\"a\",\"to\":\"b\"}]}", "/links/0: key 'bandwidth' is missing"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":0}]}", "/links/0/bandwidth: bandwidth is 0"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"latency_s\":-1}]}", "/links/0/latency_s"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"latency_s\":1e9}]}",
	         "/links/0/latency_s"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"joules_per_byte\":-1}]}",
	         "/links/0/joules_per_byte"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"latency\":1}]}",
	         "unknown key 'latency' (did you mean 'latency_s'?)"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"shared\":\"\"}]}", "/links/0"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1},{\"from\":\"a\",\"to\":\"b\","
	            "\"bandwidth\":2}]}",
	         "/links/1: a second link from 'a' to 'b'"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true},{\"from\":\"b\",\"to\":"
	            "\"a\",\"bandwidth\":2}]}",
	         "a second link from 'b' to 'a'"},
		{AB "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1},{\"from\":\"b\",\"to\":\"a\","
	            "\"bandwidth\":2,\"both_ways\":true}]}",
	         "/links/1: a second link from 'a' to 'b'"},
	};
	assert_refused(cases, sizeof cases / sizeof *cases);
}

static void test_bad_pools(void **state)
{
	(void)state;
	static const bad_text cases[] = {
		{HEAD "\"devices\":[{\"name\":\"a\"}],\"memory_pools\":{}}",
	         "/memory_pools: expected an array"},
		{POOLS("3"), "/memory_pools/0: expected an object"},
		{POOLS("{\"bandwidth\":9,\"devices\":[\"a\"]}"), "/memory_pools/0: key 'name' is missing"},
		{POOL("\"\"", "9", "\"a\""), "/memory_pools/0/name: the name is empty"},
		{POOLS("{\"name\":\"m\",\"devices\":[\"a\"]}"),
	         "/memory_pools/0: key 'bandwidth' is missing"},
		{POOL("\"m\"", "0", "\"a\""),
	         "/memory_pools/0/bandwidth: bandwidth is 0; expected 1e-09 to 1e+30"},
		{POOL("\"m\"", "1e31", "\"a\""), "/memory_pools/0/bandwidth: bandwidth is 1e+31"},
		{POOL("\"m\"", "9,\"bytes\":-1", "\"a\""), "/memory_pools/0/bytes"},
		{POOL("\"m\"", "9,\"bytes\":1.5", "\"a\""), "/memory_pools/0/bytes"},
		{POOL("\"m\"", "9,\"byte\":1", "\"a\""), "unknown key 'byte' (did you mean 'bytes'?)"},
		{POOLS("{\"name\":\"m\",\"bandwidth\":9}"), "/memory_pools/0: key 'devices' is missing"},
		{POOL("\"m\"", "9", ""), "/memory_pools/0: it has no device"},
		{POOL("\"m\"", "9", "0"), "/memory_pools/0/devices/0: expected the name of a device"},
		{POOL("\"m\"", "9", "\"a\",\"bb\""),
	         "/memory_pools/0/devices/1: unknown device 'bb' (did you mean 'b'?)"},
		{POOL("\"m\"", "9", "\"a\",\"a\""),
	         "/memory_pools/0/devices/1: device 'a' stands twice; a device has one memory pool"},
		{POOLS("{\"name\":\"m\",\"bandwidth\":9,\"devices\":[\"a\"]},"
	               "{\"name\":\"k\",\"bandwidth\":9,\"devices\":[\"b\",\"a\"]}"),
	         "/memory_pools/1/devices/1: device 'a' stands twice"},
		{POOLS("{\"name\":\"m\",\"bandwidth\":9,\"devices\":[\"a\"]},"
	               "{\"name\":\"m\",\"bandwidth\":9,\"devices\":[\"b\"]}"),
	         "/memory_pools/1/name: two memory pools are named 'm'"},
		{POOLS("1,2,3"), "/memory_pools: 3 memory pools for 2 devices"},
		{POOL("\"m\"", "9,\"bytes\":99", "\"b\""),
	         "/memory_pools/0: bytes is 99, below the memory_bytes of device 'b', 100"},
		{POOL("\"m\"", "9,\"bytes\":0", "\"b\""),
	         "/memory_pools/0: bytes is 0, below the memory_bytes of device 'b', 100"},
		{POOL("\"m\"", "7", "\"a\",\"b\""),
	         "/memory_pools/0: bandwidth is 7, below the mem_bandwidth of device 'a', 8"},
		{"{\"format\":\"berth-system\",\"version\":1,\"cost_model\":\"placeto\"," POOLED
	         "{\"name\":\"m\",\"bandwidth\":9,\"devices\":[\"a\"]}]}",
	         "/memory_pools/0: cost model 'placeto' knows no memory pools"},
	};
	assert_refused(cases, sizeof cases / sizeof *cases);
}

/* A pool may hold just what its members do, or nothing where they say nothing. */
static void test_least_pools(void **state)
{
	(void)state;
	static const char *const texts[] = {POOL("\"m\"", "8,\"bytes\":100", "\"a\",\"b\""),
	                                    POOL("\"m\"", "8", "\"b\",\"a\""),
	                                    POOL("\"m\"", "8,\"bytes\":0", "\"a\""),
	                                    POOL("\"m\"", "1e-9,\"bytes\":9007199254740992", "\"b\"")};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		berth_arena mem = {0};
		berth_system s;
		berth_err err;
		assert_ok(parse(texts[i], &mem, &s, &err), &err);
		assert_ok(berth_system_check(&s, &mem, &err), &err);
		berth_arena_free(&mem);
	}
}

/* Every figure has its key: the text that the changed system writes differs there and nowhere else. A clone's
 * change is not its original's. */
static void test_set_each_key(void **state)
{
	static const char text[] = HEAD
		"\"name\":\"t\",\"devices\":["
		"{\"name\":\"a\",\"peak_flops\":11,\"mem_bandwidth\":12,\"memory_bytes\":13,"
		"\"memory_margin\":0.125,\"op_overhead_s\":15,\"slots\":16,\"idle_w\":17,\"busy_w\":180},"
		"{\"name\":\"b.c\",\"peak_flops\":21,\"mem_bandwidth\":22,\"memory_bytes\":23,"
		"\"memory_margin\":0.25,\"op_overhead_s\":25,\"slots\":26,\"idle_w\":27,\"busy_w\":280}],"
		"\"links\":[{\"from\":\"a\",\"to\":\"b.c\",\"latency_s\":31,\"bandwidth\":32,"
		"\"shared\":\"bus\",\"joules_per_byte\":33},{\"from\":\"b.c\",\"to\":\"a\",\"latency_s\":41,"
		"\"bandwidth\":42,\"joules_per_byte\":43}],\"memory_pools\":["
		"{\"name\":\"p\",\"bandwidth\":51,\"bytes\":53,\"devices\":[\"a\"]},"
		"{\"name\":\"q\",\"bandwidth\":61,\"bytes\":63,\"devices\":[\"b.c\"]}]}";
	static const struct {
		const char *set, *old, *now;
	} cases[] = {
		{"a.peak_flops=3", "flops\":11", "flops\":3"},
		{"b.c.peak_flops=2x", "flops\":21", "flops\":42"},
		{"a.mem_bandwidth=3", "bandwidth\":12", "bandwidth\":3"},
		{"b.c.mem_bandwidth=2x", "bandwidth\":22", "bandwidth\":44"},
		{"a.memory_bytes=7", "bytes\":13", "bytes\":7"},
		{"a.memory_bytes=7.9", "bytes\":13", "bytes\":7"},
		{"b.c.memory_bytes=0.5x", "bytes\":23", "bytes\":11"},
		{"a.memory_margin=0.5", "margin\":0.125", "margin\":0.5"},
		{"b.c.memory_margin=2x", "margin\":0.25", "margin\":0.5"},
		{"a.op_overhead_s=3", "overhead_s\":15", "overhead_s\":3"},
		{"b.c.op_overhead_s=2x", "overhead_s\":25", "overhead_s\":50"},
		{"a.slots=3", "slots\":16", "slots\":3"},
		{"b.c.slots=0.1x", "slots\":26", "slots\":2"},
		{"a.idle_w=3", "idle_w\":17", "idle_w\":3"},
		{"b.c.idle_w=2x", "idle_w\":27", "idle_w\":54"},
		{"a.busy_w=30", "busy_w\":180", "busy_w\":30"},
		{"b.c.busy_w=2x", "busy_w\":280", "busy_w\":560"},
		{"a->b.c.latency_s=3", "latency_s\":31", "latency_s\":3"},
		{"b.c:a.latency_s=2x", "latency_s\":41", "latency_s\":82"},
		{"a:b.c.bandwidth=3", "bandwidth\":32", "bandwidth\":3"},
		{"b.c->a.bandwidth=2x", "bandwidth\":42", "bandwidth\":84"},
		{"bus.joules_per_byte=3", "byte\":33", "byte\":3"},
		{"b.c->a.joules_per_byte=2x", "byte\":43", "byte\":86"},
		{"pool.p.bandwidth=30", "bandwidth\":51", "bandwidth\":30"},
		{"pool.q.bandwidth=2x", "bandwidth\":61", "bandwidth\":122"},
		{"pool.p.bytes=30.9", "bytes\":53", "bytes\":30"},
		{"pool.q.bytes=0.5x", "bytes\":63", "bytes\":31"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_system s, clone;
		berth_err err;
		const char *before, *after, *at = strstr(text, cases[i].old);
		size_t len, n_old = strlen(cases[i].old);
		assert_non_null(at);
		assert_null(strstr(at + 1, cases[i].old));
		assert_ok(parse(text, &mem, &s, &err), &err);
		assert_ok(berth_system_clone(&s, &mem, &clone, &err), &err);
		size_t used = berth_arena_get_mark(&tmp).used;
		assert_ok(berth_system_set(&clone, cases[i].set, &tmp, &err), &err);
		assert_int_equal(berth_arena_get_mark(&tmp).used, used);
		assert_ok(berth_system_check(&clone, &tmp, &err), &err);
		assert_ok(berth_system_write_json(&clone, false, &mem, &after, &len, &err), &err);
		assert_ok(berth_system_write_json(&s, false, &mem, &before, &len, &err), &err);
		assert_string_equal(before, text);
		assert_string_equal(after, berth_arena_printf(&mem, "%.*s%s%s", (int)(at - text), text,
		                                              cases[i].now, at + n_old));
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

static void test_set_peaks(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_system s, clone;
	berth_err err;
	assert_ok(parse(HEAD "\"devices\":[{\"name\":\"a\",\"peak_flops\":{\"f32\":2,\"f16\":8}}]}", &mem, &s,
	                &err),
	          &err);
	assert_ok(berth_system_clone(&s, &mem, &clone, &err), &err);
	assert_ok(berth_system_set(&clone, "a.peak_flops=3", &tmp, &err), &err);
	assert_peak(&clone, 0, BERTH_F32, 3, BERTH_F32);
	assert_peak(&clone, 0, BERTH_F16, 12, BERTH_F16);
	assert_peak(&s, 0, BERTH_F16, 8, BERTH_F16);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Without a figure there is nothing to multiply, but a limit of memory, which stays none. */
static void test_set_refuses(void **state)
{
	static const struct {
		const char *set, *says;
	} cases[] = {
		{"a.peak_flops=2x", "'a' has no peak_flops to multiply; give a number"},
		{"a.mem_bandwidth=2x", "'a' has no mem_bandwidth to multiply"},
		{"a.idle_w=2x", "'a' has no idle_w to multiply"},
		{"a.op_overhead_s=2x", NULL}, /* 0 is a figure */
		{"a.memory_bytes=2x", NULL},
		{"pool.p.bytes=2x", NULL},
		{"a.memory_bytes=-1", "'a.memory_bytes=-1': memory_bytes is -1; expected 0 to"},
		{"a.memory_bytes=-0.5", "'a.memory_bytes=-0.5': memory_bytes is -0.5; expected 0 to"},
		{"a.slots=1.5", "slots is a whole number"},
		{"a.slots=0.5x", "slots is 0; expected 1 to"},
		{"a.slots=2GB", "'GB' is no unit of slots; it has none"},
		{"a.memory_bytes=2s", "'s' is no unit of memory_bytes; known: "},
		{"a.memory_bytes=2GBs", "'GBs' is no unit of memory_bytes"},
		{"a.memory_bytes=", "is neither a number nor a factor such as 2x"},
		{"a.memory_bytes", "is no change of a system; expected NAME.KEY=VALUE"},
		{".memory_bytes=1", "is no change of a system"},
		{"a=1", "is no change of a system"},
		{"a.slot=1", "unknown key 'slot' (did you mean 'slots'?)"},
		{"a->b.latency=1", "unknown key 'latency' (did you mean 'latency_s'?); known: latency_s, "
	                           "bandwidth, joules_per_byte"},
		{"pool.p.byte=1", "unknown key 'byte' (did you mean 'bytes'?); known: bandwidth, bytes"},
		{"a->c.latency_s=1", "no device, link or memory pool 'a->c' (did you mean 'a->b'?)"},
		{"pool.pp.bytes=1", "no device, link or memory pool 'pool.pp' (did you mean 'pool.p'?)"},
		{"p.bytes=1", "no device, link or memory pool 'p'"},
		{"bus2.latency_s=1", "no device, link or memory pool 'bus2' (did you mean 'bus1'?)"},
	};
	static const char text[] =
		HEAD "\"name\":\"t\",\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"links\":["
		     "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true,\"shared\":\"bus1\"}],"
		     "\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1,\"devices\":[\"a\"]}]}";
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_system s;
		berth_err err;
		assert_ok(parse(text, &mem, &s, &err), &err);
		berth_status st = berth_system_set(&s, cases[i].set, &tmp, &err);
		assert_int_equal(st, cases[i].says ? BERTH_EINVAL : BERTH_OK);
		if (cases[i].says)
			assert_contains(err.msg, cases[i].says);
		assert_true(s.dev_memory_bytes[0] == -1 && s.pool_bytes[0] == -1 && s.dev_slots[0] == 1);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* A ring of n devices, in text. */
static void write_ring(char *text, size_t size, int n)
{
	size_t len = (size_t)snprintf(text, size, HEAD "\"devices\":[");
	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len, "%s{\"name\":\"d%d\"}", i ? "," : "", i);
	len += (size_t)snprintf(text + len, size - len, "],\"links\":[");
	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, size - len,
		                        "%s{\"from\":\"d%d\",\"to\":\"d%d\",\"bandwidth\":1}", i ? "," : "",
		                        i, (i + 1) % n);
	snprintf(text + len, size - len, "]}");
}

static void test_most_devices(void **state)
{
	(void)state;
	static char text[64 * 1024];
	berth_arena mem = {0};
	berth_system s;
	berth_err err;
	write_ring(text, sizeof text, BERTH_MAX_DEVS);
	assert_ok(parse(text, &mem, &s, &err), &err);
	assert_int_equal(s.n_links, BERTH_MAX_DEVS);
	write_ring(text, sizeof text, BERTH_MAX_DEVS + 1);
	assert_int_equal(parse(text, &mem, &s, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "257 devices; expected 1 to 256");
	berth_arena_free(&mem);
}

/* The check of a struct that no reader made finds each broken promise. */
static void test_check(void **state)
{
	(void)state;
	static const char *const says[] = {
		"device 'gpu0': slots is 0; expected 1 to 1024",
		"link from 'gpu1' to 'cpu0': bandwidth is 0; expected 1e-09 to 1e+30",
		"device 'cpu0': busy_w is 1, below idle_w, 40",
		"device 'cpu0': idle_w is nan; expected 0 to 1e+12",
		"link 0 is not the one link from 'cpu0' to 'gpu0'",
		"7 ordered pairs have a link, there are 6 links",
		"link 3: channel 1 of 4 is out of order or shared without a name",
		"two devices are named 'cpu0'",
		"device 'cpu0': efficiency is nan; expected 1e-09 to 1000000000",
		"device 'cpu0': 0 of efficiency for '*'; expected one",
		"device 'cpu0': memory_bytes is -2; expected 0 to 9.007199255e+15",
		"link from 'cpu0' to 'gpu0': latency_s is inf; expected 0 to 1000000",
		"device 'cpu0': it runs all types and has a list of types",
		"device 'cpu0': peak_flops is 1e+31; expected 1e-09 to 1e+30",
		"device 'gpu0': offsets of its types fall",
		"0 devices; expected 1 to 256",
		"device 2 has no name or no kind",
		"link 1 goes from device 1 to 1 of 3",
		"channel 4 has no link",
		"device 'gpu1' is in memory pool 1 of 1",
		"device 'cpu0' is in memory pool -2 of 1",
		"memory pool 0 has no name",
		"memory pool 'dram': bandwidth is nan; expected 1e-09 to 1e+30",
		"memory pool 'dram': bandwidth is 9e+10, below the mem_bandwidth of device 'cpu0', 1e+11",
		"memory pool 'dram': bytes is 63999999999, below the memory_bytes of device 'cpu0', "
	        "64000000000",
		"memory pool 'dram': bytes is -2; expected 0 to 9.007199255e+15",
		"memory pool 'dram': it has no device; expected at least one",
		"memory pool 'dram': cost model 'placeto' knows no memory pools; remove them, or the cost "
	        "model",
		"link 4 goes from device -1 to 2 of 3",
		"link 4 goes from device 3 to 2 of 3",
		"link 4 goes from device 1 to -1 of 3",
		"link 4 goes from device 1 to 3 of 3",
		"link 4 is not the one link from 'gpu0' to 'gpu1'",
		"device 'gpu1': offsets of its types fall",
		"device 'gpu1': offsets of its types fall",
		"device 'cpu0': 2 of efficiency for '*'; expected one",
		"257 devices; expected 1 to 256",
		"device 'gpu0': memory_margin is 1; expected 0 to 0.999999",
		"link from 'gpu1' to 'gpu0': joules_per_byte is -1; expected 0 to 1e+12",
		"link 0: channel 1 of 4 is out of order or shared without a name",
		"link 5: channel 4 of 4 is out of order or shared without a name",
		"link 2: channel -1 of 4 is out of order or shared without a name",
		"device 2 has no name or no kind",
		"device 1 has no name or no kind",
		"device 'gpu1': mem_bandwidth is -1; expected 1e-09 to 1e+30",
		"memory pool 'dram': bytes is 1.801439851e+16; expected 0 to 9.007199255e+15",
	};
	enum { N_BROKEN = sizeof says / sizeof *says };
	for (int broken = 0; broken < N_BROKEN; broken++) {
		berth_arena mem = {0};
		berth_system s;
		berth_err err = {0};
		assert_ok(parse(full, &mem, &s, &err), &err);
		switch (broken) {
		case 0: s.dev_slots[1] = 0; break;
		case 1: s.link_bandwidth[2] = 0; break;
		case 2: s.dev_busy_w[0] = 1; break;
		case 3: s.dev_idle_w[0] = NAN; break;
		case 4: s.link_of[1] = 3; break;
		case 5: s.link_of[0] = 0; break;
		case 6: s.channel_name[1] = NULL, s.link_channel[3] = 1; break;
		case 7: s.dev_name[1] = "cpu0"; break;
		case 8: s.efficiency.value[0] = NAN; break;
		case 9: s.efficiency.type[1] = "Relu"; break;
		case 10: s.dev_memory_bytes[0] = -2; break;
		case 11: s.link_latency_s[0] = INFINITY; break;
		case 12: s.dev_runs_all[0] = true; break;
		case 13: s.dev_peak_flops[0] = 1e31; break;
		case 14: s.dev_runs_off[1] = 3; break;
		case 15: s.n_devs = 0; break;
		case 16: s.dev_kind[2] = NULL; break;
		case 17: s.link_to[1] = s.link_from[1]; break;
		case 18: s.n_channels++; break;
		case 19: s.dev_pool[2] = 1; break;
		case 20: s.dev_pool[0] = -2; break;
		case 21: s.pool_name[0] = ""; break;
		case 22: s.pool_bandwidth[0] = NAN; break;
		case 23: s.pool_bandwidth[0] = 9e10; break;
		case 24: s.pool_bytes[0] = 63999999999; break;
		case 25: s.pool_bytes[0] = -2; break;
		case 26: s.dev_pool[0] = s.dev_pool[1] = -1; break;
		case 27: assert_ok(berth_cost_model_find("placeto", &s.cost_model, &err), &err); break;
		case 28: s.link_from[4] = -1; break;
		case 29: s.link_from[4] = s.n_devs; break;
		case 30: s.link_to[4] = -1; break;
		case 31: s.link_to[4] = s.n_devs; break;
		case 32: s.link_of[1 * 3 + 2] = 5; break;
		case 33:
			s.efficiency.off[3] = s.efficiency.off[2] - 1;
			break;
		case 34:
			s.dev_runs_off[3] = s.dev_runs_off[2] - 1;
			break;
		case 35:
			s.efficiency.type[0] = "*";
			break;
		case 36:
			s.n_devs = BERTH_MAX_DEVS + 1;
			break;
		case 37:
			s.dev_memory_margin[1] = 1;
			break;
		case 38:
			s.link_joules_per_byte[5] = -1;
			break;
		case 39:
			s.link_channel[0] = 1;
			break;
		case 40:
			s.link_channel[5] = 4;
			break;
		case 41:
			s.link_channel[2] = -1;
			break;
		case 42:
			s.dev_name[2] = "";
			break;
		case 43:
			s.dev_name[1] = NULL;
			break;
		case 44:
			s.dev_mem_bandwidth[2] = -1;
			break;
		case 45:
			s.pool_bytes[0] = INT64_C(1) << 54;
			break;
		}
		assert_int_equal(berth_system_check(&s, &mem, &err), BERTH_EFORMAT);
		if (!strstr(err.msg, says[broken]))
			fail_msg("case %d: %s", broken, err.msg);
		berth_arena_free(&mem);
	}
}

static void test_builtins(void **state)
{
	(void)state;
	int32_t n;
	const berth_system_row *row = berth_system_builtin_list(&n);
	assert_int_equal(n, 11);
	for (int32_t i = 0; i < n; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_system s, again;
		berth_err err;
		const char *text;
		size_t len;
		assert_ok(berth_system_builtin(row[i].name, &mem, &tmp, &s, &err), &err);
		assert_string_equal(s.name, row[i].name);
		assert_true(strlen(row[i].about) > 10);
		assert_ok(berth_system_check(&s, &tmp, &err), &err);
		for (int32_t d = 0; d < s.n_devs; d++) {
			assert_true(i == n - 1 || s.dev_like[d] || s.dev_class[d] == BERTH_CLASS_NPU);
			assert_true(s.dev_peak_flops[d] > 0 && s.dev_mem_bandwidth[d] > 0 &&
			            (s.dev_memory_bytes[d] > 0 ||
			             (s.dev_pool[d] >= 0 && s.pool_bytes[s.dev_pool[d]] > 0)));
			assert_true(s.dev_idle_w[d] > 0 && s.dev_busy_w[d] > s.dev_idle_w[d]);
		}
		for (int32_t l = 0; l < s.n_links; l++)
			assert_true(s.link_joules_per_byte[l] > 0);
		assert_ok(berth_system_write_json(&s, true, &mem, &text, &len, &err), &err);
		assert_ok(parse(text, &mem, &again, &err), &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

static void test_builtin_shapes(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_system s;
	berth_err err;
	assert_ok(berth_system_builtin("cpu+2gpu", &mem, &tmp, &s, &err), &err);
	assert_int_equal(s.n_devs, 3);
	assert_int_equal(s.link_of[1 * 3 + 2], -1); /* GPU to GPU goes through the CPU */
	assert_true(s.dev_peak_flops[1] != s.dev_peak_flops[2]);
	assert_ok(berth_system_builtin("4gpu", &mem, &tmp, &s, &err), &err);
	assert_int_equal(s.n_devs, 4);
	assert_int_equal(s.n_links, 12);
	assert_ok(berth_system_builtin("edge", &mem, &tmp, &s, &err), &err);
	assert_int_equal(s.n_pools, 1); /* one memory for all */
	assert_true(s.dev_pool[0] == 0 && s.dev_pool[1] == 0 && s.dev_pool[2] == 0);
	assert_true(berth_system_runs(&s, 2, "Conv"));
	assert_false(berth_system_runs(&s, 2, "LSTM"));
	assert_ok(berth_system_builtin("laptop", &mem, &tmp, &s, &err), &err);
	assert_int_equal(s.n_devs, 2);
	assert_true(s.n_pools == 1 && s.dev_pool[0] == 0 && s.dev_pool[1] == 0);
	assert_ok(berth_system_builtin("hetero-cluster", &mem, &tmp, &s, &err), &err);
	assert_int_equal(s.n_devs, 6);
	assert_int_equal(s.link_of[0 * 6 + 4], -1);
	assert_int_equal(berth_system_builtin("cpu+gpu", &mem, &tmp, &s, &err), BERTH_EINVAL);
	assert_contains(err.msg, "did you mean 'cpu+2gpu'?");
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Read, check, hash, write with one allocator. */
static berth_status use_all(const char *text_in, const berth_allocator *hook, berth_err *err)
{
	berth_arena mem, tmp;
	berth_system s;
	const char *text;
	size_t len;
	char hex[65];
	berth_arena_init(&mem, hook);
	berth_arena_init(&tmp, hook);
	berth_status st = berth_system_parse_json("s.json", text_in, strlen(text_in), &mem, &tmp, &s, err);
	size_t scratch = berth_arena_size(&tmp);
	if (st == BERTH_OK)
		st = berth_system_check(&s, &tmp, err);
	assert_int_equal(berth_arena_size(&tmp), scratch);
	if (st == BERTH_OK)
		st = berth_system_sha256(&s, &tmp, hex, err);
	if (st == BERTH_OK)
		st = berth_system_write_json(&s, true, &mem, &text, &len, err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static char text[64 * 1024]; /* large: many chunks of the arenas */
	write_ring(text, sizeof text, BERTH_MAX_DEVS);
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_status st = use_all(text, &f.hook, &err);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 5);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
}

/* Every random machine is one that the reader takes; the seed decides it; without heterogeneity all devices
 * are equal. */
static void test_random(void **state)
{
	(void)state;
	static const char *const topology[] = {"full", "bus", "star", "hosts"};
	for (int seed = 1; seed <= 100; seed++) {
		berth_arena mem = {0}, tmp = {0};
		berth_system s, same, equal, real;
		berth_err err;
		char spec[128], flat[160], like[200];
		const char *a, *b;
		size_t n_a, n_b;
		snprintf(spec, sizeof spec, "random:devices=%d:topology=%s:seed=%d", 1 + seed % 9,
		         topology[seed % 4], seed);
		snprintf(flat, sizeof flat, "%s:heterogeneity=0", spec);
		assert_ok(berth_system_builtin(spec, &mem, &tmp, &s, &err), &err);
		assert_ok(berth_system_builtin(spec, &mem, &tmp, &same, &err), &err);
		assert_ok(berth_system_builtin(flat, &mem, &tmp, &equal, &err), &err);
		snprintf(like, sizeof like, "%s:figures=catalogue", flat);
		assert_ok(berth_system_builtin(like, &mem, &tmp, &real, &err), &err);
		assert_int_equal(s.n_devs, 1 + seed % 9);
		assert_ok(berth_system_write_json(&s, false, &mem, &a, &n_a, &err), &err);
		assert_ok(berth_system_write_json(&same, false, &mem, &b, &n_b, &err), &err);
		assert_string_equal(a, b);
		for (int32_t d = 1; d < s.n_devs; d++) {
			assert_true(s.dev_peak_flops[d] != s.dev_peak_flops[0]);
			assert_true(equal.dev_peak_flops[d] == equal.dev_peak_flops[0] &&
			            equal.dev_memory_bytes[d] == equal.dev_memory_bytes[0]);
		}
		for (int32_t d = 0; d < real.n_devs; d++) {
			double ratio = real.dev_peak_flops[d] / equal.dev_peak_flops[d];
			assert_true(real.dev_like[d] && real.dev_units[d] && real.dev_lanes[d]);
			assert_true(ratio > 0.95 && ratio < 1.05); /* the catalogue has one as near as that */
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* A spec means the same machine for ever: four digits of every figure. */
static void test_random_stays(void **state)
{
	(void)state;
	static const struct { const char *spec, *sha256; } known[] = {
		{"random:devices=3:topology=full:seed=1", "62f07e68e7e38830"},
		{"random:devices=4:topology=bus:seed=2:heterogeneity=2:latency=3", "cce29db5ee5ccd83"},
		{"random:devices=5:topology=star:seed=3:tflops=0.1:bandwidth=300", "74bff44e5015205c"},
		{"random:devices=7:topology=hosts:seed=4:memory=0.5:heterogeneity=0.1", "4caec520614ff6dd"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_system s;
		berth_err err;
		char hex[65];
		assert_ok(berth_system_builtin(known[i].spec, &mem, &tmp, &s, &err), &err);
		assert_ok(berth_system_sha256(&s, &tmp, hex, &err), &err);
		hex[16] = '\0';
		assert_string_equal(hex, known[i].sha256);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

static void test_random_refuses(void **state)
{
	(void)state;
	static const struct { const char *spec, *says; } bad[] = {
		{"random:devices=0", "devices is '0'; expected a whole number from 1 to 64"},
		{"random:devices=2.5", "expected a whole number"},
		{"random:devices=1e30", "expected a whole number"},
		{"random:memory=-1", "expected a number from"},
		{"random:tflops=nan", "expected a number from"},
		{"random:topology=ring", "expected full or bus or star or hosts"},
		{"random:device=2", "did you mean 'devices'"}, {"random:seed", "without a value"},
		{"random:seed=1:seed=2", "stands twice"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_system s;
		berth_err err;
		assert_int_equal(berth_system_builtin(bad[i].spec, &mem, &tmp, &s, &err), BERTH_EINVAL);
		assert_contains(err.msg, bad[i].says);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* What a device is like stands where its file says nothing; the file written says all. */
static void test_like(void **state)
{
	(void)state;
	static const char text[] = HEAD
		"\"devices\":[{\"name\":\"a\",\"like\":\"nvidia-t4\"},{\"name\":\"b\",\"like\":\"t4\","
		"\"kind\":\"k\",\"memory_bytes\":null,\"units\":10,\"efficiency\":{\"*\":0.3}}],"
		"\"links\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1,\"both_ways\":true}]}";
	berth_arena mem = {0};
	berth_system s;
	berth_err err;
	assert_ok(parse(text, &mem, &s, &err), &err);
	assert_string_equal(s.dev_kind[0], "nvidia-t4");
	assert_string_equal(s.dev_like[1], "nvidia-t4");
	assert_int_equal(s.dev_class[0], BERTH_CLASS_GPU);
	assert_int_equal(s.dev_units[0], 40);
	assert_int_equal(s.dev_units[1], 10);
	assert_true(s.dev_mem_bandwidth[0] == 320e9 && s.dev_memory_bytes[0] > 0);
	assert_int_equal(s.dev_memory_bytes[1], -1);
	assert_peak(&s, 1, BERTH_F16, s.dev_peaks[BERTH_F16], BERTH_F16);
	assert_true(s.dev_peaks[BERTH_F16] > 6e13);
	assert_true(berth_by_type_get(&s.efficiency, 0, "Conv") > 0.5);
	assert_true(berth_by_type_get(&s.efficiency, 1, "Conv") == 0.3);
	const char *out = canonical(text, false, &mem);
	assert_string_equal(canonical(out, false, &mem), out);
	berth_arena_free(&mem);
}

/* A figure that is unlike that of the other device is kept where it is what a file may leave out. */
static void test_unlike(void **state)
{
	(void)state;
	static const char text[] = HEAD
		"\"devices\":[{\"name\":\"a\",\"kind\":\"a\",\"like\":\"t4\",\"peak_flops\":{\"f32\":1e12},"
		"\"efficiency\":{\"*\":1},\"op_overhead_s\":0}]}";
	berth_arena mem = {0};
	berth_system s;
	berth_err err;
	const char *out = canonical(text, false, &mem);
	assert_ok(parse(out, &mem, &s, &err), &err);
	assert_string_equal(s.dev_kind[0], "a");
	assert_peak(&s, 0, BERTH_F16, 1e12, BERTH_F32);
	assert_true(berth_by_type_get(&s.efficiency, 0, "Conv") == 1 && s.dev_op_overhead_s[0] == 0);
	assert_string_equal(canonical(out, false, &mem), out);
	assert_ok(parse(HEAD "\"devices\":[{\"name\":\"b\",\"like\":\"t4\"}]}", &mem, &s, &err), &err);
	assert_string_equal(s.dev_kind[0], "nvidia-t4");
	assert_true(s.dev_peaks[BERTH_INT8] == 130.3e12 && s.dev_peaks[BERTH_F16] == 65130000000000);
	berth_arena_free(&mem);
}

static void test_host(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		int links;
	} cases[] = {
		{"host:gpu=t4", 0},
		{"host:gpu=t4,gpu=p4", 2},
		{"host:gpu=t4, gpu=P4", 2},
		{"host:cpu=epyc-7742,gpu=4xRTX 4090", 8},
		{"host:gpu=t4+gpu=p4+cpu=xeon-gold-6148", 4},
		{"host:cpu=xeon-platinum-8480+,gpu=t4", 2},
		{"host:cpu=xeon-platinum-8480++cpu=xeon-platinum-8592+", 2},
		{"host:gpu=t4,gpu=p4,cpu=xeon-gold-6148,link=nvlink2,link=pcie3x16", 6},
	};
	static const bad_text bad[] = {
		{"host:", "no device"},
		{"host:gpu", "is no cpu=, gpu="},
		{"host:gpu=t44", "did you mean 't4'?"},
		{"host:gpu=33xt4", "unknown device '33xt4'"},
		{"host:gpu=32xt4,gpu=p4", "more than 32 devices"},
		{"epyc-7742", "a machine of such devices is host:cpu=epyc-7742"},
		{"cpu=epyc-7742,gpu=t4", "a machine of such devices is host:cpu=epyc-7742,gpu=t4"},
		{"host", "the described machine is system:host"},
		{"workstation", "the built-in machine is system:workstation"},
		{"workstaton", "did you mean system:workstation?"},
		{"hots:gpu=t4", "did you mean host:gpu=t4?"},
		{"resnet50", "resnet50: cannot open"},
		{"zo:edge", "zo:edge: cannot open"},
		{"host:cpu=t4", "'nvidia-t4' is a gpu, not a cpu"},
		{"host:tpu=t4", "unknown kind of device 'tpu'"},
		{"host:gpu=t4,link=pcie", "unknown link 'pcie'"},
	};
	berth_arena mem = {0}, tmp = {0};
	berth_system s;
	berth_err err;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_ok(berth_system_load(cases[i].spec, NULL, &mem, &tmp, &s, &err), &err);
		assert_string_equal(s.name, cases[i].spec);
		assert_int_equal(s.n_links, cases[i].links);
	}
	assert_string_equal(s.dev_name[1], "gpu1");
	assert_true(s.link_bandwidth[s.link_of[1]] > 1.5 * s.link_bandwidth[s.link_of[2]]);
	assert_true(s.link_joules_per_byte[s.link_of[1]] < s.link_joules_per_byte[s.link_of[2]]);
	assert_true(s.link_channel[s.link_of[2]] != s.link_channel[s.link_of[6]]);
	const char *half = "host:cpu=xeon-gold-6148,gpu=t4,link=wifi-6",
		   *unpinned = "host:cpu=xeon-gold-6148,gpu=t4,link=pcie3x16-unpinned";
	assert_ok(berth_system_load(half, NULL, &mem, &tmp, &s, &err), &err);
	assert_true(s.link_channel[0] == s.link_channel[1]);
	assert_ok(berth_system_load(unpinned, NULL, &mem, &tmp, &s, &err), &err);
	assert_true(s.link_bandwidth[0] < 0.5 * 12e9);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(berth_system_load(bad[i].text, NULL, &mem, &tmp, &s, &err),
		                 strncmp(bad[i].text, "host:", 5) == 0 ? BERTH_EINVAL : BERTH_EIO);
		assert_contains(err.msg, bad[i].part);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like),           cmocka_unit_test(test_unlike),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_defaults),       cmocka_unit_test(test_reading),
		cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_of_pools), cmocka_unit_test(test_set_each_key),
		cmocka_unit_test(test_least_pools),
		cmocka_unit_test(test_set_refuses),    cmocka_unit_test(test_folding),
		cmocka_unit_test(test_set_peaks),
		cmocka_unit_test(test_bad_devices),    cmocka_unit_test(test_bad_links),
		cmocka_unit_test(test_bad_pools),      cmocka_unit_test(test_most_devices),
		cmocka_unit_test(test_check),          cmocka_unit_test(test_builtins),
		cmocka_unit_test(test_builtin_shapes), cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_random),         cmocka_unit_test(test_random_stays),
		cmocka_unit_test(test_random_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
