/* GPUs by OpenCL's loader: the part of its interface that is called, declared anew from the public
 * specification (registry.khronos.org/OpenCL, version 1.2; cl_khr_pci_bus_info, cl_khr_device_uuid,
 * cl_amd_device_attribute_query), what it tells, and what they do: copies, and a kernel of multiplications
 * and additions. Nothing is given back at the end: the process that asks ends. */
#include "gpu_ask.h"

enum {
	OPENCL_OK = 0,
	OPENCL_DEVICE_NOT_FOUND = -1,
	OPENCL_PLATFORM_NOT_FOUND = -1001,
	/* clGetDeviceInfo */
	OPENCL_TYPE = 0x1000,
	OPENCL_COMPUTE_UNITS = 0x1002,
	OPENCL_CLOCK_MHZ = 0x100c,
	OPENCL_MOST_ALLOC = 0x1010,
	OPENCL_MEMORY = 0x101f,
	OPENCL_NAME = 0x102b,
	OPENCL_DRIVER = 0x102d,
	OPENCL_EXTENSIONS = 0x1030,
	OPENCL_UNIFIED_MEMORY = 0x1035,
	OPENCL_UUID = 0x106a,
	OPENCL_BOARD_NAME_AMD = 0x4038,
	OPENCL_PCI = 0x410f,
	/* flags */
	OPENCL_TYPE_CPU = 1 << 1,
	OPENCL_TYPE_ANY = -1,
	OPENCL_READ_WRITE = 1,
	OPENCL_HOST_MEMORY = 1 << 4, /* buffers that the CPU reads and writes */
	OPENCL_MAP_BOTH = 3
};

typedef struct opencl_platform_object *opencl_platform;
typedef struct opencl_device_object *opencl_device;
typedef struct opencl_context_object *opencl_context;
typedef struct opencl_queue_object *opencl_queue;
typedef struct opencl_buffer_object *opencl_buffer;
typedef struct opencl_program_object *opencl_program;
typedef struct opencl_kernel_object *opencl_kernel;

typedef struct opencl_pci {
	uint32_t domain, bus, device, function;
} opencl_pci;

/* return type, name, arguments; events are passed as NULL */
#define OPENCL_FUNCTIONS(X)                                                                                  \
	X(int32_t, clGetPlatformIDs, (uint32_t n, opencl_platform * out, uint32_t * found))                  \
	X(int32_t, clGetDeviceIDs,                                                                           \
	  (opencl_platform platform, uint64_t type, uint32_t n, opencl_device * out, uint32_t * found))      \
	X(int32_t, clGetDeviceInfo,                                                                          \
	  (opencl_device dev, uint32_t what, size_t size, void *out, size_t *found))                         \
	X(opencl_context, clCreateContext,                                                                   \
	  (const intptr_t *properties, uint32_t n, const opencl_device *dev, const void *notify, void *ctx,  \
	   int32_t *rc))                                                                                     \
	X(opencl_queue, clCreateCommandQueue,                                                                \
	  (opencl_context context, opencl_device dev, uint64_t flags, int32_t * rc))                         \
	X(opencl_buffer, clCreateBuffer,                                                                     \
	  (opencl_context context, uint64_t flags, size_t bytes, void *host, int32_t *rc))                   \
	X(void *, clEnqueueMapBuffer,                                                                        \
	  (opencl_queue q, opencl_buffer b, uint32_t wait, uint64_t flags, size_t offset, size_t bytes,      \
	   uint32_t n, const void *events, void *event, int32_t *rc))                                        \
	X(int32_t, clEnqueueCopyBuffer,                                                                      \
	  (opencl_queue q, opencl_buffer from, opencl_buffer to, size_t from_offset, size_t to_offset,       \
	   size_t bytes, uint32_t n, const void *events, void *event))                                       \
	X(int32_t, clEnqueueWriteBuffer,                                                                     \
	  (opencl_queue q, opencl_buffer to, uint32_t wait, size_t offset, size_t bytes, const void *from,   \
	   uint32_t n, const void *events, void *event))                                                     \
	X(int32_t, clEnqueueReadBuffer,                                                                      \
	  (opencl_queue q, opencl_buffer from, uint32_t wait, size_t offset, size_t bytes, void *to,         \
	   uint32_t n, const void *events, void *event))                                                     \
	X(int32_t, clFinish, (opencl_queue q))                                                               \
	X(opencl_program, clCreateProgramWithSource,                                                         \
	  (opencl_context context, uint32_t n, const char **text, const size_t *lengths, int32_t *rc))       \
	X(int32_t, clBuildProgram,                                                                           \
	  (opencl_program p, uint32_t n, const opencl_device *dev, const char *options, const void *notify,  \
	   void *ctx))                                                                                       \
	X(opencl_kernel, clCreateKernel, (opencl_program p, const char *name, int32_t *rc))                  \
	X(int32_t, clSetKernelArg, (opencl_kernel k, uint32_t i, size_t size, const void *value))            \
	X(int32_t, clEnqueueNDRangeKernel,                                                                   \
	  (opencl_queue q, opencl_kernel k, uint32_t dimensions, const size_t *offset, const size_t *global, \
	   const size_t *local, uint32_t n, const void *events, void *event))

