#include "inject.h"

#include <bzlib.h>
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <glob.h>
#include <jansson.h>
#include <locale.h>
#include <lzma.h>
#include <netdb.h>
#ifdef SHOAL_WITH_GRPC
#include <nghttp2/nghttp2.h>
#endif
#include <png.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <jpeglib.h>

#include <jerror.h>

struct inject *inject;

/* ---- Whose turn it is ------------------------------------------------------------- */

enum { FRAMES_MOST = 32, FRAMES_OURS = 3 };

extern const char __executable_start, etext; /* of the linker's */

/* The same place, the same number, in every process: FNV-1a over where the first frames
 * behind the wrapper return to, as far as they are of the program. */
static uint64_t place_number(void)
{
    uintptr_t begin = (uintptr_t)&__executable_start, end = (uintptr_t)&etext;
    void *frame[FRAMES_MOST];
    int n = backtrace(frame, FRAMES_MOST), most = FRAMES_OURS + inject->depth;
    uint64_t sum = 0xcbf29ce484222325u;

    for (int i = 0; i < n && i < most; i++)
        if ((uintptr_t)frame[i] >= begin && (uintptr_t)frame[i] < end)
            sum = (sum ^ ((uintptr_t)frame[i] - begin)) * 0x100000001b3u;
    return sum;
}

/* Whether this call of the class is to fail. */
static bool fails(enum inject_class class, void *from)
{
    uint32_t call;

    if (!inject || inject->class != (int)class || !atomic_load(&inject->armed))
        return false;
    call = atomic_fetch_add(&inject->calls, 1) + 1;
    if (inject->depth > 0 && call <= INJECT_TRACE)
        inject->trace[call - 1] = place_number();
    if (inject->nth == 0 || call < inject->nth || (call > inject->nth && !inject->lasting))
        return false;
    if (atomic_fetch_add(&inject->failed, 1) == 0)
        atomic_store(&inject->where, (uintptr_t)from);
    return true;
}

/* Of the calls that move bytes, which may also do less than all, or be interrupted. */
static bool interrupts(void *from)
{
    if (!fails(INJECT_SIGNAL, from))
        return false;
    errno = EINTR;
    return true;
}

static size_t shortened(size_t len, void *from)
{
    return len > 1 && fails(INJECT_SHORT, from) ? 1 : len;
}

/* A disk that fills up takes a part of what meets its end. */
static bool fills(size_t *len, void *from)
{
    if (!fails(INJECT_WRITE, from))
        return false;
    errno = ENOSPC;
    if (!inject->lasting || atomic_load(&inject->failed) > 1 || *len < 2)
        return true;
    *len /= 2;
    return false;
}

#define HERE __builtin_return_address(0)

/* Defines __wrap_NAME, which fails with `value` and an errno, or calls the real one. */
#define WRAP(class, error, value, type, name, params, args)                                        \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params                                                                      \
    {                                                                                              \
        if (fails(class, HERE)) {                                                                  \
            errno = error;                                                                         \
            return value;                                                                          \
        }                                                                                          \
        return __real_##name args;                                                                 \
    }

/* ---- Memory ------------------------------------------------------------------------ */

#define MEMORY(type, name, params, args) WRAP(INJECT_ALLOC, ENOMEM, NULL, type, name, params, args)

MEMORY(void *, malloc, (size_t size), (size))
MEMORY(void *, calloc, (size_t n, size_t size), (n, size))
MEMORY(void *, realloc, (void *at, size_t size), (at, size))
MEMORY(void *, aligned_alloc, (size_t align, size_t size), (align, size))
MEMORY(char *, strdup, (const char *text), (text))
MEMORY(char *, strndup, (const char *text, size_t n), (text, n))
MEMORY(char *, realpath, (const char *path, char *to), (path, to))
MEMORY(FILE *, open_memstream, (char **at, size_t *len), (at, len))
MEMORY(locale_t, newlocale, (int mask, const char *name, locale_t base), (mask, name, base))
WRAP(INJECT_ALLOC, ENOMEM, -1, int, vasprintf, (char **at, const char *fmt, va_list args),
     (at, fmt, args))
WRAP(INJECT_ALLOC, ENOMEM, -1, int, scandir64,
     (const char *path, struct dirent ***names, int (*take)(const struct dirent *),
      int (*order)(const struct dirent **, const struct dirent **)),
     (path, names, take, order))
WRAP(INJECT_ALLOC, ENOMEM, GLOB_NOSPACE, int, glob64,
     (const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found),
     (pattern, flags, failed, found))
