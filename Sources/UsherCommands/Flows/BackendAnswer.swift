import JSONRPC
import UsherAPI
import UsherCore

extension FlowInput {
  /// What the app's backend said of a credential: `{"accessToken":"…",…}` of texts and numbers, or
  /// `{"failure":{"reason":"…"}}`.
  ///
  /// - Throws: ``BackendMisfit``, which names what is wrong and no value.
  init(backendAnswer text: Secret) throws(BackendMisfit) {
    guard let members = (try? JSONValue(parsing: text.revealed()))?.objectValue else {
      throw BackendMisfit("it is no JSON object")
    }
    if let failure = members["failure"] {
      guard members.count == 1, let reason = failure["reason"]?.stringValue else {
        throw BackendMisfit("its failure has no reason, or more stands beside it")
      }
      self = .exchangeFailed(reason: reason)
      return
    }
    var fields: [String: Secret] = [:]
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let text = value.textOrNumber else {
        throw BackendMisfit("its member \(name) is neither a text nor a number")
      }
      fields[name] = Secret(text)
    }
    self = .exchanged(fields)
  }
}

/// Why an answer of a backend cannot be used.
struct BackendMisfit: Error, Equatable {
  let what: String

  init(_ what: String) { self.what = what }
}

extension JSONValue {
  /// A number as it would be written: 900 also where it came as 900.0.
  fileprivate var textOrNumber: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): "\(number)"
    case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    case .null, .bool, .array, .object: nil
    }
  }
}
