/* Samples in flight; see report_pipeline.h. */
#include "report_pipeline.h"

#include "say.h"
#include "text.h"


berth_status report_pipeline_find(cli *c, const berth_problem *p, const berth_timeline *t,
                                  const berth_objective *o, report_pipeline *out, berth_err *err)
{
	report_pipeline x = {.told = t->r.runs && berth_objective_is(o, BERTH_THROUGHPUT) &&
	                             berth_pipeline_defined(p)};
	if (x.told)
		BERTH_TRY(berth_pipeline_new(p, t, &c->mem, &c->tmp, &x.x, err));
	x.told = x.told && x.x.period_ns > 0;
	*out = x;
	return BERTH_OK;
}

void report_put_pipeline(berth_json_out *w, const berth_problem *p, const report_pipeline *x)
{
	if (!x->told)
		return;
	berth_json_open(w, "pipeline", '{');
	berth_json_put_ns(w, "period_s", x->x.period_ns);
	berth_json_put_ns(w, "latency_s", x->x.latency_ns);
	berth_json_put_int(w, "samples_in_flight", x->x.in_flight);
	berth_json_put_bool(w, "fits", x->x.fits);
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < p->n_devs; d++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", p->s->dev_name[d]);
		berth_json_put_int(w, "peak_memory_bytes", x->x.peak_bytes[d]);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

void report_print_pipeline(const berth_problem *p, const report_pipeline *x)
{
	char a[32], b[32];
	if (!x->told)
		return;
	cli_say("\n%lld sample%s in flight, each for %s; peak memory is that of all of them\n",
	        (long long)x->x.in_flight, x->x.in_flight == 1 ? "" : "s",
	        berth_text_seconds(a, (double)x->x.latency_ns / 1e9));
	for (int32_t d = 0; d < p->n_devs; d++)
		if (p->dev_limit_bytes[d] >= 0 && x->x.peak_bytes[d] > p->dev_limit_bytes[d])
			cli_say("  too much for %s, which may hold %s: this throughput needs %s there\n",
			        p->s->dev_name[d], berth_text_bytes(a, (double)p->dev_limit_bytes[d]),
			        berth_text_bytes(b, (double)x->x.peak_bytes[d]));
}
