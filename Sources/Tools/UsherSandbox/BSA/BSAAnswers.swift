/// What a test wants some calls to be answered, beside or in the place of the truth.
struct BSAAnswer: Sendable, Hashable {
  /// A row's name; `*` for each.
  let endpoint: String
  /// Other than nil: no matter what the truth is.
  let rtCode: Int?
  let rtMsg: String?
  /// In the place of an envelope.
  let text: String?
  let status: Int?
  /// Overrides of `data`; `null` for none at all.
  let data: JSON?
  /// Whether the call is carried out although its answer is known.
  let processed: Bool
  /// Nil for all.
  var times: Int?

  /// The answer that needs no truth; nil where this bends the true one.
  func instead(_ settings: BSASettings) -> BSAEnvelope? {
    if let text { return BSAEnvelope(body: .text(text), status: status ?? 200) }
    guard let rtCode else { return nil }
    var members: [String: JSON] = ["rtCode": .integer(rtCode)]
    members["rtMsg"] = rtMsg.map { .string($0) }
    if let data, data != .null { members["data"] = data }
    let usual = rtCode == 0 ? 200 : settings.refusalStatus
    return BSAEnvelope(body: .members(members), status: status ?? usual)
  }

  /// The true answer, bent.
  func bending(_ envelope: BSAEnvelope) -> BSAEnvelope {
    var envelope = envelope
    envelope.status = status ?? envelope.status
    guard case .members(var members) = envelope.body else { return envelope }
    if let rtMsg { members["rtMsg"] = .string(rtMsg) }
    if let data, members["rtCode"] == 0 {
      members["data"] = Self.bent(members["data"], by: data)
    }
    envelope.body = .members(members)
    return envelope
  }

  private static func bent(_ data: JSON?, by other: JSON) -> JSON? {
    switch (data, other) {
    case (_, .null): nil
    case (.object(let members)?, .object(let overrides)):
      .object(members.overlaid(with: overrides))
    case (_, _): other
    }
  }

  var json: JSON {
    var members: [String: JSON] = [
      "endpoint": .string(endpoint), "times": .integer(times ?? 0), "processed": .bool(processed),
    ]
    members["rtCode"] = rtCode.map { .integer($0) }
    members["rtMsg"] = rtMsg.map { .string($0) }
    members["text"] = text.map { .string($0) }
    members["status"] = status.map { .integer($0) }
    members["data"] = data
    return .object(members)
  }
}

/// Those in force, oldest first: the oldest that fits is taken, alone.
struct BSAAnswers: Sendable {
  /// The most at a time.
  static let limit = 100

  private(set) var all: [BSAAnswer] = []

  /// False where there are too many.
  mutating func add(_ answer: BSAAnswer) -> Bool {
    guard all.count < Self.limit else { return false }
    all.append(answer)
    return true
  }

  mutating func removeAll() { all.removeAll() }

  /// What the call that comes now is answered; nil for the truth.
  mutating func next(_ endpoint: String) -> BSAAnswer? {
    guard let index = all.firstIndex(where: { ["*", endpoint].contains($0.endpoint) }) else {
      return nil
    }
    let answer = all[index]
    if let times = answer.times {
      if times <= 1 { all.remove(at: index) } else { all[index].times = times - 1 }
    }
    return answer
  }
}
