/* Templates, and tables of them. A template is read anew each time: it is short, and nothing is kept that
 * would have to be freed. */
#include "tell.h"

enum { VALUE = 512, PATH = 64, WORDS = 256, CELL = 512 };

/* ---- values ---- */

static bool is_null(berth_result_value v)
{
	return v.type == BERTH_RESULT_NONE || (v.type == BERTH_RESULT_TEXT && !v.is.text) ||
	       (v.type == BERTH_RESULT_NUMBER && !isfinite(v.is.number));
}

/* Is there anything to tell: not null, 0, false or empty? */
static bool is_something(berth_result_value v)
{
	switch (v.type) {
	case BERTH_RESULT_TEXT: return v.is.text && *v.is.text;
	case BERTH_RESULT_NUMBER: return isfinite(v.is.number) && v.is.number != 0;
	case BERTH_RESULT_NS:
	case BERTH_RESULT_INT:
	case BERTH_RESULT_BOOL: return v.is.integer != 0;
	case BERTH_RESULT_TEXTS:
	case BERTH_RESULT_NUMBERS: return v.n > 0;
	case BERTH_RESULT_LIST: return v.is.list->n > 0;
	case BERTH_RESULT_MAP: return v.is.map->n > 0;
	case BERTH_RESULT_OBJECT: return v.is.object;
	default: return false;
	}
}

static double number_of(berth_result_value v)
{
	switch (v.type) {
	case BERTH_RESULT_NUMBER: return v.is.number;
	case BERTH_RESULT_NS: return (double)v.is.integer / 1e9;
	case BERTH_RESULT_TEXTS:
	case BERTH_RESULT_NUMBERS: return v.n;
	case BERTH_RESULT_LIST: return v.is.list->n;
	case BERTH_RESULT_MAP: return v.is.map->n;
	default: return (double)v.is.integer;
	}
}

/* Where the largest values of a map are, as shares of all; of equal ones the first comes first. */
static void largest(char buf[VALUE], const berth_result_map *map)
{
	enum { MOST = 3 };
	double sum = 0, below = INFINITY;
	int32_t last = -1;
	size_t at = 0;
	buf[0] = '\0';
	for (int32_t i = 0; i < map->n; i++)
		sum += fmax(number_of(map->value[i]), 0); /* NAN: 0 */
	if (!(sum > 0))
		return;
	for (int32_t k = 0; k < MOST && k < map->n && at < VALUE; k++) {
		int32_t best = -1;
		for (int32_t i = 0; i < map->n; i++) {
			double x = fmax(number_of(map->value[i]), 0);
			if ((x < below || (x == below && i > last)) &&
			    (best < 0 || x > fmax(number_of(map->value[best]), 0)))
				best = i;
		}
		last = best;
		below = fmax(number_of(map->value[best]), 0);
		at += (size_t)snprintf(buf + at, VALUE - at, "%s%s %.0f %%", k ? ", " : "",
		                       *map->name[best] ? map->name[best] : "(none)", 100.0 * below / sum);
	}
}

/* By one of printf's letters. */
static void by_format(char buf[VALUE], const char *format, double x)
{
	char spec[16];
	if (strncmp(format, "1/", 2) == 0) {
		x = 1 / x;
		format += 2;
	}
	if (format[strlen(format) - 1] == 'd')
		snprintf(buf, VALUE, "%lld", llround(x));
	else if (snprintf(spec, sizeof spec, "%%%s", format) < (int)sizeof spec)
		snprintf(buf, VALUE, spec, x);
}

