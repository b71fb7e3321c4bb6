/* What an engine was asked and what it answered, on the disk before it is asked again. A killed run is gone
 * through from it to the same bits; what is torn at its end is cut off by checks. */
#include "journal.h"

#include "file.h"
#include "json.h"
#include "sha256.h"
#include "text.h"

enum { CHECK = 16 }; /* characters */

struct berth_journal {
	const char *path;
	berth_append file;
	char *text;             /* what was there, line ends as 0; NULL: nothing is left to go through */
	size_t len, at;         /* its length; where the next entry stands */
	char check[CHECK + 1];  /* of the entries before the next one */
	int32_t replayed;
};

/* ---- entries ---- */

/* The check of an entry, from that of the one before. */
static berth_status renew_check(char check[CHECK + 1], const char *entry, size_t len, berth_err *err)
{
	char hex[65];
	size_t before = strlen(check);
	BERTH_ARENA(tmp);
	char *both = berth_arena_alloc(&tmp, before + len, 1);
	if (both) {
		memcpy(both, check, before);
		memcpy(both + before, entry, len);
		berth_sha256_hex(both, before + len, hex);
		memcpy(check, hex, CHECK);
		check[CHECK] = '\0';
	}
	return berth_got(both, err);
}

/* Where the entry at `at` of n_lines lines ends, its check too. 0: it is torn. */
static berth_status end_of_entry(const char *text, size_t size, size_t at, int n_lines, char check[CHECK + 1],
                                 size_t *end, berth_err *err)
{
	char next[CHECK + 1];
	size_t to = at;
	*end = 0;
	for (int i = 0; i < n_lines; i++) {
		const char *line_end = memchr(text + to, '\n', size - to);
		if (!line_end)
			return BERTH_OK;
		to = (size_t)(line_end - text) + 1;
	}
	if (size - to <= CHECK || text[to + CHECK] != '\n' || memchr(text + at, '\0', to - at))
		return BERTH_OK;
	memcpy(next, check, sizeof next);
	BERTH_TRY(renew_check(next, text + at, to - at, err));
	if (memcmp(next, text + to, CHECK) == 0) {
		memcpy(check, next, sizeof next);
		*end = to + CHECK + 1;
	}
	return BERTH_OK;
}

/* An engine's answer may have such a first key too; "ok" is only in answers. What cannot be read is none. */
static berth_status is_failure(const char *answer, size_t len, bool *failure, berth_err *err)
{
	static const char failed[] = "{\"failed\":";
	cJSON *item;
	*failure = len >= sizeof failed && memcmp(answer, failed, sizeof failed - 1) == 0;
	if (!*failure)
		return BERTH_OK;
	berth_status st = berth_json_parse_large("journal", answer, len, &item, err);
	if (st == BERTH_OK) {
		*failure = !cJSON_GetObjectItemCaseSensitive(item, "ok");
		cJSON_Delete(item);
	}
	return st == BERTH_ENOMEM ? st : BERTH_OK;
}

/* The entry with its check, as it stands in the file. */
static berth_status add_entry(berth_strbuf *b, char check[CHECK + 1], const char **text, size_t *len,
                              berth_err *err)
{
	BERTH_TRY(berth_strbuf_done(b, text, len, err));
	BERTH_TRY(renew_check(check, *text, *len, err));
	berth_strbuf_printf(b, "%s\n", check);
	return berth_strbuf_done(b, text, len, err);
}

/* ---- the file ---- */

/* What is gone through again is first written anew: what the disk lost once, and still shows, is then
 * there. */
static berth_status begin_file(berth_journal *j, const char *text, size_t len, berth_err *err)
{
	BERTH_TRY(berth_file_write(j->path, text, len, err));
	return berth_append_open(j->path, &j->file, err);
}

static berth_status begin_anew(berth_journal *j, const char *of, berth_err *err)
{
	const char *text;
	size_t len;
	BERTH_ARENA(tmp);
	berth_strbuf b = {.mem = &tmp};
	berth_strbuf_printf(&b, "%s\n", of);
	BERTH_TRY(add_entry(&b, j->check, &text, &len, err));
	return begin_file(j, text, len, err);
}

