import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("What a sign-in is begun with")
struct AuthenticateBeginTests {
  @Test("an account, which it cannot be without")
  func account() throws {
    #expect(BSAAuthenticate.needsAccount)
    var origin = DrivenSignIn.origin()
    origin.account = nil
    let error = #expect(throws: UsherError.self) { try DrivenSignIn(.init(), origin) }
    #expect(error?.reason == .invalidParams && error?.detail.field == "params.account")
  }

  @Test("a QR id goes with by \"qr\" only")
  func qrElsewhere() throws {
    for way in [nil, BSAAuthenticate.Way.push, .otp, .totp] {
      let error = #expect(throws: UsherError.self) { try DrivenSignIn(way, qrID: "qr-1") }
      #expect(error?.reason == .invalidParams && error?.detail.field == "params.qrId")
    }
  }

  @Test("one that cannot be has failed")
  func impossibleQR() throws {
    let longest = String(repeating: "q", count: 4096)
    for text in ["", "a b", "qr\n", "qür", "\u{7f}", longest + "q"] {
      var driven = try DrivenSignIn(.qr, qrID: text)
      let failure = try #require(driven.failure)
      #expect(driven.end == End(.invalidRequest, "2002"))
      #expect(failure.message == "qrId must be 1 to 4096 of printable ASCII without spaces")
      #expect(driven.isWaiting && driven.flow.abandoned.isEmpty && !driven.flow.isOutcomeUnknown)
      #expect(driven.receive(.woken) == .ignore)
      try driven.restart()
      #expect(driven.failure == failure)
    }
    #expect(try DrivenSignIn(.qr, qrID: longest).state == "localAuth")
  }

  @Test("the configured clientKey, or none; another has failed")
  func clientKey() throws {
    var params = BSAAuthenticate.Params()
    params.clientKey = WireSecret("client-key-secret")
    #expect(try DrivenSignIn(params, DrivenSignIn.origin()).calls == [DrivenSignIn.exists])
    params.clientKey = WireSecret("other-key-secret")
    let driven = try DrivenSignIn(params, DrivenSignIn.origin())
    #expect(driven.end == End(.invalidRequest, "2000"))
    #expect(driven.failure?.message == "the clientKey is not the configured one")
  }

  @Test("push is the way where none is named")
  func defaultWay() throws {
    for way in [nil, BSAAuthenticate.Way.push] {
      let driven = try DrivenSignIn(way)
      #expect(driven.calls == [DrivenSignIn.exists])
      #expect(driven.state == "pending" && driven.isWaiting && driven.problem == nil)
    }
  }

  @Test("the account's device is asked for, or this machine's where it has none")
  func device() throws {
    var origin = DrivenSignIn.origin()
    origin.attributes["deviceId"] = nil
    #expect(
      try DrivenSignIn(.init(), origin).calls
        == [.exists(device: BSAParts.registeredDevice, userKey: BSAParts.userKey)])
  }

  @Test("the person is asked for as the account is known")
  func knownBy() throws {
    for (word, questions) in [
      ("PASSCODE", [DaemonQuestion.localAuth(.passcodeStanding)]),
      ("BIOMETRIC", [.localAuth(.standing)]), ("NONE", []),
    ] as [(String?, [DaemonQuestion])] {
      let driven = try DrivenSignIn(.qr, qrID: "qr-1", knownBy: word)
      #expect(driven.questions == questions)
      #expect(driven.calls.isEmpty == !questions.isEmpty)
      #expect(driven.state == (questions.isEmpty ? "starting" : "localAuth"))
    }
  }

  @Test("an account that does not say how is not signed in", arguments: [nil, "passcode", ""])
  func unknown(word: String?) throws {
    for way in BSAAuthenticate.Way.allCases {
      let driven = try DrivenSignIn(way, knownBy: word)
      #expect(driven.end == End(.invalidRequest, "3000"))
      #expect(driven.calls.isEmpty && driven.questions.isEmpty)
    }
  }

  @Test("one that is given up has the predecessor's words")
  func words() {
    for reason in Failure.Reason.allCases {
      let word = BSAAuthenticate.word(for: reason, provider: BSAParts.name)
      switch reason {
      case .cancelled: #expect(word?.code == "5011" && word?.name == BSAParts.name)
      case .expired: #expect(word?.code == "5001" && word?.name == BSAParts.name)
      default: #expect(word == nil)
      }
    }
  }
}

