import FoundationEssentials
import JSONRPC

/// The keys that profiles are signed with (contract §1.2, row 8).
package enum TruecallerKeys: Sendable, Equatable {
  /// The DER encoding of a SubjectPublicKeyInfo (RFC 5280 §4.1). It is not parsed here.
  case key([UInt8])
  /// No key could be fetched. Carries the server's reply if there was one.
  case unreachable(String, HTTPReply? = nil)
  case unusable(String)

  /// Reads the first usable RSA key of the array. Elements of other types are ignored.
  package init(_ outcome: CallOutcome) {
    switch outcome {
    case .reply(let reply) where reply.status == 200: self.init(reply.body)
    case .reply(let reply):
      let message = "the provider's keys answer HTTP \(reply.status)"
      self =
        [408, 425, 429].contains(reply.status) || reply.status >= 500
        ? .unreachable(message, reply) : .unusable(message)
    case .unreachable(let message, sent: _): self = .unreachable(message)
    case .unreadable(let message), .noToken(let message): self = .unusable(message)
    }
  }

  private init(_ body: [UInt8]) {
    let keys = (try? JSONValue(parsing: body).arrayValue) ?? []
    let key = keys.lazy.filter { $0["keyType"]?.stringValue == "RSA" }
      .compactMap { $0["key"]?.stringValue.flatMap { Data(base64Encoded: $0) } }
      .first { !$0.isEmpty }
    self = key.map { .key(Array($0)) } ?? .unusable("the provider names no RSA key")
  }
}

extension ProviderProbe {
  /// A probe that fetches the key list, which is public and has no side effects.
  static let truecaller = ProviderProbe("keys", TruecallerCall.keys) { outcome in
    switch TruecallerKeys(outcome) {
    case .key: (true, "it names a key")
    case .unreachable(let message, _), .unusable(let message): (false, message)
    }
  }
}
