/* Policy files: what is damaged, foreign, newer or of other dimensions is refused with the reason; every
 * single flipped bit is found. */
#include "file.h"
#include "encode.h"
#include "policy_file.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct made {
	berth_arena mem, tmp;
	char path[64];
	berth_policy_file f;
	char *data;
	size_t size;
} made;

/* A policy with fresh weights, written and read back as bytes. */
static void make(made *m)
{
	berth_err err;
	*m = (made){.path = "/tmp/berth-policy-XXXXXX"};
	int fd = mkstemp(m->path);
	assert_true(fd >= 0);
	close(fd);
	m->f = (berth_policy_file){.cfg = berth_learner_cfg_default(),
	                           .seed = 7,
	                           .evaluations = 123,
	                           .steps = 4,
	                           .trained_on = "a on b"};
	m->f.cfg.hidden = 1;
	m->f.cfg.rounds = 0;
	m->f.dims = berth_encode_dims(1, 0);
	nn_real *params = berth_arena_alloc(&m->mem, policy_param_count(&m->f.dims), sizeof *params);
	berth_rng rng = berth_rng_seed(1, 1);
	policy_init(&m->f.dims, params, &rng);
	m->f.params = params;
	assert_ok(berth_policy_file_write(m->path, &m->f, NULL, &m->tmp, &err), &err);
	assert_ok(berth_file_read(BERTH_READS_POLICY, m->path, &m->mem, &m->data, &m->size, &err), &err);
}

static void discard(made *m)
{
	unlink(m->path);
	berth_arena_free(&m->mem);
	berth_arena_free(&m->tmp);
}

static void test_round_trip(void **state)
{
	(void)state;
	made m;
	berth_policy_file back;
	berth_err err;
	make(&m);
	assert_ok(berth_policy_file_read(m.path, &m.mem, &back, &err), &err);
	assert_true(berth_learner_cfg_equal(&m.f.cfg, &back.cfg));
	assert_int_equal(back.seed, 7);
	assert_int_equal(back.evaluations, 123);
	assert_string_equal(back.trained_on, "a on b");
	assert_memory_equal(back.params, m.f.params, policy_param_count(&m.f.dims) * sizeof *back.params);
	discard(&m);
}

/* One of an earlier berth, with fewer features: the weights of the others are 0. */
static void test_fewer_features(void **state)
{
	(void)state;
	made m;
	berth_policy_file back, old;
	berth_err err;
	make(&m);
	old = m.f;
	old.dims.node_in -= 3;
	old.dims.step_in -= 10;
	old.dims.edge_in -= 1;
	old.cfg.rounds = 2;
	old.dims.rounds = 2;
	nn_real *params = berth_arena_alloc(&m.mem, policy_param_count(&old.dims), sizeof *params);
	berth_rng rng = berth_rng_seed(2, 1);
	char digest[2][65];
	policy_init(&old.dims, params, &rng);
	old.params = params;
	assert_ok(berth_policy_file_write(m.path, &old, NULL, &m.tmp, &err), &err);
	assert_ok(berth_policy_file_read(m.path, &m.mem, &back, &err), &err);
	berth_policy_file_digest(&old, digest[0]);
	berth_policy_file_digest(&back, digest[1]);
	assert_string_equal(digest[0], digest[1]);
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor was = policy_tensor_at(&old.dims, i), now = policy_tensor_at(&back.dims, i);
		size_t known = (size_t)was.rows * (size_t)was.columns;
		size_t all = (size_t)now.rows * (size_t)now.columns;
		for (size_t copy = 0; copy < (size_t)now.copies; copy++) {
			const nn_real *to = back.params + now.offset + copy * all;
			assert_memory_equal(to, params + was.offset + copy * known, known * sizeof *to);
			for (size_t k = known; k < all; k++)
				assert_true(to[k] == 0);
		}
	}
	discard(&m);
}

