import Foundation
import Synchronization
import UsherTestKit

/// A proxy between the daemon and the provider that records the daemon's requests.
final class PartnerWire: Sendable {
  struct Request: Sendable {
    let method: String
    let path: String
    /// The headers, with names in lower case.
    let headers: [String: String]
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The value of the header `Authorization`.
    var credential: String { headers["authorization"] ?? "" }
  }

  private let listener: TestSocket
  private let record = Record()

  init() throws {
    listener = try TestSocket(listeningAt: .loopback(port: 0))
    Thread.detachNewThread { [record, descriptor = listener.descriptor] in
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return }
        Thread.detachNewThread {
          record.serve(connection)
          close(connection)
        }
      }
    }
  }

  deinit { shutdown(listener.descriptor, Int32(SHUT_RDWR)) }

  /// The provider's base URL in the daemon's configuration.
  var freedom: String { "http://127.0.0.1:\(listener.port)/freedomid" }

  func lead(to base: String) { record.state.withLock { $0.base = base } }

  /// Returns the requests recorded so far.
  ///
  /// - Parameter path: The suffix of the requests' paths.
  func requests(_ method: String, _ path: String) -> [Request] {
    record.state.withLock { $0.requests }.filter { $0.method == method && $0.path.hasSuffix(path) }
  }
}

/// The requests of a wire. It outlives the wire while an answer is in flight.
private final class Record: Sendable {
  struct State {
    var base = ""
    var requests: [PartnerWire.Request] = []
  }

  let state = Mutex(State())

  /// Forwards one request and its answer. If the provider does not answer, it sends nothing.
  func serve(_ connection: Int32) {
    guard let request = read(connection) else { return }
    let base = state.withLock {
      $0.requests.append(request)
      return $0.base
    }
    let own = ["host", "connection", "content-length", "content-type", "transfer-encoding"]
    let isEmpty = request.body.isEmpty && request.headers["content-length"] == nil
    guard
      let reply = try? Web.send(
        request.method, base + request.path, body: isEmpty ? nil : request.body,
        type: request.headers["content-type"] ?? "", headers: remove(own, from: request.headers),
        within: 90)
    else { return }
    var head = "HTTP/1.1 \(reply.status) -\r\nConnection: close\r\n"
    for (name, value) in remove(own.filter { $0 != "content-type" }, from: reply.headers) {
      head += "\(name): \(value)\r\n"
    }
    head += "Content-Length: \(reply.body.count)\r\n\r\n"
    let bytes = Array(head.utf8) + reply.body
    _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  private func remove(_ names: [String], from headers: [String: String]) -> [String: String] {
    headers.filter { !names.contains($0.key) }
  }

  private func read(_ connection: Int32) -> PartnerWire.Request? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let request = parse(bytes) { return request }
      let count = recv(connection, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      bytes += chunk.prefix(count)
    }
  }

  /// Returns nil if the request is incomplete.
  private func parse(_ bytes: [UInt8]) -> PartnerWire.Request? {
    guard let (words, headers, body) = Web.split(bytes), words.count == 3,
      body.count >= headers["content-length"].flatMap({ Int($0) }) ?? 0
    else { return nil }
    return PartnerWire.Request(method: words[0], path: words[1], headers: headers, body: body)
  }
}
