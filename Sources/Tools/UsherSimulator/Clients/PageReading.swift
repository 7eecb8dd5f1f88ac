import JSONRPC
import UsherSandbox

/// What a person sees on a page of the sandbox.
extension Reply {
  var text: String { String(decoding: body, as: UTF8.self) }

  /// The address to which the browser is redirected.
  var location: String? { headers.first { $0.key.lowercased() == "location" }?.value }

  /// The hidden fields of the page's form.
  var hiddenFields: [(String, String)] {
    ["transaction", "csrf"].compactMap { name in
      value(after: "name=\"\(name)\" value=\"").map { (name, $0) }
    }
  }

  /// The value of the first button of a name.
  func value(ofButton name: String) -> String? { value(after: "name=\"\(name)\" value=\"") }

  private func value(after start: String) -> String? {
    let text = text
    guard let begin = text.firstRange(of: start)?.upperBound,
      let end = text[begin...].firstIndex(of: "\"")
    else { return nil }
    return String(text[begin..<end])
  }
}

extension String {
  /// The value of a parameter in the query of a URL.
  func query(_ name: String) -> String? {
    guard let query = split(separator: "?", maxSplits: 1).dropFirst().first else { return nil }
    return WireRequest.fields(of: String(query))[name]
  }
}

/// Inputs of steps.
extension JSONValue {
  static let resend: JSONValue = ["type": "enterCode", "resend": true]

  static func code(_ text: String, fields: JSONValue? = nil) -> JSONValue {
    var input: JSONValue = ["type": "enterCode", "code": .string(text)]
    if let fields { input["fields"] = fields }
    return input
  }

  static func fields(_ fields: JSONValue) -> JSONValue {
    ["type": "fillForm", "fields": fields]
  }

  /// The address from the browser's address bar; nil if the provider redirected nowhere.
  static func pasted(_ address: String?) -> JSONValue? {
    address.map { ["type": "openURL", "redirectURL": .string($0)] }
  }

  func adding(_ members: [String: JSONValue]) -> JSONValue {
    var value = self
    for (name, member) in members { value[name] = member }
    return value
  }
}
