import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

let passcode = Secret("passcode-secret")
let soon = now + .seconds(30)

/// Drives one `local/authenticate` flow and keeps its last answer.
struct DrivenAuthentication {
  typealias News = LocalAuthAnswer

  var flow: LocalAuthenticate
  private(set) var last: Answer<NoCall>

  init(
    _ type: LocalAuthType = .biometric, orPasscode: Bool = false, checksFingers: Bool = false,
    reason: String = "open the till"
  ) throws {
    var params = LocalAuthenticate.Params(localAuthType: type, reason: reason)
    params.usePasscodeWhenFailed = orPasscode
    params.checkDomainStateChanged = checksFingers
    try self.init(params)
  }

  init(_ params: LocalAuthenticate.Params) throws {
    var moment = UsherFlowsTests.moment()
    (flow, last) = try LocalAuthenticate.begin(
      params, FlowContext<LocalProviderSettings>(provider: Provider(.local)!, requestID: "req-1"),
      at: &moment)
  }

  @discardableResult
  mutating func receive(_ event: FlowEvent<NoCall>, at time: Timestamp = now) -> Answer<NoCall> {
    var moment = UsherFlowsTests.moment(time)
    last = flow.receive(event, at: &moment)
    return last
  }

  @discardableResult
  mutating func answer(_ answer: News, at time: Timestamp = now) -> Answer<NoCall> {
    receive(.answered(.localAuth(answer)), at: time)
  }

  @discardableResult
  mutating func say(_ input: FlowInput) -> Answer<NoCall> { receive(.input(input)) }

  @discardableResult
  mutating func look(
    _ biometric: LocalAuthAvailability.Biometric = .ready(hasChanged: false),
    _ passcode: LocalAuthAvailability.Passcode = .ready
  ) -> Answer<NoCall> {
    answer(.availability(LocalAuthAvailability(biometric: biometric, passcode: passcode)))
  }

  /// Stores the flow, reads it back and resumes it, as after `kill -9`.
  mutating func restart() throws {
    flow = try storedAndRead(flow)
    receive(.resumed)
  }

  /// Returns a flow whose fingerprint scan is in progress.
  static func scanning(orPasscode: Bool = false) throws -> DrivenAuthentication {
    var driven = try DrivenAuthentication(orPasscode: orPasscode)
    driven.look()
    return driven
  }

  /// Returns a flow that asks for the passcode, on a machine without a fingerprint reader.
  static func asking() throws -> DrivenAuthentication {
    var driven = try DrivenAuthentication(.passcode)
    driven.look(.noReader)
    return driven
  }

  static func checking() throws -> DrivenAuthentication {
    var driven = try asking()
    driven.say(.passcode(passcode))
    return driven
  }

  /// The questions of the last answer to the machine, in order.
  var asked: [LocalAuthQuestion]? {
    guard case .proceed(let effects) = last else { return nil }
    return effects.compactMap {
      if case .ask(.localAuth(let question)) = $0 { question } else { nil }
    }
  }

  var state: String { flow.view.state }
  var problem: Problem? { flow.view.problem }

  var step: Step.LocalAuth? {
    if case .localAuth(let step) = flow.view.step { step } else { nil }
  }

  var failure: Failure? {
    if case .fail(let failure, _) = last { failure } else { nil }
  }

  /// The SDK's error code for the failure.
  var word: String? { failure?.provider?.code }

  var method: String? {
    LocalAuthenticate.completion(in: last)?.result["method"]?.stringValue
  }
}
