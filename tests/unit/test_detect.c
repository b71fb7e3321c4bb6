/* What vendors' libraries tell of GPUs, by libraries that stand in for them (tests/detect/fake.h), and the
 * description that is made of it. */
#include "description.h"
#include "machine.h"
#include "support.h"
#include "system.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static berth_gpu_cfg fakes(void)
{
	return (berth_gpu_cfg){
		{BERTH_FAKES "/libcuda.so.1", BERTH_FAKES "/libvulkan.so.1", BERTH_FAKES "/libOpenCL.so.1"},
		600,
		false};
}

/* The answer of one library to a machine of these words. */
static berth_gpu_answer ask(berth_gpu_library l, const char *words)
{
	berth_gpu_cfg cfg = fakes();
	berth_gpu_answer a;
	berth_err err;
	setenv("FAKE_GPU", words, 1);
	assert_ok(berth_gpu_ask(&cfg, l, &a, &err), &err);
	return a;
}

static void assert_figure(const berth_figure *f, double value, berth_origin origin)
{
	assert_int_equal(f->origin, origin);
	assert_true(fabs(f->value - value) <= 1e-9 * fabs(value));
}

/* ---- single libraries ---- */

static void test_cuda(void **state)
{
	(void)state;
	berth_gpu_answer a = ask(BERTH_GPU_CUDA, "full"); /* nothing can be measured */
	const berth_gpu *g = &a.gpus.gpu[0];
	assert_int_equal(a.state, BERTH_GPU_ANSWERED);
	assert_int_equal(a.gpus.n, 1);
	assert_string_equal(g->name, "NVIDIA GeForce RTX 3070");
	assert_string_equal(g->driver, "CUDA 12.4");
	assert_int_equal(g->nature, BERTH_GPU_DISCRETE);
	assert_true(g->pci.known && g->pci.bus == 1 && g->pci.domain == 0 && g->has_uuid);
	assert_figure(&g->figure[BERTH_GPU_PEAK], 46.0 * 128 * 2 * 1.725e9, BERTH_ORIGIN_DRIVER);
	assert_figure(&g->figure[BERTH_GPU_BANDWIDTH], 448.064e9, BERTH_ORIGIN_DRIVER);
	assert_figure(&g->figure[BERTH_GPU_MEMORY], 64 << 20, BERTH_ORIGIN_DRIVER);
	assert_int_equal(g->figure[BERTH_GPU_TO_BANDWIDTH].origin, BERTH_ORIGIN_MISSING);
	assert_non_null(strstr(a.why, "no memory"));
	a = ask(BERTH_GPU_CUDA, "pair");
	assert_string_equal(a.why, "");
	for (int i = BERTH_GPU_BANDWIDTH; i < BERTH_N_GPU_FIGURES; i++)
		assert_int_equal(a.gpus.gpu[1].figure[i].origin,
		                 i == BERTH_GPU_MEMORY ? BERTH_ORIGIN_DRIVER : BERTH_ORIGIN_MEASURED);
	assert_true(a.gpus.gpu[0].peer_bandwidth[1] > 0 && a.gpus.gpu[1].peer_bandwidth[0] > 0);
	assert_true(a.gpus.gpu[0].peer_bandwidth[0] == 0);
	assert_int_equal(ask(BERTH_GPU_CUDA, "tegra").gpus.gpu[0].nature, BERTH_GPU_INTEGRATED);
}