static void by_unit(char buf[VALUE], const char *unit, const berth_objective *o, berth_result_value v)
{
	double x = number_of(v);
	if (strcmp(unit, "s") == 0)
		berth_text_seconds(buf, x);
	else if (strcmp(unit, "bytes") == 0 || strcmp(unit, "B") == 0)
		berth_text_bytes(buf, x);
	else if (strcmp(unit, "FLOP") == 0 || strcmp(unit, "MAC") == 0)
		cli_amount(buf, x, unit);
	else if (strcmp(unit, "share") == 0 || strcmp(unit, "%") == 0)
		cli_percent(buf, x);
	else if (strcmp(unit, "K") == 0)
		cli_count(buf, llround(x));
	else if (strcmp(unit, "of the objective") == 0 && o)
		cli_value(buf, o, x);
	else if (strcmp(unit, "of the objective") == 0)
		snprintf(buf, VALUE, "%.4g", x);
	else if (strcmp(unit, "count") == 0)
		berth_text_count(buf, x);
	else if (v.type == BERTH_RESULT_INT)
		snprintf(buf, VALUE, "%lld", (long long)v.is.integer);
	else
		snprintf(buf, VALUE, *unit ? "%.3g %s" : "%.3g", x, unit);
}

static void tell_value(char buf[VALUE], berth_result_value v, const berth_result_key *key,
                       const berth_objective *o, const char *format)
{
	if (is_null(v))
		snprintf(buf, VALUE, "-");
	else if (v.type == BERTH_RESULT_TEXT)
		snprintf(buf, VALUE, "%s", v.is.text);
	else if (v.type == BERTH_RESULT_BOOL)
		snprintf(buf, VALUE, "%s", v.is.integer ? "yes" : "no");
	else if (v.type == BERTH_RESULT_MAP)
		largest(buf, v.is.map);
	else if (*format && strchr("dfge", format[strlen(format) - 1]))
		by_format(buf, format, number_of(v));
	else
		by_unit(buf, *format ? format : key->unit, o, v);
}

char *cli_tell_value(char buf[VALUE], const berth_result *r, const berth_objective *o, const char *path,
                     const char *format)
{
	const berth_result_key *key = NULL;
	berth_result_value v = berth_result_get(r, path, &key);
	tell_value(buf, v, key, o, format);
	return buf;
}

/* ---- templates ---- */

/* What stands between { and }: a path, and :FORMAT, ?WORDS, !WORDS, |PATH or a blank and a NOUN. */
typedef struct field {
	char path[PATH], rest[WORDS];
	char sign; /* ':', '?', '!', '|', ' ' or 0 */
} field;

/* From behind the {. Returns what is behind the }. */
static const char *read_field(const char *text, field *f)
{
	size_t n = strcspn(text, ":?!| }"), all = strcspn(text, "}");
	snprintf(f->path, sizeof f->path, "%.*s", (int)n, text);
	f->sign = n < all ? text[n] : '\0';
	snprintf(f->rest, sizeof f->rest, "%.*s", n < all ? (int)(all - n - 1) : 0, text + n + (n < all));
	return text + all + (text[all] == '}');
}

/* buf, or the text itself, which may be longer. */
static const char *tell_field(char buf[VALUE], const field *f, const berth_result *r,
                              const berth_objective *o)
{
	const berth_result_key *key = NULL;
	berth_result_value v = berth_result_get(r, f->path, &key);
	if (f->sign == '|' && is_null(v))
		v = berth_result_get(r, f->rest, &key);
	if (v.type == BERTH_RESULT_TEXT && v.is.text && (!f->sign || f->sign == '|'))
		return v.is.text;
	if (f->sign == '?' || f->sign == '!')
		snprintf(buf, VALUE, "%s", is_something(v) == (f->sign == '?') ? f->rest : "");
	else if (f->sign == ' ' && !is_null(v)) {
		/* "1 copy", "3 copies" of "copy|copies". */
		size_t n = strcspn(f->rest, "|");
		if (number_of(v) == 1)
			snprintf(buf, VALUE, "1 %.*s", (int)n, f->rest);
		else if (f->rest[n])
			snprintf(buf, VALUE, "%lld %s", (long long)number_of(v), f->rest + n + 1);
		else
			snprintf(buf, VALUE, "%lld %ss", (long long)number_of(v), f->rest);
	} else
		tell_value(buf, v, key, o, f->sign == ':' ? f->rest : "");
	return buf;
}

