/* Where MPI was not found at build. */
#include "mesh.h"

berth_status mesh_open(berth_arena *mem, mesh **out, berth_err *err)
{
	(void)mem, (void)out;
	return berth_fail(err, BERTH_EIO,
	                  "this engine was built without MPI: install libopenmpi-dev and openmpi-bin and "
	                  "build again");
}

void mesh_close(mesh *m)
{
	(void)m;
}

int32_t mesh_self(const mesh *m)
{
	(void)m;
	return 0;
}

int32_t mesh_size(const mesh *m)
{
	(void)m;
	return 1;
}

_Noreturn void mesh_give_up(const char *why)
{
	(void)why;
	abort();
}

void mesh_send(mesh *m, int32_t to, int32_t tag, const void *data, size_t bytes)
{
	(void)m, (void)to, (void)tag, (void)data, (void)bytes;
}

void mesh_receive(mesh *m, int32_t from, int32_t tag, void *data, size_t bytes)
{
	(void)m, (void)from, (void)tag, (void)data, (void)bytes;
}

int32_t mesh_open_messages(const mesh *m)
{
	(void)m;
	return 0;
}

int32_t mesh_progress(mesh *m, void (*done)(void *ctx, int32_t tag, bool receive), void *ctx)
{
	(void)m, (void)done, (void)ctx;
	return 0;
}
