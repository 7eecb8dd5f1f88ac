import Foundation
package import JSONRPC

/// A minimal client of the socket: sends and receives lines; every wait has a time limit.
package final class RawClient: @unchecked Sendable {
  private let socket: TestSocket
  private var unread: [UInt8] = []
  private var nextID = 0

  package init(_ path: String) throws { socket = try TestSocket(connectedTo: .unix(path: path)) }

  /// Returns a client as soon as a program listens at the path.
  package static func waiting(for path: String) throws -> RawClient {
    let deadline = TestDeadline()
    while true {
      let isLast = deadline.isOver
      do {
        return try RawClient(path)
      } catch is TestError where !isLast {
        poll(nil, 0, 10)
      }
    }
  }

  /// Sends bytes without adding a newline.
  package func send(raw bytes: [UInt8]) throws { try socket.send(bytes) }

  package func send(_ line: String) throws { try send(raw: Array(line.utf8) + [0x0A]) }

  /// Sends as much as the socket accepts without waiting.
  ///
  /// - Returns: The number of bytes sent; 0 if the daemon is not reading.
  package func sendWhatFits(_ bytes: [UInt8]) throws -> Int {
    let count = Foundation.send(
      socket.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    if count >= 0 { return count }
    guard errno == EAGAIN else { throw TestError("the daemon closed the connection") }
    return 0
  }

  /// Shuts down the sending side, as a pipe of a shell does when its input ends.
  package func finishSending() { shutdown(socket.descriptor, Int32(SHUT_WR)) }

  /// Returns the next line as JSON, or nil if the daemon closed the connection.
  ///
  /// - Throws: ``TestError`` if no line arrives in time.
  package func receive(within seconds: Double = 60) throws -> JSONValue? {
    try receiveLine(within: seconds).map { try JSONValue(parsing: $0) }
  }

  /// Returns the next line without its newline, or nil if the daemon closed the connection.
  ///
  /// - Throws: ``TestError`` if no line arrives in time.
  package func receiveLine(within seconds: Double = 60) throws -> [UInt8]? {
    let deadline = TestDeadline(within: seconds)
    while true {
      if let end = unread.firstIndex(of: 0x0A) {
        let line = Array(unread[..<end])
        unread.removeFirst(end + 1)
        return line
      }
      guard let bytes = try socket.receive(by: deadline) else { return nil }
      unread += bytes
    }
  }

  /// Makes a call and returns its complete reply; skips notifications that arrive before it.
  package func reply(
    to method: String, _ params: JSONValue? = nil, within seconds: Double = 60
  ) throws -> JSONValue {
    nextID += 1
    var request: JSONValue = [
      "jsonrpc": "2.0", "id": .integer(Int64(nextID)), "method": .string(method),
    ]
    request["params"] = params
    try send(String(decoding: request.encoded(), as: UTF8.self))
    while let message = try receive(within: seconds) {
      if message["id"] == .integer(Int64(nextID)) { return message }
    }
    throw TestError("the daemon closed the connection instead of answering \(method)")
  }

  /// Makes a call that must succeed, and returns its result.
  package func call(
    _ method: String, _ params: JSONValue? = nil, within seconds: Double = 60
  ) throws -> JSONValue {
    let reply = try reply(to: method, params, within: seconds)
    guard let result = reply["result"] else {
      throw TestError("\(method): \(String(decoding: reply.encoded(), as: UTF8.self))")
    }
    return result
  }

  /// Makes a call that must fail, and returns its error.
  package func error(
    of method: String, _ params: JSONValue? = nil, within seconds: Double = 60
  ) throws -> JSONValue {
    let reply = try reply(to: method, params, within: seconds)
    guard let error = reply["error"] else {
      throw TestError("\(method) succeeded, but an error was expected")
    }
    return error
  }

  /// Makes a call that must fail, and returns the `reason` of its error.
  package func reason(of method: String, _ params: JSONValue? = nil) throws -> String {
    try error(of: method, params)["data"]?["reason"]?.stringValue ?? "none"
  }
}
