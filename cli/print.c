/* Tables and documents on standard output: columns of text that fit the terminal, Markdown, CSV, and JSON.
 * Figures get the units that people read. */
#include "print.h"

#include "say.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

void cli_table_init(cli_table *t, berth_arena *mem, const char *align)
{
	*t = (cli_table){.mem = mem, .align = align, .n_cols = strlen(align)};
}

void cli_cell(cli_table *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	const char *kept = berth_arena_strdup(t->mem, text);
	if (!kept || BERTH_GROW(t->mem, t->cell, t->n_cells, &t->cap, NULL) != BERTH_OK) {
		t->failed = true;
		return;
	}
	t->cell[t->n_cells++] = kept;
}

void cli_cell_text(cli_table *t, const char *text)
{
	cli_cell(t, "%s", text ? text : "-");
}

void cli_cell_int(cli_table *t, int64_t n)
{
	cli_cell(t, "%lld", (long long)n);
}

void cli_cell_seconds(cli_table *t, double seconds)
{
	char buf[32];
	cli_cell_text(t, isnan(seconds) ? NULL : berth_text_seconds(buf, seconds));
}

void cli_cell_bytes(cli_table *t, double bytes)
{
	char buf[32];
	cli_cell_text(t, bytes >= 0 ? berth_text_bytes(buf, bytes) : NULL);
}

void cli_cell_percent(cli_table *t, double fraction)
{
	char buf[32];
	cli_cell_text(t, cli_percent(buf, fraction));
}

void cli_cell_value(cli_table *t, const berth_objective *o, double value)
{
	char buf[32];
	cli_cell_text(t, cli_value(buf, o, value));
}

void cli_table_head(cli_table *t, const char *words)
{
	for (size_t n; *words; words += n + (words[n] == '|')) {
		n = strcspn(words, "|");
		cli_cell(t, "%.*s", (int)n, words);
	}
}

size_t cli_width(void)
{
	enum { LEAST = 20 };
	const char *set = getenv("COLUMNS");
	int32_t columns = set ? berth_text_digits(set, 100000, NULL) : 0;
	struct winsize w;
	if (columns < LEAST && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0)
		columns = w.ws_col;
	return columns >= LEAST ? (size_t)columns : SIZE_MAX;
}

void cli_print_words(const char *text, size_t at, size_t indent, size_t width)
{
	bool first = true;
	while (*text) {
		size_t bytes = strcspn(text, " "), n = berth_visible_width(text, bytes);
		if (!first && (width < n || at + 1 > width - n)) {
			cli_say("\n");
			cli_say_blanks(indent);
			at = indent;
		} else if (!first) {
			cli_say(" ");
			at++;
		}
		cli_say("%.*s", (int)bytes, text);
		at += n;
		text += bytes;
		text += *text == ' ';
		first = false;
	}
	cli_say("\n");
}

enum { ROW_INDENT = 4, WORDS_LEAST = 24 };

static void print_cells(const cli_table *t, const char **row, const size_t *width, size_t from, size_t to,
                        size_t columns)
{
	size_t at = from ? ROW_INDENT : 0;
	while (to > from + 1 && !*row[to - 1] && t->align[to - 1] != 'r')
		to--; /* nothing stands there */
	cli_say_blanks(at);
	for (size_t c = from; c < to; c++) {
		size_t own = berth_visible_width(row[c], SIZE_MAX), pad = width[c] - own;
		bool last = c + 1 == to;
		if (last && t->align[c] != 'r') {
			cli_print_words(row[c], at, at, columns);
			return;
		}
		cli_say_blanks(t->align[c] == 'r' ? pad : 0);
		cli_say("%s", row[c]);
		cli_say_blanks(t->align[c] == 'r' || last ? 0 : pad);
		cli_say_blanks(last ? 0 : 2);
		at += width[c] + 2;
	}
	cli_say("\n");
}

static void print_text_row(const cli_table *t, const char **row, const size_t *width, size_t columns)
{
	for (size_t from = 0, to; from < t->n_cols; from = to) {
		/* The first column after `from` that does not fit on a line of the row with it. */
		size_t at = (from ? ROW_INDENT : 0) + width[from], c = from + 1;
		while (c < t->n_cols && columns - 2 >= at && width[c] <= columns - 2 - at)
			at += 2 + width[c++];
		/* a last column of words may be broken, where it has room */
		bool words = c + 1 == t->n_cols && t->align[c] == 'l' && columns >= at + 2 + WORDS_LEAST;
		to = words ? c + 1 : c;
		print_cells(t, row, width, from, to, columns);
	}
}