/* Is the part [text, end) in brackets to be told? */
static bool holds(const char *text, const char *end, const berth_result *r)
{
	field f;
	while (text < end) {
		if (*text == '\\')
			text += text + 1 < end ? 2 : 1;
		else if (*text++ == '{') {
			text = read_field(text, &f);
			if (f.sign != '?' && f.sign != '!' &&
			    !is_something(berth_result_get(r, f.path, NULL)))
				return false;
		}
	}
	return true;
}

/* The end of the part in brackets that begins here. */
static const char *part_end(const char *text)
{
	while (*text && *text != ']')
		text += text[0] == '\\' && text[1] ? 2 : 1;
	return text;
}

/* The next piece of a template: literal bytes, or a value in buf. Returns what is behind it. */
static const char *next_piece(const char *text, const berth_result *r, const berth_objective *o,
                              const char **piece, int *n, char buf[VALUE])
{
	field f;
	*piece = text;
	*n = 0;
	if (*text == '[') {
		const char *end = part_end(text);
		return holds(text + 1, end, r) ? text + 1 : end + (*end == ']');
	}
	if (*text == ']')
		return text + 1;
	if (*text == '{') {
		text = read_field(text + 1, &f);
		*piece = tell_field(buf, &f, r, o);
		*n = (int)strlen(*piece);
		return text;
	}
	if (*text == '\\' && text[1])
		*piece = ++text;
	*n = 1 + (int)strcspn(text + 1, "{[]\\\n");
	return text + *n;
}

void cli_tell_by(cli_sayer say, const berth_result *r, const berth_objective *o, const char *text)
{
	while (*text) {
		char buf[VALUE];
		const char *piece;
		int n;
		if (*text == '\n') { /* ours; in a value it would be made visible */
			say("\n");
			text++;
			continue;
		}
		text = next_piece(text, r, o, &piece, &n, buf);
		say("%.*s", n, piece);
	}
}

void cli_tell(const berth_result *r, const berth_objective *o, const char *text)
{
	cli_tell_by(cli_say, r, o, text);
}

const char *cli_told(berth_arena *mem, const berth_result *r, const berth_objective *o, const char *text)
{
	const char *told = "";
	while (*text && told) {
		char buf[VALUE];
		const char *piece;
		int n;
		text = next_piece(text, r, o, &piece, &n, buf);
		told = berth_arena_printf(mem, "%s%.*s", told, n, piece);
	}
	return told;
}

const char *cli_join(cli *c, berth_result_value texts, const char *sign, berth_err *err)
{
	const char *all = "";
	for (int32_t i = 0; i < texts.n && all; i++)
		all = berth_arena_printf(&c->mem, "%s%s%s", all, i ? sign : "", texts.is.texts[i]);
	if (!all)
		berth_nomem(err);
	return all;
}

/* ---- tables ---- */

typedef struct column {
	char head[PATH], cell[CELL];
	bool left, template;
} column;

/* The | or the end behind a cell; a | in braces is of a key. */
static size_t cell_length(const char *text)
{
	size_t n = 0;
	for (bool inside = false; text[n] && (inside || text[n] != '|'); n++)
		inside = text[n] == '{' || (inside && text[n] != '}');
	return n;
}

/* From "heading=cell|...". Returns what is behind it. */
static const char *read_column(const char *text, const berth_result_kind *kind, column *out)
{
	size_t n = strcspn(text, "="), cell = cell_length(text + n + 1);
	bool forced = *text == '<';
	snprintf(out->head, sizeof out->head, "%.*s", (int)n - forced, text + forced);
	snprintf(out->cell, sizeof out->cell, "%.*s", (int)cell, text + n + 1);
	out->template = strchr(out->cell, '{');
	out->left = forced;
	for (int32_t i = 0; !out->left && i < kind->n_keys; i++)
		out->left = kind->key[i].type == BERTH_RESULT_TEXT &&
		            strcmp(kind->key[i].key, out->cell) == 0;
	text += n + 1 + cell;
	return text + (*text == '|');
}

