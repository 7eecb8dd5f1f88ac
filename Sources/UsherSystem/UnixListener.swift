import Glibc
import UsherCore

/// Creates a listening Unix socket, for a daemon to which systemd passed none.
package enum UnixListener {
  /// Binds a socket to the path and listens on it.
  ///
  /// A socket file that another process serves is never replaced. A left-over file that no process
  /// serves is removed. The socket file never has wider permissions than `mode`. A lock on the
  /// directory keeps two daemons that start at the same time from removing each other's socket.
  ///
  /// - Parameters:
  ///   - mode: The permissions of the socket file, independent of the umask.
  ///   - creatingParent: Whether to create a missing directory with mode 0755. Only the last path
  ///     component is created.
  /// - Returns: A listening, non-blocking, close-on-exec descriptor. The caller owns it.
  /// - Throws: `internalError` with a sentence for the operator.
  package static func bind(
    path: String, mode: UInt32, creatingParent: Bool = false
  ) throws -> CInt {
    let address = try UnixAddress(path: path)
    let parent = path.parentDirectory
    if creatingParent { try makeDirectory(parent) }
    let lock = try lockedDirectory(parent)
    // The lock is released explicitly. Closing the descriptor does not release it while a child
    // process that another thread is starting has a copy of the descriptor.
    defer { flock(lock.raw, LOCK_UN) }
    try removeStale(path: path, address: address)
    return try boundSocket(to: address, path: path, mode: mode).release()
  }

  /// Removes the socket file when the daemon stops. A missing file is not an error.
  ///
  /// Must be called while the listening descriptor is still open. Otherwise another daemon may
  /// already have bound the path.
  package static func unlink(path: String) { _ = Glibc.unlink(path) }

  private static func boundSocket(
    to address: UnixAddress, path: String, mode: mode_t
  ) throws -> Descriptor {
    do throws(Errno) {
      let listener = try Descriptor.socket(AF_UNIX, SOCK_STREAM, flags: nonBlocking)
      // Linux creates the socket file with the mode of the socket. So the file's mode is never
      // wider, and the umask, which all threads share, does not have to change.
      guard fchmod(listener.raw, mode) == 0 else { throw .last }
      try address.bind(listener)
      guard chmod(path, mode) == 0, listen(listener.raw, SOMAXCONN) == 0 else {
        let failure = Errno.last
        unlink(path: path)
        throw failure
      }
      return listener
    } catch {
      throw error.explained("cannot listen on \(path)")
    }
  }

  private static func removeStale(path: String, address: UnixAddress) throws {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return }
      throw Errno.last.explained("cannot inspect \(path)")
    }
    guard status.isSocket else {
      throw UsherError(.internalError, "\(path) exists and is not a socket")
    }
    do throws(Errno) {
      let probe = try Descriptor.socket(AF_UNIX, SOCK_STREAM, flags: nonBlocking)
      try address.connect(probe)
      throw Errno(EADDRINUSE)
    } catch {
      switch error.code {
      case ENOENT: return
      case ECONNREFUSED: break
      case EADDRINUSE, EAGAIN, EINPROGRESS, EPROTOTYPE:
        // EAGAIN means that the backlog is full, so a process is listening.
        throw UsherError(.internalError, "another usherd is serving \(path)")
      default: throw error.explained("cannot find out whether \(path) is in use")
      }
    }
    guard Glibc.unlink(path) == 0 || errno == ENOENT else {
      throw Errno.last.explained("cannot remove the left-over socket \(path)")
    }
  }

  private static func lockedDirectory(_ directory: String) throws -> Descriptor {
    do throws(Errno) {
      let descriptor = try Descriptor.open(directory, O_RDONLY | O_DIRECTORY)
      guard flock(descriptor.raw, LOCK_EX | LOCK_NB) == 0 else { throw .last }
      return descriptor
    } catch {
      switch error.code {
      case EWOULDBLOCK:
        throw UsherError(.internalError, "another usherd is starting in \(directory)")
      default: throw error.explained("cannot use the socket's directory \(directory)")
      }
    }
  }

  private static func makeDirectory(_ directory: String) throws {
    if mkdir(directory, 0o755) == 0 {
      // The umask may have removed permissions from the new directory.
      guard chmod(directory, 0o755) == 0 else {
        throw Errno.last.explained("cannot set the mode of the socket's directory \(directory)")
      }
    } else if errno != EEXIST {
      throw Errno.last.explained("cannot create the socket's directory \(directory)")
    }
  }

  private static let nonBlocking = CInt(SOCK_NONBLOCK.rawValue)
}
