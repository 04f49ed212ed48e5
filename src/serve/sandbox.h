/* sandbox: what the process gives up before it reads a stranger's bytes; not a door.
 *
 * What this is: an allow-list of system calls (seccomp), and where the kernel has it a
 * rule about which files may be written (Landlock). An attacker who takes over the server by
 * a broken model or request can start no program, open no connection, make no process or
 * namespace, trace or signal nobody and write no file but in the folder of the state and of the
 * access log.
 * Who owns what: nothing; the kernel keeps it until the process ends.
 * Threads: the list holds for all threads of the process, Landlock for the calling
 * thread and those that it starts. */
#ifndef SHOAL_SERVE_SANDBOX_H
#define SHOAL_SERVE_SANDBOX_H

#include "base/base.h"

/* For good. `state` is the file that must still be replaced and `log` the one that must still be
 * opened anew, NULL: none. *files says whether the kernel has Landlock. Fails where the list cannot
 * be had, and where Landlock is there but its rule cannot be: the folders of both are wanted for
 * it. */
shoal_status sandbox_enter(const char *state, const char *log, bool *files);

#endif
