/* See second_kernel.h. */
#include "second_kernel.h"

#include "second_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 16, ARENA = 1, WARNING = 2 };

typedef struct kept {
	struct kept *next;
	void *session, *model;
	size_t size;
} kept;

struct second_shared {
	const plugin_place *api;
	second_costs costs;
	pthread_mutex_t lock;
	void *env, *cpu; /* made with the first session */
	kept *sessions;
};

typedef struct node_kernel {
	plugin_kernel base;
	second_shared *shared;
	void *session;
	const second_node *node;
} node_kernel;

typedef struct copier {
	plugin_kernel base;
	second_shared *shared;
} copier;

static plugin_status no_memory(const plugin_place *api)
{
	return CALL(api, CREATE_STATUS, plugin_status, (int, const char *), 1, "out of memory");
}

second_shared *second_shared_new(const plugin_place *api, const second_costs *costs)
{
	second_shared *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->api = api;
	s->costs = *costs;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void second_shared_free(second_shared *s)
{
	/* Sessions and their environment go with the process: the library is being taken down here. */
	for (kept *k = s->sessions, *next; k; k = next) {
		next = k->next;
		free(k->model);
		free(k);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- sessions ---- */

static plugin_status make_session(second_shared *s, const second_node *n, void **session)
{
	const plugin_place *api = s->api;
	void *options = NULL;
	if (!s->env) {
		TRY(CALL(api, CREATE_ENV, plugin_status, (int, const char *, void **), WARNING, "second",
		         &s->env));
		TRY(CALL(api, CREATE_CPU_MEMORY, plugin_status, (int, int, void **), ARENA, 0, &s->cpu));
	}
	TRY(CALL(api, CREATE_SESSION_OPTIONS, plugin_status, (void **), &options));
	plugin_status st = CALL(api, SET_INTRA_OP_THREADS, plugin_status, (void *, int), options, 1);
	if (!st)
		st = CALL(api, SET_OPTIMIZATION_LEVEL, plugin_status, (void *, int), options, 0);
	if (!st)
		st = CALL(api, CREATE_SESSION_FROM_ARRAY, plugin_status,
		          (void *, const void *, size_t, const void *, void **), s->env, n->model, n->size,
		          options, session);
	CALL(api, RELEASE_SESSION_OPTIONS, void, (void *), options);
	return st;
}

static plugin_status add_session(second_shared *s, const second_node *n, void **session)
{
	kept *k = calloc(1, sizeof *k);
	if (!k || !(k->model = malloc(n->size))) {
		free(k);
		return no_memory(s->api);
	}
	plugin_status st = make_session(s, n, &k->session);
	if (st) {
		free(k->model);
		free(k);
		return st;
	}
	memcpy(k->model, n->model, n->size);
	k->size = n->size;
	k->next = s->sessions;
	s->sessions = k;
	*session = k->session;
	return NULL;
}

static plugin_status get_session(second_shared *s, const second_node *n, void **session)
{
	pthread_mutex_lock(&s->lock);
	kept *k = s->sessions;
	while (k && (k->size != n->size || memcmp(k->model, n->model, n->size) != 0))
		k = k->next;
	plugin_status st = NULL;
	if (k)
		*session = k->session;
	else
		st = add_session(s, n, session);
	pthread_mutex_unlock(&s->lock);
	return st;
}

/* ---- tensors ---- */

typedef struct shape {
	int elem;
	size_t rank;
	int64_t dim[MAX_RANK];
} shape;

static plugin_status look(const plugin_place *api, const void *value, shape *out)
{
	void *info = NULL;
	TRY(CALL(api, GET_TYPE_AND_SHAPE, plugin_status, (const void *, void **), value, &info));
	plugin_status s = CALL(api, GET_ELEMENT_TYPE, plugin_status, (const void *, int *), info, &out->elem);
	if (!s)
		s = CALL(api, GET_RANK, plugin_status, (const void *, size_t *), info, &out->rank);
	if (!s && out->rank > MAX_RANK)
		s = CALL(api, CREATE_STATUS, plugin_status, (int, const char *), 1, "too many dimensions");
	if (!s)
		s = CALL(api, GET_DIMENSIONS, plugin_status, (const void *, int64_t *, size_t), info,
		         out->dim, out->rank);
	CALL(api, RELEASE_TYPE_AND_SHAPE, void, (void *), info);
	return s;
}

static plugin_status data_of(const plugin_place *api, const void *value, void **data, size_t *size)
{
	TRY(CALL(api, TENSOR_BYTES, plugin_status, (const void *, size_t *), value, size));
	return CALL(api, GET_TENSOR_DATA, plugin_status, (void *, void **), (void *)(uintptr_t)value, data);
}

static plugin_status move_bytes(const plugin_place *api, const void *from, void *to)
{
	void *data = NULL, *into = NULL;
	size_t size = 0, room = 0;
	TRY(data_of(api, from, &data, &size));
	TRY(data_of(api, to, &into, &room));
	if (size != room)
		return CALL(api, CREATE_STATUS, plugin_status, (int, const char *), 1, "unlike sizes");
	if (size)
		memcpy(second_bytes(into), second_bytes(data), size);
	return NULL;
}

plugin_status second_copy(const second_shared *s, const void *from, void *to)
{
	double began = second_now();
	size_t size = 0;
	TRY(CALL(s->api, TENSOR_BYTES, plugin_status, (const void *, size_t *), from, &size));
	TRY(move_bytes(s->api, from, to));
	if (s->costs.bandwidth > 0)
		second_wait(began + s->costs.latency_s + (double)size / s->costs.bandwidth);
	return NULL;
}

/* ---- a node ---- */

/* The device's tensor as one of the CPU, over the same bytes. */
static plugin_status view(const second_shared *s, const void *value, void **out)
{
	shape sh;
	void *data = NULL;
	size_t size = 0;
	TRY(look(s->api, value, &sh));
	TRY(data_of(s->api, value, &data, &size));
	return CALL(s->api, CREATE_TENSOR_OVER, plugin_status,
	            (const void *, void *, size_t, const int64_t *, size_t, int, void **), s->cpu,
	            second_bytes(data), size, sh.dim, sh.rank, sh.elem, out);
}

static plugin_status give(const second_shared *s, void *context, int32_t index, const void *made)
{
	shape sh;
	void *out = NULL;
	TRY(look(s->api, made, &sh));
	TRY(CALL(s->api, KERNEL_OUTPUT, plugin_status, (void *, size_t, const int64_t *, size_t, void **),
	         context, (size_t)index, sh.dim, sh.rank, &out));
	return out ? move_bytes(s->api, made, out) : NULL;
}

typedef struct call {
	char in_text[SECOND_MAX_TENSORS][SECOND_NAME], out_text[SECOND_MAX_TENSORS][SECOND_NAME];
	const char *in_name[SECOND_MAX_TENSORS], *out_name[SECOND_MAX_TENSORS];
	void *in[SECOND_MAX_TENSORS], *out[SECOND_MAX_TENSORS];
	size_t n_in, n_out;
} call;

static plugin_status gather(const node_kernel *k, void *context, call *c)
{
	const second_node *n = k->node;
	for (int32_t i = 0; i < n->n_in; i++) {
		const void *value = NULL;
		if (!n->has_in[i])
			continue;
		TRY(CALL(k->shared->api, KERNEL_INPUT, plugin_status, (const void *, size_t, const void **),
		         context, (size_t)i, &value));
		second_tensor_name('i', i, c->in_text[c->n_in]);
		c->in_name[c->n_in] = c->in_text[c->n_in];
		TRY(view(k->shared, value, &c->in[c->n_in]));
		c->n_in++;
	}
	for (int32_t i = 0; i < n->n_out; i++) {
		if (!n->has_out[i])
			continue;
		second_tensor_name('o', i, c->out_text[c->n_out]);
		c->out_name[c->n_out] = c->out_text[c->n_out];
		c->n_out++;
	}
	return NULL;
}

static plugin_status give_all(const node_kernel *k, void *context, const call *c)
{
	size_t at = 0;
	for (int32_t i = 0; i < k->node->n_out; i++)
		if (k->node->has_out[i])
			TRY(give(k->shared, context, i, c->out[at++]));
	return NULL;
}

static plugin_status compute(plugin_kernel *base, void *context)
{
	const node_kernel *k = (const node_kernel *)(const void *)base;
	const plugin_place *api = k->shared->api;
	call c = {.n_in = 0};
	double began = second_now();
	plugin_status s = gather(k, context, &c);
	if (!s)
		s = CALL(api, RUN, plugin_status,
		         (void *, const void *, const char *const *, void *const *, size_t,
		          const char *const *, size_t, void **),
		         k->session, NULL, c.in_name, c.in, c.n_in, c.out_name, c.n_out, c.out);
	if (!s)
		s = give_all(k, context, &c);
	for (size_t i = 0; i < c.n_in; i++)
		CALL(api, RELEASE_VALUE, void, (void *), c.in[i]);
	for (size_t i = 0; i < c.n_out; i++)
		if (c.out[i])
			CALL(api, RELEASE_VALUE, void, (void *), c.out[i]);
	second_wait(began + (second_now() - began) * k->shared->costs.slow);
	return s;
}

static void release(plugin_kernel *base)
{
	free(base);
}

plugin_status second_kernel_new(second_shared *s, const second_node *node, plugin_kernel **out)
{
	node_kernel *k = calloc(1, sizeof *k);
	if (!k)
		return no_memory(s->api);
	*k = (node_kernel){.base = {.version = PLUGIN_API_VERSION, .compute = compute, .release = release},
	                   .shared = s,
	                   .node = node};
	plugin_status st = get_session(s, node, &k->session);
	if (st)
		free(k);
	else
		*out = &k->base;
	return st;
}

/* ---- copies ---- */

static plugin_status copy(plugin_kernel *base, void *context)
{
	const second_shared *s = ((const copier *)(const void *)base)->shared;
	const void *from = NULL;
	void *to = NULL;
	shape sh;
	TRY(CALL(s->api, KERNEL_INPUT, plugin_status, (const void *, size_t, const void **), context,
	         (size_t)0, &from));
	TRY(look(s->api, from, &sh));
	TRY(CALL(s->api, KERNEL_OUTPUT, plugin_status, (void *, size_t, const int64_t *, size_t, void **),
	         context, (size_t)0, sh.dim, sh.rank, &to));
	return second_copy(s, from, to);
}

plugin_status second_copier_new(second_shared *s, plugin_kernel **out)
{
	copier *k = calloc(1, sizeof *k);
	if (!k)
		return no_memory(s->api);
	*k = (copier){{.version = PLUGIN_API_VERSION, .compute = copy, .release = release}, s};
	*out = &k->base;
	return NULL;
}
