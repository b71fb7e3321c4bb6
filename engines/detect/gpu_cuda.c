/* GPUs by CUDA's driver library: the part of its interface that is called, declared anew from the public
 * documentation (CUDA Driver API, docs.nvidia.com/cuda/cuda-driver-api; a suffix _v2 is part of a name), what
 * it tells and what is measured by it. Nothing is given back at the end: the process that asks ends. */
#include "gpu_ask.h"

enum {
	CUDA_OK = 0,
	CUDA_NO_DEVICE = 100,
	/* cuDeviceGetAttribute */
	CUDA_CLOCK_KHZ = 13,
	CUDA_MULTIPROCESSORS = 16,
	CUDA_INTEGRATED = 18,
	CUDA_PCI_BUS = 33,
	CUDA_PCI_DEVICE = 34,
	CUDA_MEMORY_CLOCK_KHZ = 36,
	CUDA_BUS_WIDTH_BITS = 37,
	CUDA_PCI_DOMAIN = 50,
	CUDA_CAPABILITY_MAJOR = 75,
	CUDA_CAPABILITY_MINOR = 76
};

typedef int cuda_device;
typedef struct cuda_context_object *cuda_context;
typedef unsigned long long cuda_pointer;

typedef struct cuda_uuid {
	unsigned char bytes[16];
} cuda_uuid;

/* name, arguments; all return an int, CUDA_OK or what went wrong */
#define CUDA_FUNCTIONS(X)                                                                                    \
	X(cuInit, (unsigned flags))                                                                          \
	X(cuDriverGetVersion, (int *version))                                                                \
	X(cuDeviceGetCount, (int *n))                                                                        \
	X(cuDeviceGet, (cuda_device * device, int index))                                                    \
	X(cuDeviceGetName, (char *name, int size, cuda_device device))                                       \
	X(cuDeviceGetUuid, (cuda_uuid * uuid, cuda_device device))                                           \
	X(cuDeviceTotalMem_v2, (size_t * bytes, cuda_device device))                                         \
	X(cuDeviceGetAttribute, (int *value, int attribute, cuda_device device))                             \
	X(cuDevicePrimaryCtxRetain, (cuda_context * context, cuda_device device))                            \
	X(cuCtxSetCurrent, (cuda_context context))                                                           \
	X(cuCtxSynchronize, (void))                                                                          \
	X(cuMemAlloc_v2, (cuda_pointer * p, size_t bytes))                                                   \
	X(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags))                                          \
	X(cuMemsetD8_v2, (cuda_pointer p, unsigned char value, size_t bytes))                                \
	X(cuMemcpyHtoD_v2, (cuda_pointer to, const void *from, size_t bytes))                                \
	X(cuMemcpyDtoH_v2, (void *to, cuda_pointer from, size_t bytes))                                      \
	X(cuMemcpyDtoD_v2, (cuda_pointer to, cuda_pointer from, size_t bytes))                               \
	X(cuMemcpyPeer, (cuda_pointer to, cuda_context to_context, cuda_pointer from,                        \
	                 cuda_context from_context, size_t bytes))

#define FIELD(name, arguments) int(*name) arguments;
#define NAME(name, arguments) #name,

typedef struct cuda_functions {
	CUDA_FUNCTIONS(FIELD)
} cuda_functions;
static const char *const names[] = {CUDA_FUNCTIONS(NAME)};
enum { N_FUNCTIONS = sizeof names / sizeof *names };

typedef struct asking {
	cuda_functions cu;
	cuda_context context[BERTH_MAX_GPUS];              /* NULL: it cannot be measured */
	cuda_pointer a[BERTH_MAX_GPUS], b[BERTH_MAX_GPUS]; /* two buffers of `inside` bytes */
	size_t inside[BERTH_MAX_GPUS], across[BERTH_MAX_GPUS];
	void *host;       /* pinned, GPU_ACROSS_BYTES */
	int32_t at, peer; /* whose copies are timed */
} asking;

/* Units that add and multiply in single precision, of a multiprocessor: CUDA C++ Programming Guide, section
 * "Arithmetic Instructions", row "32-bit floating-point add, multiply, multiply-add". 0: not in the table. */
static int lanes_of(int major, int minor)
{
	static const struct {
		int capability, lanes;
	} table[] = {{30, 192}, {32, 192}, {35, 192}, {37, 192}, {50, 128},  {52, 128}, {53, 128},
	             {60, 64},  {61, 128}, {62, 128}, {70, 64},  {72, 64},   {75, 64},  {80, 64},
	             {86, 128}, {87, 128}, {89, 128}, {90, 128}, {100, 128}, {120, 128}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].capability == major * 10 + minor)
			return table[i].lanes;
	return 0;
}