WRAP(INJECT_ALLOC, ENOMEM, EAI_MEMORY, int, getaddrinfo,
     (const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found),
     (host, port, hints, found))

int __wrap_asprintf(char **at, const char *fmt, ...);
int __wrap_asprintf(char **at, const char *fmt, ...)
{
    va_list args;
    int n;

    if (fails(INJECT_ALLOC, HERE)) {
        errno = ENOMEM;
        return -1;
    }
    va_start(args, fmt);
    n = __real_vasprintf(at, fmt, args);
    va_end(args);
    return n;
}

/* A map of a file is a read, as much as it is memory. */
void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (fails(fd < 0 ? INJECT_ALLOC : INJECT_READ, HERE)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap64(at, len, prot, flags, fd, offset);
}

void *__real_mremap(void *at, size_t old, size_t new, int flags, ...);
void *__wrap_mremap(void *at, size_t old, size_t new, int flags, ...);
void *__wrap_mremap(void *at, size_t old, size_t new, int flags, ...)
{
    if (fails(INJECT_ALLOC, HERE)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mremap(at, old, new, flags);
}

/* ---- Libraries that say when they had no memory --------------------------------------- */

MEMORY(ZSTD_DCtx *, ZSTD_createDCtx, (void), ())
WRAP(INJECT_ALLOC, ENOMEM, Z_MEM_ERROR, int, inflateInit2_,
     (z_streamp z, int bits, const char *version, int size), (z, bits, version, size))
WRAP(INJECT_ALLOC, ENOMEM, BZ_MEM_ERROR, int, BZ2_bzDecompressInit,
     (bz_stream *z, int verbosity, int small), (z, verbosity, small))
WRAP(INJECT_ALLOC, ENOMEM, LZMA_MEM_ERROR, lzma_ret, lzma_stream_decoder,
     (lzma_stream *z, uint64_t memory, uint32_t flags), (z, memory, flags))
#ifdef SHOAL_WITH_GRPC
WRAP(INJECT_ALLOC, ENOMEM, NGHTTP2_ERR_NOMEM, int, nghttp2_session_callbacks_new,
     (nghttp2_session_callbacks **out), (out))
WRAP(INJECT_ALLOC, ENOMEM, NGHTTP2_ERR_NOMEM, int, nghttp2_option_new, (nghttp2_option **out),
     (out))
WRAP(INJECT_ALLOC, ENOMEM, NGHTTP2_ERR_NOMEM, int, nghttp2_session_server_new2,
     (nghttp2_session **out, const nghttp2_session_callbacks *callbacks, void *user,
      const nghttp2_option *option),
     (out, callbacks, user, option))
WRAP(INJECT_ALLOC, ENOMEM, NGHTTP2_ERR_NOMEM, int, nghttp2_submit_settings,
     (nghttp2_session *session, uint8_t flags, const nghttp2_settings_entry *entries, size_t n),
     (session, flags, entries, n))
WRAP(INJECT_ALLOC, ENOMEM, NGHTTP2_ERR_NOMEM, int, nghttp2_submit_response,
     (nghttp2_session *session, int32_t stream, const nghttp2_nv *fields, size_t n,
      const nghttp2_data_provider *data),
     (session, stream, fields, n, data))
WRAP(INJECT_ALLOC, ENOMEM, NGHTTP2_ERR_NOMEM, int, nghttp2_submit_trailer,
     (nghttp2_session *session, int32_t stream, const nghttp2_nv *fields, size_t n),
     (session, stream, fields, n))
WRAP(INJECT_ALLOC, ENOMEM, NGHTTP2_ERR_NOMEM, ssize_t, nghttp2_session_mem_send,
     (nghttp2_session *session, const uint8_t **out), (session, out))
WRAP(INJECT_ALLOC, ENOMEM, NGHTTP2_ERR_NOMEM, ssize_t, nghttp2_session_mem_recv,
     (nghttp2_session *session, const uint8_t *at, size_t len), (session, at, len))
#endif
MEMORY(json_t *, json_array, (void), ())
MEMORY(json_t *, json_object, (void), ())
MEMORY(json_t *, json_integer, (json_int_t n), (n))
MEMORY(json_t *, json_real, (double x), (x))
MEMORY(json_t *, json_string, (const char *text), (text))
MEMORY(char *, json_dumps, (const json_t *of, size_t flags), (of, flags))

/* These take what they are given also when they fail. */
int __real_json_array_append_new(json_t *array, json_t *value);
int __wrap_json_array_append_new(json_t *array, json_t *value);
int __wrap_json_array_append_new(json_t *array, json_t *value)
{
    if (!fails(INJECT_ALLOC, HERE))
        return __real_json_array_append_new(array, value);
    json_decref(value);
    return -1;
}

int __real_json_object_set_new(json_t *object, const char *key, json_t *value);
int __wrap_json_object_set_new(json_t *object, const char *key, json_t *value);
int __wrap_json_object_set_new(json_t *object, const char *key, json_t *value)
{
    if (!fails(INJECT_ALLOC, HERE))
        return __real_json_object_set_new(object, key, value);
    json_decref(value);
    return -1;
}

json_t *__real_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *text, size_t len, size_t flags, json_error_t *error)
{
    if (!fails(INJECT_ALLOC, HERE))
        return __real_json_loadb(text, len, flags, error);
    if (error) {
        memset(error, 0, sizeof *error);
        snprintf(error->text, sizeof error->text, "out of memory");
        error->text[JSON_ERROR_TEXT_LENGTH - 1] = json_error_out_of_memory;
    }
    return NULL;
}

