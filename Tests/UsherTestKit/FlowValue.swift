package import Foundation
package import JSONRPC
import UsherCore

extension JSONValue {
  package var text: String { String(decoding: encoded(), as: UTF8.self) }

  /// The type of a flow's step; nil if the flow has ended.
  package var stepType: String? { self["step"]?["type"]?.stringValue }

  /// The page of a flow's `openURL` step.
  package var url: String { self["step"]?["url"]?.stringValue ?? "" }

  /// The `reason` of a flow's failure, and the code and the error number of its provider.
  package var failure: [String?] { errorCodes(of: "failure") }

  /// Returns the `reason` of a flow's `failure` or `problem`, and the code and the error number of
  /// its provider.
  package func errorCodes(of member: String) -> [String?] {
    let provider = self[member]?["provider"]
    return [
      self[member]?["reason"]?.stringValue, provider?["code"]?.stringValue,
      provider?["error"]?.stringValue,
    ]
  }

  /// Returns the time in a member: RFC 3339, with milliseconds only if they are not zero.
  package func time(_ name: String) throws -> Date {
    guard let text = self[name]?.stringValue, let time = Timestamp(rfc3339: text) else {
      throw TestError("member \(name) is missing or not an RFC 3339 time: \(self.text)")
    }
    return Date(timeIntervalSince1970: time.seconds)
  }
}
