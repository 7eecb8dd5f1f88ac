/// The outbox as a web page at `/outbox`, and as JSON for tests at `/_control/outbox`.
struct OutboxPages: Sendable {
  let context: BackendContext

  var page: Endpoint {
    Endpoint("outbox", .get, "/outbox") { _ in
      let messages = await context.outbox.messages()
      return context.pages.render(
        "outbox", ["messages": messages.prefix(Self.shown).map(Self.values)])
    }
  }

  var controls: [Endpoint] {
    [
      Endpoint("outbox", .get, "/_control/outbox") { call in
        await respondingWithOAuthErrors {
          let query = try call.queryForm()
          let messages = await context.outbox.messages(
            to: query["to"], provider: query["provider"])
          return .json([
            "count": .integer(messages.count), "messages": try JSON(encoding: messages),
          ])
        }
      },
      Endpoint("outbox", .delete, "/_control/outbox") { _ in
        await context.outbox.removeAll()
        return .json(["ok": true])
      },
      Endpoint("outbox", .post, "/_control/outbox/codes") { call in
        await respondingWithOAuthErrors {
          context.tokenGenerator.choose(try Self.codes(call))
          return .json(["ok": true])
        }
      },
    ]
  }

  private static func codes(_ call: EndpointCall) throws(OAuthError) -> [String] {
    var body = try ObjectReader(try? JSON(parsing: call.body))
    let codes = body.remove("codes")
    try body.finish()
    guard case .array(let items) = codes else { throw body.invalid("codes", "is not a list") }
    return try items.map { item throws(OAuthError) in
      guard let code = item.text, !code.isEmpty, code.allSatisfy({ ("0"..."9").contains($0) })
      else {
        throw body.invalid("codes", "must contain strings of digits")
      }
      return code
    }
  }

  /// The largest number of messages on the page.
  private static let shown = 100

  private static func values(_ entry: OutboxTable.Entry) -> [String: Any] {
    let message = entry.message
    var values: [String: Any] = [
      "id": entry.id, "at": entry.at.httpDate, "provider": message.provider,
      "channel": message.channel.rawValue, "to": message.to, "text": message.text,
    ]
    values["subject"] = message.subject.map { ["text": $0] }
    values["delivery"] = entry.delivery.map { ["text": "\($0)"] }
    return values
  }
}
