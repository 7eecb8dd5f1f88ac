// Wrappers for libsystemd, and for what Swift cannot call directly: macros, variadic functions, and
// structures that glibc's Swift module lacks.
#pragma once

#include <stddef.h>
#include <stdint.h>

// This header uses only plain types. If it included a system header, Swift would treat that header
// as a part of this module, and its types as types of this module.

// sd_notify(3), sd_watchdog_enabled(3), and sd_is_socket_unix(3) for a listening stream socket.
int usher_notify(const char *message);
int usher_watchdog_enabled(uint64_t *microseconds);
int usher_is_unix_listener(int fd);

// sd_listen_fds_with_names(3), which also clears the environment variables. Returns the number of
// passed descriptors, which start at 3, or -errno. The caller frees the names and their array.
int usher_listen_fds(char ***names);

// sd_journal_sendv(3) for `count` fields, which are concatenated in `bytes`. The source location of
// the C caller is not added, because the Swift caller passes its own. Returns 0 or -errno, and 0
// also if no journal is running.
int usher_journal_send(const uint8_t *bytes, const size_t *lengths, size_t count);

// Reads SO_PEERCRED of a connected Unix socket. Returns 0 or -errno.
int usher_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);

// Reads SO_PEERGROUPS into `groups`, which has room for `*count` groups, and sets `*count` to their
// actual number. Returns 0 or -errno, -ERANGE if the room is too small.
int usher_peer_groups(int fd, uint32_t *groups, size_t *count);

// Reads SO_PEERPIDFD (Linux 6.5). Returns a descriptor that the caller closes, or -errno.
int usher_peer_pidfd(int fd);

// pidfd_open(2). Returns a descriptor that the caller closes, or -errno.
int usher_pidfd_open(int32_t pid);

// Set the dumpable attribute of this process to 0, and read it (prctl(2), PR_SET_DUMPABLE). The
// first returns 0 or -errno, the second the value of the attribute or -errno.
int usher_forbid_dumps(void);
int usher_is_dumpable(void);

// Finds the uid that owns the TCP socket bound to `local` and connected to `remote`, by
// sock_diag(7).
//
// Addresses are IPv6 in network byte order, IPv4 in its mapped form. Ports are in host byte order.
// Returns 0 or -errno, -ENOENT if there is no such connection or no process holds its socket.
int usher_tcp_owner(const uint8_t local[16], uint16_t local_port, const uint8_t remote[16],
                    uint16_t remote_port, uint32_t *owner);

// A client of a D-Bus daemon: sd-bus(3) without callbacks. Only one thread at a time may use a bus
// and the messages received from it.
typedef struct usher_bus usher_bus;
typedef struct usher_message usher_message;

// Starts to connect to `address`. NULL means the system bus, as sd_bus_open_system(3) finds it.
// Returns 0 or -errno. Calls may be sent immediately.
int usher_bus_open(const char *address, usher_bus **bus);

// Closes the connection without waiting.
void usher_bus_close(usher_bus *bus);

// Sends a method call with one string, or without an argument if `argument` is NULL. Returns 0 and
// the cookie by which the reply refers to the call, or -errno.
int usher_bus_call(usher_bus *bus, const char *destination, const char *path,
                   const char *interface, const char *member, const char *argument,
                   uint64_t *cookie);

// Performs one step of the bus's pending work. `*message` is a received message, which the caller
// frees, or NULL. Returns 1 if the function must be called again, 0 if nothing is pending, -errno
// if the connection has ended.
int usher_bus_process(usher_bus *bus, usher_message **message);

// Sleeps until the bus has pending work, the descriptor `wake` is readable or the time is over.
// Returns 0 or -errno.
int usher_bus_wait(usher_bus *bus, int wake, int milliseconds);

void usher_message_free(usher_message *message);

// Returns the cookie of the call that the message replies to, or 0 if it is not a reply.
uint64_t usher_message_answers(usher_message *message);

// Returns the name of the error and sets its text, or returns NULL if the message is not an error.
// Both live as long as the message.
const char *usher_message_error(usher_message *message, const char **text);

// Whether the message is this signal, sent by the connection with exactly this name. The D-Bus
// daemon guarantees the name but lets any connection send signals to any other, so the check of the
// sender is essential.
int usher_message_is_signal(usher_message *message, const char *sender, const char *path,
                            const char *interface, const char *member);

// Returns the unique name of the sender's connection, or NULL.
const char *usher_message_sender(usher_message *message);

// Read the body of a message from its start: a string or object path, a string and a boolean, an
// array of strings. Return 0 or -errno, -EBADMSG if the body has another type.
int usher_message_read_string(usher_message *message, const char **value);
int usher_message_read_string_and_flag(usher_message *message, const char **value, int *flag);

// The caller frees the strings and their array, which ends with NULL.
int usher_message_read_strings(usher_message *message, char ***values);

// Creates an eventfd(2), which is readable after it was written to. Returns a descriptor that the
// caller closes, or -errno.
int usher_eventfd(void);

// Events of a descriptor, with the values of epoll(7). Waits always report the last two.
enum { USHER_READABLE = 0x1, USHER_WRITABLE = 0x4, USHER_BROKEN = 0x8, USHER_HUNG_UP = 0x10 };

// The maximum number of descriptors that one call of usher_epoll_wait reports.
enum { USHER_MOST_READY = 256 };

// epoll_create1(2). Returns a descriptor that the caller closes, or -errno.
int usher_epoll_create(void);

// epoll_ctl(2), level-triggered. Waits report `key` for the descriptor. Return 0 or -errno.
int usher_epoll_add(int epoll, int fd, uint64_t key, uint32_t events);
int usher_epoll_change(int epoll, int fd, uint64_t key, uint32_t events);
int usher_epoll_remove(int epoll, int fd);

// epoll_pwait2(2), without a timeout if `nanoseconds` is negative. Returns the number of keys and
// events written, or -errno.
int usher_epoll_wait(int epoll, uint64_t *keys, uint32_t *events, int most, int64_t nanoseconds);

// Disables the timer slack of this thread, so that its waits end on time. Returns 0 or -errno.
int usher_wait_exactly(void);

// Sets the name of this thread, at most 15 bytes. Returns 0 or -errno.
int usher_name_thread(const char *name);

// accept4(2) with a non-blocking, close-on-exec result. Returns a descriptor that the caller
// closes, or -errno.
int usher_accept(int listener);

// Like usher_accept, but skips connections of the users `uids`. Stores the sockets of the skipped
// connections in `theirs` and their number in `*found`; the caller closes them. Returns -EBUSY if
// `most` connections were skipped, or if the last one has a descriptor that is not below `below`;
// more may be waiting.
int usher_accept_others(int listener, const uint32_t *uids, size_t count, int *theirs, int most,
                        int below, int *found);

// Returns the allocator's free memory to the system if it is at least `least` bytes. Returns 1 if
// any memory was returned, otherwise 0. The call blocks threads that allocate at the same time, and
// they block it.
int usher_release_memory(size_t least);
