import FoundationEssentials

/// Control calls for settings, prescribed answers and expiry.
extension BSABackend {
  func readSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(try JSON(encoding: settings)) }
  }

  func changeSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      settings = try settings.changed(by: try call.settingChanges())
      return .json(try JSON(encoding: settings))
    }
  }

  func resetSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      settings = BSABackendSettings()
      return .json(try JSON(encoding: settings))
    }
  }

  func listAnswers(_ call: EndpointCall) async -> Reply { .json(answerList) }

  func addAnswer(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try ObjectReader(try? JSON(parsing: call.body))
      let endpoint = try body.requiredText("endpoint")
      let numbers = Int(Int32.min)...Int(Int32.max)
      let times = try body.number("times", in: 0...1_000_000) ?? 1
      let answer = PrescribedResponse(
        endpoint: endpoint, rtCode: try body.number("rtCode", in: numbers),
        rtMsg: try body.text("rtMsg", limit: 4096), text: try body.text("text", limit: 65_536),
        status: try body.number("status", in: 200...599), data: body.remove("data"),
        processed: try body.flag("processed") ?? false, times: times == 0 ? nil : times)
      try body.finish()
      guard endpoint == "*" || wireNames.contains(endpoint) else {
        throw body.invalid("endpoint", "must be one of *, \(wireNames.joined(separator: ", "))")
      }
      guard answer.saysSomething else {
        throw OAuthError("invalid_request", "set rtCode, rtMsg, text, status or data")
      }
      guard answers.add(answer) else {
        throw OAuthError(
          "invalid_request", "the limit of \(PrescribedResponses.limit) answers is reached")
      }
      return .json(answerList, status: 201)
    }
  }

  func forgetAnswers(_ call: EndpointCall) async -> Reply {
    answers.removeAll()
    return .json(answerList)
  }

  private var answerList: JSON { ["answers": .array(answers.all.map(\.json))] }

  /// The names of the endpoints that respond with an envelope.
  private var wireNames: [String] {
    let pages = ["bsa.site", "bsa.begin", "bsa.signIn", "bsa.leave"]
    return endpoints.map(\.name).filter { !pages.contains($0) }
  }

  func expire(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let word = try body.text("what")
      try body.finish()
      let kinds =
        word.map { ExpirableKind(rawValue: $0).map { [$0] } ?? [] } ?? ExpirableKind.allCases
      guard !kinds.isEmpty else {
        let words = ExpirableKind.allCases.map(\.rawValue)
        throw body.invalid("what", "must be one of \(words.joined(separator: ", ")), or absent")
      }
      let now = context.clock.now()
      for kind in kinds {
        switch kind {
        case .numbers: contacts.expireNumbers(now: now)
        case .disposeTokens: contacts.expireTokens(now: now)
        case .loginNumbers: loginNumbers.removeAll()
        case .signIns: signIns.expireAll(now: now)
        case .tokens: signIns.expireTokens()
        }
      }
      return .json(["ok": true])
    }
  }

  func listNumbers(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    return .json(["numbers": .array(contacts.numbers.map { $0.json(now) })])
  }

  func listDisposeTokens(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    return .json(["disposeTokens": .array(contacts.disposeTokens.map { $0.json(now) })])
  }
}

/// The things that a control call can expire at once.
private enum ExpirableKind: String, CaseIterable {
  case numbers
  case disposeTokens
  case loginNumbers
  case signIns
  case tokens
}

extension PrescribedResponse {
  fileprivate var saysSomething: Bool {
    rtCode != nil || rtMsg != nil || text != nil || status != nil || data != nil
  }
}

extension BSAContacts.Number {
  fileprivate func json(_ now: Date) -> JSON {
    let isOver = state == .waiting && expires <= now
    return [
      "channel": .string(contact.kind.channel.rawValue), "to": .string(contact.text),
      "state": .string(isOver ? "expired" : state.rawValue),
      "attemptsLeft": .integer(attemptsLeft), "expiresAt": .number(expires.timeIntervalSince1970),
    ]
  }
}

extension BSAContacts.DisposeToken {
  fileprivate func json(_ now: Date) -> JSON {
    [
      "channel": .string(contact.kind.channel.rawValue), "to": .string(contact.text),
      "state": .string(isUsed ? "used" : expires <= now ? "expired" : "unused"),
      "expiresAt": .number(expires.timeIntervalSince1970),
    ]
  }
}
