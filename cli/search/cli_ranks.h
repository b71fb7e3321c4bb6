/* A verb that several ranks run together: the first one speaks and writes for all. */
#ifndef BERTH_CLI_RANKS_H
#define BERTH_CLI_RANKS_H

#include "cli.h"
#include "json.h"
#include "train.h"

/* The ranks that a launcher started with this process; one alone where none did. Says how many there are. All
 * but the first fall silent; *voice is what cli_ranks_close speaks with. Fails: as berth_wire_open,
 * BERTH_ENOMEM, BERTH_EIO. */
berth_status cli_ranks_open(cli *c, berth_ranks *out, int *voice, berth_err *err);

/* All are done, this one with st. Where they have failed the first one tells err now and empties it: later a
 * launcher may end it, as others have left with a failure. Where this one has failed in the middle of a trade
 * it tells so, and ends the others, which wait for it, and itself. */
void cli_ranks_close(berth_ranks *r, int voice, berth_status st, berth_err *err);

/* What each did: the list "ranks"; a table where there are several. */
void cli_ranks_put(berth_json_out *w, const berth_train_result *r);
berth_status cli_ranks_print(cli *c, const berth_train_result *r, berth_err *err);

#endif
