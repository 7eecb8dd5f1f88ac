import CSystemd
import Glibc
import UsherCore

/// The listening sockets that systemd passed through socket activation, sd_listen_fds(3), by the
/// `FileDescriptorName=` of their socket units.
package enum ActivatedSockets {
  /// The values of `FileDescriptorName=` in usherd's socket units.
  package static let known = ["usherd-admin.sock", "usherd.sock"]

  /// Takes ownership of the sockets that systemd passed. Returns an empty dictionary without socket
  /// activation.
  ///
  /// Call it once, before other threads run: it removes `$LISTEN_FDS` and the like from the
  /// environment, so that no child process takes the sockets for its own.
  ///
  /// - Throws: `internalError` with a sentence for the author of the unit: an unknown name, a
  ///   duplicate name, or a descriptor that is not a listening Unix stream socket.
  package static func take() throws -> [String: CInt] {
    var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = usher_listen_fds(&list)
    guard count >= 0 else {
      throw Errno(-count).explained("the sockets passed by systemd cannot be used")
    }
    defer { free(list) }
    var passed: [(name: String, descriptor: CInt)] = []
    for index in 0..<Int(count) {
      let name = list?[index]
      passed.append((name.map { String(cString: $0) } ?? "unknown", 3 + CInt(index)))
      free(name)
    }
    return try checked(passed)
  }

  static func checked(_ passed: [(name: String, descriptor: CInt)]) throws -> [String: CInt] {
    var sockets: [String: CInt] = [:]
    for (name, descriptor) in passed {
      let shown = Printable.value(name)
      guard known.contains(name) else {
        let names = known.joined(separator: ", ")
        throw refusal(
          "systemd passed a socket named \(shown); FileDescriptorName= must be one of \(names)")
      }
      guard sockets[name] == nil else {
        throw refusal(
          "systemd passed two sockets named \(shown); a socket unit must have one ListenStream=")
      }
      guard usher_is_unix_listener(descriptor) > 0 else {
        throw refusal("the socket named \(shown) is not a listening unix stream socket")
      }
      sockets[name] = descriptor
    }
    return sockets
  }

  private static func refusal(_ sentence: String) -> UsherError {
    UsherError(.internalError, sentence)
  }
}
