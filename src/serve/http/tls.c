/* TLS by GnuTLS. */
#include "serve/http/tls.h"
#include "file/file.h"
#include "serve/limits.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

enum { PEM_MAX = 1 << 20 };

struct tls {
    gnutls_certificate_credentials_t pair;
    gnutls_priority_t priority;
};

struct tls_session {
    gnutls_session_t session;
    bool shaken;
};

/* ---- the certificate ---- */

static shoal_status fail_pair(const char *cert, const char *key, int code)
{
    if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return shoal_fail(SHOAL_EFORMAT,
                          "%s: found the certificate of another key than %s, want its own", cert,
                          key);
    return shoal_fail(SHOAL_EFORMAT, "%s and %s: %s, want a PEM certificate and its key", cert, key,
                      gnutls_strerror(code));
}

static shoal_status open_pair(struct tls *t, const char *cert_path, const char *key_path)
{
    char *cert = NULL, *key = NULL;
    size_t cert_len = 0, key_len = 0;
    shoal_status st = stream_slurp(&cert, &cert_len, cert_path, PEM_MAX);
    int code;

    if (st == SHOAL_OK)
        st = secret_read(&key, &key_len, key_path, PEM_MAX);
    if (st == SHOAL_OK) {
        gnutls_datum_t c = {(unsigned char *)cert, (unsigned)cert_len};
        gnutls_datum_t k = {(unsigned char *)key, (unsigned)key_len};

        code = gnutls_certificate_set_x509_key_mem(t->pair, &c, &k, GNUTLS_X509_FMT_PEM);
        st = code < 0 ? fail_pair(cert_path, key_path, code) : SHOAL_OK;
        explicit_bzero(key, key_len);
    }
    free(cert);
    free(key);
    return st;
}

shoal_status tls_open(struct tls **out, const char *cert_path, const char *key_path)
{
    static const char versions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE";
    struct tls *t = mem_array(1, sizeof *t);
    shoal_status st;

    *out = NULL;
    if (!t)
        return SHOAL_ENOMEM;
    if (gnutls_certificate_allocate_credentials(&t->pair) < 0 ||
        gnutls_priority_init(&t->priority, versions, NULL) < 0)
        st = shoal_fail(SHOAL_ENOMEM, "serve: GnuTLS cannot be begun");
    else
        st = open_pair(t, cert_path, key_path);
    if (st != SHOAL_OK) {
        tls_close(t);
        return st;
    }
    gnutls_certificate_set_known_dh_params(t->pair, GNUTLS_SEC_PARAM_MEDIUM);
    *out = t;
    return SHOAL_OK;
}

void tls_close(struct tls *t)
{
    if (!t)
        return;
    if (t->priority)
        gnutls_priority_deinit(t->priority);
    if (t->pair)
        gnutls_certificate_free_credentials(t->pair);
    free(t);
}

/* ---- sessions ---- */

struct tls_session *tls_begin(struct tls *t, int fd, const char *protocol)
{
    const gnutls_datum_t spoken = {(unsigned char *)(uintptr_t)protocol,
                                   (unsigned)strlen(protocol)};
    struct tls_session *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    if (gnutls_init(&s->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) {
        free(s);
        return NULL;
    }
    if (gnutls_priority_set(s->session, t->priority) < 0 ||
        gnutls_credentials_set(s->session, GNUTLS_CRD_CERTIFICATE, t->pair) < 0 ||
        gnutls_alpn_set_protocols(s->session, &spoken, 1, 0) < 0) {
        tls_end(s);
        return NULL;
    }
    gnutls_transport_set_int(s->session, fd);
    return s;
}

void tls_end(struct tls_session *s)
{
    if (!s)
        return;
    if (s->shaken)
        gnutls_bye(s->session, GNUTLS_SHUT_WR);
    gnutls_deinit(s->session);
    free(s);
}

static int failed(ssize_t code)
{
    errno = code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED ? EAGAIN : EPROTO;
    return -1;
}

int tls_handshake(struct tls_session *s)
{
    int code;

    do
        code = gnutls_handshake(s->session);
    while (code == GNUTLS_E_INTERRUPTED);
    s->shaken = code == GNUTLS_E_SUCCESS;
    return s->shaken ? 1 : failed(code);
}

ssize_t tls_recv(struct tls_session *s, void *at, size_t len)
{
    ssize_t code;

    do
        code = gnutls_record_recv(s->session, at, len);
    while (code == GNUTLS_E_INTERRUPTED);
    if (code == GNUTLS_E_PREMATURE_TERMINATION) /* closed without close_notify */
        return 0;
    return code >= 0 ? code : failed(code);
}

ssize_t tls_send(struct tls_session *s, const void *at, size_t len)
{
    ssize_t code;

    do
        code = gnutls_record_send(s->session, at, len);
    while (code == GNUTLS_E_INTERRUPTED);
    return code >= 0 ? code : failed(code);
}
