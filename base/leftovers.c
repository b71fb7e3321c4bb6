/* See leftovers.h. A note is claimed, filled and published by its state. Who clears it away takes it first,
 * and it is not used again. */
#include "leftovers.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { N_NOTES = 16, N_PATH = 4096 };

typedef enum note_state { NOTE_FREE, NOTE_CLAIMED, NOTE_FILE, NOTE_CHILD, NOTE_TAKEN } note_state;

static struct {
	atomic_int state;
	pid_t owner; /* the process that noted it */
	pid_t child; /* below 0: a group */
	char path[N_PATH];
} notes[N_NOTES];

static atomic_bool cleared;

static int claim(void)
{
	for (int i = 0; i < N_NOTES; i++) {
		int free = NOTE_FREE;
		if (!atomic_compare_exchange_strong(&notes[i].state, &free, NOTE_CLAIMED))
			continue;
		notes[i].owner = getpid();
		return i;
	}
	return -1;
}

/* What comes after all was cleared goes as well. */
static int note(int i, note_state state)
{
	if (i >= 0)
		atomic_store(&notes[i].state, state);
	if (atomic_load(&cleared))
		berth_leftovers_clear();
	while (atomic_load(&cleared))
		pause();
	return i;
}

int berth_leftover_file(const char *path)
{
	size_t len = strlen(path);
	int i = len < N_PATH ? claim() : -1;
	if (i >= 0)
		memcpy(notes[i].path, path, len + 1);
	return note(i, NOTE_FILE);
}

int berth_leftover_child(pid_t pid, int group)
{
	int i = claim();
	if (i >= 0)
		notes[i].child = group ? -pid : pid;
	return note(i, NOTE_CHILD);
}

void berth_leftover_forget(int note)
{
	int state = note >= 0 ? atomic_load(&notes[note].state) : NOTE_TAKEN;
	if (state != NOTE_TAKEN)
		atomic_compare_exchange_strong(&notes[note].state, &state, NOTE_FREE);
}

void berth_leftovers_clear(void)
{
	pid_t self = getpid();
	atomic_store(&cleared, true);
	for (int i = 0; i < N_NOTES; i++) {
		int state = atomic_load(&notes[i].state);
		bool noted = state == NOTE_FILE || state == NOTE_CHILD;
		if (!noted || !atomic_compare_exchange_strong(&notes[i].state, &state, NOTE_TAKEN) ||
		    notes[i].owner != self)
			continue;
		if (state == NOTE_FILE)
			unlink(notes[i].path);
		else
			kill(notes[i].child, SIGKILL);
	}
}
