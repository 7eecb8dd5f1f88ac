import Glibc
import UsherCore

/// The daemon's own listening socket, where systemd passed none.
package enum UnixListener {
  /// Binds and listens.
  ///
  /// A socket somebody answers on is never taken away from him; one that nobody answers on is left
  /// over and removed. At no moment has the file a wider mode than `mode`, and nobody connects
  /// before it has it. Two daemons that start at once are kept apart by a lock on the directory.
  ///
  /// - Parameters:
  ///   - mode: The permissions of the socket's file, whatever the umask is.
  ///   - creatingParent: Whether a missing directory is made, with mode 0755. Only the last one is.
  /// - Returns: A listening, non-blocking descriptor, closed on exec, that belongs to the caller.
  /// - Throws: `internalError` with a sentence for the operator.
  package static func bind(
    path: String, mode: UInt32, creatingParent: Bool = false
  ) throws -> CInt {
    let address = try UnixAddress(path: path)
    let parent = parent(of: path)
    if creatingParent { try makeDirectory(parent) }
    let lock = try lockedDirectory(parent)
    // Closing the descriptor is not enough: a program that another thread is starting has a copy of it.
    defer { flock(lock.raw, LOCK_UN) }
    try removeStale(path: path, address: address)
    return try bound(to: address, path: path, mode: mode).release()
  }

  /// Removes the socket's file. Call it while the descriptor is still open, else another daemon may
  /// have bound the path already. A file that is gone is no error.
  package static func unlink(path: String) {
    _ = Glibc.unlink(path)
  }

  private static func bound(
    to address: UnixAddress, path: String, mode: mode_t
  ) throws -> Descriptor {
    do throws(Errno) {
      let listener = try Descriptor.socket(AF_UNIX, SOCK_STREAM, flags: nonBlocking)
      // Linux makes the file with the socket's own mode, so there is no moment with a wider one and
      // no need for the umask, which belongs to all threads.
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
      throw Errno.last.explained("cannot look at \(path)")
    }
    guard status.isSocket else {
      throw UsherError(.internalError, "\(path) is in the way: it is not a socket")
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
        // EAGAIN: his queue is full, so he lives.
        throw UsherError(.internalError, "another usherd is serving \(path)")
      default: throw error.explained("cannot find out who serves \(path)")
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
        throw UsherError(.internalError, "another usherd is just starting in \(directory)")
      default: throw error.explained("cannot use the socket's directory \(directory)")
      }
    }
  }

  private static func makeDirectory(_ directory: String) throws {
    if mkdir(directory, 0o755) == 0 {
      // The umask may have taken bits away.
      guard chmod(directory, 0o755) == 0 else {
        throw Errno.last.explained("cannot open \(directory) to its users")
      }
    } else if errno != EEXIST {
      throw Errno.last.explained("cannot make the socket's directory \(directory)")
    }
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static let nonBlocking = CInt(SOCK_NONBLOCK.rawValue)
}
