/* file: bytes in and out of the world.
 *
 * What this is: input lists, streams that decompress by content, outputs that
 * appear whole or not at all, files that grow by lines, and our container of
 * named, checksummed sections.
 * Who owns what: _open gives a resource that _close ends. A section read from
 * a container points into its memory and lives until container_close.
 * Threads: one thread at a time per object; a container that was opened may be
 * read by all. */
#ifndef SHOAL_FILE_H
#define SHOAL_FILE_H

#include "base/base.h"

/* ---- inputs.c: what to read --------------------------------------------------- */

struct input {
    char *path;       /* "-" is standard input; of memory a name for sentences */
    uint64_t size;    /* on disk or in memory; 0 for what is not a regular file */
    bool regular;     /* may be read again */
    const void *data; /* [size] bytes of memory, borrowed, instead of a file; or NULL */
};

struct inputs {
    struct input *at;
    size_t len, cap;
};

/* Expands folders (all files below, by the bytes of their paths, hidden ones
 * left out, links followed but not back up) and globs; the arguments keep their
 * order. What exists is never a glob. A path that is not there, or a folder or
 * glob without a file, is an error, and then *out is empty. */
shoal_status inputs_expand(struct inputs *out, const char *const *paths, size_t n);

/* What a caller asks for: paths, or blocks of memory. */
struct sources {
    const char *const *paths;          /* [n], to be expanded; or NULL */
    const struct shoal_memory *blocks; /* [n], borrowed as long as the inputs are */
    size_t n;
};

shoal_status inputs_open(struct inputs *out, const struct sources *from);
void inputs_fini(struct inputs *in);
/* How a failure names an input: its path, or "standard input". */
const char *input_name(const struct input *in);
/* Bytes, on disk and in memory, of the inputs from `first` to before `last`; *once: some
 * of them can be read only once, and their size is not known. */
uint64_t inputs_bytes(const struct inputs *in, size_t first, size_t last, bool *once);

/* ---- stream.c: reading, decompressed by content --------------------------------- */

struct stream;

/* gzip, zstd, bzip2 and xz are recognised by their first bytes; joined members, frames and
 * streams are read as one; "-" is standard input. A zstd window and an xz dictionary may be
 * 128 MiB. */
shoal_status stream_open(struct stream **out, const char *path);
/* A path so, or bytes in memory, borrowed until stream_close, as they are: never
 * decompressed. */
shoal_status stream_open_input(struct stream **out, const struct input *in);
/* Fills up to cap bytes; *got < cap only at the end. Truncated or corrupt
 * compressed data fails. */
shoal_status stream_read(struct stream *s, void *buf, size_t cap, size_t *got);
/* The same, but only what is there, waiting for no more than one byte; *got is 0 only at
 * the end. cap > 0. */
shoal_status stream_some(struct stream *s, void *buf, size_t cap, size_t *got);
/* Whether the bytes are read as they lie in the file. */
bool stream_plain(const struct stream *s);
/* Whether a file that begins so is decompressed when it is read: ten bytes tell. */
bool bytes_compressed(const void *at, size_t len);
/* Goes on from a byte of a plain file, or of memory; pipes decline. */
shoal_status stream_seek(struct stream *s, uint64_t offset);
/* Bytes taken from the file so far, or since stream_seek, before decompression:
 * for progress. */
uint64_t stream_consumed(const struct stream *s);
/* The most that stream_read can still give, where that is known; else SIZE_MAX. */
size_t stream_left(const struct stream *s);
void stream_close(struct stream *s);

/* What readers of text share: inputs one after the other, and how far they are. */
struct input_reader {
    const struct inputs *inputs; /* borrowed */
    size_t at;                   /* the input being read, or the next */
    struct stream *stream;       /* of it; NULL between inputs */
    uint64_t consumed;           /* of those before, as stream_consumed has it */
    struct pulse pulse;
};

/* From the first input on; so many bytes are said to the watch, 0: unknown. */
void input_reader_begin(struct input_reader *r, const struct shoal_watch *watch, const char *phase,
                        uint64_t bytes);
shoal_status input_reader_open(struct input_reader *r);
/* Ends the input and goes on to the next. */
void input_reader_next(struct input_reader *r);
/* SHOAL_ESTOP when the watcher said to stop. */
shoal_status input_reader_pulse(struct input_reader *r);
/* Takes a byte-order mark, which is no text, from the beginning of an input; gives its
 * bytes, 0 when there is none. */
