/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFIG_BOUNDS_H
#define CONFIG_BOUNDS_H

/* The largest values that files and variables may ask for; docs/files.md names them too. */
#define ATTEMPTS_MAX    100000
#define CONCURRENCY_MAX 1024
#define PIDS_MAX        4194304 /* the kernel's own maximum */
#define CPUS_MAX        4096
#define REPEAT_MAX      100

#endif
