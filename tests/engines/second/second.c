/* An execution provider for tests, as a library that ONNX Runtime loads: a second device on a machine that
 * has none. It has memory of its own, so that the library puts copies between it and the CPU, and it can be
 * made slow (second_costs.h). It runs the operators of the list below. */
#include "second_kernel.h"
#include "second_memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VENDOR = 0xb377, MAX_VERSION = 30, NAME = 64 };

static const char *const operators[] = {"Add",         "And",
                                        "AveragePool", "BatchNormalization",
                                        "Cast",        "Ceil",
                                        "Clip",        "Concat",
                                        "Conv",        "CumSum",
                                        "Div",         "Dropout",
                                        "Elu",         "Equal",
                                        "Erf",         "Exp",
                                        "Expand",      "Flatten",
                                        "Floor",       "GRU",
                                        "Gather",      "Gelu",
                                        "Gemm",        "GlobalAveragePool",
                                        "Greater",     "HardSigmoid",
                                        "HardSwish",   "Identity",
                                        "LSTM",        "LayerNormalization",
                                        "LeakyRelu",   "Less",
                                        "Log",         "LogSoftmax",
                                        "MatMul",      "Max",
                                        "MaxPool",     "Min",
                                        "Mul",         "Neg",
                                        "Not",         "Or",
                                        "Pad",         "Pow",
                                        "Range",       "Reciprocal",
                                        "ReduceMax",   "ReduceMean",
                                        "ReduceMin",   "ReduceSum",
                                        "Relu",        "Reshape",
                                        "Shape",       "Sigmoid",
                                        "Slice",       "Softmax",
                                        "Split",       "Sqrt",
                                        "Squeeze",     "Sub",
                                        "Tanh",        "Tile",
                                        "Transpose",   "Unsqueeze",
                                        "Where"};

typedef struct factory {
	plugin_factory base;
	const plugin_place *api, *ep;
	char name[NAME];
	second_costs costs;
	second_shared *shared;
	void *memory; /* what allocations are told by */
} factory;

typedef struct provider {
	plugin_provider base;
	factory *f;
	void *registry;
	second_node **node; /* [n_nodes] */
	size_t n_nodes, cap;
} provider;

typedef struct allocator {
	plugin_allocator base;
	const void *memory;
} allocator;

typedef struct transfer {
	plugin_transfer base;
	const factory *f;
} transfer;

static plugin_status fail(const factory *f, const char *why)
{
	return CALL(f->api, CREATE_STATUS, plugin_status, (int, const char *), 1, why);
}

/* ---- memory ---- */

static void *allocate(plugin_allocator *a, size_t size)
{
	(void)a;
	return second_alloc(size);
}

static void release_memory(plugin_allocator *a, void *p)
{
	(void)a;
	second_free(p);
}

static const void *memory_of(const plugin_allocator *a)
{
	return ((const allocator *)(const void *)a)->memory;
}

static plugin_status create_allocator(plugin_factory *base, const void *memory, const void *options,
                                      plugin_allocator **out)
{
	factory *f = (factory *)(void *)base;
	allocator *a = calloc(1, sizeof *a);
	(void)memory, (void)options;
	if (!a)
		return fail(f, "out of memory");
	*a = (allocator){.base = {.version = PLUGIN_API_VERSION,
	                          .alloc = allocate,
	                          .free = release_memory,
	                          .info = memory_of,
	                          .reserve = allocate},
	                 .memory = f->memory};
	*out = &a->base;
	return NULL;
}

static void release_allocator(plugin_factory *f, plugin_allocator *a)
{
	(void)f;
	free(a);
}

static bool is_ours(const factory *f, const void *device)
{
	return CALL(f->ep, EP_MEMORY_VENDOR, uint32_t, (const void *), device) == VENDOR;
}

static bool is_cpu(const factory *f, const void *device)
{
	return CALL(f->ep, EP_MEMORY_DEVICE_TYPE, int, (const void *), device) == DEVICE_CPU;
}