size_t input_drop_mark(struct bytes *head);

/* Reads a whole file of at most max bytes, NUL-terminated; free(*out). What it is
 * when it was compressed must fit into memory, and 100 times its size and 64 MiB. */
shoal_status stream_slurp(char **out, size_t *len, const char *path, size_t max);

/* ---- zip.c: the members of a zip archive that lies in memory --------------------------- */

/* As the directory at its end lists them; zip64 too. Stored and deflated ones, on one disk and not
 * encrypted; they may not overlap, nor two have one name. */
struct zip_member {
    struct span name; /* within the archive, and not ended by a NUL */
    const char *at;   /* [packed] */
    size_t packed, size;
    uint32_t crc;
    bool deflated;
};

struct zip {
    const char *path; /* borrowed */
    struct zip_member *at;
    size_t n;
};

bool zip_sniff(const char *at, size_t len);
/* Borrows path and bytes until zip_close, which may follow a failure too. */
shoal_status zip_open(struct zip *z, const char *path, const char *at, size_t len);
void zip_close(struct zip *z);
/* Its first *got <= cap bytes, unchecked. */
shoal_status zip_head(const struct zip *z, const struct zip_member *m, void *to, size_t cap,
                      size_t *got);
/* All `size` bytes of it, checked: where they lie, or in *ours, for mem_unmap. A deflated one may
 * become 100 times its size and 64 MiB. */
shoal_status zip_read(const struct zip *z, const struct zip_member *m, const char **at,
                      void **ours);

/* ---- whole.c: a file as it is, in memory of our own ------------------------------- */

/* The bytes of a regular file that is open as `fd`, and of which fstat said
 * `before`, by all threads; mem_unmap ends them. Fails when they become fewer or
 * are written to meanwhile. */
struct stat;
shoal_status file_read_whole(void **out, const char *path, int fd, const struct stat *before);
/* So many bytes of an open file: fewer at its end, errno then being 0, or after a failure. */
size_t file_read_at(int fd, void *to, size_t len, uint64_t offset);
/* All of them, from `offset` on or, where it is below 0, behind what was written last; false after
 * a failure, as errno says. */
bool file_write_at(int fd, const void *data, size_t len, int64_t offset);

/* ---- output.c: whole or not at all ------------------------------------------------ */

/* A file `.NAME.tmp-XXXXXX` beside its destination, renamed over it by
 * output_commit. "-" (standard output), pipes and devices are written straight.
 * Only a killed process leaves the temporary file behind. */
struct output;

shoal_status output_open(struct output **out, const char *path);
/* Buffered. After a failure o may only be abandoned. */
shoal_status output_write(struct output *o, const void *data, size_t len);
/* Overwrites bytes already written; fails for what is written straight. */
shoal_status output_patch(struct output *o, uint64_t offset, const void *data, size_t len);
uint64_t output_size(const struct output *o);
/* Flushes to the disk and renames; o is ended whether or not it succeeds. */
shoal_status output_commit(struct output *o);
/* Ends o and leaves nothing behind. */
void output_abandon(struct output *o);
/* Commits what went well, abandons what did not; o may then be NULL. */
shoal_status output_end(struct output *o, shoal_status st);

/* The folder that a file goes to, for free(); NULL after shoal_fail. */
char *path_folder(const char *path);
uint64_t folder_space(const char *folder); /* bytes of disk; UINT64_MAX: unknown */
uint64_t path_size(const char *path);     /* 0 when it is not there */

/* ---- spool.c: put aside on disk ------------------------------------------------------ */

/* An unnamed temporary file, that grows at its end and is read anywhere. */
struct spool {
    int fd; /* -1: none */
    uint64_t size;
};
#define SPOOL_NONE ((struct spool){.fd = -1})

/* In dir; NULL: in TMPDIR or /tmp. */
shoal_status spool_open(struct spool *s, const char *dir);
/* `what` the bytes are is for sentences. */
shoal_status spool_add(struct spool *s, const void *data, size_t len, const char *what);
shoal_status spool_read(const struct spool *s, uint64_t offset, void *to, size_t len,
                        const char *what);
void spool_close(struct spool *s);

/* ---- journal.c: line by line, to be read meanwhile ------------------------------ */

/* A file that grows in place; pipes and devices too. It holds whole lines: what cannot be written
 * whole is cut off again, and where an existing file ends without a newline, that end is cut off
 * before lines are added. */
struct journal;

