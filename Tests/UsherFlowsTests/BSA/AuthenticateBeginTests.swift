import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Parameters of authenticate (BSA)")
struct AuthenticateBeginTests {
  @Test("BSA authenticate without an account is refused as invalid parameters")
  func account() throws {
    #expect(BSAAuthenticate.needsAccount)
    var origin = DrivenSignIn.origin()
    origin.account = nil
    let error = #expect(throws: UsherError.self) { try DrivenSignIn(.init(), origin) }
    #expect(error?.reason == .invalidParams && error?.detail.field == "params.account")
  }

  @Test("BSA authenticate refuses the parameter qrId unless the parameter by is qr")
  func qrElsewhere() throws {
    for way in [nil, BSAAuthenticate.Way.push, .otp, .totp] {
      let error = #expect(throws: UsherError.self) { try DrivenSignIn(way, qrID: "qr-1") }
      #expect(error?.reason == .invalidParams && error?.detail.field == "params.qrId")
    }
  }

  @Test("an impossible qrId fails BSA authenticate, and does so again after a restart")
  func impossibleQR() throws {
    let longest = String(repeating: "q", count: 4096)
    for text in ["", "a b", "qr\n", "qür", "\u{7f}", longest + "q"] {
      var driven = try DrivenSignIn(.qr, qrID: text)
      let failure = try #require(driven.failure)
      #expect(driven.end == End(.invalidRequest, "2002"))
      #expect(failure.message == "qrId must be 1 to 4096 of printable ASCII without spaces")
      #expect(
        driven.isWaiting && driven.flow.callsIfAbandoned.isEmpty && !driven.flow.isOutcomeUnknown)
      #expect(driven.receive(.woken) == .ignore)
      try driven.restart()
      #expect(driven.failure == failure)
    }
    #expect(try DrivenSignIn(.qr, qrID: longest).state == "localAuth")
  }

  @Test("BSA authenticate accepts the configured clientKey and fails for another one")
  func clientKey() throws {
    var params = BSAAuthenticate.Params()
    params.clientKey = WireSecret("client-key-secret")
    #expect(try DrivenSignIn(params, DrivenSignIn.origin()).calls == [DrivenSignIn.exists])
    params.clientKey = WireSecret("other-key-secret")
    let driven = try DrivenSignIn(params, DrivenSignIn.origin())
    #expect(driven.end == End(.invalidRequest, "2000"))
    #expect(driven.failure?.message == "the clientKey is not the configured one")
  }

  @Test("BSA authenticate signs in by push if the parameter by is absent")
  func defaultWay() throws {
    for way in [nil, BSAAuthenticate.Way.push] {
      let driven = try DrivenSignIn(way)
      #expect(driven.calls == [DrivenSignIn.exists])
      #expect(driven.state == "pending" && driven.isWaiting && driven.problem == nil)
    }
  }

  @Test("BSA authenticate uses this machine's device id if the account has none")
  func device() throws {
    var origin = DrivenSignIn.origin()
    origin.attributes["deviceId"] = nil
    #expect(
      try DrivenSignIn(.init(), origin).calls
        == [.exists(device: BSAParts.registeredDevice, userKey: BSAParts.userKey)])
  }

  @Test("BSA authenticate asks for the local authentication that the account is registered with")
  func knownBy() throws {
    for (word, questions) in [
      ("PASSCODE", [DaemonQuestion.localAuth(.passcodeAvailability)]),
      ("BIOMETRIC", [.localAuth(.availability)]), ("NONE", []),
    ] as [(String?, [DaemonQuestion])] {
      let driven = try DrivenSignIn(.qr, qrID: "qr-1", knownBy: word)
      #expect(driven.questions == questions)
      #expect(driven.calls.isEmpty == !questions.isEmpty)
      #expect(driven.state == (questions.isEmpty ? "starting" : "localAuth"))
    }
  }

  @Test("BSA authenticate fails without a valid localAuthType", arguments: [nil, "passcode", ""])
  func unknown(word: String?) throws {
    for way in BSAAuthenticate.Way.allCases {
      let driven = try DrivenSignIn(way, knownBy: word)
      #expect(driven.end == End(.invalidRequest, "3000"))
      #expect(driven.calls.isEmpty && driven.questions.isEmpty)
    }
  }

  @Test(
    "a cancelled BSA authenticate has rtCode 5011, an expired one 5001, and no other reason has one"
  )
  func words() {
    for reason in Failure.Reason.allCases {
      let word = BSAAuthenticate.providerErrorCode(for: reason, provider: BSAParts.name)
      switch reason {
      case .cancelled: #expect(word?.code == "5011" && word?.name == BSAParts.name)
      case .expired: #expect(word?.code == "5001" && word?.name == BSAParts.name)
      default: #expect(word == nil)
      }
    }
  }
}

