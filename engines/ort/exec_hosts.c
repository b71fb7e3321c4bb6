/* A thread for tasks, and the calling one for messages: what is sent goes on while a task runs. */
#include "hosts.h"

#include "cores.h"
#include "quantised.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

/* Between two looks at the messages: while the tasks wait for one, and while they run. Looking is work that
 * the tasks' core may have to do. */
enum { PAUSE_WAITING_NS = 20000, PAUSE_RUNNING_NS = 200000 };

/* Smaller tensors go as they are: they are a packet or two. */
enum { LEAST_QUANTISED = 4096 };

typedef struct hosts {
	mesh *m;
	exec_hosts_cfg cfg;
	int32_t self;           /* this process */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t arrived, ended;
	/* of the run; under the lock: */
	int32_t round, n_ended; /* n_ended: tasks up to here have been run here, or are not of this process */
	bool quit, waiting, *here;
	/* only read meanwhile: */
	const exec_task *task;
	const exec_buffer *buffer;
	int32_t n_tasks;
	double began;
	berth_arena mem;        /* of the run */
	unsigned char **small;  /* [n_buffers] quantised, on its way; NULL: none */
} hosts;

static bool is_mine(const hosts *h, const exec_task *t)
{
	return h->cfg.process[t->worker] == h->self;
}

/* The process that makes the buffer; -1: all have it. */
static int32_t maker(const hosts *h, int32_t buffer)
{
	int32_t task = h->buffer[buffer].producer;
	return task < 0 ? -1 : h->cfg.process[h->task[task].worker];
}

/* ---- the thread of tasks ---- */

static void await_inputs(hosts *h, const exec_task *t)
{
	pthread_mutex_lock(&h->lock);
	for (int32_t k = 0; k < t->n_in; k++)
		while (!h->here[t->in[k]] && maker(h, t->in[k]) >= 0 && maker(h, t->in[k]) != h->self) {
			h->waiting = true;
			pthread_cond_wait(&h->arrived, &h->lock);
		}
	h->waiting = false;
	pthread_mutex_unlock(&h->lock);
}

static void run_mine(hosts *h)
{
	const int32_t n = h->n_tasks; /* may be another one's as soon as the last has ended */
	double left = h->began - exec_now();
	if (left > 2e-4) {
		struct timespec t = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left)) - 100000};
		if (t.tv_nsec > 0)
			nanosleep(&t, NULL);
	}
	while (exec_now() < h->began)
		;
	for (int32_t i = 0; i < n; i++) {
		bool mine = is_mine(h, &h->task[i]);
		if (mine) {
			await_inputs(h, &h->task[i]);
			h->task[i].run(h->task[i].ctx, h->began);
		}
		pthread_mutex_lock(&h->lock);
		h->n_ended = i + 1;
		if (mine || i + 1 == n)
			pthread_cond_signal(&h->ended);
		pthread_mutex_unlock(&h->lock);
	}
}

static void *work(void *ctx)
{
	hosts *h = ctx;
	int32_t seen = 0;
	berth_cores_bind(h->cfg.core);
	for (;;) {
		pthread_mutex_lock(&h->lock);
		while (h->round == seen && !h->quit)
			pthread_cond_wait(&h->arrived, &h->lock);
		seen = h->round;
		bool quit = h->quit;
		pthread_mutex_unlock(&h->lock);
		if (quit)
			return NULL;
		run_mine(h);
	}
}

/* ---- messages ---- */

/* Where the buffer's bytes are on their way, and how many. */
static void *on_the_way(hosts *h, int32_t b, size_t *bytes)
{
	const exec_buffer *x = &h->buffer[b];
	*bytes = x->bytes;
	if (!h->cfg.quantise || !x->floats || x->bytes < LEAST_QUANTISED)
		return x->data;
	*bytes = quantised_bytes(x->bytes / sizeof(float));
	if (!h->small[b])
		h->small[b] = berth_arena_alloc(&h->mem, 1, *bytes);
	if (!h->small[b])
		mesh_give_up("memory ran out");
	return h->small[b];
}

static void receive_all(hosts *h, int32_t n_buffers)
{
	size_t bytes;
	for (int32_t i = 0; i < h->n_tasks; i++)
		for (int32_t k = 0; k < h->task[i].n_in && is_mine(h, &h->task[i]); k++) {
			int32_t b = h->task[i].in[k], from = maker(h, b);
			if (from < 0 || from == h->self || h->here[b])
				continue;
			h->here[b] = true; /* asked for; see below */
			void *data = on_the_way(h, b, &bytes);
			mesh_receive(h->m, from, b, data, bytes);
		}
	memset(h->here, 0, (size_t)n_buffers * sizeof *h->here);
}

/* The buffer to each process with a task that reads it, once. */
static void send_one(hosts *h, int32_t b, int32_t from_task)
{
	bool to[EXEC_MAX_WORKERS] = {false}, ready = false;
	size_t bytes;
	for (int32_t i = from_task + 1; i < h->n_tasks; i++)
		for (int32_t k = 0; k < h->task[i].n_in; k++)
			if (h->task[i].in[k] == b)
				to[h->cfg.process[h->task[i].worker]] = true;
	for (int32_t p = 0; p < mesh_size(h->m); p++) {
		if (!to[p] || p == h->self)
			continue;
		void *data = on_the_way(h, b, &bytes);
		if (!ready && data != h->buffer[b].data)
			quantised_put(h->buffer[b].data, h->buffer[b].bytes / sizeof(float), data);
		ready = true;
		mesh_send(h->m, p, b, data, bytes);
	}
}