static void test_vulkan(void **state)
{
	(void)state;
	berth_gpu_answer a = ask(BERTH_GPU_VULKAN, "radeon apu");
	assert_int_equal(a.gpus.n, 3);
	const berth_gpu *radeon = &a.gpus.gpu[1], *apu = &a.gpus.gpu[2];
	assert_string_equal(radeon->name, "AMD Radeon RX 6800 XT (RADV NAVI21)");
	assert_string_equal(radeon->driver, "fake driver");
	assert_true(radeon->pci.known && radeon->pci.bus == 3 && radeon->uuid[15] == 0x40);
	assert_int_equal(radeon->nature, BERTH_GPU_DISCRETE);
	assert_int_equal(apu->nature, BERTH_GPU_INTEGRATED);
	assert_figure(&apu->figure[BERTH_GPU_MEMORY], 2147483648.0, BERTH_ORIGIN_DRIVER);
	assert_int_equal(radeon->figure[BERTH_GPU_PEAK].origin, BERTH_ORIGIN_MISSING);
	berth_arena tmp = {0};
	berth_err err = {0};
	assert_ok(berth_gpus_look_up(&a.gpus, &tmp, &err), &err);
	berth_arena_free(&tmp);
	assert_figure(&radeon->figure[BERTH_GPU_PEAK], 20.74e12, BERTH_ORIGIN_TABLE);
	assert_figure(&radeon->figure[BERTH_GPU_BANDWIDTH], 512e9, BERTH_ORIGIN_TABLE);
	assert_non_null(strstr(radeon->figure[BERTH_GPU_PEAK].how, "amd-rx-6800-xt"));
	assert_int_equal(apu->figure[BERTH_GPU_PEAK].origin, BERTH_ORIGIN_MISSING);
	assert_int_equal(ask(BERTH_GPU_VULKAN, "driverless").state, BERTH_GPU_ANSWERED);
	assert_false(ask(BERTH_GPU_VULKAN, "placeless").gpus.gpu[0].pci.known);
}

static void test_opencl(void **state)
{
	(void)state;
	berth_gpu_answer a = ask(BERTH_GPU_OPENCL, "");
	const berth_gpu *g = &a.gpus.gpu[0];
	assert_int_equal(a.gpus.n, 1);
	assert_string_equal(g->name, "NVIDIA(R) GeForce(TM) RTX 3070");
	assert_true(g->pci.known && g->pci.bus == 1);
	assert_int_equal(g->figure[BERTH_GPU_BANDWIDTH].origin, BERTH_ORIGIN_MEASURED);
	assert_int_equal(g->figure[BERTH_GPU_TO_LATENCY].origin, BERTH_ORIGIN_MEASURED);
	/* A kernel that takes no time is believed by nobody. */
	assert_int_equal(g->figure[BERTH_GPU_PEAK].origin, BERTH_ORIGIN_MISSING);
	a = ask(BERTH_GPU_OPENCL, "deaf");
	assert_non_null(strstr(a.why, "could not be measured"));
	assert_int_equal(a.gpus.gpu[0].figure[BERTH_GPU_BANDWIDTH].origin, BERTH_ORIGIN_MEASURED);
	assert_non_null(strstr(a.gpus.gpu[0].figure[BERTH_GPU_PEAK].how, "46 units at 1725 MHz"));
	assert_int_equal(ask(BERTH_GPU_OPENCL, "driverless").gpus.n, 0);
}

/* ---- what goes wrong ---- */

static void test_failures(void **state)
{
	(void)state;
	static const struct {
		const char *words;
		berth_gpu_state state;
		const char *why;
	} cases[] = {{"broken", BERTH_GPU_FAILED, "error"},
	             {"crash", BERTH_GPU_FAILED, "ended its process"},
	             {"leave", BERTH_GPU_FAILED, "ended its process"},
	             {"none", BERTH_GPU_ANSWERED, ""}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++) {
			berth_gpu_answer a = ask((berth_gpu_library)l, cases[i].words);
			assert_int_equal(a.state, cases[i].state);
			assert_int_equal(a.gpus.n, 0);
			assert_non_null(strstr(a.why, cases[i].why));
		}
	berth_gpu_answer late = ask(BERTH_GPU_CUDA, "crash-late"); /* what it told before stays */
	assert_int_equal(late.state, BERTH_GPU_ANSWERED);
	assert_non_null(strstr(late.why, "measuring by it ended its process"));
	assert_int_equal(late.gpus.gpu[0].figure[BERTH_GPU_PEAK].origin, BERTH_ORIGIN_DRIVER);
}

