import Crypto
import JSONRPC
import UsherCore

/// A state of a `verifyPhone` flow (documentation page Truecaller).
struct PhoneFlowSnapshot: FlowSnapshot {
  var state: String
  var status = "active"
  var step = #"{"type":"wait","for":"the provider"}"#
  var problem = "null"
  var result = "null"
  var failure = "null"

  static let creating = PhoneFlowSnapshot(state: "creating")
  static let verifying = PhoneFlowSnapshot(state: "verifying")
  static let otpReceived = PhoneFlowSnapshot(state: "otpReceived")
  static let verificationComplete = PhoneFlowSnapshot(state: "verificationComplete")
  static let verifiedBefore = PhoneFlowSnapshot(state: "verifiedBefore")
  static let otpInitiated = asking()

  /// - Parameter expiresAt: The time to which Truecaller accepts the code. The flow itself ends ten
  ///   minutes after its start.
  static func asking(
    _ problem: String? = nil, code: Int = 10, expiresAt: String = "2030-01-01T00:01:00Z"
  ) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: "otpInitiated",
      step: #"""
        {"type":"enterCode","purpose":"otp","channel":"sms","maskedTarget":"+91 ••• 210",\#
        "digits":6,"expiresAt":"\#(expiresAt)","resendAt":"2030-01-01T00:01:00Z",\#
        "alsoAsk":[]}
        """#,
      problem: problem.map {
        #"""
        {"reason":"\#($0)","title":"t","message":"what went wrong",\#
        "provider":{"name":"truecaller","code":"\#(code)","error":"4220"}}
        """#
      } ?? "null")
  }

  static func trying(_ state: String) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: state,
      problem: #"{"reason":"provider_unreachable","title":"t","message":"away"}"#)
  }

  static func succeeded(_ state: String) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: state, status: "succeeded", step: "null",
      result: #"{"account":"acc_1","profile":\#(profile)}"#)
  }

  static func failed(
    _ state: String, _ reason: String, code: Int, status: String = "failed"
  ) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: state, status: status, step: "null",
      failure: #"""
        {"reason":"\#(reason)","title":"t","message":"why it failed","retryable":false,\#
        "provider":{"name":"truecaller","code":"\#(code)"}}
        """#)
  }

  static let cancelled = failed("otpInitiated", "cancelled", code: 3, status: "cancelled")

  /// The key of a flow for a number of India, as the daemon makes it with a salt of zeros. Numbers
  /// of other countries have keys with the same calling code.
  static func key(of start: JSONValue) -> String? {
    guard let phone = start["params"]?["phoneNumber"]?.stringValue,
      let country = start["params"]?["countryCode"]?.stringValue
    else { return nil }
    let salt = [UInt8](repeating: 0, count: 16)
    let hash = HMAC<SHA256>.authenticationCode(
      for: Array("\(country.uppercased()) +91\(phone)".utf8), using: SymmetricKey(data: salt))
    return "91.\(salt.hexadecimal).\(hash.hexadecimal)"
  }

  private static let profile = #"""
    {"firstName":"Asha","lastName":"Rao","phoneNumber":"919876543210","countryCode":"IN",\#
    "gender":"female","street":null,"city":"Pune","zipcode":null,"facebookID":null,\#
    "twitterID":null,"email":null,"url":null,"avatarUrl":null,"jobTitle":null,\#
    "companyName":null,"isVerified":true,"isAmbassador":false,"requestTime":1800000000.25}
    """#
}

typealias PhoneDaemon = ScriptedDaemon<PhoneFlowSnapshot>

extension PhoneDaemon {
  /// - Parameters:
  ///   - begins: The states of each new flow, in order. An empty array refuses the start.
  ///   - answers: The reactions to `flow.submit`, in order.
  ///   - token: The reaction to each `token.get`; nil: a token.
  convenience init(
    begins: [[PhoneFlowSnapshot]], answers: [Answer] = [], token: Answer? = nil
  ) {
    let token =
      token
      ?? .reply(
        #"""
        {"accessToken":"at-1","tokenType":"Bearer","expiresAt":null,"scope":"","account":"acc_1"}
        """#)
    let accounts = Answer.reply(
      #"{"accounts":[\#(Self.account("acc_2", "9876543211")),\#(Self.account("acc_1"))]}"#)
    self.init(
      starts: begins.map { snapshots in
        guard let first = snapshots.first else { return .refused(PhoneDaemon.error("overloaded")) }
        return .advances([first], then: Array(snapshots.dropFirst()))
      },
      inputs: answers,
      replies: [
        "token.get": Array(repeating: token, count: 8),
        "account.list": Array(repeating: accounts, count: 8),
      ])
  }

  /// The methods without those that only look something up.
  var changes: [String] {
    methods.filter { !["flow.list", "account.list", "token.get"].contains($0) }
  }

  /// Returns an account whose profile has not been read yet.
  private static func account(_ id: String, _ number: String = "9876543210") -> String {
    #"""
    {"id":"\#(id)","provider":"truecaller","subject":"+91\#(number)","label":"+91 ••• 210",\#
    "owner":1000,"client":null,"createdAt":"2030-01-01T00:00:00Z","keepAlive":false,\#
    "attributes":{"countryCode":"IN","profilePending":true},"tokens":[]}
    """#
  }
}
