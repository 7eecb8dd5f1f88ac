import Foundation
import Synchronization

/// A proxy in front of a sandbox that forwards requests at once and can hold responses back.
///
/// A request whose response is held has been processed, and is in the sandbox's list of requests.
package final class AnswerGate: Sendable {
  /// The base URL to use instead of the sandbox's own `http://127.0.0.1:PORT`.
  package let base: String
  private let listener: TestSocket
  private let flag: Flag

  /// Opens the port. Responses pass until ``hold()`` is called.
  ///
  /// - Parameter base: The sandbox's base URL.
  package init(before base: String) throws {
    guard let port = URLComponents(string: base)?.port.flatMap({ UInt16(exactly: $0) }) else {
      throw TestError("not the base URL of a sandbox: \(base)")
    }
    let listener = try TestSocket(listeningAt: .loopback(port: 0))
    let flag = Flag()
    self.base = "http://127.0.0.1:\(listener.port)"
    self.listener = listener
    self.flag = flag
    let descriptor = listener.descriptor
    Thread.detachNewThread {
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return }
        Thread.detachNewThread { Self.serve(connection, port, flag) }
      }
    }
  }

  deinit {
    release()
    shutdown(listener.descriptor, Int32(SHUT_RDWR))
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
    defer { close(connection) }
    guard let sandbox = try? TestSocket(connectedTo: .loopback(port: port)) else { return }
    let requests = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      Self.copy(connection, to: sandbox.descriptor) {}
      requests.signal()
    }
    Self.copy(sandbox.descriptor, to: connection) { flag.wait() }
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
}
