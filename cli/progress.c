/* The line of progress of a long run, written over and over. It tells the part of the budget that is used, on
 * a terminal only. */
#include "progress.h"

#include "print.h"
#include "say.h"

#include <stdarg.h>
#include <unistd.h>

enum { BAR_WIDTH = 10 };

void cli_progress_open(cli_progress *p, const cli *c, const char *label)
{
	*p = (cli_progress){.on = !c->quiet && isatty(STDERR_FILENO), .started = berth_wall_seconds()};
	berth_visible_copy(p->label, sizeof p->label, label, SIZE_MAX);
}

void cli_progress_end(cli_progress *p)
{
	if (p->shown)
		cli_say_error("\r\033[K");
	p->shown = false;
}

void cli_progress_line(cli_progress *p, const char *fmt, ...)
{
	va_list args;
	if (!p->on)
		return;
	cli_say_error("\r\033[K%s", p->label);
	va_start(args, fmt);
	cli_vsay_error(fmt, args);
	va_end(args);
	p->shown = true;
}

void cli_progress_count(void *ctx, const char *what, int32_t done, int32_t of)
{
	cli_progress_line(ctx, ": %s %d of %d", what, (int)done, (int)of);
}

/* Show where a search is, as a bar, the incumbent with its gap, and the speed. */
static void tell_progress(cli_progress *p, const berth_progress *now)
{
	char bar[BAR_WIDTH + 1] = "", best[80] = "none fits yet", value[32], gap[32], count[32], rate[32];
	/* Part of the budget that is used, 0 to 1. */
	double by_count = p->evaluations > 0 ? (double)now->evaluations / (double)p->evaluations : 0;
	double by_time = p->time_s > 0 ? (berth_wall_seconds() - p->started) / p->time_s : 0;
	double part = fmin(1, fmax(by_count, by_time));
	for (int i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < (int)(part * BAR_WIDTH) ? '#' : '.';
	if (berth_score_feasible(now->best))
		snprintf(best, sizeof best, "%s (gap %s)", cli_value(value, &p->objective, now->best.value),
		         cli_percent(gap, berth_gap(now->best.value, now->bound)));
	cli_progress_line(p, " [%s] %.0f %% %s, %s tried, %s/s", bar, part * 100, best,
	                  berth_text_count(count, (double)now->evaluations),
	                  berth_text_count(rate, now->evaluations_per_s));
}

static void tell(void *ctx, const berth_progress *now)
{
	tell_progress(ctx, now);
}

void cli_progress_start(cli_progress *p, const cli *c, const char *label, berth_search_cfg *cfg)
{
	cli_progress_open(p, c, label);
	p->objective = cfg->objective;
	p->time_s = cfg->time_s;
	p->evaluations = cfg->evaluations < (INT64_C(1) << 53) ? cfg->evaluations : 0;
	cfg->progress = p->on ? tell : NULL;
	cfg->progress_ctx = p;
}