/* What is there already, if it is of the same. j->text stays NULL where not even the header is whole. */
static berth_status read_back(berth_journal *j, const char *of, berth_arena *mem, berth_err *err)
{
	char *text, check[CHECK + 1] = "";
	size_t size, first;
	BERTH_TRY(berth_file_read(BERTH_READS_JOURNAL, j->path, mem, &text, &size, err));
	BERTH_TRY(end_of_entry(text, size, 0, 1, check, &first, err));
	if (!first)
		return BERTH_OK;
	char *line_end = memchr(text, '\n', first);
	*line_end = '\0';
	if (strcmp(text, of) != 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: cannot resume: it was begun with another engine, model or system, "
		                  "%.100s...; without --resume it is begun anew",
		                  j->path, text);
	*line_end = '\n';
	/* j->len: how much of the text counts. Behind a torn entry nothing does. Neither do failures at the
	 * end: whatever ended that run may have passed. first: where the header ends. */
	size_t end;
	j->len = first;
	for (size_t at = first; at < size; at = end) {
		BERTH_TRY(end_of_entry(text, size, at, 2, check, &end, err));
		if (!end)
			break;
		const char *answer = (const char *)memchr(text + at, '\n', size - at) + 1;
		bool failure;
		BERTH_TRY(is_failure(answer, end - CHECK - 2 - (size_t)(answer - text), &failure, err));
		j->len = failure ? j->len : end;
	}
	BERTH_TRY(begin_file(j, text, j->len, err));
	for (size_t i = 0; i < j->len; i++)
		text[i] = text[i] == '\n' ? '\0' : text[i];
	text[j->len] = '\0';
	j->text = text;
	j->at = first;
	return BERTH_OK;
}

berth_status berth_journal_open(const char *path, bool resume, const char *of, berth_arena *mem,
                                berth_journal **out, berth_err *err)
{
	berth_journal *j;
	BERTH_TRY_NEW(mem, 1, err, j);
	j->file.fd = -1;
	BERTH_TRY(berth_got(j->path = berth_arena_strdup(mem, path), err));
	bool there = false;
	if (resume)
		BERTH_TRY(berth_file_there(path, &there, err));
	if (there)
		BERTH_TRY(read_back(j, of, mem, err));
	if (!j->text)
		BERTH_TRY(begin_anew(j, of, err));
	*out = j;
	return BERTH_OK;
}

void berth_journal_close(berth_journal *j)
{
	if (j)
		berth_append_close(&j->file);
}

/* ---- answers ---- */

static const char *next_line(const char *line)
{
	return line + strlen(line) + 1;
}

const char *berth_journal_answer(berth_journal *j, const char *question)
{
	const char *asked = j->text && j->at < j->len ? j->text + j->at : NULL;
	if (!asked || strcmp(asked, question) != 0) {
		j->len = j->at;
		return NULL;
	}
	const char *answer = next_line(asked);
	j->at = (size_t)(next_line(next_line(answer)) - j->text);
	j->replayed++;
	return answer;
}

berth_status berth_journal_add(berth_journal *j, const char *question, const char *answer, berth_err *err)
{
	const char *text;
	char check[CHECK + 1];
	size_t len;
	BERTH_ARENA(tmp);
	berth_strbuf b = {.mem = &tmp};
	if (j->text) {
		/* The first entry that is new: what stands behind the place is another run's. */
		BERTH_TRY(berth_append_cut(&j->file, (int64_t)j->at, err));
		memcpy(j->check, j->text + j->at - CHECK - 1, CHECK + 1);
		j->text = NULL;
	}
	memcpy(check, j->check, sizeof check);
	berth_strbuf_printf(&b, "%s\n%s\n", question, answer);
	berth_status st = add_entry(&b, check, &text, &len, err);
	if (st == BERTH_OK)
		st = berth_append_add(&j->file, text, len, err);
	if (st == BERTH_OK)
		st = berth_append_sync(&j->file, err);
	if (st == BERTH_OK)
		memcpy(j->check, check, sizeof check);
	return st;
}

int32_t berth_journal_replayed(const berth_journal *j)
{
	return j->replayed;
}