static void test_hang(void **state)
{
	(void)state;
	berth_gpu_cfg cfg = fakes();
	berth_err err;
	cfg.limit_s = 0.1;
	setenv("FAKE_GPU", "hang", 1);
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++) {
		berth_gpu_answer a;
		assert_ok(berth_gpu_ask(&cfg, (berth_gpu_library)l, &a, &err), &err);
		assert_int_equal(a.state, BERTH_GPU_FAILED);
		assert_string_equal(a.why, "asking it took more than 0.1 s");
	}
}

static berth_gpu_answer ask_file(const char *file)
{
	berth_gpu_cfg cfg = fakes();
	berth_gpu_answer a;
	berth_err err;
	cfg.file[BERTH_GPU_CUDA] = file;
	assert_ok(berth_gpu_ask(&cfg, BERTH_GPU_CUDA, &a, &err), &err);
	return a;
}

static void test_files(void **state)
{
	(void)state;
	setenv("FAKE_GPU", "", 1);
	assert_int_equal(ask_file("/nowhere/libcuda.so.1").state, BERTH_GPU_ABSENT);
	assert_int_equal(ask_file("libberth-has-no-such-thing.so.1").state, BERTH_GPU_ABSENT);
	berth_gpu_answer text = ask_file(BERTH_SOURCE "/README.md");
	assert_int_equal(text.state, BERTH_GPU_FAILED);
	assert_non_null(strstr(text.why, "cannot be loaded"));
	berth_gpu_answer other = ask_file(BERTH_FAKES "/libvulkan.so.1");
	assert_int_equal(other.state, BERTH_GPU_FAILED);
	assert_string_equal(other.why, "it has no function cuInit");
}

static void test_nonsense(void **state)
{
	(void)state;
	berth_gpu_answer a = ask(BERTH_GPU_CUDA, "absurd");
	for (int i = BERTH_GPU_PEAK; i <= BERTH_GPU_MEMORY; i++) {
		assert_int_equal(a.gpus.gpu[0].figure[i].origin, BERTH_ORIGIN_MISSING);
		assert_string_not_equal(a.gpus.gpu[0].figure[i].how, "");
	}
	a = ask(BERTH_GPU_CUDA, "future full");
	assert_non_null(strstr(a.gpus.gpu[0].figure[BERTH_GPU_PEAK].how, "42.6 is not known"));
	a = ask(BERTH_GPU_CUDA, "hostile full");
	assert_string_equal(a.gpus.gpu[0].name, "?]0;owned? <script>????2J \"gpu\"");
	a = ask(BERTH_GPU_CUDA, "endless full");
	assert_int_equal(strlen(a.gpus.gpu[0].name), sizeof a.gpus.gpu[0].name - 1);
	assert_int_equal(ask(BERTH_GPU_CUDA, "crowd full").gpus.n, BERTH_MAX_GPUS);
}

/* ---- together ---- */

static void answer_all(const char *words, berth_gpu_answer *a)
{
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++)
		a[l] = ask((berth_gpu_library)l, words);
}

