/* Tables and documents; see print.h. */
#include "print.h"

#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void cli_table_head(cli_table *t, const char *words)
{
	for (size_t n; *words; words += n + (words[n] == '|')) {
		n = strcspn(words, "|");
		cli_cell(t, "%.*s", (int)n, words);
	}
}

/* Characters of a UTF-8 text. */
static size_t width_of(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void spaces(size_t n)
{
	for (; n; n--)
		putchar(' ');
}

static void print_text_row(const cli_table *t, const char **row, const size_t *width)
{
	for (size_t c = 0; c < t->n_cols; c++) {
		size_t pad = width[c] - width_of(row[c]);
		spaces(c ? 2 : 0);
		if (t->align[c] == 'r')
			spaces(pad);
		fputs(row[c], stdout);
		if (t->align[c] != 'r' && c + 1 < t->n_cols)
			spaces(pad);
	}
	putchar('\n');
}

static berth_status print_text(const cli_table *t, berth_err *err)
{
	size_t *width, rows = t->n_cells / t->n_cols;
	BERTH_TRY(BERTH_NEW(t->mem, width, t->n_cols, err));
	for (size_t i = 0; i < rows * t->n_cols; i++) {
		size_t w = width_of(t->cell[i]);
		width[i % t->n_cols] = w > width[i % t->n_cols] ? w : width[i % t->n_cols];
	}
	for (size_t r = 0; r < rows; r++)
		print_text_row(t, t->cell + r * t->n_cols, width);
	return BERTH_OK;
}

static void print_csv_cell(const char *s)
{
	if (!strpbrk(s, ",\"\n")) {
		fputs(s, stdout);
		return;
	}
	putchar('"');
	for (; *s; s++) {
		if (*s == '"')
			putchar('"');
		putchar(*s);
	}
	putchar('"');
}

static void print_csv(const cli_table *t)
{
	for (size_t i = 0; i + t->n_cols <= t->n_cells; i += t->n_cols)
		for (size_t c = 0; c < t->n_cols; c++) {
			print_csv_cell(t->cell[i + c]);
			putchar(c + 1 < t->n_cols ? ',' : '\n');
		}
}

static void print_markdown(const cli_table *t)
{
	for (size_t i = 0; i + t->n_cols <= t->n_cells; i += t->n_cols) {
		putchar('|');
		for (size_t c = 0; c < t->n_cols; c++)
			printf(" %s |", t->cell[i + c]);
		printf("%s", i ? "\n" : "\n|");
		for (size_t c = 0; !i && c < t->n_cols; c++)
			printf("%s", t->align[c] == 'r' ? "---:|" : "---|");
		if (!i)
			putchar('\n');
	}
}

berth_status cli_table_print(const cli_table *t, cli_format format, berth_err *err)
{
	if (t->failed)
		return berth_nomem(err);
	if (format == CLI_AS_TEXT)
		return print_text(t, err);
	if (format == CLI_AS_CSV)
		print_csv(t);
	else
		print_markdown(t);
	return BERTH_OK;
}

berth_status cli_print_json(berth_json_out *w, berth_err *err)
{
	const char *text;
	size_t len;
	BERTH_TRY(berth_json_done(w, &text, &len, err));
	fwrite(text, 1, len, stdout);
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

/* Remember text; *again: it was told before. */
static berth_status note(cli *c, const char *text, bool *again, berth_err *err)
{
	*again = false;
	if (!text)
		return berth_nomem(err);
	for (int32_t i = 0; i < c->warned.n && !*again; i++)
		*again = strcmp(c->warned.text[i], text) == 0;
	if (*again)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(&c->mem, c->warned.text, c->warned.n, &c->warned.cap, err));
	c->warned.text[c->warned.n++] = text;
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
	BERTH_TRY(note(c, berth_arena_strdup(&c->mem, text), &again, err));
	if (!again && (c->strict || !c->quiet))
		fprintf(stderr, c->strict ? "berth: %s\n" : "berth: warning: %s\n", text);
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
		berth_json_open(w, "warnings", '[');
	for (int32_t i = 0; i < c->warned.n; i++)
		berth_json_put_string(w, NULL, c->warned.text[i]);
	if (c->warned.n)
		berth_json_close(w, ']');
	berth_json_close(w, '}');
	return cli_print_json(w, err);
}
