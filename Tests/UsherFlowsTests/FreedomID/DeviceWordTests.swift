import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Error codes of the Freedom ID SDK")
struct DeviceWordTests {
  /// The codes that only UsherKit reports, according to the documentation page FreedomID.
  private static let ofTheLibrary: Set<FreedomIDErrorCode> = [
    .utilityError, .requestSendingError, .unknownNetworkError,
  ]

  /// A failure, the error code that it must have, and the reason that the page gives for the code.
  private struct Scenario {
    let word: FreedomIDErrorCode
    let reason: Failure.Reason
    let failure: Failure?

    init(_ word: FreedomIDErrorCode, _ reason: Failure.Reason, _ failure: Failure?) {
      self.word = word
      self.reason = reason
      self.failure = failure
    }
  }

  private func failing(_ start: Driven, _ json: JSONValue, status: Int = 200) -> Failure? {
    var driven = start
    driven.answered(json, status: status)
    return driven.failure
  }

  private func failing(_ start: Driven, _ outcome: CallOutcome) -> Failure? {
    var driven = start
    for _ in 0...RetryBackoff.limit where driven.failure == nil {
      driven.answered(outcome)
      if driven.failure == nil { driven.receive(.woken) }
    }
    return driven.failure
  }

  private func refused(_ start: Driven, _ status: Int, _ code: Int?) -> Failure? {
    var driven = start
    driven.refused(status, code, after: nil)
    return driven.failure
  }

  private func deniedTwice() throws -> Failure? {
    var driven = try Driven.permissions()
    driven.say(.denied)
    driven.say(.choice("acc_1"))
    driven.prove()
    driven.receive(.answered(.consents([])))
    driven.say(.denied)
    return driven.failure
  }

  private func notAuthenticated(
    _ passcode: LocalAuthAvailability.Passcode, _ inputs: [FlowInput]
  ) throws -> Failure? {
    var driven = try Driven.proving()
    driven.answer(.availability(.init(biometric: .noReader, passcode: passcode)))
    for input in inputs { driven.say(input) }
    return driven.failure
  }

  private func unauthenticated() throws -> Failure? {
    var driven = try Driven.completing()
    driven.refused(401, 100_004)
    driven.signIn(.phonePassword)
    driven.receive(.answered(.stored(Driven.aigerim.id)))
    driven.say(.choice("acc_1"))
    driven.prove()
    driven.receive(.answered(.consents(["read.firstname", "read.phone"])))
    driven.refused(401, 100_004)
    return driven.failure
  }

  private func otherPerson() throws -> Failure? {
    var driven = try Driven.choosing(accounts: [Driven.bolat], account: Driven.bolat)
    driven.signIn()
    return driven.failure
  }

  private func ended(_ reason: Failure.Reason) -> Failure? {
    Failure(
      reason: reason, title: "", message: "", retryable: true,
      provider: FreedomDeviceAuthorize.providerErrorCode(for: reason, provider: Driven.name))
  }

