/* Registry of the zoo and its specs. A model is one row of the table and one build function. */
#include "zoo.h"

#include "ggml_types.h"
#include "training.h"
#include "zoo_layers.h"

#define PREFIX "zoo:"

static const char *const dtypes[] = {"f32", "f16", "bf16", "tf32", "f8", "int8", NULL}; /* of whole bytes */
static const char *const optimizers[] = {"sgd", "momentum", "adam", NULL}; /* indices are berth_optimizer */

/* Parameters that are whole numbers, from least to most, or words. */
#define WHOLE(name, about, usual, least, most) {name, about, usual, least, most, true, NULL}
#define WORDS(name, about, usual, words) {name, about, usual, 0, 0, false, words}
#define BATCH WHOLE("batch", "samples at once", 1, 1, 65536)
#define TRAINING \
	WHOLE("training", "1: a whole training step", 0, 0, 1), \
	WORDS("optimizer", "of the training step", 2, optimizers), \
	WHOLE("recompute", "pieces of a training step that keep no activations inside; 0: keep all", 0, 0, \
	      65536)
#define TILES WHOLE("tiles", "pieces that each side of a matrix is cut into", 2, 1, 16)
#define LLAMA \
	WHOLE("seq", "tokens", 4096, 1, 131072), \
	WHOLE("heads", "attention heads of 128 columns", 32, 1, 256)
#define DTYPE WORDS("dtype", "type of the numbers", 0, dtypes)

static const berth_spec_param picture_params[] = {BATCH, DTYPE, TRAINING};
static const berth_spec_param bert_params[] = {
	BATCH, WHOLE("seq", "tokens of a sample", 128, 1, 512), DTYPE, TRAINING};
static const berth_spec_param gpt_params[] = {
	BATCH, WHOLE("seq", "tokens of a sample", 128, 1, 1024), DTYPE, TRAINING};
static const berth_spec_param chain_params[] = {
	WHOLE("matrices", "factors of the product", 8, 2, 16),
	WHOLE("size", "rows and columns of each", 8192, 1, 1048576), TILES, DTYPE, TRAINING};
static const berth_spec_param ffnn_params[] = {
	WHOLE("batch", "samples at once", 4096, 1, 1048576),
	WHOLE("hidden", "width of the layers", 8192, 1, 1048576),
	WHOLE("layers", "products with Relu", 4, 1, 16), TILES, DTYPE, TRAINING};
static const berth_spec_param block_params[] = {LLAMA, TILES, DTYPE, TRAINING};
static const berth_spec_param layer_params[] = {
	LLAMA,
	WHOLE("ffn", "inner width of the feed-forward network", 11008, 1, 1048576),
	TILES,
	DTYPE,
	TRAINING};
static const berth_spec_param random_params[] = {
	WHOLE("ops", "operators", 100, 1, 1000000),
	WHOLE("width", "mean operators of a layer", 8, 1, 10000),
	{"degree", "mean inputs of an operator", 2, 1, 8, false, NULL},
	WHOLE("reach", "layers that an input may lie back", 3, 1, 100),
	{"ccr", "mean transfer time / mean operator time (10 TFLOP/s, 10 GB/s)", 0.5, 0, 100, false, NULL},
	{"heterogeneity", "spread of sizes: sigma of a lognormal", 0.5, 0, 3, false, NULL},
	WHOLE("kinds", "operator types that occur", 8, 1, 12),
	{"gflops", "mean GFLOPs of a product", 1, 1e-6, 1e6, false, NULL},
	WHOLE("seed", "of the random stream", 1, 0, 0x1p53), DTYPE, TRAINING};

static const char *const nasnet_sizes[] = {"large", "mobile", NULL};
static const char *const vit_sizes[] = {"base", "large", "huge", NULL};
static const char *const transformer_sizes[] = {"base", "big", NULL};
static const char *const regimes[] = {"small", "regular", NULL};
static const char *const wirings[] = {"ws", "er", "ba", NULL};
static const char *const modes[] = {"prefill", "decode", NULL};
static const char *const weight_types[] = GGML_WEIGHT_WORDS("dtype");
static const char *const cache_types[] = GGML_CACHE_WORDS("dtype");

