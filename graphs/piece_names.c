/* What the names of pieces tell: their number, how many there are, whether they are joined. A name that
 * was taken has "#2" behind it. */
#include "piece_names.h"

#include "text.h"

/* The last place where the mark stands; NULL: nowhere. */
static const char *last(const char *name, const char *mark)
{
	const char *at = NULL;
	for (const char *s = strstr(name, mark); s; s = strstr(s + 1, mark))
		at = s;
	return at;
}

static bool ends(const char *rest)
{
	return *rest == '\0' || *rest == '#';
}

/* Behind "2 of 3"; NULL: text begins with something else. */
static const char *read_pair(const char *text, int32_t *i, int32_t *k)
{
	static const char of[] = " of ";
	*i = berth_text_digits(text, 999, &text);
	if (*i < 1 || strncmp(text, of, sizeof of - 1) != 0)
		return NULL;
	*k = berth_text_digits(text + sizeof of - 1, 999, &text);
	return *i <= *k ? text : NULL;
}

/* Of "2 of 3" the number 2, and 3 in *of, which may be NULL; 0: it is something else. */
static int32_t read_number(const char *text, int32_t *of)
{
	int32_t i, k;
	const char *end = read_pair(text, &i, &k);
	if (!end || !ends(end))
		return 0;
	if (of)
		*of = k;
	return i;
}

/* As berth_piece_number for any mark. */
static int32_t number(const char *name, const char *mark, int32_t *of, size_t *len)
{
	const char *at = last(name, mark);
	int32_t i = at ? read_number(at + strlen(mark), of) : 0;
	if (i && len)
		*len = (size_t)(at - name);
	return i;
}

int32_t berth_piece_number(const char *name, int32_t *of, size_t *len)
{
	return number(name, "/piece ", of, len);
}

bool berth_piece_is_part(const char *name)
{
	return number(name, "/piece ", NULL, NULL) > 0 || number(name, "/sum ", NULL, NULL) > 0;
}

bool berth_piece_is_join(const char *name)
{
	static const char mark[] = "/joined";
	const char *at = last(name, mark);
	return at && ends(at + sizeof mark - 1);
}

int32_t berth_piece_share(const char *name, int32_t *of)
{
	const char *at = last(name, " of ");
	while (at && at > name && at[-1] != ' ')
		at--;
	return at && at > name ? read_number(at, of) : 0;
}

bool berth_piece_named(const char *name)
{
	for (const char *at = strstr(name, " of "); at; at = strstr(at + 1, " of ")) {
		int32_t i, k;
		const char *from = at;
		while (from > name && from[-1] >= '0' && from[-1] <= '9')
			from--;
		if (read_pair(from, &i, &k))
			return true;
	}
	return false;
}