  private func scenarios() throws -> [Scenario] {
    let (check, send, last) = (
      try Driven(), try Driven.named(.phoneOTP), try Driven.completing()
    )
    return [
      Scenario(.parsingError, .providerProtocolError, failing(check, [:])),
      Scenario(.parsingError, .providerProtocolError, failing(last, [:])),
      Scenario(.incorrectApiKey, .invalidRequest, try Driven(apiKey: "x").failure),
      Scenario(.incorrectApiKey, .providerRejected, refused(check, 401, 100_001)),
      Scenario(.incorrectApiKey, .providerRejected, failing(check, [:], status: 401)),
      Scenario(.incorrectApiKey, .providerRejected, failing(send, [:], status: 401)),
      Scenario(.autheticationError, .providerRejected, failing(last, [:], status: 401)),
      Scenario(.codeError, .providerRejected, failing(check, [:], status: 403)),
      Scenario(.codeError, .providerRejected, failing(send, [:], status: 404)),
      Scenario(.codeError, .providerRejected, failing(last, [:], status: 405)),
      Scenario(.incorrectRequestStructure, .providerRejected, failing(send, [:], status: 400)),
      Scenario(.incorrectRequestStructure, .providerRejected, failing(last, [:], status: 422)),
      Scenario(
        .componentValidationError, .invalidRequest, try Driven(grants: ["openid"]).failure),
      Scenario(
        .dataProcessingError, .providerProtocolError, failing(last, Driven.profile(["id": "x"]))),
      Scenario(.accessDenied, .denied, try deniedTwice()),
      Scenario(.accessDenied, .denied, refused(last, 403, 100_301)),
      Scenario(.configurationError, .localAuthFailed, try notAuthenticated(.notEnrolled, [])),
      Scenario(.authError, .localAuthFailed, try notAuthenticated(.ready, [.fallback])),
      Scenario(.authError, .attemptsExhausted, refused(send, 423, 100_204)),
      Scenario(.authError, .providerRejected, try otherPerson()),
      Scenario(.unknownError, .providerRejected, refused(send, 404, nil)),
      Scenario(.userCanceled, .cancelled, ended(.cancelled)),
      Scenario(.userCanceled, .expired, ended(.expired)),
      Scenario(.dataGrantsCanNotBeEmpty, .invalidRequest, try Driven(grants: []).failure),
      Scenario(
        .incorrectRequestStructure, .providerRejected,
        failing(send, ["error": ["errors": ["phone": ["bad"]]]], status: 422)),
      Scenario(.identificationError, .providerRejected, refused(check, 401, 100_002)),
      Scenario(.appIntegrityError, .providerRejected, refused(check, 403, 100_003)),
      Scenario(.autheticationError, .providerRejected, try unauthenticated()),
      Scenario(
        .requestReceivingError, .providerProtocolError,
        failing(check, .unreadable(message: "over 1 MiB"))),
      Scenario(
        .requestReceivingError, .providerProtocolError,
        failing(send, .unreadable(message: "over 1 MiB"))),
      Scenario(
        .requestReceivingError, .providerProtocolError,
        failing(last, .unreadable(message: "over 1 MiB"))),
      Scenario(.connectionError, .providerUnreachable, failing(check, Driven.gone)),
      Scenario(.connectionError, .providerUnreachable, failing(send, Driven.gone)),
      Scenario(.streamError, .providerUnreachable, failing(last, Driven.lost)),
      Scenario(
        .codeError, .providerUnreachable, failing(last, .reply(reply([:], status: 503)))),
      Scenario(.codeError, .providerProtocolError, failing(send, [:], status: 302)),
      Scenario(
        .bodyError, .providerProtocolError, failing(send, .reply(reply(text: "", status: 204)))),
      Scenario(
        .bodyError, .providerProtocolError, failing(check, .reply(reply(text: "<html>")))),
    ]
  }

  @Test("every Freedom ID failure has the error code and the reason that the documentation lists")
  func told() throws {
    for scenario in try scenarios() {
      let failure = try #require(scenario.failure, "\(scenario.word)")
      #expect(failure.provider?.code == scenario.word.rawValue)
      #expect(failure.provider?.name == Driven.name)
      #expect(failure.reason == scenario.reason, "\(scenario.word)")
    }
  }

  @Test("the Freedom ID device flow produces every SDK error code except three of UsherKit")
  func all() throws {
    let told = Set(try scenarios().compactMap { $0.failure?.provider?.code })
    let met = FreedomIDErrorCode.allCases.filter { told.contains($0.rawValue) }
    #expect(Set(met).union(Self.ofTheLibrary) == Set(FreedomIDErrorCode.allCases))
    #expect(Set(met).isDisjoint(with: Self.ofTheLibrary))
    #expect(FreedomIDErrorCode.allCases.count == 22)
  }

  @Test("the documentation's table lists every Freedom ID error code with its reasons")
  func page() throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let path = "Sources/UsherDaemon/Usher.docc/Providers/FreedomID.md"
    let page = String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
    let section = try #require(page.split(separator: "## The words\n").last)
    let rows = section.split(separator: "\n## ")[0].matches(
      of: /\| `([A-Za-z.]+)` \| ([a-z_`, ]*)\| ([^|]+) \|/)
    #expect(
      rows.map { String($0.1) }.sorted() == FreedomIDErrorCode.allCases.map(\.rawValue).sorted())
    // The HTTP client follows no redirect: the daemon reports requestReceivingError in that case.
    let scenarios = try scenarios().filter {
      $0.word != .codeError || $0.reason != .providerProtocolError
    }
    for row in rows {
      let isOfTheLibrary = Self.ofTheLibrary.contains { $0.rawValue == row.1 }
      #expect(row.3.hasPrefix("UsherKit: ") == isOfTheLibrary, "\(row.1)")
      let reasons = row.2.filter { !"` ".contains($0) }.split(separator: ",")
      for scenario in scenarios where scenario.word.rawValue == row.1 {
        #expect(reasons.contains { $0 == scenario.reason.rawValue }, "\(row.1)")
      }
    }
  }

  @Test("a Freedom ID validation failure names the members that are wrong")
  func wrongMembers() throws {
    let failure = failing(
      try Driven.named(.phoneOTP),
      ["error": ["message": "bad", "errors": ["grants.3": ["x"], "device": ["y"]]]], status: 422)
    #expect(failure?.message == "bad: device, grants.3")
  }
}
