/* --certificate of place: is it asked for where there can be one, is it made and written, and what does it
 * prove of the bound that is told? */
#include "place_certificate.h"

#include "engine_rules.h"
#include "file.h"
#include "print.h"
#include "say.h"

enum { TREE_NODES = 20000 };

berth_status place_certificate_check(const place_certificate *x, const berth_objective *o, bool copies,
                                     berth_err *err)
{
	bool one = berth_objective_is(o, BERTH_LATENCY) || berth_objective_is(o, BERTH_THROUGHPUT);
	if (x->path && copies)
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --certificate is for one graph, once, as check-certificate reads "
		                  "it: leave out --replicas and further graphs");
	if (!x->path || (one && !berth_objective_has_limits(o)))
		return BERTH_OK;
	return berth_fail(
		err, BERTH_EINVAL,
		"place: --certificate is for the objectives latency and throughput, without limits");
}

berth_status place_certificate_check_system(const place_certificate *x, const berth_system *s, berth_err *err)
{
	if (!x->path || s->cost_model->strong_bounds)
		return BERTH_OK;
	if (s->engine)
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --certificate is of the execution model, and the plan is for %s: "
		                  "--for none places for no engine",
		                  s->engine->title);
	return berth_fail(err, BERTH_EINVAL,
	                  "place: --certificate is of the execution model, and the system has the cost model "
	                  "%s: leave it out",
	                  s->cost_model->name);
}

berth_status place_certificate_write(cli *c, const cli_budget *b, const berth_problem *p,
                                     const berth_solution *r, place_certificate *x, berth_err *err)
{
	const char *text;
	size_t len;
	if (!x->path || !(r->lower_bound > 0))
		return BERTH_OK;
	bool load = berth_objective_is(&r->objective, BERTH_THROUGHPUT);
	berth_bound_proof proof = {.mem = &c->mem, .load = load, .nodes = TREE_NODES};
	x->told_ns =
		load ? (int64_t)floor(r->lower_bound * 1e9 * (1 + 1e-12)) : llround(r->lower_bound * 1e9);
	BERTH_TRY(cli_budget_certify(b, p, &r->objective, x->told_ns, &proof, &c->tmp, err));
	if (!proof.any)
		return BERTH_OK;
	x->proven_ns = proof.best.bound_ns;
	x->proof = berth_certificate_name(proof.best.kind);
	BERTH_TRY(berth_certificate_write(&proof.best, p, &c->mem, &text, &len, err));
	return berth_file_write(x->path, text, len, err);
}

#define CERTIFICATE(K, IF) \
	K(TEXT_OR_NULL, "proof", "", \
	  "its kind; null: there is no bound, or the search was interrupted", x->proof) \
	K(NS, "bound", "s", "what it proves", x->proven_ns) \
	K(BOOL, "whole", "", "that is all of `lower_bound`", x->proof && x->proven_ns >= x->told_ns)
RESULT_KIND(certificate_kind, "", "", CERTIFICATE);

const berth_result *place_certificate_result(cli *c, const place_certificate *x)
{
	return x->path ? RESULT_NEW(&c->mem, certificate_kind, CERTIFICATE) : NULL;
}

void place_certificate_print(const place_certificate *x, bool interrupted)
{
	char proven[32];
	if (!x->path)
		return;
	if (!x->proof) {
		cli_say("no certificate: %s\n",
		        interrupted ? "the search was interrupted" : "there is no bound");
		return;
	}
	cli_say("certificate written to %s: it proves %s, ", x->path,
	        berth_text_down(proven, (double)x->proven_ns * 1e-9, "s"));
	if (x->proven_ns >= x->told_ns)
		cli_say("all of the bound\n");
	else
		cli_say("%.2f %% of the bound\n", 100.0 * (double)x->proven_ns / (double)x->told_ns);
}
