/* What the parts of berth configure --serve share: servers by kinds and a layout, and how these are told. */
#pragma once

#include "cmd_configure.h"

#include "serving_requests.h"

typedef struct serve_view {
	berth_system s;
	berth_cluster c;
	berth_granularity blocks;
	int64_t *n_servers;     /* [n_hosts] */
	double most_s;          /* that a sample may take; 0: no limit */
	const berth_serving *x; /* at the batch of the copies */
	int64_t batch;
	berth_serving_plan plan;   /* its rates: in samples; periods: of a batch */
	const berth_serving *laid; /* has the devices that the layout is for */
	berth_layers layout;
	const berth_request_plan *requests; /* [BERTH_N_REQUEST_WAYS] for whole requests; NULL: none */
	bool apart;                         /* of twice the layers, the first half reads */
} serve_view;

/* --serve into v->n_servers, for the hosts of v->c. Fails: BERTH_EINVAL. */
berth_status serve_read_servers(cli *c, const cli_texts *given, serve_view *v, berth_err *err);
/* Which devices of the kinds of x take part. */
void serve_tell_devices(const berth_serving *x);
/* v->layout as a table. Fails: BERTH_ENOMEM. */
berth_status serve_print_groups(cli *c, const serve_view *v, berth_err *err);
/* The document. Fails: BERTH_ENOMEM. */
berth_status serve_result(cli *c, const serve_view *v, berth_err *err);
