import Foundation
import JSONRPC
import UsherTestKit

/// Calls of `token.get` that a connection makes again and again, the same bytes each time.
enum WarmCall {
  /// As ``RawClient/reply(to:_:within:)`` writes it, too.
  static func line(_ id: String, _ params: String = #"{"provider":"demo"}"#) -> String {
    #"{"id":\#(id),"jsonrpc":"2.0","method":"token.get","params":\#(params)}"#
  }
}

extension RawClient {
  /// Asks for a token ten times: whatever a connection keeps of a call, it keeps by then.
  ///
  /// - Returns: The reply's result, which is the same each time.
  @discardableResult
  func warm(_ params: JSONValue = ["provider": "demo"]) throws -> JSONValue {
    let token = try call("token.get", params)
    for _ in 2...10 {
      let again = try call("token.get", params)
      guard again == token else { throw TestError("another token: \(again.text)") }
    }
    return token
  }

  /// The line that answers this one, without its end.
  func bytesAnswering(_ line: String) throws -> [UInt8] {
    try send(line)
    return try nextBytes()
  }

  /// As text: two texts may be equal though their bytes are not.
  func lineAnswering(_ line: String) throws -> String {
    String(decoding: try bytesAnswering(line), as: UTF8.self)
  }

  func nextLine() throws -> String { String(decoding: try nextBytes(), as: UTF8.self) }

  private func nextBytes() throws -> [UInt8] {
    guard let line = try receiveLine() else {
      throw TestError("the daemon closed the connection")
    }
    return line
  }
}

extension DaemonUnderTest {
  /// Brings another configuration into force; nothing may be wrong with it.
  func reload(_ config: String) throws {
    try place.write(config, to: "usherd.toml")
    let problems = try admin().call("system.reload")["problems"]
    guard problems == [] else { throw TestError("not reloaded: \(problems?.text ?? "")") }
  }
}

/// A `[[client]]` that means the user of these tests.
enum OwnRule {
  /// - Parameter more: More lines of it.
  static func text(_ more: String = "", allow: [String] = ["*"]) -> String {
    let list = allow.map { "\"\($0)\"" }.joined(separator: ", ")
    return """
      [[client]]
      name = "test"
      match = { user = \(getuid()) }
      allow = [\(list)]
      \(more)

      """
  }

  /// `Mon-Sun 09:30-11:30`, by this machine's clock.
  ///
  /// - Parameters:
  ///   - start: Minutes from now.
  ///   - end: The same; less than a day after that.
  static func hours(from start: Int, to end: Int) -> String {
    func time(_ minutes: Int) -> String {
      var moment = time_t(Date().timeIntervalSince1970) + minutes * 60
      var local = tm()
      localtime_r(&moment, &local)
      return String(format: "%02d:%02d", Int(local.tm_hour), Int(local.tm_min))
    }
    return "Mon-Sun \(time(start))-\(time(end))"
  }
}
