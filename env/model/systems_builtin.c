/* Built-in machines, as berth-system texts that go through the reader of files: devices like those of the
 * catalogue, links by its rows, and what it does not say.
 *
 * Assumptions, for want of a datasheet that states them: the memory of hosts, overheads of devices with slow
 * hosts, how a chip's watts are shared, and joules per byte (PCIe about 10 pJ/bit, NVLink 8, DRAM 4 an
 * access, 10 GbE with its two ports and a switch 1 nJ/bit). Whoever owns such a machine measures it: berth
 * profile --system. */
#include "systems_builtin.h"

#include "rng.h"
#include "spec.h"
#include "system_json.h"
#include "text.h"

/* ---- random machines, for training and tests ---- */

enum {
	P_DEVICES,
	P_HETEROGENEITY,
	P_TFLOPS,
	P_MEMORY,
	P_BANDWIDTH,
	P_LATENCY,
	P_TOPOLOGY,
	P_SEED,
	P_FIGURES,
	N_PARAMS
};
enum { FULL, BUS, STAR, HOSTS };
enum { DRAWN, CATALOGUE };

static const char *const topologies[] = {"full", "bus", "star", "hosts", NULL};
static const char *const figures[] = {"drawn", "catalogue", NULL};

#define SPREAD_TEXT "spread of speeds and memories: sigma of a lognormal; 0: equal devices"
#define FIGURES_TEXT "drawn: each by itself, timed by the roofline; catalogue: like the device of that peak"
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
	[P_FIGURES] = {"figures", FIGURES_TEXT, DRAWN, 0, 0, false, figures},
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

/* How far a device is from so many FLOP/s; infinite: the model does not time it. */
static double distance(const berth_device_row *d, double speed)
{
	bool timed = d->device_class != BERTH_CLASS_NPU && d->units > 0 && d->lanes > 0;
	return timed && d->peak[BERTH_F32] > 0 ? fabs(log(d->peak[BERTH_F32] / speed)) : INFINITY;
}

static const char *nearest(const berth_catalogue *c, double speed)
{
	const berth_device_row *best = c->device;
	for (int32_t i = 1; i < c->n_devices; i++)
		if (distance(&c->device[i], speed) < distance(best, speed))
			best = &c->device[i];
	return best->name;
}

