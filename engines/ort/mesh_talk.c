/* Talk of all processes, made of single messages. */
#include "exec.h"
#include "mesh.h"

#include <time.h>

/* The last tags; data of tensors goes by the others. */
enum { TAG_TELL = MESH_TAGS - 1, TAG_CLOCK = MESH_TAGS - 2, ROUND_TRIPS = 8 };

/* Until all messages are over. hurry: they are about to be, so that not even a little rest is taken. */
static void mesh_wait(mesh *m, bool hurry)
{
	for (int32_t times = 0; mesh_open_messages(m) > 0; times++)
		if (!mesh_progress(m, NULL, NULL) && !hurry) {
			/* Rests grow: who waits for the next question shall not take a core for it. */
			const struct timespec t = {0, times < 100 ? 20000 : times < 1000 ? 200000 : 2000000};
			nanosleep(&t, NULL);
		}
}

void mesh_tell(mesh *m, int32_t from, void *data, size_t bytes)
{
	for (int32_t to = 0; to < mesh_size(m) && mesh_self(m) == from; to++)
		if (to != from)
			mesh_send(m, to, TAG_TELL, data, bytes);
	if (mesh_self(m) != from)
		mesh_receive(m, from, TAG_TELL, data, bytes);
	mesh_wait(m, false);
}

typedef struct opinion {
	berth_status st;
	char msg[sizeof((berth_err *)0)->msg];
} opinion;

berth_status mesh_agree(mesh *m, berth_status st, berth_err *err)
{
	opinion mine = {st, ""}, all = {BERTH_OK, ""};
	if (st != BERTH_OK && err)
		memcpy(mine.msg, err->msg, sizeof mine.msg);
	for (int32_t from = mesh_size(m) - 1; from >= 0; from--) { /* the first one has the last word */
		opinion one = mine;
		mesh_tell(m, from, &one.st, sizeof one.st);
		if (one.st == BERTH_OK)
			continue;
		mesh_tell(m, from, one.msg, sizeof one.msg);
		if (*one.msg || all.st == BERTH_OK) /* who only knows the status does not know why */
			all = one;
	}
	return all.st == BERTH_OK ? BERTH_OK : berth_fail(err, all.st, "%s", all.msg);
}

/* A number from the first process to another, and one back. */
static double ping(mesh *m, int32_t other)
{
	double there = 0, back;
	bool first = mesh_self(m) == 0;
	int32_t peer = first ? other : 0;
	if (first)
		mesh_send(m, peer, TAG_CLOCK, &there, sizeof there);
	else
		mesh_receive(m, peer, TAG_CLOCK, &there, sizeof there);
	mesh_wait(m, true);
	back = exec_now();
	if (first)
		mesh_receive(m, peer, TAG_CLOCK, &back, sizeof back);
	else
		mesh_send(m, peer, TAG_CLOCK, &back, sizeof back);
	mesh_wait(m, true);
	return back;
}

/* How far the other's clock is before this one, and the quickest round trip. */
static double clock_ahead(mesh *m, int32_t other, double *trip_s)
{
	double ahead = 0;
	*trip_s = INFINITY;
	for (int i = 0; i < ROUND_TRIPS; i++) {
		double from = exec_now(), theirs = ping(m, other), to = exec_now();
		if (to - from < *trip_s) {
			*trip_s = to - from;
			ahead = theirs - 0.5 * (from + to);
		}
	}
	return ahead;
}

double mesh_instant(mesh *m)
{
	double trip = 0, when = 0, theirs[EXEC_MAX_WORKERS] = {0};
	if (mesh_self(m) > 0) {
		for (int i = 0; i < ROUND_TRIPS; i++)
			ping(m, 0);
		mesh_receive(m, 0, TAG_CLOCK, &when, sizeof when);
		mesh_wait(m, true);
		return when;
	}
	for (int32_t r = 1; r < mesh_size(m); r++) {
		double one = 0;
		theirs[r] = clock_ahead(m, r, &one);
		trip = fmax(trip, one);
	}
	when = exec_now() + 2 * trip + 1e-4;
	for (int32_t r = 1; r < mesh_size(m); r++) {
		theirs[r] += when;
		mesh_send(m, r, TAG_CLOCK, &theirs[r], sizeof theirs[r]);
	}
	mesh_wait(m, true);
	return when;
}
