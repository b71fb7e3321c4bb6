/* What the parts of berth configure --serve share: servers by kinds and a layout, and how these are told. */
#pragma once

#include "cmd_configure.h"

#include "progress.h"
#include "serving_requests.h"

/* Why nothing was found, and what would be. */
typedef struct serve_short {
	/* Proven to fail first: memory, latency, first, token; both: each of the last two alone may be kept.
	 * NULL: unknown */
	const char *limit;
	double asked, least; /* seconds; bytes that there are, and that are needed. NAN: unknown */
	bool one;            /* bytes of one device, and of one layer */
	bool no_weights;     /* bytes beside these */
	double kept_s[2];    /* limits that were tried last: of a sample, or first and token; 0: none */
	double kept_per_s;   /* by that; 0: nothing keeps them that was found */
} serve_short;

/* What an engine is told of the model beside its layers. */
typedef struct serve_engine {
	const char *path, *cache; /* what it loads; the type of cached keys and values */
	int64_t batch;            /* sequences of a sample */
} serve_engine;

/* How long searches may go on, and the line that tells how far they are. */
typedef struct serve_watch {
	cli_progress progress;
	berth_search_cfg cfg; /* open: its progress and cancel are set */
	const char *what, *of; /* that is searched for; counted a second */
	double told_s;         /* by the clock; 0: not yet */
} serve_watch;

typedef struct serve_view {
	berth_system s;
	berth_cluster c;
	berth_granularity blocks;
	int64_t *n_servers;     /* [n_hosts] */
	double most_s;          /* that a sample may take; 0: no limit */
	double quickest_s;      /* no layout has a sample quicker; 0: unknown */
	const serve_short *why; /* where nothing was found; else NULL */
	serve_watch watch;
	const berth_serving *x; /* at the batch of the copies */
	int64_t batch;
	berth_serving_plan plan;   /* its rates: in samples; periods: of a batch */
	const cli_texts *given;    /* HOST:FIRST-LAST, a layout to be valued; empty: one is searched for */
	const berth_serving *laid; /* has the devices that the layout is for */
	berth_layers layout;
	const berth_request_plan *requests; /* [BERTH_N_REQUEST_WAYS] for whole requests; NULL: none */
	int64_t context; /* tokens of the longest request, or of a sample */
	const char *sample; /* what a language model does for one: "token" or "prompt"; NULL: unknown */
	int64_t sequences;  /* of a sample */
	serve_engine engine; /* zero: JSON or nothing is written */
	bool apart;                         /* of twice the layers, the first half reads */
	const char *const *no_link;         /* [n_no_links] "a to b": kinds of servers without one */
	int32_t n_no_links;
} serve_view;

enum { SERVE_MOST_LENGTHS = 16 };
/* What --requests gives, into out [SERVE_MOST_LENGTHS]: lengths with their shares, or of @FILE classes; and
 * the tokens of the longest request.
 * Fails: BERTH_EINVAL, BERTH_EFORMAT (a bad line, by its number), BERTH_EIO, BERTH_ENOMEM. */
berth_status serve_read_requests(cli *c, const cli_texts *given, berth_request_kind *out, int32_t *n,
                                 int64_t *longest, berth_err *err);
/* --serve into v->n_servers, for the hosts of v->c. Fails: BERTH_EINVAL. */
berth_status serve_read_servers(cli *c, const cli_texts *given, serve_view *v, berth_err *err);
/* The kinds of v->x without links, into v. Fails: BERTH_ENOMEM. */
berth_status serve_find_links(cli *c, serve_view *v, berth_err *err);
/* ", where no link goes from a to b"; empty where all have links. In c->mem. */
berth_status serve_name_links(cli *c, const serve_view *v, const char **text, berth_err *err);
/* The bytes that layers of x need at the least, where nodes have too few: true, and into why. */
bool serve_lacks_memory(const berth_serving *x, serve_short *why);
/* ": they need 3 GB, and ..."; empty where that is unknown. In c->mem. */
berth_status serve_tell_memory(cli *c, const serve_short *why, const char **text, berth_err *err);
/* "weights of fewer bits (the word weights), ", or what else lets layers need less. */
const char *serve_fewer_bits(const serve_short *why);
/* From here on signals ask for the end. close must follow. Fails: BERTH_ENOMEM. */
berth_status serve_watch_open(cli *c, const cli_budget *budget, const char *of, serve_watch *w,
                              berth_err *err);
void serve_watch_close(serve_watch *w);
/* Was the search asked to end, with what there is? Fails: BERTH_EINTERRUPTED; where nothing was `found` also
 * BERTH_EINFEASIBLE, if the time was over. */
berth_status serve_check_end(const cli *c, const serve_view *v, bool found, berth_err *err);
/* Are layers held singly looked at, and bounded? */
bool serve_has_layouts(const serve_view *v);
bool serve_found(const serve_view *v);
/* Of a node of v->layout with layers from there on: read, answer or both. */
const char *serve_use(const serve_view *v, int32_t from);
/* With two digits, up. */
double serve_round_up(double s);
/* Which devices of the kinds of x take part. */
void serve_tell_devices(const berth_serving *x);
/* What a sample is, and which layers the first and the last are. */
void serve_tell_words(const serve_view *v);
/* What the system lacks of devices that take part at one of n batches. g: what they run. Fails: BERTH_ENOMEM,
 * and as cli_strict. */
berth_status serve_warn(cli *c, const char *on, const serve_view *v, const berth_serving *x, int32_t n,
                        const berth_graph *g, berth_err *err);
/* Which kinds have no links, if any. */
void serve_tell_links(const serve_view *v);
/* v->layout as a table. Fails: BERTH_ENOMEM. */
berth_status serve_print_groups(cli *c, const serve_view *v, berth_err *err);
/* Copies, as long as layers held singly do not serve a thousandth more; as text. Fails: BERTH_ENOMEM. */
berth_status serve_tell(cli *c, const serve_view *v, berth_err *err);
/* For a target of lines (else nothing is done): can it be told of the model that spec names? Fails:
 * BERTH_EINVAL (no file, or of another format), as model_words of exporters, BERTH_EIO, BERTH_ENOMEM. */
berth_status serve_open_engine(cli *c, const char *spec, const configure_out *to, serve_engine *out,
                               berth_err *err);
/* What was told into the file at path, for a target. Warns of what it cannot be told. Fails:
 * BERTH_EUNSUPPORTED (no path), BERTH_EINVAL, BERTH_EIO, BERTH_ENOMEM. */
berth_status serve_write(cli *c, const serve_view *v, const char *path, int32_t to, berth_err *err);
/* The document. Fails: BERTH_ENOMEM. */
berth_status serve_result(cli *c, const serve_view *v, berth_err *err);
