import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DrivenSignIn

@Suite("BSA sign-in by a one-time code that is shown to the user")
struct ShownNumberTests {
  private static let numbers: [BSAAuthenticate.Way] = [.otp, .totp]

  @Test("BSA authenticate gets a code only after local authentication, or if the account has none")
  func proof() throws {
    for way in Self.numbers {
      var driven = try Driven(way)
      #expect(driven.state == "localAuth" && driven.calls.isEmpty)
      #expect(driven.questions == [.localAuth(.passcodeAvailability)])
      driven.look()
      driven.say(.cancelLocalAuth)
      #expect(driven.end == End(.cancelled, "USER_CANCEL") && driven.cleared.isEmpty)
    }
    let otp = try Driven(.otp, knownBy: "NONE")
    #expect(otp.calls == [Driven.generate] && otp.state == "generating" && otp.isWaiting)
    let totp = try Driven(.totp, knownBy: "NONE")
    #expect(totp.questions == [.oneTimeCode(of: BSAParts.account)] && totp.calls.isEmpty)
    #expect(totp.state == "generating")
  }

  @Test("a shown code has its site and its expiry, while BSA authenticate polls for the sign-in")
  func shown() throws {
    for (way, end) in [(BSAAuthenticate.Way.otp, 180), (.totp, 40)] {
      let driven = try Driven.showing(way)
      #expect(driven.state == "pending" && driven.problem == nil)
      #expect(driven.calls == [Driven.exists])
      #expect(
        driven.displayCode
          == Step.DisplayCode(
            userCode: "482613", verificationURI: "https://api.fnsbsa.com/api/v3",
            expiresAt: now + .seconds(end)))
    }
  }

  @Test("the site and lifetime of a shown BSA code are taken from site_url and otp_seconds")
  func settings() throws {
    let site = try ProviderURL(setting: "https://login.example.com/typed")
    var driven = try Driven(.otp, knownBy: "NONE") {
      $0.siteURL = site
      $0.otpSeconds = 60
    }
    driven.said("482613", at: soon)
    #expect(driven.displayCode?.verificationURI == "https://login.example.com/typed")
    #expect(driven.displayCode?.expiresAt == soon + .seconds(60))
  }

  @Test("an expired BSA code is replaced by a new one, also after a restart, and never earlier")
  func over() throws {
    for (way, seconds) in [(BSAAuthenticate.Way.otp, 180), (.totp, 40)] {
      var driven = try Driven.showing(way)
      let end = now + .seconds(seconds)
      driven.said(["isExist": false])
      #expect(driven.pause == .seconds(2) && driven.displayCode?.userCode == "482613")
      var early = driven
      early.receive(.woken, at: end - .milliseconds(1))
      #expect(early.calls == [Driven.exists])
      for isRestarted in [true, false] {
        var late = driven
        if isRestarted { try late.restart(at: end) } else { late.receive(.woken, at: end) }
        #expect(late.state == "generating")
        #expect(late.calls == (way == .otp ? [Driven.generate] : []))
        #expect(late.questions == (way == .totp ? [.oneTimeCode(of: BSAParts.account)] : []))
        if way == .otp {
          late.said("555555", at: end)
        } else {
          late.answer(.code(Secret("555555"), until: end + .seconds(60)), at: end)
        }
        #expect(late.displayCode?.userCode == "555555")
        #expect(late.calls == [Driven.exists])
      }
    }
  }

  @Test("once a BSA code is typed, the sign-in starts only after another local authentication")
  func typed() throws {
    for way in Self.numbers {
      var driven = try Driven.showing(way)
      driven.answered(BSAParts.gone)
      #expect(driven.problem?.reason == "provider_unreachable" && driven.displayCode != nil)
      driven.receive(.woken)
      driven.said(Driven.wish)
      #expect(driven.state == "localAuth" && driven.calls.isEmpty)
      driven.prove()
      #expect(driven.calls == [.start(Driven.visit(way), userKey: BSAParts.userKey)])
      #expect(driven.state == "starting" && driven.problem == nil && driven.displayCode == nil)
    }
  }

  @Test("a failed poll for the site withdraws BSA's code and cancels the sign-in")
  func takenBack() throws {
    for way in Self.numbers {
      let cleared =
        (way == .otp ? [BSACall.dropNumber(Driven.shown)] : [])
        + [.cancel(BSASignInSession(device: BSAParts.device))]
      let answers = [
        BSAParts.refusal(2008), BSAParts.said(["isExist": 1]), BSAParts.failing(404),
        BSAParts.said(["isExist": true]),
      ]
      for outcome in answers {
        var driven = try Driven.showing(way)
        driven.answered(outcome)
        #expect(driven.failure != nil && driven.cleared == cleared)
      }
    }
  }

  @Test(
    "a restarted usherd shows the same BSA one-time code and polls at once for the waiting site")
  func restart() throws {
    for way in Self.numbers {
      var driven = try Driven.showing(way)
      let step = driven.step
      try driven.restart()
      #expect(driven.calls == [Driven.exists] && driven.step == step)
    }
  }
}

@Suite("The one-time code that BSA generates")
struct ProviderNumberTests {
  private func generating() throws -> Driven { try Driven(.otp, knownBy: "NONE") }

