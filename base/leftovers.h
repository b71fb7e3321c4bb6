/* What would be left behind if the process ended this moment: files half written, child processes. They are
 * noted while they exist, so that a signal handler can clear them away. Noting is safe from any thread. This
 * is the one thing that the library keeps for the whole process, as a handler gets no argument. */
#pragma once

#include <sys/types.h>

/* A temporary file that is about to be made, or was just now. The note to forget it by; -1: there was no
 * memory for it. */
int berth_leftover_file(const char *path);

/* A child process that was started; its process group where group is set. */
int berth_leftover_child(pid_t pid, int group);

/* The file is gone, the child has ended or is about to be waited for. */
void berth_leftover_forget(int note);

/* The file has its name: it is what was to be made. */
void berth_leftover_named(int note);
/* How many have, since the process began. Safe in a signal handler. */
int berth_leftovers_named(void);

/* Remove the files and kill the children. Who notes one after that sees it go, too, and stands still, as the
 * caller ends the process. Nothing in a forked child. Safe in a signal handler. */
void berth_leftovers_clear(void);
