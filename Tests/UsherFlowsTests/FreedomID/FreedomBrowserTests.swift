import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

@Suite("Link and redirect of the Freedom ID oauth2 flow")
struct FreedomBrowserTests {
  @Test("the Freedom ID oauth2 flow fails without a call if the grants are empty or unknown")
  func grants() throws {
    var driven = try PartnerAuthorize(grants: [])
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.word == "dataGrantsCanNotBeEmpty")
    driven = try PartnerAuthorize(grants: ["read.firstname", "read.shoe\u{7}size"])
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.word == "componentValidationError")
    #expect(driven.failure?.message.contains("\"read.shoesize\"") == true)
    #expect(driven.state == "preparing" && driven.calls.isEmpty)
  }

  @Test("the Freedom ID oauth2 flow listens at a path that ends in 128 random bits in hexadecimal")
  func path() throws {
    let driven = try PartnerAuthorize()
    let expectation = try #require(driven.expectation)
    #expect(expectation.form == .freedom)
    #expect(expectation.port == nil && expectation.host == "127.0.0.1")
    #expect(expectation.path == "/callback/0102030405060708090a0b0c0d0e0f10")
    #expect(expectation.state == Secret("0102030405060708090a0b0c0d0e0f10"))
    #expect(driven.state == "preparing")
  }

  @Test(
    "the Freedom ID oauth2 flow appends its secret path segment to a fixed redirect",
    arguments: [("/callback", "/callback/"), ("/", "/"), ("/a/b/", "/a/b/")])
  func fixed(path: String, begin: String) throws {
    var driven = try PartnerAuthorize {
      $0.redirect = try Redirect(setting: "http://127.0.0.1:8768\(path)")
    }
    let expectation = try #require(driven.expectation)
    #expect(expectation.port == 8768)
    #expect(expectation.path == begin + expectation.state.revealed())
    driven.receive(.listenFailed("taken"))
    let uri = "http://127.0.0.1:8768" + expectation.path
    #expect(
      driven.calls == [
        .link(redirectURI: Secret(uri), [.data(.dateOfBirth), .data(.firstname), .profile])
      ])
    driven.answerLink()
    #expect(driven.step?.redirectURI == uri)
    #expect(driven.step?.completes == .submit)
  }

  @Test(
    "the Freedom ID oauth2 flow has no PKCE and fails if another user holds its fixed port",
    arguments: [false, true])
  func takenByAnother(afterRestart: Bool) throws {
    var driven = try PartnerAuthorize {
      $0.redirect = try Redirect(setting: "http://127.0.0.1:8768/cb")
    }
    if afterRestart {
      driven.toBrowser()
      try driven.restart()
    }
    driven.receive(.listenFailed("port 8768 is taken by user ben", mayReachAnother: true))
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message.contains("taken by user ben") == true)
    #expect(driven.word == "configurationError")
  }

  @Test("the Freedom ID oauth2 flow fails with configurationError if no port is free")
  func noListener() throws {
    var driven = try PartnerAuthorize()
    driven.receive(.listenFailed("none"))
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.word == "configurationError")
  }

  @Test("the Freedom ID oauth2 flow shows the provider's link, for ten minutes if it has no expiry")
  func link() throws {
    var driven = try PartnerAuthorize()
    driven.listening()
    #expect(driven.state == "preparing")
    driven.answerLink()
    #expect(driven.state == "browser")
    #expect(driven.step?.url == PartnerAuthorize.link)
    #expect(driven.step?.redirectURI == Freedom.place + "/0102030405060708090a0b0c0d0e0f10")
    #expect(driven.step?.completes == .loopback)
    #expect(driven.effects == [.wake(after: .seconds(600))])
  }

  @Test(
    "the Freedom ID oauth2 flow uses the link's expire_at only if it is a time in the future",
    arguments: [
      ("1800000090", 90), ("1800000001", 1), ("1800000000", 600), ("1799999999", 600),
      ("-5", 600), ("soon", 600), ("", 600), ("99999999999999999999", 600),
    ] as [(String, Int64)])
  func expiry(text: String, seconds: Int64) throws {
    var driven = try PartnerAuthorize()
    driven.listening()
    driven.answered(
      Freedom.said(["redirect_uri": .string(PartnerAuthorize.link + "&expire_at=\(text)")]))
    #expect(driven.timer == .seconds(seconds))
  }

  @Test(
    "the Freedom ID oauth2 flow accepts a link only with https, or with http on loopback",
    arguments: [
      ("http://passport.freedompay.kz/login", false), ("http://127.0.0.1:9/login?a=b", true),
      ("javascript:alert(1)", false), ("", false), ("/login?track_id=1", false),
      ("ftp://127.0.0.1/x", false),
      ("https://u:p@passport.freedompay.kz/", false), ("https://x.example/#a", false),
      ("https://x.example/\u{1B}[0m", false), ("https://x.example/a b", false),
    ])
  func badLink(text: String, isFit: Bool) throws {
    var driven = try PartnerAuthorize()
    driven.listening()
    driven.answered(Freedom.said(["redirect_uri": .string(text)]))
    #expect((driven.step != nil) == isFit)
    #expect(driven.word == (isFit ? nil : "dataProcessingError"))
    #expect(text.isEmpty || driven.failure?.message.contains(text) != true)
  }

  @Test("a Freedom ID reply without a link fails with parsingError")
  func noLink() throws {
    for json in [[:], ["redirect_uri": nil], ["redirect_uri": 7]] as [JSONValue] {
      var driven = try PartnerAuthorize()
      driven.listening()
      driven.answered(Freedom.said(json))
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.word == "parsingError")
    }
  }

  @Test("the Freedom ID oauth2 flow replaces an expired link without any input")
  func renewed() throws {
    var driven = try PartnerAuthorize()
    driven.toBrowser(for: 30)
    let uri = try #require(driven.step?.redirectURI)
    driven.clock = now + .seconds(29)
    driven.receive(.woken)
    #expect(driven.effects == [.wake(after: .seconds(1))])
    driven.clock = now + .seconds(30)
    driven.receive(.woken)
    #expect(driven.calls.count == 1)
    // The old link is shown until the new one arrives.
    #expect(driven.state == "browser" && driven.step?.redirectURI == uri)
    driven.answered(Freedom.said(["redirect_uri": "https://x.example/second"]))
    #expect(driven.step?.url == "https://x.example/second")
    #expect(driven.step?.redirectURI == uri)
    #expect(driven.timer == .seconds(600))
    #expect(driven.flow.view.problem == nil)
  }

  @Test("the Freedom ID oauth2 flow shows the old link while its request for a new one is repeated")
  func renewalAway() throws {
    var driven = try PartnerAuthorize()
    driven.toBrowser(for: 30)
    let uri = try #require(driven.step?.redirectURI)
    driven.clock = now + .seconds(30)
    driven.receive(.woken)
    driven.answered(.reply(reply([:], status: 503)))
    #expect(driven.timer == .seconds(1))
    #expect(driven.flow.view.problem?.reason == "provider_unreachable")
    #expect(driven.state == "browser" && driven.step?.redirectURI == uri)
    driven.receive(.woken)
    driven.answerLink()
    #expect(driven.flow.view.problem == nil && driven.step?.redirectURI == uri)
  }

  @Test("the Freedom ID oauth2 flow accepts a redirect of the old link while it requests a new one")
  func backFromOld() throws {
    var driven = try PartnerAuthorize()
    driven.toBrowser(for: 30)
    driven.clock = now + .seconds(31)
    driven.receive(.woken)
    let call = try #require(driven.calls.first)
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    #expect(driven.calls == [.exchange(code: Secret("code-secret"))])
    #expect(driven.receive(.called(call, Freedom.gone)) == .ignore)
  }

  @Test("the Freedom ID oauth2 flow repeats an unsent link request five times, then fails")
  func away() throws {
    var driven = try PartnerAuthorize()
    driven.listening()
    for seconds in [1, 2, 4, 8, 16] as [Int64] {
      driven.answered(Freedom.gone)
      #expect(driven.timer == .seconds(seconds))
      #expect(driven.flow.view.problem?.provider?.code == "networkError.connectionError")
      #expect(driven.receive(.called(try #require(driven.pending), Freedom.gone)) == .ignore)
      driven.receive(.woken)
      #expect(driven.calls.count == 1)
    }
    driven.answered(Freedom.gone)
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.word == "networkError.connectionError")
  }

  @Test("the Freedom ID oauth2 flow clears the problem of the link request once it has a link")
  func wellAgain() throws {
    var driven = try PartnerAuthorize()
    driven.listening()
    driven.answered(.reply(reply([:], status: 503, headers: ["retry-after": "20"])))
    #expect(driven.timer == .seconds(20))
    driven.receive(.woken)
    driven.answerLink()
    #expect(driven.flow.view.problem == nil)
  }

  @Test(
    "a refused Freedom ID link request fails with the SDK's error code",
    arguments: [
      (401, nil, "incorrectApiKey"), (401, 100001, "incorrectApiKey"),
      (403, 100003, "transmissionError.appIntegrityError"), (403, 100301, "accessDenied"),
      (400, nil, "unknownError"), (200, 100777, "unknownError"),
    ] as [(Int, Int?, String)])
  func refused(status: Int, code: Int?, word: String) throws {
    var driven = try PartnerAuthorize()
    driven.listening()
    driven.answered(Freedom.refusal(status, code))
    #expect(driven.word == word)
    #expect(driven.failure?.reason == (word == "accessDenied" ? .denied : .providerRejected))
  }

  @Test("the Freedom ID oauth2 flow names the grants that the provider calls invalid")
  func validation() throws {
    var driven = try PartnerAuthorize()
    driven.listening()
    driven.answered(
      Freedom.said(["error": ["message": "Invalid", "errors": ["grants.1": ["unknown"]]]]))
    #expect(driven.word == "transmissionError.incorrectRequestStructure")
    #expect(driven.failure?.message == "Invalid: grants.1")
  }

  @Test("only error 100102 in the Freedom ID redirect is a denial; any other error is a rejection")
  func errors() throws {
    for (code, reason, word) in [
      ("100102", Failure.Reason.denied, "accessDenied"),
      ("100101", .providerRejected, "unknownError"), ("", .providerRejected, "unknownError"),
    ] {
      var driven = try PartnerAuthorize()
      driven.toBrowser()
      driven.receive(.redirected(AuthorizationResponse(code: Secret("c"), error: code)))
      #expect(driven.failure?.reason == reason)
      #expect(driven.word == word)
      #expect(driven.failure?.provider?.error == code)
    }
  }

  @Test("a Freedom ID redirect with neither a code nor an error fails with parsingError")
  func neither() throws {
    for answer in [AuthorizationResponse(), AuthorizationResponse(code: Secret(""))] {
      var driven = try PartnerAuthorize()
      driven.toBrowser()
      driven.receive(.redirected(answer))
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.word == "parsingError")
    }
  }

  @Test("the Freedom ID oauth2 flow accepts only its own redirect URL as pasted input")
  func pasted() throws {
    var driven = try PartnerAuthorize()
    driven.toBrowser()
    let uri = try #require(driven.step?.redirectURI)
    for url in [Freedom.place + "?code=c", uri + "0?code=c", uri + "/?code=c", "x"] {
      guard
        case .refuse("input.redirectURL", _) = driven.receive(.input(.redirect(url: Secret(url))))
      else {
        Issue.record("the redirect URL is not refused: \(url)")
        continue
      }
    }
    driven.receive(.input(.redirect(url: Secret(uri + "?authorization_code=c-1"))))
    #expect(driven.calls == [.exchange(code: Secret("c-1"))])
  }

  @Test("a restored Freedom ID oauth2 flow listens at the old address and keeps the link's expiry")
  func restart() throws {
    var driven = try PartnerAuthorize()
    driven.toBrowser(for: 100)
    let uri = try #require(driven.step?.redirectURI)
    driven.clock = now + .seconds(60)
    try driven.restart()
    #expect(driven.expectation?.port == 40001)
    #expect(driven.expectation.map { "http://127.0.0.1:40001\($0.path)" } == uri)
    #expect(driven.timer == .seconds(40))
    driven.receive(.listening(redirectURI: uri))
    driven.receive(.redirected(AuthorizationResponse(code: Secret("c-1"))))
    #expect(driven.calls == [.exchange(code: Secret("c-1"))])
  }

  @Test("a Freedom ID oauth2 flow that is restored after the link's expiry requests a new link")
  func lateRestart() throws {
    var driven = try PartnerAuthorize()
    driven.toBrowser(for: 100)
    let uri = driven.step?.redirectURI
    driven.clock = now + .seconds(100)
    try driven.restart()
    #expect(driven.expectation.map { "http://127.0.0.1:40001\($0.path)" } == uri)
    #expect(uri != nil && driven.calls.count == 1)
    driven.answerLink(for: 50)
    #expect(driven.timer == .seconds(50))
  }

  @Test("a restored Freedom ID oauth2 flow uses another path if the old port is not available")
  func stranded() throws {
    var driven = try PartnerAuthorize()
    driven.toBrowser()
    let uri = driven.step?.redirectURI
    try driven.restart()
    driven.receive(.listenFailed("taken"))
    #expect(driven.flow.view.problem?.reason == "interrupted")
    driven.toBrowser()
    #expect(driven.step != nil && driven.step?.redirectURI != uri)
    #expect(driven.flow.view.problem?.reason == "interrupted")
  }

  @Test("a Freedom ID oauth2 flow that is restored without a link starts again at another path")
  func earlyRestart() throws {
    var driven = try PartnerAuthorize()
    let first = driven.expectation?.path
    driven.listening()
    try driven.restart()
    #expect(driven.expectation != nil && driven.expectation?.path != first)
    driven.toBrowser()
    #expect(driven.step != nil && driven.flow.view.problem == nil)
  }
}