#define FIELD(type, name, arguments) type(*name) arguments;
#define NAME(type, name, arguments) #name,

typedef struct opencl_functions {
	OPENCL_FUNCTIONS(FIELD)
} opencl_functions;
static const char *const names[] = {OPENCL_FUNCTIONS(NAME)};
enum { N_FUNCTIONS = sizeof names / sizeof *names };

/* Eight chains of four numbers each, so that neither a latency nor the width of a vector unit holds them up.
 * Their sum goes out, for otherwise a compiler would leave them out. */
static const char kernel_text[] =
	"kernel void chains(global float *out, float a, float b, int n)\n"
	"{\n"
	"	float4 s = (float4)(get_global_id(0) * 1e-6f) + (float4)(0.1f, 0.2f, 0.3f, 0.4f);\n"
	"	float4 c0 = s, c1 = s * 2, c2 = s * 3, c3 = s * 4;\n"
	"	float4 c4 = s * 5, c5 = s * 6, c6 = s * 7, c7 = s * 8;\n"
	"	for (int i = 0; i < n; i++) {\n"
	"		c0 = mad(c0, a, b); c1 = mad(c1, a, b); c2 = mad(c2, a, b); c3 = mad(c3, a, b);\n"
	"		c4 = mad(c4, a, b); c5 = mad(c5, a, b); c6 = mad(c6, a, b); c7 = mad(c7, a, b);\n"
	"	}\n"
	"	s = c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7;\n"
	"	out[get_global_id(0)] = s.x + s.y + s.z + s.w;\n"
	"}\n";
enum { FLOPS_A_TURN = 8 * 4 * 2, ITEMS_A_UNIT = 4096, MOST_PLATFORMS = 16 };

typedef struct asking {
	opencl_functions cl;
	opencl_queue q;
	opencl_buffer a, b;
	opencl_kernel kernel;
	size_t inside, across, items;
	void *host;
} asking;

/* ---- what it is ---- */

static bool tells(const asking *a, opencl_device dev, uint32_t what, void *out, size_t size)
{
	size_t found = 0;
	return a->cl.clGetDeviceInfo(dev, what, size, out, &found) == OPENCL_OK && found > 0 && found <= size;
}

/* A text of any length, cut to buf[size]; "" where there is none. */
static void text_of(const asking *a, opencl_device dev, uint32_t what, char *buf, size_t size)
{
	size_t n = 0;
	char *all = NULL;
	*buf = '\0';
	if (a->cl.clGetDeviceInfo(dev, what, 0, NULL, &n) != OPENCL_OK || n == 0 || n > 1 << 20)
		return;
	if ((all = calloc(n + 1, 1)) && a->cl.clGetDeviceInfo(dev, what, n, all, NULL) == OPENCL_OK)
		snprintf(buf, size, "%s", all);
	free(all);
}

static bool has_extension(const char *list, const char *name)
{
	const char *at = strstr(list, name);
	return at && (at[strlen(name)] == ' ' || at[strlen(name)] == '\0');
}

static void say_where(const asking *a, opencl_device dev, berth_gpu *g)
{
	static const char pci_name[] = "cl_khr_pci_bus_info", uuid_name[] = "cl_khr_device_uuid";
	char list[16384];
	opencl_pci pci = {0};
	text_of(a, dev, OPENCL_EXTENSIONS, list, sizeof list);
	if (has_extension(list, pci_name) && tells(a, dev, OPENCL_PCI, &pci, sizeof pci))
		g->pci = (berth_pci){true, pci.domain, pci.bus, pci.device, pci.function};
	g->has_uuid = has_extension(list, uuid_name) && tells(a, dev, OPENCL_UUID, g->uuid, sizeof g->uuid);
}

