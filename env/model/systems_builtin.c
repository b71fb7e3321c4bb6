/* Built-in machines, as berth-system texts that go through the reader of files.
 *
 * From public datasheets, cited at each machine: peak rates, memory bandwidth and size, rated power
 * (busy_w), raw link rates. Assumptions, for want of a datasheet that states them: efficiency per type
 * (dense linear algebra reaches about half to two thirds of the peak, recurrent cells less, elementwise
 * types are bound by memory in any case), op_overhead_s (about 7 us to launch a GPU kernel, 2 us to call a
 * CPU one), usable memory (round GB of the datasheet's GiB), link latencies, achievable link bandwidth (12
 * of the 15.75 GB/s of PCIe 3.0 x16), idle watts and joules per byte (PCIe about 10 pJ/bit, NVLink 8, DRAM 4
 * an access, 10 GbE with its two ports and a switch 1 nJ/bit). Whoever owns such a machine measures it:
 * berth profile --system. */
#include "systems_builtin.h"

#include "json.h"
#include "rng.h"
#include "spec.h"
#include "system_json.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- random machines, for training and tests ---- */

enum { P_DEVICES, P_HETEROGENEITY, P_TFLOPS, P_MEMORY, P_BANDWIDTH, P_LATENCY, P_TOPOLOGY, P_SEED, N_PARAMS };
enum { FULL, BUS, STAR, HOSTS };

static const char *const topologies[] = {"full", "bus", "star", "hosts", NULL};

#define SPREAD_TEXT "spread of speeds and memories: sigma of a lognormal; 0: equal devices"
#define TOPOLOGY_TEXT "a link a pair; one bus; all through the first; pairs of hosts over one slow link"

static const berth_spec_param random_params[N_PARAMS] = {
	[P_DEVICES] = {"devices", "devices", 4, 1, 64, true, NULL},
	[P_HETEROGENEITY] = {"heterogeneity", SPREAD_TEXT, 0.5, 0, 3, false, NULL},
	[P_TFLOPS] = {"tflops", "mean peak of a device, TFLOP/s", 10, 1e-3, 1e4, false, NULL},
	[P_MEMORY] = {"memory", "mean memory of a device, GB", 16, 1e-3, 1e5, false, NULL},
	[P_BANDWIDTH] = {"bandwidth", "mean of a link, GB/s", 10, 1e-3, 1e4, false, NULL},
	[P_LATENCY] = {"latency", "of a link, microseconds", 10, 0, 1e6, false, NULL},
	[P_TOPOLOGY] = {"topology", TOPOLOGY_TEXT, FULL, 0, 0, false, topologies},
	[P_SEED] = {"seed", "of the random stream", 1, 0, 0x1p53, true, NULL},
};

static const berth_spec_table random_table = {"system", "random", random_params, N_PARAMS};

/* Lognormal of mean 1. */
static double spread(double sigma, berth_rng *rng)
{
	return exp(sigma * berth_rng_normal(rng) - sigma * sigma / 2);
}

/* x in [low, high] to four digits. */
static double rounded(double x, double low, double high)
{
	double cut = fmin(fmax(x, low), high), step = pow(10, floor(log10(cut)) - 3);
	return round(cut / step) * step;
}

static void put_device(berth_json_out *w, int32_t d, const double v[], berth_rng *rng)
{
	static const char *const types[] = {"*", "Conv", "MatMul", "Gemm"};
	char name[16];
	double sigma = v[P_HETEROGENEITY], speed = v[P_TFLOPS] * 1e12 * spread(sigma, rng),
	       balance = 10 * spread(sigma / 2, rng);
	snprintf(name, sizeof name, "d%d", d);
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", name);
	berth_json_put_number(w, "peak_flops", rounded(speed, 1e6, 1e18));
	berth_json_open(w, "efficiency", '{');
	for (int i = 0; i < 4; i++)
		berth_json_put_number(w, types[i], rounded(0.5 * spread(sigma / 2, rng), 0.05, 0.95));
	berth_json_close(w, '}');
	berth_json_put_number(w, "mem_bandwidth", rounded(speed / balance, 1e6, 1e15));
	berth_json_put_int(w, "memory_bytes",
	                   (int64_t)rounded(v[P_MEMORY] * 1e9 * spread(sigma, rng), 1e6, 1e15));
	berth_json_put_number(w, "op_overhead_s", rounded(5e-6 * spread(sigma, rng), 1e-7, 1e-3));
	double busy = rounded(speed * 2e-11, 1, 1000); /* about 200 W for 10 TFLOP/s */
	berth_json_put_number(w, "idle_w", rounded(busy * 0.2, 0.1, 1000));
	berth_json_put_number(w, "busy_w", busy);
	berth_json_close(w, '}');
}

