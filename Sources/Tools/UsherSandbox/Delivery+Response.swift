import Glibc
import Hummingbird
import NIOCore

extension Delivery {
  /// Returns the HTTP response for this delivery, or breaks the connection as the fault demands.
  func response(on channel: any Channel) async throws -> Response {
    switch self {
    case .complete(let reply):
      return reply.response(ByteBuffer(bytes: reply.body))
    case .truncated(let reply):
      return reply.response(cutting: channel)
    case .padded(let bytes):
      return Self.padding(bytes)
    case .reset:
      try await channel.reset()
      return Response(status: .init(code: 500))
    }
  }

  /// Returns a streamed JSON object of `bytes` bytes, but of at least 14.
  private static func padding(_ bytes: Int) -> Response {
    let head = #"{"padding":""#
    let tail = #""}"#
    var reply = Reply(status: 200)
    reply.headers["Content-Type"] = "application/json"
    let fill = max(0, bytes - head.utf8.count - tail.utf8.count)
    let body = ResponseBody(contentLength: head.utf8.count + fill + tail.utf8.count) { writer in
      try await writer.write(ByteBuffer(string: head))
      var left = fill
      while left > 0 {
        let part = min(left, 65_536)
        try await writer.write(ByteBuffer(repeating: UInt8(ascii: "x"), count: part))
        left -= part
      }
      try await writer.write(ByteBuffer(string: tail))
      try await writer.finish(nil)
    }
    return reply.response(body)
  }
}

extension Reply {
  /// Whether a response with this status may have a body (RFC 9110 §6.4.1).
  private var hasBody: Bool { status != 204 && status != 304 }

  fileprivate func response(_ buffer: ByteBuffer) -> Response {
    response(hasBody ? ResponseBody(byteBuffer: buffer) : ResponseBody())
  }

  fileprivate func response(_ body: ResponseBody) -> Response {
    var response = Response(status: .init(code: status), body: body)
    for (name, value) in headers {
      guard let name = HTTPFields.Element.Name(name) else { continue }
      response.headers[name] = value
    }
    return response
  }

  /// Announces the length of the whole body, sends its first half and closes the connection.
  fileprivate func response(cutting channel: any Channel) -> Response {
    let half = ByteBuffer(bytes: body.prefix(body.count / 2))
    return response(
      ResponseBody(contentLength: body.count) { writer in
        try await writer.write(half)
        try await channel.close().get()
        throw ChannelError.ioOnClosedChannel
      })
  }
}

extension Channel {
  /// Closes the connection so that the peer sees a TCP reset instead of an orderly end.
  fileprivate func reset() async throws {
    if let options = self as? any SocketOptionProvider {
      try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
    }
    try await close().get()
  }
}