static const berth_spec_param nasnet_params[] = {
	WORDS("size", "6 @ 4032 at 331x331, or 4 @ 1056 at 224x224", 0, nasnet_sizes), BATCH, DTYPE,
	TRAINING};
static const berth_spec_param vit_params[] = {
	WORDS("size", "of the table in the paper", 0, vit_sizes), BATCH, DTYPE, TRAINING};
static const berth_spec_param randwire_params[] = {
	WORDS("graph", "Watts-Strogatz, Erdos-Renyi or Barabasi-Albert", 0, wirings),
	WORDS("regime", "stages of the table in the paper", 0, regimes),
	WHOLE("channels", "C of the paper: 78 small, 109 or 154 regular", 78, 2, 1024),
	WHOLE("seed", "of the random stream", 1, 0, 0x1p53),
	BATCH, DTYPE, TRAINING};
static const berth_spec_param rnnlm_params[] = {
	WHOLE("batch", "samples at once", 20, 1, 65536),
	WHOLE("seq", "steps unrolled", 35, 1, 512), WHOLE("layers", "LSTM layers", 2, 1, 8),
	WHOLE("hidden", "units of a layer", 1500, 1, 65536),
	WHOLE("vocab", "words", 10000, 1, 1048576), DTYPE, TRAINING};
static const berth_spec_param gnmt_params[] = {
	WHOLE("batch", "samples at once", 64, 1, 65536),
	WHOLE("seq", "steps of source and target", 40, 1, 256),
	WHOLE("layers", "of encoder and of decoder", 4, 2, 8),
	WHOLE("hidden", "units of a layer", 1024, 1, 65536),
	WHOLE("vocab", "words", 32320, 1, 1048576), DTYPE, TRAINING};
static const berth_spec_param transformer_params[] = {
	WORDS("size", "of the table in the paper", 0, transformer_sizes), BATCH,
	WHOLE("seq", "tokens of source and target", 128, 1, 4096), DTYPE, TRAINING};

#define DECODER(n_kv, width) \
	BATCH, WHOLE("seq", "tokens: read at once, or in the cache", 512, 1, 1048576), \
	WORDS("mode", "prefill: all tokens at once; decode: one more", 0, modes), \
	WHOLE("layers", "layers", 32, 1, 128), \
	WHOLE("hidden", "width of the model", 4096, 1, 65536), \
	WHOLE("heads", "attention heads", 32, 1, 512), \
	WHOLE("kv-heads", "heads of keys and values", n_kv, 1, 512), \
	WHOLE("ffn", "inner width of the feed-forward network", width, 1, 1048576), \
	WHOLE("vocab", "tokens of the vocabulary", 32000, 1, 1048576), \
	WORDS("dtype", "type of the numbers", 1, dtypes), \
	WORDS("weights", "type of the matrices in a GGUF file; dtype: the same as the numbers", 0, \
	      weight_types), \
	WORDS("cache", "type of cached keys and values", 0, cache_types), \
	WHOLE("chunk", "tokens of a prompt read at once, the rest in the cache; 0: all", 0, 0, 1048576)

static const berth_spec_param decoder_params[] = {DECODER(32, 11008), TRAINING};
static const berth_spec_param moe_params[] = {
	DECODER(8, 14336),
	WHOLE("experts", "feed-forward networks to choose from", 8, 1, ZOO_MAX_EXPERTS),
	WHOLE("top", "experts that a token goes to", 2, 1, ZOO_MAX_EXPERTS),
	TRAINING};

#define PARAMS(list) (list), (int32_t)(sizeof(list) / sizeof *(list))

