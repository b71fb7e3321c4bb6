/* berth keys: what --json prints, document by document, as Markdown. Made out of the tables that the results
 * themselves are filled by, so that no key can be without a line. */
#include "results.h"

#include "options.h"
#include "say.h"

#include <ctype.h>

const berth_result_kind *const cli_documents[] = {
	&place_document,
	&requests_document,
	&pareto_document,
	&train_document, &train_seeds_document,
	&train_ended_document,
	&compare_document,
	&fidelity_document,
	&simulate_document,
	&simulate_set_document,
	&simulate_each_document,
	&measure_document,
	&profile_document,
	&show_graph_document,
	&show_times_document,
	&show_blocks_document,
	&show_graph_op_document,
	&show_placed_op_document,
	&show_placement_document,
	&show_placed_document,
	&adapt_document,
	&configure_document,
	&serve_document,
	&pipelines_document,
	&export_document,
	&split_document,
	&certificate_document,
	&import_document,
	&methods_document,
	&zoo_document,
	&systems_document,
	&devices_document,
	&version_document,
	NULL};

enum { MOST_KINDS = 128, ANCHOR = 96, PATH = 160 };

/* Kinds with a heading, in the order in which they are found. */
typedef struct kinds {
	const berth_result_kind *item[MOST_KINDS];
	int32_t n;
} kinds;

/* "[method over all](#method-over-all)" of a heading. */
static void print_link(const char *heading)
{
	char word[ANCHOR], anchor[ANCHOR];
	size_t n = 0, k = 0;
	for (; heading[n] && n + 1 < sizeof word; n++) {
		char letter = (char)tolower((unsigned char)heading[n]);
		word[n] = letter;
		if (letter == ' ' || letter == '-' || isalnum((unsigned char)letter))
			anchor[k++] = letter == ' ' ? '-' : letter;
	}
	word[n] = anchor[k] = '\0';
	cli_say("[%s](#%s)", word, anchor);
}

static void note_kind(kinds *found, const berth_result_kind *kind)
{
	for (int32_t i = 0; i < found->n; i++)
		if (found->item[i] == kind)
			return;
	if (found->n < MOST_KINDS)
		found->item[found->n++] = kind;
}

static void print_type(const berth_result_key *k)
{
	bool linked = k->kind && *k->kind->heading;
	if (k->type == BERTH_RESULT_MAP || !linked) {
		cli_say("%s", k->type == BERTH_RESULT_MAP ? "object" : k->word);
		return;
	}
	if (k->type == BERTH_RESULT_LIST)
		cli_say("list of ");
	print_link(k->kind->heading);
	if (strstr(k->word, "or null"))
		cli_say(" or null");
}

static void print_keys(kinds *found, const berth_result_kind *kind, const char *prefix);

/* What stands below a key: its own members, where the kind has no heading; else the heading is noted. */
static void print_below(kinds *found, const berth_result_key *k, const char *path)
{
	char below[PATH + 8];
	const char *step = k->type == BERTH_RESULT_LIST ? "[]." : k->type == BERTH_RESULT_MAP ? ".*." : ".";
	if (k->type == BERTH_RESULT_MAP) {
		cli_say("| `%s.*` | ", path);
		if (k->kind && *k->kind->heading)
			print_link(k->kind->heading);
		else
			cli_say("%s", k->word);
		cli_say(" | %s |  |\n", k->unit);
	}
	if (!k->kind)
		return;
	if (*k->kind->heading) {
		note_kind(found, k->kind);
		return;
	}
	snprintf(below, sizeof below, "%s%s", path, step);
	print_keys(found, k->kind, below);
}

static void print_keys(kinds *found, const berth_result_kind *kind, const char *prefix)
{
	for (int32_t i = 0; i < kind->n_keys; i++) {
		const berth_result_key *k = &kind->key[i];
		char path[PATH];
		if (k->type == BERTH_RESULT_ALL_OF && (*prefix || !*k->kind->heading)) {
			print_keys(found, k->kind, prefix);
			continue;
		}
		if (k->type == BERTH_RESULT_ALL_OF) {
			cli_say("| ");
			print_link(k->kind->heading);
			cli_say(" | | | %s |\n", k->means);
			note_kind(found, k->kind);
			continue;
		}
		snprintf(path, sizeof path, "%s%s", prefix, k->key);
		cli_say("| `%s` | ", path);
		print_type(k);
		cli_say(" | %s | %s |\n", k->type == BERTH_RESULT_MAP ? "" : k->unit, k->means);
		print_below(found, k, path);
	}
}

static bool is_document(const berth_result_kind *kind)
{
	const berth_result_kind *const *d = cli_documents;
	while (*d && *d != kind)
		d++;
	return *d;
}

static void print_kind(kinds *found, const berth_result_kind *kind)
{
	cli_say("%s %s\n\n", is_document(kind) ? "##" : "###", kind->heading);
	if (*kind->about)
		cli_say("%s\n\n", kind->about);
	cli_say("| key | type | unit | meaning |\n|---|---|---|---|\n");
	print_keys(found, kind, "");
	cli_say("\n");
}

static berth_status print_documents(cli *c, berth_err *err)
{
	const cli_option options[] = {CLI_HELP(c)};
	kinds found = {.n = 0};
	int32_t told = 0;
	BERTH_TRY(cli_parse(c, options, 0, 0, err));
	if (c->help)
		return BERTH_OK;
	for (const berth_result_kind *const *d = cli_documents; *d; d++) {
		print_kind(&found, *d);
		for (; told < found.n; told++)
			if (!is_document(found.item[told]))
				print_kind(&found, found.item[told]);
	}
	return BERTH_OK;
}

const cli_verb cmd_keys = {"keys", "keys", "list the keys of all documents of --json",
                           "A table a document, in Markdown; docs/data/formats-keys.csv has them as one.\n"
                           "What several documents share stands once, behind the first of them.\n"
                           "Example: berth keys\n",
                           print_documents, NULL, 0};