@Suite("Abandoned BSA sign-ins")
struct AbandonedSignInTests {
  private typealias Driven = DrivenSignIn

  @Test("an abandoned sign-in is cancelled at BSA once a site or BSA knows about it")
  func abandoned() throws {
    var wished = try Driven()
    wished.said(Driven.wish)
    #expect(wished.state == "localAuth")
    #expect(wished.flow.callsIfAbandoned == [.cancel(Driven.visit(.push))])
    for way in BSAAuthenticate.Way.allCases {
      for driven in [try Driven.starting(way), try .completing(way), try .fetching(way)] {
        #expect(driven.flow.callsIfAbandoned == [.cancel(Driven.visit(way))])
      }
    }
  }

  @Test("an abandoned sign-in that BSA does not know needs no call, but a shown code is withdrawn")
  func early() throws {
    let nothing = [
      try Driven(), try Driven(.qr), try Driven(.qr, qrID: "qr-1"), try Driven(.otp),
      try Driven(.totp), try Driven(.otp, knownBy: "NONE"),
    ]
    for driven in nothing { #expect(driven.flow.callsIfAbandoned.isEmpty, "\(driven.state)") }
    let cancelled = BSACall.cancel(BSASignInSession(device: BSAParts.device))
    #expect(try Driven.showing(.totp).flow.callsIfAbandoned == [cancelled])
    #expect(
      try Driven.showing(.otp).flow.callsIfAbandoned == [.dropNumber(Driven.shown), cancelled],
      "the user may just have typed the code at the site")
  }

  @Test("a start or a code that arrives after the flow's end is undone at BSA")
  func late() {
    let visit = Driven.visit(.push)
    let start = BSACall.start(visit, userKey: BSAParts.userKey)
    #expect(
      BSAAuthenticate.cleanUp(start, BSAParts.said(["channelKey": "c"])) == [.cancel(visit)])
    #expect(
      BSAAuthenticate.cleanUp(Driven.generate, BSAParts.said("482613"))
        == [.dropNumber(Driven.shown)])
    #expect(BSAAuthenticate.cleanUp(Driven.generate, BSAParts.said(7)).isEmpty)
    for outcome in [BSAParts.refusal(2010), BSAParts.lost, BSAParts.failing(500)] {
      #expect(BSAAuthenticate.cleanUp(start, outcome).isEmpty)
      #expect(BSAAuthenticate.cleanUp(Driven.generate, outcome).isEmpty)
    }
    for call: BSACall in [
      Driven.exists, .cancel(visit), .complete(visit, isProved: true),
      .result(visit, channel: Driven.channel), .dropNumber(Driven.shown),
    ] {
      #expect(BSAAuthenticate.cleanUp(call, BSAParts.said("482613")).isEmpty)
    }
  }

  @Test("BSA authenticate's outcome is unknown once its completion may have been performed")
  func dark() throws {
    var early = [try Driven(), try Driven(.qr), try .showing(.otp), try .starting(.push)]
    early.append(try Driven(.otp))
    for driven in early { #expect(!driven.flow.isOutcomeUnknown) }
    var driven = try Driven.completing()
    #expect(driven.flow.isOutcomeUnknown)
    driven.answered(BSAParts.gone)
    #expect(!driven.flow.isOutcomeUnknown, "the call was not sent")
    driven.receive(.woken)
    driven.answered(BSAParts.lost)
    #expect(driven.flow.isOutcomeUnknown, "the call may have been performed")
    driven.receive(.woken)
    driven.refused(2010)
    #expect(driven.flow.isOutcomeUnknown)
    #expect(try Driven.fetching().flow.isOutcomeUnknown)
  }
}