static const berth_zoo_model models[] = {
	{"resnet18", "ResNet-18 at 224x224 (He et al. 2016)", PARAMS(picture_params), zoo_build_resnet, 18},
	{"resnet34", "ResNet-34 at 224x224 (He et al. 2016)", PARAMS(picture_params), zoo_build_resnet, 34},
	{"resnet50", "ResNet-50 at 224x224 (He et al. 2016)", PARAMS(picture_params), zoo_build_resnet, 50},
	{"resnet101", "ResNet-101 at 224x224 (He et al. 2016)", PARAMS(picture_params), zoo_build_resnet,
	 101},
	{"resnet152", "ResNet-152 at 224x224 (He et al. 2016)", PARAMS(picture_params), zoo_build_resnet,
	 152},
	{"inception-v3", "Inception-v3 at 299x299, no auxiliary head (Szegedy et al. 2016)",
	 PARAMS(picture_params), zoo_build_inception, 0},
	{"bert-base", "BERT-base encoder and pooler (Devlin et al. 2019)", PARAMS(bert_params),
	 zoo_build_bert, 12},
	{"bert-large", "BERT-large encoder and pooler (Devlin et al. 2019)", PARAMS(bert_params),
	 zoo_build_bert, 24},
	{"gpt2", "GPT-2 small with tied language-model head (Radford et al. 2019)", PARAMS(gpt_params),
	 zoo_build_gpt, 12},
	{"gpt2-medium", "GPT-2 of 24 layers (Radford et al. 2019)", PARAMS(gpt_params), zoo_build_gpt, 24},
	{"gpt2-large", "GPT-2 of 36 layers (Radford et al. 2019)", PARAMS(gpt_params), zoo_build_gpt, 36},
	{"gpt2-xl", "GPT-2 of 48 layers (Radford et al. 2019)", PARAMS(gpt_params), zoo_build_gpt, 48},
	{"alexnet", "AlexNet at 224x224, one column (Krizhevsky 2014)", PARAMS(picture_params),
	 zoo_build_plain, 0},
	{"vgg11", "VGG-11 at 224x224 (Simonyan & Zisserman 2015)", PARAMS(picture_params), zoo_build_plain,
	 3},
	{"vgg13", "VGG-13 at 224x224 (Simonyan & Zisserman 2015)", PARAMS(picture_params), zoo_build_plain,
	 4},
	{"vgg16", "VGG-16 at 224x224 (Simonyan & Zisserman 2015)", PARAMS(picture_params), zoo_build_plain,
	 1},
	{"vgg19", "VGG-19 at 224x224 (Simonyan & Zisserman 2015)", PARAMS(picture_params), zoo_build_plain,
	 2},
	{"mobilenet-v2", "MobileNetV2 at 224x224 (Sandler et al. 2018)", PARAMS(picture_params),
	 zoo_build_mobilenet, 0},
	{"densenet121", "DenseNet-121 at 224x224 (Huang et al. 2017)", PARAMS(picture_params),
	 zoo_build_densenet, 0},
	{"nasnet-a", "NASNet-A, large or mobile (Zoph et al. 2018)", PARAMS(nasnet_params), zoo_build_nasnet,
	 0},
	{"randwire", "Randomly wired network at 224x224 (Xie et al. 2019)", PARAMS(randwire_params),
	 zoo_build_randwire, 0},
	{"vit", "Vision transformer at 224x224 (Dosovitskiy et al. 2021)", PARAMS(vit_params), zoo_build_vit,
	 0},
	{"unet", "U-Net on a tile of 572x572 (Ronneberger et al. 2015)", PARAMS(picture_params),
	 zoo_build_unet, 0},
	{"rnnlm", "LSTM language model, unrolled (Zaremba et al. 2014)", PARAMS(rnnlm_params),
	 zoo_build_rnnlm, 0},
	{"gnmt", "Translation by LSTMs with attention, unrolled (Wu et al. 2016)", PARAMS(gnmt_params),
	 zoo_build_gnmt, 0},
	{"transformer", "Transformer, encoder and decoder (Vaswani et al. 2017)", PARAMS(transformer_params),
	 zoo_build_transformer, 0},
	{"llama", "Decoder like Llama 2, 7B by default (Touvron et al. 2023)", PARAMS(decoder_params),
	 zoo_build_decoder, 0},
	{"moe", "Decoder with a mixture of experts, Mixtral 8x7B by default (Jiang et al. 2024)",
	 PARAMS(moe_params), zoo_build_decoder, 1},
	{"chain-mm", "Product of square matrices in tiles (after Yao et al. 2025)", PARAMS(chain_params),
	 zoo_build_chain, 0},
	{"ffnn", "Feed-forward network in tiles (after Yao et al. 2025)", PARAMS(ffnn_params), zoo_build_ffnn,
	 0},
	{"llama-block", "Attention block of Llama-7B in tiles (Touvron et al. 2023)", PARAMS(block_params),
	 zoo_build_llama, 0},
	{"llama-layer", "Layer of Llama-7B in tiles (Touvron et al. 2023)", PARAMS(layer_params),
	 zoo_build_llama, 1},
	{"random", "Seeded random graph in layers (after Topcuoglu et al. 2002)", PARAMS(random_params),
	 zoo_build_random, 0},
};