static void put_csv_cell(const char *s)
{
	bool quoted = strpbrk(s, ",\"\n\r");
	cli_put_document("\"", quoted);
	for (size_t n; *s; s += n) {
		n = quoted ? strcspn(s, "\"") : strlen(s);
		n += s[n] == '"';
		cli_put_document(s, n);
		cli_put_document("\"", s[n - 1] == '"');
	}
	cli_put_document("\"", quoted);
}

/* What stands for a character that LaTeX obeys; NULL: a backslash before it does, or nothing. */
static const char *latex_word(char c)
{
	switch (c) {
	case '\\': return "textbackslash";
	case '~': return "textasciitilde";
	case '^': return "textasciicircum";
	case '<': return "textless";
	case '>': return "textgreater";
	case '|': return "textbar";
	case '`': return "textasciigrave";
	default: return NULL;
	}
}

/* Does pdflatex print it in whatever encoding of fonts? Else it ends there. */
static bool latex_has(uint32_t code)
{
	bool letter = code >= 0xc0 && code <= 0xff;
	return code < 0x80 || (letter && (code & 0xdf) != 0xd0 && (code & 0xdf) != 0xde);
}

/* Made visible first: the letters that stand for what is not seen are obeyed, too. Two of a kind do not
 * become one sign. Straight quotes are those of typewriters, which every encoding of fonts has. */
static void say_latex(const char *text)
{
	char before = 0;
	for (size_t n = strlen(text); n > 0;) {
		berth_visible_char v = berth_visible_at(text, n);
		uint32_t code = 0;
		if (*v.shown != '\\' && berth_text_utf8(text, n, &code) && !latex_has(code))
			snprintf(v.shown, sizeof v.shown, code > 0xffff ? "\\U%08lx" : "\\u%04lx",
			         (unsigned long)code);
		for (const char *at = v.shown; *at; before = *at++) {
			if (*at == before && strchr("-',", *at))
				cli_say("{}");
			if (latex_word(*at))
				cli_say("\\%s{}", latex_word(*at));
			else if (*at == '"')
				cli_say("\\texttt{\\char34}");
			else if (strchr("#$%&_{}", *at))
				cli_say("\\%c", *at);
			else
				cli_put_document(at, 1);
		}
		text += v.used;
		n -= (size_t)v.used;
	}
}

void cli_say_word(const char *text, cli_format format)
{
	const char *special = format == CLI_AS_MARKDOWN ? "\\|<&`*[" : "";
	while (format != CLI_AS_LATEX && *text) {
		size_t n = strcspn(text, special);
		cli_say("%.*s", (int)n, text);
		text += n;
		if (*text)
			cli_say("\\%c", *text++);
	}
	if (format == CLI_AS_LATEX)
		say_latex(text);
}

void cli_say_bound(const char *kind, const char *figure)
{
	cli_say("%s bound %s", strcmp(kind, "auto") == 0 ? "rough" : kind, figure);
}

/* With the lines of the package booktabs. They and ends of rows take a [ or * behind them for their own. */
static void print_latex(const cli_table *t)
{
	cli_say("\\begin{tabular}{%.*s}\n\\toprule\n", (int)t->n_cols, t->align);
	for (size_t i = 0; i + t->n_cols <= t->n_cells; i += t->n_cols) {
		for (size_t c = 0; c < t->n_cols; c++) {
			cli_say(!c && strspn(t->cell[i], "[*") ? "{}" : "");
			cli_say_word(t->cell[i + c], CLI_AS_LATEX);
			cli_say(c + 1 < t->n_cols ? " & " : " \\\\\n");
		}
		if (!i)
			cli_say("\\midrule\n");
	}
	cli_say("\\bottomrule\n\\end{tabular}\n");
}

static void print_markdown(const cli_table *t)
{
	for (size_t i = 0; i + t->n_cols <= t->n_cells; i += t->n_cols) {
		cli_say("|");
		for (size_t c = 0; c < t->n_cols; c++) {
			const char *text = t->cell[i + c];
			cli_say(" ");
			cli_say_word(text, CLI_AS_MARKDOWN);
			cli_say(" |");
		}
		cli_say(i ? "\n" : "\n|");
		for (size_t c = 0; !i && c < t->n_cols; c++)
			cli_say(t->align[c] == 'r' ? "---:|" : "---|");
		if (!i)
			cli_say("\n");
	}
}

