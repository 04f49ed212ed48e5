/* cmd: the verbs, and what they share.
 *
 * What this is: one struct verb for each command, and option groups that
 * several of them offer. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "console.h"
#include "opts.h"

extern const struct verb cmd_shoal; /* the root: `shoal VERB` */
extern const struct verb cmd_vocab, cmd_encode, cmd_train, cmd_convert, cmd_gen, cmd_info, cmd_help;
extern const struct verb cmd_phrases, cmd_predict, cmd_report, cmd_study, cmd_classic;
extern const struct verb gen_people, gen_news, gen_spiral, gen_blobs, gen_pictures; /* of gen */
extern const struct verb cmd_eval, cmd_similar, cmd_analogy, cmd_distance, cmd_odd;
extern const struct verb cmd_serve, cmd_compress, cmd_index, cmd_map;

/* ---- groups.c: option groups --------------------------------------------------- */

struct work_opts {
    bool quiet;
};

extern const struct shoal_option work_opts[]; /* on struct work_opts: for verbs that report */
extern const struct shoal_option help_opts[]; /* no struct: for verbs that do not */

#define INPUT_HELP                                                                                 \
    "text: files, folders (all files below them), quoted globs, or - for standard input; gzip, "   \
    "zstd, bzip2 and xz are recognised by content"

/* ---- train_show.c: scores of a model of two classes ---------------------------------- */

void score_show(struct console *c, const struct shoal_binary_score *score);

/* ---- cmd_vocab.c: what counting found -------------------------------------------- */

void report_vocab(struct console *c, const struct shoal_vocab_stats *stats, bool unk);
/* With --max-vocab and --unk words need be seen once only, unless --min-count was given. */
void vocab_imply(struct shoal_vocab_opts *opts, const struct parsed *parsed);
void warn_vocab(struct console *c, const struct shoal_vocab_stats *stats,
                const struct shoal_vocab_opts *opts);

/* ---- clicks.c: click data ------------------------------------------------------------ */

void report_clicks(struct console *c, const struct shoal_clicks_stats *stats);
/* The lines that were left out, and the first few of them. */
void warn_clicks(struct console *c, const struct shoal_clicks_stats *stats);
shoal_status encode_clicks(struct console *c, const struct shoal_clicks_opts *opts,
                           const char *output, const char *const *inputs, size_t ninputs);
shoal_status info_clicks(struct console *c, const char *path, uint64_t top);

/* ---- columns.c: the columns of a table ----------------------------------------------- */

void report_columns(struct console *c, const shoal_columns *columns);

/* ---- plots.c: charts as files ------------------------------------------------------- */

/* Says how many charts a folder holds. */
void report_plots(struct console *c, const char *folder);

/* ---- cmd_help.c, man.c, completion.c: from the tables ------------------------------ */

void help_print(const struct verb *verb);
/* The page of a verb below the root, or of the root itself. */
void man_print(const struct verb *root, const struct verb *page);

enum shell_name { SHELL_BASH, SHELL_ZSH, SHELL_FISH };
void completion_print(const struct verb *root, enum shell_name name);

#endif
