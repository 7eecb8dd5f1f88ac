/// A response that a test has prescribed for some requests. It replaces or changes the true one.
struct PrescribedResponse: Sendable, Hashable {
  /// The name of an endpoint, or `*` for all.
  let endpoint: String
  /// The `rtCode` of an envelope that replaces the true response; nil to change the true one.
  let rtCode: Int?
  let rtMsg: String?
  /// Plain text in place of an envelope.
  let text: String?
  let status: Int?
  /// Overrides for `data` of a successful response; `null` removes `data`.
  let data: JSON?
  /// Whether the request is handled even if its response is replaced.
  let processed: Bool
  /// How many requests it still applies to; nil: all.
  var times: Int?

  /// The response that replaces the true one; nil if this answer only changes the true one.
  func replacement(_ settings: BSABackendSettings) -> BSAEnvelope? {
    if let text { return BSAEnvelope(body: .text(text), status: status ?? 200) }
    guard let rtCode else { return nil }
    var members: [String: JSON] = ["rtCode": .integer(rtCode)]
    members["rtMsg"] = rtMsg.map { .string($0) }
    if let data, data != .null { members["data"] = data }
    let usual = rtCode == 0 ? 200 : settings.refusalStatus
    return BSAEnvelope(body: .members(members), status: status ?? usual)
  }

  /// Returns the true response with the changes applied.
  func applying(to envelope: BSAEnvelope) -> BSAEnvelope {
    var envelope = envelope
    envelope.status = status ?? envelope.status
    guard case .members(var members) = envelope.body else { return envelope }
    if let rtMsg { members["rtMsg"] = .string(rtMsg) }
    if let data, members["rtCode"] == 0 {
      members["data"] = Self.replaced(members["data"], by: data)
    }
    envelope.body = .members(members)
    return envelope
  }

  private static func replaced(_ data: JSON?, by other: JSON) -> JSON? {
    switch (data, other) {
    case (_, .null): nil
    case (.object(let members)?, .object(let overrides)):
      .object(members.applying(overrides: overrides))
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

/// The active answers, oldest first. The oldest that matches applies, and no other.
struct PrescribedResponses: Sendable {
  /// The largest number of active answers.
  static let limit = 100

  private(set) var all: [PrescribedResponse] = []

  /// Adds an answer; returns false if there are too many.
  mutating func add(_ answer: PrescribedResponse) -> Bool {
    guard all.count < Self.limit else { return false }
    all.append(answer)
    return true
  }

  mutating func removeAll() { all.removeAll() }

  /// Returns the answer that applies to a request; nil if there is none.
  mutating func next(_ endpoint: String) -> PrescribedResponse? {
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