static void test_card(void **state)
{
	(void)state;
	made m;
	berth_policy_file back;
	berth_err err;
	char name[2 * BERTH_CARD_NAME + 1];
	berth_card_pair kept[BERTH_CARD_PAIRS + 3];
	berth_policy_card card = berth_policy_card_blank();
	make(&m);
	memset(name, 'x', sizeof name);
	name[0] = 'a';
	for (size_t i = 1; i + 2 < sizeof name; i += 2)
		memcpy(name + i, "\xc3\xa4", 2); /* one of them would be cut through */
	name[sizeof name - 1] = 0;
	for (int i = 0; i < BERTH_CARD_PAIRS + 3; i++)
		kept[i] = (berth_card_pair){name, "m", i ? 1.5 : NAN, 0.1};
	static const char from[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	card.from = from;
	card.looks = 0;
	card.cpu_s = 2.5;
	card.kept = kept;
	card.n_kept = BERTH_CARD_PAIRS + 3;
	m.f.card = &card;
	assert_ok(berth_policy_file_write(m.path, &m.f, NULL, &m.tmp, &err), &err);
	assert_ok(berth_policy_file_read(m.path, &m.mem, &back, &err), &err);
	assert_non_null(back.card);
	assert_string_equal(back.card->from, from);
	assert_null(back.card->data);
	assert_int_equal(back.card->looks, 0);
	assert_int_equal(back.card->taken, -1);
	assert_true(back.card->cpu_s == 2.5);
	assert_int_equal(back.card->n_kept, BERTH_CARD_PAIRS);
	assert_int_equal(strlen(back.card->kept[0].graph), BERTH_CARD_NAME - 1);
	assert_true(isnan(back.card->kept[0].before) && back.card->kept[1].before == 1.5);
	discard(&m);
}

/* What others may write there is refused, and told where. */
static void test_forged_cards(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
		{"", "p: the card:1:1: "},
		{"[]", "expected an object"},
		{"{\"data\":7}", "/data"},
		{"{\"pairs\":\"many\"}", "/pairs"},
		{"{\"pairs\":-1}", "/pairs"},
		{"{\"cpu_s\":-2}", "/cpu_s"},
		{"{\"cpu_s\":1e999}", "p: the card"},
		{"{\"pairs\":1.5}", "1.5 is not a whole number up to 2^53"},
		{"{\"looks\":1e300}", "/looks"},
		{"{\"looks\":3,\"taken\":4}", "/taken"},
		{"{\"cpu_s\":1e308}", "/cpu_s"},
		{"{\"from\":\"abc\"}", "64 hexadecimal digits"},
		{"{\"kept\":[{\"before\":1e308,\"after\":1}]}", "/kept/0/before"},
		{"{\"cpus\":1}", "cpu_s"},
		{"{\"kept\":{}}", "/kept"},
		{"{\"kept\":[3]}", "/kept/0"},
		{"{\"kept\":[{\"before\":1}]}", "after"},
		{"{\"kept\":[{\"before\":1,\"after\":\"x\"}]}", "/kept/0/after"},
	};
	berth_arena mem = {0};
	berth_policy_card card;
	berth_err err;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(berth_policy_card_read("p", bad[i][0], &mem, &card, &err), BERTH_EFORMAT);
		assert_contains(err.msg, bad[i][1]);
	}
	size_t n = BERTH_CARD_BYTES + 2;
	char *text = berth_arena_alloc(&mem, n, 1);
	for (int k = 0; k < 2; k++) { /* too long a name; too long a card */
		size_t m = k ? n - 1 : 5000;
		memset(text, 'x', m);
		memcpy(text, "{\"data\":\"", 9);
		memcpy(text + m - 2, "\"}", 3);
		assert_int_equal(berth_policy_card_read("p", text, &mem, &card, &err), BERTH_EFORMAT);
		assert_contains(err.msg, "expected at most");
	}
	size_t at = (size_t)snprintf(text, n, "{\"kept\":[");
	for (int i = 0; i <= BERTH_CARD_PAIRS; i++)
		at += (size_t)snprintf(text + at, n - at, "%s{\"before\":1,\"after\":1}", i ? "," : "");
	snprintf(text + at, n - at, "]}");
	assert_int_equal(berth_policy_card_read("p", text, &mem, &card, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "65 pairs");
	berth_arena_free(&mem);
}