static void describe(const asking *a, opencl_device dev, berth_gpu *g)
{
	char text[256];
	uint64_t type = 0, memory = 0;
	uint32_t units = 0, mhz = 0, unified = 0;
	berth_figure *peak = &g->figure[BERTH_GPU_PEAK];
	text_of(a, dev, OPENCL_BOARD_NAME_AMD, text, sizeof text); /* "gfx1030" is its name there */
	if (!*text)
		text_of(a, dev, OPENCL_NAME, text, sizeof text);
	gpu_text(g->name, sizeof g->name, text, sizeof text);
	text_of(a, dev, OPENCL_DRIVER, text, sizeof text);
	gpu_text(g->driver, sizeof g->driver, text, sizeof text);
	say_where(a, dev, g);
	if (tells(a, dev, OPENCL_UNIFIED_MEMORY, &unified, sizeof unified))
		g->nature = unified ? BERTH_GPU_INTEGRATED : BERTH_GPU_DISCRETE;
	if (tells(a, dev, OPENCL_TYPE, &type, sizeof type) && type & OPENCL_TYPE_CPU)
		g->nature = BERTH_GPU_SOFTWARE;
	tells(a, dev, OPENCL_MEMORY, &memory, sizeof memory);
	tells(a, dev, OPENCL_COMPUTE_UNITS, &units, sizeof units);
	tells(a, dev, OPENCL_CLOCK_MHZ, &mhz, sizeof mhz);
	g->figure[BERTH_GPU_MEMORY] = berth_figure_of((double)memory, BERTH_LEAST_MEMORY, BERTH_MOST_MEMORY,
	                                              BERTH_ORIGIN_DRIVER, "%s", "");
	*peak = berth_figure_missing("");
	snprintf(peak->how, sizeof peak->how, "OpenCL tells %u units at %u MHz, not how wide they are", units,
	         mhz);
	g->figure[BERTH_GPU_BANDWIDTH] = berth_figure_missing("OpenCL does not tell");
}

/* ---- what it does ---- */

static bool finished(const asking *a, int32_t rc)
{
	return rc == OPENCL_OK && a->cl.clFinish(a->q) == OPENCL_OK;
}

static bool copy_inside(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	return finished(a, a->cl.clEnqueueCopyBuffer(a->q, a->a, a->b, 0, 0, bytes, 0, NULL, NULL));
}

static bool copy_in(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	return finished(a, a->cl.clEnqueueWriteBuffer(a->q, a->a, 1, 0, bytes, a->host, 0, NULL, NULL));
}

static bool copy_out(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	return finished(a, a->cl.clEnqueueReadBuffer(a->q, a->a, 1, 0, bytes, a->host, 0, NULL, NULL));
}

static bool run_kernel(void *ctx, size_t bytes)
{
	const asking *a = ctx;
	(void)bytes;
	return finished(
		a, a->cl.clEnqueueNDRangeKernel(a->q, a->kernel, 1, NULL, &a->items, NULL, 0, NULL, NULL));
}

static bool set_kernel(const asking *a, int32_t turns)
{
	const float x = 0.999f, y = 0.001f;
	return a->cl.clSetKernelArg(a->kernel, 0, sizeof a->b, &a->b) == OPENCL_OK &&
	       a->cl.clSetKernelArg(a->kernel, 1, sizeof x, &x) == OPENCL_OK &&
	       a->cl.clSetKernelArg(a->kernel, 2, sizeof y, &y) == OPENCL_OK &&
	       a->cl.clSetKernelArg(a->kernel, 3, sizeof turns, &turns) == OPENCL_OK;
}

static bool make_kernel(asking *a, opencl_context context, opencl_device dev)
{
	const char *text = kernel_text;
	opencl_program p = a->cl.clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	if (!p || a->cl.clBuildProgram(p, 1, &dev, "", NULL, NULL) != OPENCL_OK)
		return false;
	a->kernel = a->cl.clCreateKernel(p, "chains", NULL);
	return a->kernel && set_kernel(a, 0);
}

/* So many turns that a run lasts 10 ms at least: a start is then nothing beside it, and a screen that the
 * device draws waits for no one. */
static berth_figure measure_peak(asking *a)
{
	double seconds = 0;
	int32_t turns = 32;
	while (seconds < 0.01 && turns < 1 << 24) {
		turns *= 2;
		seconds = set_kernel(a, turns) ? gpu_time(run_kernel, a, 0, 1) : NAN;
	}
	if (seconds >= 0.01) /* not where it failed */
		seconds = gpu_time(run_kernel, a, 0, 4);
	return berth_figure_of((double)turns * FLOPS_A_TURN * (double)a->items / seconds, BERTH_LEAST_FLOPS,
	                       BERTH_MOST_FLOPS, BERTH_ORIGIN_MEASURED, "an OpenCL kernel of multiply-adds");
}

