/* Importer "csv": a table with the columns "operator" and "device" among others (RFC 4180), as exporter "csv"
 * writes it, or a spreadsheet made of it. */
#include "import_reading.h"

#include "exporters.h"

typedef struct scan {
	const char *at, *end;
	int32_t line;
	bool last; /* the cell that was read is its row's last one */
} scan;

static void end_row(scan *s)
{
	s->at += s->at < s->end && *s->at == '\r';
	s->at += s->at < s->end && *s->at == '\n';
	s->line++;
	s->last = true;
}

/* A cell without quotes, and what ends it. */
static berth_status end_cell(scan *s, const char *file, berth_err *err)
{
	s->last = false;
	if (s->at == s->end || *s->at == '\r' || *s->at == '\n')
		end_row(s);
	else if (*s->at == ',')
		s->at++;
	else
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s:%d: expected a comma or the end of the row behind \"", file, s->line);
	return BERTH_OK;
}

/* The next cell, in mem. */
static berth_status read_cell(scan *s, const char *file, berth_arena *mem, char **out, berth_err *err)
{
	const char *from = s->at;
	size_t n = 0;
	if (s->at == s->end || *s->at != '"') {
		while (s->at < s->end && !strchr(",\r\n", *s->at))
			s->at++;
		BERTH_TRY(berth_got(*out = berth_arena_strndup(mem, from, (size_t)(s->at - from)), err));
		return end_cell(s, file, err);
	}
	const char *close = ++from;
	while (close < s->end && (*close != '"' || (close + 1 < s->end && close[1] == '"')))
		close += 1 + (*close == '"');
	if (close >= s->end)
		return berth_fail(err, BERTH_EFORMAT, "%s:%d: a cell without its closing \"", file, s->line);
	BERTH_TRY(berth_got(*out = berth_arena_strndup(mem, from, (size_t)(close - from)), err));
	for (const char *c = from; c < close; c++) {
		(*out)[n++] = *c;
		c += *c == '"';
		s->line += *c == '\n';
	}
	(*out)[n] = '\0';
	s->at = close + 1;
	return end_cell(s, file, err);
}

static const char *skip_mark(const char *text, size_t size)
{
	return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
}

/* Columns of the first row; -1: it is not there. */
static berth_status read_head(scan *s, const char *file, berth_arena *mem, int32_t *op, int32_t *device,
                              berth_err *err)
{
	*op = *device = -1;
	s->last = false;
	for (int32_t column = 0; !s->last; column++) {
		BERTH_SCRATCH(mem);
		char *cell;
		BERTH_TRY(read_cell(s, file, mem, &cell, err));
		if (*op < 0 && strcmp(cell, "operator") == 0)
			*op = column;
		if (*device < 0 && strcmp(cell, "device") == 0)
			*device = column;
	}
	return BERTH_OK;
}

static berth_status is(const char *text, size_t size, bool *found, berth_err *err)
{
	BERTH_ARENA(mem);
	scan s = {.at = skip_mark(text, size), .end = text + size, .line = 1};
	int32_t op, device;
	berth_status st = read_head(&s, "", &mem, &op, &device, err);
	*found = st == BERTH_OK && op >= 0 && device >= 0;
	return st == BERTH_ENOMEM ? st : BERTH_OK;
}

static berth_status take_row(berth_import *m, const char *name, const char *device, int32_t line,
                             berth_err *err)
{
	int32_t word, op = berth_strmap_get(&m->ops, name);
	if (op < 0)
		return berth_import_refuse(m, "operator", name, err);
	if (!*device)
		return berth_fail(err, BERTH_EFORMAT, "%s:%d: operator '%.100s' has no device", m->x->file,
		                  line, name);
	BERTH_TRY(berth_import_word(m, device, &word, err));
	return berth_import_tell(m, op, word, err);
}

static berth_status read_row(berth_import *m, scan *s, int32_t op, int32_t device, berth_arena *tmp,
                             berth_err *err)
{
	const char *name = NULL, *word = NULL;
	int32_t line = s->line, column = 0;
	bool empty = true;
	s->last = false;
	for (; !s->last; column++) {
		berth_arena_mark mark = berth_arena_get_mark(tmp);
		char *cell;
		BERTH_TRY(read_cell(s, m->x->file, tmp, &cell, err));
		empty = empty && !*cell;
		if (column == op)
			name = csv_cell_bare(cell);
		else if (column == device)
			word = csv_cell_bare(cell);
		else
			berth_arena_reset(tmp, mark);
	}
	if (empty)
		return BERTH_OK;
	if (!name || !word)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s:%d: the row has %d cell%s, no operator or no device", m->x->file, line,
		                  column, column == 1 ? "" : "s");
	return take_row(m, name, word, line, err);
}

static berth_status read(berth_import *m, berth_arena *tmp, berth_err *err)
{
	scan s = {.at = skip_mark(m->x->text, m->x->size), .end = m->x->text + m->x->size, .line = 1};
	int32_t op, device;
	BERTH_TRY(read_head(&s, m->x->file, tmp, &op, &device, err));
	if (op < 0 || device < 0)
		return berth_fail(err, BERTH_EFORMAT, "%s:1: expected columns 'operator' and 'device'",
		                  m->x->file);
	while (s.at < s.end) {
		BERTH_SCRATCH(tmp);
		BERTH_TRY(read_row(m, &s, op, device, tmp, err));
	}
	return BERTH_OK;
}

const berth_importer berth_import_csv = {
	.name = "csv",
	.about = "a table with the columns operator and device",
	.is = is,
	.read = read,
};