json_t *__wrap_json_pack(const char *fmt, ...);
json_t *__wrap_json_pack(const char *fmt, ...)
{
    json_t *made;
    va_list args;

    va_start(args, fmt);
    made = json_vpack_ex(NULL, 0, fmt, args);
    va_end(args);
    if (!fails(INJECT_ALLOC, HERE))
        return made;
    json_decref(made); /* with all that "o" gave it, as the library does */
    return NULL;
}

int __real_png_image_begin_read_from_memory(png_imagep image, png_const_voidp at, size_t len);
int __wrap_png_image_begin_read_from_memory(png_imagep image, png_const_voidp at, size_t len);
int __wrap_png_image_begin_read_from_memory(png_imagep image, png_const_voidp at, size_t len)
{
    if (!fails(INJECT_ALLOC, HERE))
        return __real_png_image_begin_read_from_memory(image, at, len);
    snprintf(image->message, sizeof image->message, "png_image_read: out of memory");
    image->warning_or_error = PNG_IMAGE_ERROR;
    return 0;
}

boolean __real_jpeg_start_decompress(j_decompress_ptr jpeg);
boolean __wrap_jpeg_start_decompress(j_decompress_ptr jpeg);
boolean __wrap_jpeg_start_decompress(j_decompress_ptr jpeg)
{
    if (fails(INJECT_ALLOC, HERE))
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0); /* does not come back */
    return __real_jpeg_start_decompress(jpeg);
}

/* ---- Threads ----------------------------------------------------------------------------- */

WRAP(INJECT_THREAD, EAGAIN, EAGAIN, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg),
     (thread, attr, fn, arg))

/* ---- Descriptors ---------------------------------------------------------------------------- */

#define DESCRIPTOR(name, params, args) WRAP(INJECT_OPEN, EMFILE, -1, int, name, params, args)

/* A mode that was not given is not looked at. */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, int mode);
int __wrap_open64(const char *path, int flags, int mode)
{
    if (fails(INJECT_OPEN, HERE)) {
        errno = EMFILE;
        return -1;
    }
    return __real_open64(path, flags, mode);
}

int __real_openat64(int dir, const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, int mode);
int __wrap_openat64(int dir, const char *path, int flags, int mode)
{
    if (fails(INJECT_OPEN, HERE)) {
        errno = EMFILE;
        return -1;
    }
    return __real_openat64(dir, path, flags, mode);
}

DESCRIPTOR(mkstemp64, (char *path), (path))
DESCRIPTOR(mkostemp64, (char *path, int flags), (path, flags))
DESCRIPTOR(memfd_create, (const char *name, unsigned flags), (name, flags))
DESCRIPTOR(pipe2, (int *ends, int flags), (ends, flags))
DESCRIPTOR(socket, (int domain, int type, int protocol), (domain, type, protocol))
DESCRIPTOR(dup, (int fd), (fd))
DESCRIPTOR(eventfd, (unsigned first, int flags), (first, flags))
DESCRIPTOR(epoll_create1, (int flags), (flags))
WRAP(INJECT_OPEN, EMFILE, NULL, FILE *, fopen64, (const char *path, const char *mode), (path, mode))
WRAP(INJECT_OPEN, ENOMEM, NULL, FILE *, fdopen, (int fd, const char *mode), (fd, mode))
WRAP(INJECT_OPEN, EMFILE, NULL, DIR *, opendir, (const char *path), (path))
WRAP(INJECT_OPEN, ENOMEM, NULL, DIR *, fdopendir, (int fd), (fd))

/* ---- Reading ------------------------------------------------------------------------------- */

