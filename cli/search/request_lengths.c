/* Lengths of requests, as --requests has them: one by one, or those of a file as a few classes. */
#include "configure_serve.h"

#include "file.h"
#include "option_files.h"

enum { CLASSES = 8, MOST_TOKENS = 10000000 };

static bool read_length(const char **at, int64_t *tokens)
{
	double x = berth_unit_number(BERTH_TOKENS, *at, at);
	*tokens = x >= 1 && x <= MOST_TOKENS && x == floor(x) ? (int64_t)x : 0;
	return *tokens > 0;
}

/* [SHARE:]READ+ANSWER, in a file also READ ANSWER or READ,ANSWER */
static bool read_kind(const char *text, bool of_file, berth_request_kind *q)
{
	const char *at = strchr(text, ':'), *end = at;
	*q = (berth_request_kind){.share = at ? berth_text_number(text, &end) : 1};
	bool right = end == at && q->share > 0 && q->share <= 1e9;
	at = at ? at + 1 : text;
	if (!right || !read_length(&at, &q->read))
		return false;
	size_t gap = strspn(at, of_file && !strchr(text, '+') ? ", \t" : "+"), marks = 0;
	for (size_t i = 0; i < gap; i++)
		marks += at[i] == ',' || at[i] == '+';
	if (gap == 0 || marks > 1)
		return false;
	at += gap;
	return read_length(&at, &q->answer) && !at[strspn(at, of_file ? " \t\r" : "")];
}

static int by_length(const void *a, const void *b)
{
	const berth_request_kind *x = a, *y = b;
	int order = BERTH_COMPARE(x->read + x->answer, y->read + y->answer);
	return order ? order : BERTH_COMPARE(x->read, y->read);
}

/* Equal ones as one; then eighths of all requests, from the shortest to the longest, each as its mean, and
 * behind them the longest, of no share: its cache has to fit. *longest: its tokens. */
static int32_t classify(berth_request_kind *all, int32_t n, berth_request_kind *out, int64_t *longest)
{
	double sum = 0, before = 0, tokens[CLASSES][2] = {0}, share[CLASSES] = {0};
	int32_t unlike = 0, classes = 0;
	qsort(all, (size_t)n, sizeof *all, by_length);
	berth_request_kind last = all[n - 1];
	*longest = last.read + last.answer;
	for (int32_t i = 0; i < n; i++) {
		sum += all[i].share;
		if (unlike > 0 && by_length(&all[unlike - 1], &all[i]) == 0)
			all[unlike - 1].share += all[i].share;
		else
			all[unlike++] = all[i];
	}
	for (int32_t i = 0; i < unlike; i++) {
		int32_t at = unlike <= CLASSES ? i
		                               : (int32_t)fmin(CLASSES - 1,
		                                               CLASSES * (before + all[i].share / 2) / sum);
		before += all[i].share;
		share[at] += all[i].share;
		tokens[at][0] += all[i].share * (double)all[i].read;
		tokens[at][1] += all[i].share * (double)all[i].answer;
	}
	for (int32_t k = 0; k < CLASSES; k++)
		if (share[k] > 0)
			out[classes++] = (berth_request_kind){
				.share = share[k],
				.read = berth_max(llround(tokens[k][0] / share[k]), 1),
				.answer = berth_max(llround(tokens[k][1] / share[k]), 1)};
	last.share = 0;
	if (out[classes - 1].read + out[classes - 1].answer < *longest)
		out[classes++] = last;
	return classes;
}

static berth_status read_file(cli *c, const char *file, berth_request_kind *out, int32_t *n, int64_t *longest,
                              berth_err *err)
{
	char *text;
	size_t lines, cap = 0;
	berth_request_kind *all = NULL, q;
	int32_t n_all = 0, number = 1;
	BERTH_TRY(cli_check_named(c, file, "option --requests", err));
	BERTH_TRY(cli_read_lines(c, file, &text, &lines, err));
	for (char *line = text, *next; line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		line[strcspn(line, "#")] = 0;
		line += strspn(line, " \t\r");
		if (!*line)
			continue;
		if (!read_kind(line, true, &q))
			return berth_fail(
				err, BERTH_EFORMAT,
				"%s:%d: '%.60s'; expected a request's tokens read and answered, from 1 to "
				"%d, as in 512 128 or 0.3:4k+256",
				file, (int)number, line, MOST_TOKENS);
		BERTH_TRY(BERTH_PUSH(&c->tmp, all, n_all, &cap, err, q));
	}
	if (n_all == 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: there is no request in it", file);
	*n = classify(all, n_all, out, longest);
	return BERTH_OK;
}

berth_status serve_read_requests(cli *c, const cli_texts *given, berth_request_kind *out, int32_t *n,
                                 int64_t *longest, berth_err *err)
{
	const char *first = *given->text;
	if (*first == '@' && (given->n > 1 || !first[1]))
		return berth_fail(err, BERTH_EINVAL,
		                  "option --requests: '%.60s': expected @ and the name of one file, "
		                  "without a comma",
		                  first);
	if (*first == '@')
		return read_file(c, first + 1, out, n, longest, err);
	if (given->n > SERVE_MOST_LENGTHS)
		return berth_fail(err, BERTH_EINVAL, "option --requests: %d lengths; expected at most %d",
		                  given->n, SERVE_MOST_LENGTHS);
	*n = given->n;
	*longest = 0;
	for (int32_t i = 0; i < given->n; *longest = berth_max(*longest, out[i].read + out[i].answer), i++)
		if (!read_kind(given->text[i], false, &out[i]))
			return berth_fail(
				err, BERTH_EINVAL,
				"option --requests: '%.60s' is not [SHARE:]READ+ANSWER, tokens of a prompt "
				"and of its answer, as in 512+128 or 0.3:4k+256",
				given->text[i]);
	return BERTH_OK;
}
