import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The seed's own example code, end to end: UsherKit, the real daemon and Truecaller's stand-in.
///
/// What it needed to be corrected for is listed in the header of `TruecallerSeedExample.swift`. It
/// speaks to `TCTrueSDK.sharedManager()`, of which there is one: these tests take turns.
@Suite(
  "Truecaller's example of the seed, end to end", .uses(.truecaller), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct TruecallerSeedEndToEndTests {
  private typealias News = TruecallerSeedExample.News

  private let scene: TruecallerScene
  private let manager = TCTrueSDK.sharedManager()
  /// Held here: the SDK does not keep its delegates alive.
  private let example = TruecallerSeedExample()

  init() throws {
    scene = try TruecallerScene()
    manager.configure(socketPath: scene.daemon.socketPath)
    manager.setup(withAppKey: TruecallerScene.appKey, appLink: TruecallerScene.appLink)
    example.showNumberEntry()
  }

  private func requestVerification(_ number: String = TruecallerScene.number) {
    example.requestVerification(number, "IN")
  }

  /// Seconds that are left for the code.
  private func secondsLeft(_ news: News?) throws -> Int {
    guard case .codeSent(let seconds?) = news else {
      throw TestTrouble("no code was sent: \(String(describing: news))")
    }
    return seconds
  }

  private func accessToken(_ news: News?, _ state: TCVerificationState) throws -> String {
    guard case .verified(state, let token?) = news else {
      throw TestTrouble("not \(state), or without a token")
    }
    return token
  }

  private func profile(_ news: News?) throws -> TCTrueProfile {
    guard case .received(let profile) = news else {
      throw TestTrouble("no profile: \(String(describing: news))")
    }
    return profile
  }

  private func failure(_ news: News?) throws -> TCTrueSDKErrorCode {
    guard case .failed(let code, _) = news else {
      throw TestTrouble("no failure: \(String(describing: news))")
    }
    return code
  }

  @Test("a number is verified by a code: each state once, in the seed's order, then the profile")
  func verifies() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    #expect((1...60).contains(try secondsLeft(await news.next())))
    #expect((1...60).contains(manager.tokenTtl() ?? 0))
    #expect(manager.accessTokenForOTPVerification() == nil)
    example.verify(try scene.code(), "Asha", "Rao")
    #expect(await news.next() == .codeHandedIn)
    let token = try accessToken(await news.next(), .verificationComplete)
    let profile = try profile(await news.next())
    #expect(profile.firstName == "Asha" && profile.lastName == "Rao")
    #expect(profile.phoneNumber == "919876543210" && profile.countryCode == "IN")
    #expect(manager.tokenTtl() == nil && manager.accessTokenForOTPVerification() == token)
    #expect(try scene.profile()["firstName"] == "Asha")
    let kept = try scene.app.call("token.get", ["provider": "truecaller"])
    #expect(kept["accessToken"] == .string(token))
  }

  @Test("the partner's server validates the access token, as the seed has it")
  func validates() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    example.verify(try scene.code(), "Asha", "")
    #expect(await news.next() == .codeHandedIn)
    let token = try accessToken(await news.next(), .verificationComplete)
    let place = "truecaller/validation/v1/otp/installation/phoneNumberDetail"
    let reply = try Web.send(
      "GET", "\(scene.sandbox.base)/\(place)/\(token)",
      headers: ["appKey": TruecallerScene.appKey])
    #expect(reply.status == 200, "\(reply.text)")
    #expect(try JSONValue(parsing: Array(reply.text.utf8))["phoneNumber"] == 919_876_543_210)
  }

  @Test("a number that was verified before: no code, the token with the state, then the profile")
  func verifiedBefore() async throws {
    try scene.verified()
    var news = example.news.makeAsyncIterator()
    requestVerification()
    let token = try accessToken(await news.next(), .verifiedBefore)
    #expect(try profile(await news.next()).firstName == "Asha")
    let kept = try scene.app.call("token.get", ["provider": "truecaller"])
    #expect(kept["accessToken"] == .string(token))
    #expect(try scene.messages().count == 1)
    #expect(manager.tokenTtl() == nil)
  }

  @Test("a wrong code is its error, the time goes on, and the next code may be right")
  func wrongCode() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    example.verify(try scene.wrongCode(), "Asha", "Rao")
    #expect(await news.next() == .codeHandedIn)
    #expect(await news.next() == .failed(.internal, message: "wrong code"))
    #expect((1...60).contains(manager.tokenTtl() ?? 0))
    example.verify(try scene.code(), "Asha", "Rao")
    #expect(await news.next() == .codeHandedIn)
    _ = try accessToken(await news.next(), .verificationComplete)
    #expect(try profile(await news.next()).lastName == "Rao")
    #expect(try scene.messages().count == 1)
  }

  @Test("too many wrong codes end it, and nothing more is waited for")
  func capped() async throws {
    try scene.set(["wrongCodeCap": 1])
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    for message in ["wrong code", "too many wrong codes"] {
      example.verify(try scene.wrongCode(), "Asha", "Rao")
      #expect(await news.next() == .codeHandedIn)
      #expect(await news.next() == .failed(.internal, message: message))
    }
    #expect(manager.tokenTtl() == nil && manager.accessTokenForOTPVerification() == nil)
    example.verify(try scene.code(), "Asha", "Rao")
    #expect(try failure(await news.next()) == .internal)
    #expect(try scene.requests("verify") == 2)
  }

  @Test("the seed's rules for names: error 18, and nothing is sent", arguments: ["2481", "!", ""])
  func names(first: String) async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    example.verify(try scene.code(), first, "")
    #expect(try failure(await news.next()) == .invalidName)
    example.verify(try scene.code(), "Asha", String(repeating: "a", count: 128))
    #expect(try failure(await news.next()) == .invalidName)
    #expect(try scene.requests("verify") == 0)
    example.verify(try scene.code(), "Asha", "")
    #expect(await news.next() == .codeHandedIn)
  }

  @Test("without a viewDelegate it is error 17, and Truecaller is not asked")
  func noViewDelegate() async throws {
    manager.viewDelegate = nil
    var news = example.news.makeAsyncIterator()
    requestVerification()
    #expect(try failure(await news.next()) == .viewDelegateNil)
    #expect(TCTrueSDKErrorCode.viewDelegateNil.rawValue == 17)
    // What is asked for is asked in order: the first would have been by now.
    manager.viewDelegate = example
    requestVerification("9876543211")
    _ = try secondsLeft(await news.next())
    #expect(try scene.messages().map { $0["to"] } == ["+919876543211"])
  }

  @Test("when the TTL is over the same call asks for another code, and not before")
  func again() async throws {
    try scene.set(["tokenTtl": 2])
    var news = example.news.makeAsyncIterator()
    requestVerification()
    #expect((1...2).contains(try secondsLeft(await news.next())))
    let old = try scene.code()
    requestVerification()
    #expect(try failure(await news.next()) == .internal)
    #expect(try scene.requests("create") == 1)
    try eventually("the code's time is over") { manager.tokenTtl() == 0 }
    example.verify(old, "Asha", "Rao")
    #expect(try failure(await news.next()) == .internal)
    try scene.set(["tokenTtl": 30])
    requestVerification()
    #expect((28...30).contains(try secondsLeft(await news.next())))
    #expect(try scene.requests("verify") == 0)
    example.verify(try scene.code(), "Asha", "Rao")
    #expect(await news.next() == .codeHandedIn)
    _ = try accessToken(await news.next(), .verificationComplete)
    #expect(try scene.messages().count == 2)
  }

  @Test("back at the number input screen another number may be entered")
  func anotherNumber() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    requestVerification("9876543211")
    _ = try secondsLeft(await news.next())
    example.verify(try scene.code(), "Asha", "Rao")
    #expect(await news.next() == .codeHandedIn)
    _ = try accessToken(await news.next(), .verificationComplete)
    #expect(try profile(await news.next()).phoneNumber == "919876543211")
    let flows = try scene.app.call("flow.list", ["provider": "truecaller"])
    let ends = flows["flows"]?.arrayValue?.compactMap { $0["status"]?.stringValue } ?? []
    #expect(ends.sorted() == ["cancelled", "succeeded"])
  }

  @Test("a number that cannot be is error 14, a country that is not likewise")
  func impossible() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification("98765")
    #expect(try failure(await news.next()) == .badRequest)
    example.requestVerification(TruecallerScene.number, "XX")
    #expect(try failure(await news.next()) == .badRequest)
    #expect(try scene.requests("create") == 0)
  }

  @Test("an app that is set up otherwise than the daemon: error 1, error 2")
  func otherApp() async throws {
    var news = example.news.makeAsyncIterator()
    manager.setup(withAppKey: "another", appLink: TruecallerScene.appLink)
    requestVerification()
    #expect(try failure(await news.next()) == .appKeyMissing)
    manager.setup(withAppKey: TruecallerScene.appKey, appLink: "https://another.example")
    requestVerification()
    #expect(try failure(await news.next()) == .appLinkMissing)
    #expect(try scene.requests("create") == 0)
  }

  @Test("a daemon that is killed while the code is typed is waited for")
  func restarted() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    try scene.daemon.restart()
    #expect((1...60).contains(manager.tokenTtl() ?? 0))
    example.verify(try scene.code(), "Asha", "Rao")
    #expect(await news.next() == .codeHandedIn)
    _ = try accessToken(await news.next(), .verificationComplete)
    #expect(try profile(await news.next()).firstName == "Asha")
  }

  // MARK: The async form

  /// Runs the documentation's program with what the person types, one entry after the other.
  ///
  /// - Parameter entries: Whether the code is the right one, and the names.
  private func signUp(
    _ entries: [(isRight: Bool, first: String, last: String)]
  ) async throws -> (profile: TCTrueProfile, seconds: [Int]) {
    let scene = scene
    let asked = Mutex<[Int]>([])
    let program = PhoneSignUp { seconds in
      let count = asked.withLock { asked in
        asked.append(seconds)
        return asked.count
      }
      let entry = entries[min(count, entries.count) - 1]
      let code = try? entry.isRight ? scene.code() : scene.wrongCode()
      return (code ?? "", entry.first, entry.last)
    }
    let profile = try await program.verify(phone: TruecallerScene.number, countryCode: "IN")
    return (profile, asked.withLock { $0 })
  }

  @Test("the documentation's program waits instead: a wrong code, a wrong name, the right ones")
  func waits() async throws {
    let (profile, seconds) = try await signUp([
      (false, "Asha", "Rao"), (true, "7", ""), (true, "Asha", ""),
    ])
    #expect(profile.firstName == "Asha" && profile.lastName == "")
    #expect(seconds.count == 3 && seconds.allSatisfy((1...60).contains))
    #expect(try scene.requests("verify") == 2)
    // The delegate hears the same.
    var news = example.news.makeAsyncIterator()
    _ = try secondsLeft(await news.next())
    #expect(await news.next() == .codeHandedIn)
    #expect(try failure(await news.next()) == .internal)
    #expect(try failure(await news.next()) == .invalidName)
    #expect(await news.next() == .codeHandedIn)
    let token = try accessToken(await news.next(), .verificationComplete)
    #expect(await news.next() == .received(profile))
    #expect(manager.accessTokenForOTPVerification() == token)
  }

  @Test("… and who has verified the number before is asked for nothing")
  func waitsForNobody() async throws {
    try scene.verified()
    let (profile, seconds) = try await signUp([(false, "", "")])
    #expect(profile.phoneNumber == "919876543210" && seconds.isEmpty)
  }

  @Test("… and what cannot be verified is thrown")
  func throwsItsEnd() async throws {
    try scene.set(["wrongCodeCap": 1])
    let error = try await #require(throws: TCError.self) {
      try await signUp([(false, "Asha", "Rao")])
    }
    #expect(error.getErrorCode() == .internal && error.serverCode == "4293")
    #expect(try scene.requests("verify") == 2)
  }
}