static void fill_cell(cli_table *t, const column *col, const berth_result *r, const berth_objective *o)
{
	char buf[VALUE];
	if (!col->template) {
		cli_cell(t, "%s", cli_tell_value(buf, r, o, col->cell, ""));
		return;
	}
	const char *cell = cli_told(t->mem, r, o, col->cell);
	t->failed |= !cell;
	cli_cell_text(t, cell && (*cell || col->left) ? cell : "-");
}

berth_status cli_tell_rows(cli *c, const berth_result_list *list, const berth_objective *o, cli_format format,
                           const char *columns, berth_err *err)
{
	enum { MOST = 24 };
	column col[MOST];
	char align[MOST + 1] = "";
	int32_t n = 0;
	cli_table t;
	if (list->failed)
		return berth_nomem(err);
	if (!list->n)
		return BERTH_OK;
	for (; *columns && n < MOST; n++) {
		columns = read_column(columns, list->kind, &col[n]);
		align[n] = col[n].left ? 'l' : 'r';
	}
	cli_table_init(&t, &c->mem, align);
	for (int32_t k = 0; k < n; k++)
		cli_cell_text(&t, col[k].head);
	for (int32_t i = 0; i < list->n; i++)
		for (int32_t k = 0; k < n; k++)
			fill_cell(&t, &col[k], &list->item[i], o);
	return cli_table_print(&t, format, err);
}

static bool is_plain(berth_result_type type)
{
	return type == BERTH_RESULT_TEXT || type == BERTH_RESULT_NUMBER || type == BERTH_RESULT_NS ||
	       type == BERTH_RESULT_INT || type == BERTH_RESULT_BOOL;
}

static void plain_cell(cli_table *t, berth_result_value v)
{
	char buf[32];
	if (is_null(v))
		cli_cell_text(t, "");
	else if (v.type == BERTH_RESULT_TEXT)
		cli_cell_text(t, v.is.text);
	else if (v.type == BERTH_RESULT_BOOL)
		cli_cell_text(t, v.is.integer ? "true" : "false");
	else if (v.type == BERTH_RESULT_INT)
		cli_cell_int(t, v.is.integer);
	else
		cli_cell(t, "%s", berth_text_double(buf, number_of(v)));
}

berth_status cli_tell_all(cli *c, const berth_result_list *list, cli_format format, berth_err *err)
{
	enum { MOST = 63 };
	char align[MOST + 1] = "";
	const berth_result_kind *kind = list->kind;
	size_t n = 0;
	cli_table t;
	if (list->failed)
		return berth_nomem(err);
	for (int32_t k = 0; k < kind->n_keys && n < MOST; k++)
		if (is_plain(kind->key[k].type))
			align[n++] = 'l';
	cli_table_init(&t, &c->mem, align);
	for (int32_t k = 0; k < kind->n_keys; k++)
		if (is_plain(kind->key[k].type))
			cli_cell_text(&t, kind->key[k].key);
	for (int32_t i = 0; i < list->n; i++)
		for (int32_t k = 0; k < kind->n_keys; k++)
			if (is_plain(kind->key[k].type))
				plain_cell(&t, list->item[i].value[k]);
	return cli_table_print(&t, format, err);
}

/* ---- documents ---- */

berth_status cli_put_result(const cli *c, const berth_result *r, berth_err *err)
{
	berth_json_out w;
	berth_arena mem = {0};
	berth_json_out_init(&w, &mem, true);
	berth_json_open(&w, NULL, '{');
	berth_result_put_members(&w, r);
	berth_status st = cli_end_json(c, &w, err);
	berth_arena_free(&mem);
	return st;
}

berth_status cli_result(const cli *c, const berth_result *r, berth_err *err)
{
	if (c->json)
		return cli_put_result(c, r, err);
	return berth_result_failed(r) ? berth_nomem(err) : BERTH_OK;
}
