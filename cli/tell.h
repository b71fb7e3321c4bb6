/* Results (base/result.h) for people: text by templates, tables, Markdown and CSV, and the document of
 * --json.
 *
 * A template is text with keys in it:
 *
 *	{latency_s}        the value, as its unit tells: seconds "11.2 ms", bytes "3.2 GiB", FLOP
 *	                   "3.63 GFLOP", a share "4.37 %", "of the objective" as the objective is told;
 *	                   "-" where it is null or missing
 *	                   of a map of numbers the three largest, "Conv 71 %, Gemm 12 %"
 *	{base.value}       of an object within
 *	{value|status}     the other one where the first is null
 *	{ops operator}     "1 operator", "122 operators"; {n copy|copies} for other plurals; of a list its
 *	                   length
 *	{ratio:.2f}        a number by that format; of printf's, the letters d, f, g and e
 *	{n:K}              a count: "9999", "10.0 K"; {x:count} "3.63 M"; {gap:%} a share; {bytes:B}
 *	                   bytes; {x:s} seconds;
 *	                   {x:1/.2f} one over it
 *	{resumed?words}    the words where the value is there, and not 0, false or empty; {resumed!words}
 *	                   else
 *	[...]              left out where a value that is told in it is null, missing, 0, false or empty.
 *	                   Not nested.
 *	\{ and \[          the signs themselves */
#pragma once

#include "print.h"
#include "result.h"
#include "say.h"

/* Print by a template. o: how values "of the objective" are told; NULL: as numbers. */
void cli_tell_by(cli_sayer say, const berth_result *r, const berth_objective *o, const char *text);
/* The same on standard output. */
void cli_tell(const berth_result *r, const berth_objective *o, const char *text);

/* The same text, in mem. NULL: out of memory. */
const char *cli_told(berth_arena *mem, const berth_result *r, const berth_objective *o, const char *text);

/* Texts with a sign between, in c->mem. NULL: BERTH_ENOMEM, of which err tells. */
const char *cli_join(cli *c, berth_result_value texts, const char *sign, berth_err *err);

/* One value by its unit, or by a format of the templates ("": none). buf of 512 bytes. */
char *cli_tell_value(char buf[512], const berth_result *r, const berth_objective *o, const char *key,
                     const char *format);

/* A table with a row for each object. columns: "heading=cell|heading=cell", a cell being a key or a template.
 * Cells of a text key alone, and cells of headings that begin with <, stand left, the others right; a
 * template there that comes to nothing is "-". Prints nothing
 * where there is no row. Fails: BERTH_ENOMEM. */
berth_status cli_tell_rows(cli *c, const berth_result_list *list, const berth_objective *o, cli_format format,
                           const char *columns, berth_err *err);

/* Every key that is no object or list, as it stands in JSON, in columns; empty: null or missing. */
berth_status cli_tell_all(cli *c, const berth_result_list *list, cli_format format, berth_err *err);

/* The document, with what was warned of. Fails: BERTH_ENOMEM. */
berth_status cli_put_result(const cli *c, const berth_result *r, berth_err *err);

/* What becomes of a verb's result: the document with --json; where it is told in words (cli_in_words) the
 * caller does that. Fails: BERTH_ENOMEM. */
berth_status cli_result(const cli *c, const berth_result *r, berth_err *err);