static void has_come(void *ctx, int32_t tag, bool receive)
{
	hosts *h = ctx;
	if (!receive)
		return;
	if (h->small[tag])
		quantised_get(h->small[tag], h->buffer[tag].bytes / sizeof(float), h->buffer[tag].data);
	pthread_mutex_lock(&h->lock);
	h->here[tag] = true;
	pthread_cond_signal(&h->arrived);
	pthread_mutex_unlock(&h->lock);
}

/* Until a task ends here or it is time to look again. Returns n_ended. */
static int32_t pause_until_ended(hosts *h, int32_t seen)
{
	struct timespec t;
	pthread_mutex_lock(&h->lock);
	if (h->n_ended == seen) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_nsec += h->waiting || seen == h->n_tasks ? PAUSE_WAITING_NS : PAUSE_RUNNING_NS;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&h->ended, &h->lock, &t);
	}
	int32_t n = h->n_ended;
	pthread_mutex_unlock(&h->lock);
	return n;
}

/* What process p's tasks have told, from them into one block or back. Returns its bytes; block NULL: these
 * alone. */
static size_t move_told(const hosts *h, int32_t p, unsigned char *block, bool back)
{
	size_t at = 0;
	for (int32_t i = 0; i < h->n_tasks; i++) {
		const exec_task *t = &h->task[i];
		if (h->cfg.process[t->worker] != p || !t->told_bytes)
			continue;
		if (block)
			memcpy(back ? t->told : block + at, back ? block + at : t->told, t->told_bytes);
		at += t->told_bytes;
	}
	return at;
}

/* ---- the executor ---- */

static void close_hosts(void *ex)
{
	hosts *h = ex;
	pthread_mutex_lock(&h->lock);
	h->quit = true;
	pthread_cond_signal(&h->arrived);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	pthread_cond_destroy(&h->arrived);
	pthread_cond_destroy(&h->ended);
	pthread_mutex_destroy(&h->lock);
}

berth_status exec_hosts_open(mesh *m, const exec_hosts_cfg *cfg, berth_arena *mem, void **ex, berth_err *err)
{
	hosts *h;
	pthread_condattr_t attr;
	BERTH_TRY_NEW(mem, 1, err, h);
	*h = (hosts){.m = m, .cfg = *cfg, .self = mesh_self(m)};
	pthread_mutex_init(&h->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&h->arrived, NULL);
	pthread_cond_init(&h->ended, &attr);
	pthread_condattr_destroy(&attr);
	prctl(PR_SET_TIMERSLACK, 1000); /* ns, so that pauses are as short as they are said to be */
	if (pthread_create(&h->thread, NULL, work, h) != 0)
		return berth_fail(err, BERTH_EIO, "cannot start a thread for tasks");
	*ex = h;
	return BERTH_OK;
}

static berth_status admit(const exec_buffer *buffers, int32_t n, berth_err *err)
{
	for (int32_t i = 0; i < n; i++)
		if (buffers[i].bytes > MESH_MOST_BYTES)
			return berth_fail(err, BERTH_EFORMAT,
			                  "a tensor of %zu bytes; %d go from host to host at most",
			                  buffers[i].bytes, MESH_MOST_BYTES);
	return n < MESH_TAGS - 2 ? BERTH_OK
	                         : berth_fail(err, BERTH_EFORMAT, "%d tensors between segments; %d at most",
	                                      n, MESH_TAGS - 3);
}

static int32_t count_buffers(const exec_task *tasks, int32_t n)
{
	int32_t most = -1;
	for (int32_t i = 0; i < n; i++) {
		for (int32_t k = 0; k < tasks[i].n_in; k++)
			most = tasks[i].in[k] > most ? tasks[i].in[k] : most;
		for (int32_t k = 0; k < tasks[i].n_out; k++)
			most = tasks[i].out[k] > most ? tasks[i].out[k] : most;
	}
	return most + 1;
}

static void run_with(hosts *h, int32_t n_buffers, unsigned char *block)
{
	h->n_ended = 0;
	h->began = mesh_instant(h->m);
	receive_all(h, n_buffers);
	pthread_mutex_lock(&h->lock);
	h->round++;
	pthread_cond_signal(&h->arrived);
	pthread_mutex_unlock(&h->lock);
	int32_t sent = 0, n_ended = 0;
	while (sent < h->n_tasks || mesh_open_messages(h->m) > 0) {
		if (!mesh_progress(h->m, has_come, h))
			n_ended = pause_until_ended(h, sent);
		for (; sent < n_ended; sent++) {
			const exec_task *t = &h->task[sent];
			for (int32_t k = 0; k < t->n_out && is_mine(h, t); k++)
				send_one(h, t->out[k], sent);
		}
	}
	for (int32_t p = 0; p < mesh_size(h->m); p++) {
		size_t bytes = move_told(h, p, block, false);
		if (bytes) {
			mesh_tell(h->m, p, block, bytes);
			move_told(h, p, block, true);
		}
	}
}

static berth_status run(void *ex, const exec_task *tasks, int32_t n, exec_buffer *buffers, berth_err *err)
{
	hosts *h = ex;
	int32_t n_buffers = count_buffers(tasks, n);
	unsigned char *block;
	size_t bytes = 0;
	h->task = tasks;
	h->n_tasks = n;
	h->buffer = buffers;
	for (int32_t i = 0; i < n; i++)
		bytes += tasks[i].told_bytes;
	if (BERTH_NEW(&h->mem, h->here, n_buffers, err) != BERTH_OK ||
	    BERTH_NEW(&h->mem, h->small, n_buffers, err) != BERTH_OK ||
	    BERTH_NEW(&h->mem, block, bytes, err) != BERTH_OK)
		mesh_give_up("memory ran out");
	run_with(h, n_buffers, block);
	berth_arena_free(&h->mem);
	return BERTH_OK;
}

const exec_kind exec_hosts = {NULL, close_hosts, admit, run};
