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

// A client of a D-Bus daemon: sd-bus(3) without its callbacks. One thread at a time may use a bus
// and the messages that came by it.
typedef struct usher_bus usher_bus;
typedef struct usher_message usher_message;

// Starts to connect to `address`; NULL is the system bus, as sd_bus_open_system(3) finds it. 0 or
// -errno. Calls may be sent at once.
int usher_bus_open(const char *address, usher_bus **bus);

// Drops the connection without waiting for anything.
void usher_bus_close(usher_bus *bus);

// Sends a call with one string, or with nothing where `argument` is NULL. 0 and the cookie that the
// answer will name, or -errno.
int usher_bus_call(usher_bus *bus, const char *destination, const char *path,
                   const char *interface, const char *member, const char *argument,
                   uint64_t *cookie);

// Does a step of what is due. A message that came is the caller's to let go of, else it is NULL.
// 1: call again; 0: nothing is due; -errno: the connection has ended.
int usher_bus_process(usher_bus *bus, usher_message **message);

// Sleeps until something is due, `wake` can be read, or the time is over. 0 or -errno.
int usher_bus_wait(usher_bus *bus, int wake, int milliseconds);

void usher_message_free(usher_message *message);

// The cookie of the call that this answers; 0: it answers none.
uint64_t usher_message_answers(usher_message *message);

// The name and the text of an error; NULL: it is none. They live as long as the message.
const char *usher_message_error(usher_message *message, const char **text);

// Whether it is this signal, sent by the connection of exactly this name. The daemon vouches for
// the name, but lets anybody send signals to anybody: what it says depends on it.
int usher_message_is_signal(usher_message *message, const char *sender, const char *path,
                            const char *interface, const char *member);

// The unique name of the connection that sent it, or NULL.
const char *usher_message_sender(usher_message *message);

// Read the body from its start: a string or object path, a string and a boolean, an array of
// strings. 0 or -errno; -EBADMSG where the body is another one.
int usher_message_read_string(usher_message *message, const char **value);
int usher_message_read_string_and_flag(usher_message *message, const char **value, int *flag);

// The caller frees the strings and their array, which ends with NULL.
int usher_message_read_strings(usher_message *message, char ***values);

// eventfd(2) that can be read once somebody wrote to it: a descriptor the caller closes, or -errno.
int usher_eventfd(void);

// What a descriptor is ready for, as epoll(7) has it. The last two come unasked.
enum { USHER_READABLE = 0x1, USHER_WRITABLE = 0x4, USHER_BROKEN = 0x8, USHER_HUNG_UP = 0x10 };

// How many descriptors one wait tells of at most.
enum { USHER_MOST_READY = 256 };

// epoll_create1(2): a descriptor the caller closes, or -errno.
int usher_epoll_create(void);

// epoll_ctl(2), level triggered; `key` comes back with what is ready. 0 or -errno.
int usher_epoll_add(int epoll, int fd, uint64_t key, uint32_t events);
int usher_epoll_change(int epoll, int fd, uint64_t key, uint32_t events);
int usher_epoll_remove(int epoll, int fd);

// epoll_pwait2(2), for ever where `nanoseconds` is negative. How many keys and events were written, or
// -errno.
int usher_epoll_wait(int epoll, uint64_t *keys, uint32_t *events, int most, int64_t nanoseconds);

// Has the waits of this thread end when they are to, and not a little later. 0 or -errno.
int usher_wait_exactly(void);

// Names this thread, by at most 15 bytes. 0 or -errno.
int usher_name_thread(const char *name);

// accept4(2) of a descriptor that does not block and is closed on exec: the caller's, or -errno.
int usher_accept(int listener);

// The same for a caller who has none of these uids. The sockets of those who have are put into `theirs`,
// `*found` of them, for the caller to close. -EBUSY where that were `most`, and more may wait.
int usher_accept_others(int listener, const uint32_t *uids, size_t count, int *theirs, int most,
                        int *found);

// Gives what the allocator keeps for later back to the system, where that is at least so many bytes.
// Whether it did; waits for those who allocate meanwhile, and they for it.
int usher_release_memory(size_t least);