static void test_every_flipped_bit_is_found(void **state)
{
	(void)state;
	made m;
	make(&m);
	for (size_t i = 0; i < m.size * 8; i++) {
		berth_arena mem = {0};
		berth_policy_file f;
		berth_err err;
		m.data[i / 8] = (char)(m.data[i / 8] ^ (1 << (i % 8)));
		assert_int_equal(berth_policy_file_decode("p", m.data, m.size, &mem, &f, &err),
		                 BERTH_EFORMAT);
		m.data[i / 8] = (char)(m.data[i / 8] ^ (1 << (i % 8)));
		berth_arena_free(&mem);
	}
	discard(&m);
}

static void test_every_truncation_is_found(void **state)
{
	(void)state;
	made m;
	make(&m);
	for (size_t n = 0; n < m.size; n++) {
		berth_arena mem = {0};
		berth_policy_file f;
		berth_err err;
		assert_int_equal(berth_policy_file_decode("p", m.data, n, &mem, &f, &err), BERTH_EFORMAT);
		berth_arena_free(&mem);
	}
	discard(&m);
}

/* Change a note's value in place (of the same length), seal the file again, and see the message. */
static void expect_refusal(const char *from, const char *to, const char *part)
{
	made m;
	berth_policy_file f;
	berth_err err;
	make(&m);
	size_t n = strlen(from);
	assert_int_equal(n, strlen(to));
	char *at = m.data + 8;
	while (at + n < m.data + m.size && memcmp(at, from, n) != 0)
		at++;
	assert_true(at + n < m.data + m.size);
	memcpy(at, to, n);
	assert_true(safetensors_seal(m.data, m.size));
	assert_int_equal(berth_policy_file_decode("p.safetensors", m.data, m.size, &m.mem, &f, &err),
	                 BERTH_EFORMAT);
	assert_contains(err.msg, "p.safetensors: ");
	assert_contains(err.msg, part);
	discard(&m);
}

static void test_what_is_refused(void **state)
{
	(void)state;
	expect_refusal("\"version\":\"1\"", "\"version\":\"2\"",
	               "version 2 of berth-policy is not known here; this berth reads version 1");
	expect_refusal("berth-policy", "birth-policy", "expected 'berth-policy'");
	expect_refusal("\"dims.node_in\":\"3", "\"dims.node_in\":\"9",
	               "features of kind node_in; this berth has");
	expect_refusal("\"cfg.hidden\":\"1\"", "\"cfg.hidden\":\"2\"", "is not float32");
	expect_refusal("\"cfg.batch\":\"64\"", "\"cfg.batch\":\"-4\"", "batch is -4");
	expect_refusal("\"cfg.epochs\":\"4\",\"cfg.lr\":\"0.001\"",
	               "\"cfg.epochs\":\"3.5\",\"cfg.lr\":\"0.1\"",
	               "epochs is 3.5; expected a whole number");
	expect_refusal("\"cfg.sequential\":\"0\"", "\"cfg.sequential\":\"2\"",
	               "decoding is 2; expected 0 to 1");
	expect_refusal("\"latency\"", "\"tatency\"", "unknown objective 'tatency'");
	expect_refusal("\"seed\":\"7\"", "\"seed\":\"x\"", "the note 'seed' is 'x'");
	expect_refusal("\"trained_on\"", "\"trainedxon\"", "the note 'trained_on' is missing");
	expect_refusal("\"score_v\"", "\"scare_v\"", "the tensor 'score_v' is missing");
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	made m;
	make(&m);
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_arena mem;
		berth_policy_file p;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_status st = berth_policy_file_decode("p", m.data, m.size, &mem, &p, &err);
		berth_arena_free(&mem);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
	discard(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_fewer_features),
		cmocka_unit_test(test_card),
		cmocka_unit_test(test_forged_cards),
		cmocka_unit_test(test_every_flipped_bit_is_found),
		cmocka_unit_test(test_every_truncation_is_found),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