static void put_link(berth_json_out *w, int32_t from, int32_t to, const double v[], double slow, bool bus,
                     berth_rng *rng)
{
	char name[16];
	berth_json_open(w, NULL, '{');
	snprintf(name, sizeof name, "d%d", from);
	berth_json_put_string(w, "from", name);
	snprintf(name, sizeof name, "d%d", to);
	berth_json_put_string(w, "to", name);
	berth_json_put_number(w, "latency_s", v[P_LATENCY] * 1e-6);
	double bandwidth = v[P_BANDWIDTH] * 1e9 * slow * (bus ? 1 : spread(v[P_HETEROGENEITY] / 2, rng));
	berth_json_put_number(w, "bandwidth", rounded(bandwidth, 1e5, 1e15));
	berth_json_put_bool(w, "both_ways", true);
	if (bus)
		berth_json_put_string(w, "shared", "bus");
	berth_json_put_number(w, "joules_per_byte", 1e-10);
	berth_json_close(w, '}');
}

static void put_links(berth_json_out *w, const double v[], berth_rng *rng)
{
	int32_t n = (int32_t)v[P_DEVICES], topology = (int32_t)v[P_TOPOLOGY], half = (n + 1) / 2;
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = a + 1; b < n; b++) {
			bool same_host = a / half == b / half;
			if (topology == FULL || topology == BUS)
				put_link(w, a, b, v, 1, topology == BUS, rng);
			/* a host's first device joins its others */
			else if (topology == STAR ? a == 0 : same_host && a % half == 0)
				put_link(w, a, b, v, 1, false, rng);
			else if (topology == HOSTS && a == 0 && b == half)
				put_link(w, a, b, v, 0.1, false, rng);
		}
}

