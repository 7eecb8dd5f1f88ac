import UsherTestKit

extension TestSocket {
  /// Connects to a port of 127.0.0.1.
  convenience init(connectedTo port: UInt16) throws {
    try self.init(connectedTo: .loopback(port: port))
  }

  /// Returns once a connection to the port is refused.
  ///
  /// That may be a moment after the socket was closed: a process that another test starts just then
  /// has a copy of the socket until it executes its program.
  static func nobodyListens(at port: UInt16) async throws {
    try await reached("nobody listens at \(port)") {
      (try? TestSocket(connectedTo: port)) == nil
    }
  }

  /// Returns all bytes until the other end closes.
  func answer(to text: String) throws -> String {
    try send(Array(text.utf8))
    return String(decoding: try receiveAll(), as: UTF8.self)
  }
}
