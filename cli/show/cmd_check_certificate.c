/* berth check-certificate: does a certificate prove its bound? */
#include "certificate.h"
#include "cli_granularity.h"
#include "graph_load.h"
#include "results.h"
#include "sandboxed.h"
#include "say.h"
#include "tell.h"
#include "text.h"

typedef struct args {
	const char *graph, *on;
	cli_granularity granularity;
} args;

typedef struct state {
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_certificate c;
	int64_t proven_ns;
} state;

static bool is_of_another(const state *s)
{
	return strcmp(s->c.graph_name, s->g.name) != 0 || strcmp(s->c.system_name, s->s.name) != 0;
}

/* Names prove nothing: numbers that fit do. */
static berth_status tell_names(cli *c, const char *path, const state *s, berth_err *err)
{
	if (!is_of_another(s))
		return BERTH_OK;
	BERTH_TRY(cli_warn(c, err,
	                   "%s: made for %.80s on %.80s; it is checked for %.80s on %.80s, and holds there",
	                   path, s->c.graph_name, s->c.system_name, s->g.name, s->s.name));
	return cli_strict(c, err);
}

static berth_status judge(cli *c, const char *path, state *s, berth_err *err)
{
	berth_err why = {BERTH_OK, ""};
	berth_status st = berth_certificate_prove(&s->c, &s->p, &c->tmp, &s->proven_ns, &why);
	if (st == BERTH_OK && s->proven_ns < s->c.bound_ns)
		st = berth_certificate_check(&s->c, &s->p, &c->tmp, &why);
	if (st == BERTH_EFORMAT && is_of_another(s))
		return berth_fail(err, st, "%s: made for %.80s on %.80s, not for %.80s on %.80s; %s", path,
		                  s->c.graph_name, s->c.system_name, s->g.name, s->s.name, why.msg);
	if (st == BERTH_EFORMAT)
		return berth_fail(err, st,
		                  "%s: %s; give --dim, --pin, --granularity and their kin as place had them",
		                  path, why.msg);
	return st == BERTH_OK ? st : berth_fail(err, st, "%s: %s", path, why.msg);
}

#define CHECK(K, IF) \
	CLI_PAIR(K, s.g.name, s.s.name) \
	K(TEXT, "objective", "", "", s.c.load ? "throughput" : "latency") \
	K(TEXT, "proof", "", "kind of the proof: `path`, `load`, `relaxation`, `blocks`, `windows`", \
	  berth_certificate_name(s.c.kind)) \
	K(NS, "claimed", "s", "no placement is below it", s.c.bound_ns) \
	K(NS, "proven", "s", "what the certificate really proves, not below the claim", s.proven_ns)
RESULT_KIND(certificate_document, "Check of a certificate",
            "`check-certificate --json`. Exit code 4 where the certificate proves less than it claims.",
            CHECK);

static berth_status run(cli *c, berth_err *err)
{
	args a = {.granularity = cli_granularity_default()};
	state s = {0};
	char bound[32];
	const cli_option options[] = {
		{"graph", 0, CLI_FILE_IN, &a.graph, "GRAPH", "the graph that the certificate is for"},
		CLI_ON(&a.on),
		CLI_GRANULARITY(&a.granularity),
		CLI_COMPRESS(c),
		CLI_RULES(c),
		CLI_FOR(c),
		CLI_INPUT(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, 1, err));
	if (c->help)
		return BERTH_OK;
	BERTH_TRY(cli_granularity_open(c, &a.granularity, err));
	BERTH_TRY(cli_instance_load(c, a.graph, a.on, &s.g, &s.s, NULL, err));
	BERTH_TRY(cli_granularity_apply(c, &a.granularity, &s.g, err));
	BERTH_TRY(berth_problem_new(&s.g, &s.s, &c->mem, &c->tmp, &s.p, err));
	BERTH_JSON_TEXT(x);
	BERTH_TRY(cli_json_map(c, BERTH_READS_CERTIFICATE, c->args[0], &x, err));
	BERTH_TRY(berth_certificate_parse(c->args[0], x.text, x.size, &s.p, &c->mem, &c->tmp, &s.c, err));
	BERTH_TRY(judge(c, c->args[0], &s, err));
	BERTH_TRY(tell_names(c, c->args[0], &s, err));
	const berth_result *r = RESULT_NEW(&c->mem, certificate_document, CHECK);
	BERTH_TRY(cli_result(c, r, err));
	if (!cli_in_words(c))
		return BERTH_OK;
	cli_tell(r, NULL, "{graph} on {system}: proven by {proof}: no placement has a ");
	cli_say("%s below %s\n", s.c.load ? "largest load" : "latency",
	        berth_text_down(bound, (double)s.c.bound_ns * 1e-9, "s"));
	return BERTH_OK;
}

static const cli_rule rules[] = {{"", "!graph", "check-certificate: --graph GRAPH is missing"}};

const cli_verb cmd_check_certificate = {
	"check-certificate", "check-certificate FILE --graph GRAPH --on SYSTEM",
	"check why no placement is better than a bound",
	"FILE is what 'place --certificate' wrote. It is checked in whole numbers, by code of its own. Rules "
	"and words are given as place had them: --dim, --pin, --granularity. One that proves less than it "
	"claims is an error.\n"
	"Example: berth place model.onnx --on system:laptop --certificate proof.json && "
	"berth check-certificate proof.json --graph model.onnx --on system:laptop\n",
	run,
	CLI_RULES_OF(rules)};