berth_status cli_table_print(const cli_table *t, cli_format format, berth_err *err)
{
	if (t->failed)
		return berth_nomem(err);
	if (format == CLI_AS_TEXT) {
		size_t *width, rows = t->n_cells / t->n_cols, columns = cli_width();
		BERTH_TRY_NEW(t->mem, t->n_cols, err, width);
		for (size_t i = 0; i < rows * t->n_cols; i++) {
			size_t w = berth_visible_width(t->cell[i], SIZE_MAX);
			width[i % t->n_cols] = w > width[i % t->n_cols] ? w : width[i % t->n_cols];
		}
		for (size_t r = 0; r < rows; r++)
			print_text_row(t, t->cell + r * t->n_cols, width, columns);
		return BERTH_OK;
	}
	if (format == CLI_AS_CSV) {
		for (size_t i = 0; i + t->n_cols <= t->n_cells; i += t->n_cols)
			for (size_t c = 0; c < t->n_cols; c++) {
				put_csv_cell(t->cell[i + c]);
				cli_say(c + 1 < t->n_cols ? "," : "\n");
			}
	} else if (format == CLI_AS_LATEX)
		print_latex(t);
	else
		print_markdown(t);
	return BERTH_OK;
}

berth_status cli_print_json(berth_json_out *w, berth_err *err)
{
	const char *text;
	size_t len;
	BERTH_TRY(berth_json_done(w, &text, &len, err));
	cli_put_whole(text, len);
	return BERTH_OK;
}

char *cli_percent(char buf[32], double fraction)
{
	if (isnan(fraction))
		snprintf(buf, 32, "-");
	else
		snprintf(buf, 32, "%.*f %%",
		         fabs(fraction) < 0.0995  ? 2
		         : fabs(fraction) < 9.995 ? 1
		                                  : 0,
		         fraction * 100);
	return buf;
}

char *cli_count(char buf[32], int64_t count)
{
	if (count >= 10000)
		return berth_text_count(buf, (double)count);
	snprintf(buf, 32, "%lld", (long long)count);
	return buf;
}

char *cli_amount(char buf[32], double x, const char *unit)
{
	berth_text_count(buf, x);
	size_t n = strlen(buf);
	snprintf(buf + n, 32 - n, "%s%.8s", strchr(buf, ' ') ? "" : " ", unit);
	return buf;
}

char *cli_metric(char buf[32], berth_metric m, double value)
{
	char number[32];
	berth_objective alone = berth_objective_of(m);
	if (!berth_metrics[m].per || isnan(value))
		return cli_value(buf, &alone, value);
	if (value > 0)
		snprintf(buf, 32, "%s %ss/s", berth_text_count(number, 1 / value), berth_metrics[m].per);
	else
		snprintf(buf, 32, "unlimited");
	return buf;
}

char *cli_value(char buf[32], const berth_objective *o, double value)
{
	const char *unit = berth_objective_unit(o);
	if (isnan(value))
		snprintf(buf, 32, "-");
	else if (unit[0] == 's')
		berth_text_seconds(buf, value);
	else if (strcmp(unit, "B") == 0)
		berth_text_bytes(buf, value);
	else
		snprintf(buf, 32, "%.*g%s%s", fabs(value) < 999.5 || fabs(value) >= 999999.5 ? 3 : 6,
		         fabs(value) < 999.5 ? value : round(value), *unit ? " " : "", unit);
	return buf;
}

char *cli_bound(char buf[32], const berth_objective *o, double bound)
{
	const char *unit = berth_objective_unit(o);
	return isnan(bound) ? cli_value(buf, o, bound)
	                    : berth_text_down(buf, bound, unit[0] == 's' ? "s" : unit);
}

/* Remember text among those told; *again: it was told before. */
static berth_status note(cli *c, cli_texts *told, const char *text, bool *again, berth_err *err)
{
	*again = false;
	BERTH_TRY(berth_got(text, err));
	for (int32_t i = 0; i < told->n && !*again; i++)
		*again = strcmp(told->text[i], text) == 0;
	if (*again)
		return BERTH_OK;
	return BERTH_PUSH(&c->mem, told->text, told->n, &told->cap, err, text);
}

berth_status cli_note(cli *c, berth_err *err, const char *fmt, ...)
{
	char text[1024];
	bool again;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	BERTH_TRY(note(c, &c->noted, berth_arena_strdup(&c->mem, text), &again, err));
	if (!again && !c->quiet)
		cli_say_error("berth: %s\n", text);
	return BERTH_OK;
}

berth_status cli_warn(cli *c, berth_err *err, const char *fmt, ...)
{
	char text[1024];
	bool again;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	BERTH_TRY(note(c, &c->warned, berth_arena_strdup(&c->mem, text), &again, err));
	if (!again && (c->strict || !c->quiet))
		cli_say_error(c->strict ? "berth: %s\n" : "berth: warning: %s\n", text);
	return BERTH_OK;
}

berth_status cli_strict(const cli *c, berth_err *err)
{
	if (!c->strict || !c->warned.n)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "refused: --strict takes nothing that is warned of");
}

berth_status cli_end_json(const cli *c, berth_json_out *w, berth_err *err)
{
	if (c->warned.n)
		berth_json_put_strings(w, "warnings", c->warned.text, c->warned.n);
	berth_json_close(w, '}');
	return cli_print_json(w, err);
}
