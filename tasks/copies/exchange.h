/* What it takes to exchange gradients among copies, transfer by transfer: see docs/clusters.md. A transfer
 * starts when what it carries is there, and takes the channels on its way as they become free; transfers that
 * are ready earlier go first. A simulation of the whole tells what this leaves out. */
#pragma once

#include "copies.h"

typedef enum berth_exchange_kind {
	BERTH_EXCHANGE_BEST,   /* whichever is shorter */
	BERTH_EXCHANGE_RING,   /* all-reduce around the hosts that take part, in their order */
	BERTH_EXCHANGE_SERVER, /* one of the hosts gets all gradients and sends the sums back */
	/* all-reduce around the devices of all copies, each whole on one device, as collective libraries do;
	 * BEST looks at it where links have figures for collectives */
	BERTH_EXCHANGE_DEVICES,
	BERTH_EXCHANGE_NONE    /* there is one copy */
} berth_exchange_kind;

/* One copy that takes part. */
typedef struct berth_member {
	int32_t host;
	const berth_crew *crew;
	int32_t batch; /* index */
} berth_member;

typedef struct berth_exchange {
	berth_exchange_kind kind;
	int32_t server; /* host; -1: none */
	double time_s, energy_j;
} berth_exchange;

/* Scratch of one thread. */
typedef struct berth_exchanger {
	const berth_copies *x;
	berth_problem probe;    /* its one tensor has the size of all gradients: routes */
	bool *on;               /* [n_hosts] of the configuration at hand */
	double *channel_free_s; /* [n_channels] when each is free again; -1: it was never used */
	int32_t *touched;       /* [n_channels] those that were */
	int32_t n_touched;
	double *ready_s;         /* [n_hosts] when the lead of each has all that it is to have */
	double *now_s, *next_s;  /* [n_devs] */
	int32_t *order;          /* [n_devs] */
	bool collectives;        /* links have figures for those */
	bool stuck;               /* a route leads over a host that takes no part */
	/* of links; what no exchange is shorter than */
	double least_latency_s, most_bandwidth;
	int32_t most_ways; /* channels that lead out of any host, at most */
} berth_exchanger;

/* In mem; tmp is scratch, another arena, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_exchanger_new(const berth_copies *x, berth_arena *mem, berth_arena *tmp,
                                 berth_exchanger *out, berth_err *err);

/* "best", "ring", "server", "devices", "none". */
const char *berth_exchange_name(berth_exchange_kind kind);

/* The exchange among member[n], ordered by host: the kind that was asked for, BERTH_EXCHANGE_NONE where n is
 * 1. time_s is what it takes longer than the slowest copy. False: some of them cannot reach each other
 * without another host. O(members^2 + hosts^2 * (hosts + route)). */
bool berth_exchange_of(berth_exchanger *e, const berth_member *member, int32_t n, berth_exchange_kind kind,
                       berth_exchange *out);

/* No exchange among n_hosts hosts takes less. */
double berth_exchange_least_s(const berth_exchanger *e, int32_t n_hosts, berth_exchange_kind kind);
