typealias FreedomIDDaemon = ScriptedDaemon<FreedomIDFlowSnapshot>

/// A state of an `authorize` flow (documentation page Freedom ID).
struct FreedomIDFlowSnapshot: FlowSnapshot {
  var state: String
  var status = "active"
  var step = #"{"type":"wait","for":"the accounts tied to this device"}"#
  var problem = "null"
  var result = "null"
  var failure = "null"

  static let accountCheck = FreedomIDFlowSnapshot(state: "accountCheck")
  static let completion = FreedomIDFlowSnapshot(
    state: "completion", step: #"{"type":"wait","for":"the profile"}"#)

  static let methods = asking(
    "authentication",
    #"""
    {"type":"choose","what":"loginMethod","options":[{"id":"phoneOTP","label":"phone and SMS"},\#
    {"id":"emailPassword","label":"e-mail and password"},\#
    {"id":"phonePassword","label":"phone and password"}]}
    """#)
  static let phone = asking(
    "authentication",
    #"{"type":"fillForm","fields":[{"name":"phone","type":"phone","required":true}]}"#)
  static let password = asking(
    "authentication", #"{"type":"enterPassword","purpose":"login"}"#)
  static let home = asking(
    "home",
    #"""
    {"type":"choose","what":"account","options":[{"id":"acc_1","label":"+7 ••• 67"},\#
    {"id":"acc_2","label":"+7 ••• 89"},{"id":"other","label":"another account"}]}
    """#)
  static let finger = localAuth(["biometric"], isScanning: true)
  static let passcode = localAuth(["passcode"], isScanning: false)
  static let permissions = asking(
    "permissions",
    #"""
    {"type":"consent","client":"acme","grants":[\#
    {"id":"read.firstname","label":"first name","remembered":true},\#
    {"id":"read.phone","label":"phone number","remembered":false},\#
    {"id":"read.emails","label":"e-mail addresses","remembered":false}]}
    """#)

  static func code(_ purpose: String = "otp", attemptsLeft: Int = 3) -> FreedomIDFlowSnapshot {
    asking(
      "authentication",
      #"""
      {"type":"enterCode","purpose":"\#(purpose)","channel":"sms","maskedTarget":"+7 ••• 67",\#
      "digits":6,"expiresAt":"2030-01-01T00:05:00Z","resendAt":"2030-01-01T00:01:00Z",\#
      "attemptsLeft":\#(attemptsLeft),"alsoAsk":[]}
      """#)
  }

  static func localAuth(_ methods: [String], isScanning: Bool) -> FreedomIDFlowSnapshot {
    let methods = methods.map { #""\#($0)""# }.joined(separator: ",")
    return asking(
      "home",
      #"""
      {"type":"localAuth","methods":[\#(methods)],"reason":"acme asks for your data",\#
      "scanning":\#(isScanning)}
      """#)
  }

  static func asking(_ state: String, _ step: String) -> FreedomIDFlowSnapshot {
    FreedomIDFlowSnapshot(state: state, step: step)
  }

  static let authorized = succeeded(
    #"{"firstname":"Aigerim","phone":"+77011234567"}"#,
    granted: #"["read.firstname","read.phone"]"#)

  static func succeeded(_ profile: String, granted: String) -> FreedomIDFlowSnapshot {
    FreedomIDFlowSnapshot(
      state: "completion", status: "succeeded", step: "null",
      result: #"{"account":"acc_1","granted":\#(granted),"profile":\#(profile)}"#)
  }

  /// - Parameter code: The SDK's error code, if any.
  static func failed(
    _ reason: String, _ code: String?, status: String = "failed"
  ) -> FreedomIDFlowSnapshot {
    let provider = code.map { #","provider":{"name":"freedom","code":"\#($0)"}"# } ?? ""
    return FreedomIDFlowSnapshot(
      state: "completion", status: status, step: "null",
      failure: #"""
        {"reason":"\#(reason)","title":"t","message":"why it failed","retryable":false\#(provider)}
        """#)
  }

  static let cancelled = failed("cancelled", "userCanceled", status: "cancelled")

  func with(problem reason: String) -> FreedomIDFlowSnapshot {
    var snapshot = self
    snapshot.problem = #"{"reason":"\#(reason)","title":"t","message":"what went wrong"}"#
    return snapshot
  }
}
