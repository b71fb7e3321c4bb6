/* See journal.h. */
#include "journal.h"

#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct berth_journal {
	const char *path;
	FILE *file;
	char *text;             /* what was there, line ends as 0; NULL: nothing */
	size_t len, at;         /* its length; where the next question stands */
	int32_t replayed;
};

/* Where the last whole pair of lines after the first line ends. 0: not even the first line is whole. Line
 * ends become 0. */
static size_t cut_torn_end(char *text, size_t size)
{
	size_t whole = 0, lines = 0;
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\n') {
			text[i] = '\0';
			whole = lines++ % 2 ? whole : i + 1;
		}
	return whole;
}

/* The length without the failures at the end. Whatever ended that run may have passed. */
static size_t cut_last_failures(const char *text, size_t first, size_t len)
{
	static const char failed[] = "{\"failed\":";
	size_t keep = first;
	for (size_t at = first; at < len;) {
		const char *answer = text + at + strlen(text + at) + 1;
		at = (size_t)(answer - text) + strlen(answer) + 1;
		keep = strncmp(answer, failed, sizeof failed - 1) == 0 ? keep : at;
	}
	return keep;
}

static berth_status cannot(const berth_journal *j, berth_err *err)
{
	if (errno == ENOMEM)
		return berth_nomem(err);
	return berth_fail(err, BERTH_EIO, "%s: cannot write: %s", j->path, strerror(errno));
}

/* What is there already, if it is of the same. */
static berth_status read_back(berth_journal *j, const char *of, berth_arena *mem, berth_err *err)
{
	char *text;
	size_t size;
	BERTH_TRY(berth_file_read(j->path, mem, &text, &size, err));
	size_t whole = cut_torn_end(text, size);
	if (!whole)
		return BERTH_OK;
	if (strcmp(text, of) != 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: cannot resume: it was begun with another engine, model or system, "
		                  "%.100s...; without --resume it is begun anew",
		                  j->path, text);
	j->text = text;
	j->at = strlen(of) + 1;
	j->len = cut_last_failures(text, j->at, whole);
	return BERTH_OK;
}

berth_status berth_journal_open(const char *path, bool resume, const char *of, berth_arena *mem,
                                berth_journal **out, berth_err *err)
{
	berth_journal *j;
	BERTH_TRY(BERTH_NEW(mem, j, 1, err));
	if (!(j->path = berth_arena_strdup(mem, path)))
		return berth_nomem(err);
	bool there = false;
	if (resume)
		BERTH_TRY(berth_file_there(path, &there, err));
	if (there)
		BERTH_TRY(read_back(j, of, mem, err));
	j->file = fopen(path, j->text ? "r+" : "w");
	if (!j->file)
		return cannot(j, err);
	*out = j;
	return j->text || (fprintf(j->file, "%s\n", of) >= 0 && fflush(j->file) == 0) ? BERTH_OK
	                                                                              : cannot(j, err);
}

void berth_journal_close(berth_journal *j)
{
	if (j && j->file)
		fclose(j->file);
	if (j)
		j->file = NULL;
}

const char *berth_journal_answer(berth_journal *j, const char *question)
{
	const char *asked = j->at < j->len ? j->text + j->at : NULL;
	if (!asked || strcmp(asked, question) != 0) {
		j->len = j->at;
		return NULL;
	}
	const char *answer = asked + strlen(asked) + 1;
	j->at = (size_t)(answer - j->text) + strlen(answer) + 1;
	j->replayed++;
	return answer;
}

berth_status berth_journal_add(berth_journal *j, const char *question, const char *answer, berth_err *err)
{
	if (j->text) { /* the first that is new: what stands behind the place is another run's */
		if (ftruncate(fileno(j->file), (off_t)j->at) != 0 ||
		    fseek(j->file, (long)j->at, SEEK_SET) != 0)
			return cannot(j, err);
		j->text = NULL;
		j->len = j->at = 0;
	}
	return fprintf(j->file, "%s\n%s\n", question, answer) < 0 || fflush(j->file) != 0 ? cannot(j, err)
	                                                                                  : BERTH_OK;
}

int32_t berth_journal_replayed(const berth_journal *j)
{
	return j->replayed;
}
