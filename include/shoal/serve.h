/* shoal/serve.h: serving models over HTTP, a part of shoal.h, which includes it.
 *
 * What this is: a server with TorchServe's REST interface (docs/serving.md).
 * Who owns what: options are borrowed for the length of a call; a server is ended by
 * shoal_serve_stop.
 * Threads: a server has its own; its functions are called by one thread at a time. */
#ifndef SHOAL_SERVE_PART_H
#define SHOAL_SERVE_PART_H

#include <shoal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shoal_server shoal_server;

enum shoal_listener { SHOAL_INFERENCE, SHOAL_MANAGEMENT, SHOAL_METRICS, SHOAL_GRPC };

/* A line for each answer. */
enum shoal_access { SHOAL_ACCESS_OFF, SHOAL_ACCESS_TEXT, SHOAL_ACCESS_JSON };

struct shoal_serve_opts {
    /* "127.0.0.1:8080", "[::1]:8080" or "http://...": equal ones share a listener; port
     * 0: any free one; "none": not there. */
    const char *inference, *management, *metrics;
    const char *grpc; /* the Open Inference Protocol over gRPC, with a listener of its own; NULL:
                       * not there */

    const char *const *models; /* [nmodels] "[NAME[:VERSION]=]FILE", served from the start */
    size_t nmodels;
    const char *model_store; /* the folder whose files management may register; NULL: none */
    bool load_all;           /* every model of the store from the start */
    const char *models_dir;  /* a store whose files are served as they come, change and go; NULL */
    const char *state;       /* where the registry survives a restart; NULL: in the store */

    const char *class_index; /* "[NAME=]FILE,...": names of the classes of a model, or of every
                              * one, as shoal_model_name_classes reads them; NULL: its own */

    bool mmap;               /* map vectors instead of reading them: what is not asked about takes
                              * no memory, but who writes into such a file ends the server */

    bool index;              /* ask vectors by the index FILE.hnsw beside their file, where there is
                              * one: shoal/hnsw.h */

    const char *token_file; /* lines "inference TOKEN", "management TOKEN"; NULL: none */
    bool no_tokens;         /* none are wanted, whoever can reach the addresses; never by itself */
    const char *tls_cert, *tls_key; /* PEM files; NULL: no TLS */
    const char *user;       /* to run as, once the addresses are bound; NULL: as started */
    /* The process gives up all but what a server needs, for good. The list of system calls
     * (seccomp) holds all its threads, the rule about which files may be written (Landlock) the
     * one that calls shoal_serve_start and those that it starts: start others after it. */
    bool sandbox;

    unsigned threads;         /* that speak HTTP; 0: one for every two cores */
    unsigned workers;         /* of a model served from the start */
    unsigned batch_size;      /* inputs that are computed at once, at most */
    unsigned max_batch_delay; /* milliseconds that several may wait for more */
    unsigned queue_size;      /* requests of a model that may wait */
    unsigned response_timeout; /* seconds a request may wait for its model */
    const char *limits; /* "NAME:KEY=VALUE,...": of a model instead of the above; NULL: none */

    uint64_t max_body, max_header;              /* bytes */
    unsigned max_connections, max_per_client;   /* the second 0: no limit of its own */
    double rate;                                /* requests a second of one client; 0: any */
    double timeout;      /* seconds that a client may take for any one step */
    double drain_delay;  /* seconds that a stop still accepts clients, though not ready */
    double drain;        /* seconds that it then waits for requests under way */
    double reload_every; /* seconds between looks for replaced model files */

    enum shoal_access access;
    double log_sample;    /* the share of answers that get a line; those from 500 on always do */
    bool log_client;      /* with the client's address */
    const char *log_file; /* where the lines go; NULL: to log_line */
    /* Whole lines, one or more, from a thread that does nothing else; or NULL. */
    void (*log_line)(void *user_data, const char *lines);

    /* Told what happens, a sentence at a time, from any thread; or NULL. */
    void (*log)(void *user_data, const char *sentence);
    void *user_data;
};

SHOAL_API struct shoal_serve_opts shoal_serve_default(void);
SHOAL_API shoal_status shoal_serve_check(const struct shoal_serve_opts *opts);
/* Lines `key = value`, the keys being the fields' names or TorchServe's
 * (docs/serving.md), on top of what *opts holds. *strings is what the fields then
 * point into; free() it after them. */
SHOAL_API shoal_status shoal_serve_config(struct shoal_serve_opts *opts, const char *path,
                                          char **strings);

/* Binds, opens the models and answers. */
SHOAL_API shoal_status shoal_serve_start(shoal_server **out, const struct shoal_serve_opts *opts);
/* "127.0.0.1:8080", the port as bound; "" when there is no such listener. */
SHOAL_API const char *shoal_serve_address(const shoal_server *s, enum shoal_listener which);
/* How many models are served now. */
SHOAL_API size_t shoal_serve_models(const shoal_server *s);
/* Opens the file of the access log by its name anew, soon: after it was renamed. */
SHOAL_API void shoal_serve_reopen(shoal_server *s);
/* Says that it is not ready, accepts clients for drain_delay seconds more, answers what is under
 * way, and ends the server. */
SHOAL_API void shoal_serve_stop(shoal_server *s);

/* ---- One page, for looking at what goes on -------------------------------------- */

typedef struct shoal_show shoal_show;

/* Shows the page that `page` makes at http://ADDRESS/, anew for whoever asks, from a thread
 * of its own; *text is for free(). An address is HOST:PORT, or :PORT for this machine
 * alone; port 0 is any that is free. On this machine alone the host must be asked for by
 * a number, localhost or the name in ADDRESS; beyond it by the token in the URL. */
SHOAL_API shoal_status shoal_show_open(shoal_show **out, const char *address,
                                       shoal_status (*page)(void *user, char **text, size_t *len),
                                       void *user);
/* "http://127.0.0.1:8090/", or "http://HOST:PORT/?token=..." where others can reach it. */
SHOAL_API const char *shoal_show_url(const shoal_show *s);
SHOAL_API void shoal_show_close(shoal_show *s);

#ifdef __cplusplus
}
#endif

#endif