enum { N_MODELS = sizeof models / sizeof *models };

const berth_zoo_model *berth_zoo_list(int32_t *n)
{
	*n = N_MODELS;
	return models;
}

bool berth_zoo_is_spec(const char *text)
{
	return strncmp(text, PREFIX, sizeof PREFIX - 1) == 0;
}

static berth_spec_table table_of(const berth_zoo_model *m)
{
	return (berth_spec_table){"model", m->name, m->param, m->n_params};
}

/* recompute=N: N pieces, or as many as there are operators. */
static berth_status choose_segments(const zoo_net *net, const berth_graph *forward,
                                    berth_training_options *opt, berth_err *err)
{
	int32_t *op_segment, n = (int32_t)zoo_whole(net, "recompute");
	if (n == 0)
		return BERTH_OK;
	BERTH_TRY_NEW(net->tmp, forward->n_ops, err, op_segment);
	berth_training_segments(forward, n < forward->n_ops ? n : forward->n_ops, op_segment);
	opt->op_segment = op_segment;
	return BERTH_OK;
}

static berth_status build(const berth_zoo_model *m, const double value[], berth_arena *mem, berth_arena *tmp,
                          berth_graph *out, berth_err *err)
{
	zoo_net net = {.tmp = tmp, .err = err, .model = m, .value = value};
	berth_spec_table t = table_of(m);
	const char *name = berth_spec_canonical(&t, value, tmp);
	BERTH_TRY(berth_got(name, err));
	BERTH_TRY(berth_builder_new(tmp, name, &net.builder, err));
	net.batch = (int64_t)zoo_value_or(&net, "batch", 1);
	BERTH_TRY(berth_precision_find(dtypes[(int)zoo_value(&net, "dtype")], &net.dtype, err));
	net.elem_bytes = berth_precision_bits(net.dtype) / 8;
	net.training = zoo_value(&net, "training") > 0;
	m->build(&net);
	BERTH_TRY(net.status);
	if (!net.training && zoo_value(&net, "recompute") > 0)
		return berth_fail(err, BERTH_EINVAL, "recompute is given without training=1");
	if (!net.training)
		return berth_builder_finish(net.builder, mem, out, err);
	berth_graph forward;
	berth_training_options opt = {.optimizer = (berth_optimizer)zoo_value(&net, "optimizer"),
	                              .elem_bytes = net.elem_bytes};
	BERTH_TRY(berth_builder_finish(net.builder, tmp, &forward, err));
	BERTH_TRY(choose_segments(&net, &forward, &opt, err));
	return berth_graph_training(&forward, &opt, mem, tmp, out, err);
}

berth_status berth_zoo_build(const char *spec, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                             berth_err *err)
{
	char name[BERTH_SPEC_WORD];
	double value[BERTH_SPEC_PARAMS];
	const berth_zoo_model *m = NULL;
	berth_graph g;
	if (!berth_zoo_is_spec(spec))
		return berth_fail(err, BERTH_EINVAL,
		                  "'%s' is no zoo model; expected " PREFIX "NAME[:key=value...]", spec);
	const char *rest = berth_spec_name(spec + sizeof PREFIX - 1, name);
	const char *names[N_MODELS];
	int32_t at;
	for (int32_t i = 0; i < N_MODELS; i++)
		names[i] = models[i].name;
	if (berth_text_find(names, N_MODELS, name, "model", "; 'berth zoo' lists them", &at, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EINVAL, "%s: ", spec);
	m = &models[at];
	berth_spec_table t = table_of(m);
	BERTH_TRY(berth_spec_values(spec, rest, &t, value, err));
	BERTH_SCRATCH(tmp);
	berth_status st = build(m, value, mem, tmp, &g, err);
	if (st == BERTH_EFORMAT) /* sizes that a graph cannot hold come from the values of the spec */
		st = BERTH_EINVAL;
	if (st == BERTH_EINVAL)
		return berth_fail_in(err, st, "%s: ", spec);
	if (st == BERTH_OK)
		*out = g;
	return st;
}