static bool can_copy(const plugin_transfer *base, const void *from, const void *to)
{
	const factory *f = ((const transfer *)(const void *)base)->f;
	return (is_ours(f, from) && (is_ours(f, to) || is_cpu(f, to))) || (is_cpu(f, from) && is_ours(f, to));
}

static plugin_status copy_tensors(plugin_transfer *base, const void **from, void **to, void **streams,
                                  size_t n)
{
	const factory *f = ((const transfer *)(const void *)base)->f;
	(void)streams;
	for (size_t i = 0; i < n; i++)
		TRY(second_copy(f->shared, from[i], to[i]));
	return NULL;
}

static void release_transfer(plugin_transfer *t)
{
	free(t);
}

static plugin_status create_transfer(plugin_factory *base, plugin_transfer **out)
{
	transfer *t = calloc(1, sizeof *t);
	if (!t)
		return fail((factory *)(void *)base, "out of memory");
	*t = (transfer){{PLUGIN_API_VERSION, release_transfer, can_copy, copy_tensors},
	                (const factory *)(const void *)base};
	*out = &t->base;
	return NULL;
}

/* ---- which nodes ---- */

static plugin_status keep_node(provider *p, const void *node)
{
	second_node *n = malloc(sizeof *n);
	if (n && p->n_nodes == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		second_node **more = realloc(p->node, cap * sizeof(second_node *));
		p->node = more ? more : p->node;
		p->cap = more ? cap : p->cap;
	}
	if (!n || p->n_nodes == p->cap) {
		free(n);
		return fail(p->f, "out of memory");
	}
	plugin_status s = second_node_read(p->f->api, node, n);
	if (s)
		free(n);
	else
		p->node[p->n_nodes++] = n;
	return s;
}

/* Nodes with bodies stay away, and those that none of the kernels fits. */
static plugin_status consider(provider *p, const void *node, void *support)
{
	const plugin_place *api = p->f->api, *ep = p->f->ep;
	const void *def = NULL;
	size_t bodies = 0;
	TRY(CALL(api, NODE_BODY_COUNT, plugin_status, (const void *, size_t *), node, &bodies));
	if (bodies)
		return NULL;
	TRY(CALL(ep, EP_FIND_KERNEL, plugin_status, (void *, const void *, const void **), support, node,
	         &def));
	if (!def)
		return NULL;
	plugin_status s = keep_node(p, node);
	if (s) { /* one that it cannot express */
		CALL(api, RELEASE_STATUS, void, (void *), s);
		return NULL;
	}
	return CALL(ep, EP_ADD_NODE, plugin_status, (void *, const void *), support, node);
}

static plugin_status capability(plugin_provider *base, const void *graph, void *support)
{
	provider *p = (provider *)(void *)base;
	const plugin_place *api = p->f->api;
	size_t n = 0;
	TRY(CALL(api, GRAPH_NODE_COUNT, plugin_status, (const void *, size_t *), graph, &n));
	const void **nodes = calloc(n + 1, sizeof *nodes);
	if (!nodes)
		return fail(p->f, "out of memory");
	plugin_status s =
		CALL(api, GRAPH_NODES, plugin_status, (const void *, const void **, size_t), graph, nodes, n);
	for (size_t i = 0; i < n && !s; i++)
		s = consider(p, nodes[i], support);
	free(nodes);
	return s;
}

/* ---- kernels ---- */

/* The node of that name; the latest, as the library may ask more than once. */
static plugin_status create_kernel(void *state, const void *info, plugin_kernel **out)
{
	provider *p = state;
	char name[512] = "";
	size_t size = sizeof name;
	TRY(CALL(p->f->api, KERNEL_NODE_NAME, plugin_status, (const void *, char *, size_t *), info, name,
	         &size));
	for (size_t i = p->n_nodes; i-- > 0;)
		if (strcmp(p->node[i]->name, name) == 0)
			return second_kernel_new(p->f->shared, p->node[i], out);
	return fail(p->f, "a kernel for a node that was never seen");
}

