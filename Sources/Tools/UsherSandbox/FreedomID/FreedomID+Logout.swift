import FoundationEssentials

/// A log-out that was reported to the partner.
struct FreedomRevocation: Sendable, Hashable {
  let time: Date
  let tokenID: String
  let url: String
  let answer: CallbackAnswer

  var json: JSON {
    var members: [String: JSON] = [
      "time": .number(time.timeIntervalSince1970), "id": .string(tokenID), "url": .string(url),
    ]
    switch answer {
    case .answered(let status, let body):
      members["status"] = .integer(status)
      members["body"] = .string(String(decoding: body, as: UTF8.self))
    case .failed(let reason): members["failed"] = .string(reason)
    }
    return .object(members)
  }
}

/// The most recent reports, oldest first.
struct FreedomRevocations: Sendable {
  private static let limit = 1000
  private(set) var all: [FreedomRevocation] = []

  mutating func add(_ revocation: FreedomRevocation) {
    if all.count == Self.limit { all.removeFirst() }
    all.append(revocation)
  }
}

extension FreedomIDBackend {
  /// Ends tokens of the partner API and reports each to the partner if its address is known.
  func endPartnerTokens(
    where fits: (FreedomToken) -> Bool
  ) async -> (ended: [String], reported: [FreedomRevocation]) {
    let ended = ledger.tokens.values.filter { $0.grants != nil && !$0.isEnded && fits($0) }
      .map(\.id)
    for id in ended { ledger.end(id) }
    var reported: [FreedomRevocation] = []
    for id in ended {
      if let revocation = await reportRevocation(of: id) { reported.append(revocation) }
    }
    return (ended, reported)
  }

  /// Reports the end of a token to the partner; nil if the partner's address is not known.
  func reportRevocation(of id: String) async -> FreedomRevocation? {
    guard let url = CallbackURL(settings.revokeUri) else { return nil }
    let body: JSON = ["id": .string(id)]
    let answer = await sendCallback(url, [:], body.encoded())
    let revocation = FreedomRevocation(
      time: context.clock.now(), tokenID: id, url: url.text, answer: answer)
    revocations.add(revocation)
    return revocation
  }
}
