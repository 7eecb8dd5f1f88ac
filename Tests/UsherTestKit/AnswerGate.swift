import Foundation
import Synchronization

/// A proxy in front of a sandbox that forwards requests at once and can hold responses back.
///
/// A request whose response is held has been processed, and is in the sandbox's list of requests.
package final class AnswerGate: Sendable {
  /// The base URL to use instead of the sandbox's own `http://127.0.0.1:PORT`.
  package let base: String
  private let listener: Int32
  private let flag: Flag

  /// Opens the port. Responses pass until ``hold()`` is called.
  ///
  /// - Parameter base: The sandbox's base URL.
  package init(before base: String) throws {
    guard let port = URLComponents(string: base)?.port.flatMap({ UInt16(exactly: $0) }) else {
      throw TestError("not the base URL of a sandbox: \(base)")
    }
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 16) == 0
          && getsockname(listener, $0, &size) == 0
      }
    }
    guard isBound else {
      close(listener)
      throw TestError("the gate cannot listen on a loopback port")
    }
    let flag = Flag()
    self.base = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    self.listener = listener
    self.flag = flag
    Thread.detachNewThread {
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        Thread.detachNewThread { Self.serve(connection, port, flag) }
      }
    }
  }

  deinit {
    release()
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// Holds all responses from now on.
  package func hold() { flag.isSet.withLock { $0 = true } }

  /// Forwards the held responses, and all later ones.
  package func release() { flag.isSet.withLock { $0 = false } }

  /// Whether responses are held. Connections keep this object alive longer than the gate.
  private final class Flag: Sendable {
    let isSet = Mutex(false)

    func wait() { while isSet.withLock({ $0 }) { poll(nil, 0, 5) } }
  }

  private static func serve(_ connection: Int32, _ port: UInt16, _ flag: Flag) {
    let sandbox = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { for descriptor in [connection, sandbox] { close(descriptor) } }
    var address = loopback(port)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(sandbox, $0, size) == 0 }
    }
    guard isConnected else { return }
    let requests = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      Self.copy(connection, to: sandbox) {}
      requests.signal()
    }
    Self.copy(sandbox, to: connection) { flag.wait() }
    requests.wait()
  }

  /// Forwards bytes until one side closes, then shuts down both.
  private static func copy(_ source: Int32, to target: Int32, _ wait: () -> Void) {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    copying: while true {
      let count = recv(source, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      wait()
      var sent = 0
      while sent < count {
        let more = chunk[sent..<count].withUnsafeBytes {
          send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard more > 0 else { break copying }
        sent += more
      }
    }
    for descriptor in [source, target] { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    return address
  }
}
