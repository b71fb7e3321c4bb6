/* Messages of MPI. */
#include "mesh.h"

#include <mpi.h>
#include <signal.h>

typedef struct message {
	int32_t tag;
	bool receive;
} message;

struct mesh {
	berth_arena *mem;
	int self, size;
	MPI_Request *request; /* [n] that are open */
	message *message;     /* [n] */
	int *over;            /* [n] room for MPI */
	int n;
	size_t cap_request, cap_message, cap_over;
};

berth_status mesh_open(berth_arena *mem, mesh **out, berth_err *err)
{
	mesh *m;
	int level = 0;
	BERTH_TRY_NEW(mem, 1, err, m);
	signal(SIGPIPE, SIG_IGN); /* who writes to a process that was lost is not the one that was lost */
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS ||
	    level < MPI_THREAD_FUNNELED)
		return berth_fail(err, BERTH_EIO, "MPI does not start");
	MPI_Comm_rank(MPI_COMM_WORLD, &m->self);
	MPI_Comm_size(MPI_COMM_WORLD, &m->size);
	m->mem = mem;
	*out = m;
	return BERTH_OK;
}

void mesh_close(mesh *m)
{
	(void)m;
	MPI_Finalize();
}

int32_t mesh_self(const mesh *m)
{
	return m->self;
}

int32_t mesh_size(const mesh *m)
{
	return m->size;
}

_Noreturn void mesh_give_up(const char *why)
{
	fprintf(stderr, "berth-engine-ort: %s\n", why);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

static MPI_Request *one_more(mesh *m, int32_t tag, bool receive)
{
	size_t n = (size_t)m->n;
	if (BERTH_GROW(m->mem, m->request, n, &m->cap_request, NULL) != BERTH_OK ||
	    BERTH_GROW(m->mem, m->message, n, &m->cap_message, NULL) != BERTH_OK ||
	    BERTH_GROW(m->mem, m->over, n, &m->cap_over, NULL) != BERTH_OK)
		mesh_give_up("memory ran out");
	m->message[m->n] = (message){tag, receive};
	return &m->request[m->n++];
}

void mesh_send(mesh *m, int32_t to, int32_t tag, const void *data, size_t bytes)
{
	MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, one_more(m, tag, false));
}

void mesh_receive(mesh *m, int32_t from, int32_t tag, void *data, size_t bytes)
{
	MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, one_more(m, tag, true));
}

int32_t mesh_open_messages(const mesh *m)
{
	return m->n;
}

int32_t mesh_progress(mesh *m, void (*done)(void *ctx, int32_t tag, bool receive), void *ctx)
{
	int n = 0, left = 0;
	if (!m->n)
		return 0;
	MPI_Testsome(m->n, m->request, &n, m->over, MPI_STATUSES_IGNORE);
	if (n <= 0)
		return 0;
	for (int i = 0; i < n && done; i++)
		done(ctx, m->message[m->over[i]].tag, m->message[m->over[i]].receive);
	for (int i = 0; i < m->n; i++)
		if (m->request[i] != MPI_REQUEST_NULL) {
			m->request[left] = m->request[i];
			m->message[left++] = m->message[i];
		}
	m->n = left;
	return n;
}