/* An attribute within [least, most]; else 0. */
static int attribute(const asking *a, int which, cuda_device dev, int least, int most)
{
	int value = 0;
	if (a->cu.cuDeviceGetAttribute(&value, which, dev) != CUDA_OK || value < least || value > most)
		return 0;
	return value;
}

static berth_figure peak(const asking *a, cuda_device dev)
{
	int major = attribute(a, CUDA_CAPABILITY_MAJOR, dev, 1, 99);
	int minor = attribute(a, CUDA_CAPABILITY_MINOR, dev, 0, 9);
	int n = attribute(a, CUDA_MULTIPROCESSORS, dev, 1, 100000);
	int khz = attribute(a, CUDA_CLOCK_KHZ, dev, 1000, 100000000), lanes = lanes_of(major, minor);
	berth_figure f = berth_figure_missing("");
	if (!n || !khz || !major)
		return berth_figure_missing(
			"the driver tells no multiprocessors, clock or compute capability");
	if (lanes)
		return berth_figure_of(2e3 * n * lanes * khz, BERTH_LEAST_FLOPS, BERTH_MOST_FLOPS,
		                       BERTH_ORIGIN_DRIVER, "%d multiprocessors x %d lanes x 2 x %.4g GHz", n,
		                       lanes, khz * 1e-6);
	snprintf(f.how, sizeof f.how, "compute capability %d.%d is not known to berth", major, minor);
	return f;
}

static berth_figure bandwidth(const asking *a, cuda_device dev)
{
	int khz = attribute(a, CUDA_MEMORY_CLOCK_KHZ, dev, 1000, 100000000);
	int bits = attribute(a, CUDA_BUS_WIDTH_BITS, dev, 8, 1 << 20);
	if (!khz || !bits)
		return berth_figure_missing("the driver tells no clock or no width of the memory");
	return berth_figure_of(2e3 * khz * bits / 8, BERTH_LEAST_BANDWIDTH, BERTH_MOST_BANDWIDTH,
	                       BERTH_ORIGIN_DRIVER, "%d bits x 2 x %.4g GHz", bits, khz * 1e-6);
}

static berth_figure memory(const asking *a, cuda_device dev)
{
	size_t bytes = 0;
	if (a->cu.cuDeviceTotalMem_v2(&bytes, dev) != CUDA_OK)
		return berth_figure_missing("the driver does not tell");
	return berth_figure_of((double)bytes, BERTH_LEAST_MEMORY, BERTH_MOST_MEMORY, BERTH_ORIGIN_DRIVER,
	                       "%s", "");
}

