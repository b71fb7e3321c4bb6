/* The progress bar. */
#include "progress.h"

#include "print.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { BAR_WIDTH = 10 };
#define LINE_EVERY_S 10.0

/* Part of the budget that is used, 0 to 1. */
static double part_of(const cli_progress *p, const berth_progress *now, double seconds)
{
	double by_count = p->evaluations > 0 ? (double)now->evaluations / (double)p->evaluations : 0;
	double by_time = p->time_s > 0 ? seconds / p->time_s : 0;
	return fmin(1, fmax(by_count, by_time));
}

static void print_value(const cli_progress *p, const berth_progress *now)
{
	char value[32], gap[32];
	if (!berth_score_feasible(now->best))
		fprintf(stderr, "none fits yet");
	else
		fprintf(stderr, "%s (gap %s)", cli_value(value, &p->objective, now->best.value),
		        cli_percent(gap, berth_gap(now->best.value, now->bound)));
}

void cli_progress_tell(cli_progress *p, const berth_progress *now)
{
	double clock = berth_wall_seconds(), part = part_of(p, now, clock - p->started);
	char count[32], rate[32];
	if (!p->on || (!p->terminal && clock - p->told < LINE_EVERY_S))
		return;
	p->told = clock;
	if (p->terminal) {
		fprintf(stderr, "\r\033[K%s [", p->label);
		for (int i = 0; i < BAR_WIDTH; i++)
			fputc(i < (int)(part * BAR_WIDTH) ? '#' : '.', stderr);
		fprintf(stderr, "] ");
	} else {
		fprintf(stderr, "%s ", p->label);
	}
	fprintf(stderr, "%.0f %% ", part * 100);
	print_value(p, now);
	fprintf(stderr, ", %s tried, %s/s%s", berth_text_count(count, (double)now->evaluations),
	        berth_text_count(rate, now->evaluations_per_s), p->terminal ? "" : "\n");
	fflush(stderr);
	p->shown = true;
}

static void tell(void *ctx, const berth_progress *now)
{
	cli_progress_tell(ctx, now);
}

void cli_progress_start(cli_progress *p, const cli *c, const char *label, berth_search_cfg *cfg)
{
	double now = berth_wall_seconds();
	*p = (cli_progress){.on = !c->quiet,
	                    .terminal = isatty(STDERR_FILENO),
	                    .objective = cfg->objective,
	                    .time_s = cfg->time_s};
	p->started = p->told = now;
	p->evaluations = cfg->evaluations < BERTH_UNLIMITED ? cfg->evaluations : 0;
	snprintf(p->label, sizeof p->label, "%.12s", label);
	cfg->progress = p->on ? tell : NULL;
	cfg->progress_ctx = p;
}

void cli_progress_end(cli_progress *p)
{
	if (p->shown && p->terminal)
		fprintf(stderr, "\r\033[K");
}
