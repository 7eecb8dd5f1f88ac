// libsystemd, and what Swift cannot call by itself: macros, variadic calls, and structures that
// glibc's module leaves out.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Only plain types here: a system header included from this one would be taken for a part of this
// module by Swift, and its types for types of this module.

// sd_notify(3), sd_watchdog_enabled(3) and sd_is_socket_unix(3) for a listening stream socket.
int usher_notify(const char *message);
int usher_watchdog_enabled(uint64_t *microseconds);
int usher_is_unix_listener(int fd);

// sd_listen_fds_with_names(3), which also clears the environment. How many descriptors were passed,
// from 3 on, or -errno. The caller frees the names and their array.
int usher_listen_fds(char ***names);

// sd_journal_sendv(3) of `count` fields that stand one after the other in `bytes`, without the
// caller's location, which Swift knows better. 0 or -errno; 0 also where no journal runs.
int usher_journal_send(const uint8_t *bytes, const size_t *lengths, size_t count);

// SO_PEERCRED of a connected Unix socket. 0 or -errno.
int usher_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);

// SO_PEERGROUPS into `groups`, which has room for `*count` of them; on return `*count` is how many
// there are. 0 or -errno; -ERANGE where the room is too small.
int usher_peer_groups(int fd, uint32_t *groups, size_t *count);

// SO_PEERPIDFD (Linux 6.5): a descriptor the caller closes, or -errno.
int usher_peer_pidfd(int fd);

// pidfd_open(2): a descriptor the caller closes, or -errno.
int usher_pidfd_open(int32_t pid);

// prctl(PR_SET_DUMPABLE, 0) and its reading. 0 or 1 or -errno.
int usher_forbid_dumps(void);
int usher_is_dumpable(void);

// The uid that owns the TCP socket bound to `local` and connected to `remote`, by sock_diag(7).
//
// Addresses are IPv6 in network order, IPv4 in its mapped form; ports are in host order. 0 or
// -errno; -ENOENT where there is no such connection, or nobody holds its socket any more.
int usher_tcp_owner(const uint8_t local[16], uint16_t local_port, const uint8_t remote[16],
                    uint16_t remote_port, uint32_t *owner);
