import UsherClient

extension FlowInput {
  /// Parses the text with which the app's backend reports the exchange of a credential:
  /// `{"accessToken":"…",…}` with strings and numbers as values, or `{"failure":{"reason":"…"}}`.
  ///
  /// - Throws: ``InvalidBackendAnswer``, whose text contains no value of the answer.
  init(backendAnswer text: Secret) throws(InvalidBackendAnswer) {
    guard let members = (try? JSONValue(parsing: text.revealed()))?.objectValue else {
      throw InvalidBackendAnswer(reason: "it is not a JSON object")
    }
    if let failure = members["failure"] {
      guard members.count == 1, let reason = failure["reason"]?.stringValue else {
        throw InvalidBackendAnswer(
          reason: "its failure has no reason, or it has other members besides failure")
      }
      self = .exchangeFailed(reason: reason)
      return
    }
    var fields: [String: Secret] = [:]
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let text = value.textOrNumber else {
        throw InvalidBackendAnswer(reason: "its member \(name) is neither a string nor a number")
      }
      fields[name] = Secret(text)
    }
    self = .exchanged(fields)
  }
}

/// The reason why the answer of an app's backend cannot be used.
struct InvalidBackendAnswer: Error, Equatable {
  let reason: String
}
