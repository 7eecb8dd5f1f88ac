import Foundation
import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// The SDK's documented example with UsherKit, the real daemon and the sandbox's Truecaller.
///
/// The header of `TruecallerSeedExample.swift` lists the corrections to the example. The tests are
/// serialized because they share `TCTrueSDK.sharedManager()`.
@Suite(
  "Truecaller's SDK example, end to end", .uses(.truecaller), .mayBlock, .serialized,
  .timeLimit(.minutes(10)))
struct TruecallerSeedEndToEndTests {
  private typealias News = TruecallerSeedExample.News

  private let fixture: TruecallerFixture
  private let manager = TCTrueSDK.sharedManager()
  /// Held here: the SDK does not keep its delegates alive.
  private let example = TruecallerSeedExample()

  init() throws {
    fixture = try TruecallerFixture()
    manager.configure(socketPath: fixture.daemon.socketPath)
    manager.setup(withAppKey: TruecallerFixture.appKey, appLink: TruecallerFixture.appLink)
    example.showNumberEntry()
  }

  private func requestVerification(_ number: String = TruecallerFixture.number) {
    example.requestVerification(number, "IN")
  }

  /// Returns the seconds that are left for the code.
  private func secondsLeft(_ news: News?) throws -> Int {
    guard case .codeSent(let seconds?) = news else {
      throw TestError("expected otpInitiated with a TTL: \(String(describing: news))")
    }
    return seconds
  }

  private func accessToken(_ news: News?, _ state: TCVerificationState) throws -> String {
    guard case .verified(state, let token?) = news else {
      throw TestError("expected \(state) with an access token: \(String(describing: news))")
    }
    return token
  }

  private func profile(_ news: News?) throws -> TCTrueProfile {
    guard case .received(let profile) = news else {
      throw TestError("expected a profile: \(String(describing: news))")
    }
    return profile
  }

  private func failure(_ news: News?) throws -> TCTrueSDKErrorCode {
    guard case .failed(let code, _) = news else {
      throw TestError("expected a failure: \(String(describing: news))")
    }
    return code
  }

