/* Notes of what would be left behind if the process ended this moment, for signal handlers. A note is
 * claimed, filled and published by its state. Who clears it away takes it first, and it is not used again.
 * Notes stand in blocks; one is added where all are in use, and none ever goes: a handler may be walking
 * over them. */
#include "leftovers.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IN_BLOCK = 16, N_PATH = 4096 };

typedef enum note_state { NOTE_FREE, NOTE_CLAIMED, NOTE_FILE, NOTE_CHILD, NOTE_TAKEN } note_state;

typedef struct leftover {
	atomic_int state;
	pid_t owner; /* the process that noted it */
	pid_t child; /* below 0: a group */
	char path[N_PATH];
} leftover;

typedef struct block {
	leftover note[IN_BLOCK];
	struct block *_Atomic next;
} block;

static block first;

static atomic_bool cleared;
static atomic_int n_named; /* files that have got their names */

/* The block behind b, which is made where there is none; NULL: there is no memory for it. */
static block *next_of(block *b)
{
	block *next = atomic_load(&b->next), *fresh;
	if (next || !(fresh = calloc(1, sizeof *fresh)))
		return next;
	if (atomic_compare_exchange_strong(&b->next, &next, fresh))
		return fresh;
	free(fresh); /* another thread was first */
	return next;
}

static leftover *note_at(int i)
{
	block *b = &first;
	for (; i >= IN_BLOCK; i -= IN_BLOCK)
		b = atomic_load(&b->next);
	return &b->note[i];
}

static int claim(void)
{
	int at = 0;
	for (block *b = &first; b; b = next_of(b), at += IN_BLOCK)
		for (int i = 0; i < IN_BLOCK; i++) {
			int unused = NOTE_FREE;
			if (!atomic_compare_exchange_strong(&b->note[i].state, &unused, NOTE_CLAIMED))
				continue;
			b->note[i].owner = getpid();
			return at + i;
		}
	return -1;
}

/* What comes after all was cleared goes as well. */
static int note(int i, note_state state)
{
	if (i >= 0)
		atomic_store(&note_at(i)->state, state);
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
		memcpy(note_at(i)->path, path, len + 1);
	return note(i, NOTE_FILE);
}

int berth_leftover_child(pid_t pid, int group)
{
	int i = claim();
	if (i >= 0)
		note_at(i)->child = group ? -pid : pid;
	return note(i, NOTE_CHILD);
}

void berth_leftover_forget(int note)
{
	leftover *x = note >= 0 ? note_at(note) : NULL;
	int state = x ? atomic_load(&x->state) : NOTE_TAKEN;
	if (state != NOTE_TAKEN)
		atomic_compare_exchange_strong(&x->state, &state, NOTE_FREE);
}

void berth_leftover_named(int note)
{
	atomic_fetch_add(&n_named, 1);
	berth_leftover_forget(note);
}

int berth_leftovers_named(void)
{
	return atomic_load(&n_named);
}

static void clear_away(leftover *x, pid_t self)
{
	int state = atomic_load(&x->state);
	bool noted = state == NOTE_FILE || state == NOTE_CHILD;
	if (!noted || !atomic_compare_exchange_strong(&x->state, &state, NOTE_TAKEN) || x->owner != self)
		return;
	if (state == NOTE_FILE)
		unlink(x->path);
	else
		kill(x->child, SIGKILL);
}

void berth_leftovers_clear(void)
{
	pid_t self = getpid();
	atomic_store(&cleared, true);
	for (block *b = &first; b; b = atomic_load(&b->next))
		for (int i = 0; i < IN_BLOCK; i++)
			clear_away(&b->note[i], self);
}