/* c: NULL where figures are drawn. */
static void put_device(berth_json_out *w, int32_t d, const double v[], const berth_catalogue *c,
                       berth_rng *rng)
{
	char name[16];
	double sigma = v[P_HETEROGENEITY], speed = v[P_TFLOPS] * 1e12 * spread(sigma, rng);
	snprintf(name, sizeof name, "d%d", d);
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", name);
	if (c)
		berth_json_put_string(w, "like", nearest(c, speed));
	else {
		static const char *const types[] = {"*", "Conv", "MatMul", "Gemm"};
		double balance = 10 * spread(sigma / 2, rng);
		berth_json_put_number(w, "peak_flops", rounded(speed, 1e6, 1e18));
		berth_json_open(w, "efficiency", '{');
		for (int i = 0; i < 4; i++)
			berth_json_put_number(w, types[i], rounded(0.5 * spread(sigma / 2, rng), 0.05, 0.95));
		berth_json_close(w, '}');
		berth_json_put_number(w, "mem_bandwidth", rounded(speed / balance, 1e6, 1e15));
	}
	berth_json_put_int(w, "memory_bytes",
	                   (int64_t)rounded(v[P_MEMORY] * 1e9 * spread(sigma, rng), 1e6, 1e15));
	if (!c) {
		double busy = rounded(speed * 2e-11, 1, 1000); /* about 200 W for 10 TFLOP/s */
		berth_json_put_number(w, "op_overhead_s", rounded(5e-6 * spread(sigma, rng), 1e-7, 1e-3));
		berth_json_put_number(w, "idle_w", rounded(busy * 0.2, 0.1, 1000));
		berth_json_put_number(w, "busy_w", busy);
	}
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

static berth_status write_random(const double v[], const char *name, berth_arena *mem, berth_arena *tmp,
                         berth_system *out, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	berth_catalogue c;
	berth_rng rng = berth_rng_seed((uint64_t)v[P_SEED], BERTH_STREAM_RANDOM);
	if (v[P_FIGURES] == CATALOGUE)
		BERTH_TRY(berth_catalogue_read(tmp, &c, err));
	berth_json_out_init(&w, tmp, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-system");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "name", name);
	berth_json_open(&w, "devices", '[');
	for (int32_t d = 0; d < (int32_t)v[P_DEVICES]; d++)
		put_device(&w, d, v, v[P_FIGURES] == CATALOGUE ? &c : NULL, &rng);
	berth_json_close(&w, ']');
	berth_json_open(&w, "links", '[');
	int32_t n = (int32_t)v[P_DEVICES], topology = (int32_t)v[P_TOPOLOGY], half = (n + 1) / 2;
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = a + 1; b < n; b++) {
			bool same_host = a / half == b / half;
			if (topology == FULL || topology == BUS)
				put_link(&w, a, b, v, 1, topology == BUS, &rng);
			/* a host's first device joins its others */
			else if (topology == STAR ? a == 0 : same_host && a % half == 0)
				put_link(&w, a, b, v, 1, false, &rng);
			else if (topology == HOSTS && a == 0 && b == half)
				put_link(&w, a, b, v, 0.1, false, &rng);
		}
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
#define LIKE(name, like) "{\"name\":\"" name "\",\"like\":\"" like "\""
#define LINK(a, b, figures) "{\"from\":\"" a "\",\"to\":\"" b "\"," figures ",\"both_ways\":true}"

#define XEON_6148(name) LIKE(name, "intel-xeon-gold-6148") ",\"memory_bytes\":64000000000"
#define XEON_2650V4(name) LIKE(name, "intel-xeon-e5-2650-v4") ",\"memory_bytes\":32000000000"

/* pcie3x16, nvlink2x2 and ethernet-10g of the catalogue. */
#define PCIE(a, b) LINK(a, b, "\"latency_s\":1e-5,\"bandwidth\":1.2e10,\"joules_per_byte\":8e-11")
#define NVLINK(a, b) LINK(a, b, "\"latency_s\":5e-6,\"bandwidth\":4.5e10,\"joules_per_byte\":6.4e-11")
#define ETHERNET(a, b)                                                                                       \
	LINK(a, b,                                                                                           \
	     "\"latency_s\":3e-5,\"bandwidth\":1.175e9,\"shared\":\"ethernet\",\"joules_per_byte\":8e-9")

/* Within one memory: a copy reads and writes it, and has half of its rate at best. */
#define COPY(a, b, bandwidth)                                                                                \
	LINK(a, b, "\"latency_s\":4e-6,\"bandwidth\":" bandwidth ",\"joules_per_byte\":6.4e-11")

/* GPUs of unlike speed and memory that talk through the CPU. */
static const char cpu_2gpu[] = HEAD("cpu+2gpu")
	"\"devices\":[" XEON_6148("cpu0") "}," LIKE("gpu0", "nvidia-p100-pcie-16gb") "},"
	LIKE("gpu1", "nvidia-p4") "}],\"links\":[" PCIE("cpu0", "gpu0") "," PCIE("cpu0", "gpu1") "]}";

/* Four equal GPUs, each joined to each (as in an NVIDIA DGX Station): two links of NVLink 2 a pair. The host
 * takes no operators. */
#define V100(name) LIKE(name, "nvidia-v100-sxm2-16gb") "}"
static const char gpus[] = HEAD("4gpu")
	"\"devices\":[" V100("gpu0") "," V100("gpu1") "," V100("gpu2") "," V100("gpu3") "],"
	"\"links\":[" NVLINK("gpu0", "gpu1") "," NVLINK("gpu0", "gpu2") "," NVLINK("gpu0", "gpu3") ","
	NVLINK("gpu1", "gpu2") "," NVLINK("gpu1", "gpu3") "," NVLINK("gpu2", "gpu3") "]}";

/* A small SoC, the NVIDIA Jetson Xavier NX (datasheet DA-09366-001: two NVDLA engines; 8 GB; 15 W mode). The
 * engines run layers of convolutional networks only, at their best near the peak, and compute in 16 bits what
 * a model has in 32, as their compiler does. Each has half of its 4.5 INT8 TOPS; they are the slots of one
 * device, which no time model knows. All read and write the one DRAM. What the engines reach of its rate, how
 * the 15 W are cut into shares, and that the system takes 1 of the 8 GB, is an assumption. */
static const char edge[] = HEAD("edge")
	"\"devices\":[" LIKE("cpu0", "nvidia-carmel-xavier-nx") ",\"idle_w\":0.8,\"busy_w\":5},"
	LIKE("gpu0", "nvidia-jetson-xavier-nx") ",\"memory_bytes\":null,\"op_overhead_s\":1.5e-5,"
	"\"idle_w\":0.5,\"busy_w\":7},"
	"{\"name\":\"npu0\",\"kind\":\"nvdla\",\"class\":\"npu\",\"peak_flops\":2.25e12,"
	"\"efficiency\":{\"*\":0.3,\"Conv\":0.75,\"ConvTranspose\":0.5,\"Gemm\":0.5},"
	"\"mem_bandwidth\":2e10,\"op_overhead_s\":3e-5,\"slots\":2,"
	"\"runs\":[\"Conv\",\"ConvTranspose\",\"Gemm\",\"BatchNormalization\",\"Relu\",\"LeakyRelu\","
	"\"PRelu\",\"Clip\",\"Sigmoid\",\"Tanh\",\"MaxPool\",\"AveragePool\",\"GlobalAveragePool\","
	"\"Add\",\"Sub\",\"Mul\",\"Max\",\"Min\",\"Concat\",\"LRN\"],"
	"\"idle_w\":0.2,\"busy_w\":3}],"
	"\"links\":[" COPY("cpu0", "gpu0", "2.98e10") "," COPY("cpu0", "npu0", "2.98e10") ","
	COPY("gpu0", "npu0", "2.98e10") "],"
	"\"memory_pools\":[{\"name\":\"dram\",\"bandwidth\":5.971e10,\"bytes\":7000000000,"
	"\"devices\":[\"cpu0\",\"gpu0\",\"npu0\"]}]}";

/* A laptop with 32 GB of DDR5-5600. Assumptions: how the 28 W are cut into shares, that the system takes 4
 * GB, and that the driver lets the GPU have half of the memory. */
static const char laptop[] = HEAD("laptop")
	"\"devices\":[" LIKE("cpu0", "amd-ryzen-7-7840u") ",\"idle_w\":2,\"busy_w\":20},"
	LIKE("gpu0", "amd-radeon-780m") ",\"memory_bytes\":16000000000,\"op_overhead_s\":1e-5,"
	"\"idle_w\":1,\"busy_w\":20}],"
	"\"links\":[" COPY("cpu0", "gpu0", "4.48e10") "],"
	"\"memory_pools\":[{\"name\":\"dram\",\"bandwidth\":8.96e10,\"bytes\":28000000000,"
	"\"devices\":[\"cpu0\",\"gpu0\"]}]}";

/* Two servers of different age, joined by 10 gigabit Ethernet that carries one message at a time. */
#define NEW ",\"host\":\"new\"}"
#define OLD ",\"host\":\"old\"}"
#define V100_NEW(name) LIKE(name, "nvidia-v100-pcie-16gb") NEW
#define T4_OLD(name) LIKE(name, "nvidia-t4") OLD
static const char hetero_cluster[] = HEAD("hetero-cluster")
	"\"devices\":[" XEON_6148("cpu0") NEW "," V100_NEW("gpu0") "," V100_NEW("gpu1") ","
	XEON_2650V4("cpu1") OLD "," T4_OLD("gpu2") "," T4_OLD("gpu3") "],"
	"\"links\":[" PCIE("cpu0", "gpu0") "," PCIE("cpu0", "gpu1") "," PCIE("cpu1", "gpu2") ","
	PCIE("cpu1", "gpu3") "," ETHERNET("cpu0", "cpu1") "]}";

static const berth_system_row rows[] = {
	{"cpu+2gpu", "a server CPU and two GPUs of unlike speed and memory on PCIe 3", false},
	{"4gpu", "four equal GPUs, all joined by NVLink", false},
	{"edge", "a 15 W SoC: CPU, small GPU and NPU for convolutional layers on one memory", false},
	{"laptop", "a 28 W laptop: CPU and integrated GPU on one memory", false},
	{"hetero-cluster", "two unequal servers of a CPU and two GPUs each, joined by 10 GbE", false},
#define ROW(file, name, about) {name, about, true},
	BERTH_RECIPES(ROW)
	{"random", "a seeded random machine: random[:key=value...], see berth systems --help", false},
};

typedef struct system_text {
	const char *text;
	size_t size;
} system_text;

enum { N_ROWS = sizeof rows / sizeof *rows, N_TEXTS = N_ROWS - 1 };

static system_text text_of(int32_t at)
{
#define TEXT(text) {text, sizeof text - 1}
#define RECIPE(file, name, about) {(const char *)berth_recipe_##file, berth_recipe_##file##_size},
	const system_text texts[N_TEXTS] = {TEXT(cpu_2gpu), TEXT(gpus),           TEXT(edge),
	                                    TEXT(laptop),   TEXT(hetero_cluster), BERTH_RECIPES(RECIPE)};
	return texts[at];
}

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
	const system_text x = text_of(at);
	return berth_system_parse_json(name, x.text, x.size, mem, tmp, out, err);
}
