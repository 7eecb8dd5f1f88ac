import Crypto
import JSONRPC

@testable import UsherKit

/// A state of a BSA flow or of a `local/authenticate` flow (documentation pages BSA and LocalAuth).
struct BSAFlowSnapshot: FlowSnapshot {
  var state: String
  var status = "active"
  var step = #"{"type":"wait","for":"the provider"}"#
  var problem = "null"
  var result = "null"
  var failure = "null"

  // verifyContact

  static let sending = BSAFlowSnapshot(state: "sending")
  static let verifying = BSAFlowSnapshot(state: "verifying")
  static let otpSent = BSAFlowSnapshot(
    state: "otpSent",
    step: #"""
      {"type":"enterCode","purpose":"otp","channel":"email","maskedTarget":"u•••@e•••",\#
      "digits":6,"expiresAt":"2030-01-01T00:03:00Z","resendAt":"2030-01-01T00:00:30Z",\#
      "alsoAsk":[]}
      """#)
  static let verified = succeeded(#"{"disposeToken":"dsp_1"}"#)

  // register

  static let signingUp = BSAFlowSnapshot(state: "signingUp")
  static let registered = succeeded(
    #"{"account":"acc_1","userKey":"user1","deviceId":"dev-1"}"#)

  // local/authenticate, and its step localAuth

  static let looking = BSAFlowSnapshot(state: "looking")
  static let checking = BSAFlowSnapshot(state: "checking")
  static let scanning = localAuth(["biometric"], isScanning: true)
  static let passcode = localAuth(["passcode"], isScanning: false)
  static let authenticated = succeeded(
    #"{"method":"biometric","authenticatedAt":"2030-01-01T00:00:00Z"}"#)

  static func localAuth(_ methods: [String], isScanning: Bool) -> BSAFlowSnapshot {
    let methods = methods.map { #""\#($0)""# }.joined(separator: ",")
    return BSAFlowSnapshot(
      state: isScanning ? "scanning" : "asking",
      step: #"""
        {"type":"localAuth","methods":[\#(methods)],"reason":"open the till",\#
        "scanning":\#(isScanning)}
        """#)
  }

  static func succeeded(_ result: String) -> BSAFlowSnapshot {
    BSAFlowSnapshot(state: "done", status: "succeeded", step: "null", result: result)
  }

  /// - Parameters:
  ///   - code: The provider's error code, if any.
  ///   - error: The provider's error number, if it has one besides `code`.
  static func failed(
    _ reason: String, _ code: String?, error: String? = nil, status: String = "failed"
  ) -> BSAFlowSnapshot {
    let error = error.map { #","error":"\#($0)""# } ?? ""
    let provider =
      code.map { #","provider":{"name":"bsa","code":"\#($0)"\#(error)}"# } ?? ""
    return BSAFlowSnapshot(
      state: "done", status: status, step: "null",
      failure: #"""
        {"reason":"\#(reason)","title":"t","message":"why it failed","retryable":false\#(provider)}
        """#)
  }

  static let cancelled = failed("cancelled", nil, status: "cancelled")

  func with(problem reason: String, code: Int? = nil, retryAfterMs: Int? = nil) -> BSAFlowSnapshot {
    var snapshot = self
    let word = code.map { #","provider":{"name":"bsa","code":"\#($0)"}"# } ?? ""
    let retry = retryAfterMs.map { #","retryAfterMs":\#($0)"# } ?? ""
    snapshot.problem =
      #"{"reason":"\#(reason)","title":"t","message":"what went wrong"\#(word)\#(retry)}"#
    return snapshot
  }

  /// Returns the key by which the daemon finds a contact's flow (documentation page BSA,
  /// `verifyContact`).
  static func key(of start: JSONValue) -> String? {
    guard let type = start["params"]?["sendType"]?.stringValue else { return nil }
    return key("\(type):\(start["params"]?["sendTarget"]?.stringValue ?? "")")
  }

  static func key(_ contact: String) -> String {
    SHA256.hash(data: Array(contact.utf8)).map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }.joined()
  }

  static func configure(socketPath: String) {
    BSA.configure(socketPath: socketPath, prompt: nil)
  }
}

typealias BSADaemon = ScriptedDaemon<BSAFlowSnapshot>

extension BSADaemon {
  /// The error of a policy rule that requires local authentication first.
  static var localAuthFirst: String {
    #"""
    {"code":1101,"message":"why not","data":{"reason":"interaction_required","retryable":false,\#
    "correlationId":"cor_1","next":{"method":"flow.start","params":{"provider":"local",\#
    "kind":"authenticate","params":{"localAuthType":"biometric","reason":"r"}}}}}
    """#
  }

  /// The reply to `account.list` with these registrations. A higher number is newer.
  static func accounts(_ numbers: Int...) -> Answer {
    .reply(#"{"accounts":[\#(numbers.map(account).joined(separator: ","))]}"#)
  }

  private static func account(_ number: Int) -> String {
    #"""
    {"id":"acc_\#(number)","provider":"bsa","subject":"user\#(number)","label":"l","owner":1000,\#
    "client":null,"createdAt":"2030-01-0\#(number)T00:00:00Z","keepAlive":false,"tokens":[],\#
    "attributes":{"userKey":"user\#(number)","deviceId":"dev-\#(number)",\#
    "pushToken":"fcm-\#(number)","localAuthType":"PASSCODE"}}
    """#
  }
}
