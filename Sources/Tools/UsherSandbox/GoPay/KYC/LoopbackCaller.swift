import NIOCore
import NIOPosix

/// Sends a callback with the given address, headers and body.
typealias CallbackSender =
  @Sendable (CallbackURL, [String: String], [UInt8]) async -> CallbackAnswer

/// A partner's response to a callback.
enum CallbackAnswer: Sendable, Hashable {
  case answered(status: Int, body: [UInt8])
  case failed(String)
}

/// An HTTP client that opens one connection per request.
enum LoopbackCaller {
  private static let seconds = 10
  /// The largest response in bytes.
  private static let limit = 1 << 16

  struct CallError: Error, CustomStringConvertible {
    let description: String
  }

  static func put(
    _ url: CallbackURL, headers: [String: String], body: [UInt8]
  ) async -> CallbackAnswer {
    await send("PUT", url, headers, body)
  }

  static func post(
    _ url: CallbackURL, headers: [String: String], body: [UInt8]
  ) async -> CallbackAnswer {
    await send("POST", url, headers, body)
  }

  private static func send(
    _ method: String, _ url: CallbackURL, _ headers: [String: String], _ body: [UInt8]
  ) async -> CallbackAnswer {
    do {
      return try await withThrowingTaskGroup(of: CallbackAnswer.self) { group in
        group.addTask { try await exchange(url, request(method, url, headers, body)) }
        group.addTask {
          try await Task.sleep(for: .seconds(seconds))
          throw CallError(description: "no response within \(seconds) seconds")
        }
        defer { group.cancelAll() }
        return try await group.next() ?? .failed("there was no response")
      }
    } catch {
      return .failed("\(error)")
    }
  }

  private static func request(
    _ method: String, _ url: CallbackURL, _ headers: [String: String], _ body: [UInt8]
  ) -> ByteBuffer {
    let host = url.host.contains(":") ? "[\(url.host)]" : url.host
    var lines = [
      "\(method) \(url.target) HTTP/1.1", "Host: \(host):\(url.port)", "Connection: close",
      "Content-Type: application/json", "Content-Length: \(body.count)",
    ]
    lines += headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    var buffer = ByteBuffer(string: lines.joined(separator: "\r\n") + "\r\n\r\n")
    buffer.writeBytes(body)
    return buffer
  }

  private static func exchange(
    _ url: CallbackURL, _ request: ByteBuffer
  ) async throws -> CallbackAnswer {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.seconds(5))
      .connect(host: url.host, port: url.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(request)
      var bytes: [UInt8] = []
      for try await part in inbound {
        bytes += part.readableBytesView
        guard bytes.count <= limit else { throw CallError(description: "the response is too long") }
      }
      return try answer(bytes)
    }
  }

  /// Parses a response that ended with its connection.
  static func answer(_ bytes: [UInt8]) throws -> CallbackAnswer {
    let mark = Array("\r\n\r\n".utf8)
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: mark) }),
      let line = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n").first,
      line.hasPrefix("HTTP/1."), let status = line.split(separator: " ").dropFirst().first,
      let status = Int(status)
    else { throw CallError(description: "the response is not HTTP") }
    return .answered(status: status, body: Array(bytes[(end + mark.count)...]))
  }
}
