import FoundationEssentials

extension GoPayBackend {
  /// Handles `POST /partner/exchange`: the backend of a partner, for apps that have none.
  ///
  /// A repeated request with the same `requestId` gets the same response.
  func exchange(_ call: EndpointCall) async -> Reply {
    do {
      return try exchanged(call, context.clock.now())
    } catch {
      return .json(
        ["reason": .string(error.description)], status: error.status, error: error.error)
    }
  }

  private func exchanged(_ call: EndpointCall, _ now: Date) throws(OAuthError) -> Reply {
    guard call.bearer == GoPayPartner.exchangeCredential else {
      throw .client("the credential for the partner's backend is missing or wrong")
    }
    var body = try call.postedObject()
    let code = try body.requiredText("authCode")
    let request = try body.requiredText("requestId", limit: 4096)
    let person = try body.requiredText("userCorrelationId")
    try body.finish()
    if let before = exchanges.value(request, now: now) { return .json(.object(before)) }
    let token = try redeemed(code, now)
    let members: [String: JSON] = ["userCorrelationId": .string(person), "token": .string(token)]
    let answer = members.applying(overrides: settings.exchangeReply)
    exchanges.insert(answer, for: request, until: .distantFuture, now: now)
    return .json(.object(answer))
  }
}