@Suite("A sign-in that is given up")
struct AbandonedSignInTests {
  private typealias Driven = DrivenSignIn

  @Test("is cancelled at the provider from when a site or the provider knows of it")
  func abandoned() throws {
    var wished = try Driven()
    wished.said(Driven.wish)
    #expect(wished.state == "localAuth")
    #expect(wished.flow.abandoned == [.cancel(Driven.visit(.push))])
    for way in BSAAuthenticate.Way.allCases {
      for driven in [try Driven.starting(way), try .completing(way), try .fetching(way)] {
        #expect(driven.flow.abandoned == [.cancel(Driven.visit(way))])
      }
    }
  }

  @Test("leaves nothing behind before that, but a number of the provider's is taken back")
  func early() throws {
    let nothing = [
      try Driven(), try Driven(.qr), try Driven(.qr, qrID: "qr-1"), try Driven(.otp),
      try Driven(.totp), try Driven(.otp, knownBy: "NONE"),
    ]
    for driven in nothing { #expect(driven.flow.abandoned.isEmpty, "\(driven.state)") }
    let cancelled = BSACall.cancel(BSAVisit(device: BSAParts.device))
    #expect(try Driven.showing(.totp).flow.abandoned == [cancelled])
    #expect(
      try Driven.showing(.otp).flow.abandoned == [.dropNumber(Driven.shown), cancelled],
      "it may have been typed a moment ago")
  }

  @Test("what arrives after its end is undone where it was a yes")
  func late() {
    let visit = Driven.visit(.push)
    let start = BSACall.start(visit, userKey: BSAParts.userKey)
    #expect(
      BSAAuthenticate.clearUp(start, BSAParts.said(["channelKey": "c"])) == [.cancel(visit)])
    #expect(
      BSAAuthenticate.clearUp(Driven.generate, BSAParts.said("482613"))
        == [.dropNumber(Driven.shown)])
    #expect(BSAAuthenticate.clearUp(Driven.generate, BSAParts.said(7)).isEmpty)
    for outcome in [BSAParts.refusal(2010), BSAParts.lost, BSAParts.failing(500)] {
      #expect(BSAAuthenticate.clearUp(start, outcome).isEmpty)
      #expect(BSAAuthenticate.clearUp(Driven.generate, outcome).isEmpty)
    }
    for call: BSACall in [
      Driven.exists, .cancel(visit), .complete(visit, isProved: true),
      .result(visit, channel: Driven.channel), .dropNumber(Driven.shown),
    ] {
      #expect(BSAAuthenticate.clearUp(call, BSAParts.said("482613")).isEmpty)
    }
  }

  @Test("is in the dark from when its completion was sent")
  func dark() throws {
    var early = [try Driven(), try Driven(.qr), try .showing(.otp), try .starting(.push)]
    early.append(try Driven(.otp))
    for driven in early { #expect(!driven.flow.isOutcomeUnknown) }
    var driven = try Driven.completing()
    #expect(driven.flow.isOutcomeUnknown)
    driven.answered(BSAParts.gone)
    #expect(!driven.flow.isOutcomeUnknown, "it was not sent")
    driven.receive(.woken)
    driven.answered(BSAParts.lost)
    #expect(driven.flow.isOutcomeUnknown, "it may have been done")
    driven.receive(.woken)
    driven.refused(2010)
    #expect(driven.flow.isOutcomeUnknown)
    #expect(try Driven.fetching().flow.isOutcomeUnknown)
  }
}
