import Foundation
import JSONRPC
import UsherTestKit

/// `token.get` calls that a connection repeats with the same bytes.
enum WarmCall {
  /// Returns a call in the same encoding as ``RawClient/reply(to:_:within:)`` sends.
  static func line(_ id: String, _ params: String = #"{"provider":"demo"}"#) -> String {
    #"{"id":\#(id),"jsonrpc":"2.0","method":"token.get","params":\#(params)}"#
  }
}

extension RawClient {
  /// Asks for a token ten times, so that the connection has cached all that it caches of the call.
  ///
  /// - Returns: The reply's result, which is the same each time.
  @discardableResult
  func warm(_ params: JSONValue = ["provider": "demo"]) throws -> JSONValue {
    let token = try call("token.get", params)
    for _ in 2...10 {
      let again = try call("token.get", params)
      guard again == token else {
        throw TestError("token.get returned another token: \(again.text)")
      }
    }
    return token
  }

  /// Sends a line and returns the next line that arrives, without its line feed.
  func bytesAnswering(_ line: String) throws -> [UInt8] {
    try send(line)
    return try nextBytes()
  }

  /// Like ``bytesAnswering(_:)``, as text. Two texts may be equal although their bytes differ.
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
  /// Applies another configuration with `system.reload`, which must report no problem.
  func reload(_ config: String) throws {
    try place.write(config, to: "usherd.toml")
    let problems = try admin().call("system.reload")["problems"]
    guard problems == [] else {
      throw TestError("system.reload reported problems: \(problems?.text ?? "")")
    }
  }
}

/// A `[[client]]` rule that matches the user who runs the tests.
enum OwnRule {
  /// Returns the text of the rule.
  ///
  /// - Parameter more: Further lines of the rule.
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

  /// Returns hours such as `Mon-Sun 09:30-11:30`, in this machine's time zone.
  ///
  /// - Parameters:
  ///   - start: Minutes from now.
  ///   - end: Minutes from now; less than a day after `start`.
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