static berth_status write_random(const double v[], const char *name, berth_arena *mem, berth_arena *tmp,
                         berth_system *out, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	berth_rng rng = berth_rng_seed((uint64_t)v[P_SEED], BERTH_STREAM_RANDOM);
	berth_json_out_init(&w, tmp, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-system");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "name", name);
	berth_json_open(&w, "devices", '[');
	for (int32_t d = 0; d < (int32_t)v[P_DEVICES]; d++)
		put_device(&w, d, v, &rng);
	berth_json_close(&w, ']');
	berth_json_open(&w, "links", '[');
	put_links(&w, v, &rng);
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return berth_system_parse_json(name, text, len, mem, tmp, out, err);
}

static berth_status random_system(const char *spec, const char *rest, berth_arena *mem, berth_arena *tmp,
                                 berth_system *out, berth_err *err)
{
	double value[N_PARAMS];
	BERTH_TRY(berth_spec_values(spec, rest, &random_table, value, err));
	BERTH_SCRATCH(tmp);
	const char *name = berth_spec_canonical(&random_table, value, tmp);
	return name ? write_random(value, name, mem, tmp, out, err) : berth_nomem(err);
}

/* ---- described machines ---- */

#define HEAD(name) "{\"format\":\"berth-system\",\"version\":1,\"name\":\"" name "\","
#define DEVICE(name, rest) "{\"name\":\"" name "\"," rest "}"
#define CPU_EFFICIENCY                                                                                       \
	"\"efficiency\":{\"*\":0.2,\"Conv\":0.5,\"ConvTranspose\":0.4,\"Gemm\":0.6,\"MatMul\":0.6,"          \
	"\"Einsum\":0.5,\"LSTM\":0.4,\"GRU\":0.4,\"RNN\":0.4},"
#define GPU_EFFICIENCY                                                                                       \
	"\"efficiency\":{\"*\":0.1,\"Conv\":0.55,\"ConvTranspose\":0.45,\"Gemm\":0.6,\"MatMul\":0.6,"        \
	"\"Einsum\":0.5,\"LSTM\":0.25,\"GRU\":0.25,\"RNN\":0.2},"

/* Intel Xeon Gold 6148 (Intel ARK; specification update for the AVX-512 base clock): 20 cores, 1.6 GHz
 * AVX-512 base, 64 FP32 operations a cycle and core; six DDR4-2666 channels, 128 GB/s; 150 W. */
#define XEON_6148                                                                                            \
	"\"kind\":\"xeon-6148\",\"peak_flops\":2.048e12," CPU_EFFICIENCY                                     \
	"\"mem_bandwidth\":1.28e11,\"memory_bytes\":64000000000,\"op_overhead_s\":2e-6,\"idle_w\":50,"       \
	"\"busy_w\":150"

/* Intel Xeon E5-2650 v4 (Intel ARK; specification update for the AVX base clock): 12 cores, 1.8 GHz AVX
 * base, 32 FP32 operations a cycle and core; four DDR4-2400 channels, 76.8 GB/s; 105 W. */
#define XEON_2650V4                                                                                          \
	"\"kind\":\"xeon-2650v4\",\"peak_flops\":6.912e11," CPU_EFFICIENCY                                   \
	"\"mem_bandwidth\":7.68e10,\"memory_bytes\":32000000000,\"op_overhead_s\":3e-6,\"idle_w\":40,"       \
	"\"busy_w\":105"

/* NVIDIA Tesla P100 PCIe 16 GB datasheet: 9.3 TFLOP/s FP32, 732 GB/s, 250 W. */
#define P100                                                                                                 \
	"\"kind\":\"p100\",\"peak_flops\":9.3e12," GPU_EFFICIENCY                                            \
	"\"mem_bandwidth\":7.32e11,\"memory_bytes\":16000000000,\"op_overhead_s\":7e-6,\"idle_w\":30,"       \
	"\"busy_w\":250"

/* NVIDIA Tesla P4 datasheet: 5.5 TFLOP/s FP32, 192 GB/s, 8 GB, 75 W. */
#define P4                                                                                                   \
	"\"kind\":\"p4\",\"peak_flops\":5.5e12," GPU_EFFICIENCY                                              \
	"\"mem_bandwidth\":1.92e11,\"memory_bytes\":8000000000,\"op_overhead_s\":7e-6,\"idle_w\":8,"         \
	"\"busy_w\":75"

/* NVIDIA Tesla T4 datasheet: 8.1 TFLOP/s FP32, 320 GB/s, 16 GB, 70 W. */
#define T4                                                                                                   \
	"\"kind\":\"t4\",\"peak_flops\":8.1e12," GPU_EFFICIENCY                                              \
	"\"mem_bandwidth\":3.2e11,\"memory_bytes\":16000000000,\"op_overhead_s\":7e-6,\"idle_w\":10,"        \
	"\"busy_w\":70"

/* NVIDIA Tesla V100 datasheet: PCIe 14 TFLOP/s FP32, 250 W; SXM2 15.7 TFLOP/s FP32, 300 W; both 900 GB/s,
 * here with 16 GB. */
#define V100_PCIE                                                                                            \
	"\"kind\":\"v100-pcie\",\"peak_flops\":1.4e13," GPU_EFFICIENCY                                       \
	"\"mem_bandwidth\":9e11,\"memory_bytes\":16000000000,\"op_overhead_s\":7e-6,\"idle_w\":30,"          \
	"\"busy_w\":250"
#define V100_SXM2                                                                                            \
	"\"kind\":\"v100-sxm2\",\"peak_flops\":1.57e13," GPU_EFFICIENCY                                      \
	"\"mem_bandwidth\":9e11,\"memory_bytes\":16000000000,\"op_overhead_s\":7e-6,\"idle_w\":40,"          \
	"\"busy_w\":300"

/* PCI Express 3.0 x16: 8 GT/s, 128b/130b, 15.75 GB/s in each direction at once. */
#define PCIE(a, b)                                                                                           \
	"{\"from\":\"" a "\",\"to\":\"" b                                                                    \
	"\",\"latency_s\":1e-5,\"bandwidth\":1.2e10,\"both_ways\":true,\"joules_per_byte\":8e-11}"

/* NVLink 2 (V100 datasheet: 300 GB/s for six links): two links a pair among four GPUs, 50 GB/s in each
 * direction at once. */
#define NVLINK(a, b)                                                                                         \
	"{\"from\":\"" a "\",\"to\":\"" b                                                                    \
	"\",\"latency_s\":5e-6,\"bandwidth\":5e10,\"both_ways\":true,\"joules_per_byte\":6.4e-11}"

/* GPUs of unlike speed and memory that talk through the CPU. */
static const char cpu_2gpu[] = HEAD("cpu+2gpu")
	"\"devices\":[" DEVICE("cpu0", XEON_6148) "," DEVICE("gpu0", P100) "," DEVICE("gpu1", P4) "],"
	"\"links\":[" PCIE("cpu0", "gpu0") "," PCIE("cpu0", "gpu1") "]}";

/* Four equal GPUs, each joined to each (as in an NVIDIA DGX Station). The host takes no operators. */
static const char gpus[] = HEAD("4gpu")
	"\"devices\":[" DEVICE("gpu0", V100_SXM2) "," DEVICE("gpu1", V100_SXM2) ","
	DEVICE("gpu2", V100_SXM2) "," DEVICE("gpu3", V100_SXM2) "],"
	"\"links\":[" NVLINK("gpu0", "gpu1") "," NVLINK("gpu0", "gpu2") "," NVLINK("gpu0", "gpu3") ","
	NVLINK("gpu1", "gpu2") "," NVLINK("gpu1", "gpu3") "," NVLINK("gpu2", "gpu3") "]}";

/* A small SoC at 16-bit precision, after the NVIDIA Jetson Xavier NX (datasheet DA-09366-001: six Carmel
 * cores; 384 CUDA cores at 1.1 GHz; two NVDLA engines; 8 GB of 128-bit LPDDR4x at 1600 MHz, 51.2 GB/s; 15 W
 * mode). Rates from it: CPU 6 x 1.4 GHz x 16 a cycle; GPU 384 x 2 x 2 x 1.1 GHz; each NVDLA engine half of
 * its 4.5 INT8 TOPS, the two being the slots of one device. The engines run layers of convolutional networks
 * only, at their best near the peak. All read and write the one DRAM: a copy, which does both, has half its
 * rate at best. What each of them reaches of that rate, how the 15 W are cut into shares, and that the system
 * takes 1 of the 8 GB, is an assumption. */
#define COPY(a, b, bandwidth)                                                                                \
	"{\"from\":\"" a "\",\"to\":\"" b "\",\"latency_s\":4e-6,\"bandwidth\":" bandwidth                   \
	",\"both_ways\":true,\"joules_per_byte\":6.4e-11}"
static const char edge[] = HEAD("edge")
	"\"devices\":["
	"{\"name\":\"cpu0\",\"kind\":\"carmel\",\"peak_flops\":1.344e11," CPU_EFFICIENCY
	"\"mem_bandwidth\":3e10,\"op_overhead_s\":2e-6,"
	"\"idle_w\":0.8,\"busy_w\":5},"
	"{\"name\":\"gpu0\",\"kind\":\"volta-384\",\"peak_flops\":1.6896e12," GPU_EFFICIENCY
	"\"mem_bandwidth\":4.5e10,\"op_overhead_s\":1.5e-5,"
	"\"idle_w\":0.5,\"busy_w\":7},"
	"{\"name\":\"npu0\",\"kind\":\"nvdla\",\"peak_flops\":2.25e12,"
	"\"efficiency\":{\"*\":0.3,\"Conv\":0.75,\"ConvTranspose\":0.5,\"Gemm\":0.5},"
	"\"mem_bandwidth\":2e10,\"op_overhead_s\":3e-5,\"slots\":2,"
	"\"runs\":[\"Conv\",\"ConvTranspose\",\"Gemm\",\"BatchNormalization\",\"Relu\",\"LeakyRelu\","
	"\"PRelu\",\"Clip\",\"Sigmoid\",\"Tanh\",\"MaxPool\",\"AveragePool\",\"GlobalAveragePool\","
	"\"Add\",\"Sub\",\"Mul\",\"Max\",\"Min\",\"Concat\",\"LRN\"],"
	"\"idle_w\":0.2,\"busy_w\":3}],"
	"\"links\":[" COPY("cpu0", "gpu0", "2.56e10") "," COPY("cpu0", "npu0", "2.56e10") ","
	COPY("gpu0", "npu0", "2.56e10") "],"
	"\"memory_pools\":[{\"name\":\"dram\",\"bandwidth\":5.12e10,\"bytes\":7000000000,"
	"\"devices\":[\"cpu0\",\"gpu0\",\"npu0\"]}]}";

/* A laptop at 32-bit precision: AMD Ryzen 7 7840U (AMD product page: eight Zen 4 cores, 3.3 GHz base; Radeon
 * 780M, 12 compute units at 2.7 GHz; 28 W) with 32 GB of DDR5-5600 on two 64-bit channels, 89.6 GB/s. Rates
 * from it: CPU 8 x 3.3 GHz x 32 a cycle (two 256-bit FMA units a core); GPU 12 x 64 lanes x 2 x 2.7 GHz,
 * without the dual issue that few kernels use. Assumptions: what CPU and GPU reach of the memory's rate
 * alone, how the 28 W are cut into shares, that the system takes 4 GB, and that the driver lets the GPU have
 * half of the memory. */
static const char laptop[] = HEAD("laptop")
	"\"devices\":["
	"{\"name\":\"cpu0\",\"kind\":\"ryzen-7840u\",\"peak_flops\":8.448e11," CPU_EFFICIENCY
	"\"mem_bandwidth\":6.5e10,\"op_overhead_s\":2e-6,\"idle_w\":2,\"busy_w\":20},"
	"{\"name\":\"gpu0\",\"kind\":\"radeon-780m\",\"peak_flops\":4.1472e12," GPU_EFFICIENCY
	"\"mem_bandwidth\":8e10,\"memory_bytes\":16000000000,\"op_overhead_s\":1e-5,"
	"\"idle_w\":1,\"busy_w\":20}],"
	"\"links\":[" COPY("cpu0", "gpu0", "4.48e10") "],"
	"\"memory_pools\":[{\"name\":\"dram\",\"bandwidth\":8.96e10,\"bytes\":28000000000,"
	"\"devices\":[\"cpu0\",\"gpu0\"]}]}";

/* Two servers of different age, joined by 10 gigabit Ethernet (IEEE 802.3ae, 1.25 GB/s) that carries one
 * message at a time. */
#define ON(host, figures) "\"host\":\"" host "\"," figures
static const char hetero_cluster[] = HEAD("hetero-cluster")
	"\"devices\":[" DEVICE("cpu0", ON("new", XEON_6148)) "," DEVICE("gpu0", ON("new", V100_PCIE)) ","
	DEVICE("gpu1", ON("new", V100_PCIE)) "," DEVICE("cpu1", ON("old", XEON_2650V4)) ","
	DEVICE("gpu2", ON("old", T4)) "," DEVICE("gpu3", ON("old", T4)) "],"
	"\"links\":[" PCIE("cpu0", "gpu0") "," PCIE("cpu0", "gpu1") "," PCIE("cpu1", "gpu2") ","
	PCIE("cpu1", "gpu3") ","
	"{\"from\":\"cpu0\",\"to\":\"cpu1\",\"latency_s\":3e-5,\"bandwidth\":1.25e9,\"both_ways\":true,"
	"\"shared\":\"ethernet\",\"joules_per_byte\":8e-9}]}";

static const berth_system_row rows[] = {
	{"cpu+2gpu", "a server CPU and two GPUs of unlike speed and memory on PCIe 3"},
	{"4gpu", "four equal GPUs, all joined by NVLink"},
	{"edge", "a 15 W SoC: CPU, small GPU and NPU for convolutional layers on one memory"},
	{"laptop", "a 28 W laptop: CPU and integrated GPU on one memory"},
	{"hetero-cluster", "two unequal servers of a CPU and two GPUs each, joined by 10 GbE"},
	{"random", "a seeded random machine: random[:key=value...], see berth systems --help"},
};
static const char *const texts[] = {cpu_2gpu, gpus, edge, laptop, hetero_cluster};

enum { N_ROWS = sizeof rows / sizeof *rows, N_TEXTS = sizeof texts / sizeof *texts };
_Static_assert(N_ROWS == N_TEXTS + 1, "the last row is the random machine");

const berth_system_row *berth_system_builtin_list(int32_t *n)
{
	*n = N_ROWS;
	return rows;
}

berth_status berth_system_builtin(const char *name, berth_arena *mem, berth_arena *tmp, berth_system *out,
                                  berth_err *err)
{
	const char *names[N_ROWS];
	char word[BERTH_SPEC_WORD];
	int32_t at;
	const char *rest = berth_spec_name(name, word);
	if (strcmp(word, rows[N_TEXTS].name) == 0)
		return random_system(name, rest, mem, tmp, out, err);
	for (int32_t i = 0; i < N_ROWS; i++)
		names[i] = rows[i].name;
	BERTH_TRY(berth_text_find(names, N_ROWS, name, "built-in system", "; 'berth systems' lists them", &at,
	                          err));
	return berth_system_parse_json(name, texts[at], strlen(texts[at]), mem, tmp, out, err);
}