/* Queue and buffers; the host's side is memory that the driver can copy from at once. */
static bool prepare(asking *a, opencl_context context, opencl_device dev, const berth_gpu *g)
{
	double memory = g->figure[BERTH_GPU_MEMORY].value;
	uint64_t most = 0;
	uint32_t units = 1;
	opencl_buffer pinned;
	tells(a, dev, OPENCL_MOST_ALLOC, &most, sizeof most);
	tells(a, dev, OPENCL_COMPUTE_UNITS, &units, sizeof units);
	memory = fmin(memory, 8 * (double)most);
	a->inside = gpu_copy_bytes(memory, GPU_INSIDE_BYTES);
	a->across = gpu_copy_bytes(memory, GPU_ACROSS_BYTES);
	a->items = ITEMS_A_UNIT * (size_t)(units < 1024 ? units : 1024);
	if (a->inside < a->items * sizeof(float))
		return false;
	return (a->q = a->cl.clCreateCommandQueue(context, dev, 0, NULL)) &&
	       (a->a = a->cl.clCreateBuffer(context, OPENCL_READ_WRITE, a->inside, NULL, NULL)) &&
	       (a->b = a->cl.clCreateBuffer(context, OPENCL_READ_WRITE, a->inside, NULL, NULL)) &&
	       (pinned = a->cl.clCreateBuffer(context, OPENCL_READ_WRITE | OPENCL_HOST_MEMORY, a->across,
	                                      NULL, NULL)) &&
	       (a->host = a->cl.clEnqueueMapBuffer(a->q, pinned, 1, OPENCL_MAP_BOTH, 0, a->across, 0, NULL,
	                                           NULL, NULL));
}

static bool measure_one(asking *a, opencl_device dev, berth_gpu *g)
{
	static const gpu_timing copies[] = {
		{BERTH_GPU_BANDWIDTH, copy_inside, 2, "inside of it"},
		{BERTH_GPU_TO_BANDWIDTH, copy_in, 1, "from pinned memory"},
		{BERTH_GPU_FROM_BANDWIDTH, copy_out, 1, "to pinned memory"},
		{BERTH_GPU_TO_LATENCY, copy_in, 0, "a copy of four bytes by OpenCL"},
		{BERTH_GPU_FROM_LATENCY, copy_out, 0, "a copy of four bytes by OpenCL"},
	};
	static const gpu_timing start = {BERTH_GPU_OVERHEAD, run_kernel, 0, "an OpenCL kernel of one item"};
	opencl_context context = a->cl.clCreateContext(NULL, 1, &dev, NULL, NULL, NULL);
	if (!context || !prepare(a, context, dev, g))
		return false;
	gpu_measure(g, copies, sizeof copies / sizeof *copies, a, a->inside, a->across, "OpenCL ");
	if (!make_kernel(a, context, dev))
		return false;
	gpu_put_figure(g, BERTH_GPU_PEAK, measure_peak(a));
	a->items = 1;
	if (set_kernel(a, 0))
		gpu_measure(g, &start, 1, a, 0, 0, "");
	return true;
}

static void ask_platform(asking *a, opencl_platform platform, int32_t index, bool measure, bool software,
                         berth_gpu_answer *out)
{
	opencl_device dev[BERTH_MAX_GPUS];
	uint32_t n = 0;
	if (a->cl.clGetDeviceIDs(platform, (uint64_t)(int64_t)OPENCL_TYPE_ANY, BERTH_MAX_GPUS, dev, &n) !=
	    OPENCL_OK)
		return;
	for (uint32_t i = 0; i < n && i < BERTH_MAX_GPUS; i++) {
		berth_gpu *g = gpu_new(out, BERTH_GPU_OPENCL);
		if (!g)
			return;
		g->platform = index;
		describe(a, dev[i], g);
		if (measure && (software || g->nature != BERTH_GPU_SOFTWARE) && !measure_one(a, dev[i], g))
			snprintf(out->why, sizeof out->why, "%.100s could not be measured", g->name);
	}
}

void gpu_opencl_ask(const char *file, bool measure, bool software, berth_gpu_answer *out)
{
	asking a = {0};
	opencl_platform platform[MOST_PLATFORMS];
	uint32_t n = 0;
	if (!gpu_open(file, names, N_FUNCTIONS, &a.cl, out))
		return;
	int32_t rc = a.cl.clGetPlatformIDs(MOST_PLATFORMS, platform, &n);
	if (rc != OPENCL_OK && rc != OPENCL_PLATFORM_NOT_FOUND) {
		gpu_failed(out, "it gives error %d at its start", (int)rc);
		return;
	}
	out->state = BERTH_GPU_ANSWERED;
	for (uint32_t i = 0; rc == OPENCL_OK && i < n && i < MOST_PLATFORMS; i++)
		ask_platform(&a, platform[i], (int32_t)i, measure, software, out);
}