static plugin_status create_copier(void *state, const void *info, plugin_kernel **out)
{
	(void)info;
	return second_copier_new(((provider *)state)->f->shared, out);
}

typedef plugin_status create_fn(void *state, const void *info, plugin_kernel **out);

static plugin_status build_def(provider *p, void *builder, const char *type, int last, int in, int out,
                               void **def)
{
	const plugin_place *ep = p->f->ep;
	TRY(CALL(ep, EP_KERNEL_TYPE, plugin_status, (void *, const char *), builder, type));
	TRY(CALL(ep, EP_KERNEL_DOMAIN, plugin_status, (void *, const char *), builder, ""));
	TRY(CALL(ep, EP_KERNEL_SINCE, plugin_status, (void *, int, int), builder, 1, last));
	TRY(CALL(ep, EP_KERNEL_PROVIDER, plugin_status, (void *, const char *), builder, p->f->name));
	if (in)
		TRY(CALL(ep, EP_KERNEL_INPUT_MEMORY, plugin_status, (void *, size_t, int), builder, (size_t)0,
		         in));
	if (out)
		TRY(CALL(ep, EP_KERNEL_OUTPUT_MEMORY, plugin_status, (void *, size_t, int), builder,
		         (size_t)0, out));
	return CALL(ep, EP_BUILD_KERNEL_DEF, plugin_status, (void *, void **), builder, def);
}

static plugin_status add_kernel(provider *p, const char *type, int last, int in, int out, create_fn *create)
{
	const plugin_place *ep = p->f->ep;
	void *builder = NULL, *def = NULL;
	TRY(CALL(ep, EP_CREATE_KERNEL_DEF, plugin_status, (void **), &builder));
	plugin_status s = build_def(p, builder, type, last, in, out, &def);
	CALL(ep, EP_RELEASE_KERNEL_DEF_BUILDER, void, (void *), builder);
	TRY(s);
	s = CALL(ep, EP_ADD_KERNEL, plugin_status, (void *, const void *, create_fn *, void *), p->registry,
	         def, create, p);
	CALL(ep, EP_RELEASE_KERNEL_DEF, void, (void *), def);
	return s;
}

static plugin_status fill_registry(provider *p)
{
	TRY(CALL(p->f->ep, EP_CREATE_REGISTRY, plugin_status, (void **), &p->registry));
	TRY(add_kernel(p, "MemcpyFromHost", INT_MAX, MEMORY_CPU_INPUT, 0, create_copier));
	TRY(add_kernel(p, "MemcpyToHost", INT_MAX, 0, MEMORY_CPU_OUTPUT, create_copier));
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		TRY(add_kernel(p, operators[i], MAX_VERSION, 0, 0, create_kernel));
	return NULL;
}

static plugin_status registry(plugin_provider *base, const void **out)
{
	provider *p = (provider *)(void *)base;
	if (!p->registry)
		TRY(fill_registry(p));
	*out = p->registry;
	return NULL;
}

/* ---- the provider ---- */

static const char *provider_name(const plugin_provider *p)
{
	return ((const provider *)(const void *)p)->f->name;
}

static plugin_status create(plugin_factory *base, const void *const *hardware, const void *const *metadata,
                            size_t n, const void *options, const void *logger, plugin_provider **out)
{
	provider *p = calloc(1, sizeof *p);
	(void)hardware, (void)metadata, (void)n, (void)options, (void)logger;
	if (!p)
		return fail((factory *)(void *)base, "out of memory");
	p->f = (factory *)(void *)base;
	p->base.version = PLUGIN_API_VERSION;
	p->base.name = provider_name;
	p->base.capability = capability;
	p->base.registry = registry;
	*out = &p->base;
	return NULL;
}