ssize_t __real_read(int fd, void *to, size_t len);
ssize_t __wrap_read(int fd, void *to, size_t len);
ssize_t __wrap_read(int fd, void *to, size_t len)
{
    if (interrupts(HERE))
        return -1;
    if (!fails(INJECT_READ, HERE))
        return __real_read(fd, to, shortened(len, HERE));
    errno = EIO;
    return -1;
}

ssize_t __real_pread64(int fd, void *to, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t len, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t len, off_t offset)
{
    if (interrupts(HERE))
        return -1;
    if (!fails(INJECT_READ, HERE))
        return __real_pread64(fd, to, shortened(len, HERE), offset);
    errno = EIO;
    return -1;
}

/* stdio remembers that it failed; glibc keeps that in a bit. */
static void stream_break(FILE *f)
{
    f->_flags |= 0x20; /* _IO_ERR_SEEN */
    errno = EIO;
}

size_t __real_fread(void *to, size_t size, size_t n, FILE *f);
size_t __wrap_fread(void *to, size_t size, size_t n, FILE *f);
size_t __wrap_fread(void *to, size_t size, size_t n, FILE *f)
{
    if (!fails(INJECT_READ, HERE))
        return __real_fread(to, size, n, f);
    stream_break(f);
    return 0;
}

char *__real_fgets(char *to, int len, FILE *f);
char *__wrap_fgets(char *to, int len, FILE *f);
char *__wrap_fgets(char *to, int len, FILE *f)
{
    if (!fails(INJECT_READ, HERE))
        return __real_fgets(to, len, f);
    stream_break(f);
    return NULL;
}

ssize_t __real___getdelim(char **line, size_t *room, int end, FILE *f);
ssize_t __wrap___getdelim(char **line, size_t *room, int end, FILE *f);
ssize_t __wrap___getdelim(char **line, size_t *room, int end, FILE *f)
{
    if (!fails(INJECT_READ, HERE))
        return __real___getdelim(line, room, end, f);
    stream_break(f);
    return -1;
}

WRAP(INJECT_READ, EIO, NULL, struct dirent *, readdir64, (DIR * dir), (dir))
WRAP(INJECT_READ, EIO, -1, int, fstat64, (int fd, struct stat *info), (fd, info))
WRAP(INJECT_READ, EIO, -1, ssize_t, getrandom, (void *to, size_t len, unsigned flags),
     (to, len, flags))

/* ---- Writing ----------------------------------------------------------------------------------
 */

ssize_t __real_write(int fd, const void *from, size_t len);
ssize_t __wrap_write(int fd, const void *from, size_t len);
ssize_t __wrap_write(int fd, const void *from, size_t len)
{
    if (interrupts(HERE) || fills(&len, HERE))
        return -1;
    return __real_write(fd, from, shortened(len, HERE));
}

ssize_t __real_pwrite64(int fd, const void *from, size_t len, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t len, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t len, off_t offset)
{
    if (interrupts(HERE) || fills(&len, HERE))
        return -1;
    return __real_pwrite64(fd, from, shortened(len, HERE), offset);
}

WRAP(INJECT_WRITE, ENOSPC, ENOSPC, int, posix_fallocate64, (int fd, off_t offset, off_t len),
     (fd, offset, len))
WRAP(INJECT_WRITE, ENOSPC, -1, int, ftruncate64, (int fd, off_t len), (fd, len))

/* What stdio holds may be lost when it is written at last. */
static bool stream_fills(FILE *f, void *from)
{
    return f && f != stderr && __fwritable(f) && fails(INJECT_WRITE, from);
}

int __real_fflush(FILE *f);
int __wrap_fflush(FILE *f);
int __wrap_fflush(FILE *f)
{
    if (!stream_fills(f, HERE))
        return __real_fflush(f);
    __fpurge(f);
    stream_break(f);
    errno = ENOSPC;
    return EOF;
}

int __real_fclose(FILE *f);
int __wrap_fclose(FILE *f);
int __wrap_fclose(FILE *f)
{
    if (!stream_fills(f, HERE))
        return __real_fclose(f);
    __fpurge(f);
    __real_fclose(f);
    errno = ENOSPC;
    return EOF;
}

WRAP(INJECT_SYNC, EIO, -1, int, fsync, (int fd), (fd))
WRAP(INJECT_SYNC, EIO, -1, int, fdatasync, (int fd), (fd))
WRAP(INJECT_RENAME, EACCES, -1, int, rename, (const char *from, const char *to), (from, to))
WRAP(INJECT_RENAME, EACCES, -1, int, mkdir, (const char *path, mode_t mode), (path, mode))