/* Goes on with what is there when `more`, else begins anew. */
shoal_status journal_open(struct journal **out, const char *path, bool more);
/* Whole lines, at once and unbuffered. */
shoal_status journal_add(struct journal *j, const char *text, size_t len);
/* Bytes of the file; of a pipe or device those added. */
uint64_t journal_size(const struct journal *j);
/* Drops what is beyond the first `len` bytes of a file. */
shoal_status journal_cut(struct journal *j, uint64_t len);
void journal_close(struct journal *j);

/* ---- container.c: our files ---------------------------------------------------------
 *
 *     0         64                                          toc      size
 *     | header  | section | 0.. | section | 0.. | ... | 0.. | toc    |
 *
 * All integers little-endian. Sections start at multiples of 64; what lies
 * between is zero. docs/formats.md is the specification. */

struct container_writer;

/* The path must be a regular file or not there yet: pipes and devices cannot
 * be rewritten. */
shoal_status container_create(struct container_writer **out, const char *path);
/* Starts a section (names: 1-23 bytes of a-z 0-9 . _), ending the one before.
 * A writer remembers its first failure: what follows does nothing and gives that status again,
 * container_commit too. So sections may be put without looking at each. */
shoal_status container_begin(struct container_writer *w, const char *name);
shoal_status container_write(struct container_writer *w, const void *data, size_t len);
/* begin and write in one. */
shoal_status container_put(struct container_writer *w, const char *name, const void *data,
                           size_t len);
/* Writes table and header and lets the file appear; w is ended whether or not
 * it succeeds. */
shoal_status container_commit(struct container_writer *w);
void container_abandon(struct container_writer *w);
/* As output_end. */
shoal_status container_end(struct container_writer *w, shoal_status st);

struct container;

/* Reads the file into memory of our own and checks every byte of it: whatever
 * happens to the file afterwards, the container stays as it was. A file that is
 * written to meanwhile fails. */
shoal_status container_open(struct container **out, const char *path);
/* Maps the file and checks header and table of sections, in milliseconds
 * however long the file. While it is open nobody may write into the file or
 * shorten it: reading what is gone kills the process (SIGBUS). Files that
 * output.c replaces are safe, for the old one lives on until it is closed. For
 * data that need not fit into memory. */
shoal_status container_map(struct container **out, const char *path);
/* Reads the table and the section "meta" alone; the data of others is NULL. */
shoal_status container_peek(struct container **out, const char *path);
/* The same for bytes in memory, borrowed until container_close; `path` is for
 * sentences. Sections are aligned as far as data is. */
shoal_status container_open_memory(struct container **out, const char *path, const void *data,
                                   size_t size);
/* The same of a copy, which is the container's; every byte is checked. */
shoal_status container_open_copy(struct container **out, const struct shoal_memory *file);
/* Fails unless its meta says that it is of that kind; `want` is for the sentence. */
shoal_status container_check_kind(const struct container *c, const char *kind, const char *want);
/* Checks every byte: sections against their checksums, gaps for zeros. Open
 * and verify together leave no byte of the file unchecked. threads 0: one for
 * each core. */
shoal_status container_verify(const struct container *c, unsigned threads);
void container_close(struct container *c);

const char *container_path(const struct container *c);
size_t container_count(const struct container *c);
struct section {
    const char *name;
    const void *data; /* 64-byte aligned */
    size_t size;
    uint64_t checksum; /* as the table says */
};
struct section container_at(const struct container *c, size_t i);
/* The section of that name whose size is a multiple of unit (> 0); fails, with
 * the file's name, when there is none. */
shoal_status container_find(const struct container *c, const char *name, size_t unit,
                            struct section *out);
bool container_has(const struct container *c, const char *name);
/* A number that stands for bytes, keyed by `seed`, for which another's may do: XXH3. */
uint64_t bytes_hash(uint64_t seed, const void *data, size_t len);
/* A number that stands for the contents of all sections, as the table says. */
uint64_t container_fingerprint(const struct container *c);

/* The section "meta" holds lines `key value`, of 64 MiB at most; the first of a key
 * counts. A value of cap bytes or more fails. */
shoal_status container_meta(const struct container *c, const char *key, char *value, size_t cap);
shoal_status container_meta_u64(const struct container *c, const char *key, uint64_t *value);

/* Whether the file starts like a container, without complaint if not. */
bool container_sniff(const char *path);
bool container_sniff_memory(const void *data, size_t size);

#endif