static void test_merge(void **state)
{
	(void)state;
	berth_gpu_answer a[BERTH_N_GPU_LIBRARIES];
	berth_gpus all;
	int32_t dropped;
	answer_all("pair radeon", a);
	berth_gpus_merge(a, &all, &dropped);
	assert_int_equal(all.n, 3);
	assert_int_equal(dropped, 0);
	assert_int_equal(all.gpu[0].libraries, 7);
	assert_int_equal(all.gpu[1].libraries, 7);
	assert_int_equal(all.gpu[2].libraries, 1 << BERTH_GPU_VULKAN);
	assert_int_equal(all.gpu[1].pci.bus, 2);
	assert_true(all.gpu[1].peer_bandwidth[0] > 0 && all.gpu[2].peer_bandwidth[0] == 0);
	/* CUDA's own figures stay where both measured; OpenCL has no better one for what CUDA computed. */
	assert_figure(&all.gpu[0].figure[BERTH_GPU_TO_BANDWIDTH],
	              a[0].gpus.gpu[0].figure[BERTH_GPU_TO_BANDWIDTH].value, BERTH_ORIGIN_MEASURED);
	assert_int_equal(all.gpu[0].figure[BERTH_GPU_PEAK].origin, BERTH_ORIGIN_DRIVER);
	/* Without places on the bus: Vulkan's are told by the UUID, OpenCL's by name, one after the other. */
	answer_all("pair placeless", a);
	for (int i = 0; i < 2; i++)
		a[BERTH_GPU_CUDA].gpus.gpu[i].pci.known = false;
	berth_gpus_merge(a, &all, &dropped);
	assert_int_equal(all.n, 2);
	assert_int_equal(all.gpu[0].libraries, 7);
	assert_int_equal(all.gpu[1].libraries, 7);
	/* Another card of that name stays another one. */
	a[BERTH_GPU_OPENCL].gpus.gpu[1].pci = (berth_pci){true, 0, 9, 0, 0};
	a[BERTH_GPU_CUDA].gpus.gpu[0].pci = (berth_pci){true, 0, 1, 0, 0};
	a[BERTH_GPU_CUDA].gpus.gpu[1].pci = (berth_pci){true, 0, 2, 0, 0};
	berth_gpus_merge(a, &all, &dropped);
	assert_int_equal(all.n, 3);
	assert_int_equal(all.gpu[2].libraries, 1 << BERTH_GPU_OPENCL);
}

static void test_many(void **state)
{
	(void)state;
	berth_gpu_answer *a = calloc(BERTH_N_GPU_LIBRARIES, sizeof *a);
	berth_gpus all;
	int32_t dropped;
	for (int l = 0; l < 2; l++) {
		a[l].gpus.n = BERTH_MAX_GPUS;
		for (int i = 0; i < BERTH_MAX_GPUS; i++)
			a[l].gpus.gpu[i].pci = (berth_pci){true, 0, (uint32_t)(l * 20 + i), 0, 0};
	}
	berth_gpus_merge(a, &all, &dropped);
	assert_int_equal(all.n, BERTH_MAX_GPUS);
	assert_int_equal(dropped, 20);
	free(a);
}

/* ---- the bus ---- */

static void put_file(const char *root, const char *device, const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/bus/pci/devices/%s/%s", root, device, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A device on a port of its own, as the kernel shows them: links to folders that stand in each other. */
static void put_device(const char *root, const char *name, const char *port_speed, const char *speed,
                       const char *width, const char *class, const char *vendor)
{
	char port[256], path[512], link[512];
	snprintf(port, sizeof port, "%s/port-%s", root, name);
	snprintf(path, sizeof path, "%s/%s", port, name);
	snprintf(link, sizeof link, "%s/bus/pci/devices/%s", root, name);
	assert_true(mkdir(port, 0700) == 0 && mkdir(path, 0700) == 0 && symlink(path, link) == 0);
	put_file(root, name, "../max_link_speed", port_speed);
	put_file(root, name, "max_link_speed", speed);
	put_file(root, name, "current_link_width", width);
	put_file(root, name, "class", class);
	put_file(root, name, "vendor", vendor);
	put_file(root, name, "device", "0x2204\n");
	put_file(root, name, "numa_node", speed[0] == '1' ? "1\n" : "-1\n");
}

static void test_pcie(void **state)
{
	(void)state;
	char root[] = "/tmp/berth-pcie-XXXXXX", path[64], text[4][40], command[80];
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof path, "%s/bus", root);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/bus/pci", root);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/bus/pci/devices", root);
	mkdir(path, 0700);
	put_device(root, "0000:01:00.0", "32.0 GT/s PCIe\n", "16.0 GT/s PCIe\n", "16\n", "0x030000\n",
	           "0x10de\n");
	put_device(root, "0000:02:00.0", "5.0 GT/s PCIe\n", "8.0 GT/s PCIe\n", "8\n", "0x030200\n",
	           "0x1002\n");
	put_device(root, "0000:03:00.0", "Unknown\n", "Unknown\n", "255\n", "0x030000\n", "0x1a03\n");
	berth_gpus gpus = {.n = 1};
	gpus.gpu[0].pci = (berth_pci){true, 0, 1, 0, 0};
	const berth_pci second = {true, 0, 2, 0, 0}, third = {true, 0, 3, 0, 0}, nowhere = {true, 9, 9, 9, 1};
	berth_figure f = berth_pcie_bandwidth(root, &gpus.gpu[0].pci);
	assert_figure(&f, 16 * 16e9 / 8 * 128 / 130, BERTH_ORIGIN_DRIVER);
	f = berth_pcie_bandwidth(root, &second); /* the port is slower */
	assert_figure(&f, 8 * 5e9 / 10, BERTH_ORIGIN_DRIVER);
	assert_int_equal(berth_pcie_bandwidth(root, &third).origin, BERTH_ORIGIN_MISSING);
	assert_int_equal(berth_pcie_bandwidth(root, &nowhere).origin, BERTH_ORIGIN_MISSING);
	assert_int_equal(berth_pcie_node(root, &gpus.gpu[0].pci), 1);
	assert_int_equal(berth_pcie_node(root, &second), -1);
	assert_int_equal(berth_pcie_untold(root, &gpus, 4, text), 1); /* a server's console is no GPU */
	assert_string_equal(text[0], "0000:02:00.0 (1002:2204)");
	snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* ---- the description ---- */

