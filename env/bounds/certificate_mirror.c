/* Devices of a case that are mirror images: exchanging them changes no time, limit or channel's work. See
 * certificate_cases.h. */
#include "certificate_cases.h"
#include "certificate_check.h"

#include <string.h>

enum { MOST_CHANNELS = 256 };

static int32_t exchanged(int32_t l, int32_t d, int32_t e)
{
	return l == d ? e : l == e ? d : l;
}

static bool same_device(const berth_problem *p, int32_t d, int32_t e)
{
	for (int32_t op = 0; op < p->n_ops; op++)
		if (berth_op_legal(p, op, d) != berth_op_legal(p, op, e) ||
		    (berth_op_legal(p, op, d) && berth_op_time(p, op, d) != berth_op_time(p, op, e)))
			return false;
	return p->s->dev_slots[d] == p->s->dev_slots[e] && berth_dev_pool(p, d) == berth_dev_pool(p, e) &&
	       p->dev_limit_bytes[d] == p->dev_limit_bytes[e];
}

/* Two routes of a class with the same hops, over channels that stand for each other. */
static bool same_way(const berth_problem *p, int32_t class, int32_t r, int32_t q, int32_t *image,
                     int32_t *origin)
{
	const int64_t *hop = p->class_link_ns + (size_t) class * (size_t)p->s->n_links;
	int32_t n = p->route_off[r + 1] - p->route_off[r];
	if (n != p->route_off[q + 1] - p->route_off[q])
		return false;
	for (int32_t h = 0; h < n; h++) {
		int32_t a = p->route_link[p->route_off[r] + h], b = p->route_link[p->route_off[q] + h];
		int32_t u = p->s->link_channel[a], v = p->s->link_channel[b];
		if (hop[a] != hop[b] || (image[u] >= 0 && image[u] != v) ||
		    (origin[v] >= 0 && origin[v] != u))
			return false;
		image[u] = v;
		origin[v] = u;
	}
	return true;
}

static bool mirror_images(const berth_problem *p, int32_t d, int32_t e)
{
	int32_t image[MOST_CHANNELS], origin[MOST_CHANNELS];
	size_t devs = (size_t)p->n_devs;
	if (p->s->n_channels > MOST_CHANNELS || !same_device(p, d, e))
		return false;
	memset(image, 0xff, sizeof image);
	memset(origin, 0xff, sizeof origin);
	for (int32_t c = 0; c < p->n_classes; c++)
		for (int32_t k = 0; k < p->n_devs; k++)
			for (int32_t l = 0; l < p->n_devs; l++) {
				const int32_t *route = p->class_pair_route + (size_t)c * devs * devs;
				const int64_t *ns = p->class_pair_ns + (size_t)c * devs * devs;
				size_t at = (size_t)k * devs + (size_t)l,
				       to = (size_t)exchanged(k, d, e) * devs + (size_t)exchanged(l, d, e);
				if (k != l && (ns[at] != ns[to] ||
				               !same_way(p, c, route[at], route[to], image, origin)))
					return false;
			}
	return true;
}

bool berth_case_mirrored(berth_block *b, const berth_case *c, int32_t d, int32_t e)
{
	int8_t *known = &b->mirror[(size_t)d * (size_t)b->p->n_devs + (size_t)e];
	for (int32_t i = 0; i < b->n; i++) {
		bool on_d = c->dev[i] >> d & 1, on_e = c->dev[i] >> e & 1;
		if (on_d != on_e || (berth_case_fixed(c, i) && (on_d || on_e)))
			return false;
	}
	if (*known < 0)
		*known = mirror_images(b->p, d, e);
	return *known;
}
