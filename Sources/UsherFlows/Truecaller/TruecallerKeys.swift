import FoundationEssentials
import JSONRPC

extension SignatureKey {
  /// Reads the key that verifies signed profiles from Truecaller's list of keys (provider contract
  /// §1.2, row 8).
  ///
  /// The first key of type RSA in the list is used; the list may contain keys of other types too.
  package init(truecaller outcome: CallOutcome) {
    switch outcome {
    case .reply(let reply) where reply.status == 200: self.init(truecaller: reply.body)
    case .reply(let reply):
      let message = "the provider's keys answer HTTP \(reply.status)"
      self =
        [408, 425, 429].contains(reply.status) || reply.status >= 500
        ? .unreachable(message, reply) : .unusable(message)
    case .unreachable(let message, sent: _): self = .unreachable(message)
    case .unreadable(let message), .noToken(let message): self = .unusable(message)
    }
  }

  private init(truecaller body: [UInt8]) {
    let keys = (try? JSONValue(parsing: body).arrayValue) ?? []
    let key = keys.lazy.filter { $0["keyType"]?.stringValue == "RSA" }
      .compactMap { $0["key"]?.stringValue.flatMap { Data(base64Encoded: $0) } }
      .first { !$0.isEmpty }
    self = key.map { .key(Array($0)) } ?? .unusable("the provider publishes no RSA key")
  }
}

extension ProviderProbe {
  /// The request that tests whether a Truecaller provider is usable: it fetches the list of keys,
  /// which is public and has no side effects.
  static let truecaller = ProviderProbe(subject: "keys", call: TruecallerCall.keys) { outcome in
    switch SignatureKey(truecaller: outcome) {
    case .key: (true, "it publishes a key")
    case .unreachable(let message, _), .unusable(let message): (false, message)
    }
  }
}
