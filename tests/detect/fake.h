/* Libraries that stand in for a vendor's, where there is no GPU. They describe GPUs that the test chooses by
 * the environment: FAKE_GPU is a list of words with blanks between. Numbers are those of the vendors' public
 * documents, written once more, so that a wrong one in berth is found. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

/* Does FAKE_GPU have the word? */
static inline bool fake(const char *word)
{
	const char *list = getenv("FAKE_GPU");
	size_t n = strlen(word);
	for (const char *at = list; at && (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}

/* What a driver that is broken does at its start. */
static inline void misbehave(void)
{
	if (fake("hang"))
		pause();
	if (fake("crash"))
		abort();
	if (fake("leave"))
		exit(0);
}
