/// A state of a `verifyPhone` flow (documentation page Truecaller).
struct PhoneFlowSnapshot: FlowSnapshot {
  var state: String
  var status = "active"
  var step = #"{"type":"wait","for":"the provider"}"#
  var problem = "null"
  var result = "null"
  var failure = "null"

  static let creating = PhoneFlowSnapshot(state: "creating")
  static let otpReceived = PhoneFlowSnapshot(state: "otpReceived")
  static let verificationComplete = PhoneFlowSnapshot(state: "verificationComplete")
  static let verifiedBefore = PhoneFlowSnapshot(state: "verifiedBefore")
  static let otpInitiated = asking()

  static func asking(_ problem: String? = nil, code: Int = 10) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: "otpInitiated",
      step: #"""
        {"type":"enterCode","purpose":"otp","channel":"sms","maskedTarget":"+91 ••• 210",\#
        "digits":6,"expiresAt":"2030-01-01T00:01:00Z","resendAt":"2030-01-01T00:01:00Z",\#
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
    self.init(
      starts: begins.map { snapshots in
        guard let first = snapshots.first else { return .refused(PhoneDaemon.error("overloaded")) }
        return .advances([first], then: Array(snapshots.dropFirst()))
      },
      inputs: answers, replies: ["token.get": [token, token]])
  }
}
