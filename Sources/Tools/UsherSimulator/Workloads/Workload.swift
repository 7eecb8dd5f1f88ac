import JSONRPC
import UsherSandbox

/// A provider of the simulated machine: its configuration, and what people do in its flows.
///
/// Each provider is one type in a file of this directory, and ``Workloads/all`` lists them. What
/// the requests to it mean is written in `Providers/Wire`.
protocol Workload: Sendable {
  /// The provider's name in the configuration.
  var provider: String { get }
  /// The `[[provider]]` of the configuration file.
  var configuration: String { get }
  /// The credentials that the operator sets after the first start, by their names.
  var credentials: [String: String] { get }
  /// The clients at the OpenID provider, besides the standard ones of the sandbox.
  var clients: [Client] { get }
  /// The settings of the sandbox, by the path of the control call that makes them.
  var sandboxSettings: [String: JSONValue] { get }

  /// Whether the daemon hands out the tokens of an account to no client, or only to those to which
  /// a person granted all that the tokens open.
  var limitsTokens: Bool { get }

  /// Whether an approval in one flow lets later flows with the same parameters succeed.
  var approvalsKept: ApprovalsKept { get }

  /// Returns a flow that a client may start now; nil if it needs an account and there is none.
  func newFlow(for client: FlowStarter, _ person: Person) async -> NewFlow?

  /// Does what a person does at the flow's present step.
  ///
  /// - Returns: The input for the step; nil if the person enters nothing, because the person acts
  ///   at the provider only.
  func answer(_ flow: FollowedFlow, _ person: Person) async -> JSONValue?

  /// Returns the names of the ``SingleRequest``s for which a start or an input asks.
  ///
  /// - Parameter input: The input; nil for the start of the flow.
  func asks(_ flow: FollowedFlow, _ input: JSONValue?) -> [String]

  /// Whether a flow may only succeed if a person approved it, at the provider or by an input.
  ///
  /// - Parameter view: The flow as the daemon shows it at its end.
  func needsApproval(_ flow: FollowedFlow, _ view: JSONValue) -> Bool

  /// Returns the values of a result that must come from a reply of the provider.
  func evidence(_ flow: FollowedFlow, _ result: JSONValue) -> [String]
}

extension Workload {
  var credentials: [String: String] { [:] }
  var clients: [Client] { [] }
  var limitsTokens: Bool { false }
  var approvalsKept: ApprovalsKept { .never }
  var sandboxSettings: [String: JSONValue] { [:] }
  func asks(_ flow: FollowedFlow, _ input: JSONValue?) -> [String] { [] }
  func needsApproval(_ flow: FollowedFlow, _ view: JSONValue) -> Bool { true }
  func evidence(_ flow: FollowedFlow, _ result: JSONValue) -> [String] { [] }
}

/// Whether an approval in one flow lets later flows of the user with the same parameters succeed.
enum ApprovalsKept {
  case never
  /// The daemon keeps what a person approved in a flow that failed, for one more flow.
  case once
  /// The provider remembers what a person proved.
  case always
}

/// All providers of the simulated machine.
enum Workloads {
  static let all: [any Workload] = [
    OpenIDWorkload(.plain), OpenIDWorkload(.bound), BackchannelWorkload(), ServiceWorkload(),
    RobotWorkload(), TruecallerWorkload(), BSAWorkload(), PaysafeWorkload(),
    GoPayWorkload(.app), GoPayWorkload(.backend), GoPayWorkload(.snap), FreedomDeviceWorkload(),
    FreedomPartnerWorkload(), FreedomOpenIDWorkload(),
  ]

  static var clients: [Client] { all.flatMap(\.clients) }

  static func named(_ provider: String) -> (any Workload)? {
    all.first { $0.provider == provider }
  }

  static func asks(_ flow: FollowedFlow, _ input: JSONValue?) -> [String] {
    named(flow.provider)?.asks(flow, input) ?? []
  }
}

/// What a workload knows about the client that starts a flow.
struct FlowStarter: Sendable {
  /// An account that the daemon has listed.
  struct Account: Sendable {
    let id: String
    let provider: String
    let subject: String
  }

  let uid: UInt32
  let accounts: [Account]
}

/// A flow that is to be started.
struct NewFlow: Sendable {
  var kind: String
  var params: JSONValue
  /// The account at the providers with which the person acts: `user1001-1`.
  var customer: String
  var requestID: String?
}

/// A flow that a client started, as the client saw it last.
struct FollowedFlow: Sendable {
  /// Empty until the daemon has answered the start.
  var id = ""
  let uid: UInt32
  let provider: String
  let kind: String
  let params: JSONValue
  let customer: String
  var view: JSONValue = .null

  var step: JSONValue { view["step"] ?? .null }
  var stepType: String { step["type"]?.stringValue ?? "" }
  var state: String { view["state"]?.stringValue ?? "" }
  /// The `key` of the flow, such as the id of an SCA event.
  var key: String { view["key"]?.stringValue ?? "" }
  var account: String? { params["account"]?.stringValue }
}
