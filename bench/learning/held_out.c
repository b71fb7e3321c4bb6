/* See held_out.h. */
#include "held_out.h"

#include <stdio.h>

const char *const held_out_graphs[HELD_OUT_GRAPHS] = {
	"zoo:inception-v3:batch=16",
	"zoo:inception-v3:batch=8:training=1",
	"zoo:nasnet-a:size=mobile:batch=8",
	"zoo:nasnet-a:batch=8",
	"zoo:gpt2",
	"zoo:gpt2:batch=8:training=1",
	"zoo:vit:batch=8",
	"zoo:unet",
	"zoo:gnmt:seq=6",
	"zoo:transformer:batch=8",
	"zoo:moe:layers=4",
	"zoo:llama:layers=4",
	"zoo:llama-layer:tiles=2",
	"zoo:random:ops=400:seed=77",
	"zoo:random:ops=150:seed=78:ccr=1",
};
const held_out_system held_out_systems[HELD_OUT_SYSTEMS] = {
	{"cpu+2gpu", false}, {"4gpu", false}, {"edge", false}, {"hetero-cluster", false},
	{"random:seed=101:devices=3", false}, {"random:seed=102:topology=bus", false},
	{"random:seed=103:devices=6:topology=hosts", false},
	{"random:seed=104:devices=5:topology=star:heterogeneity=0.2", false},
	{"random:seed=105:devices=7:topology=bus", true}, {"random:seed=106:devices=12", true},
	{"random:seed=107:devices=16:topology=hosts", true},
};

/* No family of these is in scripts/training-pairs. */
static const char *const families[HELD_OUT_FAMILIES][3] = {
	{"zoo:inception-v3", "zoo:inception-v3:batch=16", "zoo:inception-v3:batch=4:training=1"},
	{"zoo:nasnet-a:size=mobile", "zoo:nasnet-a:size=mobile:batch=8", "zoo:nasnet-a:batch=4"},
	{"zoo:gpt2", "zoo:gpt2:batch=8", "zoo:gpt2:batch=8:training=1"},
	{"zoo:vit", "zoo:vit:batch=8", "zoo:vit:batch=8:training=1"},
	{"zoo:unet", "zoo:unet:batch=2", "zoo:unet:training=1"},
	{"zoo:gnmt:seq=4", "zoo:gnmt:seq=6", "zoo:gnmt:seq=8"},
	{"zoo:transformer", "zoo:transformer:batch=8", "zoo:transformer:batch=8:training=1"},
	{"zoo:moe:layers=2", "zoo:moe:layers=3", "zoo:moe:layers=4"},
	{"zoo:llama:layers=2", "zoo:llama:layers=4", "zoo:llama:layers=6"},
	{"zoo:llama-layer:tiles=2", "zoo:llama-block:tiles=2", "zoo:llama-block:tiles=4"},
};
static const char *const topologies[] = {"full", "bus", "star", "hosts"};

const char *held_out_model(uint32_t family, berth_rng *rng)
{
	return families[family][berth_rng_below(rng, 3)];
}

void held_out_machine(int seed, berth_rng *rng, char out[HELD_OUT_TEXT])
{
	int devices = 3 + (int)berth_rng_below(rng, 5), spread = 10 + (int)berth_rng_below(rng, 90),
	    bandwidth = 1 << berth_rng_below(rng, 6), memory = 4 << berth_rng_below(rng, 4);
	snprintf(out, HELD_OUT_TEXT,
	         "random:devices=%d:topology=%s:seed=%d:heterogeneity=0.%d:bandwidth=%d:memory=%d", devices,
	         topologies[seed % 4], seed, spread, bandwidth, memory);
}