static berth_figure measured(double value)
{
	return berth_figure_of(value, 0, INFINITY, BERTH_ORIGIN_MEASURED, "a test");
}

/* Two nodes; a discrete GPU at the second, an integrated one and a software one at the first. */
static void build_machine(berth_machine *m, berth_arena *mem)
{
	static const berth_gpu_nature nature[] = {BERTH_GPU_DISCRETE, BERTH_GPU_INTEGRATED,
	                                          BERTH_GPU_SOFTWARE};
	m->cpus = (berth_cpu_nodes){
		.n = 2,
		.node = {{.number = 0, .n_cores = 4, .memory_bytes = 1 << 30},
	                 {.number = 3, .first_core = 4, .n_cores = 2, .memory_bytes = 2 << 20}}};
	m->node_bandwidth = berth_arena_alloc(mem, 4, sizeof *m->node_bandwidth);
	m->node_latency = berth_arena_alloc(mem, 4, sizeof *m->node_latency);
	for (int i = 0; i < 2; i++)
		m->node[i] = (berth_cpu_figures){measured(1e11), measured(8e10 - i * 3e10), measured(2e9),
		                               measured(1e-6)};
	m->node_bandwidth[1] = m->node_bandwidth[2] = measured(2e10);
	m->node_latency[1] = m->node_latency[2] = measured(1e-7);
	for (int i = 0; i < 3; i++) {
		berth_gpu *g = &m->gpus.gpu[m->gpus.n++];
		snprintf(g->name, sizeof g->name, "GPU %d", i);
		g->libraries = 1u << BERTH_GPU_VULKAN;
		g->nature = nature[i];
		for (int f = 0; f < BERTH_N_GPU_FIGURES; f++)
			g->figure[f] = berth_figure_missing("not measured");
		g->figure[BERTH_GPU_MEMORY] = measured(4e9);
		m->pcie[i] = berth_figure_missing("");
		m->gpu_node[i] = i == 0 ? 3 : -1;
	}
	m->gpus.gpu[0].figure[BERTH_GPU_PEAK] = measured(1e13);
	m->pcie[0] = berth_figure_of(3e10, 0, INFINITY, BERTH_ORIGIN_DRIVER, "PCIe");
}

