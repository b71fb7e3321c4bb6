/* Ranks over OpenMPI. Its library is loaded where a launcher has started this process, and never linked: it
 * would take as long to load as the rest of the program, in every run. */
#include "all_gather.h"
#include "library.h"

#include <mpi.h>
#include <sched.h>
#include <time.h>

/* What is called of it, and the two objects that its macros name. */
#define CALLS(X)                                                                                             \
	X(int, Init_thread, (int *, char ***, int, int *))                                                   \
	X(int, Comm_rank, (MPI_Comm, int *))                                                                 \
	X(int, Comm_size, (MPI_Comm, int *))                                                                 \
	X(int, Iallgatherv,                                                                                  \
	  (const void *, int, MPI_Datatype, void *, const int *, const int *, MPI_Datatype, MPI_Comm,        \
	   MPI_Request *))                                                                                   \
	X(int, Test, (MPI_Request *, int *, MPI_Status *))                                                   \
	X(int, Finalize, (void))                                                                             \
	X(int, Abort, (MPI_Comm, int))

typedef struct mpi {
#define X(result, name, arguments) result(*name) arguments;
	CALLS(X)
#undef X
	MPI_Comm world;
	MPI_Datatype byte;
	int n, me;
	int *count, *at; /* [n] of a gather */
} mpi;

static berth_status load(mpi *m, berth_err *err)
{
	static const char *const names[] = {"libmpi.so.40", NULL};
	void *library, *(*object)(void);
	BERTH_TRY(berth_library_open(names, "libopenmpi3", &library, err));
#define X(result, name, arguments) BERTH_TRY(berth_library_function(library, "MPI_" #name, &m->name, err));
	CALLS(X)
#undef X
	BERTH_TRY(berth_library_function(library, "ompi_mpi_comm_world", &object, err));
	memcpy(&m->world, &object, sizeof m->world);
	BERTH_TRY(berth_library_function(library, "ompi_mpi_byte", &object, err));
	memcpy(&m->byte, &object, sizeof m->byte);
	return BERTH_OK;
}

static void gather(void *ctx, const void *mine, const int64_t *size, void *all)
{
	const mpi *m = ctx;
	MPI_Request request;
	int sum = 0;
	for (int i = 0; i < m->n; i++) {
		m->count[i] = (int)size[i];
		m->at[i] = sum;
		sum += m->count[i];
	}
	if (m->Iallgatherv(mine, m->count[m->me], m->byte, all, m->count, m->at, m->byte, m->world,
	                   &request) != MPI_SUCCESS)
		m->Abort(m->world, 1);
	/* The library's own waiting takes a whole core, which threads of others may need. */
	static const struct timespec nap = {.tv_nsec = 50000};
	int done = 0;
	for (int k = 0; !done; k++) {
		if (m->Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			m->Abort(m->world, 1);
		if (!done && k < 100)
			sched_yield();
		else if (!done)
			nanosleep(&nap, NULL);
	}
}

static void finish(void *ctx)
{
	const mpi *m = ctx;
	m->Finalize();
}

static void stop(void *ctx, int exit_code)
{
	const mpi *m = ctx;
	m->Abort(m->world, exit_code);
	_Exit(exit_code);
}

/* Do these come from a launcher? mpirun says the one, srun and other launchers by PMIx the other. */
static bool is_launched(void)
{
	return getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK");
}

berth_status berth_wire_open(berth_arena *mem, berth_wire *out, berth_err *err)
{
	mpi *m;
	int got;
	*out = (berth_wire){0};
	if (!is_launched())
		return BERTH_OK;
	BERTH_TRY_NEW(mem, 1, err, m);
	BERTH_TRY(load(m, err));
	if (m->Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &got) != MPI_SUCCESS)
		return berth_fail(err, BERTH_EIO, "OpenMPI does not start");
	m->Comm_size(m->world, &m->n);
	m->Comm_rank(m->world, &m->me);
	BERTH_TRY_NEW(mem, m->n, err, m->count, m->at);
	*out = (berth_wire){
		.n = m->n, .me = m->me, .gather = gather, .close = finish, .stop = stop, .ctx = m};
	return BERTH_OK;
}