static void describe(const asking *a, cuda_device dev, int version, berth_gpu *g)
{
	char name[256] = "";
	cuda_uuid uuid;
	int bus = -1, device = -1, domain = -1, integrated = -1;
	a->cu.cuDeviceGetName(name, sizeof name, dev);
	gpu_text(g->name, sizeof g->name, name, sizeof name);
	snprintf(g->driver, sizeof g->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
	if (a->cu.cuDeviceGetAttribute(&integrated, CUDA_INTEGRATED, dev) == CUDA_OK)
		g->nature = integrated ? BERTH_GPU_INTEGRATED : BERTH_GPU_DISCRETE;
	a->cu.cuDeviceGetAttribute(&bus, CUDA_PCI_BUS, dev);
	a->cu.cuDeviceGetAttribute(&device, CUDA_PCI_DEVICE, dev);
	a->cu.cuDeviceGetAttribute(&domain, CUDA_PCI_DOMAIN, dev);
	if (bus >= 0 && device >= 0 && domain >= 0)
		g->pci = (berth_pci){true, (uint32_t)domain, (uint32_t)bus, (uint32_t)device, 0};
	g->has_uuid = a->cu.cuDeviceGetUuid(&uuid, dev) == CUDA_OK;
	if (g->has_uuid)
		memcpy(g->uuid, uuid.bytes, sizeof g->uuid);
	g->figure[BERTH_GPU_PEAK] = peak(a, dev);
	g->figure[BERTH_GPU_BANDWIDTH] = bandwidth(a, dev);
	g->figure[BERTH_GPU_MEMORY] = memory(a, dev);
}

/* ---- measuring ---- */

static bool finished(const asking *a, int status)
{
	return status == CUDA_OK && a->cu.cuCtxSynchronize() == CUDA_OK;
}

static bool copy_inside(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	return finished(a, a->cu.cuMemcpyDtoD_v2(a->b[a->at], a->a[a->at], bytes));
}

static bool copy_in(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	return finished(a, a->cu.cuMemcpyHtoD_v2(a->a[a->at], a->host, bytes));
}

static bool copy_out(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	return finished(a, a->cu.cuMemcpyDtoH_v2(a->host, a->a[a->at], bytes));
}

static bool set_byte(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	(void)bytes;
	return finished(a, a->cu.cuMemsetD8_v2(a->a[a->at], 0, 1));
}

static bool copy_to_peer(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	int32_t i = a->at, k = a->peer;
	return finished(a, a->cu.cuMemcpyPeer(a->a[k], a->context[k], a->a[i], a->context[i], bytes));
}

static void measure_one(asking *a, berth_gpu *g)
{
	static const gpu_timing timings[] = {
		{BERTH_GPU_BANDWIDTH, copy_inside, 2, "inside of it"},
		{BERTH_GPU_TO_BANDWIDTH, copy_in, 1, "from pinned memory"},
		{BERTH_GPU_FROM_BANDWIDTH, copy_out, 1, "to pinned memory"},
		{BERTH_GPU_TO_LATENCY, copy_in, 0, "a copy of four bytes"},
		{BERTH_GPU_FROM_LATENCY, copy_out, 0, "a copy of four bytes"},
		{BERTH_GPU_OVERHEAD, set_byte, 0, "setting one byte"},
	};
	if (a->cu.cuCtxSetCurrent(a->context[a->at]) == CUDA_OK)
		gpu_measure(g, timings, sizeof timings / sizeof *timings, a, a->inside[a->at],
		            a->across[a->at], "");
}

static void measure_peers(asking *a, berth_gpus *gpus)
{
	for (a->peer = 0; a->peer < gpus->n; a->peer++) {
		if (a->peer == a->at || !a->context[a->peer])
			continue;
		size_t bytes = a->across[a->at] < a->across[a->peer] ? a->across[a->at] : a->across[a->peer];
		copy_to_peer(a, bytes);
		double speed = (double)bytes / gpu_time(copy_to_peer, a, bytes, 3);
		if (!(speed >= BERTH_LEAST_BANDWIDTH && speed <= BERTH_MOST_BANDWIDTH))
			continue;
		gpus->gpu[a->at].peer_bandwidth[a->peer] = (float)speed;
		gpus->gpu[a->at].peer_latency_s[a->peer] = (float)gpu_time(copy_to_peer, a, 4, 30);
	}
}

/* Two buffers in its memory. */
static bool prepare(asking *a, int32_t i, cuda_device dev, double memory_bytes)
{
	a->inside[i] = gpu_copy_bytes(memory_bytes, GPU_INSIDE_BYTES);
	a->across[i] = gpu_copy_bytes(memory_bytes, GPU_ACROSS_BYTES);
	return a->inside[i] && a->cu.cuDevicePrimaryCtxRetain(&a->context[i], dev) == CUDA_OK &&
	       a->cu.cuCtxSetCurrent(a->context[i]) == CUDA_OK &&
	       (a->host || a->cu.cuMemHostAlloc(&a->host, GPU_ACROSS_BYTES, 0) == CUDA_OK) &&
	       a->cu.cuMemAlloc_v2(&a->a[i], a->inside[i]) == CUDA_OK &&
	       a->cu.cuMemAlloc_v2(&a->b[i], a->inside[i]) == CUDA_OK;
}

static void measure_all(asking *a, const cuda_device *dev, berth_gpu_answer *out)
{
	for (int32_t i = 0; i < out->gpus.n; i++)
		if (!prepare(a, i, dev[i], out->gpus.gpu[i].figure[BERTH_GPU_MEMORY].value)) {
			a->context[i] = NULL;
			snprintf(out->why, sizeof out->why, "device %d has no memory to measure with",
			         (int)i);
		}
	for (a->at = 0; a->at < out->gpus.n; a->at++)
		if (a->context[a->at]) {
			measure_one(a, &out->gpus.gpu[a->at]);
			measure_peers(a, &out->gpus);
		}
}

void gpu_cuda_ask(const char *file, bool measure, bool software, berth_gpu_answer *out)
{
	asking a = {0};
	cuda_device dev[BERTH_MAX_GPUS];
	int version = 0, n = 0;
	(void)software; /* CUDA has none */
	if (!gpu_open(file, names, N_FUNCTIONS, &a.cu, out))
		return;
	int rc = a.cu.cuInit(0);
	if (rc == CUDA_OK)
		rc = a.cu.cuDeviceGetCount(&n);
	if (rc != CUDA_OK && rc != CUDA_NO_DEVICE) {
		gpu_failed(out, "it gives error %d at its start", rc);
		return;
	}
	out->state = BERTH_GPU_ANSWERED;
	a.cu.cuDriverGetVersion(&version);
	for (int i = 0; rc == CUDA_OK && i < n && out->gpus.n < BERTH_MAX_GPUS; i++)
		if (a.cu.cuDeviceGet(&dev[out->gpus.n], i) == CUDA_OK) {
			berth_gpu *g = gpu_new(out, BERTH_GPU_CUDA);
			describe(&a, dev[out->gpus.n - 1], version, g);
		}
	if (measure)
		measure_all(&a, dev, out);
}