static void test_description(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_machine *m = berth_arena_alloc(&mem, 1, sizeof *m);
	berth_description d;
	berth_system s;
	berth_err err;
	build_machine(m, &mem);
	assert_ok(berth_describe_machine(m, false, &mem, &d, &err), &err);
	assert_ok(berth_description_system(&d, 0, &mem, &tmp, &s, &err), &err);
	assert_int_equal(d.n_devs, 5);
	assert_int_equal(s.n_devs, 4);
	assert_non_null(strstr(d.dev[4].left_out, "the CPU once more"));
	int32_t gpu = berth_system_find_dev(&s, "gpu0"), apu = berth_system_find_dev(&s, "gpu1");
	/* What nobody tells is left out; the integrated GPU has the CPU's memory. */
	assert_true(s.dev_peak_flops[gpu] == 1e13 && s.dev_mem_bandwidth[gpu] == 0 &&
	            s.dev_peak_flops[apu] == 0);
	assert_true(s.dev_mem_bandwidth[apu] == 8e10);
	assert_int_equal(s.dev_memory_bytes[apu], 1 << 30);
	assert_int_equal(s.n_pools, 2);
	assert_int_equal(s.dev_pool[apu], berth_system_find_pool(&s, "dram0"));
	assert_int_equal(s.dev_pool[0], s.dev_pool[apu]);
	assert_int_equal(s.dev_pool[1], berth_system_find_pool(&s, "dram1"));
	assert_int_equal(s.dev_pool[gpu], -1);
	assert_true(s.pool_bandwidth[0] == 8e10 && s.pool_bytes[0] == 1 << 30 && s.pool_bandwidth[1] == 5e10);
	/* Each GPU has links with the node next to it. */
	assert_true(s.link_of[1 * 4 + gpu] >= 0 && s.link_of[0 * 4 + gpu] < 0 && s.link_of[gpu * 4 + 1] >= 0);
	assert_true(s.link_bandwidth[s.link_of[1 * 4 + gpu]] == 3e10);
	assert_true(s.link_bandwidth[s.link_of[0 * 4 + apu]] == 4e10);
	/* A GPU that no link is known of is left out; software is taken in where that is asked for. */
	m->pcie[0] = berth_figure_missing("");
	assert_ok(berth_describe_machine(m, true, &mem, &d, &err), &err);
	berth_description_settle(&d);
	assert_ok(berth_description_system(&d, 0, &mem, &tmp, &s, &err), &err);
	assert_true(berth_system_find_dev(&s, "gpu0") < 0 && berth_system_find_dev(&s, "soft0") >= 0);
	assert_non_null(strstr(d.dev[2].left_out, "how fast"));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Every allocation fails once: told, and nothing is lost. */
static void test_memory(void **state)
{
	(void)state;
	static const char *const names[] = {"a", "b"}, *const kinds[] = {"cpu", "cpu"};
	static const int64_t memory_bytes[] = {-1, -1};
	berth_arena mem = {0};
	berth_machine *m = berth_arena_alloc(&mem, 1, sizeof *m);
	berth_status st = BERTH_ENOMEM;
	build_machine(m, &mem);
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		berth_arena out, tmp;
		berth_description d;
		berth_system s;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&out, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		st = berth_describe_machine(m, true, &out, &d, &err);
		if (st == BERTH_OK)
			st = berth_describe_engine(&m->cpus, 1, &m->node[0], m->node_latency, 2, names, kinds,
			                           memory_bytes, &out, &d, &err);
		if (st == BERTH_OK)
			st = berth_description_system(&d, 0, &out, &tmp, &s, &err);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&out);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
	}
	berth_arena_free(&mem);
}

