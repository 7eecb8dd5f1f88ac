import FoundationEssentials

extension TruecallerBackend {
  /// Handles `POST /v1/otp/installation/create`.
  func create(_ call: EndpointCall) async -> Reply {
    await respondingWithTruecallerErrors {
      let request = try CreateRequest(call)
      switch try ledger.create(request, now: context.clock.now()) {
      case .verifiedBefore(let token):
        let members: [String: JSON] = ["accessToken": .string(token), "status": 1]
        return .json(.object(members.applying(overrides: settings.verifiedBeforeReply)))
      case .sms(let code, let token, let seconds):
        let members: [String: JSON] = [
          "method": "sms", "verificationToken": .string(token), "tokenTtl": .integer(seconds),
          "status": 0,
        ]
        let reply = Reply.json(.object(members.applying(overrides: settings.createReply)))
        await send(code, to: request.number, seconds: seconds)
        return reply
      }
    }
  }

  /// Handles `POST /v1/otp/installation/verify`.
  func verify(_ call: EndpointCall) async -> Reply {
    await respondingWithTruecallerErrors {
      let request = try VerifyRequest(call)
      switch try ledger.verify(request, now: context.clock.now()) {
      case .wrong(let renewed):
        var refusal = TruecallerErrorReply.wrongCode
        refusal.members = renewed.members
        return refusal.reply
      case .right(let token, let renewed):
        let members = renewed.members.merging(["accessToken": .string(token)]) { $1 }
        return .json(.object(members.applying(overrides: settings.verifyReply)))
      }
    }
  }

  private func send(_ code: String, to number: TruecallerNumber, seconds: Int) async {
    await context.outbox.post(
      Message(
        provider: "truecaller", channel: .sms, to: number.e164,
        text: "\(code) is your Truecaller code for Acme. It expires in \(seconds) seconds.",
        code: code))
  }
}

extension TruecallerLedger.RenewedToken {
  fileprivate var members: [String: JSON] {
    switch self {
    case .nothing: [:]
    case .null: ["verificationToken": .null, "tokenTtl": .null]
    case .token(let token, let seconds):
      ["verificationToken": .string(token), "tokenTtl": .integer(seconds)]
    }
  }
}