  @Test("Truecaller's SDK example reports each state, then the profile; next time it needs no code")
  func verifies() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    #expect((1...60).contains(try secondsLeft(await news.next())))
    #expect((1...60).contains(manager.tokenTtl() ?? 0))
    #expect(manager.accessTokenForOTPVerification() == nil)
    example.verify(try fixture.code(), "Asha", "Rao")
    #expect(await news.next() == .codeAccepted)
    let token = try accessToken(await news.next(), .verificationComplete)
    let profile = try profile(await news.next())
    #expect(profile.firstName == "Asha" && profile.lastName == "Rao")
    #expect(profile.phoneNumber == "919876543210" && profile.countryCode == "IN")
    #expect(manager.tokenTtl() == nil && manager.accessTokenForOTPVerification() == token)
    #expect(try fixture.profile()["firstName"] == "Asha")
    let kept = try fixture.app.call("token.get", ["provider": "truecaller"])
    #expect(kept["accessToken"] == .string(token))
    // The partner's server validates the access token.
    let place = "truecaller/validation/v1/otp/installation/phoneNumberDetail"
    let reply = try Web.send(
      "GET", "\(fixture.sandbox.base)/\(place)/\(token)",
      headers: ["appKey": TruecallerFixture.appKey])
    #expect(try JSONValue(parsing: Array(reply.text.utf8))["phoneNumber"] == 919_876_543_210)
    requestVerification()
    _ = try accessToken(await news.next(), .verifiedBefore)
    #expect(try self.profile(await news.next()).firstName == "Asha")
    #expect(try fixture.messages().count == 1)
  }

  @Test("an app key or link unlike the daemon's fails Truecaller's SDK example with error 1 or 2")
  func otherApp() async throws {
    var news = example.news.makeAsyncIterator()
    manager.setup(withAppKey: "another", appLink: TruecallerFixture.appLink)
    requestVerification()
    #expect(try failure(await news.next()) == .appKeyMissing)
    manager.setup(withAppKey: TruecallerFixture.appKey, appLink: "https://another.example")
    requestVerification()
    #expect(try failure(await news.next()) == .appLinkMissing)
    #expect(try fixture.requests("create") == 0)
  }

  @Test("Truecaller's SDK example survives a restart of the daemon while the code is typed")
  func restarted() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    try fixture.daemon.restart()
    #expect((1...60).contains(manager.tokenTtl() ?? 0))
    example.verify(try fixture.code(), "Asha", "Rao")
    #expect(await news.next() == .codeAccepted)
    _ = try accessToken(await news.next(), .verificationComplete)
    #expect(try profile(await news.next()).firstName == "Asha")
  }

  @Test("Truecaller's SDK example gets otpInitiated and no SMS after a restart of the program")
  func programRestarted() async throws {
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    // Another object of the SDK stands for the restarted program.
    let again = TCTrueSDK(socketPath: fixture.daemon.socketPath)
    let restarted = TruecallerSeedExample()
    again.delegate = restarted
    again.viewDelegate = restarted
    again.requestVerification(forPhone: TruecallerFixture.number, countryCode: "IN")
    var later = restarted.news.makeAsyncIterator()
    guard case .codeSent = await later.next() else {
      throw TestError("expected otpInitiated")
    }
    #expect((1...60).contains(again.tokenTtl() ?? 0))
    #expect(try fixture.messages().count == 1 && fixture.requests("create") == 1)
    example.verify(try fixture.code(), "Asha", "Rao")
    #expect(await news.next() == .codeAccepted)
    _ = try accessToken(await news.next(), .verificationComplete)
    #expect(try profile(await news.next()).firstName == "Asha")
  }

  @Test("Truecaller's SDK example has its access token even if the profile cannot be read")
  func withoutProfile() async throws {
    try fixture.spoil("profile", ["status": 404, "body": ["code": 8]], times: 1)
    var news = example.news.makeAsyncIterator()
    requestVerification()
    _ = try secondsLeft(await news.next())
    example.verify(try fixture.code(), "Asha", "Rao")
    #expect(await news.next() == .codeAccepted)
    let token = try accessToken(await news.next(), .verificationComplete)
    #expect(try failure(await news.next()) == .internal)
    #expect(manager.accessTokenForOTPVerification() == token)
  }

  // MARK: The async form

  /// Runs the documentation's program with a person's entries, one after the other.
  ///
  /// - Parameter entries: For each entry, whether the code is right, and the names.
  private func signUp(
    _ entries: [(isRight: Bool, first: String, last: String)]
  ) async throws -> (profile: TCTrueProfile, seconds: [Int]) {
    let fixture = fixture
    let asked = Mutex<[Int]>([])
    let program = PhoneSignUp { seconds in
      let count = asked.withLock { asked in
        asked.append(seconds)
        return asked.count
      }
      let entry = entries[min(count, entries.count) - 1]
      let code = try? entry.isRight ? fixture.code() : fixture.wrongCode()
      return (code ?? "", entry.first, entry.last)
    }
    let profile = try await program.verify(phone: TruecallerFixture.number, countryCode: "IN")
    return (profile, asked.withLock { $0 })
  }

  @Test("Truecaller's documented program verifies a number after a wrong code and a wrong name")
  func waits() async throws {
    let (profile, seconds) = try await signUp([
      (false, "Asha", "Rao"), (true, "7", ""), (true, "Asha", ""),
    ])
    #expect(profile.firstName == "Asha" && profile.lastName == "")
    #expect(seconds.count == 3 && seconds.allSatisfy((1...60).contains))
    #expect(try fixture.requests("verify") == 2)
    // The delegate receives the same events.
    var news = example.news.makeAsyncIterator()
    _ = try secondsLeft(await news.next())
    #expect(try failure(await news.next()) == .internal)
    #expect(try failure(await news.next()) == .invalidName)
    #expect(await news.next() == .codeAccepted)
    let token = try accessToken(await news.next(), .verificationComplete)
    #expect(await news.next() == .received(profile))
    #expect(manager.accessTokenForOTPVerification() == token)
  }
}