/* An engine's devices: cores as measured, and one of which nobody tells anything. */
static void test_engine(void **state)
{
	(void)state;
	static const char *const names[] = {"a", "b", "x"}, *const kinds[] = {"cpu", "cpu", "gpu"};
	const int64_t memory_bytes[] = {-1, 1000, -1};
	const berth_cpu_nodes cpus = {.n = 1, .node = {{.n_cores = 2, .memory_bytes = 4000}}, .model = "CPU"};
	const berth_cpu_figures core = {measured(1e11), measured(2e10), measured(2e9), measured(1e-7)};
	const berth_figure latency = measured(1e-6);
	berth_arena mem = {0}, tmp = {0};
	berth_description d;
	berth_system s;
	berth_err err;
	assert_ok(berth_describe_engine(&cpus, 2, &core, &latency, 3, names, kinds, memory_bytes, &mem, &d,
	                                &err),
	          &err);
	assert_ok(berth_description_system(&d, 1e9, &mem, &tmp, &s, &err), &err); /* all are there to be timed
	                                                                           */
	assert_int_equal(s.n_links, 6);
	assert_true(s.link_bandwidth[s.link_of[2]] == 1e9);
	berth_description_settle(&d);
	assert_ok(berth_description_system(&d, 0, &mem, &tmp, &s, &err), &err);
	assert_int_equal(s.n_devs, 2);
	assert_int_equal(d.dev[0].n_cores, 2);
	assert_true(s.dev_memory_bytes[0] == 2000 && s.dev_memory_bytes[1] == 1000);
	assert_ptr_not_equal(d.dev[0].model, cpus.model); /* it outlives them */
	assert_true(s.link_bandwidth[0] == 1e10 && s.link_latency_s[0] == 1e-6 &&
	            s.dev_peak_flops[1] == 1e11);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* A cache beyond what any core has for itself is the host's, of which a core has a usual share. */
static void test_shared_cache(void **state)
{
	(void)state;
	static const struct {
		int64_t bytes, of_one, of_all; /* of two cores */
	} rows[] = {{300 << 20, 4 << 20, 8 << 20}, {64 << 20, 64 << 20, 64 << 20}, {0, 0, 0}};
	static const char *const names[] = {"a"}, *const kinds[] = {"cpu"};
	const int64_t memory_bytes[] = {-1};
	const berth_cpu_figures core = {measured(1e11), measured(2e10), measured(2e9), measured(1e-7)};
	const berth_figure latency = measured(1e-6);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		berth_arena mem = {0};
		berth_description d;
		berth_err err;
		berth_machine *m = calloc(1, sizeof *m);
		m->node[0] = core;
		m->cpus = (berth_cpu_nodes){.n = 1, .node = {{.n_cores = 2, .cache_bytes = rows[i].bytes}}};
		assert_ok(berth_describe_engine(&m->cpus, 1, &core, &latency, 1, names, kinds, memory_bytes,
		                                &mem, &d, &err),
		          &err);
		assert_int_equal(d.dev[0].cache_bytes, rows[i].of_one);
		assert_ok(berth_describe_machine(m, false, &mem, &d, &err), &err);
		assert_int_equal(d.dev[0].cache_bytes, rows[i].of_all);
		berth_arena_free(&mem);
		free(m);
	}
}

static void test_figures(void **state)
{
	(void)state;
	assert_int_equal(berth_figure_of(NAN, 0, 1, BERTH_ORIGIN_MEASURED, "x").origin, BERTH_ORIGIN_MISSING);
	assert_int_equal(berth_figure_of(INFINITY, 0, 1, BERTH_ORIGIN_DRIVER, "x").origin,
	                 BERTH_ORIGIN_MISSING);
	berth_figure a = measured(1), b = berth_figure_of(2, 0, 9, BERTH_ORIGIN_TABLE, "x"), c = measured(3);
	assert_ptr_equal(berth_figure_better(&a, &b), &a);
	assert_ptr_equal(berth_figure_better(&b, &a), &a);
	assert_ptr_equal(berth_figure_better(&a, &c), &a);
}