static void release(plugin_factory *base, plugin_provider *ep)
{
	provider *p = (provider *)(void *)ep;
	(void)base;
	for (size_t i = 0; i < p->n_nodes; i++) {
		second_node_free(p->node[i]);
		free(p->node[i]);
	}
	free(p->node);
	if (p->registry)
		CALL(p->f->ep, EP_RELEASE_REGISTRY, void, (void *), p->registry);
	free(p);
}

/* ---- the library ---- */

static const char *factory_name(const plugin_factory *f)
{
	return ((const factory *)(const void *)f)->name;
}

static const char *vendor(const plugin_factory *f)
{
	(void)f;
	return "berth";
}

static const char *version(const plugin_factory *f)
{
	(void)f;
	return "0.1.0";
}

static uint32_t vendor_id(const plugin_factory *f)
{
	(void)f;
	return VENDOR;
}

static bool uses_streams(const plugin_factory *f)
{
	(void)f;
	return false;
}

/* One device, on the first CPU that there is. */
static plugin_status devices(plugin_factory *base, const void *const *hardware, size_t n, void **out,
                             size_t most, size_t *n_out)
{
	factory *f = (factory *)(void *)base;
	*n_out = 0;
	for (size_t i = 0; i < n && *n_out < most && *n_out < 1; i++) {
		if (CALL(f->api, HARDWARE_TYPE, int, (const void *), hardware[i]) != DEVICE_CPU)
			continue;
		TRY(CALL(f->ep, EP_CREATE_DEVICE, plugin_status,
		         (plugin_factory *, const void *, const void *, const void *, void **), base,
		         hardware[i], NULL, NULL, &out[0]));
		TRY(CALL(f->ep, EP_ADD_ALLOCATOR, plugin_status, (void *, const void *), out[0], f->memory));
		*n_out = 1;
	}
	return NULL;
}

static plugin_status make_factory(factory *f)
{
	f->base = (plugin_factory){.version = PLUGIN_API_VERSION,
	                           .name = factory_name,
	                           .vendor = vendor,
	                           .devices = devices,
	                           .create = create,
	                           .release = release,
	                           .vendor_id = vendor_id,
	                           .release_name = version,
	                           .create_allocator = create_allocator,
	                           .release_allocator = release_allocator,
	                           .create_transfer = create_transfer,
	                           .uses_streams = uses_streams};
	f->costs = second_costs_read();
	f->shared = second_shared_new(f->api, &f->costs);
	if (!f->shared)
		return fail(f, "out of memory");
	return CALL(f->api, CREATE_MEMORY_INFO, plugin_status,
	            (const char *, int, uint32_t, int32_t, int, size_t, int, void **), "second", DEVICE_GPU,
	            (uint32_t)VENDOR, 0, 0, (size_t)0, 0, &f->memory);
}

/* What the library looks for by name. */
__attribute__((visibility("default"))) plugin_status
CreateEpFactories(const char *name, const plugin_base *base, const void *logger, plugin_factory **out,
                  size_t most, size_t *n);
__attribute__((visibility("default"))) plugin_status ReleaseEpFactory(plugin_factory *base);

plugin_status CreateEpFactories(const char *name, const plugin_base *base, const void *logger,
                                plugin_factory **out, size_t most, size_t *n)
{
	const plugin_place *api = base->get_api(PLUGIN_API_VERSION);
	factory *f = calloc(1, sizeof *f);
	(void)logger, (void)most;
	*n = 0;
	if (!api || !f)
		abort(); /* the engine wants a newer library than this */
	f->api = api;
	f->ep = ((const plugin_place *(*)(void))api[GET_EP_API])();
	snprintf(f->name, sizeof f->name, "%s", name);
	TRY(make_factory(f));
	out[0] = &f->base;
	*n = 1;
	return NULL;
}

plugin_status ReleaseEpFactory(plugin_factory *base)
{
	factory *f = (factory *)(void *)base;
	CALL(f->api, RELEASE_MEMORY_INFO, void, (void *), f->memory);
	second_shared_free(f->shared);
	free(f);
	return NULL;
}
