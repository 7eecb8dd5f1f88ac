import Foundation
import Glibc
import Testing
import UsherTestKit

/// HTTP requests over a plain socket. Each response is read until the server closes the connection.
enum Exchange {
  enum Failure: Error, Equatable { case connection(Int32) }

  /// Runs on a separate thread, because a blocking socket must not occupy a thread of the server.
  private static func run(_ base: String, _ request: String) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try blocking(base, request) })
      }
    }
  }

  private static func blocking(_ base: String, _ request: String) throws -> String {
    let port = try #require(base.split(separator: ":").last.flatMap { UInt16($0) })
    let socket = try TestSocket(connectedTo: .loopback(port: port))
    try socket.send(Array(request.utf8))
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let deadline = TestDeadline()
    while true {
      guard deadline.isReadable(socket.descriptor) else { throw Failure.connection(ETIMEDOUT) }
      let count = recv(socket.descriptor, &buffer, buffer.count, 0)
      guard count >= 0 else { throw Failure.connection(errno) }
      guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
      answer += buffer[..<count]
    }
  }

  static func get(_ base: String, _ path: String, host: String = "127.0.0.1") async throws -> String
  {
    try await send(base, "GET", path, host: host)
  }

  static func post(_ base: String, _ path: String, _ json: String) async throws -> String {
    try await send(base, "POST", path, headers: ["Content-Type: application/json"], json)
  }

  /// - Parameter headers: Complete header lines, `Name: value`.
  static func send(
    _ base: String, _ method: String, _ path: String, host: String = "127.0.0.1",
    headers: [String] = [], _ body: String? = nil
  ) async throws -> String {
    let lines =
      ["\(method) \(path) HTTP/1.1", "Host: \(host)", "Connection: close"] + headers
      + (body.map { ["Content-Length: \($0.utf8.count)"] } ?? [])
    return try await run(base, lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
  }
}

extension String {
  /// The size of the message body, in bytes.
  var bodySize: Int { httpBody.utf8.count }

  /// The message body: the part after the header section.
  var httpBody: Substring {
    split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
  }
}