  @Test("a code that BSA generates has 1 to 32 visible characters; others are protocol errors")
  func shapes() throws {
    for text in ["0", "482 613".filter { $0 != " " }, String(repeating: "A", count: 32)] {
      var driven = try generating()
      driven.said(.string(text))
      #expect(driven.displayCode?.userCode == text)
    }
    let long = JSONValue.string(String(repeating: "A", count: 33))
    for data: JSONValue? in [nil, "", "48 26", "48\n", 482_613, ["code": "482613"], long] {
      var driven = try generating()
      driven.said(data)
      #expect(driven.end == End(.providerProtocolError) && driven.cleared.isEmpty)
      #expect(driven.failure?.message.contains("number") == true)
    }
  }

  @Test("a refusal to generate a code fails authenticate with BSA's rtCode")
  func refused() throws {
    for code: Int64 in [2008, 2010, 5019, 5026, 4242] {
      var driven = try generating()
      driven.refused(code)
      #expect(driven.end == End(.providerRejected, String(code)))
    }
    var driven = try generating()
    driven.answered(BSAParts.failing(404))
    #expect(driven.end == End(.providerProtocolError))
  }

  @Test("the generation of a BSA code is retried up to five times, and at once after a restart")
  func fault() throws {
    for outcome in [BSAParts.gone, BSAParts.lost, BSAParts.failing(500)] {
      var driven = try generating()
      for pause in [1, 2, 4, 8, 16] {
        driven.answered(outcome)
        #expect(driven.pause == .seconds(pause))
        #expect(driven.state == "generating" && driven.problem?.reason == "provider_unreachable")
        #expect(driven.receive(.called(Driven.generate, BSAParts.said("482613"))) == .ignore)
        driven.receive(.woken)
        #expect(driven.calls == [Driven.generate])
      }
      driven.answered(outcome)
      #expect(driven.end == End(.providerUnreachable))
    }
    var paused = try generating()
    paused.answered(BSAParts.failing(503, after: 60))
    #expect(paused.pause == .seconds(60))
    for var driven in [try generating(), paused] {
      try driven.restart()
      #expect(driven.calls == [Driven.generate])
      driven.said("482613")
      #expect(driven.displayCode != nil && driven.problem == nil)
    }
  }
}

@Suite("The one-time code of the account's TOTP secret")
struct SecretNumberTests {
  private func asking() throws -> Driven { try Driven(.totp, knownBy: "NONE") }
  private let question = DaemonQuestion.oneTimeCode(of: BSAParts.account)

  @Test("a code that was already given makes BSA authenticate wait for the next time step")
  func later() throws {
    for (wait, pause) in [
      (Duration.milliseconds(42_500), Duration.milliseconds(42_500)),
      (.zero, .milliseconds(100)), (.seconds(-9), .milliseconds(100)),
    ] {
      var driven = try asking()
      driven.answer(.later(now + wait))
      #expect(driven.pause == pause)
      #expect(driven.state == "generating" && driven.problem?.reason == "no_code_yet")
      #expect(
        driven.receive(.answered(.oneTimeCode(.code(Driven.shown, until: soon)))) == .ignore)
      driven.receive(.woken)
      #expect(driven.questions == [question])
      driven.answer(.code(Driven.shown, until: now + .seconds(60)))
      #expect(driven.displayCode?.userCode == "482613" && driven.problem == nil)
    }
  }

  @Test("BSA authenticate waits for the next time step as often as it has to")
  func muchLater() throws {
    var driven = try asking()
    for _ in 1...10 {
      driven.answer(.later(now + .seconds(60)))
      #expect(driven.pause == .seconds(60))
      driven.receive(.woken)
    }
  }

  @Test(
    "BSA authenticate by totp fails without a stored TOTP secret and advises reregisterDevice")
  func noSecret() throws {
    var driven = try asking()
    driven.answer(.noSecret)
    #expect(driven.end == End(.providerRejected))
    #expect(driven.failure?.message.contains("reregisterDevice") == true)
  }

  @Test("an unavailable code is asked for again up to five times, then BSA authenticate fails")
  func unavailable() throws {
    var driven = try asking()
    for pause in [1, 2, 4, 8, 16] {
      driven.answer(.unavailable("the disk is full"))
      #expect(driven.pause == .seconds(pause))
      #expect(driven.problem?.reason == "no_code_yet")
      #expect(driven.problem?.message == "the disk is full")
      driven.receive(.woken)
      #expect(driven.questions == [question])
    }
    driven.answer(.unavailable("the disk is full"))
    #expect(driven.end == End(.providerRejected))
    #expect(driven.failure?.message == "the disk is full")
  }

  @Test("a restarted BSA authenticate by TOTP asks for the code again and ignores replies of BSA")
  func restart() throws {
    var driven = try asking()
    #expect(driven.receive(.woken) == .ignore)
    #expect(driven.receive(.called(Driven.generate, BSAParts.said("482613"))) == .ignore)
    try driven.restart()
    #expect(driven.questions == [question])
    driven.answer(.later(now + .seconds(60)))
    try driven.restart()
    #expect(driven.questions == [question])
  }
}
