/* The hosts of a system: which devices belong together, which hosts are equal, and through which device a
 * host talks to the others. */
#pragma once

#include "problem.h"

typedef struct berth_cluster {
	const berth_system *s;
	int32_t n_hosts;
	const char **host_name;       /* [n_hosts] in the order of their first devices */
	int32_t *host_off, *host_dev; /* devices by host, ascending: host_dev[host_off[h]] .. */
	int32_t *dev_host;            /* [n_devs] */
	/* [n_hosts] the device that other hosts are talked to through: the first of those with the most links
	 * to other hosts; where no host has such links, with the most links */
	int32_t *host_lead;
	/* [n_hosts] the first host that is equal: the two can change places, and the system is the same */
	int32_t *host_like;
	int32_t *dev_like;   /* [n_devs] the first device of its host that is equal in the same sense */
	double *host_idle_w; /* [n_hosts] of all its devices; NAN: not known */
} berth_cluster;

/* The hosts of s, by the devices' key `host`. A system without the key is one host. All lives in mem and
 * borrows s; tmp is scratch, reset at exit. Fails: BERTH_EFORMAT (some devices have a host and others not,
 * naming one), BERTH_ENOMEM. O(hosts^2 * links). */
berth_status berth_cluster_new(const berth_system *s, berth_arena *mem, berth_arena *tmp, berth_cluster *out,
                               berth_err *err);

/* A problem of two operators with one tensor of so many bytes between them: its way and its time between any
 * two devices. In mem; tmp is scratch, another arena. Fails: BERTH_ENOMEM. */
berth_status berth_cluster_probe(const berth_cluster *c, int64_t bytes, berth_arena *mem, berth_arena *tmp,
                                 berth_problem *out, berth_err *err);

/* Have two devices alike all that times, memory and costs come from? Their kinds' names may differ. */
bool berth_device_figures_same(const berth_system *s, int32_t a, int32_t b);

static inline int32_t berth_host_size(const berth_cluster *c, int32_t host)
{
	return c->host_off[host + 1] - c->host_off[host];
}