static void put_limit(const char *root, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/fs/cgroup/%s", root, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int64_t limited(const char *root, int64_t bytes, int32_t n)
{
	berth_cpu_nodes nodes = {.n = n, .node = {{.memory_bytes = bytes}}};
	berth_cpu_nodes_limit(&nodes, root);
	assert_int_equal(nodes.node[0].limited, nodes.node[0].memory_bytes != bytes);
	return nodes.node[0].memory_bytes;
}

static void test_limit(void **state)
{
	(void)state;
	char root[] = "/tmp/berth-limit-XXXXXX", command[96];
	assert_non_null(mkdtemp(root));
	snprintf(command, sizeof command, "mkdir -p %s/fs/cgroup/memory", root);
	assert_int_equal(system(command), 0);
	assert_int_equal(limited(root, 1000, 1), 1000);
	put_limit(root, "memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(limited(root, 0, 1), 0);
	put_limit(root, "memory/memory.limit_in_bytes", "700\n");
	put_limit(root, "memory.max", "max\n");
	assert_int_equal(limited(root, 1000, 1), 700);
	put_limit(root, "memory.max", "600\n");
	assert_int_equal(limited(root, 1000, 1), 600);
	assert_int_equal(limited(root, 500, 1), 500);
	assert_int_equal(limited(root, 1000, 2), 1000);
	snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* The real thing: what this machine's cores do, also where nodes are many. */
static void test_cores(void **state)
{
	(void)state;
	berth_cpu_nodes *cpus = malloc(sizeof *cpus);
	berth_cpu_figures f;
	berth_figure bandwidth, latency;
	berth_err err;
	assert_ok(berth_cpu_nodes_find(cpus, &err), &err);
	assert_true(cpus->n >= 1 && cpus->node[0].n_cores >= 1);
	const berth_cpu_team team = {cpus->core, cpus->node[0].n_cores, 0, 64 << 20};
	assert_ok(berth_cpu_measure(&team, &f, &err), &err);
	assert_ok(berth_cpu_measure_link(&team, &team, &bandwidth, &latency, &err), &err);
	assert_int_equal(f.peak_flops.origin, BERTH_ORIGIN_MEASURED);
	assert_int_equal(f.mem_bandwidth.origin, BERTH_ORIGIN_MEASURED);
	assert_int_equal(f.overhead.origin, BERTH_ORIGIN_MEASURED);
	assert_int_equal(bandwidth.origin, BERTH_ORIGIN_MEASURED);
	assert_int_equal(latency.origin, BERTH_ORIGIN_MEASURED);
	free(cpus);
}

static void assert_rounds(berth_cpu_rounds r, double best_s, double usual)
{
	assert_true(fabs(r.best_s - best_s) < 1e-12 && fabs(r.usual - usual) < 1e-12);
}

/* Copies on a busy machine were taken for a memory 25 times as slow, without a word. */
static void test_rounds(void **state)
{
	(void)state;
	const double own[] = {1.01, 1, 1.1};
	double quiet[] = {1.02, 1.04, 1.2}, some[] = {30, 1.1, 50}, all[] = {25, 22, 40}, clock[] = {3, 2, 9};
	assert_rounds(berth_cpu_rounds_of(quiet, own, 3), 1.02, 1.04 / 1.02);
	assert_rounds(berth_cpu_rounds_of(some, own, 3), 1.1, 30 / 1.1);
	assert_rounds(berth_cpu_rounds_of(all, own, 3), 1, 25);
	assert_rounds(berth_cpu_rounds_of(clock, NULL, 3), 2, 1.5); /* threads that wait for each other */
	assert_true(isinf(berth_cpu_rounds_of(clock, own, 0).best_s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuda),        cmocka_unit_test(test_vulkan),
		cmocka_unit_test(test_opencl),      cmocka_unit_test(test_failures),
		cmocka_unit_test(test_hang),        cmocka_unit_test(test_files),
		cmocka_unit_test(test_nonsense),    cmocka_unit_test(test_merge),
		cmocka_unit_test(test_many),        cmocka_unit_test(test_pcie),
		cmocka_unit_test(test_description), cmocka_unit_test(test_engine),
		cmocka_unit_test(test_shared_cache),
		cmocka_unit_test(test_figures),     cmocka_unit_test(test_limit),
		cmocka_unit_test(test_memory),      cmocka_unit_test(test_cores),
		cmocka_unit_test(test_rounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
