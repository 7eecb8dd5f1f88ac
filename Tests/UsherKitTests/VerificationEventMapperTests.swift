import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherKit

@Suite("Events of a Truecaller verification")
struct VerificationEventMapperTests {
  private func flow(_ snapshot: PhoneFlowSnapshot, _ revision: Int) throws -> Flow {
    try JSONDecoder().decode(Flow.self, from: Data(snapshot.flow("flw_1", revision).utf8))
  }

  /// Returns the events of a flow that is read at each of its states.
  private func told(_ snapshots: PhoneFlowSnapshot...) throws -> [String] {
    var mapper = VerificationEventMapper()
    return try snapshots.enumerated().flatMap { index, snapshot in
      mapper.events(for: try flow(snapshot, index + 1), []).map(\.summary)
    }
  }

  /// Returns the events of a flow that is read only in its last state.
  private func toldAtOnce(_ snapshots: PhoneFlowSnapshot...) throws -> [String] {
    var mapper = VerificationEventMapper()
    let transitions = snapshots.enumerated().map { index, snapshot in
      Transition(revision: index + 1, state: snapshot.state, at: .earliest)
    }
    let last = try #require(snapshots.last)
    return mapper.events(for: try flow(last, snapshots.count), transitions).map(\.summary)
  }

  @Test("each Truecaller state is reported once, in order, as soon as the flow is in it")
  func order() throws {
    let all = ["otpInitiated", "otpReceived", "verificationComplete", "profile"]
    #expect(
      try told(
        .creating, .otpInitiated, .verifying, .otpReceived, .verificationComplete,
        .trying("verificationComplete"), .succeeded("verificationComplete")) == all)
    #expect(
      try toldAtOnce(
        .creating, .otpInitiated, .verifying, .otpReceived, .verificationComplete,
        .trying("verificationComplete"), .succeeded("verificationComplete")) == all)
    #expect(
      try told(.creating, .otpInitiated, .verifying, .otpReceived, .verificationComplete)
        == ["otpInitiated", "otpReceived", "verificationComplete"])
    #expect(try told(.creating, .verifiedBefore) == ["verifiedBefore"])
    #expect(
      try told(.creating, .verifiedBefore, .succeeded("verifiedBefore"))
        == ["verifiedBefore", "profile"])
  }

  @Test("a Truecaller profile that cannot be fetched is reported as an error after its state")
  func failsAfterSuccess() throws {
    #expect(
      try told(.creating, .verifiedBefore, .failed("verifiedBefore", "provider_rejected", code: 15))
        == ["verifiedBefore", "failed 15"])
  }

  @Test("a wrong Truecaller code is reported as an error, and a new code as otpInitiated again")
  func backAndAgain() throws {
    #expect(
      try told(
        .creating, .otpInitiated, .verifying, .asking("wrong_code"), .verifying,
        .asking("wrong_code"), .creating, .otpInitiated)
        == ["otpInitiated", "failed 10", "failed 10", "otpInitiated"])
    #expect(
      try toldAtOnce(.creating, .otpInitiated, .verifying, .asking("wrong_code"))
        == ["otpInitiated", "failed 10"])
  }

  @Test("a Truecaller server that is retried is not reported before the flow ends")
  func waiting() throws {
    #expect(
      try told(
        .creating, .trying("creating"), .failed("creating", "provider_unreachable", code: 9))
        == ["failed 9"])
  }

  @Test("no Truecaller state is reported twice or before the flow is read in that state")
  func once() throws {
    var mapper = VerificationEventMapper()
    let seen = try flow(.otpInitiated, 2)
    let later = ["creating", "otpInitiated", "otpReceived"].enumerated().map { index, state in
      Transition(revision: index + 1, state: state, at: .earliest)
    }
    #expect(mapper.events(for: seen, later).map(\.summary) == ["otpInitiated"])
    #expect(mapper.events(for: seen, later).isEmpty)
    #expect(mapper.events(for: try flow(.otpReceived, 3), later).map(\.summary) == ["otpReceived"])
  }

  @Test("a resumed Truecaller flow reports only later states")
  func takenUp() throws {
    let seen = try flow(.asking("wrong_code"), 4)
    var mapper = VerificationEventMapper(resuming: seen)
    #expect(mapper.events(for: seen, []).isEmpty)
    #expect(mapper.events(for: try flow(.otpReceived, 5), []).map(\.summary) == ["otpReceived"])
  }

  @Test("a Truecaller flow that is taken up reports its present state, but no earlier problem")
  func takenUpAgain() throws {
    let seen = try flow(.asking("wrong_code"), 4)
    var mapper = VerificationEventMapper(takingUp: seen)
    #expect(mapper.events(for: seen, []).map(\.summary) == ["otpInitiated"])
    #expect(mapper.events(for: try flow(.verifying, 5), []).isEmpty)
    #expect(mapper.events(for: try flow(.asking("x"), 6), []).map(\.summary) == ["failed 10"])
  }

  @Test("the Truecaller states and error codes have the SDK's numbers")
  func numbers() {
    #expect(TCVerificationState.allCases.map(\.rawValue) == [0, 1, 2, 3])
    #expect(TCTrueSDKErrorCode.allCases.map(\.rawValue) == Array(1...20))
    for state in TCVerificationState.allCases {
      #expect(TCVerificationState(flowState: "\(state)") == state)
    }
    for own in ["creating", "verifying"] { #expect(TCVerificationState(flowState: own) == nil) }
  }

  @Test("every member of a Truecaller profile is read, and none is required")
  func profile() {
    let texts = [
      "firstName", "lastName", "phoneNumber", "countryCode", "street", "city", "zipcode",
      "facebookID", "twitterID", "email", "url", "avatarUrl", "jobTitle", "companyName",
    ]
    var members = Dictionary(uniqueKeysWithValues: texts.map { ($0, JSONValue.string("a \($0)")) })
    members["gender"] = "male"
    members["isAmbassador"] = true
    members["requestTime"] = 1_800_000_000.25
    let profile = TCTrueProfile(.object(members))
    let told = [
      profile.firstName, profile.lastName, profile.phoneNumber, profile.countryCode,
      profile.street, profile.city, profile.zipCode, profile.facebookID, profile.twitterID,
      profile.email, profile.url, profile.avatarURL, profile.jobTitle, profile.companyName,
    ]
    #expect(told == texts.map { "a \($0)" })
    #expect(profile.gender == .male && profile.isAmbassador && !profile.isVerified)
    #expect(profile.requestTime == Date(timeIntervalSince1970: 1_800_000_000.25))
    let none = TCTrueProfile(["firstName": nil, "gender": "notSpecified", "requestTime": nil])
    #expect(none == TCTrueProfile([:]) && none.firstName == nil && none.gender == .notSpecified)
  }

  @Test("a TCError has the daemon's error number, or the nearest one")
  func errors() {
    for code in 1...20 {
      let provider = ProviderErrorCode(
        name: ProviderName("truecaller"), code: String(code), error: "4220",
        message: "its own words")
      let error = TCError(KitError(.rejected, "ours", provider: provider))
      #expect(error.getErrorCode().rawValue == code)
      #expect(error.message == "its own words" && error.serverCode == "4220")
    }
    let nearest: [KitError.Kind: Int] = [
      .unavailable: 9, .cancelled: 3, .expired: 3, .notPermitted: 12, .invalidRequest: 14,
    ]
    for kind in KitError.Kind.allCases {
      let error = TCError(KitError(kind, "why", retryAfter: .seconds(1)))
      #expect(error.getErrorCode().rawValue == nearest[kind, default: 10])
      #expect(error.message == "why" && error.retryAfter == .seconds(1))
    }
    let code = TCError(KitError(.invalidRequest, "why", field: "input.code"))
    #expect(code.getErrorCode() == .internal && code.description == "why (TCError 10)")
  }
}

extension TCVerificationEvent {
  fileprivate var summary: String {
    switch self {
    case .state(let state): "\(state)"
    case .profile: "profile"
    case .failed(let error): "failed \(error.getErrorCode().rawValue)"
    }
  }
}
